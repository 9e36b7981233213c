#include "many/builtin.h"

#include "base/mem.h"
#include "call/call.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "many/many.h"
#include "privacy/privacy.h"
#include "server/visible.h"
#include "upstream/builtin.h"
#include "wire/emit.h"

struct builtin {
    struct core *core;
    struct code_server *code;
    struct up_builtin up;
};

/* One link: a session's association with the built-in server. */
struct builtin_peer {
    struct builtin *builtin;
    struct session *session;
    struct link *link;
    struct code_conn *conn;
};

/* A tool called from inside. */
struct builtin_call {
    struct call_sink sink;
    struct builtin_peer *peer;
    struct code_inner *inner; /* NULL when the caller has gone */
};

/* ---- its answer ---- */

static void call_done(struct builtin_call *bc, bool ok, struct slice text) {
    struct code_inner *inner = bc->inner;
    free(bc);
    if (!inner)
        return;
    inner->handle = NULL;
    inner->done(inner, ok, text);
}

static void sink_reply(struct call_sink *sink, const struct session_out *out) {
    struct builtin_call *bc = container_of(sink, struct builtin_call, sink);
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    struct rpc rpc;
    const char *why;
    if (!splice_write(out->text, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK ||
        rpc_read(&t, &rpc, &why) != 0)
        call_done(bc, false, SLICE("the answer cannot be read"));
    else
        call_done(bc, rpc.kind == RPC_RESULT, tape_raw(&t, rpc.body));
}

static void sink_none(struct call_sink *sink) {
    call_done(container_of(sink, struct builtin_call, sink), false, SLICE("the call was cancelled"));
}

/* Forwards only requests: the client's user can be asked to approve the call. */
static void sink_event(struct call_sink *sink, const struct session_out *out) {
    struct session *s = container_of(sink, struct builtin_call, sink)->peer->session;
    if (out->is_request && s->front->deliver)
        s->front->deliver(s, out);
}

static void sink_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static const struct call_sink_ops sink_ops = {
    .reply = sink_reply, .event = sink_event, .streaming = sink_streaming, .none = sink_none};

/* ---- the way in ---- */

#define META                                                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                 \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* In the form of the session's era. */
static void write_call(const struct session *s, struct slice tool, struct slice args, struct buf *out) {
    buf_put_str(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":");
    emit_quote(out, tool);
    buf_put_str(out, ",\"arguments\":");
    buf_put_slice(out, args);
    buf_put_str(out, s->version[0] ? "}}" : "," META "}}");
}

static void start(struct builtin_peer *peer, struct msg *m, struct server *to, uint64_t parent,
                  struct code_inner *inner) {
    struct session *s = peer->session;
    struct builtin_call *bc = mem_zalloc(sizeof(*bc));
    *bc = (struct builtin_call){.peer = peer, .inner = inner};
    bc->sink = (struct call_sink){.ops = &sink_ops,
                                  .modern = !s->version[0],
                                  .to = to,
                                  .list_all = !to,
                                  .parent = parent,
                                  .about = inner->about};
    inner->handle = bc;
    call_start(s, m, &bc->sink);
    msg_unref(m);
}

/* The steps check and record the limits of the grant, as for every call. */
static void op_call_tool(void *owner, struct slice server, struct slice tool, struct slice args,
                         uint64_t parent, struct code_inner *inner) {
    struct builtin_peer *peer = owner;
    struct session *s = peer->session;
    struct server *to = server_find(s->core, server);
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    write_call(s, tool, args, &text);
    struct msg *m = to && !text.full ? call_read_text(s->core, buf_slice(&text)) : NULL;
    if (!m) {
        inner->done(inner, false,
                    to ? SLICE("the arguments cannot be sent")
                       : arena_printf(&a, "Unknown tool: %.*s of a server %.*s",
                                      SLICE_FMT(slice_upto(tool, 128)), SLICE_FMT(slice_upto(server, 128))));
        return;
    }
    start(peer, m, to, parent, inner);
}

/* The lists that a client would get, each from a call of its own, so that hidden tools stay hidden. */
static void op_list_tools(void *owner, struct code_inner *inner) {
    struct builtin_peer *peer = owner;
    const struct session *s = peer->session;
    struct slice text =
        s->version[0]
            ? SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}")
            : SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}");
    start(peer, call_read_text(s->core, text), NULL, 0, inner);
}

