#include "session/listen.h"

#include "base/log.h"
#include "base/mem.h"
#include "session/answer.h"
#include "session/bridge.h"
#include "session/server.h"
#include "session/tools.h"
#include "session/translate.h"
#include "wire/emit.h"

/* ---- requests of the gate's own whose answers matter little ---- */

struct note {
    struct session_own own;
    struct link_req req;
    struct list node;
    struct session_link *sl;
    bool level;                 /* it sets the log level */
    struct call_listen *listen; /* that waits for it, or NULL */
    struct slice uri;           /* which it is about */
};

struct call_listen {
    uint32_t bits;
    size_t uri_count;
    struct slice *uris;
    size_t pending; /* subscriptions that the server has not answered yet */
    bool failed;    /* it cannot any more */
    bool open;      /* the client knows what it will hear */
};

static void note_over(struct note *n) {
    struct session_link *sl = n->sl;
    list_remove(&n->node);
    link_end(&n->req);
    sl->level_pending &= !n->level;
    if (n->listen)
        n->listen->pending--;
    free(n);
    session_wake(sl);
}

static void forget_uri(struct call_listen *l, struct slice uri) {
    size_t kept = 0;
    for (size_t i = 0; i < l->uri_count; i++)
        if (!slice_eq(l->uris[i], uri))
            l->uris[kept++] = l->uris[i];
    l->uri_count = kept;
}

static void note_answer(struct session_own *own, struct msg *m) {
    struct note *n = container_of(own, struct note, own);
    if (n->listen && m->rpc.kind == RPC_ERROR)
        forget_uri(n->listen, n->uri);
    note_over(n);
}

static void note_failed(struct session_own *own, const char *why) {
    (void)why;
    struct note *n = container_of(own, struct note, own);
    if (n->listen)
        n->listen->failed = true;
    note_over(n);
}

static struct note *send_note(struct session_link *sl, const char *method, struct slice members) {
    struct arena a;
    struct note *n = mem_zalloc(sizeof(*n));
    n->own = (struct session_own){SESSION_OWN_MAGIC, note_answer, note_failed, NULL};
    n->sl = sl;
    if (sl->state != SESSION_LINK_READY || !link_begin(sl->link, &n->req, &n->own)) {
        free(n);
        return NULL;
    }
    list_push(&sl->notes, &n->node);
    arena_init(&a);
    session_send_own(sl, bridge_own_text(sl, n->req.id, method, members, &a), slice_str(method), &n->req);
    arena_free(&a);
    return n;
}

enum call_next listen_log_level(struct call *c) {
    const struct msg *m = c->request;
    struct session_link *sl = c->link;
    uint32_t node = m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", UP_META_LOG, NULL) : 0;
    struct slice level = node && tape_is(&m->tape, node, TAPE_STRING) ? tape_text(&m->tape, node, &c->arena)
                                                                      : (struct slice){0};
    c->log_rank = translate_log_rank(level);
    if (c->log_rank < 0 || !(sl->server_bits & TRANSLATE_LOGGING))
        return CALL_NEXT;
    /* The server speaks as much as the most curious wants to hear; the others get less of it. */
    if (sl->log_rank < 0 || c->log_rank < sl->log_rank) {
        struct slice members = arena_printf(&c->arena, "\"level\":\"%.*s\"", SLICE_FMT(level));
        sl->log_rank = c->log_rank;
        struct note *n = send_note(sl, "logging/setLevel", members);
        sl->level_pending = n != NULL;
        if (n)
            n->level = true;
    }
    if (!sl->level_pending)
        return CALL_NEXT;
    session_wait(sl, c);
    return CALL_WAIT;
}

/* ---- a client of the newer era listens ---- */

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
            l->bits |= lists[i].bit & c->link->server_bits;
    }
    uint32_t uris = tape_get_str(t, filter, "resourceSubscriptions");
    if (!uris || !tape_is(t, uris, TAPE_ARRAY) || !(c->link->server_bits & TRANSLATE_SUBSCRIBE))
        return !uris || tape_is(t, uris, TAPE_ARRAY);
    if (tape_node(t, uris)->count > SESSION_URIS_MAX)
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

