#include "server/visible.h"

#include "call/principal.h"

bool visible_is(const struct session *s, const struct server *server) {
    return server && (!s->only || s->only == server) &&
           principal_may_use(s->principal, slice_str(server->up.name));
}

struct server *visible_next(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (visible_is(s, server))
            return server;
    }
    return NULL;
}

struct server *visible_next_any(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (server && principal_may_use(s->principal, slice_str(server->up.name)))
            return server;
    }
    return NULL;
}

bool visible_renames(const struct session *s) {
    if (s->only || s->core->prefix == SERVER_PREFIX_NEVER)
        return false;
    if (s->core->prefix == SERVER_PREFIX_ALWAYS)
        return true;
    size_t at = 0;
    return visible_next(s, &at) && visible_next(s, &at);
}

struct server *visible_by_prefix(const struct session *s, struct slice prefix) {
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at)))
        if (slice_eq(server_prefix(server), prefix))
            return server;
    return NULL;
}
