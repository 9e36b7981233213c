/* A document becomes a program: the frame (version, default, hide, tools, methods, flows); rules and
 * conditions are read in load_rule.c and load_cond.c. Every error is collected, in the order that Intercept
 * reports them: version, default, hide, then tools by name. */
#include "policy/load.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/sha.h"
#include "policy/match.h"
#include "policy/regex.h"
#include "policy/schema.h"
#include "wire/tree_parse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

static const char *const document_keys[] = {"version",   "description", "default", "hide",      "tools",
                                            "all_tools", "flows",       "methods", "mode",      "match",
                                            "prune",     "deny_prefix", "presets", "arguments", NULL};

/* ---- problems ---- */

void policy_problems_init(struct policy_problems *p) {
    *p = (struct policy_problems){0};
    arena_init(&p->arena);
}

void policy_problems_free(struct policy_problems *p) {
    arena_free(&p->arena);
    free(p->items);
    *p = (struct policy_problems){0};
}

static struct policy_problem *problem_add(struct policy_problems *p) {
    if (p->count >= POLICY_PROBLEMS_MAX)
        return NULL;
    if (p->count == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 16;
        p->items = mem_realloc(p->items, p->cap * sizeof(*p->items));
    }
    p->items[p->count] = (struct policy_problem){0};
    return &p->items[p->count++];
}

