/* The built-in server's life and its methods: a message is read, looked up in one table and handed to the
 * function that answers it. */
#include "code/server.h"

#include "base/check.h"
#include "base/mem.h"
#include "code/job.h"
#include "code/package.h"
#include "code/prelude.h"
#include "code/promote.h"
#include "code/resource.h"
#include "code/task.h"
#include "code/workspace.h"
#include "filter/scan.h"
#include "policy/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define LATEST "2025-11-25"
#define MODERN "2026-07-28"

static const char *const legacy_versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", LATEST};

const char *const code_profile_names[] = {
    "native", "code-execution-mcp", "python-interpreter", "codemode", "datagen", NULL};

static const struct code_face *const code_faces[CODE_PROFILES] = {
    [CODE_NATIVE] = &code_native_face,           [CODE_EXECUTION_MCP] = &code_execution_face,
    [CODE_INTERPRETER] = &code_interpreter_face, [CODE_MODE] = &code_mode_face,
    [CODE_DATAGEN] = &code_datagen_face,
};

static void dispatch(struct code_req *r);

/* ---- life ---- */

static void on_ready(void *owner) {
    struct code_server *s = owner;
    s->ready = true;
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&s->parked)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        dispatch(container_of(n, struct code_req, wait));
}

static int make_dirs(const char *path, struct err *err) {
    char text[CODE_OWNER_PATH_MAX];
    if (snprintf(text, sizeof(text), "%s", path) >= (int)sizeof(text))
        return err_set(err, "`%s` is too long", path);
    for (char *at = text + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        if (mkdir(text, 0700) < 0 && errno != EEXIST)
            return err_set(err, "make directory `%s`: %s", text, strerror(errno));
        *at = '/';
    }
    return mkdir(text, 0700) < 0 && errno != EEXIST
               ? err_set(err, "make directory `%s`: %s", text, strerror(errno))
               : 0;
}

static int open_root(struct code_server *s, struct err *err) {
    char path[CODE_OWNER_PATH_MAX];
    snprintf(path, sizeof(path), "%s/code", s->config.home);
    if (make_dirs(path, err) < 0)
        return -1;
    s->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root_fd < 0)
        return err_set(err, "open `%s`: %s", path, strerror(errno));
    /* Made by the operator, when there is something to share. */
    s->shared_skills_fd =
        openat(s->root_fd, "shared/skills", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return 0;
}

int code_server_open(const struct code_config *config, struct code_server **ret_server, struct err *err) {
    struct code_server *s = mem_zalloc(sizeof(*s));
    s->config = *config;
    s->root_fd = s->shared_skills_fd = -1;
    s->face = code_faces[config->profile];
    s->schemas = mem_zalloc(s->face->tool_count * sizeof(*s->schemas));
    if (!s->config.wait_ms)
        s->config.wait_ms = CODE_WAIT_MS;
    map_init(&s->owners);
    list_init(&s->conns);
    list_init(&s->parked);
    list_init(&s->catalogues);
    if (open_root(s, err) < 0 || pii_engine_new(NULL, 0, &s->pii, err) < 0) {
        code_server_close(s);
        return -1;
    }
    *ret_server = s;
    return 0;
}

/* At the first conn: a gate whose clients never run code starts no helper for it. */
static void sandbox_start_once(struct code_server *s) {
    if (s->sandbox || s->ready)
        return;
    struct sandbox_prelude preludes[CODE_PRELUDES];
    code_preludes(preludes);
    struct sandbox_config sandbox = {
        .min_tier = s->config.min_tier,
        .profile = SANDBOX_FILES,
        .packages = package_dir(s),
        .preludes = preludes,
        .prelude_count = CODE_PRELUDES,
    };
    struct err why;
    if (sandbox_open(s->config.loop, s->config.spawn, &sandbox, on_ready, s, &s->sandbox, &why) < 0) {
        snprintf(s->sandbox_fault, sizeof(s->sandbox_fault), "%s", why.text);
        s->ready = true; /* without it the tools that run code are not offered */
    }
}

