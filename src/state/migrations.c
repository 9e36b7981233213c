#include "state/migrations.h"

#include "base/slice.h"

#include <stdio.h>
#include <string.h>

#define DENIED "42501" /* the role has not the privilege */
#define POSTGRES_OLDEST 140000
#define MIGRATION_LOCK "8640001" /* gates that start at the same time migrate one after the other */

extern const unsigned char state_postgres_1[], state_postgres_2[], state_postgres_3[], state_postgres_4[],
    state_postgres_5[], state_postgres_6[], state_postgres_7[], state_postgres_8[];

/* In the order of application. An entry is never changed; new ones are appended. */
static const unsigned char *const migrations[] = {state_postgres_1, state_postgres_2, state_postgres_3,
                                                  state_postgres_4, state_postgres_5, state_postgres_6,
                                                  state_postgres_7, state_postgres_8};
#define VERSION ((int)(sizeof(migrations) / sizeof(migrations[0])))

/* Programs from this version on can use a database of VERSION. Raise it with a migration that takes something
 * away: gates that were not upgraded yet do not start any more then. */
#define OLDEST 7

/* What the newest migrations need, as the program that applied them noted. Databases up to version 6 have no
 * such column: they need their own version. */
#define NEEDED "SELECT coalesce(max((to_jsonb(s)->>'oldest')::int), max(version)) FROM sallyport_schema s"

static int run_sql(const struct libpq *pq, PGconn *conn, const char *sql, int *ret_number, struct err *err) {
    PGresult *result = pq->PQexec(conn, sql);
    ExecStatusType status = pq->PQresultStatus(result);
    int rc = 0;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        const char *code = pq->PQresultErrorField(result, PG_DIAG_SQLSTATE);
        rc = err_set(err, "%.*s%s", (int)strcspn(pq->PQresultErrorMessage(result), "\n"),
                     pq->PQresultErrorMessage(result),
                     code && strcmp(code, DENIED) == 0
                         ? ": start one gate with a role that may create tables, and then run "
                           "packaging/postgres-role.sql for the role of the others"
                         : "");
    }
    uint64_t number = 0;
    if (ret_number && rc == 0 && pq->PQntuples(result) == 1)
        slice_to_u64(slice_str(pq->PQgetvalue(result, 0, 0)), &number);
    if (ret_number)
        *ret_number = (int)number;
    pq->PQclear(result);
    return rc;
}

static int read_version(const struct libpq *pq, PGconn *conn, int *ret_version, struct err *err) {
    int there = 0;
    *ret_version = 0;
    if (run_sql(pq, conn, "SELECT count(*) FROM pg_class WHERE oid = to_regclass('sallyport_schema')", &there,
                err) < 0)
        return -1;
    return there ? run_sql(pq, conn, "SELECT max(version) FROM sallyport_schema", ret_version, err) : 0;
}

static int note_oldest(const struct libpq *pq, PGconn *conn, struct err *err) {
    char text[80];
    snprintf(text, sizeof(text), "UPDATE sallyport_schema SET oldest = %d WHERE version = %d", OLDEST,
             VERSION);
    return run_sql(pq, conn, text, NULL, err);
}

/* All in one transaction: a database has one version or the next, never something in between. */
static int apply_migrations(const struct libpq *pq, PGconn *conn, struct err *err) {
    int version;
    if (run_sql(pq, conn, "BEGIN", NULL, err) < 0 ||
        run_sql(pq, conn, "SELECT pg_advisory_xact_lock(" MIGRATION_LOCK ")", NULL, err) < 0 ||
        run_sql(pq, conn,
                "CREATE TABLE IF NOT EXISTS sallyport_schema (version int PRIMARY KEY, "
                "applied timestamptz NOT NULL DEFAULT now())",
                NULL, err) < 0 ||
        read_version(pq, conn, &version, err) < 0)
        return -1;
    for (; version < VERSION; version++) {
        char done[80];
        snprintf(done, sizeof(done), "INSERT INTO sallyport_schema (version) VALUES (%d)", version + 1);
        if (run_sql(pq, conn, (const char *)migrations[version], NULL, err) < 0 ||
            run_sql(pq, conn, done, NULL, err) < 0)
            return err_wrap(err, "bring the database to version %d", version + 1);
    }
    return note_oldest(pq, conn, err) < 0 ? -1 : run_sql(pq, conn, "COMMIT", NULL, err);
}

/* Names and arguments are UTF-8: another encoding lacks characters of theirs, and calls would fail one by
 * one. */
static int check_server(const struct libpq *pq, PGconn *conn, struct err *err) {
    const int version = pq->PQserverVersion(conn);
    const char *encoding = pq->PQparameterStatus(conn, "server_encoding");
    if (version < POSTGRES_OLDEST)
        return err_set(err, "PostgreSQL %d is too old: a gate needs %d or later", version / 10000,
                       POSTGRES_OLDEST / 10000);
    if (encoding && strcmp(encoding, "UTF8") != 0)
        return err_set(err,
                       "the database has the encoding %s: make one with UTF8 (createdb --encoding UTF8 "
                       "--template template0)",
                       encoding);
    return 0;
}

int migrations_apply(const struct libpq *pq, PGconn *conn, struct err *err) {
    int version, needed = 0;
    if (check_server(pq, conn, err) < 0 || read_version(pq, conn, &version, err) < 0)
        return -1;
    if (version > VERSION && run_sql(pq, conn, NEEDED, &needed, err) < 0)
        return -1;
    if (needed > VERSION)
        return err_set(err, "the database has version %d; this program supports %d", version, VERSION);
    return version >= VERSION ? 0 : apply_migrations(pq, conn, err);
}
