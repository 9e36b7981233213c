/* Pages beside MCP: the front's half of session/web.h. */
#include "front/front.h"

#include "base/mem.h"
#include "wire/sse.h"

static struct front_conn *conn_of(struct web_reply *r) {
    return container_of(r, struct front_conn, web.reply);
}

static void on_gone(void *owner) {
    struct front_conn *c = owner;
    if (c->web.gone)
        c->web.gone(c->web.owner);
}

static void on_alive(void *owner) {
    struct front_conn *c = owner;
    if (c->state == FRONT_STREAMING)
        front_stream_text(c, SLICE(": keepalive\n\n"));
}

static void web_answer(struct web_reply *r, int status, const char *type, struct slice headers,
                       struct slice body) {
    front_answer(conn_of(r), status, type, headers, body);
}

static void web_later(struct web_reply *r, void *owner, void (*gone)(void *)) {
    struct front_conn *c = conn_of(r);
    c->web.owner = owner;
    c->web.gone = gone;
    front_conn_take(c, c, on_gone, NULL, on_alive);
}

static void web_stream(struct web_reply *r) { front_stream_begin(conn_of(r), (struct slice){0}); }

static bool web_event(struct web_reply *r, struct slice type, struct slice id, struct slice data) {
    struct front_conn *c = conn_of(r);
    cleanup_buf struct buf text;
    buf_init(&text, data.len + 4096);
    if (sse_write(&text, type, id, data))
        front_stream_text(c, buf_slice(&text));
    if (io_conn_queued(c->io) <= FRONT_QUEUE_MAX)
        return true;
    front_conn_close(c);
    return false;
}

static void web_end(struct web_reply *r) { front_stream_end(conn_of(r)); }

static const struct web_reply_ops web_ops = {
    .answer = web_answer, .later = web_later, .stream = web_stream, .event = web_event, .end = web_end};

bool front_web(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    struct front *f = c->front;
    enum web_need need = f->site ? f->site->need(f->site->ctx, head) : WEB_NOT_MINE;
    if (need == WEB_NOT_MINE)
        return false;
    bool asks = need == WEB_PRINCIPAL || (need == WEB_LOCAL && !f->loopback);
    if (asks && front_authenticate(c, head, b, body) != FRONT_IN)
        return true; /* answered, or will be */
    c->web = (struct front_web){.reply = {&web_ops}};
    struct web_request request = {
        .head = head, .body = body, .who = asks ? c->principal : NULL, .reply = &c->web.reply};
    f->site->serve(f->site->ctx, &request);
    return true;
}
