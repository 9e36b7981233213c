#include "era/listen.h"

#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/client.h"
#include "channel/channel.h"
#include "channel/deliver.h"
#include "channel/limits.h"
#include "channel/outbox.h"
#include "decision/reverse.h"
#include "era/limits.h"
#include "mcp/names.h"
#include "mcp/translate.h"
#include "server/server.h"
#include "server/visible.h"
#include "wire/emit.h"

/* ---- requests of the gate whose answers matter little ---- */

struct note {
    struct own_request own;
    struct link_req req;
    struct list node;
    struct channel *ch;
    bool level;                 /* it sets the log level */
    struct call_listen *listen; /* the call that waits for it, or NULL */
    struct slice uri;           /* which it is about */
};

struct call_listen {
    uint32_t bits;
    size_t uri_count;
    struct slice *uris;
    size_t pending; /* subscriptions that the server has not answered yet */
    bool failed;    /* the server can no longer answer them */
    bool open;      /* the subscription was acknowledged to the client */
};

static void note_over(struct note *n) {
    struct channel *ch = n->ch;
    list_remove(&n->node);
    link_end(&n->req);
    ch->level_pending &= !n->level;
    if (n->listen)
        n->listen->pending--;
    free(n);
    channel_wake(ch);
}

static void forget_uri(struct call_listen *l, struct slice uri) {
    size_t kept = 0;
    for (size_t i = 0; i < l->uri_count; i++)
        if (!slice_eq(l->uris[i], uri))
            l->uris[kept++] = l->uris[i];
    l->uri_count = kept;
}

static void note_answer(struct own_request *own, struct msg *m) {
    struct note *n = container_of(own, struct note, own);
    if (n->listen && m->rpc.kind == RPC_ERROR)
        forget_uri(n->listen, n->uri);
    note_over(n);
}

static void note_failed(struct own_request *own, const char *why) {
    (void)why;
    struct note *n = container_of(own, struct note, own);
    if (n->listen)
        n->listen->failed = true;
    note_over(n);
}

static struct note *send_note(struct channel *ch, const char *method, struct slice members) {
    struct arena a;
    struct note *n = mem_zalloc(sizeof(*n));
    n->own = (struct own_request){OWN_REQUEST_MAGIC, note_answer, note_failed, NULL};
    n->ch = ch;
    if (ch->state != CHANNEL_READY || !link_begin(ch->link, &n->req, &n->own)) {
        free(n);
        return NULL;
    }
    list_push(&ch->notes, &n->node);
    arena_init(&a);
    channel_send(ch, channel_own_text(ch, n->req.id, method, members, &a), slice_str(method), &n->req);
    arena_free(&a);
    return n;
}

enum call_next listen_log_level(struct call *c) {
    const struct msg *m = c->request;
    struct channel *ch = c->channel;
    uint32_t node = m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", UP_META_LOG, NULL) : 0;
    struct slice level = node ? tape_text(&m->tape, node, &c->arena) : (struct slice){0};
    c->log_rank = translate_log_rank(level);
    if (c->log_rank < 0 || !(ch->server_bits & TRANSLATE_LOGGING))
        return CALL_NEXT;
    /* The server is set to the most verbose level that any client asked for; lines are filtered for the
     * others. */
    if (ch->log_rank < 0 || c->log_rank < ch->log_rank) {
        struct slice members = arena_printf(&c->arena, "\"level\":\"%.*s\"", SLICE_FMT(level));
        ch->log_rank = c->log_rank;
        struct note *n = send_note(ch, "logging/setLevel", members);
        ch->level_pending = n != NULL;
        if (n)
            n->level = true;
    }
    if (!ch->level_pending)
        return CALL_NEXT;
    channel_wait(ch, c);
    return CALL_WAIT;
}

/* ---- a modern client listens ---- */

