#include "many/claim.h"

#include "base/log.h"
#include "base/mem.h"
#include "many/limits.h"
#include "mcp/names.h"
#include "risk/confusable.h"
#include "server/visible.h"

struct claim {
    struct server *server;
    struct slice name;
};

static struct slice claim_key(struct arena *a, char kind, struct slice name) {
    /* Resources are compared byte by byte; names by their visual appearance. */
    struct slice seen = kind == 't' || kind == 'p' ? risk_skeleton(name, a) : name;
    return arena_printf(a, "%c%.*s", kind, SLICE_FMT(seen));
}

bool claim_name(struct server *server, char kind, struct slice name) {
    struct core *core = container_of(server->up.core, struct core, up);
    struct arena scratch;
    arena_init(&scratch);
    struct slice key = claim_key(&scratch, kind, name);
    struct claim *claim = map_get(&core->many->claims, key);
    /* A server earlier in the settings reclaims a name that a later one claimed while it was missing. */
    if (claim && claim->server->slot > server->slot)
        claim->server = server;
    bool mine = claim ? claim->server == server : core->many->claims.count < CLAIMS_MAX;
    if (mine && !claim) {
        claim = arena_new(&core->many->claims_arena, struct claim);
        *claim = (struct claim){server, arena_dup(&core->many->claims_arena, name)};
        map_put(&core->many->claims, arena_dup(&core->many->claims_arena, key), claim);
    } else if (!mine && claim && kind == 't') {
        log_server(LOG_WARN, server->up.name,
                   "server `%s`: tool `%.*s` is not offered: `%s` has one that is called `%.*s`",
                   server->up.name, SLICE_FMT(name), claim->server->up.name, SLICE_FMT(claim->name));
    }
    arena_free(&scratch);
    return mine;
}

struct server *claim_owner(const struct session *s, char kind, struct slice name) {
    struct arena scratch;
    arena_init(&scratch);
    const struct claim *claim = map_get(&s->core->many->claims, claim_key(&scratch, kind, name));
    arena_free(&scratch);
    return claim && visible_is(s, claim->server) ? claim->server : NULL;
}

struct server *claim_template_owner(const struct session *s, struct slice uri) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&s->core->many->claims, &at))) {
        const struct claim *claim = e->value;
        if (e->key.ptr[0] == 'T' && visible_is(s, claim->server) && names_fit_template(claim->name, uri))
            return claim->server;
    }
    return NULL;
}

/* The other names are learned from the next lists. */
void claim_drop(struct core *core, const struct server *server) {
    size_t at = 0;
    struct map_entry *e;
    bool any = false;
    while (!any && (e = map_next(&core->many->claims, &at)))
        any = ((const struct claim *)e->value)->server == server;
    if (!any)
        return;
    map_free(&core->many->claims);
    map_init(&core->many->claims);
    arena_free(&core->many->claims_arena);
}
