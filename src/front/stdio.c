/* A client on standard input and output: one message per line, one session for the whole run. */
#include "front/front.h"

#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "era/listen.h"
#include "record/record.h"
#include "session/batch.h"
#include "session/messages.h"
#include "session/session.h"

#include <signal.h>
#include <unistd.h>

struct front_stdio {
    struct core *core;
    struct session *session;
    struct io_conn *in;
    struct io_conn *out;
    struct call_sink sink; /* shared by all calls, which answer to the same stream */
    size_t scanned;
    bool ending;
    struct io_timer timer;
    uint64_t patience_ms; /* deadline for answers in flight */
    void (*ended)(void *owner, int status);
    void *owner;
};

static void check_finished(struct front_stdio *s);

/* ---- to the client ---- */

static void put_line(struct front_stdio *s, const struct session_out *out) {
    if (out->msg)
        msg_flatten(out->msg);
    io_conn_put_line(s->out, out->text, out->msg ? out->msg->block : NULL);
    if (io_conn_busy(s->out))
        session_pause(s->session, true);
}

static struct front_stdio *stdio_of(struct call_sink *sink) {
    return container_of(sink, struct front_stdio, sink);
}

static void sink_event(struct call_sink *sink, const struct session_out *out) {
    put_line(stdio_of(sink), out);
}

static void sink_reply(struct call_sink *sink, const struct session_out *out) {
    struct front_stdio *s = stdio_of(sink);
    put_line(s, out);
    if (s->ending)
        check_finished(s);
}

static void sink_none(struct call_sink *sink) {
    struct front_stdio *s = stdio_of(sink);
    if (s->ending)
        check_finished(s);
}

static void sink_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static const struct call_sink_ops sink_ops = {
    .reply = sink_reply, .event = sink_event, .streaming = sink_streaming, .none = sink_none};

static bool deliver(struct session *session, const struct session_out *out) {
    put_line(session->owner, out);
    return true;
}

static void hold(struct session *session, bool on) {
    struct front_stdio *s = session->owner;
    io_conn_read(s->in, !on);
}

static void server_ended(struct session *session, const char *why, int exit_status) {
    (void)why;
    struct front_stdio *s = session->owner;
    s->ended(s->owner, exit_status);
}

static const struct session_front stdio_front = {
    .deliver = deliver, .hold = hold, .server_ended = server_ended};

/* ---- from the client ---- */

static void record_line(struct front_stdio *s, const char *why) {
    record_refusal(s->core, &(struct refusal){.kind = REFUSAL_MALFORMED,
                                              .who = s->session->principal,
                                              .session = s->session,
                                              .server = s->session->only,
                                              .why = slice_str(why)});
}

static void refuse_line(struct front_stdio *s, struct arena *a, const struct msg_refusal *r) {
    record_line(s, r->why);
    struct splice text;
    splice_init(&text, answer_error_text(a, r->id, r->code, r->why), a);
    struct session_out out = {.text = &text};
    put_line(s, &out);
}

static void on_line(struct front_stdio *s, struct block *b, struct slice line) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct msg_refusal refusal = {0};
    if (batch_is(line)) {
        struct session_batch *batch = batch_read(s->session, b, line, &refusal.code, &refusal.why);
        if (batch)
            batch_run(batch, &s->sink);
        else
            refuse_line(s, &a, &refusal);
        return;
    }
    struct msg *m = msg_admit(&s->core->up.msgs, b, line, &a, &refusal);
    if (!m) {
        if (messages_refuse_answer(s->session, line, refusal.why))
            record_line(s, refusal.why);
        else
            refuse_line(s, &a, &refusal);
        return;
    }
    s->sink.modern = m->rpc.params && tape_path(&m->tape, m->rpc.params, "_meta",
                                                "io.modelcontextprotocol/protocolVersion", NULL);
    session_receive(s->session, m, &s->sink);
    msg_unref(m);
}

