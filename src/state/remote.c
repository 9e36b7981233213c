#include "state/remote.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "state/leases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REMOTE_MAGIC 0x72656d74u
#define DIGEST_TEXT 65 /* '#' and SHA-256 in hex */

static const struct state_ops remote_ops;

struct slice state_remote_kind(enum state_kind kind) {
    static const char letters[] = {[STATE_FIXED] = 'f',
                                   [STATE_SLIDING] = 's',
                                   [STATE_BUCKET] = 'b',
                                   [STATE_CONCURRENT] = 'c',
                                   [STATE_IDENTICAL] = 'i'};
    return slice_of(&letters[kind], 1);
}

struct slice state_remote_prefix(const struct remote *r, unsigned shard, struct arena *a) {
    return r->shards > 1 ? arena_printf(a, "{%s%x}", r->prefix, shard) : slice_str(r->prefix);
}

/* ---- calls ---- */

/* Counters of one scope are in one shard, so usually one shard has all limits of a call. */
static unsigned shard_of(const struct remote *r, const struct state_limit *limit) {
    unsigned char sum[SHA_BYTES];
    if (r->shards <= 1)
        return 0;
    const struct slice scope = slice_upto(limit->key, limit->scope_len);
    sha_256(&scope, 1, sum);
    return sum[0] % r->shards;
}

/* PREFIX KEY:KIND:WINDOW. A key that is too long ends in a hash of the whole. */
static struct slice remote_key(const struct remote *r, const struct state_limit *limit, struct arena *a) {
    struct slice key = limit->key;
    if (key.len > STATE_KEY_MAX) {
        char hex[DIGEST_TEXT];
        sha_256_hex(key, hex);
        key = arena_printf(a, "%.*s#%.64s", STATE_KEY_MAX - DIGEST_TEXT, key.ptr, hex);
    }
    return arena_printf(a, "%.*s%.*s:%.1s:%" PRIu64, SLICE_FMT(state_remote_prefix(r, shard_of(r, limit), a)),
                        SLICE_FMT(key), state_remote_kind(limit->kind).ptr, limit->window_ms);
}

/* Stores identify clients by a hash, because names can have any length. */
static uint64_t client_of(struct slice owner) {
    unsigned char sum[SHA_BYTES];
    uint64_t hash = 0;
    if (!owner.len)
        return 0;
    sha_256(&owner, 1, sum);
    memcpy(&hash, sum, sizeof(hash));
    return hash;
}

const char *state_remote_client(const struct remote_held *h, struct arena *a) {
    return h->client ? arena_printf(a, "%016" PRIx64, h->client).ptr : "-";
}

static struct remote_call *call_new(struct remote *r, const struct state_limit *limits, size_t count,
                                    enum remote_op op) {
    struct arena a;
    arena_init(&a);
    struct slice *keys = arena_array(&a, struct slice, count);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        keys[i] = remote_key(r, &limits[i], &a);
        bytes += keys[i].len;
    }
    struct remote_call *call = mem_zalloc(sizeof(*call) + count * sizeof(call->held[0]) + bytes);
    char *to = (char *)&call->held[count];
    for (size_t i = 0; i < count; i++) {
        memcpy(to, keys[i].ptr, keys[i].len);
        call->held[i] = (struct remote_held){.kind = limits[i].kind,
                                             .window_ms = limits[i].window_ms,
                                             .amount = limits[i].amount,
                                             .max = limits[i].max,
                                             .refill = limits[i].refill,
                                             .shadow = limits[i].shadow,
                                             .leasable = limits[i].leasable,
                                             .shard = (uint8_t)shard_of(r, &limits[i]),
                                             .fingerprint = limits[i].fingerprint,
                                             .client = client_of(limits[i].owner),
                                             .lost_ms = -1,
                                             .key = slice_of(to, keys[i].len)};
        to += keys[i].len;
    }
    arena_free(&a);
    call->store = r;
    call->count = count;
    call->op = op;
    call->opens = state_opens(&r->store, limits, count);
    call->number = ++r->number;
    return call;
}

static void call_free(struct remote_call *call) {
    list_remove(&call->renewing);
    free(call);
}

static void on_undone(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    const struct remote_carrier *carrier = call->store->carrier;
    if (reply && carrier->again && carrier->again(call, reply))
        return;
    call_free(call); /* what was not taken back counts until its window or its lease ends */
}

