/* Warnings about rules that are valid but probably not what their author meant. */
#include "policy/load.h"
#include "policy/match.h"

#define LINT_COVER_MAX 200 /* rules of one tool that are compared with each other */

struct linter {
    const struct policy *p;
    struct policy_problems *problems;
};

static void warn(struct linter *l, const struct tree *at, struct slice pointer, const char *hint,
                 struct slice text) {
    policy_warn(l->problems, at, pointer, slice_str(hint), text);
}

#define WARN(at, pointer, hint, ...)                                                                         \
    warn(l, at, pointer, hint, arena_printf(&l->problems->arena, __VA_ARGS__))

static bool denies_always(const struct check *c) {
    return c->mode == CHECK_DENY && c->conds.count == 0 && !c->shadow;
}

/* ---- rules that cannot fire ---- */

/* The rule by which every call is denied, or NULL. */
static const struct check *always_denied(const struct entry *entry) {
    for (uint32_t i = 0; i < entry->check_count; i++)
        if (denies_always(&entry->checks[i]))
            return &entry->checks[i];
    return NULL;
}

static void lint_order(struct linter *l, const struct entry *entry) {
    for (uint32_t i = 0; i + 1 < entry->check_count; i++) {
        const struct check *c = &entry->checks[i];
        if (!denies_always(c))
            continue;
        const struct check *next = &entry->checks[i + 1];
        WARN(next->at, next->pointer, "remove it, or move it before the deny rule",
             "rule \"%.*s\" can never fire: \"%.*s\" before it denies every call", SLICE_FMT(next->name),
             SLICE_FMT(c->name));
        return;
    }
    const struct check *bar = entry->limit_count ? always_denied(entry) : NULL;
    if (bar)
        WARN(bar->at, bar->pointer, "", "limits of \"%.*s\" never count: rule \"%.*s\" denies every call",
             SLICE_FMT(entry->name), SLICE_FMT(bar->name));
}

/* ---- rules that an earlier one covers ---- */

static bool same_constant(const struct constant *a, const struct constant *b) {
    return a->type == b->type && slice_eq(a->text, b->text) && a->number == b->number;
}

static bool in_constants(const struct constant *value, const struct cond *list) {
    for (size_t i = 0; i < list->list_count; i++)
        if (same_constant(value, &list->list[i]))
            return true;
    return false;
}

static bool is_upper(enum op op) { return op == OP_LT || op == OP_LTE; }
static bool is_lower(enum op op) { return op == OP_GT || op == OP_GTE; }

/* Does y hold whenever x does? false when that is not obvious. */
static bool implies(const struct cond *x, const struct cond *y) {
    if (x->kind != COND_LEAF || y->kind != COND_LEAF || x->path.root == ROOT_STATE ||
        !slice_eq(x->path.text, y->path.text) || x->match_all != y->match_all || x->absent != y->absent)
        return false;
    double a = x->value.number, b = y->value.number;
    if (is_upper(x->op) && is_upper(y->op))
        return a < b || (a == b && (x->op == OP_LT || y->op == OP_LTE));
    if (is_lower(x->op) && is_lower(y->op))
        return a > b || (a == b && (x->op == OP_GT || y->op == OP_GTE));
    if (x->op == OP_EQ && y->op == OP_IN)
        return in_constants(&x->value, y);
    if (y->op == OP_EXISTS && y->value.number != 0 && (is_upper(x->op) || is_lower(x->op)))
        return !x->absent;
    if (x->op != y->op || x->op == OP_SCHEMA || x->op == OP_WITHIN || x->op == OP_PII ||
        x->list_count != y->list_count)
        return false;
    for (size_t i = 0; i < x->list_count; i++)
        if (!in_constants(&x->list[i], y))
            return false;
    return x->list_count || same_constant(&x->value, &y->value);
}

/* Does each of `all` follow from one of `from`? */
static bool all_follow(const struct cond *all, const struct cond *from) {
    for (uint32_t i = 0; i < all->count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < from->count && !found; j++)
            found = implies(&from->children[j], &all->children[i]);
        if (!found)
            return false;
    }
    return true;
}

/* Does the earlier rule match everything that the later one matches? */
static bool covers(const struct check *earlier, const struct check *later) {
    if (earlier->mode != later->mode || earlier->shadow)
        return false;
    if (later->mode == CHECK_REQUIRE)
        return all_follow(&later->conds, &earlier->conds);
    bool asks = later->mode == CHECK_APPROVE;
    return (asks || later->mode == CHECK_DENY) && (asks || earlier->conds.count) &&
           all_follow(&earlier->conds, &later->conds);
}

