/* A value against a compiled schema. */
#include "policy/schema.h"

#include "policy/number.h"
#include "policy/schema_program.h"
#include "wire/clash.h"

#include <math.h>

struct checker {
    const struct policy_schema *s;
    const struct tape *st; /* the schema's tape */
    const struct tape *t;  /* the instance's */
    struct arena *a;
    struct policy_budget *budget;
    uint32_t depth;
    struct policy_unlisted *unlisted; /* NULL: not strict */
    uint32_t doubtful;                /* inside schemas that are not alone in saying what a key means */
    bool clash;
    bool fault;
    const char *keyword; /* what failed last, and where */
    uint32_t node;
};

/* The members or elements of one instance node that some schema has evaluated. */
struct seen {
    bool *marks; /* by position; NULL: not tracked */
    uint32_t count;
};

static bool check_node(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen);
static bool check_sub(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen);

static bool bad(struct checker *c, enum word word, uint32_t node) {
    c->keyword = policy_schema_words[word];
    c->node = node;
    return false;
}

static bool spend(struct checker *c, uint32_t steps) {
    if (!policy_spend(c->budget, steps))
        c->fault = true;
    return !c->fault;
}

static bool regex_match(struct checker *c, uint32_t pattern, uint32_t text_node) {
    enum policy_regex_answer answer =
        policy_regex_search(c->s->regexes[pattern], tape_text(c->t, text_node, c->a), c->budget);
    if (answer == POLICY_REGEX_SPENT)
        c->fault = true;
    return answer == POLICY_REGEX_YES;
}

struct two {
    uint32_t x, y;
};

/* Deep equality of two values: numbers by value, objects in any order. */
static bool values_equal(struct checker *c, const struct tape *tx, uint32_t x, const struct tape *ty,
                         uint32_t y) {
    uint32_t room = tape_node(tx, x)->next - x + 1, count = 0;
    struct two one = {x, y}, *stack = &one;
    if (room > 2)
        stack = arena_alloc(c->a, room * sizeof(*stack));
    stack[count++] = one;
    while (count && spend(c, 1)) {
        struct two pair = stack[--count];
        enum tape_type type = tape_type(tx, pair.x);
        if (type != tape_type(ty, pair.y))
            return false;
        if (type == TAPE_NUMBER) {
            if (policy_number_cmp(tape_raw(tx, pair.x), tape_raw(ty, pair.y)) != 0)
                return false;
        } else if (type == TAPE_STRING) {
            if (!tape_eq(ty, pair.y, tape_text(tx, pair.x, c->a)))
                return false;
        } else if (type == TAPE_ARRAY || type == TAPE_OBJECT) {
            if (tape_node(tx, pair.x)->count != tape_node(ty, pair.y)->count)
                return false;
            uint32_t j = pair.y + 1;
            if (type == TAPE_ARRAY) {
                TAPE_FOR_ELEM(tx, pair.x, i) {
                    stack[count++] = (struct two){i, j};
                    j = tape_node(ty, j)->next;
                }
                continue;
            }
            TAPE_FOR_MEMBER(tx, pair.x, key) {
                uint32_t other = tape_get(ty, pair.y, tape_text(tx, key, c->a));
                if (!other)
                    return false;
                stack[count++] = (struct two){key + 1, other};
            }
        }
    }
    return !c->fault;
}

static bool type_is(struct checker *c, uint32_t name, uint32_t node) {
    static const char *const names[] = {
        [TAPE_NULL] = "null",     [TAPE_FALSE] = "boolean", [TAPE_TRUE] = "boolean",
        [TAPE_NUMBER] = "number", [TAPE_STRING] = "string", [TAPE_ARRAY] = "array",
        [TAPE_OBJECT] = "object",
    };
    enum tape_type type = tape_type(c->t, node);
    if (tape_eq(c->st, name, slice_str(names[type])))
        return true;
    return type == TAPE_NUMBER && tape_eq(c->st, name, SLICE("integer")) &&
           (tape_node(c->t, node)->flags & TAPE_INTEGER || policy_number_is_integer(tape_raw(c->t, node)));
}

