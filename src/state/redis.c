/* All limits of a decision that one server has are one call of one script (counters.lua), so they are counted
 * together or not at all, by the server's clock.
 *
 * In a Cluster the counters have STATE_REDIS_SHARDS parts by their scope, each with a hash tag of its own.
 * Where the limits of a call are in several, one part after the other is reserved, always in the same order;
 * when one refuses, those before it are taken back.
 *
 * Each shard has an epoch, a number that every reservation raises. On each new connection the gate joins: it
 * tells the highest number that it knows, and learns which server it talks to. A server that others counted
 * at before waits for all gates that they knew (counters.lua). */
#include "state/redis.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/mem.h"
#include "io/loop.h"
#include "state/fleet_marks.h"
#include "state/leases.h"
#include "state/redis_nodes.h"
#include "state/remote.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHA1_TEXT 40
#define RUN_TEXT 40
#define JOIN_LEN 7
#define BRING_MARKS 2 /* the script's answer to a reservation that needs marks */

extern const unsigned char state_counters_lua[];
extern const size_t state_counters_lua_len;

struct redis_shard {
    int64_t epoch; /* the highest epoch that a server reported: it has that many reservations, or lost some */
    int64_t since_ms;          /* this gate keeps marks of everything that was counted since; 0: not joined */
    int64_t lost_ms;           /* when a loss was last detected, by the server's clock; 0: never */
    struct redis_link *joined; /* where the gate joined, and over which connection */
    uint64_t joined_connect;
    uint64_t joined_ms;
    bool joining;
    char run[RUN_TEXT + 1]; /* names that server */
    char id[RUN_TEXT + 1];  /* the name that the epoch got when it was made; empty: not known */
};

struct redis {
    struct remote remote;
    struct redis_nodes *nodes;
    char sha[SHA1_TEXT + 1]; /* of the script */
    struct redis_shard shards[STATE_REDIS_SHARDS];
    struct io_timer join_timer;
    struct fleet_marks *marks; /* NULL: none are kept */
};

static const struct remote_carrier redis_carrier;

static void on_join_due(struct io_timer *timer);

static unsigned shard_count(const struct redis *r) { return r->remote.shards > 1 ? r->remote.shards : 1; }

static struct remote_link *link_of(const struct remote *r, unsigned shard) {
    return state_redis_link_base(state_redis_nodes_link(((const struct redis *)r)->nodes, shard));
}

