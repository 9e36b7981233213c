/* HTTP+SSE, the transport of 2024-11-05, as a client.
 *
 *   GET ──▶ event `endpoint` ──▶ up: messages are POSTed there, and all messages of the server, answers too,
 *                                comes as events of the one stream. When that ends, so does the link. */
#include "base/mem.h"
#include "upstream/exchange.h"
#include "upstream/head.h"
#include "upstream/link.h"
#include "upstream/reply.h"
#include "upstream/secret.h"

#include <stdio.h>

struct sse_link {
    struct link base;
    uv_idle_t life; /* never runs; closing it frees the link */
    struct exchange stream;
    struct up_wait opening; /* for secrets */
    struct io_timer timer;  /* until the endpoint is known */
    struct list posts;
    struct buf post_head; /* the part of each POST's head that never changes */
    char *where;          /* of a redirect */
};

struct sse_post {
    struct exchange x;
    struct sse_link *link;
    struct list node;
    uint64_t req_id;
    bool effects;
};

static const struct exchange_ops stream_ops;
static const struct exchange_ops post_ops;

static struct sse_link *sse_of(struct link *l) { return container_of(l, struct sse_link, base); }
static struct io_loop *sse_loop(const struct sse_link *h) { return h->base.server->core->loop; }

struct link *link_sse_new(void) {
    struct sse_link *h = mem_zalloc(sizeof(*h));
    h->base.ops = &link_sse_ops;
    list_init(&h->posts);
    buf_init(&h->post_head, UP_FIXED_HEAD_MAX);
    return &h->base;
}

static void post_free(struct sse_post *p) {
    up_exchange_drop(&p->x);
    list_remove(&p->node);
    free(p);
}

static void stop(struct sse_link *h) {
    h->base.is_up = false;
    up_secrets_unwait(&h->opening);
    up_exchange_drop(&h->stream);
    io_timer_stop(sse_loop(h), &h->timer);
    while (!list_empty(&h->posts))
        post_free(container_of(h->posts.next, struct sse_post, node));
}

static void sse_over(struct sse_link *h, const char *why, int status) {
    struct link *l = &h->base;
    stop(h);
    link_fail_all(l, why);
    if (!l->closed)
        l->events->down(l->owner, why, status);
}

/* ---- where to post ---- */

/* The directory of a path, with its slash. */
static struct slice directory(struct slice target) {
    struct slice path;
    slice_cut(&target, '?', &path);
    while (path.len > 1 && path.ptr[path.len - 1] != '/')
        path.len--;
    return path;
}

/* Makes a reference from the event absolute. */
static void resolve(const struct up_server *s, struct slice ref, struct buf *out) {
    struct slice base = directory(s->at.target), path;
    bool absolute = slice_starts(ref, SLICE("http://")) || slice_starts(ref, SLICE("https://"));
    if (absolute) {
        buf_put_slice(out, ref);
        return;
    }
    buf_put_str(out, s->at.tls ? "https:" : "http:");
    if (!slice_starts(ref, SLICE("//"))) {
        buf_put_str(out, "//");
        buf_put_slice(out, s->at.authority);
    }
    if (slice_starts(ref, SLICE("?"))) {
        struct slice rest = s->at.target;
        slice_cut(&rest, '?', &path);
        buf_put_slice(out, path);
    } else if (!slice_starts(ref, SLICE("/"))) {
        for (;;) {
            if (slice_starts(ref, SLICE("./")))
                ref = slice_from(ref, 2);
            else if (slice_starts(ref, SLICE("../")))
                ref = slice_from(ref, 3),
                base = base.len > 1 ? directory(slice_upto(base, base.len - 1)) : base;
            else
                break;
        }
        buf_put_slice(out, base);
    }
    buf_put_slice(out, ref);
}