static bool check_type(struct checker *c, const struct sub *sub, uint32_t node) {
    uint32_t want = sub->at[W_TYPE];
    if (!want)
        return true;
    if (tape_is(c->st, want, TAPE_STRING))
        return type_is(c, want, node) || bad(c, W_TYPE, node);
    TAPE_FOR_ELEM(c->st, want, i) {
        if (type_is(c, i, node))
            return true;
    }
    return bad(c, W_TYPE, node);
}

static bool check_values(struct checker *c, const struct sub *sub, uint32_t node) {
    if (sub->at[W_CONST] && !values_equal(c, c->t, node, c->st, sub->at[W_CONST]))
        return bad(c, W_CONST, node);
    if (!sub->at[W_ENUM])
        return true;
    TAPE_FOR_ELEM(c->st, sub->at[W_ENUM], i) {
        if (values_equal(c, c->t, node, c->st, i))
            return true;
    }
    return bad(c, W_ENUM, node);
}

static double limit_of(struct checker *c, const struct sub *sub, enum word word, double otherwise) {
    double number;
    return sub->at[word] && tape_double(c->st, sub->at[word], &number) ? number : otherwise;
}

/* Compares the number with that of a keyword: below, at or above zero. */
static int order(struct checker *c, uint32_t node, uint32_t limit) {
    int64_t x, y;
    if (tape_int(c->t, node, &x) && tape_int(c->st, limit, &y))
        return (x > y) - (x < y);
    return policy_number_cmp(tape_raw(c->t, node), tape_raw(c->st, limit));
}

static bool check_multiple(struct checker *c, uint32_t node, uint32_t factor) {
    switch (policy_number_multiple(tape_raw(c->t, node), tape_raw(c->st, factor))) {
    case POLICY_MULTIPLE_YES:
        return true;
    case POLICY_MULTIPLE_NO:
        return bad(c, W_MULTIPLE_OF, node);
    case POLICY_MULTIPLE_UNKNOWN:
        break;
    }
    c->fault = true;
    return false;
}

static bool check_number(struct checker *c, const struct sub *sub, uint32_t node) {
    const uint32_t *at = sub->at;
    if (at[W_MAXIMUM] && order(c, node, at[W_MAXIMUM]) > 0)
        return bad(c, W_MAXIMUM, node);
    if (at[W_MINIMUM] && order(c, node, at[W_MINIMUM]) < 0)
        return bad(c, W_MINIMUM, node);
    if (at[W_EXCLUSIVE_MAXIMUM] && order(c, node, at[W_EXCLUSIVE_MAXIMUM]) >= 0)
        return bad(c, W_EXCLUSIVE_MAXIMUM, node);
    if (at[W_EXCLUSIVE_MINIMUM] && order(c, node, at[W_EXCLUSIVE_MINIMUM]) <= 0)
        return bad(c, W_EXCLUSIVE_MINIMUM, node);
    return !at[W_MULTIPLE_OF] || check_multiple(c, node, at[W_MULTIPLE_OF]);
}

static bool check_string(struct checker *c, const struct sub *sub, uint32_t node) {
    if (sub->at[W_MAX_LENGTH] || sub->at[W_MIN_LENGTH]) {
        struct slice text = tape_text(c->t, node, c->a);
        double length = 0;
        for (size_t i = 0; i < text.len; i++)
            length += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
        if (length > limit_of(c, sub, W_MAX_LENGTH, HUGE_VAL))
            return bad(c, W_MAX_LENGTH, node);
        if (length < limit_of(c, sub, W_MIN_LENGTH, 0))
            return bad(c, W_MIN_LENGTH, node);
    }
    if (sub->at[W_PATTERN] && !regex_match(c, sub->at[W_PATTERN], node))
        return bad(c, W_PATTERN, node);
    return true;
}

static void mark(struct seen *seen, uint32_t position) {
    if (seen->marks && position < seen->count)
        seen->marks[position] = true;
}

