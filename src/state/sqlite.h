/* How the databases of the home are opened: for this user only, write-ahead, distrustful of their content.
 * Private to the state room. */
#pragma once

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>

/* The format of all these databases, in their user_version; 0 is that of version 0.1.0, the same tables. A
 * database with a greater number is refused. */
#define STATE_SQLITE_FORMAT 1

/* Creates the file when absent, unless it is only read, and runs `schema` on it: statements that may be run
 * again. */
int state_sqlite_open(const char *path, bool look_only, const char *schema, sqlite3 **ret_db,
                      struct err *err);
/* -1 with the error of the database. */
int state_sqlite_fail(sqlite3 *db, struct err *err);
