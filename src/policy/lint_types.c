/* Warnings about conditions and limits that do not match the schema of a tool: an argument that it does not
 * have, an operator that cannot judge the argument's type, a value that no argument of that type equals, an
 * amount that is no number. */
#include "base/mem.h"
#include "policy/load.h"
#include "policy/schema.h"
#include "policy/schema_program.h"

#define LINT_SCHEMA_DEPTH_MAX 4 /* alternatives of anyOf, oneOf and $ref that are followed at one place */

/* JSON types as bits; the order is that of type_names. */
enum type_bit {
    IS_NULL = 1,
    IS_BOOLEAN = 2,
    IS_INTEGER = 4,
    IS_NUMBER = 8, /* with a fraction */
    IS_STRING = 16,
    IS_ARRAY = 32,
    IS_OBJECT = 64,
};
#define IS_NUMERIC (IS_INTEGER | IS_NUMBER)
#define IS_SIZED (IS_STRING | IS_ARRAY | IS_OBJECT)

static const char *const type_names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};

/* What each operator can judge; 0: anything. */
static const uint32_t judged_types[OP_COUNT] = {
    [OP_LT] = IS_NUMERIC,
    [OP_LTE] = IS_NUMERIC,
    [OP_GT] = IS_NUMERIC,
    [OP_GTE] = IS_NUMERIC,
    [OP_REGEX] = IS_STRING,
    [OP_CONTAINS] = IS_STRING | IS_ARRAY,
    [OP_STARTS_WITH] = IS_STRING,
    [OP_ENDS_WITH] = IS_STRING,
    [OP_GLOB] = IS_STRING,
    [OP_LEN_EQ] = IS_SIZED,
    [OP_LEN_LT] = IS_SIZED,
    [OP_LEN_LTE] = IS_SIZED,
    [OP_LEN_GT] = IS_SIZED,
    [OP_LEN_GTE] = IS_SIZED,
    [OP_UNDER] = IS_STRING,
    [OP_HOST] = IS_STRING,
    [OP_SQL] = IS_STRING,
    [OP_NO_SHELL_META] = IS_STRING,
    [OP_NO_LEADING_DASH] = IS_STRING,
};

struct type_lint {
    const struct policy_lint_tool *tool;
    struct policy_problems *problems;
    struct slice name; /* of the rule or limit, with its kind */
    struct slice pointer;
    const struct tree *at;
    bool by_name; /* the rules belong to this tool, not to a pattern */
};

/* ---- types in the schema ---- */

static uint32_t bit_of_name(const struct tape *t, uint32_t node) {
    if (tape_eq(t, node, SLICE("number")))
        return IS_NUMERIC;
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
        if (tape_eq(t, node, slice_str(type_names[i])))
            return 1u << i;
    return 0;
}

static uint32_t types_of_names(const struct tape *t, uint32_t node) {
    uint32_t types = 0;
    if (!tape_is(t, node, TAPE_ARRAY))
        return bit_of_name(t, node);
    TAPE_FOR_ELEM(t, node, i) { types |= bit_of_name(t, i); }
    return types;
}

static uint32_t type_of_value(const struct tape *t, uint32_t node) {
    static const uint32_t bits[] = {
        [TAPE_NULL] = IS_NULL,      [TAPE_FALSE] = IS_BOOLEAN, [TAPE_TRUE] = IS_BOOLEAN,
        [TAPE_NUMBER] = IS_NUMERIC, [TAPE_STRING] = IS_STRING, [TAPE_ARRAY] = IS_ARRAY,
        [TAPE_OBJECT] = IS_OBJECT};
    return bits[tape_type(t, node)];
}

/* 0: unspecified. */
static uint32_t types_at(const struct policy_schema *s, const struct sub *sub, unsigned depth) {
    const struct tape *t = &s->tape;
    uint32_t types = 0;
    if (!sub || depth > LINT_SCHEMA_DEPTH_MAX)
        return 0;
    if (sub->at[W_TYPE])
        return types_of_names(t, sub->at[W_TYPE]);
    if (sub->ref)
        return types_at(s, sub->ref, depth + 1);
    if (sub->at[W_CONST])
        return type_of_value(t, sub->at[W_CONST]);
    if (sub->at[W_ENUM]) {
        TAPE_FOR_ELEM(t, sub->at[W_ENUM], i) { types |= type_of_value(t, i); }
        return types;
    }
    const uint32_t list = sub->at[W_ANY_OF] ? sub->at[W_ANY_OF] : sub->at[W_ONE_OF];
    if (!list)
        return 0;
    TAPE_FOR_ELEM(t, list, i) {
        const uint32_t one = types_at(s, s->subs[i], depth + 1);
        if (!one)
            return 0;
        types |= one;
    }
    return types;
}

