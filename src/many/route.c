#include "many/route.h"

#include "base/mem.h"
#include "call/answer.h"
#include "call/client.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "many/claim.h"
#include "many/gather.h"
#include "many/presence.h"
#include "mcp/names.h"
#include "mcp/translate.h"
#include "server/task_owner.h"
#include "server/visible.h"
#include "wire/clash.h"

#define LEGACY_NEWEST "2025-11-25"

static enum call_next no_such(struct call *c, const char *what) {
    const char *text = arena_printf(&c->arena, "%s: %.*s", what, SLICE_FMT(c->name)).ptr;
    if (!c->subject || strcmp(c->subject, "uri") != 0)
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, text);
    struct slice uri = answer_quoted(&c->arena, c->name);
    answer_error_data(c, c->modern ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND, text,
                      arena_printf(&c->arena, "{\"uri\":%.*s}", SLICE_FMT(uri)));
    return CALL_FAIL;
}

/* The message with the server's own names: policies, records and the server see the same. */
static enum call_next rename_in_request(struct call *c, uint32_t node, struct slice name) {
    struct msg *m = c->request;
    struct splice text;
    splice_init(&text, m->bytes, &c->arena);
    cleanup_buf struct buf bytes;
    buf_init(&bytes, MSG_BYTES_MAX);
    if (!splice_value(&text, &m->tape, node, answer_quoted(&c->arena, name)) || !splice_write(&text, &bytes))
        return answer_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    struct msg *renamed = call_read_text(c->session->core, buf_slice(&bytes));
    if (!renamed)
        return answer_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    c->name = name;
    call_replace_request(c, renamed);
    return CALL_NEXT;
}

/* ---- tools ---- */

static bool find_short(struct call *c, struct server *server, struct slice shown, struct slice *ret_name) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&server->tools.by_name, &at))) {
        if (slice_eq(names_show(&c->arena, server_prefix(server), e->key), shown)) {
            *ret_name = arena_dup(&c->arena, e->key);
            return true;
        }
    }
    return false;
}

/* Pages of MCP Apps call the tools of their own server by the names they were written with. */
static struct server *app_server(struct call *c) {
    struct server *found = NULL, *server;
    size_t at = 0;
    while ((server = visible_next(c->session, &at))) {
        if (!server->tools.has_apps || !tool_find(&server->tools, c->name))
            continue;
        if (found)
            return NULL; /* ambiguous */
        found = server;
    }
    return found;
}

static enum call_next find_prefixed_tool(struct call *c) {
    struct slice prefix, name, shown = c->name;
    struct server *server =
        names_split(shown, &prefix, &name) ? visible_by_prefix(c->session, prefix) : app_server(c);
    if (!server)
        return no_such(c, "Unknown tool");
    if (names_split(shown, &prefix, &name) && slice_eq(prefix, server_prefix(server))) {
        if (names_is_short(shown) && !tool_find(&server->tools, name)) {
            struct channel *ch = channel_for(c->session, server, c);
            if (!ch || !tools_ready(ch, c))
                return CALL_WAIT;
            find_short(c, server, shown, &name);
        }
        c->name = name;
        c->renamed = true;
    }
    c->server = server;
    return CALL_NEXT;
}

/* ---- names without a prefix ---- */

static const char *const tool_lists[] = {"tools/list", NULL};
static const char *const prompt_lists[] = {"prompts/list", NULL};
static const char *const resource_lists[] = {"resources/list", "resources/templates/list", "skills/list",
                                             NULL};

static struct server *only_one(const struct session *s, const char *capability) {
    size_t at = 0;
    struct server *found = NULL, *server;
    while ((server = visible_next(s, &at))) {
        if (capability && !server_offers(server, capability))
            continue;
        if (found)
            return NULL;
        found = server;
    }
    return found;
}

static struct server *look_up(struct call *c, char kind, struct slice name) {
    const struct session *s = c->session;
    struct server *server = only_one(s, NULL);
    if (!server)
        server = claim_owner(s, kind, name);
    if (!server && kind == 'r')
        server = claim_owner(s, 'T', name);
    if (!server && kind == 'r')
        server = claim_template_owner(s, name);
    return server;
}

/* The server of a name; requests the lists when no server has it yet. */
static enum call_next find_bare(struct call *c, char kind, struct slice name) {
    c->server = look_up(c, kind, name);
    if (!c->server && !c->gather) {
        gather_search(c, kind == 't' ? tool_lists : kind == 'p' ? prompt_lists : resource_lists);
        if (c->gathering)
            return CALL_WAIT; /* then this step runs again */
        c->server = look_up(c, kind, name);
    }
    if (!c->server && kind == 'r')
        c->server = only_one(c->session, "resources");
    if (!c->server)
        return no_such(c, kind == 't'   ? "Unknown tool"
                          : kind == 'p' ? "Unknown prompt"
                                        : "Resource not found");
    return CALL_NEXT;
}

/* ---- other messages about one thing ---- */

