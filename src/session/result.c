/* FILTER: what of the server's answer the client may see. */
#include "session/steps.h"

#include "call/answer.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "era/adapt.h"
#include "era/input.h"
#include "era/task.h"
#include "guard/clean.h"
#include "guard/guard.h"
#include "many/many.h"
#include "many/route.h"
#include "mcp/translate.h"
#include "privacy/redact.h"
#include "server/server.h"
#include "session/session.h"

#include <stdio.h>

static bool hides_tool(void *ctx, const struct tape *t, uint32_t elem) {
    struct call *c = ctx;
    uint32_t name = tape_get_str(t, elem, "name");
    /* A tool without a usable name cannot be judged, so it is not shown. */
    if (!name || !tape_is(t, name, TAPE_STRING))
        return true;
    struct slice text = tape_text(t, name, &c->arena);
    if (!principal_may_call(c->session->principal, slice_str(c->channel->server->up.name), text))
        return true;
    const struct tool *tool = tools_find(c->channel, text);
    /* Where the gate itself is the client over HTTP, such tools are not for use. */
    if (tool && tool->bad_marks && !c->mirrored && channel_is_modern(c->channel) && c->channel->link->is_http)
        return true;
    return policy_hides(c->policy, text, tool ? &tool->traits : &(struct policy_traits){0}) ||
           guard_hides(c, tool, elem, c->list_serial);
}

static bool translate_tools(struct call *c, uint32_t tools, struct splice *text) {
    const struct tape *t = &c->response->tape;
    if (!c->cross_era || c->modern)
        return true;
    bool tasks = c->channel->server_bits & TRANSLATE_MAKES_TASKS &&
                 translate_knows_tasks(slice_str(c->session->version));
    TAPE_FOR_ELEM(t, tools, i) {
        if (!hides_tool(c, t, i) && !translate_tool_down(text, t, i, tasks))
            return false;
    }
    return true;
}

static enum call_next filter_tools(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t tools = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (!tools || !tape_is(&m->tape, tools, TAPE_ARRAY) ||
        !splice_drop_elems(text, &m->tape, tools, hides_tool, c) || !translate_tools(c, tools, text) ||
        !clean_list(c, tools, c->list_serial, text))
        return call_refuse(c, RPC_INTERNAL, 502, "the server's list of tools could not be filtered");
    return CALL_NEXT;
}

/* initialize was answered: what was agreed holds for the session and for a restart of the server. */
static void note_initialized(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->response;
    uint32_t version = tape_get_str(&m->tape, m->rpc.body, "protocolVersion");
    if (version && tape_is(&m->tape, version, TAPE_STRING))
        snprintf(s->version, sizeof(s->version), "%.*s", SLICE_FMT(tape_text(&m->tape, version, &c->arena)));
    session_keep_initialize(s, c->request->rpc.params ? tape_raw(&c->request->tape, c->request->rpc.params)
                                                      : SLICE("{}"));
}

/* Content that a model reads, and that others may have written. */
static bool brings_content(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || slice_is(c->method, "resources/read") ||
           slice_is(c->method, "prompts/get") || slice_is(c->method, "tasks/result") ||
           slice_is(c->method, "tasks/get"); /* in the newer era, of a task that is over */
}

/* The call was made and counts; only its result is kept back, for the reason that the verdict gives. */
static enum call_next withhold_result(struct call *c, const char *outcome) {
    struct slice why = policy_verdict_text(c->policy, &c->verdict, &c->arena);
    if (c->kind == CALL_TOOLS_CALL)
        c->answer = answer_text(c, answer_denial_text(c, why));
    else
        answer_error(c, RPC_INVALID_REQUEST, 0, why.ptr);
    c->answer_msg = NULL;
    c->http_status = 0;
    c->outcome = outcome;
    return CALL_NEXT;
}

static struct slice too_large(struct call *c, uint64_t most) {
    return arena_printf(&c->arena, "The result has %zu bytes; the policy lets %llu pass",
                        c->response->bytes.len, (unsigned long long)most);
}

static enum call_next withhold_large(struct call *c) {
    struct policy_verdict *v = &c->verdict;
    v->outcome = POLICY_DENY;
    v->reason = POLICY_BY_RULE;
    v->rule = SLICE("max_result_bytes");
    v->text = c->findings = too_large(c, v->result_bytes_max);
    return withhold_result(c, "result_too_large");
}

