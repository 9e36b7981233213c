/* The MCP endpoint over Streamable HTTP. One path serves both eras. The request declares its era: `_meta`
 * or a version header of the modern era, or a legacy session id. */
#include "front/front.h"
#include "front/peers.h"

#include "base/check.h"
#include "base/mem.h"
#include "call/answer.h"
#include "era/park.h"
#include "front/header.h"
#include "session/batch.h"
#include "session/session.h"

#include <stdio.h>

#define MODERN_VERSION "2026-07-28"

#define SESSION_HEADER_MAX 64

struct exchange { /* a request that waits for its answer */
    struct call_sink sink;
    struct front *front;
    struct front_conn *conn;     /* NULL when the client disconnected */
    struct front_session *fs;    /* NULL in the modern era */
    struct front_stream *stream; /* of the legacy era, once events precede the answer */
    bool opens;                  /* initialize */
    bool streaming;              /* of the modern era */
};

static const struct call_sink_ops exchange_ops;

/* ---- versions ---- */

static const struct slice known_versions[] = {SLICE("2025-11-25"), SLICE(MODERN_VERSION),
                                              SLICE("2025-06-18"), SLICE("2025-03-26"),
                                              SLICE("2024-11-05"), SLICE("2024-10-07")};

bool front_is_known_version(struct slice version) {
    for (size_t i = 0; i < ARRAY_LEN(known_versions); i++)
        if (slice_eq(version, known_versions[i]))
            return true;
    return false;
}

bool front_is_modern_version(struct slice version) {
    return version.len == 10 && slice_cmp(version, SLICE(MODERN_VERSION)) >= 0;
}

/* ---- the response ---- */

static struct exchange *exchange_of(struct call_sink *sink) {
    return container_of(sink, struct exchange, sink);
}

static void on_gone(void *owner) {
    struct exchange *ex = owner;
    struct call *call = ex->sink.call;
    ex->conn = NULL;
    CHECK(call || ex->sink.batch);
    if (!ex->fs || ex->opens) {
        call_cancel(call, "client disconnected"); /* ends in exchange_none() */
        return;
    }
    if (ex->sink.batch)
        batch_orphan(ex->sink.batch);
    else
        call_orphan(call);
    free(ex);
}

static void on_drained(void *owner) {
    struct exchange *ex = owner;
    if (ex->sink.batch)
        batch_pause(ex->sink.batch, false);
    else if (ex->sink.call)
        call_pause(ex->sink.call, false);
}

/* The header with the id of the session that `initialize` opens; nothing for other requests. */
static struct slice session_header(const struct exchange *ex, char line[SESSION_HEADER_MAX]) {
    if (!ex->opens)
        return (struct slice){0};
    int n = snprintf(line, SESSION_HEADER_MAX, "Mcp-Session-Id: %s\r\n", ex->fs->id);
    return slice_of(line, (size_t)n);
}

/* initialize was answered: from now on requests find the session by its id, or it is closed. */
static void session_opened(struct front_session *fs) {
    if (!fs->session->init_done)
        return;
    fs->known = true;
    map_put(&fs->front->sessions, slice_str(fs->id), fs);
}

static void stream_start(struct exchange *ex) {
    char line[SESSION_HEADER_MAX];
    if (ex->streaming || ex->stream)
        return;
    if (!ex->fs || ex->opens) { /* a server may log before it answers initialize */
        ex->streaming = true;
        front_events_begin(ex->conn, session_header(ex, line));
        return;
    }
    ex->stream = front_stream_new(ex->fs);
    ex->stream->sink = &ex->sink;
    struct front_conn *c = ex->conn;
    ex->conn = NULL; /* owned by the stream from now on */
    front_stream_attach(ex->stream, c, 0, (struct slice){0});
    front_stream_prime(ex->stream);
}

static void on_alive(void *owner) {
    struct exchange *ex = owner;
    if (ex->opens)
        return;
    struct front_conn *c = ex->conn;
    stream_start(ex);
    front_events_text(c, SLICE(": keepalive\n\n"));
}

