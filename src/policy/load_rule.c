/* Rules of dialect A (a list under `rules`) and blocks of dialect B (require, deny_if, approve_if). */
#include "policy/load_limit.h"

#include "base/mem.h"

static const char *const rule_keys[] = {
    "name",  "action",      "conditions",       "on_deny",          "rate_limit", "state",      "reason",
    "mode",  "validate",    "approval_timeout", "spend_limit",      "limits",     "on_pending", "approvers",
    "scope", "description", "on_missing",       "max_result_bytes", "refund",     "fail_mode",  NULL};

/* ---- checks ---- */

static struct check *new_check(struct entry *entry, enum check_mode mode, struct place place) {
    struct check *c = &entry->checks[entry->check_count++];
    *c = (struct check){.mode = mode, .pointer = place.pointer, .conds = {.kind = COND_ALL}};
    return c;
}

static void read_validate(struct loader *l, const struct tree *t, struct place place, struct entry *entry,
                          struct slice name, struct slice text, bool shadow) {
    static const char *const keys[] = {"required_args", "schema", NULL};
    const struct tree *validate = policy_member_map(l, t, place, "validate");
    if (!validate)
        return;
    struct place inner = policy_place_key(l, place, SLICE("validate"));
    policy_check_keys(l, validate, inner, keys);
    static const enum check_mode modes[] = {CHECK_REQUIRED_ARGS, CHECK_SCHEMA};
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (!policy_member_bool(l, validate, inner, keys[i], false))
            continue;
        struct check *c = new_check(entry, modes[i], inner);
        c->name = name;
        c->text = text;
        c->shadow = shadow;
        c->at = t;
        entry->wants_schema = true;
    }
}

static void read_approval(struct loader *l, const struct tree *t, struct place place, const char *timeout_key,
                          struct check *c) {
    c->timeout_ms = policy_member_duration(l, t, place, timeout_key);
    struct slice pending = policy_member_text(l, t, place, "on_pending");
    if (pending.len)
        c->text = pending;
    if (!c->text.len)
        c->text = POLICY_TEXT("Rule \"%.*s\" requires approval", SLICE_FMT(c->name));
    const struct tree *approvers = policy_member_list(l, t, place, "approvers");
    if (!approvers)
        return;
    struct slice *names = arena_array(l->arena, struct slice, approvers->count + 1);
    for (const struct tree *item = approvers->child; item; item = item->next)
        names[c->approver_count++] = arena_dup(l->arena, item->text);
    c->approvers = names;
}

/* The two parts of state.T.C; C is everything after the second dot. */
static bool state_parts(struct slice path, struct slice *ret_tool, struct slice *ret_counter) {
    *ret_counter = slice_from(path, strlen("state."));
    return slice_cut(ret_counter, '.', ret_tool);
}

/* The counter that a misspelled reference probably means. */
static struct slice reference_hint(struct loader *l, struct slice path) {
    if (l->problems->count >= POLICY_PROBLEMS_MAX)
        return (struct slice){0};
    cleanup_free const char **names = mem_alloc((l->counters.count + 1) * sizeof(*names));
    size_t count = 0, at = 0;
    for (struct map_entry *entry; (entry = map_next(&l->counters, &at));)
        names[count++] = POLICY_TEXT("state.%.*s", SLICE_FMT(entry->key)).ptr;
    names[count] = NULL;
    return policy_hint(l, path, names);
}

static void check_references(const struct rule *r, size_t first) {
    struct loader *l = r->l;
    for (size_t i = first; i < l->reference_count; i++) {
        struct slice tool, counter, path = l->references[i].cond->path.text;
        bool known =
            state_parts(path, &tool, &counter) && map_get(&l->counters, slice_from(path, strlen("state.")));
        if (!known)
            policy_problem(l, l->references[i].at, r->place.pointer, reference_hint(l, path),
                           "%.*s: condition references %.*s but no matching state block found",
                           SLICE_FMT(r->place.prefix), SLICE_FMT(path));
    }
}

/* Conditions of other rules that cap a counter are checked again when it is reserved, so that concurrent
 * calls cannot pass together. */
static void note_cap(const struct rule *r, const struct cond *c) {
    struct limit_rule *cap = &r->entry->limits[r->entry->limit_count++];
    *cap = (struct limit_rule){.check_only = true,
                               .at = r->t,
                               .max = policy_cap_from(c),
                               .name = r->name,
                               .pointer = r->place.pointer,
                               .text = r->on_deny,
                               .shadow = r->shadow,
                               .counter = c->path.text,
                               .unit = 1,
                               .entry = r->entry};
    if (!cap->text.len)
        cap->text = arena_printf(r->l->arena, "Denied by rule \"%.*s\"", SLICE_FMT(r->name));
}

