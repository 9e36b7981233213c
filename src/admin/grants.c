/* Grants at the API. */
#include "state/grants.h"

#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"

static struct state_grants *grants_of(struct api_call *c) {
    struct err err = {0};
    struct admin *a = c->admin;
    if ((!a->grants && state_grants_open(a->home, false, &a->grants, &err) < 0) ||
        state_grants_refresh(a->grants, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return NULL;
    }
    return a->grants;
}

static void record(struct api_call *c, const char *event, struct slice name) {
    api_record(c, (struct audit_action){.name = slice_str(event), .text = name});
}

void api_grants(struct api_call *c) {
    struct state_grants *g = grants_of(c);
    if (!g)
        return;
    const uint64_t now = clock_wall_ms();
    struct api_page page;
    if (!api_page_open(c, ADMIN_LIST_MAX, &page))
        return;
    for (size_t i = 0; i < state_grants_count(g); i++)
        if (api_page_takes(c, &page, slice_str(state_grants_at(g, i)->name)))
            state_grant_json(&c->e, state_grants_at(g, i), NULL, now);
    api_page_answer(c, &page);
}

/* Texts of an array member; false when it is something else. */
static bool read_list(struct api_call *c, const char *key, const char *const **ret_items, size_t *ret_count) {
    uint32_t node = tape_get_str(&c->body, 0, key);
    *ret_count = 0;
    if (!node)
        return true;
    if (!tape_is(&c->body, node, TAPE_ARRAY) || tape_node(&c->body, node)->count > STATE_GRANT_GLOBS_MAX)
        return false;
    const char **items = arena_array(&c->arena, const char *, STATE_GRANT_GLOBS_MAX);
    TAPE_FOR_ELEM(&c->body, node, i) {
        if (!tape_is(&c->body, i, TAPE_STRING))
            return false;
        items[(*ret_count)++] = arena_dup(&c->arena, tape_text(&c->body, i, &c->arena)).ptr;
    }
    *ret_items = items;
    return true;
}

static bool read_roles(struct api_call *c, uint32_t *ret_roles) {
    const char *const *names = NULL;
    size_t count;
    *ret_roles = 0;
    if (!read_list(c, "roles", &names, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t role = state_role_from(slice_str(names[i]));
        if (!role)
            return false;
        *ret_roles |= role;
    }
    return true;
}

void api_grant_create(struct api_call *c) {
    struct state_grant want = {.name = arena_dup(&c->arena, api_member(c, "name")).ptr,
                               .label = arena_dup(&c->arena, api_member(c, "label")).ptr,
                               .policy = arena_dup(&c->arena, api_member(c, "policy")).ptr,
                               .limits = arena_dup(&c->arena, api_member(c, "limits")).ptr,
                               .hint = ""};
    struct slice lasts = api_member(c, "expires_in_seconds");
    uint32_t node = tape_get_str(&c->body, 0, "expires_in_seconds");
    int64_t seconds = 0;
    if (lasts.len || (node && (!tape_int(&c->body, node, &seconds) || seconds < 1 || seconds > 3153600000)) ||
        !read_list(c, "servers", &want.servers, &want.server_count) ||
        !read_list(c, "tools", &want.tools, &want.tool_count) || !read_roles(c, &want.roles)) {
        api_error(c, 400, "name, label, policy, limits, servers[], tools[], roles[], expires_in_seconds");
        return;
    }
    struct state_grants *g = grants_of(c);
    char token[STATE_TOKEN_TEXT];
    struct err err = {0};
    uint64_t now = clock_wall_ms();
    want.expires_ms = seconds ? now + (uint64_t)seconds * 1000 : 0;
    if (!g)
        return;
    if (state_grants_create(g, &want, now, token, &err) < 0) {
        api_error(c, 400, "%s", err.text);
        return;
    }
    record(c, "grant_created", slice_str(want.name));
    const struct state_grant *made =
        state_grants_refresh(g, &err) == 0 ? state_grants_by_name(g, slice_str(want.name)) : NULL;
    state_grant_json(&c->e, made ? made : &want, token, now);
    api_answer(c, 201);
}

/* The grant of this name, which has just changed. */
static void answer_changed(struct api_call *c, struct state_grants *g, const char *event, const char *token) {
    struct err err = {0};
    record(c, event, c->arg);
    const struct state_grant *after =
        state_grants_refresh(g, &err) == 0 ? state_grants_by_name(g, c->arg) : NULL;
    if (!after) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    state_grant_json(&c->e, after, token, clock_wall_ms());
    api_answer(c, 200);
}

void api_grant_rotate(struct api_call *c) {
    struct state_grants *g = grants_of(c);
    struct err err = {0};
    uint32_t node = tape_get_str(&c->body, 0, "grace_seconds");
    int64_t grace = 0;
    char token[STATE_TOKEN_TEXT];
    if (!g)
        return;
    if (node && (!tape_int(&c->body, node, &grace) || grace < 0 || grace > ADMIN_GRACE_MAX_S)) {
        api_error(c, 400, "grace_seconds: 0 to %d", ADMIN_GRACE_MAX_S);
        return;
    }
    if (!state_grants_by_name(g, c->arg)) {
        api_error(c, 404, "no grant `%.*s`", SLICE_FMT(c->arg));
        return;
    }
    if (state_grants_rotate(g, c->arg, clock_wall_ms(), (uint64_t)grace * 1000, token, &err) < 0) {
        api_error(c, 409, "%s", err.text);
        return;
    }
    answer_changed(c, g, "grant_rotated", token);
}

void api_grant_revoke(struct api_call *c) {
    struct state_grants *g = grants_of(c);
    struct err err = {0};
    if (!g)
        return;
    if (!state_grants_by_name(g, c->arg)) {
        api_error(c, 404, "no grant `%.*s`", SLICE_FMT(c->arg));
        return;
    }
    if (state_grants_revoke(g, c->arg, clock_wall_ms(), &err) < 0) {
        api_error(c, 503, "%s", err.text);
        return;
    }
    answer_changed(c, g, "grant_revoked", NULL);
}
