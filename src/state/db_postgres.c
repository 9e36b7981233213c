/* Non-blocking use of libpq with time-outs. The caller is a thread beside the loop, the command line, or a
 * request to the admin API. A lost connection is opened again at the next statement, never inside a
 * transaction. */
#include "state/db_postgres.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "state/advice.h"
#include "state/libpq.h"
#include "state/limits.h"
#include "state/migrations.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From the server's catalogue of types. */
#define OID_BYTEA 17
#define OID_INT8 20
#define OID_TEXT 25

#define DB_COPY_BYTES (256u << 10) /* bytes that are handed over before the socket is flushed */

struct db_postgres {
    const struct libpq *pq;
    PGconn *conn; /* NULL: not connected */
    char *dsn;
    char store[32];
    bool migrated;
    bool in_transaction; /* nothing is sent on a new connection before this transaction ends */
    bool listens;
    bool writes;       /* only a server that takes writes will do */
    uint64_t retry_ms; /* no attempt to connect before then */
    uint64_t timeout_ms;
    int stop_fd;      /* readable: all waiting ends; -1: none */
    struct err fault; /* of the last attempt */
};

struct db_query {
    struct db_postgres *db;
    struct arena arena;
    char *text;
    int count;
    Oid types[DB_PARAMETERS_MAX];
    const char *values[DB_PARAMETERS_MAX];
    int lengths[DB_PARAMETERS_MAX], formats[DB_PARAMETERS_MAX];
    PGresult *result; /* NULL: not run yet, or failed */
    int row, rows;
    bool ran, failed;
    struct err err;
};

/* ---- waiting ---- */

static int first_line(struct err *err, const char *text) {
    return err_set(err, "PostgreSQL: %.*s", (int)strcspn(text, "\n"), text);
}

static void disconnect(struct db_postgres *db) {
    if (db->conn)
        db->pq->PQfinish(db->conn);
    db->conn = NULL;
}

/* False: timed out. What came before this thread was run again is in time. */
static bool wait_for(struct db_postgres *db, short events, uint64_t due_ms) {
    uint64_t now = clock_mono_ms();
    struct pollfd p[] = {{.fd = db->pq->PQsocket(db->conn), .events = events},
                         {.fd = db->stop_fd, .events = POLLIN}};
    return poll(p, 2, now < due_ms ? (int)(due_ms - now) : 0) > 0 && p[0].revents;
}

static int lost(struct db_postgres *db, const char *why, struct err *err) {
    int rc = why ? err_set(err, "PostgreSQL: %s", why) : first_line(err, db->pq->PQerrorMessage(db->conn));
    disconnect(db);
    return rc;
}

/* ---- connecting ---- */

static int connect_try(struct db_postgres *db, struct err *err) {
    const char *keys[LIBPQ_WORDS], *values[LIBPQ_WORDS];
    uint64_t due_ms = clock_mono_ms() + db->timeout_ms;
    state_libpq_words(db->dsn, db->writes, keys, values);
    db->conn = db->pq->PQconnectStartParams(keys, values, 1);
    if (!db->conn || db->pq->PQstatus(db->conn) == CONNECTION_BAD)
        return lost(db, NULL, err);
    db->pq->PQsetNoticeReceiver(db->conn, state_libpq_quiet, NULL);
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
         next = db->pq->PQconnectPoll(db->conn)) {
        if (next == PGRES_POLLING_FAILED)
            return lost(db, NULL, err);
        if (!wait_for(db, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, due_ms))
            return lost(db, "no connection in time", err);
    }
    return 0;
}

static PGresult *run(struct db_postgres *db, const struct db_query *q, struct err *err);

static int run_plain(struct db_postgres *db, const char *text, struct err *err) {
    struct db_query q = {.text = (char *)(uintptr_t)text};
    PGresult *result = run(db, &q, err);
    db->pq->PQclear(result);
    return result ? 0 : -1;
}

static int setup(struct db_postgres *db, struct err *err) {
    if (state_advice_check(db->dsn, err) < 0 || connect_try(db, err) < 0)
        return -1;
    if (!db->migrated && migrations_apply(db->pq, db->conn, err) < 0) {
        disconnect(db);
        return err_wrap(err, "PostgreSQL");
    }
    db->migrated = true;
    return run_plain(db, "SET search_path TO sallyport", err) < 0 ||
                   (db->listens && run_plain(db, "LISTEN sallyport", err) < 0)
               ? -1
               : 0;
}

/* Detects here, before anything is sent, that the server closed an idle connection. */
static void drop_closed(struct db_postgres *db) {
    if (db->conn && (db->pq->PQconsumeInput(db->conn) != 1 || db->pq->PQstatus(db->conn) != CONNECTION_OK))
        disconnect(db);
}

static int ready(struct db_postgres *db, struct err *err) {
    drop_closed(db);
    if (db->conn)
        return 0;
    if (db->in_transaction)
        return err_set(err, "PostgreSQL: the connection was lost");
    if (clock_mono_ms() < db->retry_ms)
        return err_set(err, "%s", db->fault.text);
    if (setup(db, err) == 0)
        return 0;
    disconnect(db);
    db->retry_ms = clock_mono_ms() + STATE_SQL_RETRY_MS;
    if (err)
        db->fault = *err;
    return -1;
}

