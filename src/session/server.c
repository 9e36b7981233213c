#include "session/server.h"

#include "base/mem.h"
#include "base/sha.h"
#include "policy/policy.h"
#include "session/many.h"
#include "session/tools.h"

static size_t free_slot(struct session_core *core) {
    for (size_t i = 0; i < core->server_count; i++)
        if (!core->servers[i])
            return i;
    core->servers = mem_realloc(core->servers, (core->server_count + 1) * sizeof(*core->servers));
    core->servers[core->server_count] = NULL;
    return core->server_count++;
}

struct session_server *session_server_new(struct session_core *core) {
    struct session_server *server = mem_zalloc(sizeof(*server));
    up_server_init(&server->up, &core->up);
    tools_init(&server->tools);
    arena_init(&server->arena);
    server->slot = free_slot(core);
    /* Nobody takes its list for that of the one who had its name before. */
    server->tools_changes = (uint32_t)++core->list_serial;
    core->servers[server->slot] = server;
    return server;
}

void session_server_set_origin(struct session_server *server, char *const *command, const char *url) {
    struct buf text;
    char hex[SHA_HEX];
    buf_init(&text, SESSION_ORIGIN_MAX);
    for (; command && *command; command++)
        buf_put(&text, *command, strlen(*command) + 1);
    if (url)
        buf_put_str(&text, url);
    sha_256_hex(buf_slice(&text), hex);
    buf_free(&text);
    server->origin = arena_printf(&server->arena, "%s#%.16s", server->up.name, hex).ptr;
}

static void server_unused(struct up_server *up) {
    struct session_server *server = container_of(up, struct session_server, up);
    arena_free(&server->arena);
    free(server);
}

void session_server_free(struct session_core *core, struct session_server *server) {
    LIST_FOR (n, &core->sessions) {
        session_fail_calls(container_of(n, struct session, node), server);
    }
    LIST_FOR (n, &core->sessions) {
        session_drop_link(container_of(n, struct session, node), server);
    }
    core->servers[server->slot] = NULL;
    many_disclaim(core, server);
    many_free_hello(server);
    tools_free(&server->tools);
    policy_unref(server->policy);
    up_server_close(&server->up, server_unused);
}

struct session_server *session_server_find(struct session_core *core, struct slice name) {
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && slice_is(name, core->servers[i]->up.name))
            return core->servers[i];
    return NULL;
}

void session_server_links(const struct session_core *core, const struct session_server *server,
                          size_t *ret_ready, size_t *ret_missing) {
    *ret_ready = *ret_missing = 0;
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        const struct session_link *sl = server->slot < s->link_count ? s->links[server->slot] : NULL;
        *ret_ready += sl && sl->state == SESSION_LINK_READY;
        *ret_missing += sl && sl->missing;
    }
}

const char *session_server_state(size_t ready, size_t missing) {
    return missing ? "down" : ready ? "ready" : "idle";
}
