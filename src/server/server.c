#include "server/server.h"

#include "base/mem.h"
#include "base/sha.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "many/many.h"
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
    tools_init(&server->tools);
    arena_init(&server->arena);
    server->slot = free_slot(core);
    /* Nobody takes its list for that of the one who had its name before. */
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
    free(server);
}

void server_free(struct core *core, struct server *server) {
    LIST_FOR (n, &core->sessions) {
        channel_fail_calls(container_of(n, struct session, node), server);
    }
    LIST_FOR (n, &core->sessions) {
        channel_drop(container_of(n, struct session, node), server);
    }
    core->servers[server->slot] = NULL;
    claim_drop(core, server);
    server_free_description(server);
    tools_free(&server->tools);
    policy_unref(server->policy);
    up_server_close(&server->up, server_unused);
}

struct server *server_find(struct core *core, struct slice name) {
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i] && slice_is(name, core->servers[i]->up.name))
            return core->servers[i];
    return NULL;
}

void server_links(const struct core *core, const struct server *server, size_t *ret_ready,
                  size_t *ret_missing) {
    *ret_ready = *ret_missing = 0;
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        const struct channel *ch = server->slot < s->link_count ? s->links[server->slot] : NULL;
        *ret_ready += ch && ch->state == CHANNEL_READY;
        *ret_missing += ch && ch->missing;
    }
}

const char *server_state(size_t ready, size_t missing) { return missing ? "down" : ready ? "ready" : "idle"; }
