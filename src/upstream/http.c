/* Streamable HTTP, as a client of servers of both eras.
 *
 * Every message is a POST of its own on a connection of its own. A post lives until its request is answered:
 *
 *   SENT ──JSON──────────────────────────────▶ answer
 *    ├──events──────────────────────────────▶ answer, the rest of the stream is drained
 *    │     └─ ends early ─▶ RESTING ─▶ RESUMING (GET, Last-Event-ID) ─▶ events as above
 *    ├──202 ──▶ ACCEPTED: the answer comes on the standing stream
 *    ├──session unknown ──▶ PARKED until the other requests have failed the same way, then down
 *    └──no such endpoint ─▶ PROBING for the older transport ─▶ down, to be opened as that
 *
 * Besides there is at most one standing stream (GET) for messages that a server sends on its own. */
#include "base/check.h"
#include "base/mem.h"
#include "base/text.h"
#include "upstream/bearer.h"
#include "upstream/exchange.h"
#include "upstream/head.h"
#include "upstream/link.h"
#include "upstream/reply.h"
#include "upstream/secret.h"

#include <stdio.h>

#define MODERN_VERSION "2026-07-28"

struct standing {
    struct exchange x;
    struct up_mark mark;
    struct io_timer timer; /* delay before it is opened again, or time-out of the server's response */
    bool wanted;
    bool opening; /* for the first time: requests wait, see http_busy() */
};

struct http_link {
    struct link base;
    uv_idle_t soon; /* reports `up` or `drained` in the loop's next turn; closing it frees the link */
    struct list posts;
    struct list parked; /* posts that will fail as safe to repeat */
    struct standing standing;
    struct up_wait opening;  /* for secrets */
    struct up_wait renewing; /* the same, after the server refused them */
    struct io_timer lost_timer;
    bool lost;           /* the server has forgotten the session */
    struct text session; /* its id there; empty: none */
};

enum post_phase { POST_SENT, POST_ACCEPTED, POST_RESTING, POST_RESUMING, POST_PROBING, POST_PARKED };

struct post {
    struct exchange x;
    struct http_link *link;
    struct list node;
    uint64_t req_id; /* 0 when no response is awaited, or no longer */
    enum post_phase phase;
    bool opens;
    bool modern;
    bool effects;      /* a repetition could have side effects */
    bool with_session; /* it named the session */
    bool renewing;     /* parked until there are other secrets */
    bool moved;        /* the answer is a redirect that the server's next requests follow */
    uint64_t secret_epoch;
    bool held; /* a callback is under way, after which this post is checked */
    bool dead; /* to be freed after that */
    struct up_mark mark;
    struct io_timer timer;
    char *where; /* of a redirect */
    char *why;   /* while probing: the error to report if the probe fails */
    int why_status;
};

static const struct exchange_ops post_ops;
static const struct exchange_ops standing_ops;

static struct http_link *http_of(struct link *l) { return container_of(l, struct http_link, base); }
static struct post *post_of(struct exchange *x) { return container_of(x, struct post, x); }
static struct io_loop *http_loop(const struct http_link *h) { return h->base.server->core->loop; }

struct link *link_http_new(void) {
    struct http_link *h = mem_zalloc(sizeof(*h));
    h->base.ops = &link_http_ops;
    h->base.is_http = true;
    list_init(&h->posts);
    list_init(&h->parked);
    return &h->base;
}

/* ---- requests ---- */

static struct slice post_fixed(struct up_server *s) {
    if (!s->post_head.len) {
        buf_init(&s->post_head, UP_FIXED_HEAD_MAX);
        up_head_start(&s->post_head, s, "POST", s->at.target);
        buf_put_str(&s->post_head,
                    "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n");
    }
    return s->post_head.full ? (struct slice){0} : buf_slice(&s->post_head);
}

static void put_session(struct buf *out, const struct http_link *h) {
    if (h->base.version[0])
        up_head_line(out, "MCP-Protocol-Version", slice_str(h->base.version));
    if (h->session.len)
        up_head_line(out, "Mcp-Session-Id", text_slice(h->session));
}

