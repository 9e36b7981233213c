/* The database under the stores that must last: a SQLite file of the home, or PostgreSQL, which all gates of
 * a fleet share. A home that has a file `database` with a DSN keeps them there. Statements are the same
 * text for both: parameters are ?1, ?2, …; what both understand is used, no more.
 *
 *   db_prepare ──▶ sql_bind_… ──▶ db_step (true: a row) ──▶ db_text, db_int ──▶ db_finish, always
 *
 * A connection belongs to one thread at a time. Every wait for PostgreSQL ends after STATE_SQL_TIMEOUT_MS.
 * Private to the state room. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct db;
struct db_stmt;

/* `schema` makes the tables in SQLite and may be run again; those of PostgreSQL are made by its migrations.
 * read_only makes nothing: *ret_db is NULL where the file is not there. */
int db_open(const char *home, const char *file, bool read_only, const char *schema, struct db **ret_db,
            struct err *err);
/* PostgreSQL, whatever the home has. Connects at the first statement. Not `writes`: a standby will do. */
int db_open_dsn(const char *dsn, const char *store, bool writes, struct db **ret_db, struct err *err);
void db_close(struct db *db); /* NULL is fine */
bool db_is_remote(const struct db *db);
/* A file that was deleted and made again, or replaced, is opened again: what other processes change is in the
 * new one. `make`: one that was only deleted is made again. *ret_new (may be NULL): it was opened again. No
 * statement is in use. */
int db_renew(struct db *db, bool make, bool *ret_new, struct err *err);
/* The DSN of the home's database; NULL: it has none. The caller frees it. */
int db_home_dsn(const char *home, char **ret_dsn, struct err *err);

/* Never NULL: errors are reported by db_finish. */
struct db_stmt *db_prepare(struct db *db, const char *text);
void db_bind_text(struct db_stmt *st, int at, struct slice text);
void db_bind_blob(struct db_stmt *st, int at, struct slice bytes);
void db_bind_int(struct db_stmt *st, int at, int64_t value);
bool db_step(struct db_stmt *st);
/* Of the row, valid until the next step. NULL is the empty text, and 0. */
struct slice db_text(struct db_stmt *st, int column);
int64_t db_int(struct db_stmt *st, int column);
/* Ends it: how many rows were changed, or -1. */
int64_t db_finish(struct db_stmt *st, struct err *err);
/* For a statement without rows: the first step and the end. */
int64_t db_run(struct db_stmt *st, struct err *err);

/* Between the two no other connection changes this store. `fine` false rolls back. Also returns -1 then. */
int db_begin(struct db *db, struct err *err);
int db_end(struct db *db, bool fine, struct err *err);
/* Later writes need not be synced to disk. Only SQLite has this option. */
void db_relax(struct db *db, bool relaxed);

/* A number that every change of the store increments; in SQLite, every change by another connection. -1
 * with err. */
int64_t db_version(struct db *db, struct err *err);

/* For a thread that follows changes in PostgreSQL: subscribes to them. */
int db_listen(struct db *db, struct err *err);
/* Waits until something changed, `wake` is readable, or the time has passed. */
void db_wait(struct db *db, int wake, int timeout_ms);

/* PostgreSQL only: see db_postgres.h. */
void db_set_timeout(struct db *db, uint64_t timeout_ms, int stop_fd);
int db_copy(struct db *db, const char *statement, struct slice data, struct err *err);