static bool check_unique(struct checker *c, uint32_t node) {
    TAPE_FOR_ELEM(c->t, node, i) {
        for (uint32_t j = tape_node(c->t, i)->next; j < tape_node(c->t, node)->next;
             j = tape_node(c->t, j)->next)
            if (!spend(c, 1) || values_equal(c, c->t, i, c->t, j))
                return bad(c, W_UNIQUE_ITEMS, j);
    }
    return true;
}

static bool check_contains(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    double hits = 0;
    uint32_t position = 0;
    if (!sub->at[W_CONTAINS])
        return true;
    c->doubtful++;
    TAPE_FOR_ELEM(c->t, node, i) {
        struct seen inner = {0};
        if (check_node(c, sub->at[W_CONTAINS], i, &inner)) {
            hits++;
            mark(seen, position);
        }
        position++;
    }
    c->doubtful--;
    if (hits < limit_of(c, sub, W_MIN_CONTAINS, 1))
        return bad(c, W_CONTAINS, node);
    return hits <= limit_of(c, sub, W_MAX_CONTAINS, HUGE_VAL) || bad(c, W_MAX_CONTAINS, node);
}

static bool check_array(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    double count = tape_node(c->t, node)->count;
    if (count > limit_of(c, sub, W_MAX_ITEMS, HUGE_VAL))
        return bad(c, W_MAX_ITEMS, node);
    if (count < limit_of(c, sub, W_MIN_ITEMS, 0))
        return bad(c, W_MIN_ITEMS, node);
    uint32_t list = sub->at[W_PREFIX_ITEMS], prefix = list ? list + 1 : 0, position = 0;
    TAPE_FOR_ELEM(c->t, node, i) {
        struct seen inner = {0};
        uint32_t schema = sub->at[W_ITEMS];
        if (prefix && prefix < tape_node(c->st, list)->next) {
            schema = prefix;
            prefix = tape_node(c->st, prefix)->next;
        }
        if (schema) {
            if (!check_node(c, schema, i, &inner))
                return false;
            mark(seen, position);
        }
        position++;
    }
    if (sub->at[W_UNIQUE_ITEMS] && tape_is(c->st, sub->at[W_UNIQUE_ITEMS], TAPE_TRUE) &&
        !check_unique(c, node))
        return false;
    return check_contains(c, sub, node, seen);
}

static bool check_required(struct checker *c, uint32_t list, uint32_t node, enum word word) {
    TAPE_FOR_ELEM(c->st, list, i) {
        if (!spend(c, 1 + tape_node(c->t, node)->count / 4) ||
            !tape_get(c->t, node, tape_text(c->st, i, c->a)))
            return bad(c, word, node);
    }
    return true;
}

static void note_unlisted(struct policy_unlisted *u, uint32_t node) {
    if (u->count < POLICY_UNLISTED_MAX)
        u->nodes[u->count++] = node;
    else
        u->has_more = true;
}

/* One member against properties, patternProperties and additionalProperties. */
static bool check_member(struct checker *c, const struct sub *sub, uint32_t key, bool *ret_known) {
    struct seen inner = {0};
    *ret_known = false;
    if (sub->at[W_PROPERTIES]) {
        struct slice name = tape_text(c->t, key, c->a);
        uint32_t schema = tape_get(c->st, sub->at[W_PROPERTIES], name);
        if (!spend(c, tape_node(c->st, sub->at[W_PROPERTIES])->count / 4))
            return false;
        if (!schema && c->unlisted && clash_alike(c->st, sub->at[W_PROPERTIES], name)) {
            c->clash = true;
            return bad(c, W_PROPERTIES, key + 1);
        }
        if (schema) {
            *ret_known = true;
            if (!check_node(c, schema, key + 1, &inner))
                return false;
        }
    }
    if (sub->at[W_PATTERN_PROPERTIES]) {
        TAPE_FOR_MEMBER(c->st, sub->at[W_PATTERN_PROPERTIES], pattern) {
            if (!regex_match(c, pattern, key))
                continue;
            *ret_known = true;
            if (!check_node(c, pattern + 1, key + 1, &inner))
                return false;
        }
    }
    if (!*ret_known && c->unlisted && !c->doubtful && policy_schema_is_closed(c->s, sub))
        note_unlisted(c->unlisted, key + 1);
    if (*ret_known || !sub->at[W_ADDITIONAL_PROPERTIES])
        return true;
    *ret_known = true;
    if (tape_is(c->st, sub->at[W_ADDITIONAL_PROPERTIES], TAPE_FALSE))
        return bad(c, W_ADDITIONAL_PROPERTIES, key + 1);
    return check_node(c, sub->at[W_ADDITIONAL_PROPERTIES], key + 1, &inner);
}

