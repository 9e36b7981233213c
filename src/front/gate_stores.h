/* The files and databases of one run: audit log, counters, kill switch, logins; and the shipping of the log.
 */
#pragma once

#include "audit/audit.h"
#include "front/gate_config.h"
#include "io/loop.h"
#include "ship/ship.h"
#include "state/fleet_logins.h"
#include "state/state.h"

struct gate_stores {
    struct core *core;
    const struct gate_config *config;
    struct state_store *state;
    struct audit *audit;
    struct ship *ship;                 /* NULL: the log is not shipped */
    struct state_fleet_logins *logins; /* NULL: the home shares none */
    struct io_timer ship_look;
    struct ship_health ship_seen; /* at the last check */
    bool failed;                  /* a store is why the gate cannot start */
};

/* Before anything is opened, so that an error names the directory. */
int gate_stores_join(struct gate_stores *s, struct err *err);
int gate_stores_open(struct gate_stores *s, struct err *err);
/* After the core: its last calls are recorded. Half-open is fine. */
void gate_stores_close(struct gate_stores *s);
