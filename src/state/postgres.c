/* All limits of a decision are one call of one function in the database (postgres_1.sql), so they are counted
 * together or not at all, by the server's clock. One connection carries them in libpq's pipeline mode: a
 * request does not wait for the answer to the one before it. */
#include "state/postgres.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "state/advice.h"
#include "state/libpq.h"
#include "state/migrations.h"
#include "state/remote_link.h"
#include "wire/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct postgres {
    struct remote remote;
    struct remote_link link;
    const struct libpq *pq;
    PGconn *conn;
    PGconn *opened;  /* by the check at the start: the first that `conn` is; NULL: it is already */
    uv_poll_t *poll; /* on the connection's socket; NULL: none */
    char *dsn;
};

static const struct remote_carrier postgres_carrier;

static struct postgres *of_link(struct remote_link *l) { return container_of(l, struct postgres, link); }

/* ---- the connection ---- */

static void note_fault(struct postgres *p, const char *text) {
    char line[256];
    size_t len = strcspn(text, "\n");
    snprintf(line, sizeof(line), "%.*s", (int)(len < 250 ? len : 250), text);
    state_remote_link_note(&p->link, line);
}

static void lost(struct postgres *p) {
    note_fault(p, p->pq->PQerrorMessage(p->conn));
    char why[sizeof(p->link.health.fault)];
    memcpy(why, p->link.health.fault, sizeof(why));
    state_remote_link_lost(&p->link, why);
}

static void on_poll_closed(uv_handle_t *handle) { free(handle); }

static void stop_poll(struct postgres *p) {
    if (!p->poll)
        return;
    uv_poll_stop(p->poll);
    uv_close((uv_handle_t *)p->poll, on_poll_closed);
    p->poll = NULL;
}

static void link_drop(struct remote_link *l) {
    struct postgres *p = of_link(l);
    stop_poll(p);
    if (p->conn)
        p->pq->PQfinish(p->conn);
    p->conn = NULL;
}

static void on_ready(uv_poll_t *poll, int status, int events);

static void wait_for(struct postgres *p, int events) {
    if (!p->poll) {
        p->poll = mem_zalloc(sizeof(*p->poll));
        CHECK(uv_poll_init(&p->link.loop->uv, p->poll, p->pq->PQsocket(p->conn)) == 0);
        p->poll->data = p;
    }
    uv_poll_start(p->poll, events, on_ready);
}

/* Reads responses; the pipeline puts a sync mark after every request. */
static void read_results(struct postgres *p) {
    PGconn *conn = p->conn;
    for (int nulls = 0; p->conn == conn && nulls < 2 && !p->pq->PQisBusy(conn);) {
        PGresult *result = p->pq->PQgetResult(conn);
        if (!result) {
            nulls++;
            continue;
        }
        nulls = 0;
        ExecStatusType status = p->pq->PQresultStatus(result);
        bool is_mark = status == PGRES_PIPELINE_SYNC;
        if (status == PGRES_FATAL_ERROR)
            note_fault(p, p->pq->PQresultErrorMessage(result));
        if (!is_mark && !state_remote_link_answer(&p->link, result))
            state_remote_link_lost(&p->link, "an unsolicited answer");
        if (status == PGRES_FATAL_ERROR && p->conn == conn && state_libpq_is_read_only(p->pq, result))
            state_remote_link_lost(&p->link, "the server takes no writes");
        p->pq->PQclear(result);
    }
}

