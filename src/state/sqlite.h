/* Opens the databases of the home: for this user only, write-ahead logging, with defences against crafted
 * content. Private to the state room. */
#pragma once

#include "base/err.h"
#include "io/anchor.h"

#include <sqlite3.h>
#include <stdbool.h>

/* The format of all these databases, in user_version; 0 is that of version 0.1.0, with the same tables. A
 * higher number is refused. */
#define STATE_SQLITE_FORMAT 1

/* Creates the file if absent, unless it is only read, and runs `schema` on it: statements that can be
 * repeated. */
int state_sqlite_open(const char *path, bool read_only, const char *schema, sqlite3 **ret_db,
                      struct err *err);
/* If the file is not the one at its path any more, what is there stays as it is. NULL is fine. */
void state_sqlite_close(sqlite3 *db, struct io_anchor *file);
/* -1 with the error of the database. */
int state_sqlite_fail(sqlite3 *db, struct err *err);