/* The lines that mirror the body; the server compares them with it. */
static bool put_mirror(struct buf *out, const struct http_link *h, const struct link_out *o) {
    /* A version that initialize negotiated is a legacy one. */
    const char *version = strcmp(h->base.version, MODERN_VERSION) > 0 ? h->base.version : MODERN_VERSION;
    if (!up_head_line(out, "MCP-Protocol-Version", slice_str(version)))
        return false;
    if (o->method.len && !up_head_line(out, "Mcp-Method", o->method))
        return false;
    if (!o->name.len)
        return true;
    buf_put_str(out, "Mcp-Name: ");
    return up_head_value(out, o->name) && buf_put_str(out, "\r\n");
}

static bool post_head_own(struct buf *out, const struct http_link *h, const struct link_out *o) {
    if (o->modern && !put_mirror(out, h, o))
        return false;
    if (!o->modern && !o->opens)
        put_session(out, h);
    if (o->extra_headers.len && !up_head_lines_ok(o->extra_headers))
        return false;
    buf_put_slice(out, o->extra_headers);
    return up_head_end(out, h->base.server, o->text);
}

static bool http_send(struct link *l, const struct link_out *o, struct link_req *req) {
    struct http_link *h = http_of(l);
    struct up_server *s = l->server;
    struct buf *own = up_head_scratch(s);
    struct slice fixed = post_fixed(s);
    if (!fixed.len || !post_head_own(own, h, o) || own->full || s->conn_waiting >= UP_WAITERS_MAX)
        return false;
    if (h->lost && !req)
        return false;
    struct post *p = mem_alloc(sizeof(*p));
    *p = (struct post){
        .link = h,
        .opens = o->opens,
        .modern = o->modern,
        .secret_epoch = s->secret_epoch,
        .effects = !up_head_only_asks(o->method),
        .with_session = !o->modern && !o->opens && h->session.len,
    };
    if (req) {
        p->req_id = req->id;
        req->exchange = p;
    }
    if (h->lost) {
        p->phase = POST_PARKED;
        list_push(&h->parked, &p->node);
        return true;
    }
    list_push(&h->posts, &p->node);
    struct exchange_request r = {
        .method = HTTP_POST,
        .fixed = fixed,
        .own = buf_slice(own),
        .body = o->text,
        .block = o->block,
        .limit_ms = UP_HEAD_MS,
    };
    up_exchange_start(&p->x, s, &post_ops, &r);
    return true;
}

static void start_get(struct http_link *h, struct exchange *x, const struct exchange_ops *ops,
                      const char *last_id) {
    struct up_server *s = h->base.server;
    struct buf *own = up_head_scratch(s);
    up_head_start(own, s, "GET", s->at.target);
    buf_put_str(own, "Accept: text/event-stream\r\n");
    put_session(own, h);
    if (last_id)
        up_head_line(own, "Last-Event-ID", slice_str(last_id));
    up_head_end(own, s, NULL);
    struct exchange_request r = {.method = HTTP_GET, .own = buf_slice(own), .limit_ms = UP_HEAD_MS};
    up_exchange_start(x, s, ops, &r);
}

static void post_free(struct post *p) {
    up_exchange_drop(&p->x);
    io_timer_stop(http_loop(p->link), &p->timer);
    list_remove(&p->node);
    up_mark_free(&p->mark);
    free(p->where);
    free(p->why);
    p->dead = true;
    if (!p->held)
        free(p);
}

static void posts_free(struct list *posts) {
    while (!list_empty(posts))
        post_free(container_of(posts->next, struct post, node));
}

static void fail(struct http_link *h, uint64_t id, int status, const char *why, bool retry) {
    struct link_req *req = link_find(&h->base, id);
    if (!req)
        return;
    req->status = status;
    link_fail_req(req, why, retry);
}

/* ---- the end of a link that its server no longer knows ---- */

static void standing_stop(struct http_link *h) {
    struct standing *st = &h->standing;
    st->wanted = st->opening = false;
    up_exchange_drop(&st->x);
    io_timer_stop(http_loop(h), &st->timer);
    up_mark_free(&st->mark);
}

