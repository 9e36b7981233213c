#include "policy/eval.h"

#include "policy/match.h"
#include "policy/path.h"
#include "policy/schema.h"
#include "policy/value.h"

static enum truth truth_of(bool b) { return b ? TRUTH_YES : TRUTH_NO; }

static enum truth fault(struct eval *e, const char *why) {
    e->fault = why;
    return TRUTH_FAULT;
}

/* ---- operators ---- */

static void *match_alloc(size_t size, void *arena) { return arena_alloc(arena, size); }
static void match_free(void *ptr, void *arena) {
    (void)ptr;
    (void)arena;
}

static enum truth eval_regex(struct eval *e, const struct cond *c, const struct value *v) {
    if (!policy_value_is_text(v))
        return TRUTH_NO;
    struct slice text = policy_value_text(v, e->arena);
    if (v->kind == VALUE_TEXT && !tape_utf8_valid(text))
        return TRUTH_NO;
    if (!e->match) {
        pcre2_general_context *general = pcre2_general_context_create(match_alloc, match_free, e->arena);
        e->match = pcre2_match_data_create(1, general);
    }
    int rc = pcre2_match(c->regex, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, 0, PCRE2_NO_UTF_CHECK,
                         e->match, e->policy->match);
    if (rc >= 0)
        return TRUTH_YES;
    return rc == PCRE2_ERROR_NOMATCH ? TRUTH_NO : fault(e, "the pattern took too many steps");
}

static bool in_list(struct eval *e, const struct cond *c, const struct value *v) {
    if (policy_value_is_text(v)) { /* against a text only the text counts */
        struct slice text = policy_value_text(v, e->arena);
        for (size_t i = 0; i < c->list_count; i++) {
            struct slice one = c->list[i].text;
            if (one.len == text.len && (!one.len || (one.ptr[0] == text.ptr[0] && slice_eq(text, one))))
                return true;
        }
        return false;
    }
    for (size_t i = 0; i < c->list_count; i++)
        if (policy_value_equals(v, &c->list[i], e->arena))
            return true;
    return false;
}

static bool eval_number(const struct cond *c, const struct value *v) {
    double number;
    if (!policy_value_number(v, &number))
        return false;
    switch (c->op) {
    case OP_LT:
        return number < c->value.number;
    case OP_LTE:
        return number <= c->value.number;
    case OP_GT:
        return number > c->value.number;
    default:
        return number >= c->value.number;
    }
}

static bool eval_contains(struct eval *e, const struct cond *c, const struct value *v) {
    if (policy_value_is_text(v)) {
        if (c->value.type != TREE_STRING)
            return false;
        struct slice text = policy_value_text(v, e->arena);
        return c->value.text.len == 0 ||
               (text.len && memmem(text.ptr, text.len, c->value.text.ptr, c->value.text.len));
    }
    if (v->kind != VALUE_NODE || !tape_is(v->tape, v->node, TAPE_ARRAY))
        return false;
    TAPE_FOR_ELEM(v->tape, v->node, i) {
        struct value element = {.kind = VALUE_NODE, .tape = v->tape, .node = i};
        if (policy_value_equals(&element, &c->value, e->arena))
            return true;
    }
    return false;
}

static bool eval_affix(struct eval *e, const struct cond *c, const struct value *v) {
    if (!policy_value_is_text(v))
        return false;
    struct slice text = policy_value_text(v, e->arena);
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice want = c->list[i].text;
        if (c->op == OP_STARTS_WITH ? slice_starts(text, want)
            : c->op == OP_ENDS_WITH ? slice_ends(text, want)
                                    : policy_glob_match(want, text, '/'))
            return true;
    }
    return false;
}

static bool eval_length(struct eval *e, const struct cond *c, const struct value *v) {
    uint64_t length;
    if (!policy_value_length(v, &length, e->arena))
        return false;
    double n = (double)length, want = c->value.number;
    switch (c->op) {
    case OP_LEN_EQ:
        return n == want;
    case OP_LEN_LT:
        return n < want;
    case OP_LEN_LTE:
        return n <= want;
    case OP_LEN_GT:
        return n > want;
    default:
        return n >= want;
    }
}

static bool is_integer(const struct value *v) {
    double number;
    return policy_value_number(v, &number) && number == __builtin_trunc(number);
}

static bool eval_type(const struct cond *c, const struct value *v) {
    const char *name = policy_value_type_name(v);
    for (size_t i = 0; i < c->list_count; i++)
        if (slice_is(c->list[i].text, name) ||
            (slice_is(c->list[i].text, "integer") && strcmp(name, "number") == 0 && is_integer(v)))
            return true;
    return false;
}

