/* Reading a schema: keywords are found once, references resolved, patterns compiled. */
#include "policy/schema.h"

#include "base/mem.h"
#include "policy/schema_program.h"

#include <stdlib.h>

const char *const policy_schema_words[W_COUNT] = {
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "dependencies",
    "default",
    "format",
    "contains",
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "prefixItems",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
    "$ref",
    "$dynamicRef",
    "$anchor",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
};

/* ---- compiling ---- */

void policy_schema_free(struct policy_schema *s) {
    if (!s)
        return;
    for (uint32_t i = 0; s->subs && i < s->tape.count; i++)
        free(s->subs[i]);
    for (uint32_t i = 0; s->regexes && i < s->tape.count; i++)
        policy_regex_free(s->regexes[i]);
    free(s->subs);
    free(s->regexes);
    tape_free(&s->tape);
    free(s->text);
    free(s);
}

static void schema_cleanup(struct policy_schema **s) { policy_schema_free(*s); }

struct compiler {
    struct policy_schema *s;
    bool ref_alone;  /* draft 7 and earlier: keywords beside a $ref are ignored */
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
    const char *why;
    c->s->regexes[node] = policy_regex_compile(text, POLICY_REGEX_SCHEMA, &c->arena, &why);
    if (!c->s->regexes[node])
        return err_set(c->err, "pattern \"%.*s\" cannot be read: %s", SLICE_FMT(text), why);
    return 0;
}

static bool shape_is(const struct tape *t, uint32_t node, enum word word) {
    switch (word) {
    case W_TYPE:
        return tape_is(t, node, TAPE_STRING) || tape_is(t, node, TAPE_ARRAY);
    case W_ENUM:
    case W_REQUIRED:
    case W_PREFIX_ITEMS:
    case W_ALL_OF:
    case W_ANY_OF:
    case W_ONE_OF:
        return tape_is(t, node, TAPE_ARRAY);
    case W_MULTIPLE_OF:
    case W_MAXIMUM:
    case W_EXCLUSIVE_MAXIMUM:
    case W_MINIMUM:
    case W_EXCLUSIVE_MINIMUM:
    case W_MAX_LENGTH:
    case W_MIN_LENGTH:
    case W_MAX_ITEMS:
    case W_MIN_ITEMS:
    case W_MAX_CONTAINS:
    case W_MIN_CONTAINS:
    case W_MAX_PROPERTIES:
    case W_MIN_PROPERTIES:
        return tape_is(t, node, TAPE_NUMBER);
    case W_PATTERN:
    case W_REF:
    case W_DYNAMIC_REF:
    case W_ANCHOR:
    case W_DYNAMIC_ANCHOR:
    case W_ID:
    case W_SCHEMA:
        return tape_is(t, node, TAPE_STRING);
    case W_UNIQUE_ITEMS:
        return tape_is(t, node, TAPE_TRUE) || tape_is(t, node, TAPE_FALSE);
    case W_PROPERTIES:
    case W_PATTERN_PROPERTIES:
    case W_DEPENDENT_SCHEMAS:
    case W_DEFS:
    case W_DEFINITIONS:
    case W_DEPENDENT_REQUIRED:
    case W_DEPENDENCIES:
        return tape_is(t, node, TAPE_OBJECT);
    default:
        return true;
    }
}

/* Does the schema declare a dialect whose keywords have the same meaning as here? */
static bool read_dialect(struct compiler *c, uint32_t value) {
    static const char *const known[] = {"json-schema.org/draft/2020-12/schema",
                                        "json-schema.org/draft/2019-09/schema",
                                        "json-schema.org/schema",
                                        "json-schema.org/draft-07/schema",
                                        "json-schema.org/draft-06/schema",
                                        "json-schema.org/draft-04/schema"};
    struct slice name = tape_text(&c->s->tape, value, &c->arena);
    if (slice_starts(name, SLICE("http://")))
        name = slice_from(name, strlen("http://"));
    else if (slice_starts(name, SLICE("https://")))
        name = slice_from(name, strlen("https://"));
    if (slice_ends(name, SLICE("#")))
        name.len--;
    c->ref_alone = slice_starts(name, SLICE("json-schema.org/draft-0"));
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (slice_is(name, known[i]))
            return true;
    return false;
}