/* Fails what is parked as safe to repeat and the rest as not, then reports the link down. */
static void link_over(struct http_link *h, const char *why) {
    struct link *l = &h->base;
    io_timer_stop(http_loop(h), &h->lost_timer);
    standing_stop(h);
    l->is_up = false;
    while (!l->closed && !list_empty(&h->parked)) {
        struct post *p = container_of(h->parked.next, struct post, node);
        uint64_t id = p->req_id;
        int status = p->why ? p->why_status : p->x.status;
        post_free(p);
        fail(h, id, status, why, true);
    }
    link_fail_all(l, why);
    if (l->closed)
        return;
    posts_free(&h->posts);
    l->events->down(l->owner, why, LINK_LOST);
}

static void lost_over(struct http_link *h) {
    char why[UP_WHY_MAX];
    snprintf(why, sizeof(why), "server `%s` no longer knows the session", h->base.server->name);
    link_over(h, why);
}

static void on_lost_timer(struct io_timer *timer) {
    lost_over(container_of(timer, struct http_link, lost_timer));
}

/* Requests that are still under way in a lost session are about to fail the same way, and can then be
 * repeated; so the link ends with the last of them, or after a time-out. */
static void lost_settle(struct http_link *h) {
    if (!h->lost || h->base.closed || !h->base.is_up)
        return;
    LIST_FOR (n, &h->posts)
        if (container_of(n, struct post, node)->req_id)
            return;
    lost_over(h);
}

static void session_lost(struct http_link *h) {
    if (!h->lost)
        io_timer_arm(http_loop(h), &h->lost_timer, UP_LOST_MS, on_lost_timer);
    h->lost = true;
    text_free(&h->session);
    standing_stop(h);
    lost_settle(h);
}

static void post_park(struct post *p) {
    struct http_link *h = p->link;
    p->phase = POST_PARKED;
    list_remove(&p->node);
    list_push(&h->parked, &p->node);
}

/* ---- secrets that the server refused ---- */

static void on_renewed(struct up_wait *w, const char *fault) {
    struct http_link *h = container_of(w, struct http_link, renewing);
    struct link *l = &h->base;
    char why[UP_WHY_MAX];
    if (fault)
        snprintf(why, sizeof(why), "%s", fault);
    else
        up_refusal_text(l->server, 401, NULL, (struct slice){0}, why);
    struct list due, *n;
    list_init(&due);
    LIST_FOR_SAFE (at, next, &h->parked) {
        if (!container_of(at, struct post, node)->renewing)
            continue;
        list_remove(at);
        list_push(&due, at);
    }
    while (!l->closed && (n = list_pop(&due))) {
        struct post *p = container_of(n, struct post, node);
        uint64_t id = p->req_id;
        post_free(p);
        fail(h, id, 401, why, !fault);
    }
    posts_free(&due);
}

/* A server that answers so has not executed the request. */
static void renew(struct post *p) {
    struct http_link *h = p->link;
    p->renewing = true;
    post_park(p);
    if (!list_linked(&h->renewing.node)) {
        h->renewing.done = on_renewed;
        up_secrets_wait(h->base.server, &h->renewing);
    }
}

/* ---- answers ---- */

static void post_fail(struct post *p, const char *why, bool retry) {
    struct http_link *h = p->link;
    uint64_t id = p->req_id;
    int status = p->x.status;
    post_free(p);
    fail(h, id, status, why, retry);
    lost_settle(h);
}

static void post_answer(struct post *p, struct block *b, struct slice body) {
    struct http_link *h = p->link;
    struct link *l = &h->base;
    uint64_t id = p->req_id;
    int status = p->x.status;
    struct link_req *req = link_find(l, id);
    if (req)
        req->exchange = NULL; /* the answer of another request in the body may end this one */
    post_free(p);
    link_received(l, b, body, req, status);
    if (link_find(l, id)) {
        char why[UP_WHY_MAX];
        snprintf(why, sizeof(why), "server `%s` sent something that is not the response to the request",
                 l->server->name);
        fail(h, id, status, why, false);
    }
    lost_settle(h);
}

static void probe_start(struct post *p, const char *why);

static bool says_session_lost(const struct post *p, const struct up_error *e) {
    if (!p->with_session)
        return false;
    if (p->x.status == 404)
        return !(e->is_error && e->id == p->req_id && p->req_id && e->code == RPC_METHOD_NOT_FOUND);
    /* Some servers use 400 for this. */
    return p->x.status == 400 && e->on_session;
}