static const struct {
    const char *member, *method;
    uint32_t bit;
} lists[] = {
    {"toolsListChanged", "notifications/tools/list_changed", TRANSLATE_TOOLS_CHANGED},
    {"promptsListChanged", "notifications/prompts/list_changed", TRANSLATE_PROMPTS_CHANGED},
    {"resourcesListChanged", "notifications/resources/list_changed", TRANSLATE_RESOURCES_CHANGED},
};

static bool read_filter(struct call *c, struct call_listen *l) {
    const struct tape *t = &c->request->tape;
    uint32_t params = c->request->rpc.params, filter = params ? tape_get_str(t, params, "notifications") : 0;
    if (!filter || !tape_is(t, filter, TAPE_OBJECT))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        uint32_t node = tape_get_str(t, filter, lists[i].member);
        if (node && tape_is(t, node, TAPE_TRUE))
            l->bits |= lists[i].bit & c->channel->server_bits;
    }
    uint32_t uris = tape_get_str(t, filter, "resourceSubscriptions");
    if (!uris || !tape_is(t, uris, TAPE_ARRAY) || !(c->channel->server_bits & TRANSLATE_SUBSCRIBE))
        return !uris || tape_is(t, uris, TAPE_ARRAY);
    if (tape_node(t, uris)->count > CHANNEL_URIS_MAX)
        return false;
    l->uris = arena_array(&c->arena, struct slice, tape_node(t, uris)->count);
    TAPE_FOR_ELEM(t, uris, i) {
        if (!tape_is(t, i, TAPE_STRING))
            return false;
        l->uris[l->uri_count++] = arena_dup(&c->arena, tape_text(t, i, &c->arena));
    }
    return true;
}

static struct slice uri_member(struct slice uri, struct arena *a) {
    struct buf out;
    buf_init(&out, uri.len * 6 + 16);
    buf_put_str(&out, "\"uri\":");
    emit_quote(&out, uri);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

static bool delivered_elsewhere(const struct call *c, struct slice uri) {
    LIST_FOR (n, &c->session->calls) {
        const struct call *other = container_of(n, struct call, node);
        if (other == c || !other->listen || other->channel != c->channel)
            continue;
        for (size_t i = 0; i < other->listen->uri_count; i++)
            if (slice_eq(other->listen->uris[i], uri))
                return true;
    }
    return false;
}

static void put_filter(struct emit *e, uint32_t bits, const struct slice *uris, size_t uri_count) {
    emit_object(e);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (!(bits & lists[i].bit))
            continue;
        emit_key(e, lists[i].member);
        emit_bool(e, true);
    }
    if (uri_count) {
        emit_key(e, "resourceSubscriptions");
        emit_array(e);
        for (size_t i = 0; i < uri_count; i++)
            emit_str(e, uris[i]);
        emit_array_end(e);
    }
    emit_object_end(e);
}

static void acknowledge(struct call *c) {
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "jsonrpc");
    emit_cstr(&e, "2.0");
    emit_key(&e, "method");
    emit_cstr(&e, "notifications/subscriptions/acknowledged");
    emit_key(&e, "params");
    emit_object(&e);
    emit_key(&e, "notifications");
    put_filter(&e, c->listen->bits, c->listen->uris, c->listen->uri_count);
    emit_key(&e, "_meta");
    emit_object(&e);
    emit_key(&e, UP_META_SUBSCRIPTION);
    emit_raw(&e, c->id_raw);
    emit_object_end(&e);
    emit_object_end(&e);
    emit_object_end(&e);
    struct session_out message = {.text = answer_text(c, arena_dup(&c->arena, buf_slice(&out)))};
    buf_free(&out);
    c->sink->ops->event(c->sink, &message);
}

static void subscribe_all(struct call *c) {
    struct call_listen *l = c->listen;
    for (size_t i = 0; i < l->uri_count; i++) {
        struct note *n = delivered_elsewhere(c, l->uris[i]) ? NULL
                                                            : send_note(c->channel, "resources/subscribe",
                                                                        uri_member(l->uris[i], &c->arena));
        if (!n)
            continue;
        n->listen = l;
        n->uri = l->uris[i];
        l->pending++;
    }
}