static void exchange_event(struct call_sink *sink, const struct session_out *out) {
    struct exchange *ex = exchange_of(sink);
    stream_start(ex);
    if (ex->stream) {
        front_stream_put(ex->stream, out);
        return;
    }
    if (!ex->conn)
        return;
    front_events_put(ex->conn, SLICE("message"), (struct slice){0}, out);
    if (io_conn_queued(ex->conn->io) > FRONT_QUEUE_MAX)
        front_conn_close(ex->conn);
    else if (io_conn_busy(ex->conn->io))
        call_pause(sink->call, true);
}

static void exchange_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    struct exchange *ex = exchange_of(sink);
    if (!ex->fs || ex->opens)
        return;
    stream_start(ex);
    front_stream_retry(ex->stream, retry_ms, left);
}

/* A JSON-RPC error is sent with HTTP status 200: many clients end their session, with every server behind
 * it, at any other status. The modern era defines two exceptions. A child process has no status to pass
 * on. */
static int status_of(const struct exchange *ex, const struct session_out *out) {
    if (ex->fs)
        return 200;
    if (out->http_status)
        return out->http_status == 400 || out->http_status == 404 ? out->http_status : 200;
    const struct msg *m = out->msg;
    int64_t code;
    uint32_t node = m && m->rpc.kind == RPC_ERROR ? tape_get_str(&m->tape, m->rpc.body, "code") : 0;
    if (!node || !tape_int(&m->tape, node, &code))
        return 200;
    if (code == RPC_METHOD_NOT_FOUND)
        return 404;
    return code <= RPC_HEADER_MISMATCH && code >= RPC_VERSION_UNSUPPORTED ? 400 : 200;
}

/* A session whose id was not sent yet cannot be closed while its call is on the stack. */
static void close_later(struct io_timer *timer) {
    front_session_close(container_of(timer, struct front_session, idle));
}

static void exchange_free(struct exchange *ex) {
    if (ex->opens && !ex->fs->known)
        io_timer_arm(ex->front->loop, &ex->fs->idle, 0, close_later);
    free(ex);
}

static void exchange_reply(struct call_sink *sink, const struct session_out *out) {
    struct exchange *ex = exchange_of(sink);
    char line[SESSION_HEADER_MAX];
    if (ex->opens)
        session_opened(ex->fs);
    if (ex->stream) {
        front_stream_put(ex->stream, out);
        front_stream_finish(ex->stream);
    } else if (ex->streaming) {
        front_events_put(ex->conn, SLICE("message"), (struct slice){0}, out);
        front_events_end(ex->conn);
    } else {
        const bool is_open = ex->opens && ex->fs->known;
        front_answer_message(ex->conn, status_of(ex, out),
                             is_open ? session_header(ex, line) : (struct slice){0}, out);
    }
    exchange_free(ex);
}

/* Cancelled: the request gets no answer, but the connection stays usable. */
static void exchange_none(struct call_sink *sink) {
    struct exchange *ex = exchange_of(sink);
    if (ex->stream) {
        front_stream_finish(ex->stream);
    } else if (ex->conn) {
        if (!ex->streaming)
            front_events_begin(ex->conn, (struct slice){0});
        front_events_end(ex->conn);
    }
    exchange_free(ex);
}

static const struct call_sink_ops exchange_ops = {
    .reply = exchange_reply, .event = exchange_event, .streaming = exchange_streaming, .none = exchange_none};

static struct exchange *exchange_new(struct front_conn *c, struct front_session *fs, bool opens,
                                     struct slice extra_headers) {
    struct exchange *ex = mem_alloc(sizeof(*ex));
    *ex = (struct exchange){
        .sink = {.ops = &exchange_ops, .modern = !fs, .mirrored = !fs, .extra_headers = extra_headers},
        .front = c->front,
        .conn = c,
        .fs = fs,
        .opens = opens,
    };
    front_conn_take(c, ex, on_gone, on_drained, on_alive);
    return ex;
}

/* ---- the modern era ---- */