/* Keywords that would change the result if they were ignored. */
static int refuse_unknown(struct compiler *c, const struct sub *sub, enum word word, uint32_t value) {
    if (word >= W_RECURSIVE_REF)
        return err_set(c->err, "\"%s\" is not supported", policy_schema_words[word]);
    if (word == W_ID && sub != c->s->subs[0])
        return err_set(c->err, "\"$id\" inside a schema is not supported");
    if (word == W_SCHEMA && !read_dialect(c, value))
        return err_set(c->err, "the dialect that \"$schema\" names is not supported");
    return 0;
}

static int compile_dependencies(struct compiler *c, uint32_t value) {
    TAPE_FOR_MEMBER(&c->s->tape, value, key) {
        if (!tape_is(&c->s->tape, key + 1, TAPE_ARRAY) && push(c, key + 1) < 0)
            return -1;
    }
    return 0;
}

static int compile_word(struct compiler *c, struct sub *sub, enum word word, uint32_t value) {
    const struct tape *t = &c->s->tape;
    if (!shape_is(t, value, word))
        return err_set(c->err, "\"%s\" has a value of the wrong type", policy_schema_words[word]);
    if (refuse_unknown(c, sub, word, value) < 0)
        return -1;
    sub->at[word] = value;
    if (word == W_DEPENDENCIES)
        return compile_dependencies(c, value);
    c->s->has_formats |= word == W_FORMAT;
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
            if (!tape_eq(t, key, slice_str(policy_schema_words[w])))
                continue;
            if (compile_word(c, sub, (enum word)w, key + 1) < 0)
                return -1;
            break;
        }
    }
    for (int w = 0; c->ref_alone && sub->at[W_REF] && w < W_COUNT; w++)
        if (w != W_REF && w != W_DEFS && w != W_DEFINITIONS)
            sub->at[w] = 0;
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

/* The node of a reference, or UINT32_MAX. Only "#", "#/…", "#anchor" and the document's own $id. */
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

/* References may point to places that no keyword marked as a schema, so both steps repeat until there is
 * nothing new. */
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
    s->regexes = mem_zalloc(s->tape.count * sizeof(struct policy_regex *));
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
            /* Names with escapes are rare; the full check handles them. */
            const struct tape_node *n = tape_node(&s->tape, e);
            return n->type == TAPE_STRING ? slice_of(s->text + n->start, n->len) : (struct slice){0};
        }
    }
    return (struct slice){0};
}

/* ---- the schema of a place ---- */

static bool is_type(const struct tape *t, uint32_t type, const char *const *types) {
    if (tape_is(t, type, TAPE_STRING))
        return tape_eq_any(t, type, types);
    TAPE_FOR_ELEM(t, type, i) {
        if (!tape_eq_any(t, i, types))
            return false;
    }
    return true;
}

/* Itself, what it refers to, or all alternatives. */
static bool is_only(const struct policy_schema *s, const struct sub *sub, const char *const *types) {
    if (!sub)
        return false;
    if (sub->ref && !sub->at[W_TYPE])
        sub = sub->ref;
    if (sub->at[W_TYPE])
        return is_type(&s->tape, sub->at[W_TYPE], types);
    if (!sub->at[W_ANY_OF])
        return false;
    TAPE_FOR_ELEM(&s->tape, sub->at[W_ANY_OF], i) {
        const struct sub *one = s->subs[i];
        if (!one || !one->at[W_TYPE] || !is_type(&s->tape, one->at[W_TYPE], types))
            return false;
    }
    return true;
}

static enum policy_format format_of(const struct policy_schema *s, const struct sub *sub) {
    const struct tape_node *n = tape_node(&s->tape, sub->at[W_FORMAT]);
    return n->type == TAPE_STRING ? policy_spelling_from(slice_of(s->text + n->start, n->len))
                                  : POLICY_FORMAT_NONE;
}

