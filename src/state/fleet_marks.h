/* Bounds in PostgreSQL of what counters in Redis have used (postgres_8.sql): the marks of the embedded store
 * (meter.h), for a fleet. A call passes when a mark covers it, so a server that lost writes can go on from
 * the marks, and no call is forgotten. Fixed and sliding windows have marks. Private to the state room. */
#pragma once

#include "state/remote.h"

struct fleet_marks;

/* The numbers of the reservations at one server (counters.lua). */
struct fleet_epoch {
    struct slice key;
    const char *name;
    int64_t lost_ms;
};

/* config->marks_dsn is migrated first. */
int state_fleet_marks_open(const struct state_config *config, struct fleet_marks **ret_marks,
                           struct err *err);
void state_fleet_marks_close(struct fleet_marks *m); /* NULL is fine; answers what waits with NULL */
/* Do known marks cover everything that the call counted? */
bool state_fleet_marks_cover(const struct fleet_marks *m, const struct remote_call *call);
/* Writes marks for it; call->mark_want is answered. False: cannot be sent. `epochs`: by shard. */
bool state_fleet_marks_store(struct fleet_marks *m, struct remote_call *call,
                             const struct fleet_epoch *epochs);
/* Reads that answer: are all of them stored? */
bool state_fleet_marks_stored(struct fleet_marks *m, struct remote_call *call, const void *reply);
/* Asks for the marks of the limits of call->part, counted at a server that knows of the loss `lost_ms`;
 * call->mark_want is answered. From then on marks of gates that do not know the loss are refused. */
bool state_fleet_marks_recall(struct fleet_marks *m, struct remote_call *call, struct slice epoch);
/* Reads that answer into `mark` and `known`. */
bool state_fleet_marks_recalled(struct fleet_marks *m, struct remote_call *call, const void *reply);
/* The gate joined at a server: notes the epoch's name, and since when all gates keep marks. */
void state_fleet_marks_join(struct fleet_marks *m, const struct fleet_epoch *epoch, int64_t since_ms,
                            int64_t unmarked_ms);
/* The name that the epoch had when a gate joined last; empty: none has. Blocks. */
int state_fleet_marks_name(const char *dsn, struct slice epoch, struct arena *a, struct slice *ret_name,
                           struct err *err);
/* ret_fault: why it is down. */
bool state_fleet_marks_up(const struct fleet_marks *m, char ret_fault[256]);
