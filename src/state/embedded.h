/* The store that needs no server: the shared table with marks in SQLite behind it, or the table alone.
 * Private to the state room. */
#pragma once

#include "state/store.h"

/* path: of the database; the table lies beside it. NULL: in memory only. */
int state_embedded_open(const struct state_config *config, const char *path, struct state_store **ret_store,
                        struct err *err);
