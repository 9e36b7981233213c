#include "state/redis_nodes.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#define NODES_MAGIC 0x72656e6fu
#define SAID_MAX 160

struct redis_nodes {
    uint32_t magic;
    struct io_loop *loop;
    struct state_address address;
    struct buf hello;
    uint64_t timeout_ms;
    void (*changed)(void *owner);
    void *owner;
    struct redis_link *links[STATE_REDIS_NODES_MAX];
    size_t link_count;
    size_t shard_link[STATE_REDIS_SHARDS];
    size_t next; /* tried for a shard whose node is unreachable */

    struct redis_link *sentinel;
    size_t sentinel_at; /* of the address' nodes */
    bool sentinel_fails;
    size_t asked;        /* Sentinels since one of them named the master */
    bool unknown;        /* one of those answered, and knows no such master */
    char said[SAID_MAX]; /* what they said */
    void (*unknown_master)(void *owner);
    struct io_timer ask_timer;
    struct remote_want ask;
};

static void on_link_changed(void *owner, struct redis_link *link) {
    struct redis_nodes *n = owner;
    (void)link;
    if (n->changed)
        n->changed(n->owner);
}

static size_t add_link(struct redis_nodes *n, const struct state_node *node) {
    const struct redis_link_config config = {.address = &n->address,
                                             .node = node,
                                             .timeout_ms = n->timeout_ms,
                                             .masters_only = n->address.topology == STATE_SENTINEL,
                                             .hello = buf_slice(&n->hello),
                                             .changed = on_link_changed,
                                             .owner = n};
    n->links[n->link_count] = state_redis_link_new(n->loop, &config);
    return n->link_count++;
}

/* ---- Sentinel ---- */

static void on_ask(struct io_timer *timer);

static void ask_later(struct redis_nodes *n, bool known) {
    n->sentinel_fails = !known;
    io_timer_arm(n->loop, &n->ask_timer, known ? STATE_SENTINEL_ASK_MS : STATE_SENTINEL_NEXT_MS, on_ask);
}

/* No Sentinel named the master. When all were asked, the error names them. */
static void sentinel_failed(struct redis_nodes *n, const char *why, bool unknown) {
    struct remote_link *base = state_redis_link_base(n->links[0]);
    const struct state_node *node = &n->address.nodes[n->sentinel_at];
    char text[SAID_MAX + 128];
    n->unknown = (n->asked ? n->unknown : false) || unknown;
    const size_t len = n->asked ? strlen(n->said) : 0;
    snprintf(n->said + len, sizeof(n->said) - len, unknown ? "%s%s:%u" : "%s%s:%u (%s)", len ? ", " : "",
             node->host, node->port, why);
    n->asked++;
    if (!base->health.up && !n->unknown)
        state_remote_link_note(base, why);
    if (n->asked < n->address.node_count)
        return;
    n->asked = 0;
    if (base->health.up || !n->unknown)
        return;
    snprintf(text, sizeof(text), "no Sentinel knows a master `%.64s`; asked: %s", n->address.master, n->said);
    state_remote_link_note(base, text);
    if (n->unknown_master)
        n->unknown_master(n->owner);
}

static void on_master(struct remote_want *want, const void *raw) {
    struct redis_nodes *n = container_of(want, struct redis_nodes, ask);
    const redisReply *reply = raw;
    uint64_t port = 0;
    want->answered = NULL;
    if (!n->sentinel) /* about to close */
        return;
    bool known = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                 reply->element[0]->type == REDIS_REPLY_STRING &&
                 reply->element[1]->type == REDIS_REPLY_STRING &&
                 slice_to_u64(slice_of(reply->element[1]->str, reply->element[1]->len), &port) && port &&
                 port <= UINT16_MAX;
    if (known) {
        n->asked = 0;
        state_redis_link_point(n->links[0],
                               &(struct state_node){.host = reply->element[0]->str, .port = (uint16_t)port});
    } else if (!want->is_late) {
        sentinel_failed(n,
                        !reply                             ? state_redis_link_base(n->sentinel)->health.fault
                        : reply->type == REDIS_REPLY_ERROR ? reply->str
                                                           : "",
                        reply && reply->type != REDIS_REPLY_ERROR);
    }
    ask_later(n, known);
}

static void on_master_late(struct remote_want *want) {
    struct redis_nodes *n = container_of(want, struct redis_nodes, ask);
    sentinel_failed(n, "no answer", false);
    ask_later(n, false);
}

static void sentinel_connect(struct redis_nodes *n) {
    struct state_address login = {.tls = n->address.tls,
                                  .user = n->address.sentinel_user,
                                  .password = n->address.sentinel_password,
                                  .client_name = n->address.client_name,
                                  .ca = n->address.ca,
                                  .cert = n->address.cert,
                                  .key = n->address.key};
    n->sentinel =
        state_redis_link_new(n->loop, &(struct redis_link_config){.address = &login,
                                                                  .node = &n->address.nodes[n->sentinel_at],
                                                                  .timeout_ms = STATE_REMOTE_TIMEOUT_MS});
}

static void sentinel_free(struct redis_nodes *n) { state_redis_link_free(steal(n->sentinel)); }

