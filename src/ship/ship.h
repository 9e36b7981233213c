/* Ships the audit log of this home to the fleet's database, from a thread beside the loop. The log is
 * written at home first, and read from there: nothing waits for the database. Of several processes with one
 * home one ships, and another one takes over when it ends.
 *
 *   HOME/audit/000001.sqlite ──▶ batch of blocks and signatures ──▶ one transaction ──▶ HOME/audit/shipped
 *                                                                  (moves the end of the chain)
 */
#pragma once

#include "audit/audit.h"

struct ship;

struct ship_config {
    const char *home;
    const char *dsn;
    const char *gate;     /* the name of this gate; NULL: host name and home */
    uint64_t keep_ms;     /* days that ended longer ago are dropped; 0: never */
    uint64_t backlog_max; /* bytes that may wait for shipping before calls are refused; 0: the default */
    struct audit *audit;  /* events of the shipper go there; calls are held there */
};

/* A database that does not answer is not an error: the shipper retries. */
int ship_start(const struct ship_config *config, struct ship **ret_ship, struct err *err);
/* The log is about to be closed: the shipper puts no more events into it. NULL is fine. */
void ship_settle(struct ship *s);
/* Ships the rest of the closed log, for SHIP_LAST_MS at most, and ends. NULL is fine. */
void ship_end(struct ship *s);

struct ship_health {
    bool active; /* this process ships; false: another one with the same home does */
    bool failed;
    bool held; /* calls are refused, because too much waits for shipping */
    char fault[256];
    uint64_t records, bytes, batches; /* by this process */
    uint64_t failures;
    uint64_t seq;         /* acknowledged */
    uint64_t lag_records; /* records that were not shipped yet */
    uint64_t lag_ms;      /* since when there are such records */
    uint64_t backlog;     /* bytes of them */
    uint64_t backlog_max;
};
void ship_health(struct ship *s, struct ship_health *ret_health);
