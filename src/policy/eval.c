#include "policy/eval.h"

#include "base/check.h"
#include "policy/limit.h"
#include "policy/op.h"
#include "policy/path.h"
#include "policy/schema.h"

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

/* One value. If the operator cannot judge it, the condition gets the result that does not allow the call. */
static enum truth eval_value(struct eval *e, const struct cond *c, const struct value *v, bool is_unsure) {
    enum truth truth = is_unsure ? TRUTH_UNSURE : policy_op_judge(e, c, v);
    if (e->trace && (truth != TRUTH_YES || !c->path.has_each))
        policy_trace_leaf(e->trace, c, v, truth);
    if (truth != TRUTH_UNSURE)
        return truth;
    if (e->optimistic)
        return truth_of(c->lenient);
    e->unsure = c;
    e->unsure_type = is_unsure ? NULL : policy_value_type_name(v);
    return truth_of(!c->lenient);
}

/* A counter as it will be after this call. Only the limit's own pre-check compares the current count,
 * because the reservation that follows does the exact comparison. */
static enum truth eval_state(struct eval *e, const struct cond *c) {
    const struct policy_counters *counters = e->facts->counters;
    if (!counters)
        return truth_of(c->lenient);
    struct policy_limit limit;
    int64_t micro = 0, amount = 0;
    if (!policy_limit_build(e, c->counter, &limit))
        limit.amount = 0; /* the reservation will refuse the call */
    if (!counters->read(counters->ctx, &limit, &micro))
        return policy_eval_fault(e, "the counter cannot be read");
    if (!c->before_count && is_applied(e, c->counter->entry))
        amount = limit.amount;
    double total = ((double)micro + (double)amount) / POLICY_MICRO;
    return eval_value(e, c, &(struct value){.kind = VALUE_NUMBER, .number = total}, false);
}

/* Would the condition deny this value in place of the missing one, as it is or as a server may convert
 * it? For lists and objects their content counts, and they themselves where the schema allows them. */
static bool catches(struct eval *e, const struct cond *c, uint32_t node) {
    const struct tape *t = e->facts->tape;
    struct value v = {.kind = VALUE_NODE, .tape = t, .node = node};
    bool orders = c->op == OP_LT || c->op == OP_LTE || c->op == OP_GT || c->op == OP_GTE;
    if (orders && tape_is(t, node, TAPE_STRING)) {
        struct slice text = policy_value_text(&v, e->arena);
        for (size_t i = 0; i < text.len; i++)
            if ((unsigned char)text.ptr[i] >= 0x80 || (text.ptr[i] >= '0' && text.ptr[i] <= '9'))
                return true;
        text = slice_trim(text);
        if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
            text = slice_from(text, 1);
        text = slice_upto(text, 3);
        return slice_eq_nocase(text, SLICE("inf")) || slice_eq_nocase(text, SLICE("nan"));
    }
    bool equals = c->op == OP_EQ || c->op == OP_NEQ || c->op == OP_IN || c->op == OP_NOT_IN;
    bool is_container = tape_is(t, node, TAPE_ARRAY) || tape_is(t, node, TAPE_OBJECT);
    bool flag = tape_is(t, node, TAPE_TRUE) || tape_is(t, node, TAPE_FALSE);
    if (orders && flag)
        v = (struct value){.kind = VALUE_NUMBER, .number = tape_is(t, node, TAPE_TRUE)};
    else if (!equals && !orders && (flag || tape_is(t, node, TAPE_NUMBER)))
        v = (struct value){.kind = VALUE_TEXT, .text = tape_raw(t, node)};
    enum truth truth = policy_op_judge(e, c, &v);
    bool converted = is_container ? !c->path.has_each && !policy_schema_is_scalar(e->facts->schema, &c->path)
                                  : equals || !tape_is(t, node, TAPE_NULL);
    if (c->lenient && (tape_is(t, node, TAPE_NULL) || (is_container && !converted)))
        return false;
    return truth == truth_of(!c->lenient) || (truth == TRUTH_UNSURE && converted);
}

/* The same for everything inside it, at any depth: a server may read an argument from inside another one
 * (pydantic's AliasPath). */
static bool catches_within(struct eval *e, const struct cond *c, uint32_t root) {
    const struct tape *t = e->facts->tape;
    struct {
        uint32_t end;
        bool is_object;
    } open[TAPE_DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t i = root; i < tape_node(t, root)->next; i++) {
        while (depth && open[depth - 1].end <= i)
            depth--;
        i += depth && open[depth - 1].is_object; /* its key */
        if (!policy_spend(&e->budget, POLICY_VALUE_STEPS) || catches(e, c, i))
            return true;
        bool is_object = tape_is(t, i, TAPE_OBJECT);
        if (is_object || tape_is(t, i, TAPE_ARRAY)) {
            CHECK(depth < TAPE_DEPTH_MAX);
            open[depth].end = tape_node(t, i)->next;
            open[depth++].is_object = is_object;
        }
    }
    return false;
}

/* An argument that the schema does not list and the condition would deny. Where it is another name of the
 * judged one, some servers use what stands last (@JsonAlias of Jackson). */
static bool has_rival(struct eval *e, const struct cond *c) {
    const struct tape *t = e->facts->tape;
    bool of_text = c->op == OP_HOST || c->op == OP_UNDER || c->op == OP_SQL || c->op == OP_GLOB;
    for (uint32_t i = 0; i < e->unlisted.count; i++) {
        const uint32_t node = e->unlisted.nodes[i];
        bool holds_text =
            tape_is(t, node, TAPE_STRING) || tape_is(t, node, TAPE_ARRAY) || tape_is(t, node, TAPE_OBJECT);
        if ((holds_text || !of_text) && catches_within(e, c, node))
            return true;
    }
    return e->unlisted.has_more;
}