static void flush(struct postgres *p) {
    int left = p->pq->PQflush(p->conn);
    if (left < 0)
        lost(p);
    else
        wait_for(p, left ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

static void connected(struct postgres *p) {
    if (p->pq->PQsetnonblocking(p->conn, 1) != 0 || p->pq->PQenterPipelineMode(p->conn) != 1) {
        lost(p);
        return;
    }
    p->link.phase = REMOTE_UP;
    p->link.health.connects++;
    state_remote_link_good(&p->link);
    wait_for(p, UV_READABLE);
}

static void connect_step(struct postgres *p) {
    /* The library may have changed to another socket. */
    stop_poll(p);
    switch (p->pq->PQconnectPoll(p->conn)) {
    case PGRES_POLLING_READING:
        wait_for(p, UV_READABLE);
        break;
    case PGRES_POLLING_WRITING:
        wait_for(p, UV_WRITABLE);
        break;
    case PGRES_POLLING_OK:
        connected(p);
        break;
    default:
        lost(p);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct postgres *p = poll->data;
    (void)status, (void)events;
    if (p->link.phase == REMOTE_CONNECTING) {
        connect_step(p);
        return;
    }
    if (p->pq->PQconsumeInput(p->conn) != 1) {
        lost(p);
        return;
    }
    read_results(p);
    if (p->conn)
        flush(p);
}

static void link_connect(struct remote_link *l) {
    struct postgres *p = of_link(l);
    const char *keys[LIBPQ_WORDS], *values[LIBPQ_WORDS];
    if (p->opened) {
        p->conn = steal(p->opened);
        connected(p);
        return;
    }
    state_libpq_words(p->dsn, true, keys, values);
    p->conn = p->pq->PQconnectStartParams(keys, values, 1);
    if (!p->conn || p->pq->PQstatus(p->conn) == CONNECTION_BAD) {
        lost(p);
        return;
    }
    p->pq->PQsetNoticeReceiver(p->conn, state_libpq_quiet, NULL);
    wait_for(p, UV_WRITABLE);
}

/* ---- requests ---- */

static bool send_query(struct postgres *p, const char *sql, int count, const char *const *values,
                       struct remote_want *want) {
    /* Nothing is queued without a connection: most of it would be too late. */
    if (p->link.phase != REMOTE_UP || !state_remote_link_takes(&p->link))
        return false;
    if (p->pq->PQsendQueryParams(p->conn, sql, count, NULL, values, NULL, NULL, 0) != 1 ||
        p->pq->PQpipelineSync(p->conn) != 1) {
        note_fault(p, p->pq->PQerrorMessage(p->conn));
        return false;
    }
    state_remote_link_queue(&p->link, want);
    wait_for(p, UV_READABLE | UV_WRITABLE);
    return true;
}

bool state_postgres_send(struct state_store *store, const char *sql, int count, const char *const *values,
                         struct remote_want *want) {
    return send_query((struct postgres *)store, sql, count, values, want);
}

static void put_number(struct emit *e, const char *key, int64_t value) {
    emit_key(e, key);
    emit_int(e, value);
}

static void put_text(struct emit *e, const char *key, struct slice value) {
    emit_key(e, key);
    emit_str(e, value);
}

/* The limits as the functions take them. */
static void put_limits(struct emit *e, const struct remote_call *call, struct arena *a) {
    bool is_undo = call->op == REMOTE_UNDO;
    emit_array(e);
    for (size_t i = 0; i < call->count; i++) {
        const struct remote_held *h = &call->held[i];
        if (is_undo && !h->counted)
            continue;
        emit_object(e);
        put_text(e, "key", h->key);
        put_text(e, "kind", state_remote_kind(h->kind));
        put_text(e, "client", slice_str(state_remote_client(h, a)));
        put_number(e, "win", (int64_t)h->window_ms);
        put_number(e, "max", h->max);
        put_number(e, "refill", h->refill);
        put_number(e, "amount", h->amount);
        put_text(e, "print", arena_printf(a, "%016" PRIx64, h->fingerprint));
        put_text(e, "last",
                 is_undo     ? arena_printf(a, "%" PRIu64, h->start)
                 : h->shadow ? SLICE("1")
                             : SLICE("0"));
        emit_object_end(e);
    }
    emit_array_end(e);
}

static bool postgres_send(struct remote *remote, struct remote_call *call) {
    struct postgres *p = (struct postgres *)remote;
    static const char *const queries[] = {
        [REMOTE_RESERVE] = "SELECT * FROM sallyport_reserve($1, $2, $3)",
        [REMOTE_READ] = "SELECT sallyport_read($1)",
        [REMOTE_UNDO] = "SELECT sallyport_undo($1, $2)",
    };
    struct arena a;
    cleanup_buf struct buf json;
    struct emit e;
    char lease[24];
    arena_init(&a);
    buf_init(&json, STATE_POSTGRES_REQUEST_MAX);
    emit_init(&e, &json);
    put_limits(&e, call, &a);
    buf_put_char(&json, '\0');
    snprintf(lease, sizeof(lease), "%d", STATE_REMOTE_LEASE_MS);
    const char *name = arena_printf(&a, "%s:%" PRIu64, remote->owner, call->number).ptr;
    const char *reserve[] = {name, lease, json.ptr}, *undo[] = {name, json.ptr}, *read[] = {json.ptr};
    const char *const *values = call->op == REMOTE_RESERVE ? reserve : call->op == REMOTE_UNDO ? undo : read;
    int count = call->op == REMOTE_RESERVE ? 3 : call->op == REMOTE_UNDO ? 2 : 1;
    bool sent = !json.full && send_query(p, queries[call->op], count, values, &call->want);
    arena_free(&a);
    return sent;
}

/* ---- answers ---- */

static struct slice cell(const struct postgres *p, const PGresult *result, int column) {
    return slice_str(p->pq->PQgetvalue(result, 0, column));
}

struct slice state_postgres_cell(const struct state_store *store, const void *reply, int column) {
    const struct postgres *p = (const struct postgres *)store;
    const PGresult *result = reply;
    bool has = p->pq->PQresultStatus(result) == PGRES_TUPLES_OK && p->pq->PQntuples(result) == 1 &&
               column < p->pq->PQnfields(result);
    return has ? cell(p, result, column) : (struct slice){0};
}

static bool read_values(struct remote_call *call, struct slice text) {
    for (size_t i = 0; i < call->count; i++) {
        struct slice part;
        uint64_t value;
        if (!slice_cut(&text, ',', &part) || !slice_to_u64(part, &value) || value > INT64_MAX)
            return false;
        call->held[i].value = (int64_t)value;
    }
    return true;
}

static bool read_holds(struct remote_call *call, struct slice shadow, struct slice text,
                       struct state_answer *answer) {
    if (shadow.len != call->count)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        struct slice part;
        if (!slice_cut(&text, ',', &part))
            return false;
        call->held[i].counted = call->held[i].amount > 0 && slice_to_u64(part, &call->held[i].start);
        if (shadow.ptr[i] == '1' && i < 64)
            answer->shadow_refused |= (uint64_t)1 << i;
    }
    return true;
}

/* granted, refused, retry, shadow, holds */
static bool postgres_read(struct remote_call *call, const void *raw, struct state_answer *answer) {
    const struct postgres *p = (const struct postgres *)call->store;
    const PGresult *result = raw;
    int columns = call->op == REMOTE_READ ? 1 : 5;
    if (p->pq->PQresultStatus(result) != PGRES_TUPLES_OK || p->pq->PQntuples(result) != 1 ||
        p->pq->PQnfields(result) != columns)
        return false;
    if (call->op == REMOTE_READ)
        return read_values(call, cell(p, result, 0));
    if (slice_is(cell(p, result, 0), "t"))
        return read_holds(call, cell(p, result, 3), cell(p, result, 4), answer);
    uint64_t index, retry;
    if (!slice_to_u64(cell(p, result, 1), &index) || index >= call->count)
        return false;
    if (!slice_to_u64(cell(p, result, 2), &retry))
        retry = 0;
    *answer = (struct state_answer){
        .result = STATE_REFUSED, .refused_index = (size_t)index, .retry_after_ms = retry};
    return true;
}

static void on_renewed(struct remote_want *want, const void *reply) {
    (void)reply;
    free(want);
}

static void renew_one(struct postgres *p, const struct remote_call *call, const struct remote_held *h) {
    struct remote_want *want = mem_zalloc(sizeof(*want));
    struct arena a;
    arena_init(&a);
    const char *values[] = {arena_printf(&a, "%.*s", SLICE_FMT(h->key)).ptr,
                            arena_printf(&a, "%s:%" PRIu64, p->remote.owner, call->number).ptr,
                            arena_printf(&a, "%" PRId64, h->amount / STATE_MICRO).ptr,
                            arena_printf(&a, "%d", STATE_REMOTE_LEASE_MS).ptr};
    want->answered = on_renewed;
    if (!send_query(p, "SELECT sallyport_renew($1, $2, $3, $4)", 4, values, want))
        free(want);
    arena_free(&a);
}

static void postgres_renew(struct remote *remote, const struct remote_call *call) {
    for (size_t i = 0; i < call->count; i++)
        if (call->held[i].counted && call->held[i].kind == STATE_CONCURRENT)
            renew_one((struct postgres *)remote, call, &call->held[i]);
}

/* ---- opening and closing ---- */

/* Nothing else runs at the start, so this blocks. The connection is kept: calls that come as soon as the gate
 * listens would be refused while another one is made. */
static int check_database(struct postgres *p, struct err *err) {
    const char *keys[LIBPQ_WORDS], *values[LIBPQ_WORDS];
    if (state_advice_check(p->dsn, err) < 0)
        return -1;
    state_libpq_words(p->dsn, true, keys, values);
    PGconn *conn = p->pq->PQconnectdbParams(keys, values, 1);
    int rc = 0;
    if (!conn || p->pq->PQstatus(conn) != CONNECTION_OK)
        rc = err_set(err, "%.*s", (int)strcspn(p->pq->PQerrorMessage(conn), "\n"),
                     p->pq->PQerrorMessage(conn));
    if (rc == 0) {
        p->pq->PQsetNoticeReceiver(conn, state_libpq_quiet, NULL);
        rc = migrations_apply(p->pq, conn, err);
    }
    if (rc == 0 && asprintf(&p->remote.path, "%s/%s", p->pq->PQhost(conn), p->pq->PQdb(conn)) < 0)
        rc = err_set(err, "out of memory");
    p->opened = conn;
    return rc;
}

int state_postgres_open(const struct state_config *config, const char *dsn, struct state_store **ret_store,
                        struct err *err) {
    struct postgres *p = mem_zalloc(sizeof(*p));
    state_remote_init(&p->remote, &postgres_carrier, config);
    p->dsn = mem_dup(dsn, strlen(dsn));
    p->pq = state_libpq(err);
    if (!p->pq || check_database(p, err) < 0) {
        p->remote.store.ops->close(&p->remote.store);
        return -1;
    }
    if (config->loop) {
        p->link.connect = link_connect;
        p->link.drop = link_drop;
        state_remote_link_start(&p->link, config->loop, p->remote.timeout_ms);
        state_remote_start(&p->remote, config->loop);
    }
    *ret_store = &p->remote.store;
    return 0;
}

static void postgres_health(const struct remote *remote, struct remote_link_health *ret_health) {
    *ret_health = ((const struct postgres *)remote)->link.health;
}

static void postgres_close(struct remote *remote) {
    struct postgres *p = (struct postgres *)remote;
    if (remote->loop)
        state_remote_link_end(&p->link);
    if (p->opened)
        p->pq->PQfinish(p->opened);
    free(p->dsn);
}

static const struct remote_carrier postgres_carrier = {
    .name = "postgres",
    .send = postgres_send,
    .read = postgres_read,
    .renew = postgres_renew,
    .health = postgres_health,
    .close = postgres_close,
};
