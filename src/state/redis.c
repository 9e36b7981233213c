/* All limits of a decision are one call of one script (counters.lua), so they are counted together or not at
 * all, by the server's clock.
 *
 *   reserve ──▶ EVALSHA reserve ──▶ {1, holds}  ticket->wait keeps them ──▶ settle ──▶ EVALSHA undo, or
 * nothing └──▶ {0, index}
 *
 * An answer that comes too late was told as a fault; if it says that the limits were counted they are taken
 * back. When the connection breaks nobody knows, and the counters may stay too high until their windows end,
 * never too low. Calls in flight are leased: the gate renews them while it lives. Every key has the same hash
 * tag, so that one script may touch them all in a Cluster, too. */
#include "state/redis.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "io/loop.h"
#include "state/redis_link.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REDIS_MAGIC 0x72656473u
#define OWNER_LEN 16
#define DIGEST_TEXT 65 /* '#' and SHA-256 in hex */
#define SHA1_TEXT 40
#define LIMIT_ARGS 7 /* texts per limit that the script takes */

extern const unsigned char state_counters_lua[];
extern const size_t state_counters_lua_len;

struct held { /* one limit of a reservation: what undo needs */
    enum state_kind kind;
    uint64_t window_ms;
    int64_t amount;
    uint64_t fingerprint;
    uint64_t start;
    bool counted;
    bool shadow;
    int64_t max;
    int64_t refill;
    struct slice key; /* in the call's own memory */
};

struct redis_call {
    struct redis_want want;
    struct redis *store;
    struct state_ticket *ticket; /* NULL: cancelled, or answered too late */
    state_done_fn *done;
    void *ctx;
    struct state_fetch *fetch; /* of a read; NULL: cancelled, or answered too late */
    const char *op;
    uint64_t number;
    struct list renewing; /* linked while it holds calls in flight */
    bool retried;         /* with the script's text */
    size_t count;
    struct held held[]; /* and behind them the bytes of their keys */
};

struct redis {
    struct state_store store;
    uint32_t magic;
    struct io_loop *loop;
    struct redis_link *link;
    char *path; /* as health shows it */
    char *prefix;
    char owner[OWNER_LEN + 1];
    char sha[SHA1_TEXT + 1];
    uint64_t number;
    struct list renewing;
    struct io_timer renew;
    struct state_health health;
};

static const struct state_ops redis_ops;

/* ---- commands ---- */

/* The texts of one command while it is put together; hiredis gives them the form of the protocol. */
struct command {
    struct arena arena;
    const char **argv;
    size_t *lens;
    int argc;
};

static void command_init(struct command *c, size_t max) {
    arena_init(&c->arena);
    c->argv = arena_array(&c->arena, const char *, max);
    c->lens = arena_array(&c->arena, size_t, max);
    c->argc = 0;
}

static void add_text(struct command *c, struct slice text) {
    c->argv[c->argc] = text.ptr;
    c->lens[c->argc++] = text.len;
}

static void add_number(struct command *c, int64_t number) {
    add_text(c, arena_printf(&c->arena, "%" PRId64, number));
}

static bool command_send(struct command *c, struct redis_link *link, struct redis_want *want) {
    char *text = NULL;
    int len = redisFormatCommandArgv(&text, c->argc, c->argv, c->lens);
    CHECK(len > 0);
    bool sent = state_redis_link_send(link, slice_of(text, (size_t)len), want);
    redisFreeCommand(text);
    arena_free(&c->arena);
    return sent;
}

static struct slice script_text(void) {
    return slice_of((const char *)state_counters_lua, state_counters_lua_len);
}

static struct slice kind_letter(enum state_kind kind) {
    static const char letters[] = {[STATE_FIXED] = 'f',
                                   [STATE_SLIDING] = 's',
                                   [STATE_BUCKET] = 'b',
                                   [STATE_CONCURRENT] = 'c',
                                   [STATE_IDENTICAL] = 'i'};
    return slice_of(&letters[kind], 1);
}

/* EVALSHA sha numkeys KEY... op name lease: what every call of the script begins with. */
static void begin_script(struct command *c, const struct redis_call *call, const char *op, bool of_held) {
    const struct redis *r = call->store;
    size_t keys = 0;
    for (size_t i = 0; i < call->count; i++)
        keys += !of_held || call->held[i].counted;
    command_init(c, 6 + keys * (1 + LIMIT_ARGS));
    add_text(c, call->retried ? SLICE("EVAL") : SLICE("EVALSHA"));
    add_text(c, call->retried ? script_text() : slice_str(r->sha));
    add_number(c, (int64_t)keys);
    for (size_t i = 0; i < call->count; i++)
        if (!of_held || call->held[i].counted)
            add_text(c, call->held[i].key);
    add_text(c, slice_str(op));
    add_text(c, arena_printf(&c->arena, "%s:%" PRIu64, r->owner, call->number));
    add_number(c, STATE_REDIS_LEASE_MS);
}