static void note_caps(const struct rule *r, const struct check *check) {
    for (uint32_t i = 0; i < check->conds.count; i++) {
        const struct cond *c = &check->conds.children[i];
        if (c->kind == COND_LEAF && c->path.root == ROOT_STATE && !c->before_count &&
            (c->op == OP_LT || c->op == OP_LTE))
            note_cap(r, c);
    }
}

enum action { ACTION_EVALUATE, ACTION_DENY, ACTION_ALLOW, ACTION_APPROVE, ACTION_UNKNOWN };

static enum action action_from(struct slice text) {
    static const char *const names[] = {"evaluate", "deny", "allow", "require_approval"};
    if (!text.len)
        return ACTION_EVALUATE;
    for (int i = 0; i < (int)ARRAY_LEN(names); i++)
        if (slice_is(text, names[i]))
            return (enum action)i;
    return ACTION_UNKNOWN;
}

static void check_action(const struct rule *r, enum action action, const struct tree *conditions,
                         bool has_limit) {
    static const char *const names[] = {"evaluate", "deny", "allow", "require_approval", NULL};
    struct loader *l = r->l;
    bool has_conditions = conditions && conditions->count;
    if (action == ACTION_UNKNOWN)
        policy_problem(l, tree_get(r->t, "action"), r->place.pointer, policy_hint(l, r->action, names),
                       "%.*s: action must be \"evaluate\" or \"deny\", got \"%.*s\"",
                       SLICE_FMT(r->place.prefix), SLICE_FMT(r->action));
    if (action == ACTION_DENY && has_conditions)
        policy_problem_at(l, conditions, r->place, "deny rules must not have conditions");
    if (action == ACTION_DENY && tree_get(r->t, "validate"))
        policy_problem_at(l, tree_get(r->t, "validate"), r->place, "deny rules must not have validate");
    if (action == ACTION_ALLOW && has_conditions)
        policy_problem(l, conditions, r->place.pointer, SLICE("evaluate"),
                       "%.*s: allow rules must not have conditions", SLICE_FMT(r->place.prefix));
    if (action == ACTION_EVALUATE && !has_conditions && !has_limit)
        policy_problem_at(l, r->t, r->place, "evaluate rules must have at least one condition");
}

/* Keys without effect are refused: their author expected one. */
static void check_idle_keys(const struct rule *r, enum action action) {
    static const char *const approval[] = {"approval_timeout", "on_pending", "approvers"};
    struct loader *l = r->l;
    for (size_t i = 0; action != ACTION_APPROVE && i < ARRAY_LEN(approval); i++)
        if (tree_get(r->t, approval[i]))
            policy_problem(l, tree_get(r->t, approval[i]), r->place.pointer, (struct slice){0},
                           "%.*s: %s needs action \"require_approval\"", SLICE_FMT(r->place.prefix),
                           approval[i]);
    static const char *const of_limits[] = {"refund", "scope", "fail_mode"};
    bool limits = tree_get(r->t, "rate_limit") || tree_get(r->t, "spend_limit") || tree_get(r->t, "state");
    for (size_t i = 0; !limits && i < ARRAY_LEN(of_limits); i++)
        if (tree_get(r->t, of_limits[i]))
            policy_problem(l, tree_get(r->t, of_limits[i]), r->place.pointer,
                           POLICY_TEXT("each of `limits` has a %s of its own", of_limits[i]),
                           "%.*s: %s needs a rate_limit, a spend_limit or a state",
                           SLICE_FMT(r->place.prefix), of_limits[i]);
}

static bool rate_conflicts(const struct rule *r, const struct tree *rate, enum action action) {
    struct loader *l = r->l;
    const struct tree *conditions = tree_get(r->t, "conditions"), *state = tree_get(r->t, "state");
    bool combined = (conditions && conditions->count) || (state && state->type != TREE_NULL);
    if (combined)
        policy_problem_at(
            l, rate, r->place,
            "rate_limit cannot be combined with conditions or state; use separate rules or the full syntax "
            "instead");
    if (action == ACTION_DENY)
        policy_problem_at(l, rate, r->place, "rate_limit cannot be used with action \"deny\"");
    return combined || action == ACTION_DENY;
}