/* Go's SDK refuses an unknown method in plain text. */
static bool says_unknown_method(int status, struct slice body) {
    body = slice_trim(body);
    return status == 400 && slice_starts(body, SLICE("JSON RPC not handled: \"")) &&
           slice_ends(body, SLICE("\" unsupported"));
}

static void post_unknown_method(struct post *p) {
    struct block *b = block_new(&http_loop(p->link)->blocks, BLOCK_SMALL);
    int len =
        snprintf(b->data, b->cap,
                 "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":%d,\"message\":\"Method not found\"}}",
                 (unsigned long long)p->req_id, RPC_METHOD_NOT_FOUND);
    p->x.status = 0; /* the code decides which status the client gets */
    post_answer(p, b, slice_of(b->data, (size_t)len));
    block_unref(b);
}

static void post_refused(struct post *p, struct block *b, struct slice body) {
    struct http_link *h = p->link;
    struct up_error e;
    char why[UP_WHY_MAX];
    int status = p->x.status;
    up_error_read(body, &e);
    up_refusal_text(h->base.server, status, p->where, body, why);
    bool lost = says_session_lost(p, &e);
    bool short_of_scope = status == 403 && h->base.server->challenge.insufficient;
    if (!p->req_id) {
        post_free(p);
        if (lost)
            session_lost(h);
        else
            h->base.events->noise(h->base.owner, why, (struct slice){0});
    } else if (p->moved) {
        post_fail(p, why, true); /* a redirect says that the request was not executed */
    } else if (lost) {
        post_park(p);
        session_lost(h);
    } else if (status == 401 && p->secret_epoch != h->base.server->secret_epoch) {
        post_fail(p, why, true); /* other credentials were fetched after it was sent */
    } else if ((status == 401 && up_secrets_renew(h->base.server)) ||
               (short_of_scope && up_secrets_replace(h->base.server))) {
        renew(p);
    } else if (status != 401 && !short_of_scope && e.is_error && (!e.id || e.id == p->req_id)) {
        post_answer(p, b, body);
    } else if (!p->opens && says_unknown_method(status, body)) {
        post_unknown_method(p);
    } else if (p->opens && p->phase == POST_SENT && (status == 400 || status == 404 || status == 405)) {
        probe_start(p, why);
    } else {
        post_fail(p, why, false);
    }
}

/* ---- resuming interrupted streams ---- */

static void on_resume(struct io_timer *timer) {
    struct post *p = container_of(timer, struct post, timer);
    p->phase = POST_RESUMING;
    start_get(p->link, &p->x, &post_ops, p->mark.last_id);
}

static void stream_ended(struct post *p) {
    struct http_link *h = p->link;
    struct link_req *req = link_find(&h->base, p->req_id);
    if (!p->mark.last_id || p->modern || p->mark.fruitless >= UP_RESUME_MAX) {
        char why[UP_WHY_MAX];
        snprintf(why, sizeof(why), "server `%s` ended the stream before it answered", h->base.server->name);
        post_fail(p, why, false);
        return;
    }
    p->mark.fruitless++;
    p->phase = POST_RESTING;
    io_timer_arm(http_loop(h), &p->timer, up_mark_delay_ms(&p->mark), on_resume);
    if (req)
        h->base.events->streaming(req->call, up_mark_retry_ms(&p->mark), true);
}

/* ---- an endpoint that does not support POST may use the older transport ---- */

static void probe_over(struct post *p) {
    struct http_link *h = p->link;
    uint64_t id = p->req_id;
    int status = p->why_status;
    cleanup_free char *why = steal(p->why);
    post_free(p);
    fail(h, id, status, why, false);
}

static void on_probe_timer(struct io_timer *timer) { probe_over(container_of(timer, struct post, timer)); }

static void probe_start(struct post *p, const char *why) {
    p->phase = POST_PROBING;
    p->why = mem_dup(why, strlen(why));
    p->why_status = p->x.status;
    start_get(p->link, &p->x, &post_ops, NULL);
    io_timer_arm(http_loop(p->link), &p->timer, UP_PROBE_MS, on_probe_timer);
}

