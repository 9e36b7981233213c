#include "policy/schema.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/mem.h"
#include "policy/limits.h"

#include <math.h>
#include <stdlib.h>

/* One row per keyword that holds a value we look up by name; the order is that of struct sub.at. */
enum word {
    W_TYPE, W_ENUM, W_CONST, W_MULTIPLE_OF, W_MAXIMUM, W_EXCLUSIVE_MAXIMUM, W_MINIMUM, W_EXCLUSIVE_MINIMUM,
    W_MAX_LENGTH, W_MIN_LENGTH, W_PATTERN, W_MAX_ITEMS, W_MIN_ITEMS, W_UNIQUE_ITEMS, W_MAX_CONTAINS,
    W_MIN_CONTAINS, W_MAX_PROPERTIES, W_MIN_PROPERTIES, W_REQUIRED, W_DEPENDENT_REQUIRED,
    /* one schema */
    W_CONTAINS, W_ITEMS, W_ADDITIONAL_ITEMS, W_ADDITIONAL_PROPERTIES, W_PROPERTY_NAMES, W_NOT, W_IF, W_THEN,
    W_ELSE, W_UNEVALUATED_ITEMS, W_UNEVALUATED_PROPERTIES,
    /* a list of schemas */
    W_PREFIX_ITEMS, W_ALL_OF, W_ANY_OF, W_ONE_OF,
    /* a map of schemas */
    W_PROPERTIES, W_PATTERN_PROPERTIES, W_DEPENDENT_SCHEMAS, W_DEFS, W_DEFINITIONS,
    W_REF, W_DYNAMIC_REF, W_ANCHOR, W_DYNAMIC_ANCHOR, W_ID,
    W_COUNT,
};

static const char *const word_names[W_COUNT] = {
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains",
    "minContains", "maxProperties", "minProperties", "required", "dependentRequired",
    "contains", "items", "additionalItems", "additionalProperties", "propertyNames", "not", "if", "then",
    "else", "unevaluatedItems", "unevaluatedProperties",
    "prefixItems", "allOf", "anyOf", "oneOf",
    "properties", "patternProperties", "dependentSchemas", "$defs", "definitions",
    "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$id",
};

struct sub { /* one schema object; booleans have none */
    uint32_t at[W_COUNT]; /* tape nodes of the keywords, 0 when absent */
    const struct sub *ref;
    bool ref_is_true, ref_is_false;
};

struct policy_schema {
    char *text;
    struct tape tape;
    struct sub **subs;    /* by tape node */
    pcre2_code **regexes; /* by tape node: values of `pattern`, keys of patternProperties */
    pcre2_match_context *match;
    bool tracks; /* some unevaluated… keyword: evaluated members have to be remembered */
    size_t sub_count;
};

/* ---- compiling ---- */

void policy_schema_free(struct policy_schema *s) {
    if (!s)
        return;
    for (uint32_t i = 0; s->subs && i < s->tape.count; i++)
        free(s->subs[i]);
    for (uint32_t i = 0; s->regexes && i < s->tape.count; i++)
        pcre2_code_free(s->regexes[i]);
    free(s->subs);
    free(s->regexes);
    pcre2_match_context_free(s->match);
    tape_free(&s->tape);
    free(s->text);
    free(s);
}

static void schema_cleanup(struct policy_schema **s) { policy_schema_free(*s); }

struct compiler {
    struct policy_schema *s;
    uint32_t *queue; /* schema nodes still to read */
    size_t count, cap;
    struct arena arena;
    struct err *err;
};

static int push(struct compiler *c, uint32_t node) {
    const struct tape *t = &c->s->tape;
    if (tape_is(t, node, TAPE_TRUE) || tape_is(t, node, TAPE_FALSE) || c->s->subs[node])
        return 0;
    if (!tape_is(t, node, TAPE_OBJECT))
        return err_set(c->err, "a schema must be an object or a boolean");
    if (c->s->sub_count == POLICY_SCHEMA_NODES_MAX)
        return err_set(c->err, "more than %d subschemas", POLICY_SCHEMA_NODES_MAX);
    if (c->count == c->cap) {
        c->cap = c->cap ? c->cap * 2 : 64;
        c->queue = mem_realloc(c->queue, c->cap * sizeof(*c->queue));
    }
    c->s->subs[node] = mem_zalloc(sizeof(struct sub));
    c->s->sub_count++;
    c->queue[c->count++] = node;
    return 0;
}