static void post_modern(struct front_conn *c, const struct http_head *head, struct msg *m) {
    struct front *f = c->front;
    struct arena *a = &f->scratch;
    struct slice id = m->rpc.id ? tape_raw(&m->tape, m->rpc.id) : (struct slice){0};
    if (m->rpc.kind == RPC_RESULT || m->rpc.kind == RPC_ERROR) {
        front_refuse_message(c, NULL, RPC_INVALID_REQUEST, (struct slice){0},
                             "clients do not send responses in this revision");
        return;
    }
    struct header_fault fault;
    if (!header_check_modern(head, m, a, &fault)) {
        front_record_refusal(c, NULL, fault.why);
        struct slice text = answer_error_text(a, id, fault.code, fault.why);
        if (fault.data.len) /* inserted before the two closing braces */
            text =
                arena_printf(a, "%.*s,\"data\":%.*s}}", (int)text.len - 2, text.ptr, SLICE_FMT(fault.data));
        front_answer(c, 400, "application/json", (struct slice){0}, text);
        return;
    }
    struct session *session = front_stateless(c);
    if (!session) {
        front_answer_error(c, 503, RPC_INTERNAL, id, "too many sessions");
        return;
    }
    if (m->rpc.kind == RPC_NOTIFICATION) {
        struct call_sink none = {.modern = true};
        session_receive(session, m, &none);
        front_answer(c, 202, NULL, (struct slice){0}, (struct slice){0});
        return;
    }
    session_receive(session, m, &exchange_new(c, NULL, false, header_params(head, a))->sink);
}

/* ---- the legacy era ---- */

static struct slice request_id(const struct msg *m) {
    return m->rpc.kind == RPC_REQUEST ? tape_raw(&m->tape, m->rpc.id) : (struct slice){0};
}

/* The session that a request names; NULL after responding with an error. `for_id`: of the message, or empty.
 */
static struct front_session *find_session(struct front_conn *c, const struct http_head *head,
                                          struct slice for_id) {
    struct slice id = http_value(head, HTTP_FIELD_MCP_SESSION_ID);
    struct slice version = http_value(head, HTTP_FIELD_MCP_VERSION);
    if (!id.len) {
        front_answer_error(c, 400, -32000, for_id, "Mcp-Session-Id header is required; initialize first");
        return NULL;
    }
    struct front_session *fs = front_session_find(c, id);
    if (!fs || fs->sse) {
        front_answer_error(c, 404, -32001, for_id, "session not found; initialize again");
        return NULL;
    }
    if (version.len && !front_is_known_version(version)) {
        front_answer_error(c, 400, -32000, for_id, "unsupported MCP-Protocol-Version");
        return NULL;
    }
    front_session_touch(fs);
    return fs;
}

static void post_legacy(struct front_conn *c, const struct http_head *head, struct msg *m) {
    bool opens = m->rpc.kind == RPC_REQUEST && tape_eq(&m->tape, m->rpc.method, SLICE("initialize"));
    struct front_session *fs = opens ? front_session_new(c, false) : find_session(c, head, request_id(m));
    if (!fs) {
        if (opens)
            front_answer_error(c, 503, RPC_INTERNAL, request_id(m), "too many sessions; end unused ones");
        return;
    }
    if (m->rpc.kind == RPC_REQUEST) {
        session_receive(fs->session, m, &exchange_new(c, fs, opens, (struct slice){0})->sink);
        return;
    }
    session_receive(fs->session, m, NULL);
    front_answer(c, 202, NULL, (struct slice){0}, (struct slice){0});
}

/* Several messages in one body. Only sessions of some revisions may send that. */
static void post_batch(struct front_conn *c, const struct http_head *head, struct block *b,
                       struct slice body) {
    struct front_session *fs = find_session(c, head, (struct slice){0});
    int code;
    const char *why;
    struct session_batch *batch = fs ? batch_read(fs->session, b, body, &code, &why) : NULL;
    if (!fs)
        return;
    if (!batch) {
        front_refuse_message(c, fs->session, code, (struct slice){0}, why);
    } else if (!batch_wants_answer(batch)) {
        batch_run(batch, NULL);
        front_answer(c, 202, NULL, (struct slice){0}, (struct slice){0});
    } else {
        struct exchange *ex = exchange_new(c, fs, false, (struct slice){0});
        ex->sink.batch = batch;
        batch_run(batch, &ex->sink);
    }
}

/* A header list may span several lines. */
static bool accepts(const struct http_head *head, struct slice type) {
    bool sent = false;
    for (size_t i = 0; i < head->count; i++) {
        if (!slice_eq_nocase(head->headers[i].name, SLICE("Accept")))
            continue;
        if (http_accepts(head->headers[i].value, type))
            return true;
        sent = true;
    }
    return !sent;
}

