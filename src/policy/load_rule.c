/* Rules of dialect A (a list under `rules`) and blocks of dialect B (require, deny_if, approve_if, limits). */
#include "policy/load.h"

#include "base/check.h"
#include "base/mem.h"
#include "policy/path.h"
#include "policy/value.h"

#define RULE_TEXT(...) arena_printf(l->arena, __VA_ARGS__)

static const char *const rule_keys[] = {
    "name",  "action",   "conditions",       "on_deny",     "rate_limit", "state",      "reason",
    "mode",  "validate", "approval_timeout", "spend_limit", "limits",     "on_pending", "approvers",
    "scope", "description", "on_missing", "max_result_bytes", NULL};

static void problem_at(struct loader *l, const struct tree *at, struct place place, const char *text) {
    policy_problem(l, at, place.pointer, (struct slice){0}, "%.*s: %s", SLICE_FMT(place.prefix), text);
}

static const char *scope_name(const struct entry *entry) {
    return slice_is(entry->name, "*") ? "_global" : entry->name.ptr;
}

/* ---- limits ---- */

static struct limit_rule *new_limit(struct entry *entry, const struct limit_rule *from) {
    struct limit_rule *rule = &entry->limits[entry->limit_count++];
    *rule = *from;
    rule->entry = entry;
    if (!rule->unit)
        rule->unit = 1;
    return rule;
}

static bool whole_micro(double units, int64_t *ret_micro) {
    if (!(units >= 0) || units > (double)POLICY_CALLS_MAX)
        return false;
    *ret_micro = (int64_t)(units * POLICY_MICRO + 0.5);
    return true;
}

static enum scope scope_from(struct loader *l, const struct tree *map, struct place place, enum scope fallback) {
    static const char *const names[] = {"policy", "grant", "identity", "session", "server", "global", NULL};
    struct slice text = policy_member_text(l, map, place, "scope");
    if (!text.len)
        return fallback;
    for (int i = 0; names[i]; i++)
        if (slice_is(text, names[i]))
            return (enum scope)i;
    policy_problem(l, tree_get(map, "scope"), place.pointer, policy_hint(l, text, names),
                   "%.*s: scope must be \"grant\", \"identity\", \"session\", \"server\", or \"global\", got \"%.*s\"",
                   SLICE_FMT(place.prefix), SLICE_FMT(text));
    return fallback;
}

static void set_scope(struct loader *l, struct limit_rule *rule, const char *owner) {
    static const char *const names[] = {"", "grant", "identity", "session", "server", "global"};
    if (rule->scope == SCOPE_POLICY) {
        rule->label = RULE_TEXT("%s.%.*s", owner, SLICE_FMT(rule->counter));
        rule->key = rule->label;
        return;
    }
    rule->label = RULE_TEXT("%s.%.*s", names[rule->scope], SLICE_FMT(rule->counter));
    rule->key = rule->scope == SCOPE_GLOBAL ? RULE_TEXT("global/%.*s", SLICE_FMT(rule->counter)) : rule->counter;
    if (owner[0] && l->policy->dialect == POLICY_INTERCEPT) /* dialect A keeps tools apart in every scope */
        rule->key = RULE_TEXT("%.*s/%s", SLICE_FMT(rule->key), owner);
}

/* A name, or whole seconds; *ret_name is how people say it. 0: neither. */
static uint64_t window_from(struct loader *l, const struct tree *t, struct slice *ret_name) {
    uint64_t ms = t ? policy_window_from(t->text) : 0;
    if (ms && t->type == TREE_STRING) {
        *ret_name = arena_dup(l->arena, t->text);
        return ms;
    }
    if (!t || t->type != TREE_INT || t->integer <= 0 || t->integer > 366 * 86400)
        return 0;
    *ret_name = RULE_TEXT("%lld seconds", (long long)t->integer);
    return (uint64_t)t->integer * 1000;
}