void policy_problem(struct loader *l, const struct tree *at, struct slice pointer, struct slice hint,
                    const char *fmt, ...) {
    struct policy_problem *problem = problem_add(l->problems);
    if (!problem)
        return;
    char text[POLICY_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    size_t kept = len < 0 ? 0 : (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1;
    struct arena *a = &l->problems->arena;
    problem->severity = POLICY_ERROR;
    problem->text = arena_dup(a, slice_of(text, kept));
    problem->pointer = arena_dup(a, pointer);
    problem->hint = arena_dup(a, hint);
    problem->line = at ? at->line : 0;
    problem->column = at ? at->column : 0;
}

/* What people write who know another language; too far from ours for a misprint. */
static const struct {
    const char *word, *meant;
} policy_synonyms[] = {
    {"equals", "eq"},
    {"equal", "eq"},
    {"is", "eq"},
    {"==", "eq"},
    {"=", "eq"},
    {"not_equals", "neq"},
    {"not_equal", "neq"},
    {"ne", "neq"},
    {"!=", "neq"},
    {"less_than", "lt"},
    {"<", "lt"},
    {"<=", "lte"},
    {"le", "lte"},
    {"greater_than", "gt"},
    {">", "gt"},
    {">=", "gte"},
    {"ge", "gte"},
    {"max", "lte"},
    {"min", "gte"},
    {"matches", "regex"},
    {"match", "regex"},
    {"pattern", "regex"},
    {"like", "glob"},
    {"includes", "contains"},
    {"prefix", "starts_with"},
    {"startsWith", "starts_with"},
    {"suffix", "ends_with"},
    {"endsWith", "ends_with"},
    {"one_of", "in"},
    {"any_of", "in"},
    {"none_of", "not_in"},
    {"within", "under"},
    {"path", "under"},
    {"domain", "host"},
    {"length", "len_lte"},
    {"min_length", "len_gte"},
    {"max_length", "len_lte"},
    {"m", "minute"},
    {"min", "minute"},
    {"mins", "minute"},
    {"minutely", "minute"},
    {"h", "hour"},
    {"hr", "hour"},
    {"hrs", "hour"},
    {"hourly", "hour"},
    {"d", "day"},
    {"24h", "day"},
    {"daily", "day"},
    {"w", "week"},
    {"weekly", "week"},
};

static const char *hint_word(struct slice word, const char *const *words) {
    for (size_t i = 0; i < ARRAY_LEN(policy_synonyms); i++)
        for (size_t k = 0; slice_is(word, policy_synonyms[i].word) && words[k]; k++)
            if (strcmp(words[k], policy_synonyms[i].meant) == 0)
                return words[k];
    return nearest_word(word, words);
}

struct slice policy_hint(struct loader *l, struct slice word, const char *const *words) {
    const char *near = hint_word(word, words);
    return near ? arena_printf(l->arena, "did you mean \"%s\"?", near) : (struct slice){0};
}

static void unknown_key(struct loader *l, const struct tree *member, struct place place,
                        const char *const *known) {
    struct tree at = {.line = member->key_line, .column = member->key_column};
    struct slice hint = policy_hint(l, member->key, known);
    struct slice pointer = policy_place_key(l, place, member->key).pointer;
    if (place.prefix.len)
        policy_problem(l, &at, pointer, hint, "%.*s: unknown key \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(member->key));
    else
        policy_problem(l, &at, pointer, hint, "unknown key \"%.*s\"", SLICE_FMT(member->key));
}

void policy_check_keys(struct loader *l, const struct tree *map, struct place place,
                       const char *const *known) {
    for (const struct tree *member = map->child; member; member = member->next) {
        bool found = false;
        for (size_t i = 0; known[i] && !found; i++)
            found = slice_is(member->key, known[i]);
        if (!found)
            unknown_key(l, member, place, known);
    }
}

/* ---- places and members ---- */

static struct slice pointer_escape(struct loader *l, struct slice key) {
    char *out = arena_alloc(l->arena, 2 * key.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        if (c == '~' || c == '/')
            out[len++] = '~';
        out[len++] = c == '~' ? '0' : c == '/' ? '1' : c;
    }
    return slice_of(out, len);
}

struct place policy_place_index(struct loader *l, struct place place, const char *list, size_t index) {
    return (struct place){
        .prefix = arena_printf(l->arena, "%.*s.%s[%zu]", SLICE_FMT(place.prefix), list, index),
        .pointer = arena_printf(l->arena, "%.*s/%s/%zu", SLICE_FMT(place.pointer), list, index),
    };
}

struct place policy_place_key(struct loader *l, struct place place, struct slice key) {
    const char *dot = place.prefix.len ? "." : "";
    return (struct place){
        .prefix = arena_printf(l->arena, "%.*s%s%.*s", SLICE_FMT(place.prefix), dot, SLICE_FMT(key)),
        .pointer =
            arena_printf(l->arena, "%.*s/%.*s", SLICE_FMT(place.pointer), SLICE_FMT(pointer_escape(l, key))),
    };
}

static void wrong_type(struct loader *l, const struct tree *at, struct place place, const char *key,
                       const char *want) {
    if (place.prefix.len)
        policy_problem(l, at, place.pointer, (struct slice){0}, "%.*s: %s must be %s",
                       SLICE_FMT(place.prefix), key, want);
    else
        policy_problem(l, at, place.pointer, (struct slice){0}, "%s must be %s", key, want);
}

struct slice policy_member_text(struct loader *l, const struct tree *map, struct place place,
                                const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return (struct slice){0};
    if (t->type == TREE_LIST || t->type == TREE_MAP) {
        wrong_type(l, t, place, key, "a string");
        return (struct slice){0};
    }
    if (t->text.len > POLICY_TEXT_MAX) {
        wrong_type(l, t, place, key, "shorter");
        return (struct slice){0};
    }
    return t->text;
}

bool policy_member_bool(struct loader *l, const struct tree *map, struct place place, const char *key,
                        bool fallback) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return fallback;
    if (t->type != TREE_BOOL)
        wrong_type(l, t, place, key, "true or false");
    return t->type == TREE_BOOL ? t->truth : fallback;
}

const struct tree *policy_member_list(struct loader *l, const struct tree *map, struct place place,
                                      const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return NULL;
    if (t->type == TREE_LIST)
        return t;
    wrong_type(l, t, place, key, "a list");
    return NULL;
}

const struct tree *policy_member_map(struct loader *l, const struct tree *map, struct place place,
                                     const char *key) {
    const struct tree *t = tree_get(map, key);
    if (!t || t->type == TREE_NULL)
        return NULL;
    if (t->type == TREE_MAP)
        return t;
    wrong_type(l, t, place, key, "a mapping");
    return NULL;
}

bool policy_member_shadow(struct loader *l, const struct tree *map, struct place place) {
    struct slice mode = policy_member_text(l, map, place, "mode");
    if (mode.len && !slice_is(mode, "shadow") && !slice_is(mode, "enforce"))
        wrong_type(l, tree_get(map, "mode"), place, "mode", "\"enforce\" or \"shadow\"");
    return slice_is(mode, "shadow");
}

enum strictness policy_member_strict(struct loader *l, const struct tree *map, struct place place) {
    struct slice text = policy_member_text(l, map, place, "arguments");
    if (slice_is(text, "strict"))
        return STRICT_YES;
    if (slice_is(text, "loose"))
        return STRICT_NO;
    if (text.len)
        wrong_type(l, tree_get(map, "arguments"), place, "arguments", "\"strict\" or \"loose\"");
    return STRICT_UNSAID;
}

struct slice policy_member_missing(struct loader *l, const struct tree *map, struct place place) {
    struct slice missing = policy_member_text(l, map, place, "on_missing");
    if (missing.len && !slice_is(missing, "deny") && !slice_is(missing, "pass"))
        policy_problem(l, tree_get(map, "on_missing"), place.pointer, (struct slice){0},
                       "%.*s: on_missing must be \"deny\" or \"pass\", got \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(missing));
    return missing;
}

uint64_t policy_member_duration(struct loader *l, const struct tree *map, struct place place,
                                const char *key) {
    struct slice text = policy_member_text(l, map, place, key);
    uint64_t ms = 0;
    if (text.len && !policy_duration_parse(text, &ms))
        wrong_type(l, tree_get(map, key), place, key, "a duration such as \"30m\"");
    return ms;
}

/* ---- shape ---- */

static bool has_any(const struct tree *map, const char *const *keys) {
    for (; *keys; keys++)
        if (tree_get(map, *keys))
            return true;
    return false;
}

static const char *const block_keys[] = {"require", "deny_if", "approve_if", "limits", NULL};

/* `rules` anywhere makes it Intercept's; blocks, all_tools or a bare `{}` make it PolicyLayer's. */
static enum policy_dialect dialect_of(const struct tree *root, const struct tree *tools) {
    bool blocks = tree_get(root, "all_tools") != NULL;
    for (const struct tree *t = tools ? tools->child : NULL; t; t = t->next) {
        if (tree_get(t, "rules"))
            return POLICY_INTERCEPT;
        blocks |= (t->type == TREE_MAP && t->count == 0) || has_any(t, block_keys);
    }
    return blocks ? POLICY_LAYER : POLICY_INTERCEPT;
}

/* {"clear_session": {"deny_if": …}}: tools without a document around them, as pages print them. */
static bool is_fragment(const struct tree *root) {
    if (!root->count || has_any(root, document_keys))
        return false;
    for (const struct tree *t = root->child; t; t = t->next)
        if (t->type != TREE_MAP || !has_any(t, block_keys))
            return false;
    return true;
}

static bool rule_is_page_form(const struct tree *rule) {
    static const char *const keys[] = {"validate", "reason", "spend_limit", "approval_timeout", NULL};
    const struct tree *action = tree_get(rule, "action"), *rate = tree_get(rule, "rate_limit");
    return has_any(rule, keys) || (rate && rate->type == TREE_MAP) || !tree_get(rule, "name") ||
           (action && slice_is(action->text, "allow"));
}

/* `tools:` alone, with rules in the form that only published pages use. */
static bool is_page_form(const struct tree *root, const struct tree *tools) {
    if (root->count != 1 || !tools)
        return false;
    for (const struct tree *t = tools->child; t; t = t->next) {
        const struct tree *rules = tree_get(t, "rules");
        for (const struct tree *r = rules && rules->type == TREE_LIST ? rules->child : NULL; r; r = r->next)
            if (r->type == TREE_MAP && rule_is_page_form(r))
                return true;
    }
    return false;
}

/* ---- the document ---- */

static void load_version(struct loader *l, const struct tree *root) {
    const struct tree *version = tree_get(root, "version");
    struct slice text = version && version->type != TREE_NULL ? version->text : (struct slice){0};
    if (!version && l->page_form)
        return;
    if (!slice_is(text, "1"))
        policy_problem(l, version ? version : root, SLICE("/version"), (struct slice){0},
                       "version must be \"1\", got \"%.*s\"", SLICE_FMT(text));
    l->policy->version = text;
}

static void load_default(struct loader *l, const struct tree *root) {
    static const char *const words[] = {"allow", "deny", NULL};
    struct slice text = policy_member_text(l, root, (struct place){0}, "default");
    const struct tree *at = tree_get(root, "default");
    bool required = l->policy->dialect == POLICY_LAYER && !l->page_form;
    l->policy->says_allow = slice_is(text, "allow");
    l->policy->default_deny = slice_is(text, "deny") || (l->page_form && !tree_get(root, "tools"));
    if (slice_is(text, "allow") || slice_is(text, "deny") || (!text.len && !required))
        return;
    policy_problem(l, at ? at : root, SLICE("/default"), policy_hint(l, text, words),
                   "default must be \"allow\" or \"deny\", got \"%.*s\"", SLICE_FMT(text));
}

/* @read, @destructive, @sink …: sets class or tag. */
static bool read_selector(struct loader *l, const struct tree *at, struct slice name, struct entry *entry) {
    static const char *const words[] = {
        "@read",        "@write", "@execute", "@destructive", "@financial", "@src_untrusted",
        "@src_private", "@sink",  "@exec",    "@money",       NULL};
    entry->class = policy_class_from(slice_from(name, 1));
    entry->tag = policy_flow_from(slice_from(name, 1));
    if (entry->class || entry->tag)
        return true;
    policy_problem(l, at, (struct slice){0}, policy_hint(l, name, words), "unknown selector \"%.*s\"",
                   SLICE_FMT(name));
    return false;
}

/* A name that can match nothing would silently hide, deny or limit nothing. */
static void check_glob(struct loader *l, const struct tree *at, struct slice pointer, struct slice name) {
    if (!policy_glob_is_sound(name))
        policy_problem(l, at, pointer, SLICE("close the bracket, or write \\\\[ for a plain one"),
                       "pattern \"%.*s\" cannot match anything", SLICE_FMT(name));
}

static void load_hide(struct loader *l, const struct tree *root) {
    struct policy *p = l->policy;
    const struct tree *hide = policy_member_list(l, root, (struct place){0}, "hide");
    if (!hide)
        return;
    p->hide_patterns = arena_array(l->arena, struct entry, hide->count + 1);
    struct map seen;
    map_init(&seen);
    size_t i = 0;
    for (const struct tree *item = hide->child; item; item = item->next, i++) {
        struct slice pointer = arena_printf(l->arena, "/hide/%zu", i);
        if (!slice_trim(item->text).len) {
            policy_problem(l, item, pointer, (struct slice){0}, "hide[%zu]: entry must not be empty", i);
            continue;
        }
        struct slice name = arena_dup(l->arena, item->text);
        if (map_put(&seen, name, p)) {
            policy_problem(l, item, pointer, (struct slice){0}, "hide: duplicate entry \"%.*s\"",
                           SLICE_FMT(name));
            continue;
        }
        struct entry *pattern = &p->hide_patterns[p->hide_pattern_count];
        if (slice_is(name, "*"))
            p->hide_all = true;
        else if (name.ptr[0] == '@')
            p->hide_pattern_count += read_selector(l, item, name, pattern);
        else if (policy_glob_is_pattern(name)) {
            check_glob(l, item, pointer, name);
            pattern->name = name;
            p->hide_pattern_count++;
        } else
            map_put(&p->hidden, name, p);
    }
    map_free(&seen);
}

/* ---- tools ---- */

static int entry_cmp(const void *x, const void *y) {
    return slice_cmp((*(struct entry *const *)x)->name, (*(struct entry *const *)y)->name);
}

static void add_entry(struct loader *l, struct entry *entry) {
    struct policy *p = l->policy;
    struct slice name = entry->name;
    bool is_selector = name.len > 1 && name.ptr[0] == '@';
    bool is_pattern = policy_glob_is_pattern(name);
    if (p->dialect == POLICY_INTERCEPT && slice_is(name, "*"))
        p->everything = entry;
    else if (is_selector) {
        if (read_selector(l, entry->at, name, entry))
            p->patterns[p->pattern_count++] = entry;
    } else if (is_pattern)
        p->patterns[p->pattern_count++] = entry;
    else
        map_put(&p->tools, name, entry);
}

static void check_pattern(struct loader *l, const struct tree *root, const struct entry *entry) {
    bool is_special =
        policy_glob_is_pattern(entry->name) || (entry->name.len > 1 && entry->name.ptr[0] == '@');
    if (is_special)
        check_glob(l, entry->at, SLICE("/tools"), entry->name);
    if (l->policy->dialect != POLICY_LAYER || !is_special)
        return;
    const struct tree *match = tree_get(root, "match");
    if (slice_is(entry->name, "*"))
        policy_problem(l, entry->at, SLICE("/tools/*"), SLICE("use all_tools"),
                       "tools.*: \"*\" is not a tool name");
    else if (!match || !slice_is(match->text, "glob"))
        policy_problem(l, entry->at, SLICE("/tools"), SLICE("set \"match\": \"glob\""),
                       "tools.%.*s: patterns need \"match\": \"glob\"", SLICE_FMT(entry->name));
}

static struct entry *new_entry(struct loader *l, const struct tree *t, struct slice name) {
    struct policy *p = l->policy;
    struct entry *entry = arena_new(l->arena, struct entry);
    entry->name = arena_dup(l->arena, name);
    entry->at = t;
    p->entries[p->entry_count++] = entry;
    return entry;
}

static void load_tools(struct loader *l, const struct tree *root, const struct tree *tools) {
    struct policy *p = l->policy;
    if (!tools)
        return;
    if (tools->count > POLICY_TOOLS_MAX) {
        policy_problem(l, tools, SLICE("/tools"), (struct slice){0}, "at most %d tools", POLICY_TOOLS_MAX);
        return;
    }
    struct entry **sorted = arena_array(l->arena, struct entry *, tools->count + 1);
    p->patterns = arena_array(l->arena, struct entry *, tools->count + 1);
    size_t count = 0;
    for (const struct tree *t = tools->child; t; t = t->next) {
        struct entry *entry = new_entry(l, t, t->key);
        sorted[count++] = entry;
        add_entry(l, entry);
        if (t->type == TREE_MAP)
            policy_note_counters(l, t, entry->name);
    }
    if (p->pattern_count > POLICY_PATTERNS_MAX)
        policy_problem(l, tools, SLICE("/tools"), (struct slice){0}, "at most %d patterns among the tools",
                       POLICY_PATTERNS_MAX);
    qsort(sorted, count, sizeof(struct entry *), entry_cmp);
    struct place place = {.prefix = SLICE("tools"), .pointer = SLICE("/tools")};
    for (size_t i = 0; i < count; i++) {
        check_pattern(l, root, sorted[i]);
        policy_load_entry(l, sorted[i]->at, policy_place_key(l, place, sorted[i]->name), sorted[i]);
    }
}

static void load_all_tools(struct loader *l, const struct tree *root) {
    const struct tree *all = policy_member_map(l, root, (struct place){0}, "all_tools");
    struct policy *p = l->policy;
    if (!all)
        return;
    if (p->everything) {
        policy_problem(l, all, SLICE("/all_tools"), (struct slice){0},
                       "all_tools and tools.* mean the same: use one of them");
        return;
    }
    p->everything = new_entry(l, all, SLICE("all_tools"));
    policy_load_entry(l, all, (struct place){SLICE("all_tools"), SLICE("/all_tools")}, p->everything);
}

/* ---- methods ---- */

static void load_method(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    if (t->type == TREE_MAP || t->type == TREE_NULL) {
        policy_load_entry(l, t, place, entry);
        return;
    }
    if (slice_is(t->text, "allow"))
        return;
    if (!slice_is(t->text, "deny")) {
        policy_problem(l, t, place.pointer, (struct slice){0},
                       "%.*s: must be \"allow\", \"deny\", or a mapping with rules, got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(t->text));
        return;
    }
    entry->checks = arena_new(l->arena, struct check);
    entry->check_count = 1;
    entry->checks[0] = (struct check){
        .mode = CHECK_DENY,
        .name = entry->name,
        .pointer = place.pointer,
        .whole_method = true,
        .conds = {.kind = COND_ALL},
        .at = t,
    };
}

static void load_methods(struct loader *l, const struct tree *root) {
    struct policy *p = l->policy;
    const struct tree *methods = policy_member_map(l, root, (struct place){0}, "methods");
    if (!methods)
        return;
    p->method_patterns = arena_array(l->arena, struct entry *, methods->count + 1);
    for (const struct tree *t = methods->child; t; t = t->next) {
        struct entry *entry = new_entry(l, t, t->key);
        struct place place = policy_place_key(l, (struct place){SLICE("methods"), SLICE("/methods")}, t->key);
        if (slice_is(t->key, "tools/call"))
            policy_problem(l, t, place.pointer, SLICE("use tools"), "%.*s: calls are governed by tools",
                           SLICE_FMT(place.prefix));
        if (t->type == TREE_MAP)
            policy_note_counters(l, t, entry->name);
        if (policy_glob_is_pattern(t->key))
            p->method_patterns[p->method_pattern_count++] = entry;
        else
            map_put(&p->methods, entry->name, entry);
        load_method(l, t, place, entry);
    }
    if (p->method_pattern_count > POLICY_PATTERNS_MAX)
        policy_problem(l, methods, SLICE("/methods"), (struct slice){0},
                       "at most %d patterns among the methods", POLICY_PATTERNS_MAX);
}

/* ---- flows ---- */

/* result.pii.EMAIL > 0, result.pii.SECRET >= 3, result.pii > 10 */
static bool read_pii_label(struct slice text, struct flow_pii *ret_label) {
    struct slice left = text, rest = text;
    uint64_t number;
    if (!slice_cut(&rest, '>', &left))
        return false;
    const bool or_equal = slice_starts(rest, SLICE("="));
    rest = slice_trim(or_equal ? slice_from(rest, 1) : rest);
    left = slice_trim(left);
    if (!slice_starts(left, SLICE("result.pii")) || !slice_to_u64(rest, &number) || number > INT32_MAX ||
        (or_equal && number == 0))
        return false;
    left = slice_from(left, strlen("result.pii"));
    if (left.len && (left.ptr[0] != '.' || left.len == 1))
        return false;
    ret_label->kind = left.len ? slice_from(left, 1) : left;
    ret_label->over = (uint32_t)number - or_equal;
    for (size_t i = 0; i < ret_label->kind.len; i++) {
        const char c = ret_label->kind.ptr[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static uint32_t read_labels(struct loader *l, const struct tree *flow, struct place place, const char *key,
                            struct flow_rule *ret_results) {
    static const char *const words[] = {"src_untrusted", "src_private",          "sink", "exec",
                                        "money",         "result.pii.EMAIL > 0", NULL};
    const struct tree *list = policy_member_list(l, flow, place, key);
    uint32_t labels = 0;
    if (ret_results)
        ret_results->pii = arena_array(l->arena, struct flow_pii, list ? list->count + 1 : 1);
    for (const struct tree *t = list ? list->child : NULL; t; t = t->next) {
        uint32_t label = policy_flow_from(t->text);
        if (ret_results && read_pii_label(t->text, &ret_results->pii[ret_results->pii_count])) {
            ret_results->pii_count++;
            continue;
        }
        if (!label)
            policy_problem(l, t, place.pointer, policy_hint(l, t->text, words),
                           "%.*s: unknown label \"%.*s\"", SLICE_FMT(place.prefix), SLICE_FMT(t->text));
        labels |= label;
    }
    return labels;
}

static struct slice flow_text(struct loader *l, const struct tree *after) {
    struct slice text = SLICE("Not permitted in this session any more: it has already used");
    const char *glue = " ";
    for (const struct tree *t = after ? after->child : NULL; t; t = t->next) {
        text = arena_printf(l->arena, "%.*s%s%.*s", SLICE_FMT(text), glue, SLICE_FMT(t->text));
        glue = ", ";
    }
    return text;
}

static void load_flow(struct loader *l, const struct tree *t, size_t index, struct flow_rule *flow) {
    static const char *const keys[] = {"name",   "after", "deny",    "approve",     "on_deny",
                                       "reason", "mode",  "timeout", "description", NULL};
    struct place place = {arena_printf(l->arena, "flows[%zu]", index),
                          arena_printf(l->arena, "/flows/%zu", index)};
    if (t->type != TREE_MAP) {
        policy_problem(l, t, place.pointer, (struct slice){0}, "%.*s: must be a mapping",
                       SLICE_FMT(place.prefix));
        return;
    }
    policy_check_keys(l, t, place, keys);
    bool denies = tree_get(t, "deny") != NULL, approves = tree_get(t, "approve") != NULL;
    *flow = (struct flow_rule){
        .name = policy_member_text(l, t, place, "name"),
        .pointer = place.pointer,
        .text = policy_member_text(l, t, place, "on_deny"),
        .tags = read_labels(l, t, place, approves ? "approve" : "deny", NULL),
        .approve = approves,
        .shadow = policy_member_shadow(l, t, place),
        .timeout_ms = policy_member_duration(l, t, place, "timeout"),
    };
    flow->after = read_labels(l, t, place, "after", flow);
    if (!flow->name.len)
        flow->name = place.prefix;
    if (!flow->text.len)
        flow->text = policy_member_text(l, t, place, "reason");
    if (!flow->text.len)
        flow->text = flow_text(l, tree_get(t, "after"));
    if ((!flow->after && !flow->pii_count) || !flow->tags || denies == approves)
        policy_problem(l, t, place.pointer, SLICE("after: [src_untrusted, src_private], deny: [sink]"),
                       "%.*s: needs \"after\" and one of \"deny\" and \"approve\", each with labels",
                       SLICE_FMT(place.prefix));
}

static void load_flows(struct loader *l, const struct tree *root) {
    struct policy *p = l->policy;
    const struct tree *flows = policy_member_list(l, root, (struct place){0}, "flows");
    if (!flows)
        return;
    p->flows = arena_array(l->arena, struct flow_rule, flows->count + 1);
    for (const struct tree *t = flows->child; t; t = t->next, p->flow_count++)
        load_flow(l, t, p->flow_count, &p->flows[p->flow_count]);
}

/* ---- finishing ---- */

/* Conditions on counters and caps of other rules get the limit they talk about. */
static void link_counters(struct loader *l) {
    for (size_t i = 0; i < l->reference_count; i++) {
        struct cond *c = l->references[i].cond;
        c->counter = map_get(&l->limit_rules, slice_from(c->path.text, strlen("state.")));
        if (!c->counter && !l->problems->count)
            policy_problem(l, l->references[i].at, (struct slice){0}, (struct slice){0},
                           "condition references %.*s but no matching state block found",
                           SLICE_FMT(c->path.text));
    }
    for (size_t i = 0; i < l->policy->entry_count; i++) {
        struct entry *entry = l->policy->entries[i];
        for (uint32_t j = 0; j < entry->limit_count; j++) {
            struct limit_rule *cap = &entry->limits[j];
            if (!cap->check_only)
                continue;
            const struct limit_rule *of =
                map_get(&l->limit_rules, slice_from(cap->counter, strlen("state.")));
            if (!of)
                continue;
            cap->kind = of->kind;
            cap->scope = of->scope;
            cap->counter = of->counter;
            cap->label = of->label;
            cap->key = of->key;
            cap->window_ms = of->window_ms;
            entry->cap_count++;
        }
    }
}

/* Groups nest at most POLICY_GROUP_DEPTH_MAX deep. */
static void note_cond_wants(struct policy *p, struct entry *entry, const struct cond *c) {
    if (c->kind == COND_LEAF) {
        p->wants_traits |= c->path.root == ROOT_FACT && slice_is(c->path.text, "tool.class");
        entry->wants_schema |= c->op == OP_SCHEMA && !c->schema;
        p->wants_detector |= c->op == OP_CONTAINS_SECRET || c->op == OP_PII;
    }
    for (uint32_t i = 0; i < c->count; i++)
        note_cond_wants(p, entry, &c->children[i]);
}

static bool cond_reads_args(const struct cond *c) {
    if (c->kind == COND_LEAF)
        return c->path.root == ROOT_ARGS;
    for (uint32_t i = 0; i < c->count; i++)
        if (cond_reads_args(&c->children[i]))
            return true;
    return false;
}

static void note_reads(struct entry *entry) {
    for (uint32_t i = 0; i < entry->check_count; i++) {
        entry->checks[i].reads_args = cond_reads_args(&entry->checks[i].conds);
        entry->reads_args |= entry->checks[i].reads_args;
    }
    for (uint32_t i = 0; i < entry->limit_count; i++)
        entry->reads_args |= entry->limits[i].from_count > 0;
}

/* What the caller has to find out about tools before a decision. */
static void note_wants(struct policy *p) {
    p->wants_traits = p->flow_count || p->protect_agent_config;
    for (size_t i = 0; i < p->pattern_count; i++)
        p->wants_traits |= p->patterns[i]->class || p->patterns[i]->tag;
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        p->wants_traits |= p->hide_patterns[i].class || p->hide_patterns[i].tag;
    for (size_t i = 0; i < p->entry_count; i++)
        for (uint32_t j = 0; j < p->entries[i]->check_count; j++)
            note_cond_wants(p, p->entries[i], &p->entries[i]->checks[j].conds);
    p->wants_schema = p->strict == STRICT_YES;
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct entry *entry = p->entries[i];
        note_reads(p->entries[i]);
        p->wants_schema |= entry->wants_schema || entry->reads_args || entry->strict == STRICT_YES;
    }
}

static void count_shadows(struct policy *p) {
    size_t count = 3 + p->flow_count; /* hidden, not listed, preset */
    for (size_t i = 0; i < p->entry_count; i++)
        for (uint32_t j = 0; j < p->entries[i]->check_count; j++)
            count += p->shadow || p->entries[i]->checks[j].shadow;
    for (size_t i = 0; i < p->entry_count; i++)
        for (uint32_t j = 0; j < p->entries[i]->limit_count; j++)
            count += p->shadow || p->entries[i]->limits[j].shadow;
    p->shadow_max = count < POLICY_RULES_MAX ? count : POLICY_RULES_MAX;
}

static void load_presets(struct loader *l, const struct tree *root) {
    static const char *const words[] = {"protect_agent_config", NULL};
    const struct tree *presets = policy_member_list(l, root, (struct place){0}, "presets");
    for (const struct tree *t = presets ? presets->child : NULL; t; t = t->next) {
        if (slice_is(t->text, words[0]))
            l->policy->protect_agent_config = true;
        else
            policy_problem(l, t, SLICE("/presets"), policy_hint(l, t->text, words), "unknown preset \"%.*s\"",
                           SLICE_FMT(t->text));
    }
}

static void load_document(struct loader *l, const struct tree *root) {
    struct policy *p = l->policy;
    bool fragment = is_fragment(root);
    const struct tree *tools = fragment ? root : policy_member_map(l, root, (struct place){0}, "tools");
    p->dialect = dialect_of(root, tools);
    l->page_form = fragment || is_page_form(root, tools);
    l->names_required_for_rate_limits = !l->page_form && !tree_get(root, "default");
    const struct tree *methods = tree_get(root, "methods");
    size_t entries = (tools ? tools->count : 0) + (methods ? methods->count : 0) + 1;
    p->entries = arena_array(l->arena, struct entry *, entries);
    if (!fragment)
        policy_check_keys(l, root, (struct place){0}, document_keys);
    load_version(l, root);
    load_default(l, root);
    load_hide(l, root);
    load_tools(l, root, tools);
    if (fragment)
        return;
    load_all_tools(l, root);
    load_methods(l, root);
    load_flows(l, root);
    load_presets(l, root);
    p->shadow = policy_member_shadow(l, root, (struct place){0});
    p->prune = policy_member_bool(l, root, (struct place){0}, "prune", false);
    p->strict = policy_member_strict(l, root, (struct place){0});
    struct slice prefix = policy_member_text(l, root, (struct place){0}, "deny_prefix");
    if (prefix.len)
        p->deny_prefix = prefix;
}

static void set_prefixes(struct policy *p) {
    bool intercept = p->dialect == POLICY_INTERCEPT;
    if (!p->deny_prefix.len)
        p->deny_prefix = intercept ? SLICE("[INTERCEPT POLICY DENIED] ") : SLICE("[POLICY DENIED] ");
    p->approve_prefix = intercept ? SLICE("[INTERCEPT APPROVAL REQUIRED] ") : SLICE("[APPROVAL REQUIRED] ");
}

static void set_hash(struct policy *p, struct slice text) {
    sha_256_hex(text, p->hash);
    p->hash[SHA_HEX] = '\0';
}

/* "line L, column C: …" back into numbers. */
static struct tree parse_position(struct slice text) {
    struct slice line, column = slice_from(text, strlen("line "));
    uint64_t l = 0, c = 0;
    if (slice_starts(text, SLICE("line ")) && slice_cut(&column, ',', &line)) {
        column = slice_from(column, strlen(" column "));
        slice_cut(&column, ':', &text);
        if (!slice_to_u64(line, &l) || !slice_to_u64(text, &c) || l > UINT32_MAX || c > UINT32_MAX)
            l = c = 0;
    }
    return (struct tree){.line = (uint32_t)l, .column = (uint32_t)c};
}

/* Nothing but comments: a document without a version, as Intercept sees it. */
static bool is_blank(struct slice text) {
    struct slice line;
    for (bool more = true; more;) {
        more = slice_cut(&text, '\n', &line);
        line = slice_trim(line);
        if (line.len && line.ptr[0] != '#' && !slice_is(line, "---"))
            return false;
    }
    return true;
}

int policy_load(struct slice text, const char *name, struct policy **ret_policy,
                struct policy_problems *problems) {
    cleanup_policy struct policy *p = mem_zalloc(sizeof(*p));
    p->refs = 1;
    arena_init(&p->arena);
    p->name = arena_dup(&p->arena, slice_str(name ? name : ""));
    set_hash(p, text);
    struct loader l = {.policy = p, .arena = &p->arena, .problems = problems};
    size_t before = problems->count;
    const struct tree *root = NULL;
    struct err err = {0};
    static const struct tree empty = {.type = TREE_MAP, .line = 1, .column = 1};
    if (text.len > POLICY_BYTES_MAX) {
        policy_problem(&l, NULL, (struct slice){0}, (struct slice){0},
                       "parsing config file: larger than %u bytes", POLICY_BYTES_MAX);
        return -1;
    }
    if (!is_blank(text) && tree_parse(text, l.arena, &root, &err) < 0) {
        struct tree at = parse_position(slice_str(err.text));
        policy_problem(&l, &at, (struct slice){0}, (struct slice){0}, "parsing config file: %s", err.text);
        return -1;
    }
    if (!root || root->type == TREE_NULL)
        root = &empty;
    if (root->type != TREE_MAP) {
        policy_problem(&l, root, (struct slice){0}, (struct slice){0},
                       "parsing config file: the document must be a mapping");
        return -1;
    }
    load_document(&l, root);
    link_counters(&l);
    set_prefixes(p);
    note_wants(p);
    count_shadows(p);
    map_free(&l.counters);
    map_free(&l.limit_rules);
    map_free(&l.shared);
    map_free(&l.paths);
    free(l.references);
    if (problems->count > before)
        return -1;
    *ret_policy = steal(p);
    return 0;
}

/* ---- lifetime and names ---- */

struct policy *policy_ref(struct policy *p) {
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void policy_unref(struct policy *p) {
    if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < p->regex_count; i++)
        policy_regex_free(p->regexes[i]);
    for (size_t i = 0; i < p->schema_count; i++)
        policy_schema_free(p->schemas[i]);
    map_free(&p->hidden);
    map_free(&p->tools);
    map_free(&p->methods);
    free(p->regexes);
    free(p->schemas);
    arena_free(&p->arena);
    free(p);
}

struct slice policy_name(const struct policy *p) {
    return p->name;
}
const char *policy_hash(const struct policy *p) { return p->hash; }
struct slice policy_version(const struct policy *p) {
    return p->version;
}
void policy_set_revision(struct policy *p, uint64_t revision) {
    p->version = arena_printf(&p->arena, "%.*s+%" PRIu64, SLICE_FMT(p->version), revision);
}
enum policy_dialect policy_dialect(const struct policy *p) { return p->dialect; }
bool policy_is_shadow(const struct policy *p) { return p->shadow; }
bool policy_has_flows(const struct policy *p) { return p->flow_count > 0; }
size_t policy_tool_count(const struct policy *p) { return p->tools.count + p->pattern_count; }

enum policy_class policy_class_from(struct slice name) {
    static const char *const names[] = {"", "read", "write", "execute", "destructive", "financial"};
    for (int i = 1; i < (int)ARRAY_LEN(names); i++)
        if (slice_eq_nocase(name, slice_str(names[i])))
            return (enum policy_class)i;
    return POLICY_CLASS_UNKNOWN;
}

struct slice policy_pii_kind(const struct policy *p, size_t index) {
    for (size_t i = 0; i < p->flow_count; i++) {
        if (index < p->flows[i].pii_count)
            return p->flows[i].pii[index].kind;
        index -= p->flows[i].pii_count;
    }
    return (struct slice){0};
}

uint32_t policy_flow_from(struct slice name) {
    static const char *const names[] = {"src_untrusted", "src_private", "sink", "exec", "money"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (slice_is(name, names[i]))
            return 1u << i;
    return 0;
}