static bool has_joined(const struct redis_shard *s, const struct redis_link *link) {
    return s->joined == link &&
           s->joined_connect == state_redis_link_base((struct redis_link *)link)->health.connects;
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

static bool takes_all(const struct remote_held *h) { return !h->local; }
static bool takes_counted(const struct remote_held *h) { return h->counted; }
static bool takes_leased(const struct remote_held *h) { return h->counted && h->kind == STATE_CONCURRENT; }

/* The next shard from `from` on that has one of those limits; STATE_REDIS_SHARDS if there is none. */
static unsigned next_part(const struct remote_call *call, bool (*takes)(const struct remote_held *h),
                          unsigned from) {
    unsigned next = STATE_REDIS_SHARDS;
    for (size_t i = 0; i < call->count; i++) {
        const struct remote_held *h = &call->held[i];
        if (takes(h) && h->shard >= from && h->shard < next)
            next = h->shard;
    }
    return next;
}

static struct slice epoch_key(const struct redis *r, unsigned shard, struct arena *a) {
    return arena_printf(a, "%.*sepoch", SLICE_FMT(state_remote_prefix(&r->remote, shard, a)));
}

/* What the gate knows about the shard's server: "EPOCH OWNER RUN ID MARKS"; "-" for a server that it has not
 * joined, and for an epoch whose name it was never told. */
static struct slice epoch_text(const struct redis *r, unsigned shard, const struct redis_link *link,
                               struct arena *a) {
    const struct redis_shard *s = &r->shards[shard];
    return arena_printf(a, "%" PRId64 " %s %s %s %d", s->epoch, r->remote.owner,
                        has_joined(s, link) ? s->run : "-", s->id[0] ? s->id : "-", r->marks != NULL);
}

struct part { /* the limits of a call in one shard, as in `takes` */
    const struct remote_call *call;
    bool (*takes)(const struct remote_held *h);
    unsigned shard;
    struct redis_link *link;
};

static bool in_part(const struct part *p, const struct remote_held *h) {
    return h->shard == p->shard && p->takes(h);
}

/* What the script may be told of the limit's mark (counters.lua). */
static const char *mark_text(const struct redis *r, const struct remote_held *h, struct arena *a) {
    if (!r->marks)
        return "-";
    if (h->mark != REMOTE_MARK_KNOWN)
        return h->mark == REMOTE_MARK_VOID ? "!" : "?";
    return arena_printf(a, "%" PRIu64 ":%" PRId64, h->known.start_ms, h->known.value).ptr;
}

static void add_limit(struct command *c, const struct redis *r, const struct remote_held *h, bool undo) {
    add_text(c, arena_printf(&c->arena,
                             "%.1s %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 " %" PRIu64
                             " %s %s",
                             state_remote_kind(h->kind).ptr, h->window_ms, h->max, h->refill,
                             state_remote_amount(h), h->fingerprint, undo ? h->start : h->shadow,
                             state_remote_client(h, &c->arena), mark_text(r, h, &c->arena)));
}

/* EVALSHA sha numkeys KEY... op name lease LIMIT...; the epoch goes last in both lists of a reservation, and
 * of what takes one back. */
static bool send_part(struct redis *r, const struct part *p, const char *op, struct remote_want *want) {
    struct command c;
    const struct remote_call *call = p->call;
    size_t keys = 0;
    int64_t lost_ms = -1;
    for (size_t i = 0; i < call->count; i++)
        keys += in_part(p, &call->held[i]);
    const bool reserves = call->op == REMOTE_RESERVE && p->takes == takes_all;
    const bool undoes = call->op == REMOTE_UNDO;
    command_init(&c, 8 + keys * 2);
    add_text(&c, call->retried ? SLICE("EVAL") : SLICE("EVALSHA"));
    add_text(&c, call->retried ? script_text() : slice_str(r->sha));
    add_number(&c, (int64_t)(keys + (reserves || undoes)));
    for (size_t i = 0; i < call->count; i++)
        if (in_part(p, &call->held[i]))
            add_text(&c, call->held[i].key);
    if (reserves || undoes)
        add_text(&c, epoch_key(r, p->shard, &c.arena));
    add_text(&c, slice_str(op));
    add_text(&c, arena_printf(&c.arena, "%s:%" PRIu64, r->remote.owner, call->number));
    add_number(&c, STATE_REMOTE_LEASE_MS);
    for (size_t i = 0; i < call->count; i++) {
        const struct remote_held *h = &call->held[i];
        if (!in_part(p, h))
            continue;
        add_limit(&c, r, h, undoes);
        lost_ms = h->lost_ms > lost_ms ? h->lost_ms : lost_ms;
    }
    if (reserves)
        add_text(&c, epoch_text(r, p->shard, p->link, &c.arena));
    else if (undoes && lost_ms < 0)
        add_text(&c, SLICE("-"));
    else if (undoes)
        add_number(&c, lost_ms);
    return command_send(&c, p->link, want);
}

static bool (*takes_of(const struct remote_call *call))(const struct remote_held *h) {
    return call->op == REMOTE_UNDO ? takes_counted : takes_all;
}

/* Sends the part that call->part names, to that server or to the one that has the shard. */
static bool send_current(struct remote_call *call, struct redis_link *link) {
    static const char *const ops[] = {
        [REMOTE_RESERVE] = "reserve", [REMOTE_READ] = "read", [REMOTE_UNDO] = "undo"};
    struct redis *r = (struct redis *)call->store;
    const struct part part = {.call = call,
                              .takes = takes_of(call),
                              .shard = call->part,
                              .link = link ? link : state_redis_nodes_link(r->nodes, call->part)};
    return send_part(r, &part, ops[call->op], &call->want);
}

static bool redis_send(struct remote *remote, struct remote_call *call) {
    (void)remote;
    call->part = (uint8_t)next_part(call, takes_of(call), 0);
    return call->part < STATE_REDIS_SHARDS && send_current(call, NULL);
}

/* ---- answers ---- */

static int64_t number_at(const redisReply *reply, size_t i) {
    return i < reply->elements && reply->element[i]->type == REDIS_REPLY_INTEGER ? reply->element[i]->integer
                                                                                 : -1;
}

/* Whether the answer has something about this limit. */
static bool is_answered(const struct remote_call *call, const struct remote_held *h) {
    return h->shard == call->part && !h->local;
}

static size_t part_len(const struct remote_call *call) {
    size_t len = 0;
    for (size_t i = 0; i < call->count; i++)
        len += is_answered(call, &call->held[i]);
    return len;
}

/* "WHERE VALUE"; empty: not counted. */
static void read_hold(struct remote_held *h, struct slice hold, int64_t lost_ms) {
    struct slice where;
    uint64_t value;
    slice_cut(&hold, ' ', &where);
    h->counted = h->amount > 0 && slice_to_u64(where, &h->start);
    h->value = slice_to_u64(hold, &value) && value < INT64_MAX ? (int64_t)value : INT64_MAX;
    h->lost_ms = lost_ms;
}

/* {1, 0, 0, SHADOW, HOLD..., NOW, EPOCH, LOST} */
static bool read_holds(struct remote_call *call, const redisReply *reply, struct state_answer *answer) {
    const size_t len = part_len(call);
    size_t at = 0;
    if (reply->elements != 7 + len || reply->element[3]->len != len)
        return false;
    for (size_t i = 0; i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        if (!is_answered(call, h))
            continue;
        const redisReply *hold = reply->element[4 + at];
        if (hold->type != REDIS_REPLY_STRING)
            return false;
        read_hold(h, slice_of(hold->str, hold->len), number_at(reply, reply->elements - 1));
        if (reply->element[3]->str[at++] == '1' && i < 64)
            answer->shadow_refused |= (uint64_t)1 << i;
    }
    return true;
}

static bool read_values(struct remote_call *call, const redisReply *reply) {
    size_t at = 0;
    for (size_t i = 0; i < call->count; i++) {
        struct remote_held *h = &call->held[i];
        if (!is_answered(call, h))
            continue;
        const redisReply *text = at < reply->elements ? reply->element[at++] : NULL;
        uint64_t value;
        if (!text || text->type != REDIS_REPLY_STRING ||
            !slice_to_u64(slice_of(text->str, text->len), &value))
            return false;
        h->value = value < INT64_MAX ? (int64_t)value : INT64_MAX;
    }
    return true;
}

static void note_epoch(struct redis *r, unsigned shard, int64_t epoch, int64_t lost_ms) {
    struct redis_shard *s = &r->shards[shard];
    s->epoch = epoch > s->epoch ? epoch : s->epoch;
    r->remote.health.losses += lost_ms > s->lost_ms;
    if (lost_ms > s->lost_ms)
        state_remote_link_note(link_of(&r->remote, shard),
                               r->marks ? "the server lost writes: windows go on from marks in PostgreSQL"
                                        : "the server lost writes: calls in open windows are refused "
                                          "until the windows end");
    s->lost_ms = lost_ms > s->lost_ms ? lost_ms : s->lost_ms;
}

/* The index in the call of the n-th limit of its part. */
static size_t index_of(const struct remote_call *call, int64_t n) {
    for (size_t i = 0; n >= 0 && i < call->count; i++)
        if (is_answered(call, &call->held[i]) && n-- == 0)
            return i;
    return call->count;
}

static bool says_rejoin(const redisReply *error) {
    return slice_starts(slice_of(error->str, error->len), SLICE("REJOIN"));
}

static bool redis_read(struct remote_call *call, const void *raw, struct state_answer *answer) {
    const redisReply *reply = raw;
    /* What the join that follows a REJOIN finds is what people need to know. */
    if (reply->type == REDIS_REPLY_ERROR && !says_rejoin(reply))
        state_remote_link_note(link_of(call->store, call->part), reply->str);
    if (reply->type != REDIS_REPLY_ARRAY || call->broken)
        return false;
    if (call->op == REMOTE_READ)
        return read_values(call, reply);
    if (reply->elements < 6)
        return false;
    note_epoch((struct redis *)call->store, call->part, number_at(reply, reply->elements - 2),
               number_at(reply, reply->elements - 1));
    answer->shadow_refused = call->shadow_refused;
    call->server_ms = (uint64_t)number_at(reply, reply->elements - 3);
    if (number_at(reply, 0) == 1)
        return read_holds(call, reply, answer);
    if (number_at(reply, 0) == BRING_MARKS)
        return false;
    size_t index = index_of(call, number_at(reply, 1));
    int64_t retry = number_at(reply, 2);
    if (index >= call->count)
        return false;
    *answer = (struct state_answer){
        .result = STATE_REFUSED, .refused_index = index, .retry_after_ms = retry > 0 ? (uint64_t)retry : 0};
    return true;
}

static void on_ignored(struct remote_want *want, const void *reply) {
    (void)reply;
    free(want);
}

/* The next request on that connection may use a slot that is being migrated there. */
static bool send_asking(struct redis_link *link) {
    struct remote_want *want = mem_zalloc(sizeof(*want));
    struct command c;
    want->answered = on_ignored;
    command_init(&c, 1);
    add_text(&c, SLICE("ASKING"));
    bool sent = command_send(&c, link, want);
    if (!sent)
        free(want);
    return sent;
}

/* An error that may be resolved by another attempt. */
static bool send_despite(struct remote_call *call, const redisReply *reply) {
    struct redis *r = (struct redis *)call->store;
    const struct slice error = slice_of(reply->str, reply->len);
    if (slice_starts(error, SLICE("NOSCRIPT"))) { /* restarted, or its scripts were flushed */
        bool again = !call->retried;
        call->retried = true;
        return again && send_current(call, NULL);
    }
    if (slice_starts(error, SLICE("READONLY"))) {
        state_remote_link_lost(link_of(call->store, call->part), "the server became a replica");
        return false;
    }
    if (says_rejoin(reply)) { /* flushed, or it evicted that key */
        r->shards[call->part].joined = NULL;
        io_timer_arm(r->remote.loop, &r->join_timer, 0, on_join_due);
        return false;
    }
    if (call->redirects++ >= STATE_REDIS_REDIRECTS_MAX)
        return false;
    if (slice_starts(error, SLICE("TRYAGAIN")))
        return send_current(call, NULL);
    struct redis_link *link = state_redis_nodes_redirect(r->nodes, call->part, error);
    if (!link || (slice_starts(error, SLICE("ASK ")) && !send_asking(link)))
        return false;
    return send_current(call, link);
}

/* The answered part is done: continues with the next, if there is one. */
static bool send_next(struct remote_call *call, const redisReply *reply) {
    unsigned next = next_part(call, takes_of(call), call->part + 1u);
    if (next == STATE_REDIS_SHARDS)
        return false;
    struct state_answer answer = {.result = STATE_GRANTED};
    if (call->op != REMOTE_UNDO && (!redis_read(call, reply, &answer) || answer.result != STATE_GRANTED))
        return false;
    call->shadow_refused = answer.shadow_refused;
    call->part = (uint8_t)next;
    call->retried = false;
    call->broken = !send_current(call, NULL);
    return !call->broken;
}

/* ---- marks ---- */

static void give_up(struct remote_call *call) { call->want.answered(&call->want, NULL); }

static void on_mark_late(struct remote_want *want) {
    struct remote_call *call = container_of(want, struct remote_call, mark_want);
    call->want.late(&call->want);
}

static void on_stored(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, mark_want);
    const struct redis *r = (const struct redis *)call->store;
    const bool stored = reply && state_fleet_marks_stored(r->marks, call, reply);
    if (reply && !stored)
        state_remote_link_note(link_of(call->store, call->part),
                               "PostgreSQL did not take the mark of a counter: another server counts, or the "
                               "gate's role may not write there");
    if (stored && call->ticket)
        state_remote_secured(call);
    else
        give_up(call);
}