static int compile_regex(struct compiler *c, uint32_t node) {
    struct slice text = tape_text(&c->s->tape, node, &c->arena);
    int code;
    PCRE2_SIZE offset;
    if (text.len > POLICY_REGEX_MAX)
        return err_set(c->err, "a pattern is too long");
    pcre2_code *regex = pcre2_compile((PCRE2_SPTR)text.ptr, text.len,
                                      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF |
                                          PCRE2_NEVER_BACKSLASH_C,
                                      &code, &offset, NULL);
    if (!regex)
        return err_set(c->err, "pattern \"%.*s\" cannot be read", SLICE_FMT(text));
    pcre2_jit_compile(regex, PCRE2_JIT_COMPLETE);
    c->s->regexes[node] = regex;
    return 0;
}

static bool shape_is(const struct tape *t, uint32_t node, enum word word) {
    switch (word) {
    case W_TYPE:
        return tape_is(t, node, TAPE_STRING) || tape_is(t, node, TAPE_ARRAY);
    case W_ENUM: case W_REQUIRED: case W_PREFIX_ITEMS: case W_ALL_OF: case W_ANY_OF: case W_ONE_OF:
        return tape_is(t, node, TAPE_ARRAY);
    case W_MULTIPLE_OF: case W_MAXIMUM: case W_EXCLUSIVE_MAXIMUM: case W_MINIMUM: case W_EXCLUSIVE_MINIMUM:
    case W_MAX_LENGTH: case W_MIN_LENGTH: case W_MAX_ITEMS: case W_MIN_ITEMS: case W_MAX_CONTAINS:
    case W_MIN_CONTAINS: case W_MAX_PROPERTIES: case W_MIN_PROPERTIES:
        return tape_is(t, node, TAPE_NUMBER);
    case W_PATTERN: case W_REF: case W_DYNAMIC_REF: case W_ANCHOR: case W_DYNAMIC_ANCHOR: case W_ID:
        return tape_is(t, node, TAPE_STRING);
    case W_UNIQUE_ITEMS:
        return tape_is(t, node, TAPE_TRUE) || tape_is(t, node, TAPE_FALSE);
    case W_PROPERTIES: case W_PATTERN_PROPERTIES: case W_DEPENDENT_SCHEMAS: case W_DEFS: case W_DEFINITIONS:
    case W_DEPENDENT_REQUIRED:
        return tape_is(t, node, TAPE_OBJECT);
    default:
        return true;
    }
}

static int compile_word(struct compiler *c, struct sub *sub, enum word word, uint32_t value) {
    const struct tape *t = &c->s->tape;
    if (!shape_is(t, value, word))
        return err_set(c->err, "\"%s\" has a value of the wrong type", word_names[word]);
    sub->at[word] = value;
    if (word == W_UNEVALUATED_ITEMS || word == W_UNEVALUATED_PROPERTIES)
        c->s->tracks = true;
    if (word == W_PATTERN)
        return compile_regex(c, value);
    if (word == W_ITEMS && tape_is(t, value, TAPE_ARRAY)) { /* the form of earlier drafts */
        sub->at[W_ITEMS] = 0;
        sub->at[W_PREFIX_ITEMS] = value;
        word = W_PREFIX_ITEMS;
    }
    if (word >= W_CONTAINS && word <= W_UNEVALUATED_PROPERTIES)
        return push(c, value);
    if (word >= W_PREFIX_ITEMS && word <= W_ONE_OF) {
        TAPE_FOR_ELEM(t, value, i) {
            if (push(c, i) < 0)
                return -1;
        }
    }
    if (word >= W_PROPERTIES && word <= W_DEFINITIONS) {
        TAPE_FOR_MEMBER(t, value, key) {
            if (word == W_PATTERN_PROPERTIES && compile_regex(c, key) < 0)
                return -1;
            if (push(c, key + 1) < 0)
                return -1;
        }
    }
    return 0;
}