/* Takes back what was counted, if anything. */
static void undo(struct remote_call *call) {
    bool counted = false;
    for (size_t i = 0; i < call->count; i++)
        counted |= call->held[i].counted;
    call->want = (struct remote_want){.answered = on_undone};
    call->op = REMOTE_UNDO;
    call->retried = false;
    call->redirects = 0;
    list_remove(&call->renewing);
    if (!counted || !call->store->carrier->send(call->store, call))
        call_free(call);
}

/* The result of a failed store: a fault, or a call that is allowed uncounted. */
static void answer_fault(const struct remote_call *call, struct state_answer *answer) {
    const bool opens = call->opens;
    call->store->health.faults++;
    call->store->health.passed += opens;
    *answer = (struct state_answer){.result = opens ? STATE_GRANTED : STATE_FAULT, .degraded = opens};
}

/* ---- slices ---- */

static bool may_lease(const struct remote *r, const struct remote_held *h) {
    return h->leasable && h->kind == STATE_FIXED && !h->shadow && h->amount == STATE_MICRO &&
           h->max != STATE_NO_MAX && h->max / STATE_LEASE_SHARE >= r->leases->slice;
}

/* Takes from slices, and requests slices where they have nothing. Returns the number of limits that the
 * server must count. */
static size_t lease_take(struct remote_call *call) {
    struct remote *r = call->store;
    const uint64_t now = io_now_ms(r->loop);
    size_t left = call->count;
    for (size_t i = 0; r->leases && i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        if (!may_lease(r, h))
            continue;
        h->local = h->counted = state_leases_take(r->leases, h->key, h->amount, now, &h->start);
        left -= h->local;
        if (!h->local && state_leases_ask(r->leases, h->key, h->window_ms, now))
            h->slice = r->leases->slice;
    }
    return left;
}

/* Handles the slices that came with the call's own part, or did not. They end with their window. */
static void lease_report(struct remote_call *call, bool counted) {
    struct remote *r = call->store;
    const uint64_t now = io_now_ms(r->loop), sent = call->want.sent_us / 1000;
    for (size_t i = 0; i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        if (!h->slice)
            continue;
        uint64_t end = h->start + h->window_ms, rest = end > call->server_ms ? end - call->server_ms : 0;
        rest = rest < STATE_LEASE_MS ? rest : STATE_LEASE_MS;
        uint64_t waited = clock_mono_us() / 1000 - sent;
        int64_t left = counted && h->counted ? h->slice - h->amount : -1;
        state_leases_report(r->leases, h->key, h->start, left, now,
                            now + (rest > waited ? rest - waited : 0));
        h->slice = 0;
    }
}

/* A slice did not fit; the call alone may. */
static bool lease_without(struct remote_call *call) {
    bool any = false;
    for (size_t i = 0; i < call->count; i++)
        any |= call->held[i].slice != 0;
    if (!any)
        return false;
    lease_report(call, false);
    return call->store->carrier->send(call->store, call);
}

/* Back into its slice, if that has not expired; otherwise the server is notified. */
static void lease_return(struct remote_call *call) {
    struct remote *r = call->store;
    for (size_t i = 0; r->leases && i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        if (h->counted && !h->slice && may_lease(r, h) &&
            state_leases_return(r->leases, h->key, h->start, h->amount, io_now_ms(r->loop)))
            h->counted = false;
    }
}

static void lease_give_back(struct remote *r, const struct lease *one) {
    struct remote_call *call = mem_zalloc(sizeof(*call) + sizeof(call->held[0]) + one->key_len);
    char *key = (char *)&call->held[1];
    memcpy(key, one->key, one->key_len);
    call->store = r;
    call->count = 1;
    call->held[0] = (struct remote_held){.kind = STATE_FIXED,
                                         .counted = one->left > 0,
                                         .window_ms = one->window_ms,
                                         .amount = one->left,
                                         .start = one->start,
                                         .lost_ms = -1,
                                         .key = slice_of(key, one->key_len)};
    undo(call);
}

static void leases_give_back(struct remote *r, bool all) {
    for (struct lease *one; (one = state_leases_over(r->leases, io_now_ms(r->loop), all));) {
        lease_give_back(r, one);
        free(one);
    }
}

static void on_lease_check(struct io_timer *timer) {
    struct remote *r = container_of(timer, struct remote, lease_check);
    leases_give_back(r, false);
    io_timer_arm(r->loop, timer, STATE_LEASE_CHECK_MS, on_lease_check);
}

/* ---- reserving ---- */