static bool real_under(struct eval *e, struct slice path, struct slice real_dir) {
    const struct policy_files *files = e->facts->files;
    struct slice real;
    return files->realpath(files->ctx, path, e->arena, &real) && policy_path_under(real, real_dir, e->arena);
}

/* A server may fold `..` itself or leave it to the kernel, which goes up from where a link has led: the path
 * has to lie inside either way. */
static bool eval_under(struct eval *e, const struct cond *c, const struct value *v) {
    if (!policy_value_is_text(v))
        return false;
    const struct policy_files *files = e->facts->files;
    struct slice path = policy_value_text(v, e->arena), clean, real_dir;
    if (!policy_path_clean(path, e->arena, &clean))
        return false;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice dir = c->list[i].text;
        if (!policy_path_under(clean, dir, e->arena))
            continue;
        if (!files)
            return true;
        if (files->realpath(files->ctx, dir, e->arena, &real_dir) && real_under(e, clean, real_dir) &&
            (slice_eq(clean, path) || real_under(e, path, real_dir)))
            return true;
    }
    return false;
}

/* An inside address passes only when the list spells out exactly that host. */
static bool eval_host(struct eval *e, const struct cond *c, const struct value *v) {
    struct slice host;
    bool is_ip;
    if (!policy_value_is_text(v))
        return false;
    enum policy_url_fault found = policy_url_host(policy_value_text(v, e->arena), e->arena, &host, &is_ip);
    if (found != POLICY_URL_OK && found != POLICY_URL_PRIVATE)
        return false;
    for (size_t i = 0; i < c->list_count; i++) {
        struct slice want = c->list[i].text;
        bool exact_only = found == POLICY_URL_PRIVATE || (is_ip && !slice_is(want, "*"));
        if (exact_only ? slice_eq_nocase(host, want) : policy_host_match(host, want))
            return true;
    }
    return false;
}

static bool eval_text_test(struct eval *e, const struct cond *c, const struct value *v) {
    if (!policy_value_is_text(v))
        return false;
    struct slice text = policy_value_text(v, e->arena);
    switch (c->op) {
    case OP_NO_SHELL_META:
        return policy_shell_clean(text);
    default:
        return text.len == 0 || text.ptr[0] != '-';
    }
}

/* What cannot be judged never lets a call through, whichever way round the rule is written. */
static bool eval_sql(struct eval *e, const struct cond *c, const struct value *v) {
    enum policy_sql_answer answer = POLICY_SQL_UNCLEAR;
    if (policy_value_is_text(v))
        answer = policy_sql_judge(policy_value_text(v, e->arena), c->dialect);
    return answer == POLICY_SQL_UNCLEAR ? !c->lenient : answer == POLICY_SQL_READS;
}

static enum truth eval_schema(struct eval *e, const struct cond *c, const struct value *v) {
    const struct policy_schema *schema = c->schema ? c->schema : e->facts->schema;
    if (!schema)
        return fault(e, "the tool's schema is not known");
    if (v->kind != VALUE_NODE)
        return TRUTH_NO;
    switch (policy_schema_check(schema, v->tape, v->node, e->arena, NULL)) {
    case POLICY_SCHEMA_VALID:
        return TRUTH_YES;
    case POLICY_SCHEMA_INVALID:
        return TRUTH_NO;
    case POLICY_SCHEMA_FAULT:
        break;
    }
    return fault(e, "the schema took too many steps");
}

static bool eval_within(struct eval *e, const struct cond *c) {
    const struct within *w = &c->within;
    uint64_t now = e->facts->now_ms;
    int minute = (int)policy_time_minute(now, w->offset_min);
    unsigned day = policy_time_weekday(now, w->offset_min);
    if (w->from_min <= w->to_min)
        return (w->days >> day & 1) && minute >= w->from_min && minute < w->to_min;
    /* Over midnight: the early part belongs to the day before. */
    if (minute >= w->from_min)
        return w->days >> day & 1;
    return minute < w->to_min && (w->days >> ((day + 6) % 7) & 1);
}

