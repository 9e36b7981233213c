#include "server/visible.h"

#include "call/principal.h"
#include "state/stops.h"

bool visible_is(const struct session *s, const struct server *server) {
    return server && (!s->only || s->only == server) &&
           principal_may_use(s->principal, slice_str(server->up.name));
}

bool visible_distrusts(const struct session *s, const struct server *server) {
    struct state_stops *stops = s->core->stop_store;
    return stops && !s->console && !s->pool && state_stops_distrusts(stops, slice_str(server->up.name));
}

struct server *visible_next(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (visible_is(s, server) && !visible_distrusts(s, server))
            return server;
    }
    return NULL;
}

struct server *visible_next_any(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (server && principal_may_use(s->principal, slice_str(server->up.name)) &&
            !visible_distrusts(s, server))
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
    for (size_t i = 0; i < s->core->server_count; i++) {
        struct server *server = s->core->servers[i];
        if (visible_is(s, server) && slice_eq(server_prefix(server), prefix))
            return server;
    }
    return NULL;
}