static bool probe_event(struct post *p, const struct sse_event *e) {
    struct http_link *h = p->link;
    if (!slice_is(e->type, "endpoint"))
        return true;
    h->base.server->use_sse = true;
    up_exchange_drop(&p->x);
    post_park(p);
    char why[UP_WHY_MAX];
    snprintf(why, sizeof(why), "server `%s` supports only the HTTP+SSE transport", h->base.server->name);
    link_over(h, why);
    return false;
}

/* ---- callbacks of exchanges ---- */

/* Visible ASCII only, as the protocol requires. */
static bool session_note(struct http_link *h, const struct http_head *head) {
    struct slice id = http_value(head, HTTP_FIELD_MCP_SESSION_ID);
    if (id.len > UP_SESSION_ID_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++)
        if (id.ptr[i] < 0x21 || id.ptr[i] > 0x7e)
            return false;
    text_set(&h->session, id);
    return true;
}

static enum exchange_want post_head(struct exchange *x, const struct http_head *head) {
    struct post *p = post_of(x);
    struct slice type = http_value(head, HTTP_FIELD_TYPE), where = http_value_of(head, SLICE("location"));
    bool answers = head->status < 300 && head->status != 202 && head->body != HTTP_BODY_NONE;
    bool events = answers && http_media_is(type, SLICE("text/event-stream"));
    if (p->phase == POST_PROBING)
        return events ? EXCHANGE_EVENTS : EXCHANGE_SKIP;
    if (head->status >= 300) {
        up_challenge_note(p->link->base.server, head);
        x->body_max = UP_ERROR_BODY_MAX;
        p->moved = up_head_moved(p->link->base.server, head->status, where);
        if (where.len && !p->where)
            p->where = mem_dup(where.ptr, where.len);
        return EXCHANGE_BODY;
    }
    if (p->opens && p->phase == POST_SENT && !session_note(p->link, head)) {
        x->refusal = "its session id is too long or not of visible ASCII characters";
        return EXCHANGE_REFUSE;
    }
    if (!p->req_id)
        return EXCHANGE_SKIP;
    if (events)
        return EXCHANGE_EVENTS;
    if (p->phase == POST_RESUMING || !answers)
        return EXCHANGE_SKIP;
    if (http_media_is(type, SLICE("application/json")))
        return EXCHANGE_BODY;
    x->refusal = "it is neither JSON nor a stream of events";
    return EXCHANGE_REFUSE;
}

static bool post_event(struct exchange *x, struct block *b, const struct sse_event *e) {
    struct post *p = post_of(x);
    struct link *l = &p->link->base;
    up_mark_note(&p->mark, e);
    if (p->phase == POST_PROBING)
        return probe_event(p, e);
    struct link_req *req = link_find(l, p->req_id);
    p->held = true;
    if (req && !p->modern && (e->has_retry || (!e->data.len && e->has_id && p->mark.last_id)))
        l->events->streaming(req->call, up_mark_retry_ms(&p->mark), false);
    req = p->dead ? NULL : link_find(l, p->req_id);
    if (req && e->data.len && slice_is(e->type, "message"))
        link_received(l, b, e->data, req, x->status);
    p->held = false;
    if (p->dead) {
        free(p);
        return false;
    }
    if (!link_find(l, p->req_id)) {
        p->req_id = 0;
        up_exchange_drain(x);
    }
    return true;
}

/* Some servers of the legacy era answer only there. */
static bool is_standing(const struct http_link *h) {
    const struct standing *st = &h->standing;
    return st->wanted && st->x.in_body && st->x.want == EXCHANGE_EVENTS;
}

static void post_done(struct exchange *x, struct block *b, struct slice body) {
    struct post *p = post_of(x);
    struct http_link *h = p->link;
    if (p->phase == POST_PROBING) {
        probe_over(p);
    } else if (x->status >= 300) {
        post_refused(p, b, body);
    } else if (!p->req_id) {
        post_free(p);
        lost_settle(h);
    } else if (x->want == EXCHANGE_EVENTS || p->phase == POST_RESUMING) {
        stream_ended(p);
    } else if (x->want == EXCHANGE_BODY) {
        post_answer(p, b, body);
    } else if (x->status == 202 && is_standing(h)) {
        p->phase = POST_ACCEPTED;
    } else {
        char why[UP_WHY_MAX];
        snprintf(why, sizeof(why), "server `%s` accepted the request (HTTP %d) but sent no response",
                 h->base.server->name, x->status);
        post_fail(p, why, false);
    }
}

