/* The durable half of the embedded store: SQLite. Each counter has one row with its mark, or with its
 * exact value after a clean shutdown. Private to the state room. */
#pragma once

#include "state/live.h"

struct marks;

int state_marks_open(const char *path, bool read_only, struct marks **ret_marks, struct err *err);
void state_marks_close(struct marks *m);
/* Is the database still the file at its path? */
int state_marks_check(struct marks *m, struct err *err);
const unsigned char *state_marks_store_id(const struct marks *m);

/* One transaction: begin, any number of puts, commit. A failure anywhere makes commit fail. */
void state_marks_begin(struct marks *m);
/* `exact` may be NULL: then the counter is somewhere below its mark. */
void state_marks_put(struct marks *m, const struct live_counter *c, const struct state_mark *mark,
                     const struct state_meter *exact);
int state_marks_commit(struct marks *m, struct err *err);

/* Calls `each` for every counter that is kept; `c` has everything but its place in the table. */
int state_marks_load(struct marks *m, void (*each)(void *ctx, const struct live_counter *c), void *ctx,
                     struct err *err);
/* Deletes counters that can no longer matter. */
int state_marks_prune(struct marks *m, uint64_t now_ms, struct err *err);
