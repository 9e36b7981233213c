/* Grants at the API. */
#include "state/grants.h"

#include "admin/api.h"
#include "audit/audit.h"

static void record(struct api_call *c, const char *event, struct slice name) {
    api_record(c, (struct audit_action){.name = slice_str(event), .text = name});
}

static void run_list(struct api_call *c) {
    struct state_grants *g = api_store_grants(c);
    struct api_page *page = c->what;
    page->arena = &c->arena;
    for (size_t i = 0; g && i < state_grants_count(g); i++)
        if (api_page_takes(page, slice_str(state_grants_at(g, i)->name)))
            state_grant_json(&c->e, state_grants_at(g, i), NULL, c->now_ms);
}

static void on_list(struct api_call *c) { api_page_answer(c, c->what); }

void api_grants(struct api_call *c) {
    struct api_page *page = c->what = arena_new(&c->arena, struct api_page);
    if (api_page_open(c, ADMIN_LIST_MAX, page))
        api_store(c, run_list, on_list);
}

/* Strings of an array member; false if it is anything else. */
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

static void run_create(struct api_call *c) {
    const struct state_grant *want = c->what;
    char token[STATE_TOKEN_TEXT];
    uint64_t now = c->now_ms;
    struct state_grants *g = api_store_grants(c);
    if (!g || api_store_failed(c, 400, state_grants_create(g, want, now, token, &c->err) < 0))
        return;
    const struct state_grant *made = state_grants_by_name(g, slice_str(want->name));
    state_grant_json(&c->e, made ? made : want, token, now);
}

static void on_created(struct api_call *c) {
    const struct state_grant *want = c->what;
    record(c, "grant_created", slice_str(want->name));
    api_answer(c, 201);
}

void api_grant_create(struct api_call *c) {
    struct state_grant *want = c->what = arena_new(&c->arena, struct state_grant);
    *want = (struct state_grant){.name = arena_dup(&c->arena, api_member(c, "name")).ptr,
                                 .label = arena_dup(&c->arena, api_member(c, "label")).ptr,
                                 .policy = arena_dup(&c->arena, api_member(c, "policy")).ptr,
                                 .limits = arena_dup(&c->arena, api_member(c, "limits")).ptr,
                                 .hint = ""};
    struct slice lasts = api_member(c, "expires_in_seconds");
    uint32_t node = tape_get_str(&c->body, 0, "expires_in_seconds");
    int64_t seconds = 0;
    if (lasts.len || (node && (!tape_int(&c->body, node, &seconds) || seconds < 1 || seconds > 3153600000)) ||
        !read_list(c, "servers", &want->servers, &want->server_count) ||
        !read_list(c, "tools", &want->tools, &want->tool_count) || !read_roles(c, &want->roles)) {
        api_error(c, 400, "name, label, policy, limits, servers[], tools[], roles[], expires_in_seconds");
        return;
    }
    want->expires_ms = seconds ? c->now_ms + (uint64_t)seconds * 1000 : 0;
    api_store(c, run_create, on_created);
}

/* ---- changes of one grant ---- */

struct grant_change {
    bool revoke;
    uint64_t grace_ms;
    bool shown; /* the response has the grant as it is now */
};

static void run_change(struct api_call *c) {
    struct grant_change *change = c->what;
    struct state_grants *g = api_store_grants(c);
    char token[STATE_TOKEN_TEXT];
    uint64_t now = c->now_ms;
    if (!g)
        return;
    if (!state_grants_by_name(g, c->arg)) {
        err_set(&c->err, "no grant `%.*s`", SLICE_FMT(c->arg));
        c->fault = 404;
        return;
    }
    int rc = change->revoke ? state_grants_revoke(g, c->arg, now, &c->err)
                            : state_grants_rotate(g, c->arg, now, change->grace_ms, token, &c->err);
    if (api_store_failed(c, change->revoke ? 503 : 409, rc < 0))
        return;
    const struct state_grant *after =
        state_grants_refresh(g, &c->err) == 0 ? state_grants_by_name(g, c->arg) : NULL;
    change->shown = after != NULL;
    if (after)
        state_grant_json(&c->e, after, change->revoke ? NULL : token, now);
}

static void on_changed(struct api_call *c) {
    const struct grant_change *change = c->what;
    record(c, change->revoke ? "grant_revoked" : "grant_rotated", c->arg);
    if (change->shown)
        api_answer(c, 200);
    else
        api_error(c, 503, "%s", c->err.text);
}

void api_grant_rotate(struct api_call *c) {
    struct grant_change *change = c->what = arena_new(&c->arena, struct grant_change);
    uint64_t grace_s;
    if (!api_member_number(c, "grace_seconds", ADMIN_GRACE_MAX_S, 0, &grace_s))
        return;
    change->grace_ms = grace_s * 1000;
    api_store(c, run_change, on_changed);
}

void api_grant_revoke(struct api_call *c) {
    struct grant_change *change = c->what = arena_new(&c->arena, struct grant_change);
    change->revoke = true;
    api_store(c, run_change, on_changed);
}