void code_server_close(struct code_server *s) {
    if (!s)
        return;
    package_stop(s);
    if (s->sandbox)
        sandbox_close(s->sandbox);
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&s->owners, &at)))
        code_owner_free(entry->value);
    map_free(&s->owners);
    for (size_t i = 0; i < s->face->tool_count; i++)
        policy_schema_free(s->schemas[i]);
    free(s->schemas);
    pii_engine_free(s->pii);
    if (s->root_fd >= 0)
        close(s->root_fd);
    if (s->shared_skills_fd >= 0)
        close(s->shared_skills_fd);
    free(s);
}

struct code_conn *code_conn_new(struct code_server *s, const struct code_conn_ops *ops, void *owner,
                                struct slice principal) {
    struct code_conn *c = mem_zalloc(sizeof(*c));
    *c = (struct code_conn){.magic = CODE_CONN_MAGIC, .server = s, .ops = ops, .owner = owner};
    c->principal = slice_of(mem_dup(principal.ptr, principal.len), principal.len);
    list_init(&c->reqs);
    list_init(&c->jobs);
    list_push(&s->conns, &c->node);
    sandbox_start_once(s);
    return c;
}

void code_conn_close(struct code_conn *c) {
    CHECK_MAGIC(c, CODE_CONN_MAGIC);
    LIST_FOR_SAFE (n, next, &c->reqs) {
        struct code_req *r = container_of(n, struct code_req, node);
        code_job_leave(r, false);
        code_req_free(r);
    }
    code_jobs_detach(c);
    list_remove(&c->node);
    free((char *)(uintptr_t)c->principal.ptr);
    c->magic = 0;
    free(c);
}

void code_notify(struct code_conn *c, uint64_t about, struct slice text) {
    c->ops->send(c->owner, about, text);
}

/* ---- requests ---- */

static struct code_req *req_new(struct code_conn *c, struct slice bytes) {
    struct code_req *r = mem_zalloc(sizeof(*r));
    r->magic = CODE_REQ_MAGIC;
    r->conn = c;
    r->bytes = slice_of(mem_dup(bytes.ptr, bytes.len), bytes.len);
    arena_init(&r->arena);
    tape_init(&r->tape);
    list_push(&c->reqs, &r->node);
    c->req_count++;
    return r;
}

void code_req_free(struct code_req *r) {
    CHECK_MAGIC(r, CODE_REQ_MAGIC);
    if (r->inner_call.handle)
        r->conn->ops->drop_tool(r->conn->owner, &r->inner_call);
    catalogue_leave(&r->tools);
    list_remove(&r->node);
    list_remove(&r->wait);
    list_remove(&r->on_job);
    io_timer_stop(r->conn->server->config.loop, &r->timer);
    r->conn->req_count--;
    tape_free(&r->tape);
    arena_free(&r->arena);
    free((char *)(uintptr_t)r->bytes.ptr);
    r->magic = 0;
    free(r);
}

static void cancel_request(struct code_conn *c, const struct code_req *note) {
    uint32_t params = note->rpc.params;
    uint32_t node = params ? tape_get_str(&note->tape, params, "requestId") : 0;
    if (!node)
        return;
    LIST_FOR_SAFE (n, next, &c->reqs) {
        struct code_req *r = container_of(n, struct code_req, node);
        if (r != note && r->id.len && slice_eq(r->id, tape_raw(&note->tape, node))) {
            code_job_leave(r, true);
            code_req_free(r);
            return;
        }
    }
}

static void read_params(struct code_req *r) {
    uint32_t params = r->rpc.params;
    if (!params)
        return;
    const struct tape *t = &r->tape;
    uint32_t token = tape_path(t, params, "_meta", "progressToken", NULL);
    if (token)
        r->token = tape_raw(t, token);
    uint32_t version = tape_path(t, params, "_meta", "io.modelcontextprotocol/protocolVersion", NULL);
    r->modern = version != 0;
    r->takes_tasks = tape_path(t, params, "_meta", "io.modelcontextprotocol/clientCapabilities", "extensions",
                               "io.modelcontextprotocol/tasks", NULL) != 0;
    uint32_t task = tape_get_str(t, params, "task");
    r->wants_task = !r->modern && task && tape_is(t, task, TAPE_OBJECT);
}