static bool check_dependents(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen);

static bool check_depending(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    c->doubtful++;
    const bool good = check_dependents(c, sub, node, seen);
    c->doubtful--;
    return good;
}

static bool check_object(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    double count = tape_node(c->t, node)->count;
    if (count > limit_of(c, sub, W_MAX_PROPERTIES, HUGE_VAL))
        return bad(c, W_MAX_PROPERTIES, node);
    if (count < limit_of(c, sub, W_MIN_PROPERTIES, 0))
        return bad(c, W_MIN_PROPERTIES, node);
    if (sub->at[W_REQUIRED] && !check_required(c, sub->at[W_REQUIRED], node, W_REQUIRED))
        return false;
    uint32_t position = 0;
    TAPE_FOR_MEMBER(c->t, node, key) {
        bool known;
        struct seen inner = {0};
        if (!spend(c, 1) || !check_member(c, sub, key, &known))
            return false;
        if (known)
            mark(seen, position);
        if (sub->at[W_PROPERTY_NAMES] && !check_node(c, sub->at[W_PROPERTY_NAMES], key, &inner))
            return bad(c, W_PROPERTY_NAMES, node);
        position++;
    }
    return check_depending(c, sub, node, seen);
}

/* ---- schemas applied to the same place ---- */

static struct seen seen_new(struct checker *c, const struct seen *like) {
    struct seen s = {.count = like->count};
    if (like->marks)
        s.marks = arena_array(c->a, bool, like->count + 1);
    return s;
}

static void seen_merge(struct seen *into, const struct seen *from) {
    for (uint32_t i = 0; into->marks && from->marks && i < into->count; i++)
        into->marks[i] |= from->marks[i];
}

/* Members that a matching schema has evaluated count; those of a failing one do not. */
static bool apply(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen) {
    struct seen inner = seen_new(c, seen);
    const struct policy_unlisted before = c->unlisted ? *c->unlisted : (struct policy_unlisted){0};
    if (!check_node(c, schema, node, &inner)) {
        if (c->unlisted)
            *c->unlisted = before;
        return false;
    }
    seen_merge(seen, &inner);
    return true;
}

/* Does more than one of the alternatives list properties? */
static bool is_doubtful(struct checker *c, uint32_t list) {
    uint32_t with = 0;
    TAPE_FOR_ELEM(c->st, list, i) {
        const struct sub *one = c->s->subs[i];
        with += one && (one->at[W_PROPERTIES] || (one->ref && one->ref->at[W_PROPERTIES]) ||
                        one->at[W_ANY_OF] || one->at[W_ONE_OF] || one->at[W_ALL_OF]);
    }
    return with > 1;
}

static bool check_dependents(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->at[W_DEPENDENT_REQUIRED]) {
        TAPE_FOR_MEMBER(c->st, sub->at[W_DEPENDENT_REQUIRED], key) {
            if (tape_get(c->t, node, tape_text(c->st, key, c->a)) && tape_is(c->st, key + 1, TAPE_ARRAY) &&
                !check_required(c, key + 1, node, W_DEPENDENT_REQUIRED))
                return false;
        }
    }
    if (sub->at[W_DEPENDENT_SCHEMAS]) {
        TAPE_FOR_MEMBER(c->st, sub->at[W_DEPENDENT_SCHEMAS], key) {
            if (tape_get(c->t, node, tape_text(c->st, key, c->a)) && !apply(c, key + 1, node, seen))
                return false;
        }
    }
    if (!sub->at[W_DEPENDENCIES])
        return true;
    TAPE_FOR_MEMBER(c->st, sub->at[W_DEPENDENCIES], key) {
        if (!tape_get(c->t, node, tape_text(c->st, key, c->a)))
            continue;
        if (tape_is(c->st, key + 1, TAPE_ARRAY) ? !check_required(c, key + 1, node, W_DEPENDENCIES)
                                                : !apply(c, key + 1, node, seen))
            return false;
    }
    return true;
}