static void lint_covered(struct linter *l, const struct entry *entry) {
    for (uint32_t i = 1; i < entry->check_count && i < LINT_COVER_MAX; i++) {
        const struct check *later = &entry->checks[i];
        for (uint32_t j = 0; j < i; j++) {
            if (!covers(&entry->checks[j], later))
                continue;
            WARN(later->at, later->pointer, "remove it, or move it before that rule",
                 "rule \"%.*s\" is shadowed: \"%.*s\" before it catches all that it would",
                 SLICE_FMT(later->name), SLICE_FMT(entry->checks[j].name));
            break;
        }
    }
}

static bool is_hidden(const struct policy *p, struct slice name) {
    if (p->hide_all || map_get(&p->hidden, name))
        return true;
    for (size_t i = 0; i < p->hide_pattern_count; i++)
        if (p->hide_patterns[i].name.len && policy_glob_names(p->hide_patterns[i].name, name))
            return true;
    return false;
}

static bool is_method(const struct policy *p, const struct entry *entry) {
    for (size_t i = 0; i < p->method_pattern_count; i++)
        if (p->method_patterns[i] == entry)
            return true;
    return map_get(&p->methods, entry->name) == entry;
}

static void lint_shadowed(struct linter *l, const struct entry *entry) {
    const struct policy *p = l->p;
    bool has_rules = (entry->check_count || entry->limit_count) && !is_method(p, entry);
    if (has_rules && entry != p->everything && is_hidden(p, entry->name))
        WARN(entry->at, entry->checks[0].pointer, "remove the tool from hide, or its rules",
             "rules of \"%.*s\" can never fire: the tool is hidden", SLICE_FMT(entry->name));
    for (size_t i = 0; has_rules && i < p->pattern_count; i++) {
        const struct entry *pattern = p->patterns[i];
        const struct check *bar = always_denied(pattern);
        if (bar && pattern != entry && !pattern->class && !pattern->tag &&
            policy_glob_names(pattern->name, entry->name))
            WARN(entry->at, entry->checks ? entry->checks[0].pointer : (struct slice){0},
                 "make the pattern narrower",
                 "\"%.*s\" is shadowed: rule \"%.*s\" of \"%.*s\" denies every call", SLICE_FMT(entry->name),
                 SLICE_FMT(bar->name), SLICE_FMT(pattern->name));
    }
    const struct entry *all = p->everything;
    if (!all || entry == all || !has_rules)
        return;
    const struct check *bar = always_denied(all);
    if (bar)
        WARN(entry->at, entry->checks ? entry->checks[0].pointer : (struct slice){0},
             "name the tools to deny instead",
             "\"%.*s\" is shadowed: rule \"%.*s\" for all tools denies every call", SLICE_FMT(entry->name),
             SLICE_FMT(bar->name));
}

/* ---- conditions ---- */

static bool requires_path(const struct cond *c, struct slice path) {
    if (c->kind == COND_LEAF)
        return slice_eq(c->path.text, path) && (c->op != OP_EXISTS || c->value.number != 0) && !c->absent;
    for (uint32_t i = 0; c->kind == COND_ALL && i < c->count; i++)
        if (requires_path(&c->children[i], path))
            return true;
    return false;
}

static bool entry_requires(const struct entry *entry, struct slice path) {
    for (uint32_t i = 0; i < entry->check_count; i++)
        if (entry->checks[i].mode == CHECK_REQUIRE && requires_path(&entry->checks[i].conds, path))
            return true;
    return false;
}

/* In a rule that denies or asks (such a block, or `not` in require), the first argument whose absence
 * disables it; NULL when there is none. Groups nest at most POLICY_GROUP_DEPTH_MAX deep. */
static const struct cond *find_silent(const struct entry *entry, const struct cond *c) {
    const struct cond *found = NULL;
    for (uint32_t i = 0; i < c->count && !found; i++)
        found = find_silent(entry, &c->children[i]);
    if (c->kind != COND_LEAF)
        return found;
    bool finds = c->op == OP_CONTAINS_SECRET || c->op == OP_PII; /* a missing value contains none */
    bool silent = !c->lenient && c->path.root == ROOT_ARGS && c->op != OP_EXISTS && !finds &&
                  !c->has_missing && c->path.step_count && !entry_requires(entry, c->path.text);
    return silent ? c : NULL;
}

static void lint_missing(struct linter *l, const struct entry *entry, const struct check *c) {
    const struct cond *leaf = find_silent(entry, &c->conds);
    if (leaf)
        WARN(c->at, c->pointer,
             "add on_missing: deny (or pass, where it may be missing), or require that the argument exists",
             "rule \"%.*s\" does not fire when %.*s is missing", SLICE_FMT(c->name),
             SLICE_FMT(leaf->path.text));
}