static bool redis_secure(struct remote_call *call) {
    const struct redis *r = (const struct redis *)call->store;
    if (!r->marks || state_fleet_marks_cover(r->marks, call))
        return false;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct fleet_epoch epochs[STATE_REDIS_SHARDS];
    for (unsigned shard = 0; shard < shard_count(r); shard++)
        epochs[shard] = (struct fleet_epoch){epoch_key(r, shard, &a), r->shards[shard].id, 0};
    call->mark_want = (struct remote_want){.late = on_mark_late, .answered = on_stored};
    if (!state_fleet_marks_store(r->marks, call, epochs))
        give_up(call);
    return true;
}

static void on_recalled(struct remote_want *want, const void *reply) {
    struct remote_call *call = container_of(want, struct remote_call, mark_want);
    const struct redis *r = (const struct redis *)call->store;
    if (!call->ticket || !reply || !state_fleet_marks_recalled(r->marks, call, reply) ||
        !send_current(call, NULL))
        give_up(call);
}

/* The server lost writes: asks what may have been used. */
static bool bring_marks(struct remote_call *call, const redisReply *reply) {
    struct redis *r = (struct redis *)call->store;
    const int64_t lost_ms = number_at(reply, reply->elements - 1);
    cleanup_arena struct arena a;
    arena_init(&a);
    if (call->op != REMOTE_RESERVE || !r->marks || call->redirects++ >= STATE_REDIS_REDIRECTS_MAX)
        return false;
    note_epoch(r, call->part, number_at(reply, reply->elements - 2), lost_ms);
    call->server_ms = (uint64_t)number_at(reply, reply->elements - 3);
    for (size_t i = 0; i < call->count; i++)
        if (is_answered(call, &call->held[i]))
            call->held[i].lost_ms = lost_ms;
    call->mark_want = (struct remote_want){.late = on_mark_late, .answered = on_recalled};
    return state_fleet_marks_recall(r->marks, call, epoch_key(r, call->part, &a));
}

