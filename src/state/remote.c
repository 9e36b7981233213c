#include "state/remote.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"

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

/* ---- calls ---- */

/* PREFIX KEY:KIND:WINDOW. What is too long ends in a hash of the whole. */
static struct slice remote_key(const struct remote *r, const struct state_limit *limit, struct arena *a) {
    struct slice key = limit->key;
    if (key.len > STATE_KEY_MAX) {
        char hex[DIGEST_TEXT];
        sha_256_hex(key, hex);
        key = arena_printf(a, "%.*s#%.64s", STATE_KEY_MAX - DIGEST_TEXT, key.ptr, hex);
    }
    return arena_printf(a, "%s%.*s:%.1s:%" PRIu64, r->prefix, SLICE_FMT(key),
                        state_remote_kind(limit->kind).ptr, limit->window_ms);
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
                                             .fingerprint = limits[i].fingerprint,
                                             .key = slice_of(to, keys[i].len)};
        to += keys[i].len;
    }
    arena_free(&a);
    call->store = r;
    call->count = count;
    call->op = op;
    call->number = ++r->number;
    return call;
}

static void call_free(struct remote_call *call) {
    list_remove(&call->renewing);
    free(call);
}

static void on_undone(struct remote_want *want, const void *reply) {
    (void)reply; /* not taken back: too high until the window ends, or the lease does */
    call_free(container_of(want, struct remote_call, want));
}

static void undo(struct remote_call *call) {
    call->want = (struct remote_want){.answered = on_undone};
    call->op = REMOTE_UNDO;
    list_remove(&call->renewing);
    if (!call->store->carrier->send(call->store, call))
        call_free(call);
}

/* The store's way to say no: a fault, or a call that passes uncounted. */
static void answer_fault(struct remote *r, struct state_answer *answer) {
    bool opens = r->store.fail_mode == STATE_FAIL_OPEN;
    r->health.faults++;
    *answer = (struct state_answer){.result = opens ? STATE_GRANTED : STATE_FAULT, .degraded = opens};
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

/* The call stays for the answer that may still come; the ticket is told now. */
static void on_late(struct remote_want *want) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    if (!call->ticket)
        return;
    answer_fault(call->store, &call->ticket->answer);
    tell(call, NULL);
}

static void lease(struct remote_call *call) {
    for (size_t i = 0; i < call->count; i++)
        if (call->held[i].counted && call->held[i].kind == STATE_CONCURRENT && !list_linked(&call->renewing))
            list_push(&call->store->renewing, &call->renewing);
}

static void on_reserved(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, want);
    const struct remote_carrier *carrier = call->store->carrier;
    if (reply && call->ticket && carrier->again && carrier->again(call, reply))
        return;
    struct state_answer answer = {.result = STATE_GRANTED};
    bool is_read = reply && carrier->read(call, reply, &answer);
    bool holds = is_read && answer.result == STATE_GRANTED;
    if (!call->ticket) { /* cancelled, or told already */
        if (holds)
            undo(call);
        else
            call_free(call);
        return;
    }
    if (!is_read)
        answer_fault(call->store, &answer);
    call->ticket->answer = answer;
    if (holds)
        lease(call);
    tell(call, holds ? call : NULL);
    if (!holds)
        call_free(call);
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
    if (!r->carrier->send(r, call)) {
        call_free(call);
        answer_fault(r, &ticket->answer);
        return STATE_DONE;
    }
    ticket->wait = call;
    return STATE_WAIT;
}

static void remote_settle(struct state_ticket *ticket, uint64_t give_back) {
    struct remote_call *call = ticket->wait;
    ticket->wait = NULL;
    if (call->ticket) { /* still on its way */
        call->ticket = NULL;
        return;
    }
    size_t left = 0;
    for (size_t i = 0; i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        h->counted = h->counted && (state_gives_back(give_back, i) || h->kind == STATE_CONCURRENT);
        left += h->counted;
    }
    if (left)
        undo(call);
    else
        call_free(call);
}

/* ---- reading ---- */

static enum state_result remote_read(struct state_store *store, const struct state_limit *limit,
                                     uint64_t now_ms, int64_t *ret_micro) {
    (void)store, (void)limit, (void)now_ms, (void)ret_micro;
    return STATE_FAULT; /* nothing is known at once: state_fetch */
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
    return err_set(err, "the counters are in %s: look at them there", r->carrier->name);
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
    list_init(&r->renewing);
    rand_token(r->owner, REMOTE_OWNER_LEN);
}

void state_remote_start(struct remote *r, struct io_loop *loop) {
    r->loop = loop;
    io_timer_arm(loop, &r->renew, STATE_REMOTE_RENEW_MS, on_renew);
}

static void remote_close(struct state_store *store) {
    struct remote *r = (struct remote *)store;
    CHECK_MAGIC(r, REMOTE_MAGIC);
    if (r->loop)
        io_timer_stop(r->loop, &r->renew);
    r->carrier->close(r);
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