void code_conn_receive(struct code_conn *c, struct slice bytes, bool inner, uint64_t record) {
    CHECK_MAGIC(c, CODE_CONN_MAGIC);
    struct code_req *r = req_new(c, bytes);
    const char *why;
    /* The gate has read it before and only hands on what is well-formed. */
    if (tape_parse(&r->tape, r->bytes, NULL) != TAPE_OK || rpc_read(&r->tape, &r->rpc, &why) != 0) {
        code_req_free(r);
        return;
    }
    r->inner = inner;
    r->record = record;
    if (r->rpc.kind == RPC_REQUEST || r->rpc.kind == RPC_NOTIFICATION)
        r->method = tape_text(&r->tape, r->rpc.method, &r->arena);
    if (r->rpc.kind != RPC_REQUEST) {
        if (slice_is(r->method, "notifications/cancelled"))
            cancel_request(c, r);
        code_req_free(r);
        return;
    }
    int64_t id;
    r->id = tape_raw(&r->tape, r->rpc.id);
    if (tape_int(&r->tape, r->rpc.id, &id) && id > 0)
        r->about = (uint64_t)id;
    read_params(r);
    struct err err;
    r->owner = code_owner_get(c->server, c->principal, &err);
    if (!r->owner)
        code_reply_error(r, RPC_INTERNAL, err.text);
    else if (c->req_count > CODE_REQUESTS_MAX)
        code_reply_error(r, RPC_INTERNAL, "too many requests under way");
    else
        dispatch(r);
}

/* ---- methods ---- */

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
    uint32_t asked = r->rpc.params ? tape_get_str(&r->tape, r->rpc.params, "protocolVersion") : 0;
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
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"tools\":");
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < s->face->tool_count; i++)
        if (!s->face->tools[i].hidden && code_tool_usable(s, &s->face->tools[i]))
            code_tool_write(s->face, &s->face->tools[i], r->modern, &e);
    promote_list(r, &e);
    emit_array_end(&e);
    code_reply_cached(r, buf_slice(&out));
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

/* Nothing here changes behind a client's back: the subscription stands and stays silent. */
static void method_listen(struct code_req *r) {
    struct slice note =
        arena_printf(&r->arena,
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
                     "\"params\":{\"notifications\":{},\"_meta\":{\"io.modelcontextprotocol/"
                     "subscriptionId\":%.*s}}}",
                     SLICE_FMT(r->id));
    code_notify(r->conn, r->about, note);
}

enum era { ERA_BOTH, ERA_LEGACY, ERA_MODERN };

static const struct {
    struct slice method;
    enum era era;
    bool waits; /* until it is known what the sandbox can do */
    void (*run)(struct code_req *r);
} code_methods[] = {
    {SLICE("initialize"), ERA_LEGACY, false, method_initialize},
    {SLICE("server/discover"), ERA_MODERN, false, method_discover},
    {SLICE("ping"), ERA_LEGACY, false, method_empty},
    {SLICE("logging/setLevel"), ERA_LEGACY, false, method_empty},
    {SLICE("tools/list"), ERA_BOTH, true, method_tools_list},
    {SLICE("tools/call"), ERA_BOTH, true, code_tools_call},
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

/* Requests of the stateless era say what they need to be understood. False: answered with an error. */
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
    code_notify(r->conn, r->about, text);
    code_req_free(r);
    return false;
}

static void dispatch(struct code_req *r) {
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

bool code_server_stats(const struct code_server *s, struct sandbox_stats *ret_stats) {
    if (s->sandbox)
        sandbox_stats(s->sandbox, ret_stats);
    return s->sandbox != NULL;
}