static enum call_next find_prompt(struct call *c, uint32_t node) {
    struct slice prefix, name;
    if (!visible_renames(c->session))
        return find_bare(c, 'p', c->name);
    c->server = names_split(c->name, &prefix, &name) ? visible_by_prefix(c->session, prefix) : NULL;
    return c->server ? rename_in_request(c, node, name) : no_such(c, "Unknown prompt");
}

static enum call_next find_resource(struct call *c, uint32_t node) {
    struct slice prefix, uri;
    if (!visible_renames(c->session))
        return find_bare(c, 'r', c->name);
    bool ours = names_split_uri(&c->arena, c->name, &prefix, &uri);
    c->server = ours ? visible_by_prefix(c->session, prefix) : NULL;
    return c->server ? rename_in_request(c, node, uri) : no_such(c, "Resource not found");
}

static bool takes_tasks(const struct msg *m) {
    uint32_t caps =
        m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", UP_META_CAPABILITIES, NULL) : 0;
    return translate_client_bits(&m->tape, caps) & TRANSLATE_TAKES_TASKS;
}

static enum call_next find_task(struct call *c, uint32_t node) {
    struct session *s = c->session;
    /* A client without support for tasks gets this error too, so it does not reveal which tasks exist. */
    if (c->modern && !takes_tasks(c->request))
        return answer_lacks(c, translate_ask_capability(TRANSLATE_TAKES_TASKS));
    struct slice prefix, id = c->name;
    if (visible_renames(s)) {
        c->server = names_split(c->name, &prefix, &id) ? visible_by_prefix(s, prefix) : NULL;
        if (!c->server || !task_owner_is(s, c->server, id))
            return no_such(c, "Task not found");
        return rename_in_request(c, node, id);
    }
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at)))
        if (task_owner_is(s, server, id))
            c->server = server;
    return c->server ? CALL_NEXT : no_such(c, "Task not found");
}

static enum call_next find_completion(struct call *c) {
    const struct tape *t = &c->request->tape;
    uint32_t ref = rpc_param(t, &c->request->rpc, "ref");
    uint32_t name = ref ? tape_get_str(t, ref, "name") : 0, uri = ref ? tape_get_str(t, ref, "uri") : 0;
    uint32_t node = name ? name : uri;
    if (!node || !tape_is(t, node, TAPE_STRING))
        return answer_refuse(c, RPC_INVALID_PARAMS, 400, "params.ref must name a prompt or a resource");
    c->name = arena_dup(&c->arena, tape_text(t, node, &c->arena));
    return name ? find_prompt(c, node) : find_resource(c, node);
}

static enum call_next find_by_subject(struct call *c) {
    uint32_t node = tape_get_str(&c->request->tape, c->request->rpc.params, c->subject);
    if (strcmp(c->subject, "uri") == 0)
        return node ? find_resource(c, node) : no_such(c, "Resource not found");
    if (strcmp(c->subject, "taskId") == 0)
        return node ? find_task(c, node) : no_such(c, "Task not found");
    return find_prompt(c, node);
}

/* ---- messages that the gate answers ---- */

/* The result of the negotiation with the client. Its servers are initialised with the client's own params
 * when they are needed. */
static enum call_next keep_initialize(struct call *c) {
    static const char *const known[] = {"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18",
                                        LEGACY_NEWEST};
    struct session *s = c->session;
    const struct tape *t = &c->request->tape;
    uint32_t params = c->request->rpc.params;
    uint32_t wanted = params ? tape_get_str(t, params, "protocolVersion") : 0;
    if (s->init_done)
        return answer_refuse(c, RPC_INVALID_REQUEST, 400, "this session has been initialised");
    if (!wanted || !tape_is(t, wanted, TAPE_STRING))
        return answer_refuse(c, RPC_INVALID_PARAMS, 400, "params.protocolVersion must be a string");
    struct slice raw = tape_raw(t, params);
    if (raw.len > SESSION_INIT_MAX)
        return answer_refuse(c, RPC_INVALID_PARAMS, 400, "the params of initialize are too large");
    const char *version = LEGACY_NEWEST;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (tape_eq(t, wanted, slice_str(known[i])))
            version = known[i];
    client_set_version(s, slice_str(version));
    client_keep_initialize(s, raw);
    return CALL_NEXT;
}

static enum call_next handle_notification(struct call *c) {
    struct session *s = c->session;
    if (c->kind == CALL_INITIALIZED)
        s->initialized = true;
    if (c->kind == CALL_INITIALIZED || slice_is(c->method, "notifications/roots/list_changed"))
        presence_notify_servers(s, c->method);
    return CALL_FAIL; /* there is nothing to answer */
}

