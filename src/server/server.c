#include "server/server.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/principal.h"
#include "policy/policy.h"
#include "server/limits.h"

static size_t free_slot(struct core *core) {
    for (size_t i = 0; i < core->server_count; i++)
        if (!core->servers[i])
            return i;
    core->servers = mem_realloc(core->servers, (core->server_count + 1) * sizeof(*core->servers));
    core->servers[core->server_count] = NULL;
    return core->server_count++;
}

struct server *server_new(struct core *core) {
    struct server *server = mem_zalloc(sizeof(*server));
    up_server_init(&server->up, &core->up);
    tool_table_init(&server->tools);
    arena_init(&server->arena);
    buf_init(&server->log, SERVER_LOG_MAX);
    server->slot = free_slot(core);
    /* Its list must not be mistaken for that of an earlier server with the same name. */
    server->tools_changes = (uint32_t)++core->list_serial;
    core->servers[server->slot] = server;
    return server;
}

void server_set_origin(struct server *server, char *const *command, const char *url) {
    struct buf text;
    char hex[SHA_HEX];
    buf_init(&text, SERVER_ORIGIN_MAX);
    for (; command && *command; command++)
        buf_put(&text, *command, strlen(*command) + 1);
    if (url)
        buf_put_str(&text, url);
    sha_256_hex(buf_slice(&text), hex);
    buf_free(&text);
    server->origin = arena_printf(&server->arena, "%s#%.16s", server->up.name, hex).ptr;
}

static void server_unused(struct up_server *up) {
    struct server *server = container_of(up, struct server, up);
    arena_free(&server->arena);
    buf_free(&server->log);
    free(server);
}

struct server *server_find(struct core *core, struct slice name) {
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && slice_is(name, core->servers[i]->up.name))
            return core->servers[i];
    return NULL;
}

/* When full, the older half is dropped. */
void server_put_log(struct server *server, struct slice line) {
    struct buf *log = &server->log;
    char at[CLOCK_TEXT_MAX];
    clock_text(clock_wall_ms(), at);
    line = slice_upto(line, line.len < SERVER_LOG_LINE_MAX ? line.len : SERVER_LOG_LINE_MAX);
    if (log->len + line.len + CLOCK_TEXT_MAX + 2 > SERVER_LOG_MAX) {
        size_t from = log->len / 2;
        while (from < log->len && log->ptr[from - 1] != '\n')
            from++;
        memmove(log->ptr, log->ptr + from, log->len - from);
        log->len -= from;
    }
    buf_printf(log, "%s %.*s\n", at, SLICE_FMT(line));
}

void server_forget_tools(struct server *server) {
    tool_table_free(&server->tools);
    server->tools_changes++;
}

/* ---- its description ---- */

struct slice server_prefix(const struct server *server) {
    return slice_str(server->prefix ? server->prefix : server->up.name);
}

static void keep_raw(char **at, const struct tape *t, uint32_t node) {
    free(*at);
    struct slice raw = node ? tape_raw(t, node) : (struct slice){0};
    *at = raw.len ? mem_dup(raw.ptr, raw.len) : NULL;
}

void server_learn_description(struct server *server, const struct tape *t, uint32_t result) {
    uint32_t capabilities = tape_get_str(t, result, "capabilities");
    uint32_t instructions = tape_get_str(t, result, "instructions");
    if (!capabilities || !tape_is(t, capabilities, TAPE_OBJECT))
        return;
    keep_raw(&server->description.capabilities, t, capabilities);
    keep_raw(&server->description.instructions, t,
             instructions && tape_is(t, instructions, TAPE_STRING) ? instructions : 0);
}

static void free_description(struct server *server) {
    free(server->description.capabilities);
    free(server->description.instructions);
    server->description = (struct server_description){0};
}

bool server_offers(const struct server *server, const char *capability) {
    if (!server->description.capabilities)
        return true;
    cleanup_tape struct tape t;
    tape_init(&t);
    return tape_parse(&t, slice_str(server->description.capabilities), NULL) != TAPE_OK ||
           tape_get_str(&t, 0, capability) || tape_path(&t, 0, "extensions", capability, NULL);
}

void server_release(struct core *core, struct server *server) {
    core->servers[server->slot] = NULL;
    free_description(server);
    tool_table_free(&server->tools);
    policy_unref(server->policy);
    up_server_close(&server->up, server_unused);
}

/* ---- its policy ---- */

/* Without a policy only initialize, ping and empty lists are allowed. */
static const char no_policy[] =
    "{\"version\":\"1\",\"default\":\"deny\",\"prune\":true,\"tools\":{},\"methods\":{\"*\":{\"rules\":[{"
    "\"name\":\"(no policy)\",\"conditions\":[{\"path\":\"call.method\",\"op\":\"regex\",\"value\":"
    "\"^(initialize|ping|server/discover|tools/list|notifications/.*)$\"}],"
    "\"on_deny\":\"No policy allows this\"}]}}}";

static struct policy *policy_of_none(struct core *core) {
    if (!core->no_policy) {
        cleanup_problems struct policy_problems problems;
        policy_problems_init(&problems);
        CHECK(policy_load(SLICE(no_policy), "none", &core->no_policy, &problems) == 0);
    }
    return core->no_policy;
}

struct policy *server_policy(const struct session *s, const struct server *server) {
    if (s->principal->policy)
        return s->principal->policy;
    if (server && server->policy)
        return server->policy;
    return s->core->policy ? s->core->policy : policy_of_none(s->core);
}