static int compile_sub(struct compiler *c, uint32_t node) {
    const struct tape *t = &c->s->tape;
    struct sub *sub = c->s->subs[node];
    TAPE_FOR_MEMBER(t, node, key) {
        for (int w = 0; w < W_COUNT; w++) {
            if (!tape_eq(t, key, slice_str(word_names[w])))
                continue;
            if (compile_word(c, sub, (enum word)w, key + 1) < 0)
                return -1;
            break;
        }
    }
    if (sub->at[W_ADDITIONAL_ITEMS] && sub->at[W_PREFIX_ITEMS] && !sub->at[W_ITEMS])
        sub->at[W_ITEMS] = sub->at[W_ADDITIONAL_ITEMS];
    return 0;
}

/* One token of a JSON Pointer, percent and tilde decoded. */
static struct slice pointer_token(struct compiler *c, struct slice raw) {
    char *out = arena_alloc(&c->arena, raw.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char ch = raw.ptr[i];
        if (ch == '%' && i + 2 < raw.len) {
            char hex[3] = {raw.ptr[i + 1], raw.ptr[i + 2], '\0'}, *end;
            long byte = strtol(hex, &end, 16);
            if (end == hex + 2) {
                ch = (char)byte;
                i += 2;
            }
        }
        if (ch == '~' && i + 1 < raw.len && (raw.ptr[i + 1] == '0' || raw.ptr[i + 1] == '1'))
            ch = raw.ptr[++i] == '0' ? '~' : '/';
        out[len++] = ch;
    }
    return slice_of(out, len);
}

static uint32_t pointer_step(const struct tape *t, uint32_t node, struct slice token) {
    uint64_t index;
    if (tape_is(t, node, TAPE_OBJECT))
        return tape_get(t, node, token);
    if (!tape_is(t, node, TAPE_ARRAY) || !slice_to_u64(token, &index))
        return 0;
    TAPE_FOR_ELEM(t, node, i) {
        if (index-- == 0)
            return i;
    }
    return 0;
}

/* The node a reference names, or UINT32_MAX. Only "#", "#/…", "#anchor" and the document's own $id. */
static uint32_t find_target(struct compiler *c, struct slice ref) {
    const struct tape *t = &c->s->tape;
    struct slice base, fragment = ref;
    if (!slice_cut(&fragment, '#', &base))
        fragment = (struct slice){0};
    uint32_t id = c->s->subs[0] ? c->s->subs[0]->at[W_ID] : 0;
    if (base.len && !(id && tape_eq(t, id, base)))
        return UINT32_MAX;
    if (!fragment.len)
        return 0;
    if (fragment.ptr[0] != '/') {
        for (uint32_t i = 0; i < t->count; i++) {
            const struct sub *sub = c->s->subs[i];
            if (sub && ((sub->at[W_ANCHOR] && tape_eq(t, sub->at[W_ANCHOR], fragment)) ||
                        (sub->at[W_DYNAMIC_ANCHOR] && tape_eq(t, sub->at[W_DYNAMIC_ANCHOR], fragment))))
                return i;
        }
        return UINT32_MAX;
    }
    struct slice rest = slice_from(fragment, 1), token;
    uint32_t node = 0;
    for (bool more = true; more;) {
        more = slice_cut(&rest, '/', &token);
        node = pointer_step(t, node, pointer_token(c, token));
        if (!node)
            return UINT32_MAX;
    }
    return node;
}

