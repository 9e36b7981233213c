#include "policy/board.h"

#include "base/mem.h"
#include "policy/limits.h"
#include "policy/match.h"
#include "policy/policy.h"
#include "wire/emit.h"
#include "wire/tree_edit.h"
#include "wire/tree_parse.h"

static const char *const column_names[POLICY_COLUMNS] = {"allow", "limit", "approve", "deny", "hide"};

const char *policy_column_name(enum policy_column column) { return column_names[column]; }

int policy_column_from(struct slice name, enum policy_column *ret_column) {
    for (int i = 0; i < POLICY_COLUMNS; i++)
        if (slice_is(name, column_names[i]))
            return *ret_column = (enum policy_column)i, 0;
    return -1;
}

/* ---- edits ---- */

struct board {
    struct arena *a;
    struct slice text; /* the current text */
    struct slice tool;
    struct err *err;
};

/* NULL as the value removes the entry. */
static int board_set(struct board *b, const struct tree_step *path, size_t depth, struct slice json) {
    struct tree_edit edit = {.path = path, .depth = depth};
    if (json.len && tree_parse_json(json, b->a, &edit.value, b->err) < 0)
        return -1;
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_BYTES_MAX);
    if (tree_edit(b->text, &edit, &out, b->err) < 0)
        return -1;
    b->text = arena_dup(b->a, buf_slice(&out));
    return 0;
}

static struct slice quoted(struct board *b, struct slice text) {
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_BYTES_MAX);
    emit_quote(&out, text);
    return arena_dup(b->a, buf_slice(&out));
}

#define KEY(text)                                                                                            \
    { .key = SLICE(text) }

static int set_entry(struct board *b, const char *json) {
    const struct tree_step path[] = {KEY("tools"), {.key = b->tool}};
    return board_set(b, path, 2, slice_str(json));
}

static int add_to(struct board *b, const char *list, struct slice json) {
    const struct tree_step path[] = {KEY("tools"), {.key = b->tool}, {.key = slice_str(list)}, KEY("-")};
    return board_set(b, path, 4, json);
}

/* Removes the elements selected by `is`, from the last to the first, so that indexes stay valid. */
static int drop_from(struct board *b, const struct tree *entry, const char *list,
                     bool (*is)(const struct tree *item)) {
    const struct tree *items = tree_get(entry, list);
    if (!items || items->type != TREE_LIST)
        return 0;
    for (uint32_t i = items->count; i-- > 0;) {
        const struct tree *item = items->child;
        for (uint32_t k = 0; k < i; k++)
            item = item->next;
        const struct tree_step path[] = {
            KEY("tools"), {.key = b->tool}, {.key = slice_str(list)}, {.index = i}};
        if (is(item) && board_set(b, path, 4, (struct slice){0}) < 0)
            return -1;
    }
    return 0;
}

static int drop_member(struct board *b, const struct tree *entry, const char *key) {
    const struct tree_step path[] = {KEY("tools"), {.key = b->tool}, {.key = slice_str(key)}};
    return tree_get(entry, key) ? board_set(b, path, 3, (struct slice){0}) : 0;
}

/* ---- which column a tool is in ---- */

static bool has_text(const struct tree *map, const char *key, const char *value) {
    const struct tree *t = tree_get(map, key);
    return t && slice_is(t->text, value);
}

