/* In place of db_postgres.c where the program is built without libpq: nothing can be opened. */
#include "state/db_postgres.h"
#include "state/postgres.h"

int state_postgres_open(const struct state_config *config, const char *dsn, struct state_store **ret_store,
                        struct err *err) {
    (void)config, (void)dsn, (void)ret_store;
    return err_set(err, "this program was built without PostgreSQL (libpq)");
}
bool state_postgres_send(struct state_store *store, const char *sql, int count, const char *const *values,
                         struct remote_want *want) {
    return (void)store, (void)sql, (void)count, (void)values, (void)want, false;
}
struct slice state_postgres_cell(const struct state_store *store, const void *reply, int column) {
    return (void)store, (void)reply, (void)column, (struct slice){0};
}

int db_postgres_open(const char *dsn, const char *store, bool writes, struct db_postgres **ret_db,
                     struct err *err) {
    (void)dsn, (void)store, (void)writes, (void)ret_db;
    return err_set(err, "this program was built without PostgreSQL (libpq)");
}
void db_postgres_close(struct db_postgres *db) { (void)db; }
struct db_query *db_postgres_prepare(struct db_postgres *db, const char *text) {
    return (void)db, (void)text, (struct db_query *)0;
}
void db_postgres_bind(struct db_query *q, int at, enum db_type type, struct slice value) {
    (void)q, (void)at, (void)type, (void)value;
}
bool db_postgres_step(struct db_query *q) { return (void)q, false; }
struct slice db_postgres_text(struct db_query *q, int column) {
    return (void)q, (void)column, (struct slice){0};
}
int64_t db_postgres_finish(struct db_query *q, struct err *err) { return (void)q, (void)err, -1; }
int db_postgres_begin(struct db_postgres *db, struct err *err) { return (void)db, (void)err, -1; }
int db_postgres_end(struct db_postgres *db, bool fine, struct err *err) {
    return (void)db, (void)fine, (void)err, -1;
}
int64_t db_postgres_version(struct db_postgres *db, struct err *err) { return (void)db, (void)err, -1; }
int db_postgres_listen(struct db_postgres *db, struct err *err) { return (void)db, (void)err, -1; }
void db_postgres_wait(struct db_postgres *db, int wake, int timeout_ms) {
    (void)db, (void)wake, (void)timeout_ms;
}
void db_postgres_set_timeout(struct db_postgres *db, uint64_t timeout_ms, int stop_fd) {
    (void)db, (void)timeout_ms, (void)stop_fd;
}
int db_postgres_copy(struct db_postgres *db, const char *statement, struct slice data, struct err *err) {
    return (void)db, (void)statement, (void)data, (void)err, -1;
}