/* Does it allow members that it does not list? Servers ignore those unless the schema mentions them. */
static bool lists_all(const struct sub *sub) {
    return sub->at[W_PROPERTIES] && !sub->at[W_PATTERN_PROPERTIES] && !sub->at[W_ADDITIONAL_PROPERTIES] &&
           !sub->at[W_ALL_OF] && !sub->at[W_ANY_OF] && !sub->at[W_ONE_OF] && !sub->at[W_IF] && !sub->ref;
}

/* The schema at the path, or NULL. *ret_lacks: there is no such member. */
static const struct sub *sub_at(const struct policy_schema *s, const struct path *path, bool *ret_lacks) {
    const struct sub *sub = s->subs[0];
    *ret_lacks = false;
    for (uint32_t i = 0; sub && i < path->step_count; i++) {
        const struct step *step = &path->steps[i];
        const bool is_key = step->kind == STEP_KEY && !step->on_array;
        const struct sub *inner = policy_schema_with(s, sub, is_key ? W_PROPERTIES : W_ITEMS);
        sub = inner ? inner : sub;
        uint32_t next = sub->at[is_key ? W_PROPERTIES : W_ITEMS];
        if (is_key) {
            next = next ? tape_get(&s->tape, next, step->key) : 0;
            *ret_lacks = !next && lists_all(sub);
        }
        sub = next ? s->subs[next] : NULL;
    }
    return sub;
}

/* ---- what a condition requires ---- */

static uint32_t type_of_constant(const struct constant *c) {
    switch (c->type) {
    case TREE_NULL:
        return IS_NULL;
    case TREE_BOOL:
        return IS_BOOLEAN;
    case TREE_INT:
        return IS_NUMERIC;
    case TREE_FLOAT:
        return c->number == (double)(int64_t)c->number ? IS_NUMERIC : IS_NUMBER;
    case TREE_STRING:
        return IS_STRING;
    case TREE_LIST:
        return IS_ARRAY;
    case TREE_MAP:
        return IS_OBJECT;
    }
    return 0;
}

static struct slice names_of(uint32_t types, struct arena *a) {
    struct slice text = {0};
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++) {
        const uint32_t bit = 1u << i;
        if (!(types & bit) || (bit == IS_INTEGER && types & IS_NUMBER))
            continue;
        text = text.len ? arena_printf(a, "%.*s or %s", SLICE_FMT(text), type_names[i])
                        : arena_dup(a, slice_str(type_names[i]));
    }
    return text;
}

static void warn(const struct type_lint *l, struct slice path, const char *hint, struct slice text) {
    const struct policy_lint_tool *tool = l->tool;
    struct arena *a = &l->problems->arena;
    struct slice of = tool->server.len ? arena_printf(a, "\"%.*s\" of server \"%.*s\"", SLICE_FMT(tool->name),
                                                      SLICE_FMT(tool->server))
                                       : arena_printf(a, "\"%.*s\"", SLICE_FMT(tool->name));
    policy_warn(l->problems, l->at, l->pointer, slice_str(hint),
                arena_printf(a, "%.*s: %.*s of %.*s %.*s", SLICE_FMT(l->name), SLICE_FMT(path), SLICE_FMT(of),
                             SLICE_FMT(text)));
}

#define WARN(path, hint, ...) warn(l, (path)->text, hint, arena_printf(&l->problems->arena, __VA_ARGS__))

/* The types that the schema has there, without null, which is as if it were missing; 0: unknown. */
static uint32_t types_of_path(const struct type_lint *l, const struct path *path) {
    bool lacks;
    const struct sub *sub = sub_at(l->tool->schema, path, &lacks);
    if (lacks && l->by_name)
        WARN(path, "see the tool's inputSchema for its arguments", "is not in its schema");
    return types_at(l->tool->schema, sub, 0);
}