enum call_next listen_start(struct call *c) {
    struct call_listen *l = c->listen;
    if (l && l->open)
        return CALL_WAIT;
    if (!l) {
        l = arena_new(&c->arena, struct call_listen);
        if (!read_filter(c, l)) {
            answer_error(c, RPC_INVALID_PARAMS, 400, "params.notifications must be a filter");
            return CALL_FAIL;
        }
        c->listen = l;
        subscribe_all(c);
    }
    if (l->failed) {
        answer_error(c, RPC_INTERNAL, 502, "the server cannot be asked for notifications of changes");
        return CALL_FAIL;
    }
    /* The subscription is acknowledged only after the server has agreed. Whether the server's own stream is
     * open cannot be known: some servers send nothing on it before the first event. */
    if (l->pending) {
        channel_wait(c->channel, c);
        return CALL_WAIT;
    }
    l->open = true;
    call_set_sent(c, true);
    acknowledge(c);
    return CALL_WAIT; /* until it is cancelled, or the link is down */
}

static void notes_forget(const struct channel *ch, const struct call_listen *l) {
    LIST_FOR (n, &ch->notes) {
        struct note *note = container_of(n, struct note, node);
        if (note->listen == l)
            note->listen = NULL;
    }
}

void listen_leave(struct call *c) {
    struct call_listen *l = c->listen;
    if (!l)
        return;
    c->listen = NULL;
    struct channel *ch = c->channel;
    if (ch)
        notes_forget(ch, l);
    for (size_t i = 0; ch && ch->link && !c->session->closed && i < l->uri_count; i++)
        if (!delivered_elsewhere(c, l->uris[i]))
            send_note(ch, "resources/unsubscribe", uri_member(l->uris[i], &c->arena));
}

static bool wants(const struct call_listen *l, struct slice method, struct slice uri) {
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (slice_is(method, lists[i].method))
            return l->bits & lists[i].bit;
    /* A subscription to a resource also covers its sub-resources. */
    for (size_t i = 0; i < l->uri_count; i++)
        if (slice_starts(uri, l->uris[i]))
            return true;
    return false;
}

/* The resource under the name that the client uses. */
static bool show_uri(const struct channel *ch, struct splice *text, const struct msg *m, struct arena *a) {
    uint32_t node = rpc_param(&m->tape, &m->rpc, "uri");
    if (!node || !tape_is(&m->tape, node, TAPE_STRING) || !visible_renames(ch->session))
        return true;
    struct slice shown = names_show_uri(a, server_prefix(ch->server), tape_text(&m->tape, node, a));
    return splice_value(text, &m->tape, node, answer_quoted(a, shown));
}

void listen_deliver(struct channel *ch, struct msg *m, struct slice method, struct arena *a) {
    static const char *const drop[] = {"_meta", NULL};
    struct slice uri = rpc_param_text(&m->tape, &m->rpc, "uri", a);
    LIST_FOR_SAFE (n, next, &ch->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (!c->listen || !c->listen->open || c->channel != ch || !c->sink || !wants(c->listen, method, uri))
            continue;
        struct slice meta =
            arena_printf(a, "\"_meta\":{\"" UP_META_SUBSCRIPTION "\":%.*s}", SLICE_FMT(c->id_raw));
        struct splice text;
        splice_init(&text, m->bytes, a);
        bool good = m->rpc.params ? splice_edit_members(&text, &m->tape, m->rpc.params, drop, meta)
                                  : splice_add_member(&text, &m->tape, 0, SLICE("params"),
                                                      arena_printf(a, "{%.*s}", SLICE_FMT(meta)));
        struct session_out out = {.text = &text, .msg = m};
        if (good && show_uri(ch, &text, m, a))
            deliver_message(ch, c, &out);
    }
}