int db_postgres_open(const char *dsn, const char *store, bool writes, struct db_postgres **ret_db,
                     struct err *err) {
    struct db_postgres *db = mem_zalloc(sizeof(*db));
    db->dsn = mem_dup(dsn, strlen(dsn));
    snprintf(db->store, sizeof(db->store), "%s", store);
    db->writes = writes;
    db->timeout_ms = STATE_SQL_TIMEOUT_MS;
    db->stop_fd = -1;
    db->pq = state_libpq(err);
    if (!db->pq) {
        db_postgres_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

void db_postgres_close(struct db_postgres *db) {
    if (!db)
        return;
    disconnect(db);
    free(db->dsn);
    free(db);
}

/* ---- statements ---- */

/* Reads all results of one statement; the last one counts. */
static PGresult *collect(struct db_postgres *db, uint64_t due_ms, struct err *err) {
    PGresult *last = NULL;
    for (;;) {
        while (db->pq->PQisBusy(db->conn)) {
            if (!wait_for(db, POLLIN, due_ms))
                return db->pq->PQclear(last), lost(db, "no answer in time", err), NULL;
            if (db->pq->PQconsumeInput(db->conn) != 1)
                return db->pq->PQclear(last), lost(db, NULL, err), NULL;
        }
        PGresult *next = db->pq->PQgetResult(db->conn);
        if (!next)
            return last;
        db->pq->PQclear(last);
        last = next;
        if (db->pq->PQresultStatus(next) == PGRES_COPY_IN)
            return last;
    }
}

static PGresult *checked(struct db_postgres *db, PGresult *result, struct err *err) {
    if (!result)
        return NULL;
    ExecStatusType status = db->pq->PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_COPY_IN)
        return result;
    first_line(err, db->pq->PQresultErrorMessage(result));
    if (db->writes && state_libpq_is_read_only(db->pq, result))
        disconnect(db);
    db->pq->PQclear(result);
    drop_closed(db);
    return NULL;
}

static PGresult *run(struct db_postgres *db, const struct db_query *q, struct err *err) {
    uint64_t due_ms = clock_mono_ms() + db->timeout_ms;
    if (db->pq->PQsendQueryParams(db->conn, q->text, q->count, q->types, q->values, q->lengths, q->formats,
                                  0) != 1)
        return lost(db, NULL, err), NULL;
    return checked(db, collect(db, due_ms, err), err);
}

struct db_query *db_postgres_prepare(struct db_postgres *db, const char *text) {
    struct db_query *q = mem_zalloc(sizeof(*q));
    q->db = db;
    arena_init(&q->arena);
    q->text = mem_dup(text, strlen(text));
    for (char *at = q->text; (at = strchr(at, '?'));)
        *at = '$';
    return q;
}

void db_postgres_bind(struct db_query *q, int at, enum db_type type, struct slice value) {
    static const Oid oids[] = {[DB_TEXT] = OID_TEXT, [DB_BLOB] = OID_BYTEA, [DB_INT] = OID_INT8};
    CHECK(at > 0 && at <= DB_PARAMETERS_MAX && value.len <= INT32_MAX);
    if (type != DB_BLOB && value.len && memchr(value.ptr, '\0', value.len)) {
        q->failed = true;
        err_set(&q->err, "PostgreSQL: a text with a NUL byte cannot be stored");
    }
    q->types[at - 1] = oids[type];
    q->values[at - 1] = arena_dup(&q->arena, value.len ? value : SLICE("")).ptr;
    q->lengths[at - 1] = (int)value.len;
    q->formats[at - 1] = type == DB_BLOB;
    q->count = at > q->count ? at : q->count;
}

bool db_postgres_step(struct db_query *q) {
    struct db_postgres *db = q->db;
    if (!q->ran && !q->failed) {
        q->result = ready(db, &q->err) == 0 ? run(db, q, &q->err) : NULL;
        q->failed = !q->result;
        q->rows = q->result ? db->pq->PQntuples(q->result) : 0;
        q->row = -1;
    }
    q->ran = true;
    return !q->failed && ++q->row < q->rows;
}

struct slice db_postgres_text(struct db_query *q, int column) {
    const struct libpq *pq = q->db->pq;
    struct slice text = slice_of(pq->PQgetvalue(q->result, q->row, column),
                                 (size_t)pq->PQgetlength(q->result, q->row, column));
    if (pq->PQftype(q->result, column) != OID_BYTEA || text.len < 2)
        return text;
    size_t len = (text.len - 2) / 2;
    char *bytes = arena_alloc(&q->arena, len + 1);
    return hex_get(slice_from(text, 2), (unsigned char *)bytes, len) ? slice_of(bytes, len)
                                                                     : (struct slice){0};
}

int64_t db_postgres_finish(struct db_query *q, struct err *err) {
    const struct libpq *pq = q->db->pq;
    int64_t changed = q->failed   ? err_set(err, "%s", q->err.text)
                      : q->result ? strtoll(pq->PQcmdTuples(q->result), NULL, 10)
                                  : 0;
    pq->PQclear(q->result);
    arena_free(&q->arena);
    free(q->text);
    free(q);
    return changed;
}

/* ---- transactions ---- */

static int64_t number_of(struct db_postgres *db, const char *text, struct slice name, struct err *err) {
    struct db_query *q = db_postgres_prepare(db, text);
    db_postgres_bind(q, 1, DB_TEXT, name);
    int64_t number = db_postgres_step(q) ? strtoll(db_postgres_text(q, 0).ptr, NULL, 10) : 0;
    return db_postgres_finish(q, err) < 0 ? -1 : number;
}

/* One writer at a time, as in SQLite: what a transaction has read stays true until it ends. */
int db_postgres_begin(struct db_postgres *db, struct err *err) {
    if (ready(db, err) < 0 || run_plain(db, "BEGIN", err) < 0)
        return -1;
    db->in_transaction = true;
    if (number_of(db, "SELECT 1 FROM pg_advisory_xact_lock(hashtext('sallyport ' || ?1))",
                  slice_str(db->store), err) < 0)
        return db_postgres_end(db, false, NULL);
    return 0;
}

int db_postgres_end(struct db_postgres *db, bool fine, struct err *err) {
    db->in_transaction = false;
    if (!db->conn)
        return fine ? err_set(err, "PostgreSQL: the connection was lost") : -1;
    if (run_plain(db, fine ? "COMMIT" : "ROLLBACK", fine ? err : NULL) < 0)
        return -1;
    return fine ? 0 : -1;
}

int64_t db_postgres_version(struct db_postgres *db, struct err *err) {
    return number_of(db, "SELECT number FROM changes WHERE store=?1", slice_str(db->store), err);
}

/* ---- following ---- */

int db_postgres_listen(struct db_postgres *db, struct err *err) {
    db->listens = true;
    return ready(db, err) < 0 ? -1 : run_plain(db, "LISTEN sallyport", err);
}

static bool take_notifications(struct db_postgres *db) {
    bool any = false;
    for (PGnotify *n; db->conn && (n = db->pq->PQnotifies(db->conn)); any = true)
        db->pq->PQfreemem(n);
    return any;
}

void db_postgres_wait(struct db_postgres *db, int wake, int timeout_ms) {
    drop_closed(db);
    if (take_notifications(db))
        return;
    struct pollfd p[] = {{.fd = wake, .events = POLLIN},
                         {.fd = db->conn ? db->pq->PQsocket(db->conn) : -1, .events = POLLIN}};
    poll(p, 2, timeout_ms);
    drop_closed(db);
    take_notifications(db);
}

/* ---- copying ---- */

void db_postgres_set_timeout(struct db_postgres *db, uint64_t timeout_ms, int stop_fd) {
    db->timeout_ms = timeout_ms;
    db->stop_fd = stop_fd;
}

/* Until everything is sent. The server may respond meanwhile, and would stop reading if its response were
 * not read. */
static int copy_flush(struct db_postgres *db, uint64_t due_ms, struct err *err) {
    for (int left; (left = db->pq->PQflush(db->conn)) != 0;) {
        if (left < 0)
            return lost(db, NULL, err);
        if (!wait_for(db, POLLIN | POLLOUT, due_ms))
            return lost(db, "no answer in time", err);
        if (db->pq->PQconsumeInput(db->conn) != 1)
            return lost(db, NULL, err);
    }
    return 0;
}

static int copy_rows(struct db_postgres *db, struct slice data, uint64_t due_ms, struct err *err) {
    for (struct slice part; data.len; data = slice_from(data, part.len)) {
        part = slice_upto(data, DB_COPY_BYTES);
        if (db->pq->PQputCopyData(db->conn, part.ptr, (int)part.len) != 1)
            return lost(db, NULL, err);
        if (copy_flush(db, due_ms, err) < 0)
            return -1;
    }
    if (db->pq->PQputCopyEnd(db->conn, NULL) != 1)
        return lost(db, NULL, err);
    return copy_flush(db, due_ms, err);
}

int db_postgres_copy(struct db_postgres *db, const char *statement, struct slice data, struct err *err) {
    struct db_query q = {.text = (char *)(uintptr_t)statement};
    PGresult *begun = ready(db, err) == 0 ? run(db, &q, err) : NULL;
    if (!begun)
        return -1;
    db->pq->PQclear(begun);
    uint64_t due_ms = clock_mono_ms() + db->timeout_ms;
    if (db->pq->PQsetnonblocking(db->conn, 1) != 0)
        return lost(db, NULL, err);
    if (copy_rows(db, data, due_ms, err) < 0)
        return -1;
    PGresult *result = checked(db, collect(db, due_ms, err), err);
    db->pq->PQclear(result);
    if (db->conn)
        db->pq->PQsetnonblocking(db->conn, 0);
    return result ? 0 : -1;
}