static void tell(struct remote_call *call, struct remote_call *held) {
    struct state_ticket *ticket = call->ticket;
    state_done_fn *done = call->done;
    void *ctx = call->ctx;
    call->ticket = NULL;
    ticket->wait = held;
    const struct state_answer *answer = &ticket->answer;
    done(ctx, answer->result, answer->refused_index, answer->retry_after_ms);
}

/* The call is kept for a response that may still arrive; the ticket is answered now. */
static void on_late(struct remote_want *want) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    if (!call->ticket)
        return;
    answer_fault(call, &call->ticket->answer);
    tell(call, NULL);
}

static void lease(struct remote_call *call) {
    for (size_t i = 0; i < call->count; i++)
        if (call->held[i].counted && call->held[i].kind == STATE_CONCURRENT && !list_linked(&call->renewing))
            list_push(&call->store->renewing, &call->renewing);
}

void state_remote_secured(struct remote_call *call) {
    if (call->store->leases)
        lease_report(call, true);
    call->ticket->answer =
        (struct state_answer){.result = STATE_GRANTED, .shadow_refused = call->shadow_refused};
    lease(call);
    tell(call, call);
}

static void on_reserved(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    const struct remote_carrier *carrier = call->store->carrier;
    if (reply && call->ticket && carrier->again && carrier->again(call, reply))
        return;
    struct state_answer answer = {.result = STATE_GRANTED};
    bool is_read = reply && carrier->read(call, reply, &answer);
    bool holds = is_read && answer.result == STATE_GRANTED;
    if (call->ticket && is_read && !holds && lease_without(call))
        return;
    if (call->ticket && holds) {
        call->shadow_refused = answer.shadow_refused;
        if (!carrier->secure || !carrier->secure(call))
            state_remote_secured(call);
        return;
    }
    if (call->store->leases)
        lease_report(call, holds);
    if (call->ticket) {
        if (!is_read)
            answer_fault(call, &answer);
        call->ticket->answer = answer;
        tell(call, NULL);
    } /* else cancelled, or answered already */
    lease_return(call);
    undo(call);
}

static enum state_step remote_reserve(struct state_store *store, const struct state_limit *limits,
                                      size_t count, uint64_t now_ms, struct state_ticket *ticket,
                                      state_done_fn *done, void *ctx) {
    struct remote *r = (struct remote *)store;
    CHECK_MAGIC(r, REMOTE_MAGIC);
    CHECK(r->loop);
    (void)now_ms; /* the server's clock counts */
    struct remote_call *call = call_new(r, limits, count, REMOTE_RESERVE);
    call->want = (struct remote_want){.late = on_late, .answered = on_reserved};
    call->ticket = ticket;
    call->done = done;
    call->ctx = ctx;
    if (lease_take(call) == 0) {
        r->health.leased++;
        call->ticket = NULL;
        ticket->wait = call;
        return STATE_DONE;
    }
    if (!r->carrier->send(r, call)) {
        answer_fault(call, &ticket->answer);
        if (r->leases)
            lease_report(call, false);
        lease_return(call);
        undo(call);
        return STATE_DONE;
    }
    ticket->wait = call;
    return STATE_WAIT;
}

static void remote_settle(struct state_ticket *ticket, uint64_t give_back) {
    struct remote_call *call = ticket->wait;
    ticket->wait = NULL;
    if (call->ticket) { /* still in flight */
        call->ticket = NULL;
        return;
    }
    for (size_t i = 0; i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        h->counted = h->counted && (state_gives_back(give_back, i) || h->kind == STATE_CONCURRENT);
    }
    lease_return(call);
    undo(call);
}

/* ---- reading ---- */

static enum state_result remote_read(struct state_store *store, const struct state_limit *limit,
                                     uint64_t now_ms, int64_t *ret_micro) {
    (void)store, (void)limit, (void)now_ms, (void)ret_micro;
    return STATE_FAULT; /* no synchronous reads: state_fetch */
}

static void tell_fetched(struct remote_call *call, bool good) {
    struct state_fetch *fetch = call->fetch;
    call->fetch = NULL;
    fetch->wait = NULL;
    for (size_t i = 0; good && i < call->count; i++)
        fetch->values[i] = call->held[i].value;
    call->store->health.faults += !good;
    fetch->done(fetch, good ? STATE_GRANTED : STATE_FAULT);
}

static void on_fetch_late(struct remote_want *want) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    if (call->fetch)
        tell_fetched(call, false);
}