static bool redis_again(struct remote_call *call, const void *raw) {
    const redisReply *reply = raw;
    if (reply->type == REDIS_REPLY_ERROR)
        return send_despite(call, reply);
    if (call->op == REMOTE_RESERVE && reply->type == REDIS_REPLY_ARRAY && number_at(reply, 0) == BRING_MARKS)
        return bring_marks(call, reply);
    return send_next(call, reply);
}

/* ---- leases ---- */

static void redis_renew(struct remote *remote, const struct remote_call *call) {
    struct redis *r = (struct redis *)remote;
    for (unsigned shard = 0; (shard = next_part(call, takes_leased, shard)) < STATE_REDIS_SHARDS; shard++) {
        const struct part part = {.call = call,
                                  .takes = takes_leased,
                                  .shard = shard,
                                  .link = state_redis_nodes_link(r->nodes, shard)};
        struct remote_want *want = mem_zalloc(sizeof(*want));
        want->answered = on_ignored;
        if (!send_part(r, &part, "renew", want))
            free(want);
    }
}

/* ---- joining ---- */

struct join {
    struct remote_want want;
    struct redis *store;
    struct redis_link *link;
    uint64_t connect;
    unsigned shard;
};

static void note_policy(struct redis *r, const redisReply *policy) {
    if (policy->type == REDIS_REPLY_STRING && policy->len)
        snprintf(
            r->remote.health.warning, sizeof(r->remote.health.warning),
            "%s: the server may evict counters (maxmemory-policy %s): set noeviction; calls in open windows "
            "are refused when it evicts keys",
            r->remote.path, policy->str);
}