/* As a shadow rule would have it: on record, and the result passes. */
static void note_large(struct call *c) {
    c->findings =
        arena_printf(&c->arena, "%.*s%sshadow: %.*s", SLICE_FMT(c->findings), c->findings.len ? "; " : "",
                     SLICE_FMT(too_large(c, c->verdict.result_bytes_shadow)));
}

/* initialize was refused: by a server of the stateless era? Then it is not sent again but answered here. */
static bool is_modern_server(struct call *c) {
    if (!channel_is_modern(c->channel) && !channel_reconsider(c->channel, c))
        return false;
    if (list_linked(&c->wait))
        return true;
    call_rewind(c);
    c->step--; /* it is the next one */
    return true;
}

/* What passed this gate was made for one principal: nobody may keep it for others, whatever the server says.
 */
static bool keep_private(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t scope = c->modern ? tape_get_str(&m->tape, m->rpc.body, "cacheScope") : 0;
    return !scope || !tape_eq(&m->tape, scope, SLICE("public")) ||
           splice_value(text, &m->tape, scope, SLICE("\"private\""));
}

/* What the answer says about the server and its link. */
static void note_answer(struct call *c) {
    if (c->kind == CALL_DISCOVER || c->kind == CALL_INITIALIZE)
        server_learn_description(c->server, &c->response->tape, c->response->rpc.body);
    else if (c->kind == CALL_SET_LEVEL && !c->subcall)
        channel_keep_level(c);
    else if (slice_is(c->method, "resources/subscribe"))
        channel_keep_subscription(c, true);
    else if (slice_is(c->method, "resources/unsubscribe"))
        channel_keep_subscription(c, false);
}

enum call_next result_step_filter(struct call *c) {
    if (c->response && adapt_retry(c))
        return CALL_NEXT;
    if (c->response && c->cross_era) {
        enum call_next next = task_answer(c);
        if (next != CALL_NEXT)
            return next;
    }
    struct msg *m = c->response;
    if (!m) /* none, or it is sent once more */
        return CALL_NEXT;
    c->channel->failures = 0;
    c->http_status = m->http_status;
    struct splice *text = answer_text(c, m->bytes);
    c->answer_msg = m;
    c->answer = text;
    if (m->rpc.id ? !splice_value(text, &m->tape, m->rpc.id, c->id_raw)
                  : !splice_add_member(text, &m->tape, 0, SLICE("id"), c->id_raw))
        return call_refuse(c, RPC_INTERNAL, 502, "the server's answer could not be rewritten");
    if (c->kind == CALL_INITIALIZE && !c->modern && m->rpc.kind == RPC_ERROR && is_modern_server(c))
        return list_linked(&c->wait) ? CALL_WAIT : CALL_NEXT;
    if (c->cross_era) {
        enum call_next next = adapt_answer(c, text);
        if (next != CALL_NEXT || !c->response) /* or it is sent once more */
            return next;
    }
    if (c->modern && !c->cross_era && !input_allowed(c))
        return withhold_result(c, "denied");
    if (!route_back(c, text, m))
        return call_refuse(c, RPC_INTERNAL, 502, "the names in the server's answer could not be rewritten");
    if (m->rpc.kind != RPC_RESULT) {
        redact_answer(c, text);
        return CALL_NEXT;
    }
    note_answer(c);
    if (!keep_private(c, text))
        return call_refuse(c, RPC_INTERNAL, 502, "the server's answer could not be rewritten");
    task_owner_limit(c, &c->verdict);
    if (c->verdict.result_bytes_max && m->bytes.len > c->verdict.result_bytes_max)
        return withhold_large(c);
    if (c->kind == CALL_INITIALIZE)
        note_initialized(c);
    if (c->kind == CALL_INITIALIZE || slice_is(c->method, "server/discover"))
        clean_description(c, text);
    if (brings_content(c) && !clean_result(c, text))
        return withhold_result(c, "poisoned");
    if (c->verdict.result_bytes_shadow && m->bytes.len > c->verdict.result_bytes_shadow)
        note_large(c);
    redact_answer(c, text); /* last: it must see what the others have made of it */
    if (c->kind == CALL_TOOLS_LIST) {
        uint32_t params = c->request->rpc.params;
        c->list_serial =
            tools_learn(c->channel, m, !params || !tape_get_str(&c->request->tape, params, "cursor"));
        return filter_tools(c, text);
    }
    if (c->kind == CALL_LISTEN) {
        uint32_t id =
            tape_path(&m->tape, m->rpc.body, "_meta", "io.modelcontextprotocol/subscriptionId", NULL);
        if (id)
            splice_value(text, &m->tape, id, c->id_raw);
    }
    return CALL_NEXT;
}