/* The rate_limit member, or NULL. *ret_stop: it is so broken that the rest of the rule is not read. */
static const struct tree *read_rate(const struct rule *r, enum action action, bool *ret_stop) {
    const struct tree *rate = tree_get(r->t, "rate_limit");
    *ret_stop = false;
    if (!rate || rate->type == TREE_NULL || (rate->type != TREE_MAP && rate->text.len == 0))
        return NULL;
    uint64_t count;
    struct slice window;
    if (rate->type == TREE_LIST)
        policy_problem_at(r->l, rate, r->place, "rate_limit must be a string or a mapping");
    bool readable = rate->type == TREE_MAP || policy_rate_parse(rate->text, &count, &window);
    if (rate->type != TREE_MAP && rate->type != TREE_LIST)
        policy_check_rate(r->l, rate, r->place);
    *ret_stop = rate_conflicts(r, rate, action) || !readable;
    return rate;
}

static void name_rule(struct rule *r, const struct tree *rate) {
    struct loader *l = r->l;
    const struct tree *name = tree_get(r->t, "name");
    r->name = policy_member_text(l, r->t, r->place, "name");
    if (r->name.len)
        return;
    bool strict_shorthand = rate && rate->type != TREE_MAP && l->names_required_for_rate_limits;
    if (name || strict_shorthand)
        policy_problem_at(l, name ? name : r->t, r->place, "rule must have a name");
    r->name = POLICY_TEXT("rule[%zu]", r->index);
}

static void read_conditions(struct rule *r, enum action action, const struct tree *conditions,
                            struct check **ret) {
    struct loader *l = r->l;
    struct cond_context ctx = {.place = r->place,
                               .list = "conditions",
                               .requires = action != ACTION_APPROVE,
                               .missing = policy_member_missing(l, r->t, r->place)};
    struct check *c = new_check(r->entry, action == ACTION_APPROVE ? CHECK_APPROVE : CHECK_REQUIRE, r->place);
    c->name = r->name;
    c->shadow = r->shadow;
    c->at = r->t;
    c->text = r->on_deny;
    policy_load_conditions(l, conditions, &ctx, &c->conds);
    if (action == ACTION_APPROVE)
        read_approval(l, r->t, r->place, "approval_timeout", c);
    *ret = c;
}

static void read_result_cap(struct loader *l, const struct tree *t, struct place place, bool shadow,
                            struct entry *entry) {
    const struct tree *cap = tree_get(t, "max_result_bytes");
    if (!cap)
        return;
    if (cap->type != TREE_INT || cap->integer <= 0) {
        policy_problem_at(l, cap, place, "max_result_bytes must be a positive integer");
        return;
    }
    policy_tighten(shadow ? &entry->result_bytes_shadow : &entry->result_bytes_max, (uint64_t)cap->integer);
}

static void read_rule(struct rule *r) {
    struct loader *l = r->l;
    if (r->t->type != TREE_MAP) {
        policy_problem_at(l, r->t, r->place, "a rule must be a mapping");
        return;
    }
    policy_check_keys(l, r->t, r->place, rule_keys);
    r->action = policy_member_text(l, r->t, r->place, "action");
    r->on_deny = policy_member_text(l, r->t, r->place, "on_deny");
    if (!r->on_deny.len)
        r->on_deny = policy_member_text(l, r->t, r->place, "reason");
    r->shadow = policy_member_shadow(l, r->t, r->place);
    enum action action = action_from(r->action);
    bool stop;
    const struct tree *rate = read_rate(r, action, &stop);
    if (stop)
        return;
    name_rule(r, rate);
    const struct tree *conditions = policy_member_list(l, r->t, r->place, "conditions");
    const struct tree *state = tree_get(r->t, "state"), *spend = tree_get(r->t, "spend_limit");
    const struct tree *limits = policy_member_list(l, r->t, r->place, "limits");
    bool has_limit =
        rate || spend || limits || tree_get(r->t, "validate") || tree_get(r->t, "max_result_bytes");
    check_action(r, action, conditions, has_limit);
    check_idle_keys(r, action);
    size_t first_reference = l->reference_count;
    struct check *check = NULL;
    if (action == ACTION_DENY) {
        check = new_check(r->entry, CHECK_DENY, r->place);
        check->name = r->name;
        check->text = r->on_deny;
        check->shadow = r->shadow;
        check->at = r->t;
    } else if (action == ACTION_APPROVE || (conditions && conditions->count)) {
        read_conditions(r, action, conditions, &check);
    }
    read_validate(l, r->t, r->place, r->entry, r->name, r->on_deny, r->shadow);
    if (state && state->type != TREE_NULL)
        policy_load_state(r, state, check);
    if (rate && rate->type == TREE_MAP)
        policy_load_rate_map(r, rate);
    else if (rate)
        policy_load_rate_text(r, rate);
    if (spend)
        policy_load_spend(r, spend);
    policy_load_limits(l, limits, r->place, r->entry, r);
    read_result_cap(l, r->t, r->place, r->shadow, r->entry);
    if (check && check->mode == CHECK_REQUIRE)
        note_caps(r, check);
    check_references(r, first_reference);
}