static bool read_name(const redisReply *reply, char ret_name[RUN_TEXT + 1]) {
    if (reply->type != REDIS_REPLY_STRING || reply->len > RUN_TEXT)
        return false;
    memcpy(ret_name, reply->str, reply->len + 1);
    return true;
}

/* Where nothing was counted before this gate joined, everything has marks. */
static void note_since(struct redis_shard *s, const redisReply *reply) {
    if (!s->since_ms)
        s->since_ms = number_at(reply, 1) > 0 ? number_at(reply, 5) : 1;
}

static void note_join(struct redis *r, unsigned shard, const redisReply *reply) {
    struct redis_shard *s = &r->shards[shard];
    cleanup_arena struct arena a;
    arena_init(&a);
    note_since(s, reply);
    const struct fleet_epoch epoch = {epoch_key(r, shard, &a), s->id, s->lost_ms};
    if (r->marks)
        state_fleet_marks_join(r->marks, &epoch, s->since_ms, number_at(reply, 6));
}

/* {RUN, EPOCH, LOST, EVICTS, ID, NOW, UNMARKED} */
static void on_joined(struct remote_want *want, const void *raw) {
    struct join *j = container_of(want, struct join, want);
    const redisReply *reply = raw;
    struct redis *r = j->store;
    struct redis_shard *s = &r->shards[j->shard];
    s->joining = false;
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == JOIN_LEN &&
        read_name(reply->element[0], s->run) && read_name(reply->element[4], s->id)) {
        s->joined = j->link;
        s->joined_connect = j->connect;
        s->joined_ms = io_now_ms(r->remote.loop);
        note_epoch(r, j->shard, number_at(reply, 1), number_at(reply, 2));
        note_join(r, j->shard, reply);
    } else if (reply && reply->type == REDIS_REPLY_ERROR &&
               state_redis_nodes_redirect(r->nodes, j->shard, slice_of(reply->str, reply->len))) {
        io_timer_arm(r->remote.loop, &r->join_timer, 0, on_join_due);
    }
    free(j);
}