static enum truth eval_op(struct eval *e, const struct cond *c, const struct value *v) {
    if (c->op == OP_EXISTS)
        return truth_of((v->kind != VALUE_ABSENT && !policy_value_is_null(v)) == (c->value.number != 0));
    if (v->kind == VALUE_ABSENT)
        return truth_of(c->absent);
    switch (c->op) {
    case OP_EQ:
        return truth_of(policy_value_equals(v, &c->value, e->arena));
    case OP_NEQ:
        return truth_of(!policy_value_equals(v, &c->value, e->arena));
    case OP_IN:
        return truth_of(in_list(e, c, v));
    case OP_NOT_IN:
        return truth_of(!in_list(e, c, v));
    case OP_LT:
    case OP_LTE:
    case OP_GT:
    case OP_GTE:
        return truth_of(eval_number(c, v));
    case OP_REGEX:
        return eval_regex(e, c, v);
    case OP_CONTAINS:
        return truth_of(eval_contains(e, c, v));
    case OP_STARTS_WITH:
    case OP_ENDS_WITH:
    case OP_GLOB:
        return truth_of(eval_affix(e, c, v));
    case OP_LEN_EQ:
    case OP_LEN_LT:
    case OP_LEN_LTE:
    case OP_LEN_GT:
    case OP_LEN_GTE:
        return truth_of(eval_length(e, c, v));
    case OP_TYPE:
        return truth_of(eval_type(c, v));
    case OP_UNDER:
        return truth_of(eval_under(e, c, v));
    case OP_HOST:
        return truth_of(eval_host(e, c, v));
    case OP_SQL:
        return truth_of(eval_sql(e, c, v));
    case OP_NO_SHELL_META:
    case OP_NO_LEADING_DASH:
        return truth_of(eval_text_test(e, c, v));
    case OP_SCHEMA:
        return eval_schema(e, c, v);
    case OP_WITHIN:
        return truth_of(eval_within(e, c));
    case OP_EXISTS:
    case OP_COUNT:
        break;
    }
    return fault(e, "unknown operator");
}

/* ---- values ---- */

static struct slice class_name(enum policy_class class) {
    static const char *const names[] = {"", "read", "write", "execute", "destructive", "financial"};
    return slice_str(names[class]);
}

static struct value fact_value(const struct policy_facts *f, struct slice key) {
    const struct {
        const char *key;
        struct slice value;
    } rows[] = {
        {"grant.name", f->grant},
        {"identity.name", f->identity},
        {"session.id", f->session},
        {"server.name", f->server},
        {"tool.name", f->tool},
        {"tool.class", class_name(f->traits.class)},
        {"call.method", f->method},
        {"call.direction", f->direction == POLICY_TO_SERVER ? SLICE("to_server") : SLICE("to_client")},
    };
    for (size_t i = 0; i < f->more_count; i++)
        if (slice_eq(f->more[i].key, key))
            return (struct value){.kind = VALUE_TEXT, .text = f->more[i].value};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (slice_is(key, rows[i].key) && rows[i].value.len)
            return (struct value){.kind = VALUE_TEXT, .text = rows[i].value};
    return (struct value){.kind = VALUE_ABSENT};
}

