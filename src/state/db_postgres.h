/* The PostgreSQL part of db.h; see there. Private to the state room. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

#define DB_PARAMETERS_MAX 32

struct db_postgres; /* a connection, opened again after it was lost */
struct db_query;    /* one statement and its rows */

/* Connects at the first statement. `store` names the table that db_postgres_begin() locks and
 * db_postgres_version() is about. Not `writes`: a standby will do. */
int db_postgres_open(const char *dsn, const char *store, bool writes, struct db_postgres **ret_db,
                     struct err *err);
void db_postgres_close(struct db_postgres *db); /* NULL is fine */

struct db_query *db_postgres_prepare(struct db_postgres *db, const char *text);
enum db_type { DB_TEXT, DB_BLOB, DB_INT };
void db_postgres_bind(struct db_query *q, int at, enum db_type type, struct slice value);
bool db_postgres_step(struct db_query *q);
struct slice db_postgres_text(struct db_query *q, int column);
int64_t db_postgres_finish(struct db_query *q, struct err *err);
int db_postgres_begin(struct db_postgres *db, struct err *err);
int db_postgres_end(struct db_postgres *db, bool fine, struct err *err);
int64_t db_postgres_version(struct db_postgres *db, struct err *err);

/* For a thread that follows changes: subscribes to them. */
int db_postgres_listen(struct db_postgres *db, struct err *err);
/* Waits until something changed, `wake` is readable, or the time is over. */
void db_postgres_wait(struct db_postgres *db, int wake, int timeout_ms);
/* Time-out of every wait, instead of STATE_SQL_TIMEOUT_MS. Waits also end when stop_fd is readable. */
void db_postgres_set_timeout(struct db_postgres *db, uint64_t timeout_ms, int stop_fd);
/* COPY … FROM STDIN with these bytes as its data. */
int db_postgres_copy(struct db_postgres *db, const char *statement, struct slice data, struct err *err);