static bool send_join(struct redis *r, unsigned shard, struct redis_link *link, const char *op,
                      struct remote_want *want) {
    struct command c;
    command_init(&c, 8);
    add_text(&c, SLICE("EVALSHA"));
    add_text(&c, slice_str(r->sha));
    add_number(&c, 1);
    add_text(&c, epoch_key(r, shard, &c.arena));
    add_text(&c, slice_str(op));
    add_text(&c, slice_str(r->remote.owner));
    add_number(&c, STATE_REMOTE_LEASE_MS);
    add_text(&c, epoch_text(r, shard, link, &c.arena));
    return command_send(&c, link, want);
}

static void join(struct redis *r, unsigned shard, struct redis_link *link) {
    struct join *j = mem_zalloc(sizeof(*j));
    *j = (struct join){.want = {.answered = on_joined},
                       .store = r,
                       .link = link,
                       .connect = state_redis_link_base(link)->health.connects,
                       .shard = shard};
    r->shards[shard].joining = true;
    if (!send_join(r, shard, link, "join", &j->want))
        on_joined(&j->want, NULL);
}

/* Joins servers that the gate has not joined, and renews joins that would soon expire. */
static void on_join_due(struct io_timer *timer) {
    struct redis *r = container_of(timer, struct redis, join_timer);
    const uint64_t now = io_now_ms(r->remote.loop);
    bool all = true;
    for (unsigned shard = 0; shard < shard_count(r); shard++) {
        const struct redis_shard *s = &r->shards[shard];
        struct redis_link *link = state_redis_nodes_link(r->nodes, shard);
        bool joined = has_joined(s, link);
        all = all && joined;
        if (state_redis_link_base(link)->health.up && !s->joining &&
            (!joined || now - s->joined_ms >= STATE_REMOTE_RENEW_MS))
            join(r, shard, link);
    }
    io_timer_arm(r->remote.loop, timer, all ? STATE_REMOTE_RENEW_MS : STATE_REDIS_JOIN_MS, on_join_due);
}

static void on_nodes_changed(void *owner) {
    struct redis *r = owner;
    if (r->nodes)
        io_timer_arm(r->remote.loop, &r->join_timer, 0, on_join_due);
}

/* After a fail-over, the new server does not wait for a gate that has left. */
static void leave(struct redis *r) {
    for (unsigned shard = 0; shard < shard_count(r); shard++) {
        struct remote_want *want = mem_zalloc(sizeof(*want));
        struct redis_link *link = state_redis_nodes_link(r->nodes, shard);
        want->answered = on_ignored;
        if (!has_joined(&r->shards[shard], link) || !send_join(r, shard, link, "leave", want))
            free(want);
    }
    state_redis_nodes_flush(r->nodes);
}

/* ---- opening and closing ---- */

struct probe {
    struct remote_want want;
    struct io_loop *loop;
    struct redis *store;
    struct redis_link *link;
    bool writes; /* a gate that will count */
    bool good;
    bool hopeless; /* other Sentinels know no more */
    bool over;     /* a loop that is stopped twice does not close its handles */
    char why[256];
};

static void probe_over(struct probe *p) {
    if (!p->over)
        io_loop_stop(p->loop);
    p->over = true;
}

static void on_unknown_master(void *owner) {
    struct probe *p = owner;
    p->hopeless = true;
    probe_over(p);
}

static void on_probe_late(struct remote_want *want) {
    struct probe *p = container_of(want, struct probe, want);
    snprintf(p->why, sizeof(p->why), "no answer within %" PRIu64 " ms", p->store->remote.timeout_ms);
    probe_over(p);
}

static void on_probe_left(struct remote_want *want, const void *raw) {
    (void)raw;
    probe_over(container_of(want, struct probe, want));
}