static struct value time_value(const struct policy_facts *f, struct slice path) {
    static const char *const days[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    if (slice_is(path, "time.weekday"))
        return (struct value){.kind = VALUE_TEXT, .text = slice_str(days[policy_time_weekday(f->now_ms, 0)])};
    if (slice_is(path, "time.hour"))
        return (struct value){.kind = VALUE_NUMBER, .number = policy_time_minute(f->now_ms, 0) / 60};
    return (struct value){.kind = VALUE_NUMBER, .number = (double)(f->now_ms / 1000)};
}

static bool is_applied(const struct eval *e, const struct entry *entry) {
    for (uint32_t i = 0; i < e->applied_count; i++)
        if (e->applied[i] == entry)
            return true;
    return false;
}

/* A counter as it will stand when this call is through. Only the limit's own pre-check looks at what is
 * counted already, because the reservation that follows does the exact comparison. */
static enum truth eval_state(struct eval *e, const struct cond *c) {
    const struct policy_counters *counters = e->facts->counters;
    if (!counters)
        return truth_of(c->lenient);
    struct policy_limit limit;
    int64_t micro = 0, amount = 0;
    if (!policy_limit_build(e, c->counter, &limit))
        limit.amount = 0; /* the reservation will refuse the call for it */
    if (!counters->read(counters->ctx, &limit, &micro))
        return fault(e, "the counter cannot be read");
    if (!c->before_count && is_applied(e, c->counter->entry))
        amount = limit.amount;
    double total = ((double)micro + (double)amount) / POLICY_MICRO;
    struct value v = {.kind = VALUE_NUMBER, .number = total};
    enum truth truth = eval_op(e, c, &v);
    if (e->trace)
        policy_trace_leaf(e->trace, c, &v, truth);
    return truth;
}

/* Every value of a path with array steps; there is at least one, be it an absent one. */
static enum truth eval_each(struct eval *e, const struct cond *c) {
    struct policy_walk walk;
    struct value v = {.kind = VALUE_NODE, .tape = e->facts->tape};
    size_t seen = 0;
    policy_walk_start(&walk, &c->path, e->facts->tape, e->facts->args);
    for (enum policy_walk_state state; (state = policy_walk_next(&walk, &v.node)) != POLICY_WALK_END;
         seen++) {
        if (seen == POLICY_FANOUT_MAX)
            return fault(e, "the path stands for too many values");
        v.kind = state == POLICY_WALK_VALUE ? VALUE_NODE : VALUE_ABSENT;
        enum truth truth = eval_op(e, c, &v);
        if (truth == TRUTH_FAULT || (truth == TRUTH_YES) != c->match_all) {
            if (e->trace)
                policy_trace_leaf(e->trace, c, &v, truth);
            return truth;
        }
    }
    v = (struct value){.kind = VALUE_ABSENT};
    enum truth truth = truth_of(c->match_all);
    if (e->trace)
        policy_trace_leaf(e->trace, c, &v, truth);
    return truth;
}

static uint32_t find_node(struct eval *e, const struct path *path) {
    if (path->id >= POLICY_PATHS_REMEMBERED)
        return policy_path_find(path, e->facts->tape, e->facts->args);
    if (!(e->looked_up >> path->id & 1)) {
        e->nodes[path->id] = policy_path_find(path, e->facts->tape, e->facts->args);
        e->looked_up |= 1ull << path->id;
    }
    return e->nodes[path->id];
}

static enum truth eval_leaf(struct eval *e, const struct cond *c) {
    const struct policy_facts *f = e->facts;
    struct value v = {.kind = VALUE_ABSENT};
    e->blame = c;
    switch (c->path.root) {
    case ROOT_STATE:
        return eval_state(e, c);
    case ROOT_FACT:
        v = fact_value(f, c->path.text);
        break;
    case ROOT_TIME:
        v = time_value(f, c->path.text);
        break;
    case ROOT_ARGS:
        if (!policy_has_args(f))
            break;
        if (c->path.has_each)
            return eval_each(e, c);
        v.node = find_node(e, &c->path);
        v.tape = f->tape;
        if (v.node)
            v.kind = VALUE_NODE;
        break;
    }
    enum truth truth = eval_op(e, c, &v);
    if (e->trace)
        policy_trace_leaf(e->trace, c, &v, truth);
    return truth;
}

/* Groups nest at most POLICY_GROUP_DEPTH_MAX deep: load refuses more. */
enum truth policy_eval(struct eval *e, const struct cond *c) {
    if (c->kind == COND_LEAF)
        return eval_leaf(e, c);
    if (e->trace)
        policy_trace_open(e->trace, c);
    enum truth truth = truth_of(c->kind != COND_ANY);
    for (uint32_t i = 0; i < c->count; i++) {
        enum truth one = policy_eval(e, &c->children[i]);
        if (one == TRUTH_FAULT) {
            truth = one;
            break;
        }
        if (c->kind == COND_NOT) {
            truth = truth_of(one == TRUTH_NO);
            break;
        }
        if ((one == TRUTH_YES) != (c->kind == COND_ALL)) {
            truth = one;
            break;
        }
    }
    if (e->trace)
        policy_trace_close(e->trace, truth);
    return truth;
}

/* ---- limits ---- */

/* Micro-units of an argument; with a unit of 100 the argument counts in hundredths. */
static bool node_amount(const struct limit_rule *rule, const struct tape *t, uint32_t node, struct arena *a,
                        int64_t *ret_amount) {
    struct slice text;
    if (tape_is(t, node, TAPE_NUMBER))
        text = tape_raw(t, node);
    else if (rule->numeric_strings && tape_is(t, node, TAPE_STRING))
        text = tape_text(t, node, a);
    else
        return false;
    int64_t micro;
    if (!policy_amount_parse(text, &micro))
        return false;
    *ret_amount = micro / rule->unit + (micro % rule->unit != 0);
    return true;
}

bool policy_limit_amount(struct eval *e, const struct limit_rule *rule, int64_t *ret_amount) {
    if (!rule->from_count) {
        *ret_amount = rule->amount;
        return true;
    }
    const struct tape *t = e->facts->tape;
    for (uint32_t i = 0; policy_has_args(e->facts) && i < rule->from_count; i++) {
        uint32_t node = policy_path_find(&rule->from[i], t, e->facts->args);
        if (node)
            return node_amount(rule, t, node, e->arena, ret_amount);
    }
    return false;
}

static struct slice scope_id(const struct policy_facts *f, enum scope scope) {
    switch (scope) {
    case SCOPE_GRANT:
        return f->limits.len ? f->limits : f->grant;
    case SCOPE_IDENTITY:
        return f->identity.len ? f->identity : f->grant;
    case SCOPE_SESSION:
        return f->session;
    case SCOPE_SERVER:
        return f->server;
    case SCOPE_POLICY:
    case SCOPE_GLOBAL:
        break;
    }
    return (struct slice){0};
}

/* scope/ID/counter, with the length of the ID in front so that no ID can reach into another's keys. */
static struct slice scoped_key(struct eval *e, const struct limit_rule *rule) {
    static const char *const names[] = {"", "grant", "identity", "session", "server", "global"};
    if (rule->scope == SCOPE_POLICY || rule->scope == SCOPE_GLOBAL)
        return rule->key;
    struct slice id = slice_upto(scope_id(e->facts, rule->scope), POLICY_SCOPE_ID_MAX);
    struct slice scope = slice_str(names[rule->scope]);
    size_t len = scope.len + 1 + 4 + id.len + 1 + rule->key.len;
    char *key = arena_alloc(e->arena, len), *at = key;
    memcpy(at, scope.ptr, scope.len);
    at += scope.len;
    *at++ = '/';
    for (unsigned shift = 100; shift; shift /= 10)
        *at++ = (char)('0' + id.len / shift % 10);
    *at++ = ':';
    if (id.len)
        memcpy(at, id.ptr, id.len);
    at += id.len;
    *at++ = '/';
    memcpy(at, rule->key.ptr, rule->key.len);
    return slice_of(key, len);
}

/* FNV-1a over the structure, with the members of an object summed so that their order does not matter. Nobody
 * gains by colliding with himself, so speed counts more than strength here. */
#define HASH_START 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

static uint64_t hash_bytes(uint64_t hash, struct slice s) {
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)s.ptr[i]) * HASH_PRIME;
    return hash;
}

