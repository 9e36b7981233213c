/* Counters in PostgreSQL, for fleets without Redis. Private to the state room. */
#pragma once

#include "state/remote.h"

/* Migrates the database first, in one transaction. Returns -1 if that fails or the database is newer. */
int state_postgres_open(const struct state_config *config, const char *dsn, struct state_store **ret_store,
                        struct err *err);

/* For another store that keeps something there: one statement over the store's connection. False: it cannot
 * be sent. */
bool state_postgres_send(struct state_store *store, const char *sql, int count, const char *const *values,
                         struct remote_want *want);
/* A column of the only row of its answer; empty where there is none. */
struct slice state_postgres_cell(const struct state_store *store, const void *reply, int column);
