/* Tools for programs without MCP, above all code that a model wrote:
 *
 *   GET  /mcp/servers         ["files","stripe"]
 *   GET  /mcp/{server}/tools  the result of tools/list
 *   POST /mcp/call            {"server","tool","args"} → the result of tools/call
 *
 * Each becomes an ordinary request of the modern era in the principal's own session and goes through all
 * steps.
 */
#include "front/auth.h"
#include "front/front.h"

#include "base/check.h"
#include "base/mem.h"
#include "many/many.h"
#include "session/session.h"
#include "wire/emit.h"

#define PLAIN_META                                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"       \
    "clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":{\"name\":\"http\",\"version\":\"1\"}}"

struct plain { /* a request that waits for its answer */
    struct call_sink sink;
    struct front_conn *conn; /* NULL when the client disconnected */
};

static void not_found(struct front_conn *c) {
    front_answer(c, 404, "application/json", (struct slice){0}, SLICE("{\"error\":\"Not found\"}"));
}

/* {"error":MESSAGE,"code":N,"data":…}: the JSON-RPC error as plain HTTP. */
static void answer_error(struct front_conn *c, const struct tape *t, uint32_t error) {
    struct arena *a = &c->front->scratch;
    uint32_t code = tape_get_str(t, error, "code"), message = tape_get_str(t, error, "message");
    uint32_t data = tape_get_str(t, error, "data");
    int64_t number = RPC_INTERNAL;
    if (code)
        tape_int(t, code, &number);
    struct slice text = message ? tape_text(t, message, a) : SLICE("failed");
    if (number == RPC_INVALID_PARAMS && slice_starts(text, SLICE("Unknown tool"))) {
        not_found(c);
        return;
    }
    cleanup_buf struct buf body;
    buf_init(&body, MSG_BYTES_MAX);
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    emit_key(&e, "error");
    emit_str(&e, text);
    emit_key(&e, "code");
    emit_int(&e, number);
    if (data) {
        emit_key(&e, "data");
        emit_raw(&e, tape_raw(t, data));
    }
    emit_object_end(&e);
    int status = number == RPC_INTERNAL ? 502 : number == RPC_INVALID_PARAMS ? 400 : 403;
    front_answer(c, status, "application/json", (struct slice){0}, buf_slice(&body));
}

static void plain_reply(struct call_sink *sink, const struct session_out *out) {
    struct plain *p = container_of(sink, struct plain, sink);
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX + 1024);
    cleanup_tape struct tape t;
    tape_init(&t);
    bool read = splice_write(out->text, &text) && tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK;
    uint32_t result = read ? tape_get_str(&t, 0, "result") : 0,
             error = read ? tape_get_str(&t, 0, "error") : 0;
    if (p->conn && result)
        front_answer(p->conn, 200, "application/json", (struct slice){0}, tape_raw(&t, result));
    else if (p->conn && error && tape_is(&t, error, TAPE_OBJECT))
        answer_error(p->conn, &t, error);
    else if (p->conn)
        front_answer(p->conn, 502, "application/json", (struct slice){0},
                     SLICE("{\"error\":\"no usable answer\"}"));
    free(p);
}

static void plain_event(struct call_sink *sink, const struct session_out *out) { (void)sink, (void)out; }
static void plain_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static void plain_none(struct call_sink *sink) {
    struct plain *p = container_of(sink, struct plain, sink);
    if (p->conn)
        front_conn_close(p->conn);
    free(p);
}

static const struct call_sink_ops plain_ops = {
    .reply = plain_reply, .event = plain_event, .streaming = plain_streaming, .none = plain_none};

static void on_gone(void *owner) {
    struct plain *p = owner;
    p->conn = NULL;
    CHECK(p->sink.call);
    call_cancel(p->sink.call, "client disconnected"); /* ends in plain_none() */
}

static void on_quiet(void *owner) { (void)owner; }

static void ask(struct front_conn *c, struct slice message) {
    struct session *s = front_stateless(c);
    struct msg *m = call_read_text(c->front->core, message);
    if (!s || !m) {
        front_answer(c, s ? 400 : 503, "application/json", (struct slice){0},
                     s ? SLICE("{\"error\":\"no usable call\"}")
                       : SLICE("{\"error\":\"too many sessions\"}"));
        msg_unref(m);
        return;
    }
    struct plain *p = mem_zalloc(sizeof(*p));
    *p = (struct plain){.sink = {.ops = &plain_ops, .modern = true}, .conn = c};
    front_conn_take(c, p, on_gone, on_quiet, on_quiet);
    session_receive(s, m, &p->sink);
    msg_unref(m);
}

void front_plain_servers(struct front_conn *c) {
    const struct core *core = c->front->core;
    cleanup_buf struct buf body;
    buf_init(&body, MSG_BYTES_MAX);
    struct emit e;
    emit_init(&e, &body);
    emit_array(&e);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && principal_may_use(c->principal, slice_str(core->servers[i]->up.name)))
            emit_cstr(&e, core->servers[i]->up.name);
    emit_array_end(&e);
    front_answer(c, 200, "application/json", (struct slice){0}, buf_slice(&body));
}

void front_plain_tools(struct front_conn *c) {
    ask(c, SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" PLAIN_META "}}"));
}

static bool read_call(struct front_conn *c, const struct tape *t, struct buf *message) {
    uint32_t tool = tape_get_str(t, 0, "tool"), args = tape_get_str(t, 0, "args");
    if (!tool || !tape_is(t, tool, TAPE_STRING) || (args && !tape_is(t, args, TAPE_OBJECT))) {
        front_record_refusal(c, NULL, "not a tool call with an object of arguments");
        front_answer(
            c, 400, "application/json", (struct slice){0},
            SLICE("{\"error\":\"write {\\\"server\\\",\\\"tool\\\",\\\"args\\\"}, the last an object\"}"));
        return false;
    }
    buf_put_str(message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":");
    buf_put_slice(message, tape_raw(t, tool));
    buf_put_str(message, ",\"arguments\":");
    buf_put_slice(message, args ? tape_raw(t, args) : SLICE("{}"));
    buf_put_str(message, "," PLAIN_META "}}");
    return true;
}

void front_plain_call(struct front_conn *c, struct slice body) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf message;
    buf_init(&message, MSG_BYTES_MAX);
    if (tape_parse(&t, body, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT) || t.has_nul) {
        front_record_refusal(c, NULL, "the body is not a JSON object");
        front_answer(c, 400, "application/json", (struct slice){0},
                     SLICE("{\"error\":\"the body is not a JSON object\"}"));
        return;
    }
    struct slice name = tape_text_of(&t, 0, "server", &c->front->scratch);
    c->only = server_find(c->front->core, name);
    if (!c->only)
        not_found(c);
    else if (front_may_enter(c) && read_call(c, &t, &message))
        ask(c, buf_slice(&message));
}