/* The previous query was answered, or will not be. */
static void on_ask(struct io_timer *timer) {
    struct redis_nodes *n = container_of(timer, struct redis_nodes, ask_timer);
    if (n->sentinel_fails) {
        sentinel_free(n);
        n->sentinel_at = (n->sentinel_at + 1) % n->address.node_count;
        sentinel_connect(n);
    }
    const char *argv[] = {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", n->address.master};
    char *command = NULL;
    int len = redisFormatCommandArgv(&command, 3, argv, NULL);
    CHECK(len > 0);
    n->ask = (struct remote_want){.late = on_master_late, .answered = on_master};
    if (!state_redis_link_send(n->sentinel, slice_of(command, (size_t)len), &n->ask)) {
        sentinel_failed(n, state_redis_link_base(n->sentinel)->health.fault, false);
        ask_later(n, false);
    }
    redisFreeCommand(command);
}

/* ---- Cluster ---- */

static bool link_is_down(const struct redis_nodes *n, size_t i) {
    return state_redis_link_base(n->links[i])->phase == REMOTE_WAITING;
}

/* The node of the shard. While it is down, another one that may know its successor. */
struct redis_link *state_redis_nodes_link(struct redis_nodes *n, unsigned shard) {
    CHECK_MAGIC(n, NODES_MAGIC);
    size_t at = n->shard_link[shard];
    for (size_t tries = 0; link_is_down(n, at) && tries < n->link_count; tries++)
        at = n->next++ % n->link_count;
    return n->links[link_is_down(n, at) ? n->shard_link[shard] : at];
}

/* Nodes of a Cluster come and go, each with an address of its own: one that is gone makes room. */
static size_t replace_link(struct redis_nodes *n, const struct state_node *node) {
    for (size_t i = 0; i < n->link_count; i++) {
        bool serves = false;
        for (size_t s = 0; s < STATE_REDIS_SHARDS; s++)
            serves |= n->shard_link[s] == i;
        if (serves || !link_is_down(n, i))
            continue;
        state_redis_link_point(n->links[i], node);
        return i;
    }
    return n->link_count;
}

struct redis_link *state_redis_nodes_redirect(struct redis_nodes *n, unsigned shard, struct slice error) {
    struct slice word, slot;
    struct state_node node;
    struct err err = {0};
    if (n->address.topology != STATE_CLUSTER || !slice_cut(&error, ' ', &word) ||
        !slice_cut(&error, ' ', &slot))
        return NULL;
    const bool moved = slice_is(word, "MOVED");
    if ((!moved && !slice_is(word, "ASK")) || !error.len || error.ptr[0] == ':' ||
        state_address_node(error, 0, &node, &err) < 0)
        return NULL;
    size_t at = 0;
    while (at < n->link_count && !state_redis_link_is_at(n->links[at], &node))
        at++;
    if (at == STATE_REDIS_NODES_MAX)
        at = replace_link(n, &node);
    else if (at == n->link_count)
        add_link(n, &node);
    free(node.host);
    if (at == STATE_REDIS_NODES_MAX || link_is_down(n, at))
        return NULL;
    if (moved)
        n->shard_link[shard] = at;
    return n->links[at];
}

/* ---- life ---- */

struct redis_nodes *state_redis_nodes_new(struct io_loop *loop, const struct redis_nodes_config *config) {
    struct redis_nodes *n = mem_zalloc(sizeof(*n));
    n->magic = NODES_MAGIC;
    n->loop = loop;
    n->timeout_ms = config->timeout_ms;
    n->changed = config->changed;
    n->unknown_master = config->unknown_master;
    n->owner = config->owner;
    state_address_copy(&n->address, config->address);
    buf_init(&n->hello, STATE_REDIS_COMMAND_MAX);
    buf_put_slice(&n->hello, config->hello);
    const size_t count = n->address.node_count;
    if (n->address.topology == STATE_SENTINEL) {
        n->sentinel_at = config->first % count;
        add_link(n, NULL);
        sentinel_connect(n);
        io_timer_arm(loop, &n->ask_timer, 0, on_ask);
    } else if (!count) {
        add_link(n, NULL);
    }
    for (size_t i = 0; i < count && n->address.topology != STATE_SENTINEL; i++)
        add_link(n, &n->address.nodes[(config->first + i) % count]);
    return n;
}

void state_redis_nodes_free(struct redis_nodes *n) {
    if (!n)
        return;
    n->changed = NULL;
    io_timer_stop(n->loop, &n->ask_timer);
    sentinel_free(n);
    for (size_t i = 0; i < n->link_count; i++)
        state_redis_link_free(n->links[i]);
    buf_free(&n->hello);
    state_address_free(&n->address);
    free(n);
}

void state_redis_nodes_health(const struct redis_nodes *n, struct remote_link_health *ret_health) {
    struct remote_link_health all = {.up = true};
    for (size_t i = 0; i < n->link_count; i++) {
        const struct remote_link_health *one = &state_redis_link_base(n->links[i])->health;
        bool serves = false;
        for (size_t s = 0; s < STATE_REDIS_SHARDS; s++)
            serves |= n->shard_link[s] == i;
        all.requests += one->requests;
        all.timeouts += one->timeouts;
        all.connects += one->connects;
        all.unsent += one->unsent;
        all.answer_us += one->answer_us;
        for (size_t b = 0; b <= STATE_ANSWER_BUCKETS; b++)
            all.answers[b] += one->answers[b];
        if (serves && one->fault[0] && (!one->up || !all.fault[0]))
            memcpy(all.fault, one->fault, sizeof(all.fault));
        all.up = all.up && (one->up || !serves);
    }
    *ret_health = all;
}

void state_redis_nodes_flush(struct redis_nodes *n) {
    for (size_t i = 0; i < n->link_count; i++)
        state_redis_link_flush(n->links[i]);
}