/* The types of the constants of eq and similar operators. */
static uint32_t wanted_types(const struct cond *leaf) {
    uint32_t types = 0;
    if (leaf->op == OP_EQ || leaf->op == OP_NEQ)
        return type_of_constant(&leaf->value);
    for (size_t i = 0; (leaf->op == OP_IN || leaf->op == OP_NOT_IN) && i < leaf->list_count; i++)
        types |= type_of_constant(&leaf->list[i]);
    return types;
}

static void lint_leaf(const struct type_lint *l, const struct cond *leaf) {
    struct arena *a = &l->problems->arena;
    const struct path *path = &leaf->path;
    if (path->root != ROOT_ARGS)
        return;
    const uint32_t says = types_of_path(l, path);
    const uint32_t judged = judged_types[leaf->op], wants = wanted_types(leaf);
    const uint32_t unjudged = judged ? says & ~judged & ~(uint32_t)IS_NULL : 0;
    if (!says)
        return;
    if (judged && !(judged & says))
        WARN(path, "use an operator for that type",
             "is of type %.*s, which %s cannot judge: a call that has it is denied",
             SLICE_FMT(names_of(says, a)), policy_ops[leaf->op].name);
    else if (unjudged)
        WARN(path, "use a condition for each type, in a group `any`",
             "may be of type %.*s, which %s cannot judge: such a call is denied",
             SLICE_FMT(names_of(unjudged, a)), policy_ops[leaf->op].name);
    else if (wants && !(wants & says))
        WARN(path, "write the value in that type", "is of type %.*s, and %s compares it with type %.*s",
             SLICE_FMT(names_of(says, a)), policy_ops[leaf->op].name, SLICE_FMT(names_of(wants, a)));
}

/* Groups nest at most POLICY_GROUP_DEPTH_MAX deep. */
static void lint_conds(const struct type_lint *l, const struct cond *cond) {
    if (cond->kind == COND_LEAF)
        lint_leaf(l, cond);
    for (uint32_t i = 0; i < cond->count; i++)
        lint_conds(l, &cond->children[i]);
}

/* What a limit counts. */
static void lint_amounts(const struct type_lint *l, const struct limit_rule *limit) {
    const uint32_t counts = limit->numeric_strings ? IS_NUMERIC | IS_STRING : IS_NUMERIC;
    for (uint32_t i = 0; i < limit->from_count; i++) {
        const uint32_t says = types_of_path(l, &limit->from[i]) & ~(uint32_t)IS_NULL;
        const uint32_t wrong = says & ~counts;
        if (wrong)
            WARN(&limit->from[i],
                 wrong == IS_STRING ? "set numeric_strings: true if the texts are numbers"
                                    : "count an argument that is a number",
                 "%s of type %.*s, which no limit counts: a call that has it is denied",
                 wrong == says ? "is" : "may be", SLICE_FMT(names_of(wrong, &l->problems->arena)));
    }
}

static void lint_entry(struct type_lint *l, const struct entry *entry) {
    struct arena *a = &l->problems->arena;
    for (uint32_t i = 0; i < entry->check_count; i++) {
        const struct check *check = &entry->checks[i];
        l->name = arena_printf(a, "rule \"%.*s\"", SLICE_FMT(check->name));
        l->pointer = check->pointer;
        l->at = check->at;
        lint_conds(l, &check->conds);
    }
    for (uint32_t i = 0; i < entry->limit_count; i++) {
        const struct limit_rule *limit = &entry->limits[i];
        l->name = arena_printf(a, "limit \"%.*s\"", SLICE_FMT(limit->name));
        l->pointer = limit->pointer;
        l->at = limit->at;
        lint_amounts(l, limit);
    }
}

void policy_lint_types(const struct policy *p, const struct policy_lint_tool *tool,
                       struct policy_problems *problems) {
    struct type_lint l = {.tool = tool, .problems = problems};
    const struct entry *own = map_get(&p->tools, tool->name);
    if (own) {
        l.by_name = true;
        lint_entry(&l, own);
    }
    l.by_name = false;
    for (size_t i = 0; i < p->pattern_count; i++) {
        const struct entry *pattern = p->patterns[i];
        if (pattern != own && !pattern->class && !pattern->tag &&
            policy_glob_names(pattern->name, tool->name))
            lint_entry(&l, pattern);
    }
    if (p->everything && p->everything != own)
        lint_entry(&l, p->everything);
}
