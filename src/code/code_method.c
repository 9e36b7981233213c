#include "code/code_method.h"

#include "base/mem.h"
#include "code/code_arg.h"
#include "code/code_log.h"
#include "code/code_reply.h"
#include "code/code_req.h"
#include "code/code_task.h"
#include "code/code_tool.h"
#include "code/outgoing.h"
#include "code/package.h"
#include "code/resource.h"

#include <stdio.h>

#define LATEST "2025-11-25"
#define MODERN "2026-07-28"

static const char *const legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", LATEST};

static void put_server_info(const struct code_server *s, struct emit *e) {
    emit_object(e);
    emit_key(e, "name");
    emit_cstr(e, s->face->server_name);
    emit_key(e, "version");
    emit_cstr(e, s->face->server_version ? s->face->server_version : SALLYPORT_VERSION);
    emit_object_end(e);
}

static void put_capabilities(const struct code_req *r, struct emit *e) {
    const struct code_face *face = r->conn->server->face;
    emit_object(e);
    emit_key(e, "tools");
    emit_raw(e, SLICE("{}"));
    if (!face->exact) {
        emit_key(e, "logging");
        emit_raw(e, SLICE("{}"));
    }
    if (face->files || face->list_resources) {
        emit_key(e, "resources");
        emit_raw(e, SLICE("{}"));
    }
    if (face->prompt_count) {
        emit_key(e, "prompts");
        emit_raw(e, SLICE("{}"));
    }
    if (!r->modern) {
        emit_key(e, "tasks");
        emit_raw(e, SLICE("{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
    }
    emit_key(e, "extensions");
    emit_raw(e, face->files ? SLICE("{\"io.modelcontextprotocol/tasks\":{},\"io.modelcontextprotocol/"
                                    "skills\":{\"directoryRead\":true}}")
                            : SLICE("{\"io.modelcontextprotocol/tasks\":{}}"));
    emit_object_end(e);
}

static void method_initialize(struct code_req *r) {
    uint32_t asked = rpc_param(&r->tape, &r->rpc, "protocolVersion");
    const char *version = LATEST;
    for (size_t i = 0; asked && i < ARRAY_LEN(legacy_versions); i++)
        if (tape_eq(&r->tape, asked, slice_str(legacy_versions[i])))
            version = legacy_versions[i];
    snprintf(r->conn->version, sizeof(r->conn->version), "%s", version);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "protocolVersion");
    emit_cstr(&e, version);
    emit_key(&e, "capabilities");
    put_capabilities(r, &e);
    emit_key(&e, "serverInfo");
    put_server_info(r->conn->server, &e);
    emit_key(&e, "instructions");
    emit_cstr(&e, r->conn->server->face->instructions);
    emit_object_end(&e);
    code_reply(r, slice_of(out.ptr + 1, out.len - 2));
}

static void method_discover(struct code_req *r) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "supportedVersions");
    emit_raw(&e, SLICE("[\"" MODERN "\"]"));
    emit_key(&e, "capabilities");
    put_capabilities(r, &e);
    emit_key(&e, "instructions");
    emit_cstr(&e, r->conn->server->face->instructions);
    emit_object_end(&e);
    code_reply_cached(r, slice_of(out.ptr + 1, out.len - 2));
}

static void method_empty(struct code_req *r) { code_reply(r, (struct slice){0}); }

static void method_tools_list(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    const bool packages = package_offered(s);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"tools\":");
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < s->face->tool_count; i++)
        if (!s->face->tools[i].hidden && code_tool_usable(s, &s->face->tools[i]))
            code_tool_write(s->face, &s->face->tools[i], r->modern, packages, &e);
    if (packages && code_tool_find(s, slice_str(s->package_tool->name), false) == s->package_tool)
        code_tool_write(s->face, s->package_tool, r->modern, false, &e);
    if (s->face->list_more)
        s->face->list_more(r, &e);
    emit_array_end(&e);
    code_reply_cached(r, buf_slice(&out));
}

static void method_tools_call(struct code_req *r) {
    const struct code_server *s = r->conn->server;
    struct slice text = rpc_param_text(&r->tape, &r->rpc, "name", &r->arena);
    if (r->inner && slice_is(text, OUTGOING_TOOL)) {
        r->args = tape_get_str(&r->tape, r->rpc.params, "arguments");
        outgoing_reply(r);
        return;
    }
    r->tool = code_tool_find(s, text, r->inner);
    if (!r->tool && s->face->call_more && s->face->call_more(r, text))
        return;
    if (!r->tool || !code_tool_usable(s, r->tool)) {
        code_reply_error(r, RPC_INVALID_PARAMS,
                         arena_printf(&r->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(text, 128))).ptr);
        return;
    }
    if (r->inner && r->tool->executes) {
        code_reply_text(r, SLICE("code cannot run code: call its functions instead"), true);
        return;
    }
    r->args = tape_get_str(&r->tape, r->rpc.params, "arguments");
    if (code_arg_check(r))
        r->tool->run(r);
}