static int link_ref(struct compiler *c, struct sub *sub) {
    const struct tape *t = &c->s->tape;
    uint32_t word = sub->at[W_REF] ? sub->at[W_REF] : sub->at[W_DYNAMIC_REF];
    if (!word)
        return 0;
    if (sub->at[W_REF] && sub->at[W_DYNAMIC_REF])
        return err_set(c->err, "$ref and $dynamicRef in one schema are not supported");
    struct slice ref = tape_text(t, word, &c->arena);
    uint32_t target = find_target(c, ref);
    if (target == UINT32_MAX)
        return err_set(c->err, "$ref \"%.*s\" does not lead to a place in this document", SLICE_FMT(ref));
    sub->ref_is_true = tape_is(t, target, TAPE_TRUE);
    sub->ref_is_false = tape_is(t, target, TAPE_FALSE);
    if (sub->ref_is_true || sub->ref_is_false)
        return 0;
    if (push(c, target) < 0)
        return -1;
    sub->ref = c->s->subs[target];
    return 0;
}

/* References may lead into places that no keyword made a schema of, so both steps go on until nothing is new. */
static int compile_all(struct compiler *c) {
    size_t linked = 0;
    if (push(c, 0) < 0)
        return -1;
    for (size_t read = 0; read < c->count || linked < c->count;) {
        for (; read < c->count; read++)
            if (compile_sub(c, c->queue[read]) < 0)
                return -1;
        for (; linked < read; linked++)
            if (link_ref(c, c->s->subs[c->queue[linked]]) < 0)
                return -1;
    }
    return 0;
}

int policy_schema_compile(struct slice json, struct policy_schema **ret_schema, struct err *err) {
    __attribute__((cleanup(schema_cleanup))) struct policy_schema *s = mem_zalloc(sizeof(*s));
    if (json.len > POLICY_BYTES_MAX)
        return err_set(err, "larger than %u bytes", POLICY_BYTES_MAX);
    s->text = mem_dup(json.ptr, json.len);
    tape_init(&s->tape);
    enum tape_fault fault = tape_parse(&s->tape, slice_of(s->text, json.len), NULL);
    if (fault != TAPE_OK)
        return err_set(err, "%s", tape_fault_text(fault));
    s->subs = mem_zalloc(s->tape.count * sizeof(struct sub *));
    s->regexes = mem_zalloc(s->tape.count * sizeof(pcre2_code *));
    s->match = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(s->match, POLICY_REGEX_MATCH_LIMIT);
    pcre2_set_depth_limit(s->match, POLICY_REGEX_DEPTH_LIMIT);
    pcre2_set_heap_limit(s->match, POLICY_REGEX_HEAP_KIB);
    struct compiler c = {.s = s, .err = err};
    arena_init(&c.arena);
    int rc = compile_all(&c);
    free(c.queue);
    arena_free(&c.arena);
    if (rc < 0)
        return -1;
    *ret_schema = steal(s);
    return 0;
}

struct slice policy_schema_required(const struct policy_schema *s, size_t i) {
    uint32_t list = s->subs[0] ? s->subs[0]->at[W_REQUIRED] : 0;
    if (!list)
        return (struct slice){0};
    TAPE_FOR_ELEM(&s->tape, list, e) {
        if (i-- == 0) {
            /* Escaped names are rare enough to be left to the full check. */
            const struct tape_node *n = tape_node(&s->tape, e);
            return n->type == TAPE_STRING ? slice_of(s->text + n->start, n->len) : (struct slice){0};
        }
    }
    return (struct slice){0};
}

/* ---- checking ---- */

struct checker {
    const struct policy_schema *s;
    const struct tape *st; /* the schema's tape */
    const struct tape *t;  /* the instance's */
    struct arena *a;
    pcre2_match_data *match;
    uint32_t steps;
    uint32_t depth;
    bool fault;
    const char *keyword; /* what failed last, and where */
    uint32_t node;
};

/* Which members or elements of one instance node some schema has looked at. */
struct seen {
    bool *marks; /* by position; NULL: not tracked */
    uint32_t count;
};

static bool check_node(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen);
static bool check_sub(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen);

static bool bad(struct checker *c, enum word word, uint32_t node) {
    c->keyword = word_names[word];
    c->node = node;
    return false;
}

static bool spend(struct checker *c, uint32_t steps) {
    c->steps += steps;
    if (c->steps > POLICY_SCHEMA_STEPS_MAX)
        c->fault = true;
    return !c->fault;
}