/* (a+)+, (a*)*, (a|aa)+: a quantifier on a group that ends in a quantifier or contains alternatives. */
static bool may_backtrack(struct slice pattern) {
    size_t depth = 0;
    bool inner[32] = {false};
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.ptr[i], next = i + 1 < pattern.len ? pattern.ptr[i + 1] : '\0';
        bool repeats = c == '*' || c == '+' || (c == '{' && i);
        if (c == '\\') {
            i++;
        } else if (c == '[') {
            for (i++; i < pattern.len && pattern.ptr[i] != ']'; i++)
                i += pattern.ptr[i] == '\\';
        } else if (c == '(' && depth + 1 < sizeof(inner)) {
            inner[++depth] = false;
        } else if (repeats || (c == '|' && depth)) {
            inner[depth] = true;
        } else if (c == ')' && depth) {
            bool repeated = next == '*' || next == '+' || next == '{';
            if (inner[depth] && repeated)
                return true;
            bool was = inner[depth--];
            inner[depth] |= was && depth > 0;
        }
    }
    return false;
}

/* Lookaround, backreferences, possessive and atomic groups: PCRE2 supports them, RE2 does not. */
static bool beyond_re2(struct slice pattern) {
    static const char *const marks[] = {"(?=", "(?!", "(?<=", "(?<!", "(?>", "*+",
                                        "++",  "?+",  "\\1",  "\\2",  "\\k", NULL};
    for (size_t i = 0; marks[i]; i++)
        if (pattern.len && memmem(pattern.ptr, pattern.len, marks[i], strlen(marks[i])))
            return true;
    return false;
}

static void lint_regex(struct linter *l, const struct check *c, const struct cond *leaf) {
    struct slice pattern = leaf->value.text;
    if (may_backtrack(pattern))
        WARN(c->at, c->pointer, "a call that needs too many steps is denied",
             "pattern \"%.*s\" may backtrack without end", SLICE_FMT(pattern));
    if (beyond_re2(pattern))
        WARN(c->at, c->pointer, "write it without lookaround, backreferences and possessive quantifiers",
             "pattern \"%.*s\" is not RE2: Intercept refuses it", SLICE_FMT(pattern));
    bool anchored = slice_starts(pattern, SLICE("^")) || slice_starts(pattern, SLICE("\\A"));
    if (leaf->lenient && c->mode == CHECK_REQUIRE && !anchored)
        WARN(c->at, c->pointer, "begin with ^ and end with $ to match the whole value",
             "pattern \"%.*s\" is a search: it matches anywhere in %.*s", SLICE_FMT(pattern),
             SLICE_FMT(leaf->path.text));
}

/* Grants and sessions always have these facts; simulate and later versions may have more. */
static void lint_fact(struct linter *l, const struct check *c, struct slice path) {
    bool known =
        slice_is(path, "grant.name") || slice_is(path, "grant.label") || slice_is(path, "session.id");
    if (!known && (slice_starts(path, SLICE("grant.")) || slice_starts(path, SLICE("session."))))
        WARN(c->at, c->pointer, "grant.name, grant.label and session.id are known",
             "rule \"%.*s\": no gate says what %.*s is", SLICE_FMT(c->name), SLICE_FMT(path));
}

static void lint_leaf(struct linter *l, const struct entry *entry, const struct check *c,
                      const struct cond *leaf) {
    if (leaf->path.root == ROOT_FACT)
        lint_fact(l, c, leaf->path.text);
    if (leaf->op == OP_REGEX)
        lint_regex(l, c, leaf);
    if (leaf->op == OP_IN && leaf->list_count == 0)
        WARN(c->at, c->pointer, "", "rule \"%.*s\": in with an empty list never holds", SLICE_FMT(c->name));
    if (leaf->op == OP_WITHIN && (!leaf->within.days || leaf->within.from_min == leaf->within.to_min))
        WARN(c->at, c->pointer, "", "rule \"%.*s\": its time window is empty", SLICE_FMT(c->name));
    policy_lint_text(entry, c, leaf, l->problems);
}

/* Groups nest at most POLICY_GROUP_DEPTH_MAX deep. */
static void lint_conds(struct linter *l, const struct entry *entry, const struct check *c,
                       const struct cond *cond) {
    if (cond->kind == COND_LEAF)
        lint_leaf(l, entry, c, cond);
    for (uint32_t i = 0; i < cond->count; i++)
        lint_conds(l, entry, c, &cond->children[i]);
}

struct range {
    double low, high;
    bool low_open, high_open;
};

static void narrow(struct range *r, const struct cond *leaf) {
    double n = leaf->value.number;
    if ((leaf->op == OP_LT || leaf->op == OP_LTE || leaf->op == OP_EQ) && n <= r->high) {
        r->high_open = leaf->op == OP_LT || (n == r->high && r->high_open);
        r->high = n;
    }
    if ((leaf->op == OP_GT || leaf->op == OP_GTE || leaf->op == OP_EQ) && n >= r->low) {
        r->low_open = leaf->op == OP_GT || (n == r->low && r->low_open);
        r->low = n;
    }
}