static size_t on_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct front_stdio *s = owner;
    size_t used = 0;
    while (c->reading) {
        size_t from = used > s->scanned ? used : s->scanned;
        char *end = from < len ? memchr(ptr + from, '\n', len - from) : NULL;
        if (!end)
            break;
        struct slice line = slice_trim(slice_of(ptr + used, (size_t)(end - (ptr + used))));
        used = (size_t)(end + 1 - ptr);
        s->scanned = used;
        if (line.len)
            on_line(s, b, line);
        io_loop_pace(c->loop, IO_BURST_BYTES);
    }
    s->scanned = c->reading ? len - used : 0;
    if (s->scanned <= MSG_BYTES_MAX)
        return used;
    record_line(s, "a line exceeds the message limit");
    log_error("a line from the client exceeds the message limit of %u bytes; the gate stops", MSG_BYTES_MAX);
    front_stdio_finish(s, SIGTERM);
    return len;
}

/* ---- shutdown ---- */

static void end_now(struct front_stdio *s) {
    io_timer_stop(s->core->up.loop, &s->timer);
    struct link *link = channel_of(s->session, s->session->only)->link;
    if (!link_finish(link))
        s->ended(s->owner, 0);
    /* otherwise the child's exit ends the gate */
}

/* Notifications end without an answer, so this polls. */
static void on_patience(struct io_timer *timer) {
    struct front_stdio *s = container_of(timer, struct front_stdio, timer);
    if (s->session->call_count == 0 || io_now_ms(s->core->up.loop) >= s->patience_ms)
        end_now(s);
    else
        io_timer_arm(s->core->up.loop, &s->timer, FRONT_EOF_CHECK_MS, on_patience);
}

static void check_finished(struct front_stdio *s) {
    /* Called from the last call's reply: that call is still counted. */
    if (s->session->call_count <= 1)
        io_timer_arm(s->core->up.loop, &s->timer, 0, on_patience);
}

/* The client has closed its side. Requests that it sent before still get their answers. */
static void on_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct front_stdio *s = owner;
    if (s->ending)
        return;
    s->ending = true;
    s->patience_ms = io_now_ms(s->core->up.loop) + FRONT_EOF_MS;
    listen_finish_all(s->core);
    if (s->session->call_count == 0)
        end_now(s);
    else
        io_timer_arm(s->core->up.loop, &s->timer, 0, on_patience);
}

static const struct io_handlers in_handlers = {.data = on_data, .end = on_end};

static size_t out_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    (void)c, (void)owner, (void)b, (void)ptr;
    return len;
}

static void out_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct front_stdio *s = owner;
    s->ending = true;
    io_conn_read(s->in, false);
    end_now(s); /* the client closed its end */
}

static void out_drained(struct io_conn *c, void *owner) {
    (void)c;
    session_pause(((struct front_stdio *)owner)->session, false);
}

static const struct io_handlers out_handlers = {.data = out_data, .end = out_end, .drained = out_drained};

void front_stdio_finish(struct front_stdio *s, int signal) {
    s->ending = true;
    io_conn_read(s->in, false);
    struct link *link = channel_of(s->session, s->session->only)->link;
    if (signal)
        link_signal(link, signal);
    end_now(s);
}

struct front_stdio *front_stdio_start(struct core *core, struct principal *principal, struct server *only,
                                      void (*ended)(void *owner, int status), void *owner) {
    struct front_stdio *s = mem_zalloc(sizeof(*s));
    *s = (struct front_stdio){.core = core, .ended = ended, .owner = owner, .sink = {.ops = &sink_ops}};
    s->session = session_new(core, &stdio_front, s, principal, only, false);
    s->in = io_conn_fd(core->up.loop, STDIN_FILENO, true, &in_handlers, s);
    s->out = io_conn_fd(core->up.loop, STDOUT_FILENO, false, &out_handlers, s);
    io_conn_read(s->in, true);
    session_listen(s->session);
    channel_start(s->session);
    return s;
}

void front_stdio_free(struct front_stdio *s) {
    if (!s)
        return;
    session_close(s->session);
    io_timer_stop(s->core->up.loop, &s->timer); /* ending the calls may have armed it again */
    io_conn_close(s->in);
    io_conn_flush(s->out);
    io_conn_close(s->out);
    free(s);
}