/* ---- a legacy client listens to a modern server ---- */

struct listen_stream {
    struct own_request own;
    struct link_req req;
    struct channel *ch;
    struct listen_stream *previous; /* it is closed when the new stream has begun */
    bool acknowledged;
};

static void listen_end(struct listen_stream *l, bool notify) {
    if (!l)
        return;
    struct channel *ch = l->ch;
    listen_end(l->previous, notify); /* at most one */
    if (notify && ch->link && l->req.id && !ch->link->is_http)
        channel_cancel(ch, l->req.id, SLICE("no client is subscribed any more"));
    link_end(&l->req);
    free(l);
}

static void on_again(struct io_timer *timer) {
    listen_refresh(container_of(timer, struct channel, listen_timer));
}

static void listen_over(struct listen_stream *l, bool again) {
    struct channel *ch = l->ch;
    if (ch->listen == l)
        ch->listen = NULL;
    listen_end(l, false);
    if (again)
        io_timer_arm(ch->session->core->up.loop, &ch->listen_timer, LISTEN_MS, on_again);
    channel_wake(ch);
}

static void on_listen_answer(struct own_request *own, struct msg *m) {
    listen_over(container_of(own, struct listen_stream, own), m->rpc.kind == RPC_RESULT);
}

static void on_listen_failed(struct own_request *own, const char *why) {
    (void)why;
    struct listen_stream *l = container_of(own, struct listen_stream, own);
    listen_over(l, l->ch->link && l->ch->link->is_up);
}

static void on_listen_message(struct own_request *own, struct msg *m) {
    static const char *const drop[] = {"_meta", NULL};
    struct listen_stream *l = container_of(own, struct listen_stream, own);
    struct channel *ch = l->ch;
    if (m->rpc.kind != RPC_NOTIFICATION)
        return;
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/subscriptions/acknowledged"))) {
        l->acknowledged = true;
        listen_end(steal(l->previous), true);
        channel_wake(ch);
        return;
    }
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/cancelled"))) {
        listen_over(l, true);
        return;
    }
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/tools/list_changed")))
        server_forget_tools(ch->server);
    struct arena a;
    struct splice text;
    arena_init(&a);
    splice_init(&text, m->bytes, &a);
    struct session_out out = {.text = &text, .msg = m};
    if (reverse_may_deliver(ch, tape_text(&m->tape, m->rpc.method, &a), m, &a) &&
        (!m->rpc.params || splice_edit_members(&text, &m->tape, m->rpc.params, drop, (struct slice){0})) &&
        show_uri(ch, &text, m, &a))
        deliver_message(ch, NULL, &out);
    arena_free(&a);
}

static struct slice wanted_text(struct channel *ch, struct arena *a) {
    struct slice uris[CHANNEL_URIS_MAX];
    size_t count = 0, at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&ch->subscribed, &at)) && count < CHANNEL_URIS_MAX)
        uris[count++] = entry->key;
    uint32_t bits = ch->session->listening ? ch->server_bits & ~(uint32_t)TRANSLATE_SUBSCRIBE : 0;
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    put_filter(&e, bits, uris, count);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

void listen_refresh(struct channel *ch) {
    struct session *s = ch->session;
    if (ch->state != CHANNEL_READY || ch->era != ERA_MODERN || !s->init_done || s->stateless)
        return;
    struct arena a;
    arena_init(&a);
    struct slice filter = wanted_text(ch, &a);
    struct listen_stream *old = ch->listen;
    if (slice_is(filter, "{}")) {
        ch->listen = NULL;
        listen_end(old, true);
        arena_free(&a);
        return;
    }
    struct listen_stream *l = mem_zalloc(sizeof(*l));
    l->own = (struct own_request){OWN_REQUEST_MAGIC, on_listen_answer, on_listen_failed, on_listen_message};
    l->ch = ch;
    if (!link_begin(ch->link, &l->req, &l->own)) {
        free(l);
        arena_free(&a);
        return;
    }
    if (old && !old->acknowledged) {
        l->previous = steal(old->previous);
        listen_end(old, true);
    } else {
        l->previous = old;
    }
    ch->listen = l;
    struct slice members = arena_printf(&a, "\"notifications\":%.*s", SLICE_FMT(filter));
    channel_send(ch, channel_own_text(ch, l->req.id, "subscriptions/listen", members, &a),
                 SLICE("subscriptions/listen"), &l->req);
    arena_free(&a);
}