static void post_failed(struct exchange *x, const struct exchange_fault *fault) {
    struct post *p = post_of(x);
    struct link *l = &p->link->base;
    if (p->phase == POST_PROBING) {
        probe_over(p);
    } else if (!p->req_id) {
        bool drained = x->in_body;
        post_free(p);
        if (!drained)
            l->events->noise(l->owner, fault->why, (struct slice){0});
        lost_settle(http_of(l));
    } else if (p->phase == POST_RESUMING || (x->in_body && x->want == EXCHANGE_EVENTS)) {
        stream_ended(p);
    } else {
        /* Retried only where that has no effect twice: the request was not sent completely, or it has no
         * side effects and the server probably closed an idle connection. */
        post_fail(p, fault->why, fault->unsent || (fault->stale && !p->effects));
    }
}

static const struct exchange_ops post_ops = {
    .head = post_head, .event = post_event, .done = post_done, .failed = post_failed};

/* ---- the standing stream ---- */

static void standing_open(struct http_link *h) {
    start_get(h, &h->standing.x, &standing_ops, h->standing.mark.last_id);
}

static void on_standing_timer(struct io_timer *timer) {
    standing_open(container_of(timer, struct http_link, standing.timer));
}

static void on_settled(uv_idle_t *handle) {
    struct http_link *h = container_of(handle, struct http_link, soon);
    uv_idle_stop(handle);
    if (h->base.is_up)
        h->base.events->drained(h->base.owner);
}

/* The server has answered whether there is such a stream: requests may follow. */
static void standing_settle(struct http_link *h) {
    struct standing *st = &h->standing;
    if (!st->opening)
        return;
    st->opening = false;
    io_timer_stop(http_loop(h), &st->timer);
    uv_idle_start(&h->soon, on_settled);
}

static void on_standing_late(struct io_timer *timer) {
    struct http_link *h = container_of(timer, struct http_link, standing.timer);
    h->base.server->late_stream = true;
    standing_settle(h);
}

static void http_listen(struct link *l) {
    struct http_link *h = http_of(l);
    struct standing *st = &h->standing;
    if (st->wanted || h->lost || !l->is_up)
        return;
    st->wanted = true;
    st->opening = !l->server->late_stream;
    standing_open(h);
    if (st->opening)
        io_timer_arm(http_loop(h), &st->timer, UP_LISTEN_MS, on_standing_late);
}

static enum exchange_want standing_head(struct exchange *x, const struct http_head *head) {
    standing_settle(container_of(x, struct http_link, standing.x));
    bool events =
        head->status == 200 && http_media_is(http_value(head, HTTP_FIELD_TYPE), SLICE("text/event-stream"));
    return events ? EXCHANGE_EVENTS : EXCHANGE_SKIP;
}

static bool standing_event(struct exchange *x, struct block *b, const struct sse_event *e) {
    struct http_link *h = container_of(x, struct http_link, standing.x);
    up_mark_note(&h->standing.mark, e);
    if (e->data.len && slice_is(e->type, "message"))
        link_received(&h->base, b, e->data, NULL, x->status);
    return !h->base.closed && h->standing.wanted;
}

static struct post *accepted_post(struct http_link *h) {
    LIST_FOR (n, &h->posts) {
        struct post *p = container_of(n, struct post, node);
        if (p->phase == POST_ACCEPTED)
            return p;
    }
    return NULL;
}

/* There is no standing stream any more on which they could be answered. */
static void accepted_fail(struct http_link *h) {
    char why[UP_WHY_MAX];
    struct post *p;
    snprintf(why, sizeof(why), "server `%s` ended the stream before it answered", h->base.server->name);
    while (!h->base.closed && (p = accepted_post(h)))
        post_fail(p, why, false);
}

static void standing_again(struct http_link *h) {
    struct standing *st = &h->standing;
    int status = st->x.status;
    standing_settle(h);
    /* Most servers have none; a server with a temporary failure may have one later. */
    if (status && status < 500 && status != 429 && st->x.want != EXCHANGE_EVENTS) {
        standing_stop(h);
        accepted_fail(h);
        return;
    }
    st->mark.fruitless++;
    io_timer_arm(http_loop(h), &st->timer, up_mark_delay_ms(&st->mark), on_standing_timer);
}