static bool heard_elsewhere(const struct call *c, struct slice uri) {
    LIST_FOR (n, &c->session->calls) {
        const struct call *other = container_of(n, struct call, node);
        if (other == c || !other->listen || other->link != c->link)
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
    struct session_out message = {.text = call_text(c, arena_dup(&c->arena, buf_slice(&out)))};
    buf_free(&out);
    c->sink->ops->event(c->sink, &message);
}

static void subscribe_all(struct call *c) {
    struct call_listen *l = c->listen;
    for (size_t i = 0; i < l->uri_count; i++) {
        struct note *n = heard_elsewhere(c, l->uris[i])
                             ? NULL
                             : send_note(c->link, "resources/subscribe", uri_member(l->uris[i], &c->arena));
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
            call_set_error(c, RPC_INVALID_PARAMS, 400, "params.notifications must be a filter");
            return CALL_FAIL;
        }
        c->listen = l;
        subscribe_all(c);
    }
    if (l->failed) {
        call_set_error(c, RPC_INTERNAL, 502, "the server cannot be asked to tell of changes");
        return CALL_FAIL;
    }
    /* Nothing is promised before the server has agreed. Its stream was asked for when the link began; whether
     * that is there cannot be told, because some servers say nothing on it before they have something to say.
     */
    if (l->pending) {
        session_wait(c->link, c);
        return CALL_WAIT;
    }
    l->open = true;
    c->sent = true;
    acknowledge(c);
    return CALL_WAIT; /* until it is cancelled, or the link is over */
}

static void notes_forget(const struct session_link *sl, const struct call_listen *l) {
    LIST_FOR (n, &sl->notes) {
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
    struct session_link *sl = c->link;
    if (sl)
        notes_forget(sl, l);
    for (size_t i = 0; sl && sl->link && !c->session->closed && i < l->uri_count; i++)
        if (!heard_elsewhere(c, l->uris[i]))
            send_note(sl, "resources/unsubscribe", uri_member(l->uris[i], &c->arena));
}

static bool wants(const struct call_listen *l, struct slice method, struct slice uri) {
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (slice_is(method, lists[i].method))
            return l->bits & lists[i].bit;
    /* What changed may be a part of what was subscribed to. */
    for (size_t i = 0; i < l->uri_count; i++)
        if (slice_starts(uri, l->uris[i]))
            return true;
    return false;
}

void listen_deliver(struct session_link *sl, struct msg *m, struct slice method, struct arena *a) {
    static const char *const drop[] = {"_meta", NULL};
    uint32_t node = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "uri") : 0;
    struct slice uri =
        node && tape_is(&m->tape, node, TAPE_STRING) ? tape_text(&m->tape, node, a) : (struct slice){0};
    LIST_FOR_SAFE (n, next, &sl->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (!c->listen || !c->listen->open || c->link != sl || !c->sink || !wants(c->listen, method, uri))
            continue;
        struct slice meta =
            arena_printf(a, "\"_meta\":{\"" UP_META_SUBSCRIPTION "\":%.*s}", SLICE_FMT(c->id_raw));
        struct splice text;
        splice_init(&text, m->bytes, a);
        bool good = m->rpc.params ? splice_edit_members(&text, &m->tape, m->rpc.params, drop, meta)
                                  : splice_add_member(&text, &m->tape, 0, SLICE("params"),
                                                      arena_printf(a, "{%.*s}", SLICE_FMT(meta)));
        struct session_out out = {.text = &text, .msg = m};
        if (good)
            session_deliver(sl, c, &out);
    }
}

/* ---- a client of the older era listens to a server of the newer one ---- */

struct session_listen {
    struct session_own own;
    struct link_req req;
    struct session_link *sl;
    struct session_listen *previous; /* ends when this one has begun */
    bool acknowledged;
};

static void listen_end(struct session_listen *l, bool tell) {
    if (!l)
        return;
    struct session_link *sl = l->sl;
    listen_end(l->previous, tell); /* never more than one */
    if (tell && sl->link && l->req.id && !sl->link->relates)
        session_cancel_own(sl, l->req.id, SLICE("nobody listens any more"));
    link_end(&l->req);
    free(l);
}

static void on_again(struct io_timer *timer) {
    listen_refresh(container_of(timer, struct session_link, listen_timer));
}

static void listen_over(struct session_listen *l, bool again) {
    struct session_link *sl = l->sl;
    if (sl->listen == l)
        sl->listen = NULL;
    listen_end(l, false);
    if (again)
        io_timer_arm(sl->session->core->up.loop, &sl->listen_timer, SESSION_LISTEN_MS, on_again);
    session_wake(sl);
}

static void on_listen_answer(struct session_own *own, struct msg *m) {
    listen_over(container_of(own, struct session_listen, own), m->rpc.kind == RPC_RESULT);
}

static void on_listen_failed(struct session_own *own, const char *why) {
    (void)why;
    struct session_listen *l = container_of(own, struct session_listen, own);
    listen_over(l, l->sl->link && l->sl->link->is_up);
}

