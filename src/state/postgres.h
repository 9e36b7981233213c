/* Counters in PostgreSQL, for fleets without Redis. Private to the state room. */
#pragma once

#include "state/store.h"

/* Migrates the database first, in one transaction. Returns -1 if that fails or the database is newer. */
int state_postgres_open(const struct state_config *config, const char *dsn, struct state_store **ret_store,
                        struct err *err);