/* The schema of the place that the path leads to, or NULL. */
static const struct sub *sub_at(const struct policy_schema *s, const struct path *path) {
    const struct sub *sub = s->subs[0];
    for (uint32_t i = 0; sub && i < path->step_count; i++) {
        const struct step *step = &path->steps[i];
        const bool is_key = step->kind == STEP_KEY && !step->on_array;
        sub = policy_schema_with(s, sub, is_key ? W_PROPERTIES : W_ITEMS);
        uint32_t next = sub ? sub->at[is_key ? W_PROPERTIES : W_ITEMS] : 0;
        if (next && is_key)
            next = tape_get(&s->tape, next, step->key);
        sub = next ? s->subs[next] : NULL;
    }
    return sub;
}

/* A server takes a text for a text if one of several alternatives is any text. */
enum policy_format policy_schema_format(const struct policy_schema *s, const struct path *path) {
    const struct sub *sub = s->has_formats ? sub_at(s, path) : NULL;
    enum policy_format found = POLICY_FORMAT_NONE;
    if (sub && sub->ref && !sub->at[W_FORMAT])
        sub = sub->ref;
    if (!sub)
        return found;
    if (sub->at[W_FORMAT])
        return format_of(s, sub);
    const uint32_t list = sub->at[W_ANY_OF] ? sub->at[W_ANY_OF] : sub->at[W_ONE_OF];
    if (!list)
        return found;
    TAPE_FOR_ELEM(&s->tape, list, i) {
        const struct sub *one = s->subs[i];
        if (!one || !one->at[W_TYPE] || !tape_eq(&s->tape, one->at[W_TYPE], SLICE("string")))
            continue;
        if (!one->at[W_FORMAT])
            return POLICY_FORMAT_NONE;
        found = format_of(s, one);
    }
    return found;
}

bool policy_schema_is_text(const struct policy_schema *s, const struct path *path, bool or_null) {
    static const char *const text[] = {"string", NULL}, *const text_or_null[] = {"string", "null", NULL};
    return is_only(s, sub_at(s, path), or_null ? text_or_null : text);
}

bool policy_schema_is_scalar(const struct policy_schema *s, const struct path *path) {
    static const char *const types[] = {"string", "number", "integer", "boolean", "null", NULL};
    return is_only(s, sub_at(s, path), types);
}

bool policy_schema_is_closed(const struct policy_schema *s, const struct sub *sub) {
    static const enum word open[] = {W_ADDITIONAL_PROPERTIES,
                                     W_PATTERN_PROPERTIES,
                                     W_PROPERTY_NAMES,
                                     W_UNEVALUATED_PROPERTIES,
                                     W_ALL_OF,
                                     W_ANY_OF,
                                     W_ONE_OF,
                                     W_IF,
                                     W_DEPENDENT_SCHEMAS};
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        if (sub->at[open[i]])
            return false;
    return sub->at[W_PROPERTIES] && tape_node(&s->tape, sub->at[W_PROPERTIES])->count > 0;
}

static bool ends_in_elements(const struct path *path, uint32_t step) {
    for (; step < path->step_count; step++)
        if (path->steps[step].kind == STEP_KEY && !path->steps[step].on_array)
            return false;
    return true;
}

void policy_schema_unnamed(const struct policy_schema *s, const struct path *path, const struct tape *t,
                           uint32_t node, struct policy_unnamed *ret_unnamed) {
    const struct sub *sub = s->subs[0];
    *ret_unnamed = (struct policy_unnamed){0};
    for (uint32_t i = 0; sub && i < path->step_count; i++) {
        const struct step *step = &path->steps[i];
        if (step->kind != STEP_KEY || step->on_array || !tape_is(t, node, TAPE_OBJECT))
            return;
        if (sub->ref && !sub->at[W_PROPERTIES])
            sub = sub->ref;
        const uint32_t next = tape_get(t, node, step->key);
        if (!next) {
            if (policy_schema_is_closed(s, sub))
                *ret_unnamed = (struct policy_unnamed){.properties = sub->at[W_PROPERTIES],
                                                       .key = node + 1,
                                                       .end = tape_node(t, node)->next,
                                                       .is_last = ends_in_elements(path, i + 1)};
            return;
        }
        const uint32_t inner =
            sub->at[W_PROPERTIES] ? tape_get(&s->tape, sub->at[W_PROPERTIES], step->key) : 0;
        sub = inner ? s->subs[inner] : NULL;
        node = next;
    }
}