static void method_prompts_list(struct code_req *r) {
    const struct code_face *face = r->conn->server->face;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    buf_put_str(&out, "\"prompts\":");
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < face->prompt_count; i++) {
        emit_object(&e);
        emit_key(&e, "name");
        emit_cstr(&e, face->prompts[i].name);
        emit_key(&e, "description");
        emit_cstr(&e, face->prompts[i].description);
        emit_key(&e, "arguments");
        emit_raw(&e, slice_str(face->prompts[i].arguments));
        emit_object_end(&e);
    }
    emit_array_end(&e);
    code_reply_cached(r, buf_slice(&out));
}

/* No list of this server changes without a request, so the subscription stays open and sends nothing. */
static void method_listen(struct code_req *r) {
    struct slice note =
        arena_printf(&r->arena,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
                     "\"params\":{\"notifications\":{},\"_meta\":{\"io.modelcontextprotocol/"
                     "subscriptionId\":%.*s}}}",
                     SLICE_FMT(r->id));
    code_req_send(r, note);
}

enum era { ERA_BOTH, ERA_LEGACY, ERA_MODERN };

static const struct {
    struct slice method;
    enum era era;
    bool waits; /* until the capabilities of the sandbox are known */
    void (*run)(struct code_req *r);
} code_methods[] = {
    {SLICE("initialize"), ERA_LEGACY, false, method_initialize},
    {SLICE("server/discover"), ERA_MODERN, false, method_discover},
    {SLICE("ping"), ERA_LEGACY, false, method_empty},
    {SLICE("logging/setLevel"), ERA_LEGACY, false, code_log_set_level},
    {SLICE("tools/list"), ERA_BOTH, true, method_tools_list},
    {SLICE("tools/call"), ERA_BOTH, true, method_tools_call},
    {SLICE("resources/list"), ERA_BOTH, false, resource_list},
    {SLICE("resources/templates/list"), ERA_BOTH, false, resource_templates},
    {SLICE("resources/read"), ERA_BOTH, false, resource_read},
    {SLICE("resources/directory/read"), ERA_BOTH, false, resource_directory},
    {SLICE("prompts/list"), ERA_BOTH, false, method_prompts_list},
    {SLICE("prompts/get"), ERA_BOTH, false, resource_prompt},
    {SLICE("skills/list"), ERA_BOTH, false, resource_skills},
    {SLICE("skills/get"), ERA_BOTH, false, resource_skill},
    {SLICE("tasks/get"), ERA_BOTH, false, code_task_get},
    {SLICE("tasks/cancel"), ERA_BOTH, false, code_task_cancel},
    {SLICE("tasks/update"), ERA_MODERN, false, code_task_update},
    {SLICE("tasks/result"), ERA_LEGACY, false, code_task_result},
    {SLICE("tasks/list"), ERA_LEGACY, false, code_task_list},
    {SLICE("subscriptions/listen"), ERA_MODERN, false, method_listen},
};

/* Checks the required _meta members of a modern request. False: answered with an error. */
static bool check_modern(struct code_req *r) {
    const struct tape *t = &r->tape;
    uint32_t meta = tape_get_str(t, r->rpc.params, "_meta");
    uint32_t version = tape_get_str(t, meta, "io.modelcontextprotocol/protocolVersion");
    uint32_t capabilities = tape_get_str(t, meta, "io.modelcontextprotocol/clientCapabilities");
    if (!capabilities || !tape_is(t, capabilities, TAPE_OBJECT)) {
        code_reply_error(r, RPC_INVALID_PARAMS, "_meta must have io.modelcontextprotocol/clientCapabilities");
        return false;
    }
    if (tape_eq(t, version, SLICE(MODERN)))
        return true;
    struct slice text = arena_printf(
        &r->arena,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":"
        "\"Unsupported protocol version\",\"data\":{\"supported\":[\"" MODERN "\"],\"requested\":%.*s}}}",
        SLICE_FMT(r->id), RPC_VERSION_UNSUPPORTED, SLICE_FMT(tape_raw(t, version)));
    code_req_send(r, text);
    code_req_free(r);
    return false;
}

void code_method_run(struct code_req *r) {
    struct code_server *s = r->conn->server;
    if (r->modern && !check_modern(r))
        return;
    for (size_t i = 0; i < ARRAY_LEN(code_methods); i++) {
        if (!slice_eq(r->method, code_methods[i].method) ||
            code_methods[i].era == (r->modern ? ERA_LEGACY : ERA_MODERN))
            continue;
        if (code_methods[i].waits && !s->ready)
            list_push(&s->parked, &r->wait);
        else
            code_methods[i].run(r);
        return;
    }
    code_reply_error(r, RPC_METHOD_NOT_FOUND, "Method not found");
}