static bool check_all_of(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (!sub->at[W_ALL_OF])
        return true;
    const bool is_alone = tape_node(c->st, sub->at[W_ALL_OF])->count == 1 && !sub->at[W_PROPERTIES];
    bool good = true;
    c->doubtful += !is_alone;
    TAPE_FOR_ELEM(c->st, sub->at[W_ALL_OF], i) {
        if (!(good = apply(c, i, node, seen)))
            break;
    }
    c->doubtful -= !is_alone;
    return good;
}

/* One of several alternatives. */
static bool check_alternatives(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->at[W_ANY_OF]) {
        bool any = false;
        TAPE_FOR_ELEM(c->st, sub->at[W_ANY_OF], i) {
            any |= apply(c, i, node, seen);
            if (any && !seen->marks)
                break;
        }
        if (!any)
            return bad(c, W_ANY_OF, node);
    }
    if (sub->at[W_ONE_OF]) {
        unsigned hits = 0;
        TAPE_FOR_ELEM(c->st, sub->at[W_ONE_OF], i) hits += apply(c, i, node, seen);
        if (hits != 1)
            return bad(c, W_ONE_OF, node);
    }
    return true;
}

static bool check_combined(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    const uint32_t list = sub->at[W_ANY_OF] ? sub->at[W_ANY_OF] : sub->at[W_ONE_OF];
    if (!list)
        return check_all_of(c, sub, node, seen);
    const bool in_doubt = c->unlisted && (sub->at[W_PROPERTIES] || sub->at[W_ALL_OF] || is_doubtful(c, list));
    c->doubtful += in_doubt;
    const bool good = check_all_of(c, sub, node, seen) && check_alternatives(c, sub, node, seen);
    c->doubtful -= in_doubt;
    return good;
}

static bool check_branches(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    struct seen inner = {0};
    if (sub->at[W_NOT] && check_node(c, sub->at[W_NOT], node, &inner))
        return bad(c, W_NOT, node);
    if (!sub->at[W_IF])
        return true;
    bool holds = apply(c, sub->at[W_IF], node, seen);
    uint32_t branch = sub->at[holds ? W_THEN : W_ELSE];
    return !branch || apply(c, branch, node, seen);
}

static bool check_conditional(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    c->doubtful++;
    const bool good = check_branches(c, sub, node, seen);
    c->doubtful--;
    return good;
}

static bool check_ref(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->ref_is_false)
        return bad(c, W_REF, node);
    if (!sub->ref)
        return true;
    struct seen inner = seen_new(c, seen);
    const bool in_doubt = sub->at[W_PROPERTIES] != 0;
    c->doubtful += in_doubt;
    const bool good = check_sub(c, sub->ref, node, &inner);
    c->doubtful -= in_doubt;
    if (good)
        seen_merge(seen, &inner);
    return good;
}

static bool check_unevaluated(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    bool is_object = tape_is(c->t, node, TAPE_OBJECT);
    enum word word = is_object ? W_UNEVALUATED_PROPERTIES : W_UNEVALUATED_ITEMS;
    if (!sub->at[word] || (!is_object && !tape_is(c->t, node, TAPE_ARRAY)))
        return true;
    uint32_t position = 0;
    for (uint32_t i = node + 1; i < tape_node(c->t, node)->next; position++) {
        uint32_t value = is_object ? i + 1 : i;
        struct seen inner = {0};
        if (seen->marks && !seen->marks[position] && !check_node(c, sub->at[word], value, &inner))
            return bad(c, word, value);
        mark(seen, position);
        i = tape_node(c->t, value)->next;
    }
    return true;
}