static void add_limit(struct command *c, const struct held *h, int64_t max, int64_t refill,
                      struct slice last) {
    add_text(c, kind_letter(h->kind));
    add_number(c, (int64_t)h->window_ms);
    add_number(c, max);
    add_number(c, refill);
    add_number(c, h->amount);
    add_text(c, arena_printf(&c->arena, "%016" PRIx64, h->fingerprint));
    add_text(c, last);
}

static bool send_script(struct redis_call *call) {
    struct command c;
    begin_script(&c, call, call->op, false);
    for (size_t i = 0; i < call->count; i++)
        add_limit(&c, &call->held[i], call->held[i].max, call->held[i].refill,
                  call->held[i].shadow ? SLICE("1") : SLICE("0"));
    return command_send(&c, call->store->link, &call->want);
}

/* ---- a call's life ---- */

static void call_free(struct redis_call *call) {
    list_remove(&call->renewing);
    free(call);
}

static void on_undone(struct redis_want *want, const redisReply *reply) {
    (void)reply; /* not taken back: too high until the window ends, or the lease does */
    call_free(container_of(want, struct redis_call, want));
}

static void undo(struct redis_call *call) {
    struct command c;
    call->want = (struct redis_want){.answered = on_undone};
    begin_script(&c, call, "undo", true);
    for (size_t i = 0; i < call->count; i++)
        if (call->held[i].counted)
            add_limit(&c, &call->held[i], 0, 0, arena_printf(&c.arena, "%" PRIu64, call->held[i].start));
    if (!command_send(&c, call->store->link, &call->want))
        call_free(call);
}

/* The store's way to say no: a fault, or a call that passes uncounted. */
static void answer_fault(struct redis *r, struct state_answer *answer) {
    struct redis_link_health link;
    state_redis_link_health(r->link, &link);
    r->health.faults++;
    snprintf(r->health.fault, sizeof(r->health.fault), "%s", link.fault);
    bool opens = r->store.fail_mode == STATE_FAIL_OPEN;
    *answer = (struct state_answer){.result = opens ? STATE_GRANTED : STATE_FAULT, .degraded = opens};
}

/* The ticket has its answer; `call` lives on in it, or is gone. */
static void tell(struct redis_call *call, struct redis_call *held) {
    struct state_ticket *ticket = call->ticket;
    state_done_fn *done = call->done;
    void *ctx = call->ctx;
    call->ticket = NULL;
    ticket->wait = held;
    if (!held)
        call_free(call);
    const struct state_answer *answer = &ticket->answer;
    done(ctx, answer->result, answer->refused_index, answer->retry_after_ms);
}

static void on_late(struct redis_want *want) {
    struct redis_call *call = container_of(want, struct redis_call, want);
    struct state_ticket *ticket = call->ticket;
    if (!ticket)
        return;
    /* The call stays for the answer that may still come; the ticket is told now. */
    answer_fault(call->store, &ticket->answer);
    call->ticket = NULL;
    ticket->wait = NULL;
    call->done(call->ctx, ticket->answer.result, 0, 0);
}

static int64_t number_at(const redisReply *reply, size_t i) {
    return i < reply->elements && reply->element[i]->type == REDIS_REPLY_INTEGER ? reply->element[i]->integer
                                                                                 : -1;
}

/* {1, 0, 0, SHADOW, HOLD...} */
static bool read_holds(struct redis_call *call, const redisReply *reply, struct state_answer *answer) {
    if (reply->elements != 4 + call->count || reply->element[3]->len != call->count)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        const redisReply *hold = reply->element[4 + i];
        struct held *h = &call->held[i];
        if (hold->type != REDIS_REPLY_STRING)
            return false;
        h->counted = h->amount > 0 && slice_to_u64(slice_of(hold->str, hold->len), &h->start);
        if (reply->element[3]->str[i] == '1' && i < 64)
            answer->shadow_refused |= (uint64_t)1 << i;
        if (h->counted && h->kind == STATE_CONCURRENT && !list_linked(&call->renewing))
            list_push(&call->store->renewing, &call->renewing);
    }
    return true;
}