/* Does the condition certainly fail for this value? */
static bool refuses(const struct cond *c, const struct constant *value) {
    bool text = value->type == TREE_STRING && c->value.type == TREE_STRING;
    switch (c->op) {
    case OP_EQ:
        return text && !slice_eq(value->text, c->value.text);
    case OP_NEQ:
        return same_constant(value, &c->value);
    case OP_IN:
        return value->type == TREE_STRING && !in_constants(value, c);
    case OP_NOT_IN:
        return in_constants(value, c);
    case OP_STARTS_WITH:
        return text && !slice_starts(value->text, c->value.text);
    case OP_ENDS_WITH:
        return text && !slice_ends(value->text, c->value.text);
    default:
        return false;
    }
}

/* Two conditions on one argument that cannot both hold. */
static bool exclude(const struct cond *a, const struct cond *b) {
    if (a->kind != COND_LEAF || b->kind != COND_LEAF || a->path.root != ROOT_ARGS || a->path.has_each ||
        !slice_eq(a->path.text, b->path.text))
        return false;
    if (a->op == OP_EXISTS && a->value.number == 0)
        return b->op != OP_EXISTS ? !b->absent && b->op != OP_EQ && b->op != OP_IN : b->value.number != 0;
    if (a->op == OP_EQ)
        return refuses(b, &a->value);
    size_t refused = 0;
    while (a->op == OP_IN && refused < a->list_count && refuses(b, &a->list[refused]))
        refused++;
    return refused > 0 && refused == a->list_count;
}

static void lint_exclusive(struct linter *l, const struct check *c) {
    for (uint32_t i = 0; i < c->conds.count; i++)
        for (uint32_t j = 0; j < c->conds.count; j++) {
            if (i == j || !exclude(&c->conds.children[i], &c->conds.children[j]))
                continue;
            WARN(c->at, c->pointer, "", "rule \"%.*s\": no value of %.*s satisfies all conditions",
                 SLICE_FMT(c->name), SLICE_FMT(c->conds.children[i].path.text));
            return;
        }
}

/* Conditions of one block on one argument that no number satisfies together. */
static void lint_ranges(struct linter *l, const struct check *c) {
    for (uint32_t i = 0; i < c->conds.count; i++) {
        const struct cond *first = &c->conds.children[i];
        if (first->kind != COND_LEAF || first->path.root != ROOT_ARGS || first->value.type == TREE_STRING)
            continue;
        struct range r = {-__builtin_inf(), __builtin_inf(), false, false};
        for (uint32_t j = 0; j < c->conds.count; j++) {
            const struct cond *leaf = &c->conds.children[j];
            bool numeric = leaf->value.type == TREE_INT || leaf->value.type == TREE_FLOAT;
            if (leaf->kind == COND_LEAF && numeric && slice_eq(leaf->path.text, first->path.text))
                narrow(&r, leaf);
        }
        if (r.low < r.high || (r.low == r.high && !r.low_open && !r.high_open))
            continue;
        WARN(c->at, c->pointer, "", "rule \"%.*s\": no value of %.*s satisfies all conditions",
             SLICE_FMT(c->name), SLICE_FMT(first->path.text));
        return;
    }
}

/* ---- entry points ---- */

static void lint_limits(struct linter *l, const struct entry *entry) {
    for (uint32_t i = 0; i < entry->limit_count; i++) {
        const struct limit_rule *limit = &entry->limits[i];
        if (limit->max < POLICY_MICRO && limit->from_count == 0 && !limit->check_only)
            WARN(limit->at, limit->pointer, "use a deny rule to block the tool",
                 "limit \"%.*s\" allows no call", SLICE_FMT(limit->name));
    }
}

void policy_lint(const struct policy *p, struct policy_problems *problems) {
    struct linter linter = {p, problems}, *l = &linter;
    if (!p->default_deny && p->entry_count == 0 && !p->hide_all && p->hidden.count == 0 && !p->flow_count)
        WARN(NULL, (struct slice){0}, "set default: deny and list the tools", "the policy allows every call");
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct entry *entry = p->entries[i];
        lint_order(l, entry);
        lint_covered(l, entry);
        lint_shadowed(l, entry);
        lint_limits(l, entry);
        for (uint32_t j = 0; j < entry->check_count; j++) {
            lint_missing(l, entry, &entry->checks[j]);
            lint_conds(l, entry, &entry->checks[j], &entry->checks[j].conds);
            lint_ranges(l, &entry->checks[j]);
            lint_exclusive(l, &entry->checks[j]);
        }
    }
}
