/* All limits of a decision are one call of one script (counters.lua), so they are counted together or not at
 * all, by the server's clock. Every key has the same hash tag, so that one script may touch them all in a
 * Cluster, too. */
#include "state/redis.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "io/loop.h"
#include "state/redis_link.h"
#include "state/remote.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHA1_TEXT 40

extern const unsigned char state_counters_lua[];
extern const size_t state_counters_lua_len;

struct redis {
    struct remote remote;
    struct redis_link *link;
    char sha[SHA1_TEXT + 1]; /* of the script */
};

static const struct remote_carrier redis_carrier;

static struct remote_link *link_of(const struct remote *r) {
    return state_redis_link_base(((const struct redis *)r)->link);
}

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

static bool command_send(struct command *c, struct redis_link *link, struct remote_want *want) {
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

/* EVALSHA sha numkeys KEY... op name lease LIMIT...: of those limits that `takes` says. */
static bool send_script(struct redis *r, const struct remote_call *call, const char *op,
                        bool (*takes)(const struct remote_held *h), struct remote_want *want) {
    struct command c;
    size_t keys = 0;
    for (size_t i = 0; i < call->count; i++)
        keys += takes(&call->held[i]);
    command_init(&c, 6 + keys * 2);
    add_text(&c, call->retried ? SLICE("EVAL") : SLICE("EVALSHA"));
    add_text(&c, call->retried ? script_text() : slice_str(r->sha));
    add_number(&c, (int64_t)keys);
    for (size_t i = 0; i < call->count; i++)
        if (takes(&call->held[i]))
            add_text(&c, call->held[i].key);
    add_text(&c, slice_str(op));
    add_text(&c, arena_printf(&c.arena, "%s:%" PRIu64, r->remote.owner, call->number));
    add_number(&c, STATE_REMOTE_LEASE_MS);
    for (size_t i = 0; i < call->count; i++) {
        const struct remote_held *h = &call->held[i];
        uint64_t last = call->op == REMOTE_UNDO ? h->start : h->shadow;
        if (takes(h))
            add_text(&c, arena_printf(&c.arena,
                                      "%.1s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64
                                      " %" PRIu64,
                                      state_remote_kind(h->kind).ptr, h->window_ms, h->max, h->refill,
                                      h->amount, h->fingerprint, last));
    }
    return command_send(&c, r->link, want);
}

static bool takes_all(const struct remote_held *h) { return (void)h, true; }
static bool takes_counted(const struct remote_held *h) { return h->counted; }
static bool takes_leased(const struct remote_held *h) { return h->counted && h->kind == STATE_CONCURRENT; }

static bool redis_send(struct remote *remote, struct remote_call *call) {
    static const char *const ops[] = {
        [REMOTE_RESERVE] = "reserve", [REMOTE_READ] = "read", [REMOTE_UNDO] = "undo"};
    return send_script((struct redis *)remote, call, ops[call->op],
                       call->op == REMOTE_UNDO ? takes_counted : takes_all, &call->want);
}

/* ---- answers ---- */

static int64_t number_at(const redisReply *reply, size_t i) {
    return i < reply->elements && reply->element[i]->type == REDIS_REPLY_INTEGER ? reply->element[i]->integer
                                                                                 : -1;
}

/* {1, 0, 0, SHADOW, HOLD...} */
static bool read_holds(struct remote_call *call, const redisReply *reply, struct state_answer *answer) {
    if (reply->elements != 4 + call->count || reply->element[3]->len != call->count)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        const redisReply *hold = reply->element[4 + i];
        struct remote_held *h = &call->held[i];
        if (hold->type != REDIS_REPLY_STRING)
            return false;
        h->counted = h->amount > 0 && slice_to_u64(slice_of(hold->str, hold->len), &h->start);
        if (reply->element[3]->str[i] == '1' && i < 64)
            answer->shadow_refused |= (uint64_t)1 << i;
    }
    return true;
}