static enum call_next find_server(struct call *c) {
    struct session *s = c->session;
    bool gone = c->kind == CALL_INITIALIZE || c->kind == CALL_PING || c->kind == CALL_SET_LEVEL ||
                slice_ends(c->method, SLICE("/subscribe")) || slice_ends(c->method, SLICE("/unsubscribe")) ||
                slice_is(c->method, "tasks/list") || slice_is(c->method, "tasks/result");
    if (!c->request->rpc.id)
        return handle_notification(c);
    if (c->modern ? gone : c->kind == CALL_DISCOVER || c->kind == CALL_LISTEN)
        return answer_refuse(c, RPC_METHOD_NOT_FOUND, c->modern ? 404 : 0, "Method not found");
    switch (c->kind) {
    case CALL_TOOLS_CALL:
        return visible_renames(s) ? find_prefixed_tool(c) : find_bare(c, 't', c->name);
    case CALL_COMPLETE:
        return find_completion(c);
    case CALL_INITIALIZE:
        if (keep_initialize(c) == CALL_FAIL)
            return CALL_FAIL;
        break;
    case CALL_TOOLS_LIST:
    case CALL_LIST:
    case CALL_DISCOVER:
    case CALL_SET_LEVEL:
    case CALL_LISTEN:
        break;
    default:
        if (c->subject)
            return find_by_subject(c);
        return answer_refuse(c, RPC_METHOD_NOT_FOUND, c->modern ? 404 : 0, "Method not found");
    }
    gather_start(c);
    return CALL_GATHER;
}

static enum call_next check_task(struct call *c) {
    bool about_task = c->subject && strcmp(c->subject, "taskId") == 0;
    if (!about_task || !c->session->core->many_servers || task_owner_is(c->session, c->server, c->name))
        return CALL_NEXT;
    if (c->modern && slice_is(c->method, "tasks/result")) /* that era has no such method */
        return answer_refuse(c, RPC_METHOD_NOT_FOUND, 404, "Method not found");
    return no_such(c, "Task not found");
}

/* ---- the step ---- */

static enum call_next read_subject(struct call *c) {
    const struct msg *m = c->request;
    if (!c->subject)
        return CALL_NEXT;
    if (clash_alike(&m->tape, m->rpc.params, slice_str(c->subject)))
        return answer_refuse(
            c, RPC_INVALID_PARAMS, 400,
            arena_printf(&c->arena, "a key differs only in case from params.%s", c->subject).ptr);
    uint32_t node = tape_get_str(&m->tape, m->rpc.params, c->subject);
    if (node && tape_is(&m->tape, node, TAPE_STRING) && tape_node(&m->tape, node)->len <= CALL_NAME_MAX)
        c->name = tape_text(&m->tape, node, &c->arena);
    else if (node || c->subject_required)
        return answer_refuse(c, RPC_INVALID_PARAMS, 400,
                             arena_printf(&c->arena, "params.%s must be a string of at most %d bytes",
                                          c->subject, CALL_NAME_MAX)
                                 .ptr);
    return CALL_NEXT;
}

static enum call_next read_arguments(struct call *c) {
    const struct msg *m = c->request;
    if (c->kind == CALL_TOOLS_CALL) {
        if (clash_alike(&m->tape, m->rpc.params, SLICE("arguments")))
            return answer_refuse(c, RPC_INVALID_PARAMS, 400,
                                 "a key differs only in case from params.arguments");
        c->args = tape_get_str(&m->tape, m->rpc.params, "arguments");
        if (c->args && !tape_is(&m->tape, c->args, TAPE_OBJECT))
            return answer_refuse(c, RPC_INVALID_PARAMS, 400, "params.arguments must be an object");
    } else {
        c->args = m->rpc.params;
    }
    c->wants_log = c->modern && m->rpc.params &&
                   tape_path(&m->tape, m->rpc.params, "_meta", "io.modelcontextprotocol/logLevel", NULL);
    uint32_t token = m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", "progressToken", NULL) : 0;
    if (token && m->rpc.id && !tape_is(&m->tape, token, TAPE_NULL)) {
        if (!tape_is(&m->tape, token, TAPE_STRING) && !tape_is(&m->tape, token, TAPE_NUMBER))
            return answer_refuse(c, RPC_INVALID_PARAMS, 400,
                                 "params._meta.progressToken must be a string or a number");
        c->token_raw = arena_dup(&c->arena, tape_raw(&m->tape, token));
    }
    return CALL_NEXT;
}

enum call_next route_step(struct call *c) {
    const struct msg *m = c->request;
    if (!c->inner)
        c->server = c->session->only;
    if (!m->rpc.id && c->kind == CALL_CANCELLED) {
        call_cancel_named(c->session, c->request);
        return CALL_DONE;
    }
    if (m->rpc.id && c->kind == CALL_PING && !c->modern) {
        answer_set(c, arena_printf(&c->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                   SLICE_FMT(c->id_raw)));
        return CALL_FAIL;
    }
    /* Resumed after a search that was started below. */
    if (!c->gather && read_subject(c) == CALL_FAIL)
        return CALL_FAIL;
    /* The modern era has no such request, and servers that support both eras answer it in different ways. */
    if (c->modern && c->kind == CALL_INITIALIZE && m->rpc.id)
        return answer_refuse(c, RPC_METHOD_NOT_FOUND, 404, "Method not found");
    enum call_next found = c->server ? check_task(c) : find_server(c);
    if (found != CALL_NEXT)
        return found;
    if (c->kind == CALL_INITIALIZED)
        c->session->initialized = true;
    return read_arguments(c);
}