static bool regex_match(struct checker *c, uint32_t pattern, uint32_t text_node) {
    struct slice text = tape_text(c->t, text_node, c->a);
    const pcre2_code *regex = c->s->regexes[pattern];
    if (!c->match)
        c->match = pcre2_match_data_create(1, NULL);
    int rc = pcre2_match(regex, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, 0, PCRE2_NO_UTF_CHECK, c->match,
                         c->s->match);
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
        c->fault = true;
    return rc >= 0;
}

struct two {
    uint32_t x, y;
};

/* Deep equality of a value here and a value there, numbers by value, objects whatever their order. */
static bool values_equal(struct checker *c, const struct tape *tx, uint32_t x, const struct tape *ty, uint32_t y) {
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
            double a, b;
            if (!tape_double(tx, pair.x, &a) || !tape_double(ty, pair.y, &b) || a != b)
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

static bool is_integer(const struct tape *t, uint32_t node) {
    double number;
    return tape_double(t, node, &number) && number == trunc(number);
}

static bool type_is(struct checker *c, uint32_t name, uint32_t node) {
    static const char *const names[] = {
        [TAPE_NULL] = "null",     [TAPE_FALSE] = "boolean", [TAPE_TRUE] = "boolean",  [TAPE_NUMBER] = "number",
        [TAPE_STRING] = "string", [TAPE_ARRAY] = "array",   [TAPE_OBJECT] = "object",
    };
    enum tape_type type = tape_type(c->t, node);
    if (tape_eq(c->st, name, slice_str(names[type])))
        return true;
    return type == TAPE_NUMBER && tape_eq(c->st, name, SLICE("integer")) && is_integer(c->t, node);
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

static bool check_number(struct checker *c, const struct sub *sub, uint32_t node) {
    double number;
    if (!tape_double(c->t, node, &number)) {
        c->fault = true; /* beyond a double: nothing can be said about it */
        return false;
    }
    if (number > limit_of(c, sub, W_MAXIMUM, HUGE_VAL))
        return bad(c, W_MAXIMUM, node);
    if (number < limit_of(c, sub, W_MINIMUM, -HUGE_VAL))
        return bad(c, W_MINIMUM, node);
    if (sub->at[W_EXCLUSIVE_MAXIMUM] && number >= limit_of(c, sub, W_EXCLUSIVE_MAXIMUM, 0))
        return bad(c, W_EXCLUSIVE_MAXIMUM, node);
    if (sub->at[W_EXCLUSIVE_MINIMUM] && number <= limit_of(c, sub, W_EXCLUSIVE_MINIMUM, 0))
        return bad(c, W_EXCLUSIVE_MINIMUM, node);
    double factor = limit_of(c, sub, W_MULTIPLE_OF, 0);
    if (factor > 0) {
        double times = number / factor;
        if (times != trunc(times))
            return bad(c, W_MULTIPLE_OF, node);
    }
    return true;
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
        for (uint32_t j = tape_node(c->t, i)->next; j < tape_node(c->t, node)->next; j = tape_node(c->t, j)->next)
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
    TAPE_FOR_ELEM(c->t, node, i) {
        struct seen inner = {0};
        if (check_node(c, sub->at[W_CONTAINS], i, &inner)) {
            hits++;
            mark(seen, position);
        }
        position++;
    }
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
    if (sub->at[W_UNIQUE_ITEMS] && tape_is(c->st, sub->at[W_UNIQUE_ITEMS], TAPE_TRUE) && !check_unique(c, node))
        return false;
    return check_contains(c, sub, node, seen);
}

static bool check_required(struct checker *c, uint32_t list, uint32_t node, enum word word) {
    TAPE_FOR_ELEM(c->st, list, i) {
        if (!spend(c, 1) || !tape_get(c->t, node, tape_text(c->st, i, c->a)))
            return bad(c, word, node);
    }
    return true;
}

/* One member against properties, patternProperties and additionalProperties. */
static bool check_member(struct checker *c, const struct sub *sub, uint32_t key, bool *ret_known) {
    struct seen inner = {0};
    *ret_known = false;
    if (sub->at[W_PROPERTIES]) {
        uint32_t schema = tape_get(c->st, sub->at[W_PROPERTIES], tape_text(c->t, key, c->a));
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
    if (*ret_known || !sub->at[W_ADDITIONAL_PROPERTIES])
        return true;
    *ret_known = true;
    if (tape_is(c->st, sub->at[W_ADDITIONAL_PROPERTIES], TAPE_FALSE))
        return bad(c, W_ADDITIONAL_PROPERTIES, key + 1);
    return check_node(c, sub->at[W_ADDITIONAL_PROPERTIES], key + 1, &inner);
}

static bool check_dependents(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen);

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
    return check_dependents(c, sub, node, seen);
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

/* What a schema that holds has looked at counts; what a failing one has does not. */
static bool apply(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen) {
    struct seen inner = seen_new(c, seen);
    if (!check_node(c, schema, node, &inner))
        return false;
    seen_merge(seen, &inner);
    return true;
}

static bool check_dependents(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->at[W_DEPENDENT_REQUIRED]) {
        TAPE_FOR_MEMBER(c->st, sub->at[W_DEPENDENT_REQUIRED], key) {
            if (tape_get(c->t, node, tape_text(c->st, key, c->a)) && tape_is(c->st, key + 1, TAPE_ARRAY) &&
                !check_required(c, key + 1, node, W_DEPENDENT_REQUIRED))
                return false;
        }
    }
    if (!sub->at[W_DEPENDENT_SCHEMAS])
        return true;
    TAPE_FOR_MEMBER(c->st, sub->at[W_DEPENDENT_SCHEMAS], key) {
        if (tape_get(c->t, node, tape_text(c->st, key, c->a)) && !apply(c, key + 1, node, seen))
            return false;
    }
    return true;
}

static bool check_combined(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->at[W_ALL_OF]) {
        TAPE_FOR_ELEM(c->st, sub->at[W_ALL_OF], i) {
            if (!apply(c, i, node, seen))
                return false;
        }
    }
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

static bool check_conditional(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    struct seen inner = {0};
    if (sub->at[W_NOT] && check_node(c, sub->at[W_NOT], node, &inner))
        return bad(c, W_NOT, node);
    if (!sub->at[W_IF])
        return true;
    bool holds = apply(c, sub->at[W_IF], node, seen);
    uint32_t branch = sub->at[holds ? W_THEN : W_ELSE];
    return !branch || apply(c, branch, node, seen);
}

static bool check_ref(struct checker *c, const struct sub *sub, uint32_t node, struct seen *seen) {
    if (sub->ref_is_false)
        return bad(c, W_REF, node);
    if (!sub->ref)
        return true;
    struct seen inner = seen_new(c, seen);
    if (!check_sub(c, sub->ref, node, &inner))
        return false;
    seen_merge(seen, &inner);
    return true;
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

/* Recursive, with its depth and its work bounded above: schemas nest in schemas, and a $ref may lead anywhere. */
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
    return good && !c->fault;
}

static bool check_node(struct checker *c, uint32_t schema, uint32_t node, struct seen *seen) {
    const struct sub *sub = c->s->subs[schema];
    if (sub)
        return check_sub(c, sub, node, seen);
    if (tape_is(c->st, schema, TAPE_TRUE))
        return !c->fault;
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

enum policy_schema_answer policy_schema_check(const struct policy_schema *s, const struct tape *t, uint32_t node,
                                              struct arena *a, struct policy_schema_failure *ret_failure) {
    struct checker c = {.s = s, .st = &s->tape, .t = t, .a = a};
    struct seen seen = {0};
    bool good = check_node(&c, 0, node, &seen);
    pcre2_match_data_free(c.match);
    if (c.fault)
        return POLICY_SCHEMA_FAULT;
    if (good)
        return POLICY_SCHEMA_VALID;
    if (ret_failure)
        *ret_failure = (struct policy_schema_failure){pointer_to(t, node, c.node, a), c.keyword};
    return POLICY_SCHEMA_INVALID;
}
