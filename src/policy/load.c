/* A document becomes a program: the frame (version, default, hide, tools, methods, flows); rules and
 * conditions are read in load_rule.c and load_cond.c. Every error is collected, in the order that Intercept
 * reports them: version, default, hide, then tools by name. */
#include "policy/load.h"

#include "base/mem.h"
#include "base/sha.h"
#include "policy/fragment.h"
#include "policy/match.h"
#include "policy/regex.h"
#include "policy/schema.h"
#include "policy/tool_name.h"
#include "wire/tree_parse.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- shape ---- */

/* `rules` anywhere makes it Intercept's; blocks, all_tools or a bare `{}` make it PolicyLayer's. */
static enum policy_dialect dialect_of(const struct tree *root, const struct tree *tools) {
    bool blocks = tree_get(root, "all_tools") != NULL;
    for (const struct tree *t = tools ? tools->child : NULL; t; t = t->next) {
        if (tree_get(t, "rules"))
            return POLICY_INTERCEPT;
        blocks |= (t->type == TREE_MAP && t->count == 0) || policy_has_any(t, policy_block_keys);
    }
    return blocks ? POLICY_LAYER : POLICY_INTERCEPT;
}

static bool rule_is_page_form(const struct tree *rule) {
    static const char *const keys[] = {"validate", "reason", "spend_limit", "approval_timeout", NULL};
    const struct tree *action = tree_get(rule, "action"), *rate = tree_get(rule, "rate_limit");
    return policy_has_any(rule, keys) || (rate && rate->type == TREE_MAP) || !tree_get(rule, "name") ||
           (action && slice_is(action->text, "allow"));
}

/* `tools:` alone, with rules in the form of published pages. */
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
    l->policy->allows_by_default = slice_is(text, "allow");
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

/* A name that can match nothing would hide, deny or limit nothing, without an error. */
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

/* ---- finishing ---- */

/* Conditions on counters and caps of other rules are linked to their limit. */
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

/* The facts about tools that the caller must provide for a decision. */
static void note_wants(struct policy *p) {
    p->wants_traits = p->flow_count || p->protect_agent_config;
    for (size_t i = 0; i < p->pattern_count; i++)
        p->wants_traits |= p->patterns[i]->class || p->patterns[i]->tag;
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        p->wants_traits |= p->hide_patterns[i].class || p->hide_patterns[i].tag;
    for (size_t i = 0; i < p->entry_count; i++)
        for (uint32_t j = 0; j < p->entries[i]->check_count; j++)
            note_cond_wants(p, p->entries[i], &p->entries[i]->checks[j].conds);
    p->wants_schema = p->strict == STRICT_YES || p->protect_agent_config;
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct entry *entry = p->entries[i];
        note_reads(p->entries[i]);
        p->wants_schema |= entry->wants_schema || entry->reads_args || entry->strict == STRICT_YES;
    }
}

static void count_shadows(struct policy *p) {
    size_t count = 4 + p->flow_count; /* hidden, not listed, name, preset */
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
    bool fragment = policy_fragment_is(root);
    const struct tree *tools = fragment ? root : policy_member_map(l, root, (struct place){0}, "tools");
    p->dialect = dialect_of(root, tools);
    l->page_form = fragment || is_page_form(root, tools);
    l->names_required_for_rate_limits = !l->page_form && !tree_get(root, "default");
    const struct tree *methods = tree_get(root, "methods");
    size_t entries = (tools ? tools->count : 0) + (methods ? methods->count : 0) + 1;
    p->entries = arena_array(l->arena, struct entry *, entries);
    if (!fragment)
        policy_check_keys(l, root, (struct place){0}, policy_document_keys);
    load_version(l, root);
    load_default(l, root);
    load_hide(l, root);
    load_tools(l, root, tools);
    if (fragment)
        return;
    load_all_tools(l, root);
    load_methods(l, root);
    policy_load_flows(l, root);
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

static int parse_text(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err) {
    return policy_fragments_are(text) ? policy_fragments_parse(text, a, ret_root, err)
                                      : tree_parse(text, a, ret_root, err);
}

/* The author of a pasted fragment may expect that it only adds to what is allowed. */
static void warn_of_fragment(struct loader *l, const struct tree *root) {
    const size_t before = l->problems->count;
    policy_problem(l, root, (struct slice){0},
                   SLICE("{\"version\": \"1\", \"default\": \"deny\", \"tools\": {…}} says so; "
                         "\"default\": \"allow\" lets the others pass"),
                   "a fragment without a document around it: every tool that it does not name is denied");
    if (l->problems->count > before)
        l->problems->items[before].severity = POLICY_WARNING;
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
    if (!is_blank(text) && parse_text(text, l.arena, &root, &err) < 0) {
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
    policy_name_index(p);
    map_free(&l.counters);
    map_free(&l.limit_rules);
    map_free(&l.shared);
    map_free(&l.paths);
    free(l.references);
    if (problems->count > before)
        return -1;
    if (policy_fragment_is(root))
        warn_of_fragment(&l, root);
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
    map_free(&p->folded);
    map_free(&p->methods);
    free(p->regexes);
    free(p->schemas);
    free(p->kinds);
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

void policy_note_kind(struct loader *l, const struct tree *at, struct slice pointer, struct slice name) {
    struct policy *p = l->policy;
    if (p->kind_count == p->kind_cap) {
        p->kind_cap = p->kind_cap ? 2 * p->kind_cap : 8;
        p->kinds = mem_realloc(p->kinds, p->kind_cap * sizeof(*p->kinds));
    }
    p->kinds[p->kind_count++] = (struct named_kind){name, pointer, at->line, at->column};
}

bool policy_kind_at(const struct policy *p, size_t index, struct policy_problem *ret_place) {
    if (index >= p->kind_count)
        return false;
    const struct named_kind *kind = &p->kinds[index];
    *ret_place = (struct policy_problem){
        .text = kind->name, .pointer = kind->pointer, .line = kind->line, .column = kind->column};
    return true;
}

void policy_kind_unknown(const struct policy_problem *place, struct slice hint,
                         struct policy_problems *problems) {
    struct loader l = {.problems = problems, .arena = &problems->arena};
    const struct tree at = {.line = place->line, .column = place->column};
    policy_problem(&l, &at, place->pointer, hint, "\"%.*s\" is not a kind of personal data",
                   SLICE_FMT(place->text));
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