static bool read_answer(struct redis_call *call, const redisReply *reply, struct state_answer *answer) {
    *answer = (struct state_answer){.result = STATE_GRANTED};
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements < 4)
        return false;
    if (number_at(reply, 0) == 1)
        return read_holds(call, reply, answer);
    int64_t index = number_at(reply, 1), retry = number_at(reply, 2);
    if (index < 0 || (size_t)index >= call->count)
        return false;
    answer->result = STATE_REFUSED;
    answer->refused_index = (size_t)index;
    answer->retry_after_ms = retry > 0 ? (uint64_t)retry : 0;
    return true;
}

/* The server was restarted, or its scripts were flushed: once more with the text. */
static bool try_again(struct redis_call *call, const redisReply *reply) {
    if (!reply || reply->type != REDIS_REPLY_ERROR || call->retried || !call->ticket ||
        !slice_starts(slice_of(reply->str, reply->len), SLICE("NOSCRIPT")))
        return false;
    call->retried = true;
    return send_script(call);
}

static void note_error(struct redis *r, const redisReply *reply) {
    if (reply && reply->type == REDIS_REPLY_ERROR)
        snprintf(r->health.fault, sizeof(r->health.fault), "%s", reply->str);
}

static void on_reserved(struct redis_want *want, const redisReply *reply) {
    struct redis_call *call = container_of(want, struct redis_call, want);
    struct state_answer answer;
    if (try_again(call, reply))
        return;
    bool is_read = read_answer(call, reply, &answer);
    bool holds = is_read && answer.result == STATE_GRANTED;
    if (!call->ticket) { /* cancelled, or told already */
        if (holds)
            undo(call);
        else
            call_free(call);
        return;
    }
    if (!is_read) {
        answer_fault(call->store, &answer);
        note_error(call->store, reply);
    }
    call->ticket->answer = answer;
    tell(call, holds ? call : NULL);
}

/* ---- keys ---- */

/* {PREFIX}KEY:KIND:WINDOW. What is too long ends in a hash of the whole. */
static struct slice redis_key(const struct redis *r, const struct state_limit *limit, struct arena *a) {
    struct slice key = limit->key;
    if (key.len > STATE_KEY_MAX) {
        char hex[DIGEST_TEXT];
        sha_256_hex(key, hex);
        key = arena_printf(a, "%.*s#%.64s", STATE_KEY_MAX - DIGEST_TEXT, key.ptr, hex);
    }
    return arena_printf(a, "%s%.*s:%.1s:%" PRIu64, r->prefix, SLICE_FMT(key), kind_letter(limit->kind).ptr,
                        limit->window_ms);
}