/* False: the link is down. */
static bool endpoint_take(struct sse_link *h, struct slice ref) {
    struct up_server *s = h->base.server;
    struct http_url url;
    const char *fault = NULL;
    char why[UP_WHY_MAX];
    struct buf text;
    buf_init(&text, 2 * UP_URL_MAX);
    resolve(s, slice_trim(ref), &text);
    if (text.full || text.len > UP_URL_MAX)
        fault = "too long";
    else if (http_parse_url(buf_slice(&text), &url, &fault) == 0 && !http_is_same_origin(&url, &s->at))
        fault = "it is on another host, port or scheme";
    if (!fault) {
        buf_reset(&h->post_head);
        up_head_start(&h->post_head, s, "POST", url.target);
        buf_put_str(&h->post_head,
                    "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
    }
    buf_free(&text);
    if (!fault && !h->post_head.full)
        return true;
    snprintf(why, sizeof(why), "server `%s` named an unusable endpoint: %s", s->name,
             fault ? fault : "too long");
    sse_over(h, why, LINK_FAILED);
    return false;
}

/* ---- the stream ---- */

static enum exchange_want stream_head(struct exchange *x, const struct http_head *head) {
    struct sse_link *h = container_of(x, struct sse_link, stream);
    struct slice where = http_value_of(head, SLICE("location"));
    if (head->status == 200 && http_media_is(http_value(head, HTTP_FIELD_TYPE), SLICE("text/event-stream")))
        return EXCHANGE_EVENTS;
    if (where.len && !h->where)
        h->where = mem_dup(where.ptr, where.len);
    x->body_max = UP_ERROR_BODY_MAX;
    return EXCHANGE_BODY;
}

static bool stream_event(struct exchange *x, struct block *b, const struct sse_event *e) {
    struct sse_link *h = container_of(x, struct sse_link, stream);
    struct link *l = &h->base;
    if (!l->is_up && slice_is(e->type, "endpoint")) {
        if (!endpoint_take(h, e->data))
            return false;
        io_timer_stop(sse_loop(h), &h->timer);
        l->is_up = true;
        l->events->up(l->owner);
    } else if (l->is_up && e->data.len && slice_is(e->type, "message")) {
        link_received(l, b, e->data, NULL, x->status);
    }
    return !l->closed && l->is_up;
}

static void stream_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b;
    struct sse_link *h = container_of(x, struct sse_link, stream);
    struct up_server *s = h->base.server;
    char why[UP_WHY_MAX];
    if (h->base.is_up) {
        snprintf(why, sizeof(why), "server `%s` ended the stream", s->name);
        sse_over(h, why, LINK_LOST);
        return;
    }
    if (x->status == 200)
        snprintf(why, sizeof(why), "server `%s` answered the request for a stream with something else",
                 s->name);
    else
        up_refusal_text(s, x->status, h->where, body, why);
    /* The URL may end like one of this transport and still be another endpoint. */
    bool other = x->status == 400 || x->status == 404 || x->status == 405 || x->status == 406;
    if (other)
        s->use_sse = false;
    sse_over(h, why, other ? LINK_LOST : LINK_FAILED);
}

static void stream_failed(struct exchange *x, const struct exchange_fault *fault) {
    struct sse_link *h = container_of(x, struct sse_link, stream);
    sse_over(h, fault->why, h->base.is_up ? LINK_LOST : LINK_FAILED);
}

static const struct exchange_ops stream_ops = {
    .head = stream_head, .event = stream_event, .done = stream_done, .failed = stream_failed};

/* ---- posts ---- */

static enum exchange_want post_head(struct exchange *x, const struct http_head *head) {
    x->body_max = UP_ERROR_BODY_MAX;
    return head->status < 300 ? EXCHANGE_SKIP : EXCHANGE_BODY;
}

static void post_over(struct sse_post *p, int status, const char *why, bool retry) {
    struct link *l = &p->link->base;
    struct link_req *req = p->req_id ? link_find(l, p->req_id) : NULL;
    bool awaited = p->req_id != 0;
    post_free(p);
    if (req) {
        req->status = status;
        link_fail_req(req, why, retry);
    } else if (!awaited) {
        l->events->noise(l->owner, why, (struct slice){0});
    }
}

static void post_done(struct exchange *x, struct block *b, struct slice body) {
    (void)b;
    struct sse_post *p = container_of(x, struct sse_post, x);
    if (x->status < 300) {
        post_free(p);
        return;
    }
    char why[UP_WHY_MAX];
    up_refusal_text(p->link->base.server, x->status, NULL, body, why);
    post_over(p, x->status, why, false);
}