/* ---- counters known before the rules are read ---- */

/* The counter that a rule will use under state.TOOL.*, after desugaring; empty when there is none. */
static struct slice rule_counter(struct loader *l, const struct tree *rule) {
    const struct tree *state = tree_get(rule, "state"), *rate = tree_get(rule, "rate_limit");
    const struct tree *conditions = tree_get(rule, "conditions"), *action = tree_get(rule, "action");
    if (state && state->type == TREE_MAP) {
        const struct tree *counter = tree_get(state, "counter");
        return counter ? counter->text : (struct slice){0};
    }
    bool plain = !(conditions && conditions->count) && !(action && slice_is(action->text, "deny"));
    return rate && plain ? policy_rate_counter(l, rate) : (struct slice){0};
}

void policy_note_counters(struct loader *l, const struct tree *tool, struct slice name) {
    const struct tree *rules = tree_get(tool, "rules");
    const char *scope = slice_is(name, "*") ? "_global" : name.ptr;
    struct slice own = rule_counter(l, tool);
    if (own.len)
        map_put(&l->counters, POLICY_TEXT("%s.%.*s", scope, SLICE_FMT(own)), l);
    for (const struct tree *r = rules && rules->type == TREE_LIST ? rules->child : NULL; r; r = r->next) {
        struct slice counter = r->type == TREE_MAP ? rule_counter(l, r) : (struct slice){0};
        if (counter.len)
            map_put(&l->counters, POLICY_TEXT("%s.%.*s", scope, SLICE_FMT(counter)), l);
    }
}

static void check_duplicates(struct loader *l, const struct tree *rules, struct place place) {
    struct map seen; /* counter → index + 1 */
    map_init(&seen);
    size_t i = 0;
    for (const struct tree *r = rules->child; r; r = r->next, i++) {
        struct slice counter = r->type == TREE_MAP ? rule_counter(l, r) : (struct slice){0};
        if (!counter.len)
            continue;
        size_t first = (size_t)(uintptr_t)map_get(&seen, counter);
        if (first) {
            struct place at = policy_place_index(l, place, "rules", i);
            policy_problem(l, r, at.pointer, (struct slice){0},
                           "%.*s: duplicate state counter \"%.*s\" (also used by rules[%zu])",
                           SLICE_FMT(at.prefix), SLICE_FMT(counter), first - 1);
        } else {
            map_put(&seen, counter, (void *)(uintptr_t)(i + 1));
        }
    }
    map_free(&seen);
}

/* ---- dialect B blocks ---- */

struct block_kind {
    const char *list;
    enum check_mode mode;
    const char *const *keys;
};

static void read_block(struct loader *l, const struct tree *t, struct place place, struct entry *entry,
                       const struct block_kind *kind, size_t index) {
    if (t->type != TREE_MAP) {
        policy_problem_at(l, t, place, "a block must be a mapping");
        return;
    }
    policy_check_keys(l, t, place, kind->keys);
    const struct tree *conditions = policy_member_list(l, t, place, "conditions");
    if (!tree_get(t, "conditions"))
        policy_problem(l, t, place.pointer, SLICE("conditions: [] means always"),
                       "%.*s: conditions are missing", SLICE_FMT(place.prefix));
    if (conditions && kind->mode == CHECK_REQUIRE && !conditions->count)
        policy_problem_at(l, t, place, "require blocks must have at least one condition");
    struct check *c = new_check(entry, kind->mode, place);
    c->at = t;
    c->name = policy_member_text(l, t, place, "name");
    if (!c->name.len)
        c->name = POLICY_TEXT("%s[%zu]", kind->list, index);
    c->shadow = policy_member_shadow(l, t, place);
    c->text = policy_member_text(l, t, place, "on_deny");
    if (!c->text.len)
        c->text = policy_member_text(l, t, place, "reason");
    struct cond_context ctx = {.place = place,
                               .list = "conditions",
                               .requires = kind->mode == CHECK_REQUIRE,
                               .missing = policy_member_missing(l, t, place)};
    size_t first_reference = l->reference_count;
    policy_load_conditions(l, conditions, &ctx, &c->conds);
    if (kind->mode == CHECK_APPROVE)
        read_approval(l, t, place, "timeout", c);
    struct rule as_rule = {.l = l, .place = place, .t = t, .entry = entry};
    check_references(&as_rule, first_reference);
}

