#include "call/principal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "policy/match.h"

struct principal *principal_new(enum principal_kind kind, const char *id) {
    struct principal *p = mem_zalloc(sizeof(*p));
    *p = (struct principal){.refs = 1, .kind = kind, .grant = ""};
    arena_init(&p->arena);
    p->limits = p->id = arena_dup(&p->arena, slice_str(id)).ptr;
    return p;
}

struct principal *principal_ref(struct principal *p) {
    p->refs++;
    return p;
}

void principal_unref(struct principal *p) {
    if (!p || --p->refs)
        return;
    policy_unref(p->policy);
    arena_free(&p->arena);
    free(p);
}

const char *principal_fault(const struct principal *p, uint64_t now_ms) {
    if (p->revoked)
        return "the grant has been revoked";
    return p->expires_ms && now_ms >= p->expires_ms ? "the grant has expired" : NULL;
}

const char *principal_session_fault(const struct session *s) {
    const struct core *core = s->core;
    bool known = !core->refresh_principals || core->refresh_principals(core->principals_owner);
    if (!known && s->principal->grant[0])
        return "whether the grant is still good cannot be known: its store does not answer";
    return principal_fault(s->principal, s->principal->expires_ms ? clock_wall_ms() : 0);
}

static bool any_matches(const char *const *globs, size_t count, struct slice text) {
    for (size_t i = 0; i < count; i++)
        if (policy_glob_names(slice_str(globs[i]), text))
            return true;
    return count == 0;
}

bool principal_may_use(const struct principal *p, struct slice server) {
    return any_matches(p->servers, p->server_count, server);
}

/* A pattern with `__` names a server: a tool whose own name contains `__` must not match as another server's
 * tool. */
bool principal_may_call(const struct principal *p, struct slice server, struct slice tool) {
    if (!principal_may_use(p, server))
        return false;
    if (!p->tool_count)
        return true;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice full_name = arena_printf(&a, "%.*s__%.*s", SLICE_FMT(server), SLICE_FMT(tool));
    for (size_t i = 0; i < p->tool_count; i++)
        if (policy_glob_names(slice_str(p->tools[i]), strstr(p->tools[i], "__") ? full_name : tool))
            return true;
    return false;
}
