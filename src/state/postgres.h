/* Counters in PostgreSQL, for fleets without Redis. Private to the state room. */
#pragma once

#include "state/store.h"

/* Brings the database up to this version first, in one transaction; -1 when that fails or it belongs to a
 * newer one. */
int state_postgres_open(const struct state_config *config, const char *dsn, struct state_store **ret_store,
                        struct err *err);