/* Errors of a server that can count again without a change of the settings. */
static bool passes_by(struct slice error) {
    static const char *const words[] = {"MOVED ",      "ASK ",       "TRYAGAIN", "CLUSTERDOWN", "LOADING",
                                        "MASTERDOWN ", "NOREPLICAS", "OOM ",     "MISCONF ",    "BUSY "};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (slice_starts(error, slice_str(words[i])))
            return true;
    return false;
}

/* The gate may write there: not a replica, and its user may use these keys. Then it leaves again. */
static void on_probe_joined(struct remote_want *want, const void *raw) {
    const redisReply *reply = raw;
    struct probe *p = container_of(want, struct probe, want);
    const bool is_error = !reply || reply->type == REDIS_REPLY_ERROR;
    p->good = !is_error || (reply && passes_by(slice_of(reply->str, reply->len)));
    if (is_error && reply)
        snprintf(p->why, sizeof(p->why), "%s", reply->str);
    else if (!is_error && reply->type == REDIS_REPLY_ARRAY && reply->elements == JOIN_LEN &&
             read_name(reply->element[4], p->store->shards[0].id)) { /* before anything is counted */
        note_policy(p->store, reply->element[3]);
        note_since(&p->store->shards[0], reply);
        /* A loss that others found before is no news. */
        if (number_at(reply, 2) < number_at(reply, 5))
            p->store->shards[0].lost_ms = number_at(reply, 2);
    }
    p->want = (struct remote_want){.late = on_probe_late, .answered = on_probe_left};
    if (is_error || !send_join(p->store, 0, p->link, "leave", &p->want))
        probe_over(p);
}

static void on_probed(struct remote_want *want, const void *raw) {
    const redisReply *reply = raw;
    struct probe *p = container_of(want, struct probe, want);
    p->good = reply && reply->type == REDIS_REPLY_STRING && reply->len == SHA1_TEXT;
    if (p->good)
        memcpy(p->store->sha, reply->str, SHA1_TEXT + 1);
    else if (reply && reply->type == REDIS_REPLY_ERROR)
        snprintf(p->why, sizeof(p->why), "%s", reply->str);
    p->want = (struct remote_want){.late = on_probe_late, .answered = on_probe_joined};
    if (!p->good || !p->writes || p->over)
        probe_over(p);
    else if (!send_join(p->store, 0, p->link, "join", &p->want))
        probe_over(p);
}

/* Checks that the server is reachable and accepts the script, on a separate loop: a gate does not start
 * without its store. */
static int redis_probe(struct redis *r, const struct state_address *address, size_t first, bool writes,
                       bool *ret_hopeless, struct err *err) {
    struct io_loop loop;
    struct command c;
    struct remote_link_health health;
    struct probe p = {
        .want = {.late = on_probe_late, .answered = on_probed}, .loop = &loop, .store = r, .writes = writes};
    io_loop_init(&loop);
    struct redis_nodes *nodes =
        state_redis_nodes_new(&loop, &(struct redis_nodes_config){.address = address,
                                                                  .first = first,
                                                                  .timeout_ms = r->remote.timeout_ms,
                                                                  .unknown_master = on_unknown_master,
                                                                  .owner = &p});
    command_init(&c, 3);
    add_text(&c, SLICE("SCRIPT"));
    add_text(&c, SLICE("LOAD"));
    add_text(&c, script_text());
    p.link = state_redis_nodes_link(nodes, 0);
    if (command_send(&c, p.link, &p.want))
        io_loop_run(&loop);
    health = state_redis_link_base(p.link)->health;
    state_redis_nodes_free(nodes);
    io_loop_free(&loop);
    *ret_hopeless = p.hopeless;
    if (p.good)
        return 0;
    return err_set(err, "%s: %s", r->remote.path, health.fault[0] ? health.fault : p.why);
}

/* Tries each of the hosts first, until one responds. */
static int redis_probe_all(struct redis *r, const struct state_address *address, bool writes,
                           struct err *err) {
    const size_t tries = address->topology == STATE_ONE_SERVER ? 1 : address->node_count;
    bool hopeless = false;
    int rc = -1;
    for (size_t i = 0; i < tries && rc < 0 && !hopeless; i++)
        rc = redis_probe(r, address, i, writes, &hopeless, err);
    return rc;
}

