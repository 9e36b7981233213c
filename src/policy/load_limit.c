/* Limits of both dialects: rate_limit, spend_limit and state of a rule, and entries of `limits`. */
#include "policy/load_limit.h"

#include "base/mem.h"
#include "policy/path.h"
#include "policy/value.h"

void policy_problem_at(struct loader *l, const struct tree *at, struct place place, const char *text) {
    policy_problem(l, at, place.pointer, (struct slice){0}, "%.*s: %s", SLICE_FMT(place.prefix), text);
}

/* The tool's name in counters: `_global` for "*". */
static const char *scope_name(const struct entry *entry) {
    return slice_is(entry->name, "*") ? "_global" : entry->name.ptr;
}

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

static enum scope scope_from(struct loader *l, const struct tree *map, struct place place,
                             enum scope fallback) {
    static const char *const names[] = {"policy", "grant", "identity", "session", "server", "global", NULL};
    struct slice text = policy_member_text(l, map, place, "scope");
    if (!text.len)
        return fallback;
    for (int i = 0; names[i]; i++)
        if (slice_is(text, names[i]))
            return (enum scope)i;
    policy_problem(
        l, tree_get(map, "scope"), place.pointer, policy_hint(l, text, names),
        "%.*s: scope must be \"grant\", \"identity\", \"session\", \"server\", or \"global\", got \"%.*s\"",
        SLICE_FMT(place.prefix), SLICE_FMT(text));
    return fallback;
}

static void set_scope(struct loader *l, struct limit_rule *rule, const char *owner) {
    static const char *const names[] = {"", "grant", "identity", "session", "server", "global"};
    if (rule->scope == SCOPE_POLICY) {
        rule->label = POLICY_TEXT("%s.%.*s", owner, SLICE_FMT(rule->counter));
        rule->key = rule->label;
        return;
    }
    rule->label = POLICY_TEXT("%s.%.*s", names[rule->scope], SLICE_FMT(rule->counter));
    rule->key =
        rule->scope == SCOPE_GLOBAL ? POLICY_TEXT("global/%.*s", SLICE_FMT(rule->counter)) : rule->counter;
    if (owner[0] && l->policy->dialect == POLICY_INTERCEPT) /* dialect A keeps tools apart in every scope */
        rule->key = POLICY_TEXT("%.*s/%s", SLICE_FMT(rule->key), owner);
}

/* A name, or a number of seconds; *ret_name is the text for messages. 0: neither. */
static uint64_t window_from(struct loader *l, const struct tree *t, struct slice *ret_name) {
    uint64_t ms = t ? policy_window_from(t->text) : 0;
    if (ms && t->type == TREE_STRING) {
        *ret_name = arena_dup(l->arena, t->text);
        return ms;
    }
    if (!t || t->type != TREE_INT || t->integer <= 0 || t->integer > 366 * 86400)
        return 0;
    *ret_name = POLICY_TEXT("%lld seconds", (long long)t->integer);
    return (uint64_t)t->integer * 1000;
}

static void read_increment(struct loader *l, const struct tree *t, struct place place,
                           struct limit_rule *rule) {
    const struct tree *increment = tree_get(t, "increment");
    if (increment &&
        (increment->type != TREE_INT || increment->integer < 0 || increment->integer > POLICY_CALLS_MAX))
        policy_problem_at(l, increment, place, "increment must be an integer that is not negative");
    else if (increment && increment->integer)
        rule->amount = increment->integer * POLICY_MICRO;
}