static uint64_t hash_mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Each scalar is hashed with the keys and indexes that lead to it; the sum of all of them is the answer. */
static uint64_t hash_args(const struct tape *t, uint32_t root, struct arena *a) {
    struct {
        uint64_t hash;
        uint32_t end, index;
        bool is_map;
    } stack[TAPE_DEPTH_MAX + 1];
    uint32_t depth = 0, i = root, end = tape_node(t, root)->next;
    uint64_t sum = 0, here = HASH_START;
    while (i < end) {
        while (depth && i >= stack[depth - 1].end)
            depth--;
        if (depth) {
            here = stack[depth - 1].hash;
            if (stack[depth - 1].is_map)
                here = hash_bytes(here, tape_text(t, i++, a)) * HASH_PRIME;
            else
                here = hash_mix(here + ++stack[depth - 1].index);
        }
        enum tape_type type = tape_type(t, i);
        here = hash_mix(here + type);
        if (type == TAPE_ARRAY || type == TAPE_OBJECT) {
            sum += hash_mix(here + tape_node(t, i)->count);
            stack[depth].hash = here;
            stack[depth].end = tape_node(t, i)->next;
            stack[depth].index = 0;
            stack[depth++].is_map = type == TAPE_OBJECT;
        } else {
            sum += hash_mix(hash_bytes(here, type == TAPE_STRING ? tape_text(t, i, a) : tape_raw(t, i)));
        }
        i++;
    }
    return sum;
}

static struct slice identical_key(struct eval *e, struct slice key) {
    struct slice hash = e->facts->args_hash;
    if (!hash.len && policy_has_args(e->facts))
        hash = arena_printf(e->arena, "%016llx",
                            (unsigned long long)hash_args(e->facts->tape, e->facts->args, e->arena));
    return arena_printf(e->arena, "%.*s#%.*s#%.*s", SLICE_FMT(key), SLICE_FMT(e->facts->tool),
                        SLICE_FMT(hash));
}

bool policy_limit_build(struct eval *e, const struct limit_rule *rule, struct policy_limit *ret_limit) {
    struct slice key = scoped_key(e, rule);
    uint64_t now = e->facts->now_ms;
    *ret_limit = (struct policy_limit){
        .kind = rule->kind,
        .key = rule->identical ? identical_key(e, key) : key,
        .label = rule->label,
        .window_ms = rule->window_ms,
        .start_ms = rule->kind == POLICY_FIXED ? policy_window_start(now, rule->window_ms) : now,
        .max = rule->max,
        .refill = rule->refill,
        .shadow = rule->shadow || e->policy->shadow,
        .all_servers = rule->scope == SCOPE_GLOBAL,
        .rule = rule->name,
        .pointer = rule->pointer,
        .text = rule->text,
    };
    return rule->check_only || policy_limit_amount(e, rule, &ret_limit->amount);
}