static void read_amount(struct loader *l, const struct tree *t, struct place place, const char *key,
                        struct limit_rule *rule) {
    struct slice from = policy_member_text(l, t, place, key);
    const struct tree *unit = tree_get(t, "unit");
    rule->numeric_strings = policy_member_bool(l, t, place, "numeric_strings", false);
    if (unit && (unit->type != TREE_INT || unit->integer < 1 || unit->integer > 1000000))
        problem_at(l, unit, place, "unit must be a positive integer (100 when the argument counts in cents)");
    else if (unit)
        rule->unit = unit->integer;
    if (!from.len)
        return;
    if (!slice_starts(from, SLICE("args."))) {
        policy_problem(l, tree_get(t, key), place.pointer, (struct slice){0},
                       "%.*s: increment_from must start with \"args.\", got \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(from));
        return;
    }
    struct path *path = arena_new(l->arena, struct path);
    if (policy_path_compile(from, l->arena, path) != POLICY_PATH_OK || path->has_each)
        problem_at(l, tree_get(t, key), place, "increment_from must name one argument");
    rule->from = path;
    rule->from_count = 1;
}

/* "N/window" as in Intercept: Go's Atoi on the left. */
bool policy_rate_parse(struct slice text, uint64_t *ret_count, struct slice *ret_window) {
    struct slice count;
    *ret_window = text;
    if (!slice_cut(ret_window, '/', &count))
        return false;
    if (count.len && count.ptr[0] == '+')
        count = slice_from(count, 1);
    return slice_to_u64(count, ret_count) && *ret_count > 0 && *ret_count <= POLICY_CALLS_MAX &&
           policy_window_from(*ret_window) && !slice_is(*ret_window, "week");
}

static void check_rate(struct loader *l, const struct tree *at, struct place place) {
    struct slice text = at->text, window = text, count;
    uint64_t n;
    if (!slice_cut(&window, '/', &count)) {
        policy_problem(l, at, place.pointer, (struct slice){0},
                       "%.*s: rate_limit must be in the format \"N/window\" (e.g. \"5/hour\"), got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(text));
        return;
    }
    struct slice digits = count.len && count.ptr[0] == '+' ? slice_from(count, 1) : count;
    if (!slice_to_u64(digits, &n) || n == 0 || n > POLICY_CALLS_MAX)
        policy_problem(l, at, place.pointer, (struct slice){0},
                       "%.*s: rate_limit count must be a positive integer, got \"%.*s\"", SLICE_FMT(place.prefix),
                       SLICE_FMT(count));
    else if (!policy_window_from(window) || slice_is(window, "week"))
        policy_problem(l, at, place.pointer, (struct slice){0},
                       "%.*s: rate_limit window must be \"minute\", \"hour\", or \"day\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(window));
}

/* Counter that a rate limit of this form uses; empty when it cannot be read. */
static struct slice rate_counter(struct loader *l, const struct tree *rate) {
    struct slice window;
    uint64_t count;
    if (rate->type == TREE_MAP) {
        const struct tree *w = tree_get(rate, "window");
        uint64_t ms = window_from(l, w, &window);
        if (!ms)
            return (struct slice){0};
        return w->type == TREE_STRING ? RULE_TEXT("_rate_%.*s", SLICE_FMT(window))
                                      : RULE_TEXT("_rate_%llus", (unsigned long long)ms / 1000);
    }
    if (!policy_rate_parse(rate->text, &count, &window))
        return (struct slice){0};
    return RULE_TEXT("_rate_%.*s", SLICE_FMT(window));
}

struct rule { /* one rule of dialect A while it is being read */
    struct loader *l;
    const struct tree *t;
    struct place place;
    struct entry *entry;
    struct slice name;
    struct slice on_deny;
    struct slice action;
    bool shadow;
};

static struct limit_rule rule_limit(const struct rule *r) {
    return (struct limit_rule){
        .kind = POLICY_FIXED,
        .name = r->name,
        .pointer = r->place.pointer,
        .shadow = r->shadow,
        .at = r->t,
        .amount = POLICY_MICRO,
        .max = POLICY_NO_MAX,
        .scope = scope_from(r->l, r->t, r->place, SCOPE_POLICY),
    };
}

static void publish_counter(struct loader *l, struct limit_rule *rule, const struct entry *entry) {
    struct slice key = RULE_TEXT("%s.%.*s", scope_name(entry), SLICE_FMT(rule->counter));
    if (!map_get(&l->limit_rules, key))
        map_put(&l->limit_rules, key, rule);
}

static void rate_from_map(const struct rule *r, const struct tree *rate) {
    static const char *const keys[] = {"max", "window", "scope", "kind", "burst", NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("rate_limit"));
    policy_check_keys(l, rate, place, keys);
    struct limit_rule limit = rule_limit(r);
    struct slice window = {0};
    const struct tree *max = tree_get(rate, "max");
    limit.scope = scope_from(l, rate, place, limit.scope);
    limit.window_ms = window_from(l, tree_get(rate, "window"), &window);
    if (!max || max->type != TREE_INT || max->integer <= 0 || max->integer > POLICY_CALLS_MAX) {
        problem_at(l, max ? max : rate, place, "max must be a positive integer");
        return;
    }
    if (!limit.window_ms) {
        problem_at(l, rate, place, "window must be \"minute\", \"hour\", \"day\", or a number of seconds");
        return;
    }
    limit.max = max->integer * POLICY_MICRO;
    limit.counter = rate_counter(l, rate);
    limit.text = r->on_deny.len ? r->on_deny
                                : RULE_TEXT("Rate limit of %lld per %.*s reached. Try again later.",
                                            (long long)max->integer, SLICE_FMT(window));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

static void rate_from_text(const struct rule *r, const struct tree *rate) {
    struct loader *l = r->l;
    struct limit_rule limit = rule_limit(r);
    struct slice window;
    uint64_t count;
    if (!policy_rate_parse(rate->text, &count, &window))
        return;
    limit.window_ms = policy_window_from(window);
    limit.max = (int64_t)count * POLICY_MICRO;
    limit.counter = rate_counter(l, rate);
    limit.text = r->on_deny.len ? r->on_deny
                                : RULE_TEXT("Rate limit of %llu per %.*s reached. Try again later.",
                                            (unsigned long long)count, SLICE_FMT(window));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

/* "$500/day", or {max, window, from, unit}. */
static bool spend_parts(const struct rule *r, const struct tree *spend, struct limit_rule *limit,
                        struct slice *ret_window) {
    static const char *const keys[] = {"max", "window", "from", "unit", "scope", "numeric_strings", NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("spend_limit"));
    if (spend->type == TREE_MAP) {
        policy_check_keys(l, spend, place, keys);
        const struct tree *max = tree_get(spend, "max");
        limit->scope = scope_from(l, spend, place, limit->scope);
        limit->window_ms = window_from(l, tree_get(spend, "window"), ret_window);
        read_amount(l, spend, place, "from", limit);
        return max && (max->type == TREE_INT || max->type == TREE_FLOAT) && whole_micro(max->number, &limit->max);
    }
    struct slice amount, window = spend->text;
    if (!slice_cut(&window, '/', &amount))
        return false;
    amount = slice_trim(amount);
    window = slice_trim(window);
    if (amount.len && amount.ptr[0] == '$')
        amount = slice_from(amount, 1);
    *ret_window = arena_dup(l->arena, window);
    limit->window_ms = policy_window_from(window);
    return policy_amount_parse(amount, &limit->max) && limit->max <= POLICY_CALLS_MAX * POLICY_MICRO;
}

static void read_spend(const struct rule *r, const struct tree *spend) {
    static const char *const usual[] = {"args.amount", "args.total", "args.value"};
    struct loader *l = r->l;
    struct limit_rule limit = rule_limit(r);
    struct slice window = {0};
    if (!spend_parts(r, spend, &limit, &window) || !limit.window_ms) {
        policy_problem(l, spend, r->place.pointer, SLICE("\"$500/day\" or {max: 500, window: day, from: args.amount}"),
                       "%.*s: spend_limit must be in the format \"$N/window\"", SLICE_FMT(r->place.prefix));
        return;
    }
    if (!limit.from_count) {
        struct path *paths = arena_array(l->arena, struct path, ARRAY_LEN(usual));
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
            policy_path_compile(slice_str(usual[i]), l->arena, &paths[i]);
        limit.from = paths;
        limit.from_count = ARRAY_LEN(usual);
    }
    limit.counter = RULE_TEXT("_spend_%.*s", SLICE_FMT(window));
    limit.text = r->on_deny.len
                     ? r->on_deny
                     : RULE_TEXT("Spend limit of %.*s per %.*s reached. Try again later.",
                                 SLICE_FMT(policy_value_decimal((double)limit.max / POLICY_MICRO, l->arena)),
                                 SLICE_FMT(window));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

/* The condition that turns the state block into a limit: the first lt or lte on its own counter. */
static struct cond *own_limit(const struct rule *r, const struct check *check, struct slice counter) {
    struct loader *l = r->l;
    struct slice own = RULE_TEXT("state.%s.%.*s", scope_name(r->entry), SLICE_FMT(counter));
    for (uint32_t i = 0; i < check->conds.count; i++) {
        struct cond *c = &check->conds.children[i];
        if (c->kind == COND_LEAF && (c->op == OP_LT || c->op == OP_LTE) && slice_eq(c->path.text, own))
            return c;
    }
    return NULL;
}

/* Largest value that satisfies lt or lte, in micro-units; -1 when none does. */
static int64_t cap_from(const struct cond *c) {
    double micro = c->value.number * POLICY_MICRO;
    if (micro < 0)
        return -1;
    if (micro > 9e18)
        return POLICY_NO_MAX;
    int64_t cap = (int64_t)micro;
    return c->op == OP_LT && (double)cap == micro ? cap - 1 : cap;
}

static void read_state(const struct rule *r, const struct tree *state, struct check *check) {
    static const char *const keys[] = {"counter", "window", "increment", "increment_from",
                                       "unit",    "scope",  "numeric_strings", NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("state"));
    if (state->type != TREE_MAP) {
        problem_at(l, state, place, "state must be a mapping");
        return;
    }
    policy_check_keys(l, state, place, keys);
    struct limit_rule limit = rule_limit(r);
    const struct tree *window = tree_get(state, "window"), *increment = tree_get(state, "increment");
    struct slice window_name = {0};
    limit.counter = policy_member_text(l, state, place, "counter");
    if (!limit.counter.len)
        problem_at(l, state, place, "counter must not be empty");
    limit.window_ms = window && !slice_is(window->text, "week") ? window_from(l, window, &window_name) : 0;
    if (!limit.window_ms)
        policy_problem(l, window ? window : state, place.pointer, (struct slice){0},
                       "%.*s: window must be \"minute\", \"hour\", or \"day\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(window ? window->text : (struct slice){0}));
    if (increment && (increment->type != TREE_INT || increment->integer < 0 || increment->integer > POLICY_CALLS_MAX))
        problem_at(l, increment, place, "increment must be an integer that is not negative");
    else if (increment && increment->integer)
        limit.amount = increment->integer * POLICY_MICRO;
    limit.scope = scope_from(l, state, place, limit.scope);
    read_amount(l, state, place, "increment_from", &limit);
    struct cond *own = check ? own_limit(r, check, limit.counter) : NULL;
    if (own) {
        limit.max = cap_from(own);
        own->before_count = true;
    }
    limit.text = r->on_deny.len ? r->on_deny : RULE_TEXT("Rate limit exceeded for %.*s", SLICE_FMT(r->name));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

/* ---- dialect B limits, also as `limits` of a rule ---- */

static enum policy_limit_kind limit_kind(struct loader *l, const struct tree *t, struct place place,
                                         bool *ret_identical) {
    static const char *const kinds[] = {"calendar", "sliding", "bucket", "concurrent", "identical", NULL};
    struct slice text = policy_member_text(l, t, place, "kind");
    *ret_identical = slice_is(text, "identical");
    if (*ret_identical)
        return POLICY_SLIDING;
    if (!text.len)
        return POLICY_FIXED;
    for (int i = 0; i < 4; i++)
        if (slice_is(text, kinds[i]))
            return (enum policy_limit_kind)i;
    policy_problem(l, tree_get(t, "kind"), place.pointer, policy_hint(l, text, kinds),
                   "%.*s: kind must be \"calendar\", \"sliding\", \"bucket\", \"concurrent\", or \"identical\", got \"%.*s\"",
                   SLICE_FMT(place.prefix), SLICE_FMT(text));
    return POLICY_FIXED;
}

static void limit_bounds(struct loader *l, const struct tree *t, struct place place, struct limit_rule *limit,
                         struct slice *ret_window) {
    const struct tree *max = tree_get(t, "max"), *burst = tree_get(t, "burst"), *window = tree_get(t, "window");
    if (!max || (max->type != TREE_INT && max->type != TREE_FLOAT) || !whole_micro(max->number, &limit->max))
        problem_at(l, max ? max : t, place, "max must be a number that is not negative");
    limit->window_ms = window_from(l, window, ret_window);
    if (limit->kind == POLICY_CONCURRENT) {
        limit->window_ms = 0;
        if (window)
            problem_at(l, window, place, "a concurrent limit has no window");
    } else if (!limit->window_ms) {
        problem_at(l, window ? window : t, place,
                   "window must be \"minute\", \"hour\", \"day\", \"week\", or a number of seconds");
    }
    limit->refill = limit->max;
    if (!burst)
        return;
    if (limit->kind != POLICY_BUCKET)
        problem_at(l, burst, place, "burst belongs to kind \"bucket\"");
    else if (burst->type != TREE_INT || !whole_micro(burst->number, &limit->max))
        problem_at(l, burst, place, "burst must be a positive integer");
}

static struct slice limit_text(struct loader *l, const struct limit_rule *limit, struct slice window) {
    struct slice max = policy_value_decimal((double)limit->refill / POLICY_MICRO, l->arena);
    if (limit->kind == POLICY_CONCURRENT)
        return RULE_TEXT("At most %.*s calls at a time. Try again when one has finished.", SLICE_FMT(max));
    if (limit->identical)
        return RULE_TEXT("The same call was made more than %.*s times within a %.*s. Change it or try again later.",
                         SLICE_FMT(max), SLICE_FMT(window));
    return RULE_TEXT("%s limit of %.*s per %.*s reached. Try again later.", limit->from_count ? "Spend" : "Rate",
                     SLICE_FMT(max), SLICE_FMT(window));
}

/* One counter, one meaning: the same name in the same scope must have the same window and max everywhere. */
static void check_shared(struct loader *l, struct limit_rule *limit, struct place place) {
    struct limit_rule *first = map_get(&l->shared, limit->label);
    if (!first) {
        map_put(&l->shared, limit->label, limit);
        return;
    }
    if (first->window_ms == limit->window_ms && first->max == limit->max && first->kind == limit->kind)
        return;
    policy_problem(l, limit->at, place.pointer, SLICE("give it another name, or the same window and max"),
                   "%.*s: counter \"%.*s\" has another window or max at %.*s", SLICE_FMT(place.prefix),
                   SLICE_FMT(limit->counter), SLICE_FMT(first->pointer));
}

static void read_limit(struct loader *l, const struct tree *t, struct place place, struct entry *entry,
                       size_t index) {
    static const char *const keys[] = {"counter", "window", "max", "scope", "increment_from", "unit", "kind",
                                       "burst", "on_deny", "name", "mode", "numeric_strings", "increment",
                                       "description", "reason", NULL};
    if (t->type != TREE_MAP) {
        problem_at(l, t, place, "a limit must be a mapping");
        return;
    }
    policy_check_keys(l, t, place, keys);
    struct limit_rule limit = {.at = t, .pointer = place.pointer, .amount = POLICY_MICRO};
    struct slice window = {0};
    limit.counter = policy_member_text(l, t, place, "counter");
    limit.kind = limit_kind(l, t, place, &limit.identical);
    limit.scope = scope_from(l, t, place, SCOPE_GRANT);
    limit.shadow = policy_member_shadow(l, t, place);
    if (!limit.counter.len && tree_get(t, "counter"))
        problem_at(l, t, place, "counter must not be empty");
    if (!limit.counter.len)
        limit.counter = RULE_TEXT("%.*s_limit_%zu", SLICE_FMT(entry->name), index);
    limit_bounds(l, t, place, &limit, &window);
    read_amount(l, t, place, "increment_from", &limit);
    limit.name = policy_member_text(l, t, place, "name");
    if (!limit.name.len)
        limit.name = limit.counter;
    limit.text = policy_member_text(l, t, place, "on_deny");
    if (!limit.text.len)
        limit.text = policy_member_text(l, t, place, "reason");
    if (!limit.text.len)
        limit.text = limit_text(l, &limit, window);
    if (limit.kind == POLICY_CONCURRENT && limit.from_count)
        problem_at(l, t, place, "a concurrent limit counts calls, not amounts");
    const char *owner = l->policy->dialect == POLICY_INTERCEPT ? scope_name(entry) : "";
    set_scope(l, &limit, owner);
    struct limit_rule *kept = new_limit(entry, &limit);
    if (l->policy->dialect == POLICY_LAYER)
        check_shared(l, kept, place);
}

void policy_load_limits(struct loader *l, const struct tree *list, struct place place, struct entry *entry) {
    size_t i = 0;
    for (const struct tree *t = list ? list->child : NULL; t; t = t->next, i++)
        read_limit(l, t, policy_place_index(l, place, "limits", i), entry, i);
}

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
        c->text = RULE_TEXT("Rule \"%.*s\" requires approval", SLICE_FMT(c->name));
    const struct tree *approvers = policy_member_list(l, t, place, "approvers");
    if (!approvers)
        return;
    struct slice *names = arena_array(l->arena, struct slice, approvers->count + 1);
    for (const struct tree *item = approvers->child; item; item = item->next)
        names[c->approver_count++] = arena_dup(l->arena, item->text);
    c->approvers = names;
}

/* The two parts of state.T.C; C is everything behind the second dot. */
static bool state_parts(struct slice path, struct slice *ret_tool, struct slice *ret_counter) {
    *ret_counter = slice_from(path, strlen("state."));
    return slice_cut(ret_counter, '.', ret_tool);
}

static void check_references(const struct rule *r, size_t first) {
    struct loader *l = r->l;
    for (size_t i = first; i < l->reference_count; i++) {
        struct slice tool, counter, path = l->references[i].cond->path.text;
        bool known = state_parts(path, &tool, &counter) &&
                     map_get(&l->counters, slice_from(path, strlen("state.")));
        if (!known)
            policy_problem(l, l->references[i].at, r->place.pointer, (struct slice){0},
                           "%.*s: condition references %.*s but no matching state block found",
                           SLICE_FMT(r->place.prefix), SLICE_FMT(path));
    }
}

/* Conditions of other rules that cap a counter are checked again when it is reserved, so that calls which race
 * each other cannot slip past together. */
static void note_cap(const struct rule *r, const struct cond *c) {
    struct limit_rule *cap = &r->entry->limits[r->entry->limit_count++];
    *cap = (struct limit_rule){.check_only = true, .at = r->t, .max = cap_from(c), .name = r->name,
                               .pointer = r->place.pointer, .text = r->on_deny, .shadow = r->shadow,
                               .counter = c->path.text, .unit = 1, .entry = r->entry};
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

static void check_action(const struct rule *r, enum action action, const struct tree *conditions, bool has_limit) {
    static const char *const names[] = {"evaluate", "deny", "allow", "require_approval", NULL};
    struct loader *l = r->l;
    bool has_conditions = conditions && conditions->count;
    if (action == ACTION_UNKNOWN)
        policy_problem(l, tree_get(r->t, "action"), r->place.pointer, policy_hint(l, r->action, names),
                       "%.*s: action must be \"evaluate\" or \"deny\", got \"%.*s\"", SLICE_FMT(r->place.prefix),
                       SLICE_FMT(r->action));
    if (action == ACTION_DENY && has_conditions)
        problem_at(l, conditions, r->place, "deny rules must not have conditions");
    if (action == ACTION_DENY && tree_get(r->t, "validate"))
        problem_at(l, tree_get(r->t, "validate"), r->place, "deny rules must not have validate");
    if (action == ACTION_ALLOW && has_conditions)
        policy_problem(l, conditions, r->place.pointer, SLICE("evaluate"),
                       "%.*s: allow rules must not have conditions", SLICE_FMT(r->place.prefix));
    if (action == ACTION_EVALUATE && !has_conditions && !has_limit)
        problem_at(l, r->t, r->place, "evaluate rules must have at least one condition");
}

static bool rate_conflicts(const struct rule *r, const struct tree *rate, enum action action) {
    struct loader *l = r->l;
    const struct tree *conditions = tree_get(r->t, "conditions"), *state = tree_get(r->t, "state");
    bool combined = (conditions && conditions->count) || (state && state->type != TREE_NULL);
    if (combined)
        problem_at(l, rate, r->place,
                   "rate_limit cannot be combined with conditions or state; use separate rules or the full syntax "
                   "instead");
    if (action == ACTION_DENY)
        problem_at(l, rate, r->place, "rate_limit cannot be used with action \"deny\"");
    return combined || action == ACTION_DENY;
}

/* The rate_limit member, or NULL. *ret_stop: what is wrong with it ends the reading of the rule. */
static const struct tree *read_rate(const struct rule *r, enum action action, bool *ret_stop) {
    const struct tree *rate = tree_get(r->t, "rate_limit");
    *ret_stop = false;
    if (!rate || rate->type == TREE_NULL || (rate->type != TREE_MAP && rate->text.len == 0))
        return NULL;
    uint64_t count;
    struct slice window;
    if (rate->type == TREE_LIST)
        problem_at(r->l, rate, r->place, "rate_limit must be a string or a mapping");
    bool readable = rate->type == TREE_MAP || policy_rate_parse(rate->text, &count, &window);
    if (rate->type != TREE_MAP && rate->type != TREE_LIST)
        check_rate(r->l, rate, r->place);
    *ret_stop = rate_conflicts(r, rate, action) || !readable;
    return rate;
}

static void name_rule(struct rule *r, size_t index, const struct tree *rate) {
    struct loader *l = r->l;
    const struct tree *name = tree_get(r->t, "name");
    r->name = policy_member_text(l, r->t, r->place, "name");
    if (r->name.len)
        return;
    bool strict_shorthand = rate && rate->type != TREE_MAP && l->names_required_for_rate_limits;
    if (name || strict_shorthand)
        problem_at(l, name ? name : r->t, r->place, "rule must have a name");
    r->name = RULE_TEXT("rule[%zu]", index);
}

static void read_conditions(struct rule *r, enum action action, const struct tree *conditions, struct check **ret) {
    struct loader *l = r->l;
    struct slice missing = policy_member_text(l, r->t, r->place, "on_missing");
    struct cond_context ctx = {.place = r->place, .list = "conditions", .requires = action != ACTION_APPROVE,
                               .missing_fires = slice_is(missing, "deny")};
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

static void read_result_cap(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    const struct tree *cap = tree_get(t, "max_result_bytes");
    if (!cap)
        return;
    if (cap->type != TREE_INT || cap->integer <= 0) {
        problem_at(l, cap, place, "max_result_bytes must be a positive integer");
        return;
    }
    if (!entry->result_bytes_max || (uint64_t)cap->integer < entry->result_bytes_max)
        entry->result_bytes_max = (uint64_t)cap->integer;
}

static void read_rule(struct rule *r, size_t index) {
    struct loader *l = r->l;
    if (r->t->type != TREE_MAP) {
        problem_at(l, r->t, r->place, "a rule must be a mapping");
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
    name_rule(r, index, rate);
    const struct tree *conditions = policy_member_list(l, r->t, r->place, "conditions");
    const struct tree *state = tree_get(r->t, "state"), *spend = tree_get(r->t, "spend_limit");
    const struct tree *limits = policy_member_list(l, r->t, r->place, "limits");
    bool has_limit = rate || spend || limits || tree_get(r->t, "validate") || tree_get(r->t, "max_result_bytes");
    check_action(r, action, conditions, has_limit);
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
        read_state(r, state, check);
    if (rate && rate->type == TREE_MAP)
        rate_from_map(r, rate);
    else if (rate)
        rate_from_text(r, rate);
    if (spend)
        read_spend(r, spend);
    policy_load_limits(l, limits, r->place, r->entry);
    read_result_cap(l, r->t, r->place, r->entry);
    if (check && check->mode == CHECK_REQUIRE)
        note_caps(r, check);
    check_references(r, first_reference);
}

/* ---- counters known before the rules are read ---- */

/* The counter a rule will use under state.TOOL.*, after desugaring; empty when it has none. */
static struct slice rule_counter(struct loader *l, const struct tree *rule) {
    const struct tree *state = tree_get(rule, "state"), *rate = tree_get(rule, "rate_limit");
    const struct tree *conditions = tree_get(rule, "conditions"), *action = tree_get(rule, "action");
    if (state && state->type == TREE_MAP) {
        const struct tree *counter = tree_get(state, "counter");
        return counter ? counter->text : (struct slice){0};
    }
    bool plain = !(conditions && conditions->count) && !(action && slice_is(action->text, "deny"));
    return rate && plain ? rate_counter(l, rate) : (struct slice){0};
}

void policy_note_counters(struct loader *l, const struct tree *tool, struct slice name) {
    const struct tree *rules = tree_get(tool, "rules");
    const char *scope = slice_is(name, "*") ? "_global" : name.ptr;
    for (const struct tree *r = rules && rules->type == TREE_LIST ? rules->child : NULL; r; r = r->next) {
        struct slice counter = r->type == TREE_MAP ? rule_counter(l, r) : (struct slice){0};
        if (counter.len)
            map_put(&l->counters, RULE_TEXT("%s.%.*s", scope, SLICE_FMT(counter)), l);
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
                           "%.*s: duplicate state counter \"%.*s\" (also used by rules[%zu])", SLICE_FMT(at.prefix),
                           SLICE_FMT(counter), first - 1);
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
        problem_at(l, t, place, "a block must be a mapping");
        return;
    }
    policy_check_keys(l, t, place, kind->keys);
    const struct tree *conditions = policy_member_list(l, t, place, "conditions");
    if (!tree_get(t, "conditions"))
        policy_problem(l, t, place.pointer, SLICE("conditions: [] means always"), "%.*s: conditions are missing",
                       SLICE_FMT(place.prefix));
    if (conditions && kind->mode == CHECK_REQUIRE && !conditions->count)
        problem_at(l, t, place, "require blocks must have at least one condition");
    struct check *c = new_check(entry, kind->mode, place);
    c->at = t;
    c->name = policy_member_text(l, t, place, "name");
    if (!c->name.len)
        c->name = RULE_TEXT("%s[%zu]", kind->list, index);
    c->shadow = policy_member_shadow(l, t, place);
    c->text = policy_member_text(l, t, place, "on_deny");
    if (!c->text.len)
        c->text = policy_member_text(l, t, place, "reason");
    struct slice missing = policy_member_text(l, t, place, "on_missing");
    if (missing.len && !slice_is(missing, "deny") && !slice_is(missing, "pass"))
        policy_problem(l, t, place.pointer, (struct slice){0}, "%.*s: on_missing must be \"deny\" or \"pass\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(missing));
    struct cond_context ctx = {.place = place, .list = "conditions", .requires = kind->mode == CHECK_REQUIRE,
                               .missing_fires = slice_is(missing, "deny")};
    size_t first_reference = l->reference_count;
    policy_load_conditions(l, conditions, &ctx, &c->conds);
    if (kind->mode == CHECK_APPROVE)
        read_approval(l, t, place, "timeout", c);
    struct rule as_rule = {.l = l, .place = place, .t = t, .entry = entry};
    check_references(&as_rule, first_reference);
}

static const char *const deny_keys[] = {"name", "conditions", "on_deny", "on_missing", "mode",
                                        "description", "reason", NULL};
static const char *const approve_keys[] = {"name", "conditions", "on_deny", "on_missing", "mode", "description",
                                           "reason", "timeout", "on_pending", "approvers", NULL};
static const struct block_kind block_kinds[] = {
    {"require", CHECK_REQUIRE, deny_keys},
    {"deny_if", CHECK_DENY, deny_keys},
    {"approve_if", CHECK_APPROVE, approve_keys},
};

static size_t list_count(const struct tree *t, const char *key) {
    const struct tree *list = tree_get(t, key);
    return list && list->type == TREE_LIST ? list->count : 0;
}

/* Rules and blocks of an entry, at most; a rule can bring a check and two more for validate, and its limits. */
static bool reserve_room(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    size_t rules = list_count(t, "rules"), limits = list_count(t, "limits");
    size_t blocks = list_count(t, "require") + list_count(t, "deny_if") + list_count(t, "approve_if");
    if (rules + blocks + limits > POLICY_RULES_MAX) {
        policy_problem(l, t, place.pointer, (struct slice){0}, "%.*s: at most %d rules", SLICE_FMT(place.prefix),
                       POLICY_RULES_MAX);
        return false;
    }
    const struct tree *list = tree_get(t, "rules");
    for (const struct tree *r = list && list->type == TREE_LIST ? list->child : NULL; r; r = r->next)
        limits += list_count(r, "limits") + list_count(r, "conditions") + 3;
    entry->checks = arena_array(l->arena, struct check, 3 * rules + blocks + 2);
    entry->limits = arena_array(l->arena, struct limit_rule, limits + 1);
    return true;
}

void policy_load_entry(struct loader *l, const struct tree *t, struct place place, struct entry *entry) {
    static const char *const keys[] = {"rules", "require", "deny_if", "approve_if", "limits", "validate",
                                       "max_result_bytes", "description", NULL};
    if (t->type == TREE_NULL)
        return;
    if (t->type != TREE_MAP) {
        problem_at(l, t, place, "must be a mapping");
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
            struct rule rule = {.l = l, .t = r, .entry = entry, .place = policy_place_index(l, place, "rules", i)};
            read_rule(&rule, i);
        }
    }
    for (size_t k = 0; k < ARRAY_LEN(block_kinds); k++) {
        const struct tree *list = policy_member_list(l, t, place, block_kinds[k].list);
        size_t i = 0;
        for (const struct tree *b = list ? list->child : NULL; b; b = b->next, i++)
            read_block(l, b, policy_place_index(l, place, block_kinds[k].list, i), entry, &block_kinds[k], i);
    }
    read_validate(l, t, place, entry, SLICE("validate"), (struct slice){0}, false);
    policy_load_limits(l, policy_member_list(l, t, place, "limits"), place, entry);
    read_result_cap(l, t, place, entry);
}
