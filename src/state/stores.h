/* Which databases a home has had: HOME/stores has a line for each. A database that is listed there and is
 * gone, or empty, was deleted: what it promised (limits used up, grants, what is stopped) is lost, and
 * the next process that opens the home must report it. */
#pragma once

#include <stddef.h>

/* The database at `path` exists and is not empty. */
void state_stores_note(const char *path);
/* Reports each missing database: its name and the consequence. Returns their number. `each` may be NULL. */
size_t state_stores_missing(const char *home, void (*each)(void *ctx, const char *name, const char *meaning),
                            void *ctx);