static bool check_by_type(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    switch (tape_type(c->t, node)) {
    case TAPE_NUMBER:
        return check_number(c, sub, node);
    case TAPE_STRING:
        return check_string(c, sub, node);
    case TAPE_ARRAY:
        return check_array(c, sub, node, seen);
    case TAPE_OBJECT:
        return check_object(c, sub, node, seen);
    default:
        return true;
    }
}

/* Recursive, with its depth and its work bounded above: schemas nest in schemas, and a $ref may lead
 * anywhere. */
static bool check_sub(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (!spend(c, 1) || c->depth == POLICY_SCHEMA_DEPTH_MAX) {
        c->fault = true;
        return false;
    }
    if (c->s->tracks && !seen->marks &&
        (tape_is(c->t, node, TAPE_ARRAY) || tape_is(c->t, node, TAPE_OBJECT))) {
        seen->count = tape_node(c->t, node)->count;
        if (!spend(c, seen->count))
            return false;
        seen->marks = arena_array(c->a, bool, seen->count + 1);
    }
    c->depth++;
    bool good = check_ref(c, sub, node, seen) && check_type(c, sub, node) && check_values(c, sub, node) &&
                check_by_type(c, sub, node, seen) && check_combined(c, sub, node, seen) &&
                check_conditional(c, sub, node, seen) && check_unevaluated(c, sub, node, seen);
    c->depth--;
    return good && !c->fault && !c->clash;
}

static bool check_node(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen) {
    const struct sub *sub = c->s->subs[schema];
    if (sub)
        return check_sub(c, sub, node, seen);
    if (tape_is(c->st, schema, TAPE_TRUE))
        return !c->fault && !c->clash;
    c->keyword = "false";
    c->node = node;
    return false;
}

/* The pointer to a node: walk down from the root, choosing at each level the child that holds it. */
static struct slice pointer_to(const struct tape *t, uint32_t root, uint32_t node, struct arena *a) {
    struct slice pointer = {0};
    while (root != node && root < node) {
        uint32_t found = 0;
        if (tape_is(t, root, TAPE_OBJECT)) {
            TAPE_FOR_MEMBER(t, root, key) {
                if (node < key || node >= tape_node(t, key + 1)->next)
                    continue;
                pointer = arena_printf(a, "%.*s/%.*s", SLICE_FMT(pointer), SLICE_FMT(tape_text(t, key, a)));
                found = key + 1;
                break;
            }
        } else if (tape_is(t, root, TAPE_ARRAY)) {
            unsigned index = 0;
            TAPE_FOR_ELEM(t, root, i) {
                if (node < tape_node(t, i)->next) {
                    pointer = arena_printf(a, "%.*s/%u", SLICE_FMT(pointer), index);
                    found = i;
                    break;
                }
                index++;
            }
        }
        if (!found || found > node)
            break;
        root = found;
    }
    return pointer;
}

enum policy_schema_answer policy_schema_judge(const struct policy_schema *s, const struct tape *t,
                                              uint32_t node, struct policy_budget *budget,
                                              struct policy_unlisted *ret_unlisted,
                                              struct policy_schema_failure *ret_failure) {
    struct checker c = {
        .s = s, .st = &s->tape, .t = t, .a = budget->arena, .budget = budget, .unlisted = ret_unlisted};
    struct seen seen = {0};
    bool good = check_node(&c, 0, node, &seen);
    if (c.fault)
        return POLICY_SCHEMA_FAULT;
    if (good && !c.clash)
        return POLICY_SCHEMA_VALID;
    if (ret_failure)
        *ret_failure = (struct policy_schema_failure){
            .pointer = pointer_to(t, node, c.node, budget->arena), .keyword = c.keyword, .node = c.node};
    return c.clash ? POLICY_SCHEMA_CLASH : POLICY_SCHEMA_INVALID;
}

enum policy_schema_answer policy_schema_check(const struct policy_schema *s, const struct tape *t,
                                              uint32_t node, struct arena *a,
                                              struct policy_schema_failure *ret_failure) {
    struct policy_budget budget;
    policy_budget_init(&budget, a);
    return policy_schema_judge(s, t, node, &budget, NULL, ret_failure);
}