static void post_failed(struct exchange *x, const struct exchange_fault *fault) {
    struct sse_post *p = container_of(x, struct sse_post, x);
    post_over(p, x->status, fault->why, fault->unsent || (fault->stale && !p->effects));
}

static const struct exchange_ops post_ops = {.head = post_head, .done = post_done, .failed = post_failed};

static bool sse_send(struct link *l, const struct link_out *o, struct link_req *req) {
    struct sse_link *h = sse_of(l);
    struct buf *own = up_head_scratch(l->server);
    if (!up_head_lines_ok(o->extra_headers) || l->server->conn_waiting >= UP_WAITERS_MAX)
        return false;
    buf_put_slice(own, o->extra_headers);
    if (!up_head_end(own, l->server, o->text))
        return false;
    struct sse_post *p = mem_zalloc(sizeof(*p));
    p->link = h;
    p->req_id = req ? req->id : 0;
    p->effects = !up_head_only_asks(o->method);
    list_push(&h->posts, &p->node);
    struct exchange_request r = {
        .method = HTTP_POST,
        .fixed = buf_slice(&h->post_head),
        .own = buf_slice(own),
        .body = o->text,
        .block = o->block,
        .limit_ms = UP_HEAD_MS,
    };
    up_exchange_start(&p->x, l->server, &post_ops, &r);
    return true;
}

/* ---- life ---- */

static void on_late(struct io_timer *timer) {
    struct sse_link *h = container_of(timer, struct sse_link, timer);
    char why[UP_WHY_MAX];
    snprintf(why, sizeof(why), "server `%s` named no endpoint within %d seconds", h->base.server->name,
             UP_ENDPOINT_MS / 1000);
    sse_over(h, why, LINK_FAILED);
}

static void stream_open(struct sse_link *h) {
    struct up_server *s = h->base.server;
    struct buf *own = up_head_scratch(s);
    up_head_start(own, s, "GET", s->at.target);
    buf_put_str(own, "Accept: text/event-stream\r\n");
    up_head_end(own, s, NULL);
    struct exchange_request r = {.method = HTTP_GET, .own = buf_slice(own), .limit_ms = UP_ENDPOINT_MS};
    up_exchange_start(&h->stream, s, &stream_ops, &r);
    io_timer_arm(sse_loop(h), &h->timer, UP_ENDPOINT_MS, on_late);
}

static void on_secrets(struct up_wait *w, const char *fault) {
    struct sse_link *h = container_of(w, struct sse_link, opening);
    if (fault)
        sse_over(h, fault, LINK_FAILED);
    else
        stream_open(h);
}

static void sse_start(struct link *l) {
    struct sse_link *h = sse_of(l);
    uv_idle_init(&sse_loop(h)->uv, &h->life);
    h->opening.done = on_secrets;
    if (up_secrets_ready(l->server))
        stream_open(h);
    else
        up_secrets_wait(l->server, &h->opening);
}

/* All requests share the stream: cancelling one does not close it. */
static void sse_abandon(struct link *l, struct link_req *req) { (void)l, (void)req; }
static void sse_listen(struct link *l) { (void)l; }

static void sse_pause(struct link *l, struct link_req *req, bool on) {
    (void)req;
    up_exchange_pause(&sse_of(l)->stream, on);
}

static bool sse_busy(const struct link *l) {
    (void)l;
    return false;
}

static void on_life_closed(uv_handle_t *handle) {
    struct sse_link *h = container_of(handle, struct sse_link, life);
    buf_free(&h->post_head);
    free(h->where);
    link_free_base(&h->base);
}

static void sse_close(struct link *l) {
    struct sse_link *h = sse_of(l);
    stop(h);
    /* The caller may be inside one of our callbacks: the struct is freed in the loop's next turn. */
    uv_close((uv_handle_t *)&h->life, on_life_closed);
}

const struct link_ops link_sse_ops = {
    .start = sse_start,
    .send = sse_send,
    .abandon = sse_abandon,
    .listen = sse_listen,
    .pause = sse_pause,
    .busy = sse_busy,
    .close = sse_close,
};