static const char *const deny_keys[] = {"name", "conditions",  "on_deny", "on_missing",
                                        "mode", "description", "reason",  NULL};
static const char *const approve_keys[] = {"name",       "conditions",  "on_deny", "on_missing",
                                           "mode",       "description", "reason",  "timeout",
                                           "on_pending", "approvers",   NULL};
static const struct block_kind block_kinds[] = {
    {"require", CHECK_REQUIRE, deny_keys},
    {"deny_if", CHECK_DENY, deny_keys},
    {"approve_if", CHECK_APPROVE, approve_keys},
};

static size_t list_count(const struct tree *t, const char *key) {
    const struct tree *list = tree_get(t, key);
    return list && list->type == TREE_LIST ? list->count : 0;
}

/* The maximum number of rules and blocks of an entry; a rule can add a check, two more for validate, and
 * its limits. */
static bool reserve_room(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    size_t rules = list_count(t, "rules") + 1, limits = list_count(t, "limits") + 1;
    size_t blocks = list_count(t, "require") + list_count(t, "deny_if") + list_count(t, "approve_if");
    if (rules + blocks + limits > POLICY_RULES_MAX + 2) {
        policy_problem(l, t, place.pointer, (struct slice){0}, "%.*s: at most %d rules",
                       SLICE_FMT(place.prefix), POLICY_RULES_MAX);
        return false;
    }
    const struct tree *list = tree_get(t, "rules");
    for (const struct tree *r = list && list->type == TREE_LIST ? list->child : NULL; r; r = r->next)
        limits += list_count(r, "limits") + list_count(r, "conditions") + 3;
    entry->checks = arena_array(l->arena, struct check, 3 * rules + blocks + 2);
    entry->limits = arena_array(l->arena, struct limit_rule, limits + 1);
    return true;
}

/* action, reason and rate_limit beside the blocks, as published pages write them: one more rule. */
static void read_own_rule(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    struct tree *only = arena_new(l->arena, struct tree), **last = &only->child;
    *only = *t;
    only->count = 0;
    *last = NULL;
    for (const struct tree *m = t->child; m; m = m->next) {
        if (!slice_is(m->key, "action") && !slice_is(m->key, "reason") && !slice_is(m->key, "rate_limit"))
            continue;
        *last = arena_new(l->arena, struct tree);
        **last = *m;
        (*last)->next = NULL;
        last = &(*last)->next;
        only->count++;
    }
    if (!only->count)
        return;
    struct tree *name = *last = arena_new(l->arena, struct tree);
    *name = (struct tree){.type = TREE_STRING, .line = t->line, .column = t->column, .key = SLICE("name")};
    name->text = tree_get(t, "action") ? SLICE("action") : SLICE("rate_limit");
    struct rule rule = {.l = l, .t = only, .entry = entry, .place = place};
    read_rule(&rule);
}

void policy_load_entry(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    static const char *const keys[] = {"rules",    "require",          "deny_if",     "approve_if", "limits",
                                       "validate", "max_result_bytes", "description", "arguments",  "action",
                                       "reason",   "rate_limit",       NULL};
    if (t->type == TREE_NULL)
        return;
    if (t->type != TREE_MAP) {
        policy_problem_at(l, t, place, "must be a mapping");
        return;
    }
    policy_check_keys(l, t, place, keys);
    if (!reserve_room(l, t, place, entry))
        return;
    const struct tree *rules = policy_member_list(l, t, place, "rules");
    if (rules) {
        check_duplicates(l, rules, place);
        size_t i = 0;
        for (const struct tree *r = rules->child; r; r = r->next, i++) {
            struct rule rule = {.l = l,
                                .t = r,
                                .entry = entry,
                                .place = policy_place_index(l, place, "rules", i),
                                .index = i};
            read_rule(&rule);
        }
    }
    read_own_rule(l, t, place, entry);
    for (size_t k = 0; k < ARRAY_LEN(block_kinds); k++) {
        const struct tree *list = policy_member_list(l, t, place, block_kinds[k].list);
        size_t i = 0;
        for (const struct tree *b = list ? list->child : NULL; b; b = b->next, i++)
            read_block(l, b, policy_place_index(l, place, block_kinds[k].list, i), entry, &block_kinds[k], i);
    }
    read_validate(l, t, place, entry, SLICE("validate"), (struct slice){0}, false);
    policy_load_limits(l, policy_member_list(l, t, place, "limits"), place, entry, NULL);
    read_result_cap(l, t, place, false, entry);
    entry->strict = policy_member_strict(l, t, place);
}
