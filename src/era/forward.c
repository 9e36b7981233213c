#include "era/forward.h"

#include "approval/approve.h"
#include "base/mem.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "era/adapt.h"
#include "era/park.h"
#include "era/task.h"
#include "record/span.h"
#include "server/server.h"
#include "wire/emit.h"

/* The message for the server: our id, our progress token, every other byte unchanged. */
static bool forward_text(struct call *c, struct splice *text) {
    const struct msg *m = c->request;
    splice_init(text, m->bytes, &c->arena);
    if (!m->rpc.id)
        return true;
    struct slice id = arena_u64(&c->arena, c->req.id);
    if (!splice_value(text, &m->tape, m->rpc.id, id))
        return false;
    if (c->renamed) {
        struct buf name;
        buf_init(&name, CALL_NAME_MAX * 6 + 2);
        emit_quote(&name, c->name);
        struct slice json = arena_dup(&c->arena, buf_slice(&name));
        buf_free(&name);
        if (!splice_value(text, &m->tape, tape_get_str(&m->tape, m->rpc.params, "name"), json))
            return false;
    }
    if (c->cross_era)
        return adapt_request_text(c, text);
    span_forward(c, text);
    if (!approve_strip(c, text))
        return false;
    if (!c->token_raw.len)
        return true;
    uint32_t token = tape_path(&m->tape, m->rpc.params, "_meta", "progressToken", NULL);
    return splice_value(text, &m->tape, token, id);
}

/* Arguments that are also sent as headers: made here for a client that sent none, checked here for a
 * server that gets none. If both use HTTP they are forwarded unchanged. */
static enum call_next mirror_arguments(struct call *c) {
    bool server_sees = channel_is_modern(c->channel) && c->channel->link->is_http;
    if ((!c->modern && !c->cross_era) || c->kind != CALL_TOOLS_CALL || c->mirrored == server_sees)
        return CALL_NEXT;
    if (!tools_ready(c->channel, c))
        return CALL_WAIT;
    const struct tool *tool = tool_find(&c->server->tools, c->name);
    if (server_sees && tool && tool->bad_marks)
        return answer_refuse(c, RPC_INVALID_PARAMS, 0,
                             arena_printf(&c->arena, "Unknown tool: %.*s", SLICE_FMT(c->name)).ptr);
    if (server_sees)
        call_set_headers(c, tools_header_lines(c->channel, c), c->mirrored);
    else if (!tools_headers_agree(c->channel, c))
        return answer_refuse(c, RPC_HEADER_MISMATCH, 400, "an Mcp-Param header does not equal its argument");
    return CALL_NEXT;
}

/* Frees a large request once it has been sent. */
static void forget_bytes(struct call *c) {
    call_release_request(c);
    c->tries = CALL_TRIES_MAX;
}

enum call_next forward_step(struct call *c) {
    struct msg *m = c->request;
    c->forwarding = true;
    if (c->modern && m->rpc.id) {
        enum call_next next = CALL_NEXT;
        if (park_resume(c, &next))
            return next;
    }
    struct channel *ch = channel_for(c->session, c->server, c);
    if (!ch)
        return CALL_WAIT;
    channel_take(c, ch);
    c->cross_era = c->modern != channel_is_modern(ch);
    struct link *link = ch->link;
    if (c->subcall && c->kind == CALL_INITIALIZE) {
        /* The gate initialises servers itself; this call only waits until that is done. */
        if (channel_is_modern(ch) && !channel_describe(ch, c))
            return CALL_WAIT;
        answer_set(c, SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
        return CALL_FAIL;
    }
    if (c->cross_era) {
        enum call_next next = adapt_forward(c);
        if (next != CALL_NEXT)
            return next;
    }
    /* A client that its front can pause is not queued here: it is paused while the pipe is full. Other
     * calls wait until the server reads more. */
    bool hold = c->session->front->hold && !link->is_http;
    if (link_busy(link) && !hold) {
        channel_wait(c->channel, c);
        return CALL_WAIT;
    }
    enum call_next mirrored = mirror_arguments(c);
    if (mirrored != CALL_NEXT)
        return mirrored;
    if (m->rpc.id && !link_begin(link, &c->req, c))
        return answer_refuse(c, RPC_INTERNAL, 503, "too many requests under way at this server");
    struct splice text;
    if (!forward_text(c, &text))
        return answer_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    if (link->ops == &link_child_ops)
        msg_flatten(m);
    struct link_out out = {
        .text = &text,
        .block = m->block,
        .method = task_method(c),
        .name = c->name,
        .extra_headers = c->extra_headers,
        .modern = channel_is_modern(ch),
        .opens = c->kind == CALL_INITIALIZE,
        .inner = c->inner && !c->subcall,
        .record = c->record,
    };
    c->tries++;
    call_set_sent(c, link_send(link, &out, m->rpc.id ? &c->req : NULL));
    if (!c->sent && m->rpc.id) {
        link_end(&c->req);
        return answer_refuse(
            c, RPC_INTERNAL, 502,
            arena_printf(&c->arena, "server `%s` cannot be reached", c->server->up.name).ptr);
    }
    if (c->kind == CALL_INITIALIZED)
        channel_listen(c->channel);
    if (link_busy(link) && hold)
        c->session->front->hold(c->session, true);
    if (c->sent && c->kind == CALL_TOOLS_CALL && m->bytes.len > CALL_KEEP_BYTES && !c->cross_era)
        forget_bytes(c);
    return CALL_NEXT;
}