static struct redis_call *call_new(struct redis *r, const struct state_limit *limits, size_t count,
                                   const char *op) {
    struct arena a;
    arena_init(&a);
    struct slice *keys = arena_array(&a, struct slice, count);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        keys[i] = redis_key(r, &limits[i], &a);
        bytes += keys[i].len;
    }
    struct redis_call *call = mem_zalloc(sizeof(*call) + count * sizeof(call->held[0]) + bytes);
    char *to = (char *)&call->held[count];
    for (size_t i = 0; i < count; i++) {
        memcpy(to, keys[i].ptr, keys[i].len);
        call->held[i] = (struct held){.kind = limits[i].kind,
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

/* ---- the face ---- */

static enum state_step redis_reserve(struct state_store *store, const struct state_limit *limits,
                                     size_t count, uint64_t now_ms, struct state_ticket *ticket,
                                     state_done_fn *done, void *ctx) {
    struct redis *r = (struct redis *)store;
    CHECK_MAGIC(r, REDIS_MAGIC);
    (void)now_ms; /* the server's clock counts */
    struct redis_call *call = call_new(r, limits, count, "reserve");
    call->want = (struct redis_want){.late = on_late, .answered = on_reserved};
    call->ticket = ticket;
    call->done = done;
    call->ctx = ctx;
    if (!send_script(call)) {
        call_free(call);
        answer_fault(r, &ticket->answer);
        return STATE_DONE;
    }
    ticket->wait = call;
    return STATE_WAIT;
}

static void redis_settle(struct state_ticket *ticket, enum state_outcome outcome) {
    struct redis_call *call = ticket->wait;
    ticket->wait = NULL;
    if (call->ticket) { /* still on its way */
        call->ticket = NULL;
        return;
    }
    list_remove(&call->renewing);
    size_t left = 0;
    for (size_t i = 0; i < call->count; i++) {
        struct held *h = &call->held[i];
        h->counted = h->counted && (outcome == STATE_ROLLBACK || h->kind == STATE_CONCURRENT);
        left += h->counted;
    }
    if (left)
        undo(call);
    else
        call_free(call);
}

static enum state_result redis_read(struct state_store *store, const struct state_limit *limit,
                                    uint64_t now_ms, int64_t *ret_micro) {
    (void)store, (void)limit, (void)now_ms, (void)ret_micro;
    return STATE_FAULT; /* nothing is known at once: state_fetch */
}

static bool read_values(const redisReply *reply, size_t count, int64_t *values) {
    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (reply->element[i]->type != REDIS_REPLY_STRING ||
            !slice_to_u64(slice_of(reply->element[i]->str, reply->element[i]->len), &value))
            return false;
        values[i] = value < INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    return true;
}

static void tell_fetched(struct redis_call *call, bool good) {
    struct state_fetch *fetch = call->fetch;
    call->fetch = NULL;
    fetch->wait = NULL;
    if (!good)
        call->store->health.faults++;
    fetch->done(fetch, good ? STATE_GRANTED : STATE_FAULT);
}

static void on_fetch_late(struct redis_want *want) {
    struct redis_call *call = container_of(want, struct redis_call, want);
    if (call->fetch)
        tell_fetched(call, false);
}

static void on_fetched(struct redis_want *want, const redisReply *reply) {
    struct redis_call *call = container_of(want, struct redis_call, want);
    if (call->fetch) {
        bool good = read_values(reply, call->count, call->fetch->values);
        if (!good)
            note_error(call->store, reply);
        tell_fetched(call, good);
    }
    call_free(call);
}

static enum state_step redis_fetch(struct state_store *store, const struct state_limit *limits, size_t count,
                                   uint64_t now_ms, struct state_fetch *fetch) {
    struct redis *r = (struct redis *)store;
    CHECK_MAGIC(r, REDIS_MAGIC);
    (void)now_ms;
    struct redis_call *call = call_new(r, limits, count, "read");
    call->want = (struct redis_want){.late = on_fetch_late, .answered = on_fetched};
    call->fetch = fetch;
    call->retried = true; /* seldom enough to carry the script along */
    if (!send_script(call)) {
        call_free(call);
        r->health.faults++;
        fetch->result = STATE_FAULT;
        return STATE_DONE;
    }
    fetch->wait = call;
    return STATE_WAIT;
}

static void redis_unfetch(struct state_fetch *fetch) {
    struct redis_call *call = fetch->wait;
    call->fetch = NULL;
    fetch->wait = NULL;
}

static int redis_list(struct state_store *store, uint64_t now_ms,
                      void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err) {
    (void)store, (void)now_ms, (void)each, (void)ctx;
    return err_set(err, "the counters are in Redis: look at them there");
}

static void redis_health(struct state_store *store, struct state_health *ret_health) {
    const struct redis *r = (const struct redis *)store;
    struct redis_link_health link = {0};
    if (r->link)
        state_redis_link_health(r->link, &link);
    *ret_health = r->health;
    ret_health->backend = "redis";
    ret_health->path = r->path;
    ret_health->requests = link.requests;
    ret_health->timeouts = link.timeouts;
    ret_health->connects = link.connects;
    ret_health->down = !link.up;
    if (link.fault[0])
        memcpy(ret_health->fault, link.fault, sizeof(ret_health->fault));
}

/* ---- leases ---- */

struct renewal {
    struct redis_want want;
};

static void on_renewed(struct redis_want *want, const redisReply *reply) {
    (void)reply;
    free(container_of(want, struct renewal, want));
}

/* ZADD KEY XX time NAME:1 NAME:2 ...; by this machine's clock, which a lease is long enough for. */
static void renew_call(struct redis *r, const struct redis_call *call, const struct held *h) {
    struct command c;
    int64_t calls = h->amount / STATE_MICRO;
    command_init(&c, 3 + 2 * (size_t)calls);
    add_text(&c, SLICE("ZADD"));
    add_text(&c, h->key);
    add_text(&c, SLICE("XX"));
    for (int64_t i = 1; i <= calls; i++) {
        add_number(&c, (int64_t)clock_wall_ms() + STATE_REDIS_LEASE_MS);
        add_text(&c, arena_printf(&c.arena, "%s:%" PRIu64 ":%" PRId64, r->owner, call->number, i));
    }
    struct renewal *renewal = mem_zalloc(sizeof(*renewal));
    renewal->want.answered = on_renewed;
    if (!command_send(&c, r->link, &renewal->want))
        free(renewal);
}

static void on_renew(struct io_timer *timer) {
    struct redis *r = container_of(timer, struct redis, renew);
    LIST_FOR (n, &r->renewing) {
        const struct redis_call *call = container_of(n, struct redis_call, renewing);
        for (size_t i = 0; i < call->count; i++)
            if (call->held[i].counted && call->held[i].kind == STATE_CONCURRENT)
                renew_call(r, call, &call->held[i]);
    }
    io_timer_arm(r->loop, timer, STATE_REDIS_RENEW_MS, on_renew);
}

/* ---- opening and closing ---- */

struct probe {
    struct redis_want want;
    struct io_loop *loop;
    struct redis *store;
    bool good;
    char why[256];
};

static void on_probed(struct redis_want *want, const redisReply *reply) {
    struct probe *p = container_of(want, struct probe, want);
    p->good = reply && reply->type == REDIS_REPLY_STRING && reply->len == SHA1_TEXT;
    if (p->good)
        memcpy(p->store->sha, reply->str, SHA1_TEXT + 1);
    else if (reply && reply->type == REDIS_REPLY_ERROR)
        snprintf(p->why, sizeof(p->why), "%s", reply->str);
    io_loop_stop(p->loop);
}

static void on_probe_late(struct redis_want *want) {
    struct probe *p = container_of(want, struct probe, want);
    snprintf(p->why, sizeof(p->why), "no answer within %d ms", STATE_REDIS_TIMEOUT_MS);
    io_loop_stop(p->loop);
}

/* Whether the server is there and takes the script, on a loop of its own: a gate does not start without its
 * store. */
static int redis_probe(struct redis *r, const struct state_address *address, struct err *err) {
    struct io_loop loop;
    struct command c;
    struct redis_link_health health;
    struct probe p = {.want = {.late = on_probe_late, .answered = on_probed}, .loop = &loop, .store = r};
    io_loop_init(&loop);
    struct redis_link *link = state_redis_link_new(&loop, address, (struct slice){0});
    command_init(&c, 3);
    add_text(&c, SLICE("SCRIPT"));
    add_text(&c, SLICE("LOAD"));
    add_text(&c, script_text());
    if (command_send(&c, link, &p.want))
        io_loop_run(&loop);
    state_redis_link_health(link, &health);
    state_redis_link_free(link);
    io_loop_free(&loop);
    if (p.good)
        return 0;
    return err_set(err, "%s: %s", r->path, p.why[0] ? p.why : health.fault);
}

static void redis_close(struct state_store *store) {
    struct redis *r = (struct redis *)store;
    CHECK_MAGIC(r, REDIS_MAGIC);
    if (r->loop)
        io_timer_stop(r->loop, &r->renew);
    state_redis_link_free(r->link);
    free(r->path);
    free(r->prefix);
    free(r);
}

/* Sent again on each new connection: the server may have forgotten the script. */
static void connect_store(struct redis *r, struct io_loop *loop, const struct state_address *address) {
    char *hello = NULL;
    const char *argv[] = {"SCRIPT", "LOAD", (const char *)state_counters_lua};
    const size_t lens[] = {6, 4, state_counters_lua_len};
    int len = redisFormatCommandArgv(&hello, 3, argv, lens);
    CHECK(len > 0);
    r->loop = loop;
    r->link = state_redis_link_new(loop, address, slice_of(hello, (size_t)len));
    redisFreeCommand(hello);
    io_timer_arm(loop, &r->renew, STATE_REDIS_RENEW_MS, on_renew);
}

int state_redis_open(const struct state_config *config, struct state_address *take_address,
                     struct state_store **ret_store, struct err *err) {
    struct redis *r = mem_zalloc(sizeof(*r));
    const char *prefix = config->prefix && *config->prefix ? config->prefix : "sallyport:";
    r->store.ops = &redis_ops;
    r->magic = REDIS_MAGIC;
    list_init(&r->renewing);
    rand_token(r->owner, OWNER_LEN);
    bool is_tagged = strchr(prefix, '{') != NULL;
    int rc = asprintf(&r->prefix, is_tagged ? "%s" : "{%s}", prefix);
    rc = rc < 0               ? rc
         : take_address->path ? asprintf(&r->path, "%s", take_address->path)
                              : asprintf(&r->path, "%s:%u", take_address->host, take_address->port);
    if (rc < 0)
        rc = err_set(err, "out of memory");
    else
        rc = redis_probe(r, take_address, err);
    if (rc == 0 && config->loop)
        connect_store(r, config->loop, take_address);
    state_address_free(take_address);
    if (rc < 0) {
        redis_close(&r->store);
        return -1;
    }
    *ret_store = &r->store;
    return 0;
}

static const struct state_ops redis_ops = {
    .reserve = redis_reserve,
    .settle = redis_settle,
    .read = redis_read,
    .fetch = redis_fetch,
    .unfetch = redis_unfetch,
    .list = redis_list,
    .health = redis_health,
    .close = redis_close,
};
