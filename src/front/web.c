/* Pages beside MCP: the front's half of session/web.h. */
#include "front/auth.h"
#include "front/fanout.h"
#include "front/front.h"

#include "base/mem.h"
#include "wire/sse.h"

/* A response of the site. It outlives the connection by one call: `gone`, when the connection is closed. */
struct web_answer {
    struct web_reply reply;
    struct front *front;
    struct front_conn *conn; /* no longer valid in `gone` */
    bool later;              /* the site keeps it; otherwise it lasts as long as front_web() */
    bool counts;             /* counted in the front's web_count until it ends */
    void *owner;
    void (*gone)(void *owner);
};

static struct web_answer *answer_of(struct web_reply *r) { return container_of(r, struct web_answer, reply); }

static void count(struct web_answer *w, bool counts) {
    w->front->web_count += (uint32_t)counts - (uint32_t)w->counts;
    w->counts = counts;
}

static void answer_over(struct web_answer *w) {
    if (w->later)
        free(w);
}

static void on_gone(void *owner) {
    struct web_answer *w = owner;
    count(w, false);
    w->gone(w->owner);
    free(w);
}

static void on_alive(void *owner) {
    struct web_answer *w = owner;
    if (w->conn->state == FRONT_STREAMING)
        front_events_text(w->conn, SLICE(": keepalive\n\n"));
}

static void web_answer(struct web_reply *r, int status, const char *type, struct slice headers,
                       struct slice body) {
    struct web_answer *w = answer_of(r);
    count(w, false);
    front_answer(w->conn, status, type, headers, body);
    answer_over(w);
}

static void web_later(struct web_reply *r, void *owner, void (*gone)(void *)) {
    struct web_answer *w = answer_of(r);
    w->later = true;
    w->owner = owner;
    w->gone = gone;
    count(w, true);
    front_conn_take(w->conn, w, on_gone, NULL, on_alive);
}

static void web_stream(struct web_reply *r) {
    struct web_answer *w = answer_of(r);
    count(w, false);
    front_events_begin(w->conn, (struct slice){0});
}

static bool web_event(struct web_reply *r, struct slice type, struct slice id, struct slice data) {
    struct front_conn *c = answer_of(r)->conn;
    cleanup_buf struct buf text;
    buf_init(&text, data.len + 4096);
    if (sse_write(&text, type, id, data))
        front_events_text(c, buf_slice(&text));
    if (io_conn_queued(c->io) <= FRONT_QUEUE_MAX)
        return true;
    front_conn_close(c);
    return false;
}

static void web_end(struct web_reply *r) {
    struct web_answer *w = answer_of(r);
    front_events_end(w->conn);
    answer_over(w);
}

static const struct web_reply_ops web_ops = {
    .answer = web_answer, .later = web_later, .stream = web_stream, .event = web_event, .end = web_end};

bool front_web(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    struct front *f = c->front;
    enum web_need need = f->site ? f->site->need(f->site->ctx, head) : WEB_NOT_MINE;
    if (need == WEB_NOT_MINE)
        return false;
    bool asks = need == WEB_PRINCIPAL || need == WEB_CONSOLE || (need == WEB_LOCAL && !front_is_local(c));
    c->console = need == WEB_CONSOLE;
    c->cookie = (struct slice){0};
    if (asks && front_authenticate(c, head, b, body) != FRONT_IN)
        return true; /* answered, or answered later */
    struct web_request request = {.head = head,
                                  .body = body,
                                  .who = asks ? c->principal : NULL,
                                  .cookie = c->cookie,
                                  .port = f->port,
                                  .secure = f->tls || c->secure,
                                  .relayed = c->peer && !c->from_node,
                                  .process = f->worker ? slice_str(f->tag) : (struct slice){0}};
    if (front_fanout(c, &request))
        return true;
    struct web_answer *w = mem_zalloc(sizeof(*w));
    *w = (struct web_answer){.reply = {&web_ops}, .front = f, .conn = c};
    request.reply = &w->reply;
    f->site->serve(f->site->ctx, &request);
    if (!w->later)
        free(w);
    return true;
}