/* Most clients send exactly this text. */
static bool accepts_both(const struct http_head *head) {
    return slice_is(http_value(head, HTTP_FIELD_ACCEPT), "application/json, text/event-stream") ||
           (accepts(head, SLICE("application/json")) && accepts(head, SLICE("text/event-stream")));
}

static void post(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body) {
    if (!accepts_both(head)) {
        front_answer_error(c, 406, -32000, (struct slice){0},
                           "Accept must list application/json and text/event-stream");
        return;
    }
    /* Without a session a batch is refused like any other array. */
    if (batch_is(body) && http_value(head, HTTP_FIELD_MCP_SESSION_ID).len &&
        !front_is_modern_version(http_value(head, HTTP_FIELD_MCP_VERSION))) {
        post_batch(c, head, b, body);
        return;
    }
    struct msg *m = front_read_message(c, b, body, http_value(head, HTTP_FIELD_MCP_SESSION_ID));
    if (!m)
        return;
    char node[PARK_NODE];
    struct slice who = slice_str(c->principal->id);
    if (front_peers_may_send(c) && park_owner(c->front->core, who, m, &c->front->scratch, node) &&
        front_peers_send(c, head, b, body, node))
        ; /* the process that waits for these answers handles them */
    else if (header_is_modern(head, m) && front_peers_route_id(c, head, b, body, m))
        ; /* the process that has the job or task handles it */
    else if (header_is_modern(head, m))
        post_modern(c, head, m);
    else
        post_legacy(c, head, m);
    msg_unref(m);
}

/* "3-17" → stream 3, after event 17. */
static bool parse_event_id(struct slice text, uint64_t *ret_stream, uint64_t *ret_seq) {
    struct slice number;
    return slice_cut(&text, '-', &number) && slice_to_u64(number, ret_stream) && slice_to_u64(text, ret_seq);
}

static struct front_stream *find_stream(struct front_session *fs, uint64_t number) {
    if (number == 0)
        return &fs->standing;
    LIST_FOR (n, &fs->streams) {
        struct front_stream *st = container_of(n, struct front_stream, node);
        if (st->number == number)
            return st;
    }
    return NULL;
}

static void get(struct front_conn *c, const struct http_head *head) {
    if (!http_value(head, HTTP_FIELD_ACCEPT).len || !accepts(head, SLICE("text/event-stream"))) {
        front_answer_error(c, 406, -32000, (struct slice){0}, "Accept must list text/event-stream");
        return;
    }
    struct front_session *fs = find_session(c, head, (struct slice){0});
    if (!fs)
        return;
    struct slice last = http_value(head, HTTP_FIELD_EVENT_ID);
    uint64_t number, seq;
    if (!last.len) {
        front_stream_attach(&fs->standing, c, fs->standing.sent_seq, (struct slice){0});
        front_stream_prime(&fs->standing);
        session_listen(fs->session);
        return;
    }
    struct front_stream *st = parse_event_id(last, &number, &seq) ? find_stream(fs, number) : NULL;
    if (!st) {
        front_answer_error(c, 400, -32000, (struct slice){0},
                           "Last-Event-ID names no stream of this session");
        return;
    }
    front_stream_attach(st, c, seq, (struct slice){0});
    if (st == &fs->standing)
        session_listen(fs->session);
}

void front_mcp(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    bool modern = front_is_modern_version(http_value(head, HTTP_FIELD_MCP_VERSION));
    if (head->method == HTTP_POST) {
        post(c, head, b, body);
    } else if (head->method == HTTP_GET && !modern) {
        get(c, head);
    } else if (head->method == HTTP_DELETE && !modern) {
        struct front_session *fs = find_session(c, head, (struct slice){0});
        if (!fs)
            return;
        front_session_close(fs);
        front_answer(c, 200, NULL, (struct slice){0}, (struct slice){0});
    } else {
        front_answer(c, 405, "application/json",
                     modern ? SLICE("Allow: POST\r\n") : SLICE("Allow: GET, POST, DELETE\r\n"),
                     SLICE("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"Method "
                           "not allowed\"}}"));
    }
}