/* Sent again on each new connection: the server may have lost the script. */
static void connect_store(struct redis *r, struct io_loop *loop, const struct state_address *address) {
    char *hello = NULL;
    const char *argv[] = {"SCRIPT", "LOAD", (const char *)state_counters_lua};
    const size_t lens[] = {6, 4, state_counters_lua_len};
    int len = redisFormatCommandArgv(&hello, 3, argv, lens);
    CHECK(len > 0);
    state_remote_start(&r->remote, loop);
    r->nodes = state_redis_nodes_new(loop, &(struct redis_nodes_config){.address = address,
                                                                        .timeout_ms = r->remote.timeout_ms,
                                                                        .hello = slice_of(hello, (size_t)len),
                                                                        .changed = on_nodes_changed,
                                                                        .owner = r});
    redisFreeCommand(hello);
}

/* The braces make a hash tag of the prefix; in a Cluster it gets one per shard (state_remote_prefix). */
static int name_store(struct redis *r, const struct state_address *a, int64_t lease_calls, struct err *err) {
    cleanup_free char *prefix = r->remote.prefix;
    const bool is_tagged = a->topology == STATE_CLUSTER || strchr(prefix, '{');
    r->remote.prefix = NULL;
    if (a->topology == STATE_CLUSTER && strpbrk(prefix, "{}"))
        return err_set(
            err, "the prefix of counters in a Cluster must not contain braces: each shard gets its own");
    r->remote.shards = a->topology == STATE_CLUSTER ? STATE_REDIS_SHARDS : 1;
    if (lease_calls > 0 && a->topology == STATE_CLUSTER)
        return err_set(err, "state.lease: counters in a Cluster are not leased");
    if (lease_calls > 0) {
        r->remote.leases = mem_zalloc(sizeof(*r->remote.leases));
        state_leases_init(r->remote.leases, lease_calls);
    }
    int rc = asprintf(&r->remote.prefix, is_tagged ? "%s" : "{%s}", prefix);
    if (rc >= 0)
        rc = a->path ? asprintf(&r->remote.path, "%s", a->path)
             : a->master
                 ? asprintf(&r->remote.path, "%s at %s:%u", a->master, a->nodes[0].host, a->nodes[0].port)
                 : asprintf(&r->remote.path, "%s:%u", a->nodes[0].host, a->nodes[0].port);
    return rc < 0 ? err_set(err, "out of memory") : 0;
}

/* A gate that starts knows the names of the epochs from there: a server that was emptied meanwhile shows. */
static int open_marks(struct redis *r, const struct state_config *config, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    if (state_fleet_marks_open(config, &r->marks, err) < 0)
        return -1;
    for (unsigned shard = 0; shard < shard_count(r); shard++) {
        struct slice name;
        if (state_fleet_marks_name(config->marks_dsn, epoch_key(r, shard, &a), &a, &name, err) < 0)
            return err_wrap(err, "state.database");
        if (name.len <= RUN_TEXT)
            memcpy(r->shards[shard].id, name.ptr ? name.ptr : "", name.len + 1);
    }
    return 0;
}

int state_redis_open(const struct state_config *config, struct state_address *take_address,
                     struct state_store **ret_store, struct err *err) {
    struct redis *r = mem_zalloc(sizeof(*r));
    state_remote_init(&r->remote, &redis_carrier, config);
    int rc = name_store(r, take_address, config->lease_calls, err);
    if (rc == 0 && config->marks_dsn && config->loop)
        rc = open_marks(r, config, err);
    r->remote.health.has_marks = r->marks != NULL;
    if (rc == 0)
        rc = redis_probe_all(r, take_address, !config->read_only, err);
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
    const struct redis *r = (const struct redis *)remote;
    state_redis_nodes_health(r->nodes, ret_health);
    if (r->marks && ret_health->up)
        ret_health->up = state_fleet_marks_up(r->marks, ret_health->fault);
}

static void redis_close(struct remote *remote) {
    struct redis *r = (struct redis *)remote;
    state_fleet_marks_close(r->marks);
    r->marks = NULL;
    if (!r->nodes)
        return;
    io_timer_stop(remote->loop, &r->join_timer);
    leave(r);
    state_redis_nodes_free(r->nodes);
}

static const struct remote_carrier redis_carrier = {
    .name = "redis",
    .send = redis_send,
    .read = redis_read,
    .again = redis_again,
    .secure = redis_secure,
    .renew = redis_renew,
    .health = redis_health,
    .close = redis_close,
};
