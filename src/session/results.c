#include "session/results.h"

#include "call/answer.h"
#include "call/client.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "era/listen.h"
#include "guard/clean.h"
#include "mcp/translate.h"
#include "privacy/redact.h"
#include "server/server.h"

static enum call_next not_rewritten(struct call *c) {
    return answer_refuse(c, RPC_INTERNAL, 502, "the server's answer could not be rewritten");
}

enum call_next results_begin(struct call *c) {
    const struct msg *m = c->response;
    channel_works(c->channel);
    /* Across eras the server's HTTP status has no meaning for the client. */
    answer_set_response(c, c->cross_era ? 0 : m->http_status);
    uint32_t id = tape_get_str(&m->tape, 0, "id"); /* null in an error whose server did not read ours */
    bool good = id ? splice_value(c->answer, &m->tape, id, c->id_raw)
                   : splice_add_member(c->answer, &m->tape, 0, SLICE("id"), c->id_raw);
    return good ? CALL_NEXT : not_rewritten(c);
}

enum call_next results_reconsider_era(struct call *c) {
    if (c->kind != CALL_INITIALIZE || c->modern || c->response->rpc.kind != RPC_ERROR)
        return CALL_NEXT;
    if (!channel_is_modern(c->channel) && !channel_reconsider(c->channel, c))
        return CALL_NEXT;
    return list_linked(&c->wait) ? CALL_WAIT : CALL_RESEND;
}

enum call_next results_learn(struct call *c) {
    if (c->kind == CALL_DISCOVER || c->kind == CALL_INITIALIZE)
        server_learn_description(c->server, &c->response->tape, c->response->rpc.body);
    else if (c->kind == CALL_SET_LEVEL && !c->subcall)
        listen_keep_level(c);
    else if (slice_is(c->method, "resources/subscribe"))
        listen_keep_subscription(c, true);
    else if (slice_is(c->method, "resources/unsubscribe"))
        listen_keep_subscription(c, false);
    return CALL_NEXT;
}

enum call_next results_keep_private(struct call *c) {
    const struct msg *m = c->response;
    /* A translated response was already marked private by the translation. */
    uint32_t scope = c->modern && !c->cross_era ? tape_get_str(&m->tape, m->rpc.body, "cacheScope") : 0;
    bool good = !scope || !tape_eq(&m->tape, scope, SLICE("public")) ||
                splice_value(c->answer, &m->tape, scope, SLICE("\"private\""));
    return good ? CALL_NEXT : not_rewritten(c);
}

enum call_next results_initialized(struct call *c) {
    const struct msg *m = c->response;
    if (c->kind != CALL_INITIALIZE)
        return CALL_NEXT;
    uint32_t version = tape_get_str(&m->tape, m->rpc.body, "protocolVersion");
    if (version && tape_is(&m->tape, version, TAPE_STRING))
        client_set_version(c->session, tape_text(&m->tape, version, &c->arena));
    client_keep_initialize(c->session, c->request->rpc.params
                                           ? tape_raw(&c->request->tape, c->request->rpc.params)
                                           : SLICE("{}"));
    return CALL_NEXT;
}

/* ---- tools/list ---- */

static bool hides_tool(void *ctx, const struct tape *t, uint32_t elem) {
    struct call *c = ctx;
    uint32_t name = tape_get_str(t, elem, "name");
    /* A tool without a usable name cannot be judged, so it is not shown. */
    if (!name || !tape_is(t, name, TAPE_STRING))
        return true;
    struct slice text = tape_text(t, name, &c->arena);
    if (!principal_may_call(c->session->principal, slice_str(c->server->up.name), text))
        return true;
    const struct tool *tool = tool_find(&c->server->tools, text);
    /* Tools with invalid header marks cannot be used where the gate makes the HTTP headers itself. */
    if (tool && tool->bad_marks && !c->mirrored && channel_is_modern(c->channel) && c->channel->link->is_http)
        return true;
    return policy_hides(c->policy, text, tool ? &tool->traits : &(struct policy_traits){0}) ||
           clean_hides(c, tool, elem, c->list_serial);
}

static bool translate_tools(struct call *c, uint32_t tools) {
    const struct tape *t = &c->response->tape;
    if (!c->cross_era || c->modern)
        return true;
    bool tasks = c->channel->server_bits & TRANSLATE_MAKES_TASKS &&
                 translate_knows_tasks(slice_str(c->session->version));
    TAPE_FOR_ELEM(t, tools, i) {
        if (!hides_tool(c, t, i) && !translate_tool_down(c->answer, t, i, tasks))
            return false;
    }
    return true;
}

enum call_next results_filter_tools(struct call *c) {
    const struct msg *m = c->response;
    if (c->kind != CALL_TOOLS_LIST)
        return CALL_NEXT;
    tools_learn_answer(c);
    uint32_t tools = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (tools && tape_is(&m->tape, tools, TAPE_NULL))
        return CALL_NEXT; /* how Go writes an empty list */
    if (!tools || !tape_is(&m->tape, tools, TAPE_ARRAY) ||
        !splice_drop_elems(c->answer, &m->tape, tools, hides_tool, c) || !translate_tools(c, tools) ||
        !clean_list(c, tools, c->list_serial, c->answer))
        return answer_refuse(c, RPC_INTERNAL, 502, "the server's list of tools could not be filtered");
    redact_list(c, tools, c->answer);
    return CALL_NEXT;
}

/* ---- subscriptions/listen ---- */

enum call_next results_subscription(struct call *c) {
    const struct msg *m = c->response;
    uint32_t id = c->kind == CALL_LISTEN ? tape_path(&m->tape, m->rpc.body, "_meta",
                                                     "io.modelcontextprotocol/subscriptionId", NULL)
                                         : 0;
    if (id)
        splice_value(c->answer, &m->tape, id, c->id_raw);
    return CALL_NEXT;
}
