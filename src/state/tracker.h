/* A thread that follows a store in PostgreSQL, so that the loop has a copy of it and never waits. The
 * database notifies it of changes, and it also polls every STATE_FOLLOW_POLL_MS. Private to the state room.
 *
 *   LISTEN, or a while ──▶ db_version ── another ──▶ load ──▶ next ──▶ tracker_take, on the loop
 *                                     └── in any case ──▶ fresh
 */
#pragma once

#include "state/db.h"

struct tracker;

struct tracker_ops {
    void *(*load)(struct db *db, struct err *err); /* NULL with err */
    void (*drop)(void *copy);                      /* NULL is fine */
    void (*idle)(void *ctx, struct db *db);        /* after each poll, and at the end; may be NULL */
};

int tracker_start(const char *home, const char *file, const struct tracker_ops *ops, void *ctx,
                  struct tracker **ret_tracker, struct err *err);
void tracker_end(struct tracker *f); /* NULL is fine */
/* Incremented by each copy. */
uint64_t tracker_generation(const struct tracker *f);
/* The newest copy, or NULL if it was taken already. */
void *tracker_take(struct tracker *f);
/* Was the copy confirmed within STATE_FOLLOW_FRESH_MS? If not, err says why. */
bool tracker_is_fresh(struct tracker *f, struct err *err);
