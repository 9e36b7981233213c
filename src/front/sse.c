/* The transport of 2024-11-05: one event stream per client, requests by POST, answers on the stream. */
#include "front/front.h"

#include "base/mem.h"
#include "session/batch.h"
#include "session/session.h"

#include <stdio.h>

static struct front_session *session_of(struct call_sink *sink) {
    return container_of(sink, struct front_session, sse_sink);
}

static void sink_put(struct call_sink *sink, const struct session_out *out) {
    front_stream_put(&session_of(sink)->standing, out);
}

static void sink_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}
static void sink_none(struct call_sink *sink) { (void)sink; }

static const struct call_sink_ops sse_ops = {
    .reply = sink_put, .event = sink_put, .streaming = sink_streaming, .none = sink_none};

void front_sse_open(struct front_conn *c, struct http_head *head) {
    if (head->method != HTTP_GET) {
        front_answer(c, 405, NULL, SLICE("Allow: GET\r\n"), (struct slice){0});
        return;
    }
    if (!http_accepts(http_value(head, HTTP_FIELD_ACCEPT), SLICE("text/event-stream"))) {
        front_answer_error(c, 406, -32000, (struct slice){0}, "Accept must list text/event-stream");
        return;
    }
    struct front_session *fs = front_session_new(c, true);
    if (!fs) {
        front_answer_error(c, 503, RPC_INTERNAL, (struct slice){0}, "too many sessions; end unused ones");
        return;
    }
    fs->known = true;
    fs->sse_sink.ops = &sse_ops;
    map_put(&c->front->sessions, slice_str(fs->id), fs);
    front_stream_attach(&fs->standing, c, 0, (struct slice){0});
    char text[256];
    bool one = c->only && !c->front->only;
    int n = snprintf(text, sizeof(text), "event: endpoint\ndata: /message%s%s?sessionId=%s\n\n",
                     one ? "/" : "", one ? c->only->up.name : "", fs->id);
    front_events_text(c, slice_of(text, (size_t)n));
    session_listen(fs->session);
}

void front_sse_post(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    if (head->method != HTTP_POST) {
        front_answer(c, 405, NULL, SLICE("Allow: POST\r\n"), (struct slice){0});
        return;
    }
    cleanup_buf struct buf id;
    buf_init(&id, 64);
    bool named = http_query_get(head->query, SLICE("sessionId"), &id) && !id.full;
    struct front_session *fs = named ? front_session_find(c, buf_slice(&id)) : NULL;
    if (!fs || !fs->sse || !fs->standing.conn) {
        front_answer_error(c, 404, -32001, (struct slice){0}, "session not found; open /sse first");
        return;
    }
    int code;
    const char *why;
    struct session_batch *batch = batch_is(body) ? batch_read(fs->session, b, body, &code, &why) : NULL;
    if (!batch && batch_is(body)) {
        front_refuse_message(c, fs->session, code, (struct slice){0}, why);
        return;
    }
    struct msg *m = batch ? NULL : front_read_message(c, b, body, slice_str(fs->id));
    if (!m && !batch)
        return;
    front_answer(c, 202, "text/plain", (struct slice){0}, SLICE("Accepted"));
    front_session_touch(fs);
    if (batch)
        batch_run(batch, &fs->sse_sink);
    else
        session_receive(fs->session, m, &fs->sse_sink);
    msg_unref(m);
}