static uint64_t mix(uint64_t stamp, struct slice text) { return (stamp ^ map_hash(text)) * 1099511628211u; }

static uint64_t mix_globs(uint64_t stamp, const char *const *globs, size_t count) {
    for (size_t i = 0; i < count; i++)
        stamp = mix(stamp, slice_str(globs[i]));
    return stamp;
}

/* Everything that such a list depends on: servers and their lists, policies, the grant. */
static uint64_t op_tools_stamp(void *owner) {
    const struct session *s = ((struct builtin_peer *)owner)->session;
    const struct principal *p = s->principal;
    uint64_t stamp =
        mix_globs(mix_globs(1, p->servers, p->server_count), p->tools, p->tool_count) + p->tool_count;
    struct server *server;
    size_t at = 0;
    while ((server = visible_next_any(s, &at))) {
        stamp = mix(stamp, slice_str(server->up.name));
        stamp = mix(stamp, slice_of((const char *)&server->tools_changes, sizeof(server->tools_changes)));
        stamp = mix(stamp, slice_str(policy_hash(server_policy(s, server))));
    }
    return stamp;
}

static bool op_drop_tool(void *owner, struct code_inner *inner) {
    (void)owner;
    struct builtin_call *bc = inner->handle;
    const bool sent = bc->sink.call && bc->sink.call->sent;
    inner->handle = NULL;
    bc->inner = NULL;
    if (bc->sink.call)
        call_cancel(bc->sink.call, "the run that made it has ended");
    return sent;
}

static void op_send(void *owner, uint64_t about, struct slice text) {
    struct builtin_peer *peer = owner;
    up_builtin_send(peer->link, about, text);
}

/* With a single server its tokens stay in its own scope: there is no other server whose tools could
 * receive them. */
static struct filter_scope *op_pii_scope(void *owner) {
    struct builtin_peer *peer = owner;
    struct vault *v = peer->session->core->many_servers ? privacy_vault(peer->session) : NULL;
    if (!v)
        return NULL;
    vault_flush(v); /* stores earlier tokens; new ones are stored by the next call, or at the end */
    return vault_scope(v);
}

static const struct code_conn_ops conn_ops = {
    .send = op_send,
    .call_tool = op_call_tool,
    .drop_tool = op_drop_tool,
    .list_tools = op_list_tools,
    .tools_stamp = op_tools_stamp,
    .pii_scope = op_pii_scope,
};

/* ---- as a server ---- */

static void *peer_open(void *ctx, struct link *link, void *owner) {
    struct builtin *b = ctx;
    struct channel *ch = owner;
    struct builtin_peer *peer = mem_zalloc(sizeof(*peer));
    *peer = (struct builtin_peer){.builtin = b, .session = ch->session, .link = link};
    peer->conn = code_conn_new(b->code, &conn_ops, peer, slice_str(ch->session->principal->id));
    return peer;
}

static void peer_receive(void *ctx, struct slice bytes, const struct link_out *out) {
    struct builtin_peer *peer = ctx;
    code_conn_receive(peer->conn, bytes, out->inner, out->record);
}

static void peer_close(void *ctx) {
    struct builtin_peer *peer = ctx;
    code_conn_close(peer->conn);
    free(peer);
}

static const struct up_builtin_ops builtin_ops = {
    .open = peer_open, .receive = peer_receive, .close = peer_close};

int builtin_open(struct core *core, struct server *server, const struct code_config *config,
                 struct builtin **ret_builtin, struct err *err) {
    struct builtin *b = mem_zalloc(sizeof(*b));
    struct code_config own = *config;
    own.loop = core->up.loop;
    own.spawn = core->up.spawn;
    own.name = server->up.name;
    own.node = core->node;
    b->core = core;
    b->up = (struct up_builtin){.ops = &builtin_ops, .ctx = b};
    if (code_server_open(&own, &b->code, err) < 0) {
        free(b);
        return -1;
    }
    core->code = b->code;
    server->up.builtin = &b->up;
    server->up.era = (struct up_era){.modern = UP_YES, .legacy = UP_YES, .pinned = true};
    list_init(&server->up.era.waiters);
    *ret_builtin = b;
    return 0;
}

bool builtin_shows(const struct server *server, struct slice tool) {
    const struct builtin *b = server->up.builtin->ctx;
    return code_server_leads(b->code, tool);
}

void builtin_close(struct builtin *b) {
    if (!b)
        return;
    code_server_close(b->code);
    free(b);
}