static void standing_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b, (void)body;
    standing_again(container_of(x, struct http_link, standing.x));
}

static void standing_failed(struct exchange *x, const struct exchange_fault *fault) {
    (void)fault;
    standing_again(container_of(x, struct http_link, standing.x));
}

static const struct exchange_ops standing_ops = {
    .head = standing_head, .event = standing_event, .done = standing_done, .failed = standing_failed};

/* ---- a session that is no longer used is ended on the server, if that succeeds quickly ---- */

static enum exchange_want delete_head(struct exchange *x, const struct http_head *head) {
    (void)x, (void)head;
    return EXCHANGE_SKIP;
}

static void delete_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b, (void)body;
    free(x);
}

static void delete_failed(struct exchange *x, const struct exchange_fault *fault) {
    (void)fault;
    free(x);
}

static const struct exchange_ops delete_ops = {
    .head = delete_head, .done = delete_done, .failed = delete_failed};

static void delete_session(struct http_link *h) {
    struct up_server *s = h->base.server;
    struct exchange *x = mem_zalloc(sizeof(*x));
    struct buf *own = up_head_scratch(s);
    up_head_start(own, s, "DELETE", s->at.target);
    put_session(own, h);
    up_head_end(own, s, NULL);
    struct exchange_request r = {.method = HTTP_DELETE, .own = buf_slice(own), .limit_ms = UP_GOODBYE_MS};
    up_exchange_start(x, s, &delete_ops, &r);
}

/* ---- life ---- */

static void on_soon(uv_idle_t *handle) {
    struct http_link *h = container_of(handle, struct http_link, soon);
    uv_idle_stop(handle);
    h->base.is_up = true;
    h->base.events->up(h->base.owner);
}

static void on_secrets(struct up_wait *w, const char *fault) {
    struct http_link *h = container_of(w, struct http_link, opening);
    if (fault)
        h->base.events->down(h->base.owner, fault, LINK_FAILED);
    else
        on_soon(&h->soon);
}

static void http_start(struct link *l) {
    struct http_link *h = http_of(l);
    uv_idle_init(&http_loop(h)->uv, &h->soon);
    h->opening.done = on_secrets;
    if (up_secrets_ready(l->server))
        uv_idle_start(&h->soon, on_soon);
    else
        up_secrets_wait(l->server, &h->opening);
}

static void http_abandon(struct link *l, struct link_req *req) {
    (void)l;
    struct post *p = req->exchange;
    /* In the modern era closing the stream cancels the request; in the legacy era it only frees the stream.
     */
    if (p)
        post_free(p);
}

static void http_pause(struct link *l, struct link_req *req, bool on) {
    struct post *p = req ? req->exchange : NULL;
    if (p)
        up_exchange_pause(&p->x, on);
    else if (!req)
        up_exchange_pause(&http_of(l)->standing.x, on);
}

/* A request of the server that is not on the stream of a client's request is lost if the standing stream is
 * not open yet, and both use different connections: requests wait until it is open. Otherwise every request
 * has a connection or a place in the queue, and a full queue refuses. */
static bool http_busy(const struct link *l) {
    return container_of(l, struct http_link, base)->standing.opening;
}

static void on_soon_closed(uv_handle_t *handle) {
    link_free_base(&container_of(handle, struct http_link, soon)->base);
}

static void http_close(struct link *l) {
    struct http_link *h = http_of(l);
    posts_free(&h->posts);
    posts_free(&h->parked);
    standing_stop(h);
    io_timer_stop(http_loop(h), &h->lost_timer);
    up_secrets_unwait(&h->opening);
    up_secrets_unwait(&h->renewing);
    if (h->session.len)
        delete_session(h);
    text_free(&h->session);
    /* The caller may be inside one of our callbacks: the struct lives until the loop's turn is over. */
    uv_close((uv_handle_t *)&h->soon, on_soon_closed);
}

const struct link_ops link_http_ops = {
    .start = http_start,
    .send = http_send,
    .abandon = http_abandon,
    .listen = http_listen,
    .pause = http_pause,
    .busy = http_busy,
    .close = http_close,
};