/* In force, and for every call: without conditions, counters and schemas. */
static bool is_free(const struct tree *rule) {
    static const char *const more[] = {"state", "validate", "limits", "spend_limit"};
    const struct tree *conditions = tree_get(rule, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        if (tree_get(rule, more[i]))
            return false;
    return rule->type == TREE_MAP && !has_text(rule, "mode", "shadow") && (!conditions || !conditions->count);
}

static bool is_deny(const struct tree *rule) { return is_free(rule) && has_text(rule, "action", "deny"); }
static bool is_approve(const struct tree *rule) {
    return is_free(rule) && has_text(rule, "action", "require_approval");
}
static bool is_rate_rule(const struct tree *rule) {
    return tree_get(rule, "rate_limit") && !has_text(rule, "mode", "shadow");
}
static bool is_column_rule(const struct tree *rule) {
    return is_rate_rule(rule) || is_deny(rule) || is_approve(rule);
}

/* So many calls in a window, counted for everybody together. Other limits are rules of their own. */
static bool is_rate(const struct tree *limit) {
    static const char *const more[] = {"increment_from", "scope", "conditions"};
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        if (tree_get(limit, more[i]))
            return false;
    return tree_get(limit, "window") && !has_text(limit, "mode", "shadow") &&
           !has_text(limit, "kind", "concurrent") && !has_text(limit, "kind", "identical");
}

/* Its index, or -1. */
static int64_t find_in(const struct tree *entry, const char *list, bool (*is)(const struct tree *item)) {
    const struct tree *items = tree_get(entry, list);
    int64_t i = 0;
    for (const struct tree *t = items && items->type == TREE_LIST ? items->child : NULL; t; t = t->next, i++)
        if (is(t))
            return i;
    return -1;
}

/* Where the entry puts its tool by itself. action and rate_limit may stand beside the lists. */
static enum policy_column column_of(const struct tree *entry) {
    if (has_text(entry, "action", "deny") || find_in(entry, "rules", is_deny) >= 0 ||
        find_in(entry, "deny_if", is_free) >= 0)
        return POLICY_COLUMN_DENY;
    if (has_text(entry, "action", "require_approval") || find_in(entry, "rules", is_approve) >= 0 ||
        find_in(entry, "approve_if", is_free) >= 0)
        return POLICY_COLUMN_APPROVE;
    if (tree_get(entry, "rate_limit") || find_in(entry, "rules", is_rate_rule) >= 0 ||
        find_in(entry, "limits", is_rate) >= 0)
        return POLICY_COLUMN_LIMIT;
    return POLICY_COLUMN_ALLOW;
}

/* ---- moves ---- */

static int hide(struct board *b, const struct tree *root, bool on) {
    const struct tree *list = tree_get(root, "hide");
    uint32_t i = 0;
    bool hidden = false;
    for (const struct tree *t = list && list->type == TREE_LIST ? list->child : NULL; t; t = t->next, i++) {
        hidden = slice_eq(t->text, b->tool);
        if (hidden)
            break;
    }
    if (hidden == on)
        return 0;
    const struct tree_step add[] = {KEY("hide"), KEY("-")}, drop[] = {KEY("hide"), {.index = i}};
    return on ? board_set(b, add, 2, quoted(b, b->tool)) : board_set(b, drop, 2, (struct slice){0});
}

/* What puts the tool into a column goes; an entry without a value becomes an empty one. */
static int clear_column(struct board *b, const struct tree *entry) {
    static const char *const members[] = {"action", "reason", "rate_limit"};
    if (drop_from(b, entry, "rules", is_column_rule) < 0 || drop_from(b, entry, "deny_if", is_free) < 0 ||
        drop_from(b, entry, "approve_if", is_free) < 0 || drop_from(b, entry, "limits", is_rate) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (drop_member(b, entry, members[i]) < 0)
            return -1;
    return entry && entry->type == TREE_NULL ? set_entry(b, "{}") : 0;
}

static int place_in_intercept(struct board *b, const struct tree *entry, enum policy_column to,
                              struct slice rate) {
    struct slice name, json;
    switch (to) {
    case POLICY_COLUMN_LIMIT:
        name = quoted(b, arena_printf(b->a, "%.*s rate", SLICE_FMT(b->tool)));
        json = arena_printf(b->a, "{\"name\":%.*s,\"rate_limit\":%.*s}", SLICE_FMT(name),
                            SLICE_FMT(quoted(b, rate)));
        return add_to(b, "rules", json);
    case POLICY_COLUMN_APPROVE:
    case POLICY_COLUMN_DENY:
        name = quoted(b, arena_printf(b->a, "%s %.*s", to == POLICY_COLUMN_DENY ? "no" : "approve",
                                      SLICE_FMT(b->tool)));
        json = arena_printf(b->a, "{\"name\":%.*s,\"action\":\"%s\"}", SLICE_FMT(name),
                            to == POLICY_COLUMN_DENY ? "deny" : "require_approval");
        return add_to(b, "rules", json);
    case POLICY_COLUMN_ALLOW:
    case POLICY_COLUMN_HIDE:
    case POLICY_COLUMNS:
        break;
    }
    return entry ? 0 : set_entry(b, "{\"rules\":[]}");
}

static int place_in_layer(struct board *b, const struct tree *entry, enum policy_column to,
                          struct slice rate) {
    struct slice count, window = rate;
    if (!entry && set_entry(b, "{}") < 0)
        return -1;
    switch (to) {
    case POLICY_COLUMN_LIMIT:
        slice_cut(&window, '/', &count);
        struct slice name = quoted(b, arena_printf(b->a, "%.*s calls", SLICE_FMT(b->tool)));
        return add_to(b, "limits",
                      arena_printf(b->a, "{\"counter\":%.*s,\"window\":%.*s,\"max\":%.*s}", SLICE_FMT(name),
                                   SLICE_FMT(quoted(b, window)), SLICE_FMT(count)));
    case POLICY_COLUMN_APPROVE:
        return add_to(b, "approve_if", SLICE("{\"conditions\":[]}"));
    case POLICY_COLUMN_DENY:
        return add_to(b, "deny_if", SLICE("{\"conditions\":[],\"on_deny\":\"Denied by policy\"}"));
    case POLICY_COLUMN_ALLOW:
    case POLICY_COLUMN_HIDE:
    case POLICY_COLUMNS:
        break;
    }
    return 0;
}

/* Changes the numbers of the limit that is there: its name, its text for the agent and the others stay. */
static int change_rate(struct board *b, const struct tree *entry, struct slice rate, bool *ret_done) {
    int64_t rule = find_in(entry, "rules", is_rate_rule), limit = find_in(entry, "limits", is_rate);
    struct slice count, window = rate;
    *ret_done = rule >= 0 || limit >= 0;
    if (rule >= 0) {
        const struct tree_step path[] = {
            KEY("tools"), {.key = b->tool}, KEY("rules"), {.index = (uint32_t)rule}, KEY("rate_limit")};
        return board_set(b, path, 5, quoted(b, rate));
    }
    if (limit < 0)
        return 0;
    slice_cut(&window, '/', &count);
    struct tree_step path[] = {
        KEY("tools"), {.key = b->tool}, KEY("limits"), {.index = (uint32_t)limit}, KEY("max")};
    if (board_set(b, path, 5, count) < 0)
        return -1;
    path[4].key = SLICE("window");
    return board_set(b, path, 5, quoted(b, window));
}

static int place(struct board *b, const struct tree *entry, enum policy_dialect dialect,
                 enum policy_column to, struct slice rate) {
    bool stands = entry && entry->type == TREE_MAP && column_of(entry) == to, done = stands;
    if (stands && to == POLICY_COLUMN_LIMIT && change_rate(b, entry, rate, &done) < 0)
        return -1;
    if (done)
        return 0;
    if (clear_column(b, entry) < 0)
        return -1;
    return (dialect == POLICY_LAYER ? place_in_layer : place_in_intercept)(b, entry, to, rate);
}

static int check(struct slice text, enum policy_dialect *ret_dialect, struct err *err) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    policy_problems_init(&problems);
    if (policy_load(text, "policy", &policy, &problems) < 0)
        return err_set(err, "line %u: %.*s", problems.items[0].line, SLICE_FMT(problems.items[0].text));
    *ret_dialect = policy_dialect(policy);
    return 0;
}

int policy_board_move(struct slice text, struct slice tool, enum policy_column to, struct slice rate,
                      struct buf *out, struct err *err) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct board b = {.a = &a, .text = text, .tool = tool, .err = err};
    const struct tree *root, *entry = NULL;
    enum policy_dialect dialect, after;
    struct slice count, window = rate;
    uint64_t calls;
    if (!tool.len || tool.len > POLICY_NAME_MAX)
        return err_set(err, "a tool's name has 1 to %d bytes", POLICY_NAME_MAX);
    if (to == POLICY_COLUMN_LIMIT &&
        (!slice_cut(&window, '/', &count) || !slice_to_u64(count, &calls) || !window.len))
        return err_set(err, "a rate is written 10/minute, not `%.*s`", SLICE_FMT(rate));
    if (check(text, &dialect, err) < 0 || tree_parse(text, &a, &root, err) < 0)
        return err_wrap(err, "the policy is not valid as it is");
    const struct tree *tools = tree_get(root, "tools");
    for (const struct tree *t = tools && tools->type == TREE_MAP ? tools->child : NULL; t; t = t->next)
        if (slice_eq(t->key, tool))
            entry = t;
    if (hide(&b, root, to == POLICY_COLUMN_HIDE) < 0)
        return -1;
    if (to != POLICY_COLUMN_HIDE && place(&b, entry, dialect, to, rate) < 0)
        return -1;
    if (check(b.text, &after, err) < 0)
        return -1;
    buf_put_slice(out, b.text);
    return 0;
}

struct slice policy_board_other(struct slice text, struct slice tool, enum policy_column to,
                                struct arena *a) {
    const struct tree *root;
    if (tree_parse(text, a, &root, NULL) < 0)
        return (struct slice){0};
    const struct tree *hidden = tree_get(root, "hide"), *tools = tree_get(root, "tools");
    const struct tree *all = tree_get(root, "all_tools");
    for (const struct tree *t = hidden && hidden->type == TREE_LIST ? hidden->child : NULL; t; t = t->next)
        if (to < POLICY_COLUMN_HIDE && !slice_eq(t->text, tool) && policy_glob_names(t->text, tool))
            return t->text;
    for (const struct tree *t = tools && tools->type == TREE_MAP ? tools->child : NULL; t; t = t->next)
        if (!slice_eq(t->key, tool) && policy_glob_names(t->key, tool) && column_of(t) > to)
            return t->key;
    return all && column_of(all) > to ? SLICE("all_tools") : (struct slice){0};
}