static bool read_values(struct remote_call *call, const redisReply *reply) {
    for (size_t i = 0; i < call->count; i++) {
        const redisReply *text = i < reply->elements ? reply->element[i] : NULL;
        uint64_t value;
        if (!text || text->type != REDIS_REPLY_STRING ||
            !slice_to_u64(slice_of(text->str, text->len), &value))
            return false;
        call->held[i].value = value < INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    return true;
}

static bool redis_read(struct remote_call *call, const void *raw, struct state_answer *answer) {
    const redisReply *reply = raw;
    if (reply->type == REDIS_REPLY_ERROR)
        state_remote_link_note(link_of(call->store), reply->str);
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    if (call->op == REMOTE_READ)
        return read_values(call, reply);
    if (number_at(reply, 0) == 1)
        return read_holds(call, reply, answer);
    int64_t index = number_at(reply, 1), retry = number_at(reply, 2);
    if (index < 0 || (size_t)index >= call->count)
        return false;
    *answer = (struct state_answer){.result = STATE_REFUSED,
                                    .refused_index = (size_t)index,
                                    .retry_after_ms = retry > 0 ? (uint64_t)retry : 0};
    return true;
}

/* The server was restarted, or its scripts were flushed: once more with the text. */
static bool redis_again(struct remote_call *call, const void *raw) {
    const redisReply *reply = raw;
    if (reply->type != REDIS_REPLY_ERROR || call->retried ||
        !slice_starts(slice_of(reply->str, reply->len), SLICE("NOSCRIPT")))
        return false;
    call->retried = true;
    return redis_send(call->store, call);
}

/* ---- leases ---- */

static void on_renewed(struct remote_want *want, const void *reply) {
    (void)reply;
    free(want);
}

static void redis_renew(struct remote *remote, const struct remote_call *call) {
    struct remote_want *want = mem_zalloc(sizeof(*want));
    want->answered = on_renewed;
    if (!send_script((struct redis *)remote, call, "renew", takes_leased, want))
        free(want);
}

/* ---- opening and closing ---- */

struct probe {
    struct remote_want want;
    struct io_loop *loop;
    struct redis *store;
    bool good;
    char why[256];
};

static void on_probed(struct remote_want *want, const void *raw) {
    const redisReply *reply = raw;
    struct probe *p = container_of(want, struct probe, want);
    p->good = reply && reply->type == REDIS_REPLY_STRING && reply->len == SHA1_TEXT;
    if (p->good)
        memcpy(p->store->sha, reply->str, SHA1_TEXT + 1);
    else if (reply && reply->type == REDIS_REPLY_ERROR)
        snprintf(p->why, sizeof(p->why), "%s", reply->str);
    io_loop_stop(p->loop);
}

static void on_probe_late(struct remote_want *want) {
    struct probe *p = container_of(want, struct probe, want);
    snprintf(p->why, sizeof(p->why), "no answer within %d ms", STATE_REMOTE_TIMEOUT_MS);
    io_loop_stop(p->loop);
}

/* Whether the server is there and takes the script, on a loop of its own: a gate does not start without its
 * store. */
static int redis_probe(struct redis *r, const struct state_address *address, struct err *err) {
    struct io_loop loop;
    struct command c;
    struct remote_link_health health;
    struct probe p = {.want = {.late = on_probe_late, .answered = on_probed}, .loop = &loop, .store = r};
    io_loop_init(&loop);
    struct redis_link *link = state_redis_link_new(&loop, address, (struct slice){0});
    command_init(&c, 3);
    add_text(&c, SLICE("SCRIPT"));
    add_text(&c, SLICE("LOAD"));
    add_text(&c, script_text());
    if (command_send(&c, link, &p.want))
        io_loop_run(&loop);
    health = state_redis_link_base(link)->health;
    state_redis_link_free(link);
    io_loop_free(&loop);
    if (p.good)
        return 0;
    return err_set(err, "%s: %s", r->remote.path, p.why[0] ? p.why : health.fault);
}

/* Sent again on each new connection: the server may have forgotten the script. */
static void connect_store(struct redis *r, struct io_loop *loop, const struct state_address *address) {
    char *hello = NULL;
    const char *argv[] = {"SCRIPT", "LOAD", (const char *)state_counters_lua};
    const size_t lens[] = {6, 4, state_counters_lua_len};
    int len = redisFormatCommandArgv(&hello, 3, argv, lens);
    CHECK(len > 0);
    r->link = state_redis_link_new(loop, address, slice_of(hello, (size_t)len));
    redisFreeCommand(hello);
    state_remote_start(&r->remote, loop);
}

/* The braces make a hash tag of the prefix. */
static int name_store(struct redis *r, const struct state_address *a, struct err *err) {
    cleanup_free char *prefix = r->remote.prefix;
    r->remote.prefix = NULL;
    int rc = asprintf(&r->remote.prefix, strchr(prefix, '{') ? "%s" : "{%s}", prefix);
    if (rc >= 0)
        rc = a->path ? asprintf(&r->remote.path, "%s", a->path)
                     : asprintf(&r->remote.path, "%s:%u", a->host, a->port);
    return rc < 0 ? err_set(err, "out of memory") : 0;
}

int state_redis_open(const struct state_config *config, struct state_address *take_address,
                     struct state_store **ret_store, struct err *err) {
    struct redis *r = mem_zalloc(sizeof(*r));
    state_remote_init(&r->remote, &redis_carrier, config);
    int rc = name_store(r, take_address, err);
    if (rc == 0)
        rc = redis_probe(r, take_address, err);
    if (rc == 0 && config->loop)
        connect_store(r, config->loop, take_address);
    state_address_free(take_address);
    if (rc < 0) {
        r->remote.store.ops->close(&r->remote.store);
        return -1;
    }
    *ret_store = &r->remote.store;
    return 0;
}

static void redis_health(const struct remote *remote, struct remote_link_health *ret_health) {
    *ret_health = link_of(remote)->health;
}

static void redis_close(struct remote *remote) { state_redis_link_free(((struct redis *)remote)->link); }

static const struct remote_carrier redis_carrier = {
    .name = "redis",
    .send = redis_send,
    .read = redis_read,
    .again = redis_again,
    .renew = redis_renew,
    .health = redis_health,
    .close = redis_close,
};
