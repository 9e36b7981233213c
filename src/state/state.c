#include "state/state.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/address.h"
#include "state/embedded.h"
#include "state/meter.h"
#include "state/postgres.h"
#include "state/redis.h"
#include "state/sqlite.h"

#include <stdio.h>

#define STATE_FILE "state.sqlite"

static const char *const kind_names[] = {
    [STATE_FIXED] = "fixed",           [STATE_SLIDING] = "sliding",     [STATE_BUCKET] = "bucket",
    [STATE_CONCURRENT] = "concurrent", [STATE_IDENTICAL] = "identical",
};

const uint32_t state_answer_us[STATE_ANSWER_BUCKETS] = {250, 500, 1000, 2500, 5000, 25000, 100000, 1000000};

const char *state_kind_name(enum state_kind kind) {
    return (unsigned)kind < sizeof(kind_names) / sizeof(kind_names[0]) ? kind_names[kind] : "?";
}

static bool is_scheme(struct slice text) {
    for (size_t i = 0; i < text.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.", text.ptr[i]))
            return false;
    return text.len > 0;
}

int state_dsn_parse(const char *text, struct state_dsn *ret_dsn, struct err *err) {
    struct slice dsn = slice_str(text ? text : "sqlite:"), scheme;
    if (dsn.len > STATE_DSN_MAX)
        return err_set(err, "the state DSN is longer than %d bytes", STATE_DSN_MAX);
    if (!slice_cut(&dsn, ':', &scheme) || !is_scheme(scheme)) /* not shown: there may be a password in it */
        return err_set(err,
                       "the state DSN has no scheme: write sqlite:, sqlite:PATH, memory:, redis://HOST or "
                       "postgres://HOST");
    if (state_address_scheme(scheme)) {
        struct state_address address;
        if (state_address_parse(slice_str(text), &address, err) < 0)
            return -1;
        state_address_free(&address);
        *ret_dsn = (struct state_dsn){.backend = STATE_REDIS, .path = slice_str(text)};
        return 0;
    }
    if (slice_is(scheme, "postgres") || slice_is(scheme, "postgresql")) {
#ifdef SALLYPORT_POSTGRES
        *ret_dsn = (struct state_dsn){.backend = STATE_POSTGRES, .path = slice_str(text)};
        return 0;
#else
        return err_set(err, "state DSN `%.*s:`: this program was built without PostgreSQL",
                       SLICE_FMT(scheme));
#endif
    }
    if (slice_is(scheme, "memory") && dsn.len == 0) {
        *ret_dsn = (struct state_dsn){.backend = STATE_MEMORY};
        return 0;
    }
    if (!slice_is(scheme, "sqlite"))
        return err_set(
            err,
            "state DSN: `%.*s:` must be sqlite:, memory:, redis:, rediss:, valkey:, redis+sentinel:, "
            "redis+cluster:, unix: or postgres:",
            SLICE_FMT(scheme));
    if (slice_starts(dsn, SLICE("//")))
        dsn = slice_from(dsn, 2);
    *ret_dsn = (struct state_dsn){.backend = STATE_SQLITE, .path = dsn};
    return 0;
}

static int open_remote(const struct state_config *config, enum state_backend backend,
                       struct state_store **ret_store, struct err *err) {
    struct state_address address;
    int rc = -1;
    if (config->timeout_ms > STATE_REMOTE_TIMEOUT_MAX_MS)
        return err_set(err, "state: the time-out is longer than %d s", STATE_REMOTE_TIMEOUT_MAX_MS / 1000);
    if (backend == STATE_REDIS) {
        rc = state_address_parse(slice_str(config->dsn), &address, err);
        if (rc == 0)
            rc = state_redis_open(config, &address, ret_store, err);
    }
#ifdef SALLYPORT_POSTGRES
    if (backend == STATE_POSTGRES)
        rc = state_postgres_open(config, config->dsn, ret_store, err);
#endif
    if (rc < 0)
        return err_wrap(err, "state");
    (*ret_store)->fail_mode = config->fail_mode;
    return 0;
}

int state_open(const struct state_config *config, struct state_store **ret_store, struct err *err) {
    struct state_dsn dsn;
    if (state_dsn_parse(config->dsn, &dsn, err) < 0)
        return -1;
    if (config->lease_calls && dsn.backend != STATE_REDIS)
        return err_set(err, "state.lease needs counters in Redis");
    if (config->marks_dsn && dsn.backend != STATE_REDIS)
        return err_set(err, "state.after_loss: database needs counters in Redis");
    if (config->lease_calls < 0 || config->lease_calls > STATE_LEASE_CALLS_MAX)
        return err_set(err, "state.lease must be 0 to %d calls", STATE_LEASE_CALLS_MAX);
    if (dsn.backend == STATE_REDIS || dsn.backend == STATE_POSTGRES)
        return open_remote(config, dsn.backend, ret_store, err);
    cleanup_free char *path = NULL;
    if (dsn.backend == STATE_SQLITE && dsn.path.len > 0) {
        path = mem_dup(dsn.path.ptr, dsn.path.len);
    } else if (dsn.backend == STATE_SQLITE) {
        if (!config->dir || !*config->dir)
            return err_set(err, "no state directory");
        if (!config->read_only && io_make_dir(config->dir, err) < 0)
            return -1;
        if (asprintf(&path, "%s/" STATE_FILE, config->dir) < 0)
            return err_set(err, "out of memory");
    }
    if (state_embedded_open(config, path, ret_store, err) < 0)
        return err_wrap(err, "state");
    (*ret_store)->fail_mode = config->fail_mode;
    return 0;
}

void state_close(struct state_store *store) {
    if (store)
        store->ops->close(store);
}

enum state_step state_reserve(struct state_store *store, const struct state_limit *limits, size_t count,
                              uint64_t now_ms, struct state_ticket *ticket, state_done_fn *done, void *ctx) {
    ticket->answer = (struct state_answer){.result = STATE_GRANTED};
    ticket->store = store;
    ticket->holds = NULL;
    ticket->count = 0;
    ticket->wait = NULL;
    if (count == 0)
        return STATE_DONE;
    bool valid = count <= STATE_LIMITS_MAX;
    for (size_t i = 0; valid && i < count; i++)
        valid = state_limit_valid(&limits[i]);
    if (!valid) { /* an error of the caller, not of the store: refused in every fail mode */
        ticket->answer.result = STATE_FAULT;
        return STATE_DONE;
    }
    return store->ops->reserve(store, limits, count, now_ms, ticket, done, ctx);
}

void state_settle_each(struct state_ticket *ticket, uint64_t give_back) {
    if (ticket->holds || ticket->wait)
        ticket->store->ops->settle(ticket, give_back);
}

void state_ticket_move(struct state_ticket *from, struct state_ticket *ret_ticket) {
    *ret_ticket = *from;
    if (from->holds == from->few)
        ret_ticket->holds = ret_ticket->few;
    from->holds = NULL;
    from->wait = NULL;
}

void state_settle(struct state_ticket *ticket, enum state_outcome outcome) {
    state_settle_each(ticket, outcome == STATE_ROLLBACK ? UINT64_MAX : 0);
}

enum state_result state_read(struct state_store *store, const struct state_limit *limit, uint64_t now_ms,
                             int64_t *ret_micro) {
    if (!state_limit_valid(limit))
        return STATE_FAULT;
    return store->ops->read(store, limit, now_ms, ret_micro);
}

enum state_step state_fetch(struct state_store *store, const struct state_limit *limits, size_t count,
                            uint64_t now_ms, struct state_fetch *fetch) {
    fetch->store = store;
    fetch->wait = NULL;
    fetch->result = STATE_GRANTED;
    bool valid = count <= STATE_LIMITS_MAX;
    for (size_t i = 0; valid && i < count; i++)
        valid = state_limit_valid(&limits[i]);
    if (valid && count && store->ops->fetch)
        return store->ops->fetch(store, limits, count, now_ms, fetch);
    for (size_t i = 0; valid && i < count; i++)
        valid = state_read(store, &limits[i], now_ms, &fetch->values[i]) == STATE_GRANTED;
    if (!valid)
        fetch->result = STATE_FAULT;
    return STATE_DONE;
}

void state_unfetch(struct state_fetch *fetch) {
    if (fetch->wait)
        fetch->store->ops->unfetch(fetch);
}

bool state_is_remote(const struct state_store *store) { return store && store->ops->fetch; }

int state_list(struct state_store *store, uint64_t now_ms,
               void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err) {
    return store->ops->list(store, now_ms, each, ctx, err);
}

void state_health(struct state_store *store, struct state_health *ret_health) {
    *ret_health = (struct state_health){0};
    store->ops->health(store, ret_health);
}