/* A subscription gets its last answer. */
static void finish(struct call *c) {
    struct slice text =
        arena_printf(&c->arena,
                     "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                     "\"io.modelcontextprotocol/subscriptionId\":%.*s}}}",
                     SLICE_FMT(c->id_raw), SLICE_FMT(c->id_raw));
    call_stop(c, "shutting down", answer_text(c, text));
}

void listen_link_over(struct channel *ch) {
    io_timer_stop(ch->session->core->up.loop, &ch->listen_timer);
    listen_end(steal(ch->listen), false);
    while (!list_empty(&ch->notes)) {
        struct note *n = container_of(list_pop(&ch->notes), struct note, node);
        link_end(&n->req);
        free(n);
    }
    ch->level_pending = false;
    LIST_FOR_SAFE (n, next, &ch->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->listen && c->channel == ch && c->sink)
            finish(c);
    }
}

enum call_next listen_subscribe(struct call *c, bool on) {
    const struct msg *m = c->request;
    struct channel *ch = c->channel;
    uint32_t node = rpc_param(&m->tape, &m->rpc, "uri");
    if (!node || !tape_is(&m->tape, node, TAPE_STRING)) {
        answer_error(c, RPC_INVALID_PARAMS, 0, "params.uri must be a string");
        return CALL_FAIL;
    }
    struct slice uri = tape_text(&m->tape, node, &c->arena);
    if (!on) {
        char *key = map_remove(&ch->subscribed, uri);
        if (key)
            listen_refresh(ch);
        free(key);
        return CALL_NEXT;
    }
    if (!map_get(&ch->subscribed, uri)) {
        if (c->subscribing || ch->subscribed.count >= CHANNEL_URIS_MAX) {
            answer_error(c, RPC_INTERNAL, 0, "the subscription could not be made");
            return CALL_FAIL;
        }
        c->subscribing = true;
        char *key = mem_dup(uri.ptr, uri.len);
        map_put(&ch->subscribed, slice_of(key, uri.len), key);
        listen_refresh(ch);
    }
    if (ch->listen && !ch->listen->acknowledged) {
        channel_wait(ch, c);
        return CALL_WAIT;
    }
    if (ch->listen)
        return CALL_NEXT;
    answer_error(c, RPC_INTERNAL, 0, "the server sends no notifications of changes");
    return CALL_FAIL;
}

/* ---- what the client has requested from a legacy server ---- */

void listen_keep_level(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->request;
    struct slice text = rpc_param_text(&m->tape, &m->rpc, "level", &c->arena);
    if (translate_log_rank(text) >= 0)
        client_set_level(s, text);
}

void listen_keep_subscription(struct call *c, bool on) {
    struct map *uris = &c->channel->subscribed;
    if (c->cross_era || c->session->stateless)
        return; /* listen.c handles these */
    if (!on) {
        free(map_remove(uris, c->name));
    } else if (!map_get(uris, c->name) && uris->count < CHANNEL_URIS_MAX) {
        char *key = mem_dup(c->name.ptr, c->name.len);
        map_put(uris, slice_of(key, c->name.len), key);
    }
}

/* ---- the end ---- */

static struct call *find_listen(struct session *s) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && c->sink && !c->inner)
            return c;
    }
    return NULL;
}

void listen_finish_all(struct core *core) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        struct call *c;
        while ((c = find_listen(s))) /* ending one may end others, its subcalls */
            finish(c);
    }
}
