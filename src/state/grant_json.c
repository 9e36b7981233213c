/* A grant as JSON: what the command line prints and the admin API answers. */
#include "state/grants.h"
#include "wire/emit.h"

/* Every time is there, also one that has not come: null. */
static void put_time(struct emit *e, const char *key, uint64_t ms) {
    if (ms) {
        emit_time(e, key, ms);
        return;
    }
    emit_key(e, key);
    emit_null(e);
}

static void put_text(struct emit *e, const char *key, const char *text) {
    emit_key(e, key);
    emit_cstr(e, text);
}

const char *state_grant_status(const struct state_grant *g, uint64_t now_ms) {
    if (g->revoked_ms)
        return "revoked";
    return g->expires_ms && g->expires_ms <= now_ms ? "expired" : "active";
}

void state_grant_json(struct emit *e, const struct state_grant *g, const char *token, uint64_t now_ms) {
    emit_object(e);
    put_text(e, "name", g->name);
    if (token)
        put_text(e, "token", token);
    put_text(e, "hint", g->hint);
    put_text(e, "label", g->label);
    put_text(e, "state", state_grant_status(g, now_ms));
    emit_strings(e, "servers", g->servers, g->server_count);
    emit_strings(e, "tools", g->tools, g->tool_count);
    put_text(e, "policy", g->policy);
    put_text(e, "limits", g->limits);
    emit_key(e, "roles");
    emit_array(e);
    for (size_t i = 0; state_role_name(i); i++)
        if (g->roles >> i & 1)
            emit_cstr(e, state_role_name(i));
    emit_array_end(e);
    put_time(e, "created_at", g->created_ms);
    put_time(e, "expires_at", g->expires_ms);
    put_time(e, "revoked_at", g->revoked_ms);
    put_time(e, "used_at", g->used_ms);
    put_time(e, "rotated_at", g->rotated_ms);
    emit_object_end(e);
}