static void on_listen_message(struct session_own *own, struct msg *m) {
    static const char *const drop[] = {"_meta", NULL};
    struct session_listen *l = container_of(own, struct session_listen, own);
    struct session_link *sl = l->sl;
    if (m->rpc.kind != RPC_NOTIFICATION)
        return;
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/subscriptions/acknowledged"))) {
        l->acknowledged = true;
        listen_end(steal(l->previous), true);
        session_wake(sl);
        return;
    }
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/cancelled"))) {
        listen_over(l, true);
        return;
    }
    if (tape_eq(&m->tape, m->rpc.method, SLICE("notifications/tools/list_changed")))
        tools_forget(sl->server);
    struct arena a;
    struct splice text;
    arena_init(&a);
    splice_init(&text, m->bytes, &a);
    struct session_out out = {.text = &text, .msg = m};
    if (session_may_hear(sl, tape_text(&m->tape, m->rpc.method, &a), m, &a) &&
        (!m->rpc.params || splice_edit_members(&text, &m->tape, m->rpc.params, drop, (struct slice){0})))
        session_deliver(sl, NULL, &out);
    arena_free(&a);
}

static struct slice wanted_text(struct session_link *sl, struct arena *a) {
    struct slice uris[SESSION_URIS_MAX];
    size_t count = 0, at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&sl->subscribed, &at)) && count < SESSION_URIS_MAX)
        uris[count++] = entry->key;
    uint32_t bits = sl->session->listening ? sl->server_bits & ~(uint32_t)TRANSLATE_SUBSCRIBE : 0;
    struct buf out;
    struct emit e;
    buf_init(&out, MSG_BYTES_MAX);
    emit_init(&e, &out);
    put_filter(&e, bits, uris, count);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

void listen_refresh(struct session_link *sl) {
    struct session *s = sl->session;
    if (sl->state != SESSION_LINK_READY || sl->era != SESSION_ERA_MODERN || !s->init_done || s->stateless)
        return;
    struct arena a;
    arena_init(&a);
    struct slice filter = wanted_text(sl, &a);
    struct session_listen *old = sl->listen;
    if (slice_is(filter, "{}")) {
        sl->listen = NULL;
        listen_end(old, true);
        arena_free(&a);
        return;
    }
    struct session_listen *l = mem_zalloc(sizeof(*l));
    l->own = (struct session_own){SESSION_OWN_MAGIC, on_listen_answer, on_listen_failed, on_listen_message};
    l->sl = sl;
    if (!link_begin(sl->link, &l->req, &l->own)) {
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
    sl->listen = l;
    struct slice members = arena_printf(&a, "\"notifications\":%.*s", SLICE_FMT(filter));
    session_send_own(sl, bridge_own_text(sl, l->req.id, "subscriptions/listen", members, &a),
                     SLICE("subscriptions/listen"), &l->req);
    arena_free(&a);
}

void listen_link_over(struct session_link *sl) {
    io_timer_stop(sl->session->core->up.loop, &sl->listen_timer);
    listen_end(steal(sl->listen), false);
    while (!list_empty(&sl->notes)) {
        struct note *n = container_of(list_pop(&sl->notes), struct note, node);
        link_end(&n->req);
        free(n);
    }
    sl->level_pending = false;
    LIST_FOR_SAFE (n, next, &sl->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->listen && c->link == sl && c->sink)
            call_end_listen(c);
    }
}

enum call_next listen_subscribe(struct call *c, bool on) {
    const struct msg *m = c->request;
    struct session_link *sl = c->link;
    uint32_t node = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "uri") : 0;
    if (!node || !tape_is(&m->tape, node, TAPE_STRING)) {
        call_set_error(c, RPC_INVALID_PARAMS, 0, "params.uri must be a string");
        return CALL_FAIL;
    }
    struct slice uri = tape_text(&m->tape, node, &c->arena);
    if (!on) {
        char *key = map_remove(&sl->subscribed, uri);
        if (key)
            listen_refresh(sl);
        free(key);
        return CALL_NEXT;
    }
    if (!map_get(&sl->subscribed, uri)) {
        if (c->subscribing || sl->subscribed.count >= SESSION_URIS_MAX) {
            call_set_error(c, RPC_INTERNAL, 0, "the subscription could not be made");
            return CALL_FAIL;
        }
        c->subscribing = true;
        char *key = mem_dup(uri.ptr, uri.len);
        map_put(&sl->subscribed, slice_of(key, uri.len), key);
        listen_refresh(sl);
    }
    if (sl->listen && !sl->listen->acknowledged) {
        session_wait(sl, c);
        return CALL_WAIT;
    }
    if (sl->listen)
        return CALL_NEXT;
    call_set_error(c, RPC_INTERNAL, 0, "the server does not tell of changes");
    return CALL_FAIL;
}