static void on_fetched(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    const struct remote_carrier *carrier = call->store->carrier;
    struct state_answer answer;
    if (reply && call->fetch && carrier->again && carrier->again(call, reply))
        return;
    bool good = reply && carrier->read(call, reply, &answer);
    if (call->fetch)
        tell_fetched(call, good);
    call_free(call);
}

static enum state_step remote_fetch(struct state_store *store, const struct state_limit *limits, size_t count,
                                    uint64_t now_ms, struct state_fetch *fetch) {
    struct remote *r = (struct remote *)store;
    CHECK_MAGIC(r, REMOTE_MAGIC);
    CHECK(r->loop);
    (void)now_ms;
    struct remote_call *call = call_new(r, limits, count, REMOTE_READ);
    call->want = (struct remote_want){.late = on_fetch_late, .answered = on_fetched};
    call->fetch = fetch;
    if (!r->carrier->send(r, call)) {
        call_free(call);
        r->health.faults++;
        fetch->result = STATE_FAULT;
        return STATE_DONE;
    }
    fetch->wait = call;
    return STATE_WAIT;
}

static void remote_unfetch(struct state_fetch *fetch) {
    struct remote_call *call = fetch->wait;
    call->fetch = NULL;
    fetch->wait = NULL;
}

static int remote_list(struct state_store *store, uint64_t now_ms,
                       void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err) {
    const struct remote *r = (const struct remote *)store;
    (void)now_ms, (void)each, (void)ctx;
    return err_set(err, "the counters are in %s: read them there", r->carrier->name);
}

static void remote_health(struct state_store *store, struct state_health *ret_health) {
    const struct remote *r = (const struct remote *)store;
    struct remote_link_health link = {0};
    if (r->loop)
        r->carrier->health(r, &link);
    *ret_health = r->health;
    ret_health->backend = r->carrier->name;
    ret_health->path = r->path;
    ret_health->requests = link.requests;
    ret_health->timeouts = link.timeouts;
    ret_health->connects = link.connects;
    ret_health->unsent = link.unsent;
    ret_health->answer_us = link.answer_us;
    memcpy(ret_health->answers, link.answers, sizeof(ret_health->answers));
    ret_health->down = !link.up;
    memcpy(ret_health->fault, link.fault, sizeof(ret_health->fault));
}

/* ---- life ---- */

static void on_renew(struct io_timer *timer) {
    struct remote *r = container_of(timer, struct remote, renew);
    LIST_FOR (n, &r->renewing) {
        r->carrier->renew(r, container_of(n, struct remote_call, renewing));
    }
    io_timer_arm(r->loop, timer, STATE_REMOTE_RENEW_MS, on_renew);
}

void state_remote_init(struct remote *r, const struct remote_carrier *carrier,
                       const struct state_config *config) {
    const char *prefix = config->prefix && *config->prefix ? config->prefix : "sallyport:";
    r->store.ops = &remote_ops;
    r->magic = REMOTE_MAGIC;
    r->carrier = carrier;
    r->prefix = mem_dup(prefix, strlen(prefix));
    r->timeout_ms = config->timeout_ms ? config->timeout_ms : STATE_REMOTE_TIMEOUT_MS;
    list_init(&r->renewing);
    rand_token(r->owner, REMOTE_OWNER_LEN);
}

void state_remote_start(struct remote *r, struct io_loop *loop) {
    r->loop = loop;
    io_timer_arm(loop, &r->renew, STATE_REMOTE_RENEW_MS, on_renew);
    if (r->leases)
        io_timer_arm(loop, &r->lease_check, STATE_LEASE_CHECK_MS, on_lease_check);
}

static void remote_close(struct state_store *store) {
    struct remote *r = (struct remote *)store;
    CHECK_MAGIC(r, REMOTE_MAGIC);
    if (r->loop) {
        io_timer_stop(r->loop, &r->renew);
        io_timer_stop(r->loop, &r->lease_check);
    }
    if (r->loop && r->leases)
        leases_give_back(r, true);
    r->carrier->close(r);
    if (r->leases)
        state_leases_free(r->leases);
    free(r->leases);
    free(r->path);
    free(r->prefix);
    free(r);
}

static const struct state_ops remote_ops = {
    .reserve = remote_reserve,
    .settle = remote_settle,
    .read = remote_read,
    .fetch = remote_fetch,
    .unfetch = remote_unfetch,
    .list = remote_list,
    .health = remote_health,
    .close = remote_close,
};