/* Does it contain something that a server may take for the object that the path leads through? */
static bool holds_object(struct eval *e, uint32_t root) {
    const struct tape *t = e->facts->tape;
    for (uint32_t i = root; i < tape_node(t, root)->next; i++)
        if (!policy_spend(&e->budget, 1) || tape_is(t, i, TAPE_OBJECT) ||
            (tape_is(t, i, TAPE_STRING) && policy_value_may_be_json(tape_text(t, i, e->arena))))
            return true;
    return false;
}

/* Is there a key outside the tool's schema with a value that the condition would deny, where it lets a
 * missing one pass? A server may use it as the missing one. */
static bool may_have_alias(struct eval *e, const struct cond *c) {
    const struct policy_facts *f = e->facts;
    bool always = c->op == OP_EXISTS || c->op == OP_TYPE;
    struct policy_unnamed unnamed;
    if (!e->strict || c->absent != c->lenient || always)
        return false;
    policy_schema_unnamed(f->schema, &c->path, f->tape, f->args, &unnamed);
    for (uint32_t v; (v = policy_schema_unnamed_next(f->schema, f->tape, &unnamed, &e->budget));)
        if (!policy_spend(&e->budget, POLICY_VALUE_STEPS) ||
            (unnamed.is_last ? catches_within(e, c, v) : holds_object(e, v)))
            return true;
    return false;
}

static enum truth eval_default(struct eval *e, const struct cond *c, bool in_element, enum truth missing);

/* Every value of a path with array steps; at least one, which may be absent. */
static enum truth eval_each(struct eval *e, const struct cond *c, const struct path *path,
                            const struct tape *t, uint32_t node) {
    struct policy_walk walk;
    struct value v = {.kind = VALUE_NODE, .tape = t};
    size_t seen = 0;
    bool is_given = t == e->facts->tape;
    policy_walk_start(&walk, path, t, node);
    for (enum policy_walk_state state; (state = policy_walk_next(&walk, &v.node)) != POLICY_WALK_END;
         seen++) {
        if (seen == POLICY_FANOUT_MAX)
            return policy_eval_fault(e, "the path matches too many values");
        if (!policy_spend(&e->budget, POLICY_VALUE_STEPS))
            return policy_eval_fault(e, "the call takes too long to judge");
        v.kind = state == POLICY_WALK_VALUE ? VALUE_NODE : VALUE_ABSENT;
        bool is_absent = state == POLICY_WALK_ABSENT && is_given;
        bool is_unsure = state == POLICY_WALK_UNSURE || (is_absent && may_have_alias(e, c));
        enum truth truth = eval_value(e, c, &v, is_unsure);
        if (is_absent)
            truth = eval_default(e, c, walk.depth > 0, truth);
        if (truth == TRUTH_FAULT || (truth == TRUTH_YES) != c->match_all)
            return truth;
    }
    return truth_of(c->match_all);
}

/* The server reads a missing argument as the default in its schema: that value must not be denied either.
 * `exists` asks what the agent sent. */
static enum truth eval_default(struct eval *e, const struct cond *c, bool in_element, enum truth missing) {
    const struct policy_facts *f = e->facts;
    uint32_t step = 0;
    bool allows = (missing == TRUTH_YES) == c->lenient && missing != TRUTH_FAULT;
    bool of_agent = c->op == OP_EXISTS || c->op == OP_CONTAINS_SECRET || c->op == OP_PII;
    if (!e->strict || !allows || of_agent)
        return missing;
    const uint32_t node = in_element ? policy_schema_default_of_element(f->schema, &c->path)
                                     : policy_schema_default(f->schema, &c->path, f->tape, f->args, &step);
    if (!node)
        return missing;
    struct path rest = c->path;
    rest.steps += step;
    rest.step_count = in_element ? 0 : rest.step_count - step;
    return eval_each(e, c, &rest, policy_schema_tape(f->schema), node);
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

static enum truth eval_alone(struct eval *e, const struct cond *c) {
    const struct policy_facts *f = e->facts;
    struct value v = {.kind = VALUE_ABSENT};
    bool is_unsure = false;
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
            return eval_default(e, c, false, eval_value(e, c, &v, false));
        if (c->path.has_each)
            return eval_each(e, c, &c->path, f->tape, f->args);
        v.node = find_node(e, &c->path);
        v.tape = f->tape;
        is_unsure = v.node == POLICY_PATH_UNSURE || (!v.node && may_have_alias(e, c));
        if (!v.node && !is_unsure)
            return eval_default(e, c, false, eval_value(e, c, &v, false));
        if (!is_unsure)
            v.kind = VALUE_NODE;
        break;
    }
    return eval_value(e, c, &v, is_unsure);
}

static enum truth eval_leaf(struct eval *e, const struct cond *c) {
    enum truth truth = eval_alone(e, c);
    if (!e->strict || c->path.root != ROOT_ARGS || !(e->unlisted.count || e->unlisted.has_more))
        return truth;
    bool of_whole = c->path.step_count == 0 || c->op == OP_EXISTS || c->op == OP_TYPE || c->op == OP_SCHEMA ||
                    c->op == OP_CONTAINS_SECRET || c->op == OP_PII;
    bool allows = truth != TRUTH_FAULT && (truth == TRUTH_YES) == c->lenient;
    if (of_whole || !allows || !has_rival(e, c))
        return truth;
    return eval_value(e, c, &(struct value){.kind = VALUE_ABSENT}, true);
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