static void read_amount(struct loader *l, const struct tree *t, struct place place, const char *key,
                        struct limit_rule *rule) {
    struct slice from = policy_member_text(l, t, place, key);
    const struct tree *unit = tree_get(t, "unit");
    rule->numeric_strings = policy_member_bool(l, t, place, "numeric_strings", false);
    if (unit && (unit->type != TREE_INT || unit->integer < 1 || unit->integer > 1000000))
        policy_problem_at(l, unit, place,
                          "unit must be a positive integer (100 when the argument counts in cents)");
    else if (unit)
        rule->unit = unit->integer;
    if (!from.len)
        return;
    if (!slice_starts(from, SLICE("args."))) {
        policy_problem(l, tree_get(t, key), place.pointer, (struct slice){0},
                       "%.*s: increment_from must start with \"args.\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(from));
        return;
    }
    struct path *path = arena_new(l->arena, struct path);
    if (policy_path_compile(from, l->arena, path) != POLICY_PATH_OK || path->has_each)
        policy_problem_at(l, tree_get(t, key), place, "increment_from must name one argument");
    rule->from = path;
    rule->from_count = 1;
}

/* Money is refunded only if it is certain that nothing was spent; Intercept refunds calls for every error. */
static void read_refund(struct loader *l, const struct tree *t, struct place place, struct limit_rule *rule) {
    static const char *const words[] = {"errors", "proven", "never", NULL};
    struct slice text = policy_member_text(l, t, place, "refund");
    bool by_errors = l->policy->dialect == POLICY_INTERCEPT && !rule->from_count;
    rule->refund = by_errors ? POLICY_REFUND_ERRORS : POLICY_REFUND_PROVEN;
    for (int i = 0; words[i]; i++)
        if (slice_is(text, words[i])) {
            rule->refund = (enum policy_refund)i;
            return;
        }
    if (text.len)
        policy_problem(l, tree_get(t, "refund"), place.pointer, policy_hint(l, text, words),
                       "%.*s: refund must be \"never\", \"proven\", or \"errors\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(text));
}

/* `own`: the limit itself; its rule provides what it does not set. */
static void read_fail(struct loader *l, const struct tree *own, const struct tree *rule_map,
                      struct place place, struct limit_rule *rule) {
    static const char *const words[] = {"closed", "open", NULL};
    const struct tree *t = own->type == TREE_MAP && tree_get(own, "fail_mode") ? own : rule_map;
    struct slice text = policy_member_text(l, t, place, "fail_mode");
    if (slice_is(text, words[0]))
        rule->fail = POLICY_FAIL_CLOSED;
    else if (slice_is(text, words[1]))
        rule->fail = POLICY_FAIL_OPEN;
    else if (text.len)
        policy_problem(l, tree_get(t, "fail_mode"), place.pointer, policy_hint(l, text, words),
                       "%.*s: fail_mode must be \"closed\" or \"open\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(text));
}

static const char *const window_names[] = {"minute", "hour", "day", NULL};

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

void policy_check_rate(struct loader *l, const struct tree *at, struct place place) {
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
                       "%.*s: rate_limit count must be a positive integer, got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(count));
    else if (!policy_window_from(window) || slice_is(window, "week"))
        policy_problem(l, at, place.pointer, policy_hint(l, window, window_names),
                       "%.*s: rate_limit window must be \"minute\", \"hour\", or \"day\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(window));
}

/* The counter of a rate limit of this form; empty when it cannot be read. */
struct slice policy_rate_counter(struct loader *l, const struct tree *rate) {
    struct slice window;
    uint64_t count;
    if (rate->type == TREE_MAP) {
        const struct tree *w = tree_get(rate, "window");
        uint64_t ms = window_from(l, w, &window);
        if (!ms)
            return (struct slice){0};
        return w->type == TREE_STRING ? POLICY_TEXT("_rate_%.*s", SLICE_FMT(window))
                                      : POLICY_TEXT("_rate_%llus", (unsigned long long)ms / 1000);
    }
    if (!policy_rate_parse(rate->text, &count, &window))
        return (struct slice){0};
    return POLICY_TEXT("_rate_%.*s", SLICE_FMT(window));
}

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
    struct slice key = POLICY_TEXT("%s.%.*s", scope_name(entry), SLICE_FMT(rule->counter));
    if (!map_get(&l->limit_rules, key))
        map_put(&l->limit_rules, key, rule);
}

void policy_load_rate_map(const struct rule *r, const struct tree *rate) {
    static const char *const keys[] = {"max", "window", "scope", "refund", "fail_mode", NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("rate_limit"));
    policy_check_keys(l, rate, place, keys);
    struct limit_rule limit = rule_limit(r);
    struct slice window = {0};
    const struct tree *max = tree_get(rate, "max");
    limit.scope = scope_from(l, rate, place, limit.scope);
    limit.window_ms = window_from(l, tree_get(rate, "window"), &window);
    if (!max || max->type != TREE_INT || max->integer <= 0 || max->integer > POLICY_CALLS_MAX) {
        policy_problem_at(l, max ? max : rate, place, "max must be a positive integer");
        return;
    }
    if (!limit.window_ms) {
        policy_problem_at(l, rate, place,
                          "window must be \"minute\", \"hour\", \"day\", or a number of seconds");
        return;
    }
    read_refund(l, tree_get(rate, "refund") ? rate : r->t, place, &limit);
    read_fail(l, rate, r->t, place, &limit);
    limit.max = max->integer * POLICY_MICRO;
    limit.counter = policy_rate_counter(l, rate);
    limit.text = r->on_deny.len ? r->on_deny
                                : POLICY_TEXT("Rate limit of %lld per %.*s reached. Try again later.",
                                              (long long)max->integer, SLICE_FMT(window));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

void policy_load_rate_text(const struct rule *r, const struct tree *rate) {
    struct loader *l = r->l;
    struct limit_rule limit = rule_limit(r);
    struct slice window;
    uint64_t count;
    if (!policy_rate_parse(rate->text, &count, &window))
        return;
    read_refund(l, r->t, r->place, &limit);
    read_fail(l, r->t, r->t, r->place, &limit);
    limit.window_ms = policy_window_from(window);
    limit.max = (int64_t)count * POLICY_MICRO;
    limit.counter = policy_rate_counter(l, rate);
    limit.text = r->on_deny.len ? r->on_deny
                                : POLICY_TEXT("Rate limit of %llu per %.*s reached. Try again later.",
                                              (unsigned long long)count, SLICE_FMT(window));
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

/* "$500/day", or {max, window, from, unit}. */
static bool spend_parts(const struct rule *r, const struct tree *spend, struct limit_rule *limit,
                        struct slice *ret_window) {
    static const char *const keys[] = {"max",    "window",    "from", "unit", "scope", "numeric_strings",
                                       "refund", "fail_mode", NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("spend_limit"));
    if (spend->type == TREE_MAP) {
        policy_check_keys(l, spend, place, keys);
        const struct tree *max = tree_get(spend, "max");
        limit->scope = scope_from(l, spend, place, limit->scope);
        limit->window_ms = window_from(l, tree_get(spend, "window"), ret_window);
        read_amount(l, spend, place, "from", limit);
        return max && (max->type == TREE_INT || max->type == TREE_FLOAT) &&
               whole_micro(max->number, &limit->max);
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

void policy_load_spend(const struct rule *r, const struct tree *spend) {
    static const char *const usual[] = {"args.amount", "args.total", "args.value"};
    struct loader *l = r->l;
    struct limit_rule limit = rule_limit(r);
    struct slice window = {0};
    if (!spend_parts(r, spend, &limit, &window) || !limit.window_ms) {
        policy_problem(l, spend, r->place.pointer,
                       SLICE("\"$500/day\" or {max: 500, window: day, from: args.amount}"),
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
    bool is_map = spend->type == TREE_MAP && tree_get(spend, "refund");
    read_refund(l, is_map ? spend : r->t, r->place, &limit);
    read_fail(l, spend, r->t, r->place, &limit);
    limit.counter = POLICY_TEXT("_spend_%.*s", SLICE_FMT(window));
    limit.text =
        r->on_deny.len
            ? r->on_deny
            : POLICY_TEXT("Spend limit of %.*s per %.*s reached. Try again later.",
                          SLICE_FMT(policy_value_decimal((double)limit.max / POLICY_MICRO, l->arena)),
                          SLICE_FMT(window));
    for (uint32_t i = 0; i < r->entry->limit_count; i++) {
        const struct limit_rule *other = &r->entry->limits[i];
        if (slice_eq(other->counter, limit.counter))
            policy_problem(l, spend, r->place.pointer, SLICE("write it as one of `limits`, with a counter"),
                           "%.*s: duplicate state counter \"%.*s\" (also used by rule \"%.*s\")",
                           SLICE_FMT(r->place.prefix), SLICE_FMT(limit.counter), SLICE_FMT(other->name));
    }
    set_scope(l, &limit, scope_name(r->entry));
    publish_counter(l, new_limit(r->entry, &limit), r->entry);
}

/* The condition that turns the state block into a limit: the first lt or lte on its own counter. */
static struct cond *own_limit(const struct rule *r, const struct check *check, struct slice counter) {
    struct loader *l = r->l;
    struct slice own = POLICY_TEXT("state.%s.%.*s", scope_name(r->entry), SLICE_FMT(counter));
    for (uint32_t i = 0; i < check->conds.count; i++) {
        struct cond *c = &check->conds.children[i];
        if (c->kind == COND_LEAF && (c->op == OP_LT || c->op == OP_LTE) && slice_eq(c->path.text, own))
            return c;
    }
    return NULL;
}

/* Largest value that satisfies lt or lte, in micro-units; -1 when none does. The product of doubles can be
 * slightly below the written value (2.01 gives 2009999.9…), so the nearest integer is tried first. */
int64_t policy_cap_from(const struct cond *c) {
    double micro = c->value.number * POLICY_MICRO;
    if (!(micro >= 0)) /* NaN satisfies nothing */
        return -1;
    if (micro > 9e18)
        return POLICY_NO_MAX;
    int64_t cap = (int64_t)(micro + 0.5);
    double written = (double)cap / POLICY_MICRO;
    return written > c->value.number || (c->op == OP_LT && written == c->value.number) ? cap - 1 : cap;
}

void policy_load_state(const struct rule *r, const struct tree *state, struct check *check) {
    static const char *const keys[] = {"counter", "window",          "increment", "increment_from", "unit",
                                       "scope",   "numeric_strings", "refund",    "fail_mode",      NULL};
    struct loader *l = r->l;
    struct place place = policy_place_key(l, r->place, SLICE("state"));
    if (state->type != TREE_MAP) {
        policy_problem_at(l, state, place, "state must be a mapping");
        return;
    }
    policy_check_keys(l, state, place, keys);
    struct limit_rule limit = rule_limit(r);
    const struct tree *window = tree_get(state, "window");
    struct slice window_name = {0};
    limit.counter = policy_member_text(l, state, place, "counter");
    if (!limit.counter.len)
        policy_problem_at(l, state, place, "counter must not be empty");
    limit.window_ms = window && !slice_is(window->text, "week") ? window_from(l, window, &window_name) : 0;
    if (!limit.window_ms)
        policy_problem(l, window ? window : state, place.pointer,
                       policy_hint(l, window ? window->text : (struct slice){0}, window_names),
                       "%.*s: window must be \"minute\", \"hour\", or \"day\", got \"%.*s\"",
                       SLICE_FMT(place.prefix), SLICE_FMT(window ? window->text : (struct slice){0}));
    read_increment(l, state, place, &limit);
    limit.scope = scope_from(l, state, place, limit.scope);
    read_amount(l, state, place, "increment_from", &limit);
    read_refund(l, tree_get(state, "refund") ? state : r->t, place, &limit);
    read_fail(l, state, r->t, place, &limit);
    struct cond *own = check ? own_limit(r, check, limit.counter) : NULL;
    if (own) {
        limit.max = policy_cap_from(own);
        own->before_count = true;
    }
    limit.text =
        r->on_deny.len ? r->on_deny : POLICY_TEXT("Rate limit exceeded for %.*s", SLICE_FMT(r->name));
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
                   "%.*s: kind must be \"calendar\", \"sliding\", \"bucket\", \"concurrent\", or "
                   "\"identical\", got \"%.*s\"",
                   SLICE_FMT(place.prefix), SLICE_FMT(text));
    return POLICY_FIXED;
}

static void limit_bounds(struct loader *l, const struct tree *t, struct place place, struct limit_rule *limit,
                         struct slice *ret_window) {
    const struct tree *max = tree_get(t, "max"), *burst = tree_get(t, "burst"),
                      *window = tree_get(t, "window");
    if (!max || (max->type != TREE_INT && max->type != TREE_FLOAT) || !whole_micro(max->number, &limit->max))
        policy_problem_at(l, max ? max : t, place, "max must be a number that is not negative");
    limit->window_ms = window_from(l, window, ret_window);
    if (limit->kind == POLICY_CONCURRENT) {
        limit->window_ms = 0;
        if (window)
            policy_problem_at(l, window, place, "a concurrent limit has no window");
    } else if (!limit->window_ms) {
        policy_problem_at(l, window ? window : t, place,
                          "window must be \"minute\", \"hour\", \"day\", \"week\", or a number of seconds");
    }
    limit->refill = limit->max;
    if (!burst)
        return;
    if (limit->kind != POLICY_BUCKET)
        policy_problem_at(l, burst, place, "burst belongs to kind \"bucket\"");
    else if (burst->type != TREE_INT || !whole_micro(burst->number, &limit->max))
        policy_problem_at(l, burst, place, "burst must be a positive integer");
}

static struct slice limit_text(struct loader *l, const struct limit_rule *limit, struct slice window) {
    struct slice max = policy_value_decimal((double)limit->refill / POLICY_MICRO, l->arena);
    if (limit->kind == POLICY_CONCURRENT)
        return POLICY_TEXT("At most %.*s calls at a time. Try again when one has finished.", SLICE_FMT(max));
    if (limit->identical)
        return POLICY_TEXT(
            "The same call was made more than %.*s times within a %.*s. Change it or try again later.",
            SLICE_FMT(max), SLICE_FMT(window));
    return POLICY_TEXT("%s limit of %.*s per %.*s reached. Try again later.",
                       limit->from_count ? "Spend" : "Rate", SLICE_FMT(max), SLICE_FMT(window));
}

/* The same counter name in the same scope must have the same window and max everywhere. */
static void check_shared(struct loader *l, struct limit_rule *limit, struct place place) {
    struct limit_rule *first = map_get(&l->shared, limit->label);
    if (!first) {
        map_put(&l->shared, limit->label, limit);
        return;
    }
    if (first->window_ms == limit->window_ms && first->max == limit->max && first->refill == limit->refill &&
        first->kind == limit->kind && first->identical == limit->identical)
        return;
    policy_problem(l, limit->at, place.pointer, SLICE("give it another name, or the same window and max"),
                   "%.*s: counter \"%.*s\" has another window or max at %.*s", SLICE_FMT(place.prefix),
                   SLICE_FMT(limit->counter), SLICE_FMT(first->pointer));
}

/* `r`: the rule that it belongs to, or NULL. */
static void read_limit(struct loader *l, const struct tree *t, struct place place, struct entry *entry,
                       const struct rule *r, size_t index) {
    static const char *const keys[] = {
        "counter",   "window",      "max",     "scope",  "increment_from", "unit",
        "kind",      "burst",       "on_deny", "name",   "mode",           "numeric_strings",
        "increment", "description", "reason",  "refund", "fail_mode",      NULL};
    if (t->type != TREE_MAP) {
        policy_problem_at(l, t, place, "a limit must be a mapping");
        return;
    }
    policy_check_keys(l, t, place, keys);
    struct limit_rule limit = {.at = t, .pointer = place.pointer, .amount = POLICY_MICRO};
    struct slice window = {0};
    limit.counter = policy_member_text(l, t, place, "counter");
    limit.kind = limit_kind(l, t, place, &limit.identical);
    limit.scope = scope_from(l, t, place, SCOPE_GRANT);
    limit.shadow = policy_member_shadow(l, t, place) || (r && r->shadow);
    if (!limit.counter.len && tree_get(t, "counter"))
        policy_problem_at(l, t, place, "counter must not be empty");
    if (!limit.counter.len && r)
        limit.counter = POLICY_TEXT("%.*s_rule_%zu_limit_%zu", SLICE_FMT(entry->name), r->index, index);
    else if (!limit.counter.len)
        limit.counter = POLICY_TEXT("%.*s_limit_%zu", SLICE_FMT(entry->name), index);
    limit_bounds(l, t, place, &limit, &window);
    read_increment(l, t, place, &limit);
    read_amount(l, t, place, "increment_from", &limit);
    read_refund(l, t, place, &limit);
    read_fail(l, t, t, place, &limit);
    limit.name = policy_member_text(l, t, place, "name");
    if (!limit.name.len)
        limit.name = limit.counter;
    limit.text = policy_member_text(l, t, place, "on_deny");
    if (!limit.text.len)
        limit.text = policy_member_text(l, t, place, "reason");
    if (!limit.text.len)
        limit.text = limit_text(l, &limit, window);
    if (limit.kind == POLICY_CONCURRENT && limit.from_count)
        policy_problem_at(l, t, place, "a concurrent limit counts calls, not amounts");
    const char *owner = l->policy->dialect == POLICY_INTERCEPT ? scope_name(entry) : "";
    set_scope(l, &limit, owner);
    struct limit_rule *kept = new_limit(entry, &limit);
    if (l->policy->dialect == POLICY_LAYER)
        check_shared(l, kept, place);
}

void policy_load_limits(struct loader *l, const struct tree *list, struct place place, struct entry *entry,
                        const struct rule *r) {
    size_t i = 0;
    for (const struct tree *t = list ? list->child : NULL; t; t = t->next, i++)
        read_limit(l, t, policy_place_index(l, place, "limits", i), entry, r, i);
}