uint32_t policy_schema_unnamed_next(const struct policy_schema *s, const struct tape *t,
                                    struct policy_unnamed *u, struct policy_budget *budget) {
    const uint32_t steps = 1 + (u->properties ? tape_node(&s->tape, u->properties)->count / 4 : 0);
    while (u->key < u->end) {
        const uint32_t key = u->key;
        u->key = tape_node(t, key + 1)->next;
        const struct tape_node *name = tape_node(t, key);
        const uint32_t decoding = name->flags & TAPE_ESCAPED ? name->len / 4 : 0;
        if (!policy_spend(budget, steps + decoding) ||
            !tape_get(&s->tape, u->properties, tape_text(t, key, budget->arena)))
            return key + 1;
    }
    return 0;
}

const struct sub *policy_schema_with(const struct policy_schema *s, const struct sub *sub, enum word word) {
    if (!sub || sub->at[word])
        return sub;
    if (sub->ref)
        return sub->ref;
    const struct sub *found = NULL;
    const uint32_t list = sub->at[W_ANY_OF] ? sub->at[W_ANY_OF] : sub->at[W_ONE_OF];
    if (!list)
        return sub;
    TAPE_FOR_ELEM(&s->tape, list, i) {
        const struct sub *one = s->subs[i];
        if (one && one->ref && !one->at[word])
            one = one->ref;
        if (!one || !one->at[word])
            continue;
        if (found)
            return NULL;
        found = one;
    }
    return found;
}

const struct tape *policy_schema_tape(const struct policy_schema *s) { return &s->tape; }

/* A null says no more than that the member may be missing. */
static uint32_t default_of(const struct policy_schema *s, const struct sub *sub) {
    uint32_t node = sub ? sub->at[W_DEFAULT] : 0;
    if (!node && sub && sub->ref)
        node = sub->ref->at[W_DEFAULT];
    return node && !tape_is(&s->tape, node, TAPE_NULL) ? node : 0;
}

uint32_t policy_schema_default_of_element(const struct policy_schema *s, const struct path *path) {
    return default_of(s, sub_at(s, path));
}

static const struct sub *listed(const struct policy_schema *s, const struct sub *sub, struct slice key) {
    if (sub && sub->ref && !sub->at[W_PROPERTIES])
        sub = sub->ref;
    const uint32_t node = sub && sub->at[W_PROPERTIES] ? tape_get(&s->tape, sub->at[W_PROPERTIES], key) : 0;
    return node ? s->subs[node] : NULL;
}

/* The schema of a member. Of several alternatives one that has a default for it. */
static const struct sub *member_of(const struct policy_schema *s, const struct sub *sub, struct slice key) {
    const struct sub *found = listed(s, policy_schema_with(s, sub, W_PROPERTIES), key);
    const uint32_t list = !sub || found ? 0 : sub->at[W_ANY_OF] ? sub->at[W_ANY_OF] : sub->at[W_ONE_OF];
    if (!list)
        return found;
    TAPE_FOR_ELEM(&s->tape, list, i) {
        const struct sub *one = listed(s, s->subs[i], key);
        if (one && (!found || default_of(s, one)))
            found = one;
    }
    return found;
}

uint32_t policy_schema_default(const struct policy_schema *s, const struct path *path, const struct tape *t,
                               uint32_t node, uint32_t *ret_step) {
    const struct sub *sub = s->subs[0];
    bool is_given = true;
    uint32_t i = 0;
    for (; i < path->step_count; i++) {
        const struct step *step = &path->steps[i];
        if (step->kind != STEP_KEY || step->on_array)
            break;
        if (node && !tape_is(t, node, TAPE_OBJECT))
            return 0;
        sub = member_of(s, sub, step->key);
        node = node ? tape_get(t, node, step->key) : 0;
        if (node)
            continue;
        node = default_of(s, sub);
        if (!node)
            return 0;
        t = &s->tape;
        is_given = false;
    }
    *ret_step = i;
    return is_given ? 0 : node;
}
