#include "discovery/typed.h"

#include "base/map.h"
#include "base/mem.h"
#include "discovery/limits.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- names ---- */

static bool is_keyword(struct slice word, enum typed_dialect dialect) {
    static const char *const typescript[] = {
        "await",      "break",     "case",     "catch",   "class",     "const",  "continue",   "debugger",
        "default",    "delete",    "do",       "else",    "enum",      "export", "extends",    "false",
        "finally",    "for",       "function", "if",      "import",    "in",     "instanceof", "new",
        "null",       "return",    "super",    "switch",  "this",      "throw",  "true",       "try",
        "typeof",     "var",       "void",     "while",   "with",      "yield",  "let",        "static",
        "implements", "interface", "package",  "private", "protected", "public", NULL};
    static const char *const python[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    NULL};
    for (const char *const *k = dialect == TYPED_PYTHON ? python : typescript; *k; k++)
        if (slice_is(word, *k))
            return true;
    return false;
}

static bool is_identifier(struct slice s, enum typed_dialect dialect) {
    if (!s.len || isdigit((unsigned char)s.ptr[0]) || is_keyword(s, dialect))
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.ptr[i]) && s.ptr[i] != '_')
            return false;
    return true;
}

struct slice typed_identifier(struct slice name, enum typed_dialect dialect, struct arena *a) {
    char *out = arena_alloc(a, name.len + 3);
    size_t n = 0;
    if (!name.len || isdigit((unsigned char)name.ptr[0]))
        out[n++] = '_';
    for (size_t i = 0; i < name.len; i++)
        out[n++] = isalnum((unsigned char)name.ptr[i]) ? name.ptr[i] : '_';
    if (is_keyword(slice_of(out, n), dialect))
        out[n++] = '_';
    out[n] = '\0';
    return slice_of(out, n);
}

void typed_names(const struct slice *names, size_t count, enum typed_dialect dialect, struct arena *a,
                 struct slice *ret_identifiers) {
    struct map taken;
    map_init(&taken);
    for (size_t i = 0; i < count; i++) {
        struct slice base = typed_identifier(names[i], dialect, a), id = base;
        for (size_t k = 2; map_get(&taken, id); k++)
            id = arena_printf(a, "%.*s_%zu", SLICE_FMT(base), k);
        map_put(&taken, id, ret_identifiers);
        ret_identifiers[i] = id;
    }
    map_free(&taken);
}

/* ---- writing ----
 * A schema is taken apart into pieces on a stack: texts that are written and schemas that are taken apart in
 * turn, so that depth costs no call stack. Python has no inline object types: those become classes that wait
 * in a list until the type that uses them is written. */

struct piece {
    struct slice text; /* ptr NULL: it is a schema */
    uint32_t schema;
    uint32_t indent;
};

struct later { /* a Python class to write */
    struct slice name;
    uint32_t schema;
};

struct writer {
    const struct tape *t;
    uint32_t root; /* where #/… starts */
    enum typed_dialect dialect;
    struct buf *out;
    struct arena *a;
    struct piece *stack;
    size_t depth;
    size_t depth_cap;
    struct later *classes;
    size_t class_count;
    size_t class_cap;
    struct slice prefix; /* of class and type names */
    struct slice within; /* name of the class being written */
    size_t steps;
};

static void push(struct writer *w, struct piece piece) {
    if (w->depth == w->depth_cap) {
        w->depth_cap = w->depth_cap ? w->depth_cap * 2 : 64;
        w->stack = mem_realloc(w->stack, w->depth_cap * sizeof(*w->stack));
    }
    w->stack[w->depth++] = piece;
}

static void push_text(struct writer *w, struct slice text) {
    if (text.len)
        push(w, (struct piece){.text = text});
}
static void push_str(struct writer *w, const char *text) { push_text(w, slice_str(text)); }
static void push_schema(struct writer *w, uint32_t schema, uint32_t indent) {
    push(w, (struct piece){.schema = schema, .indent = indent});
}

/* Pieces that were pushed in the order of the text since then are now taken in that order. */
static void turn_round(struct writer *w, size_t from) {
    for (size_t i = from, k = w->depth; i + 1 < k; i++, k--) {
        struct piece kept = w->stack[i];
        w->stack[i] = w->stack[k - 1];
        w->stack[k - 1] = kept;
    }
}

static struct slice indentation(struct writer *w, uint32_t indent) {
    return arena_printf(w->a, "\n%*s", (int)indent * 2, "");
}

static bool is_python(const struct writer *w) { return w->dialect == TYPED_PYTHON; }
static const char *any(const struct writer *w) { return is_python(w) ? "Any" : "unknown"; }
static const char *none(const struct writer *w) { return is_python(w) ? "None" : "null"; }

static struct slice text_at(struct writer *w, uint32_t node, const char *key) {
    return tape_text_of(w->t, node, key, w->a);
}

/* One line, without text that would end the comment or string around it. */
static struct slice comment_text(struct writer *w, struct slice text) {
    text = slice_upto(text, TYPED_TEXT_MAX);
    char *out = arena_alloc(w->a, text.len * 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f)
            c = ' ';
        if (c == ' ' && n && out[n - 1] == ' ')
            continue;
        if (is_python(w) ? (c == '"' || c == '\\') : (c == '/' && n && out[n - 1] == '*'))
            out[n++] = '\\';
        out[n++] = (char)c;
    }
    while (n && (out[n - 1] == ' ' || (out[n - 1] == '\\' && (n < 2 || out[n - 2] != '\\'))))
        n--;
    while (n && ((unsigned char)out[n - 1] & 0xc0) == 0x80 && !tape_utf8_valid(slice_of(out, n)))
        n--;
    if (n && (unsigned char)out[n - 1] >= 0xc0)
        n--;
    return slice_of(out, n);
}

static struct slice literal(struct writer *w, uint32_t node) {
    if (!is_python(w))
        return tape_raw(w->t, node);
    switch (tape_type(w->t, node)) {
    case TAPE_NULL:
        return SLICE("None");
    case TAPE_TRUE:
        return SLICE("True");
    case TAPE_FALSE:
        return SLICE("False");
    default:
        return tape_raw(w->t, node); /* JSON's strings and integers are Python's too */
    }
}

static bool is_literal(const struct writer *w, uint32_t node) {
    enum tape_type type = tape_type(w->t, node);
    if (type == TAPE_NUMBER)
        return !is_python(w) || tape_node(w->t, node)->flags & TAPE_INTEGER;
    return type != TAPE_ARRAY && type != TAPE_OBJECT;
}

/* a | b | c, or Literal[a, b, c]; the type is unknown if a value is not a scalar. */
static void write_enum(struct writer *w, uint32_t values) {
    TAPE_FOR_ELEM(w->t, values, i) {
        if (!is_literal(w, i)) {
            buf_put_str(w->out, any(w));
            return;
        }
    }
    if (!tape_node(w->t, values)->count || tape_node(w->t, values)->count > TYPED_ENUM_MAX) {
        buf_put_str(w->out, any(w));
        return;
    }
    buf_put_str(w->out, is_python(w) ? "Literal[" : "(");
    bool first = true;
    TAPE_FOR_ELEM(w->t, values, i) {
        if (!first)
            buf_put_str(w->out, is_python(w) ? ", " : " | ");
        buf_put_slice(w->out, literal(w, i));
        first = false;
    }
    buf_put_str(w->out, is_python(w) ? "]" : ")");
}

/* "#/$defs/Name": the name, and its schema must be there. */
static struct slice ref_name(struct writer *w, struct slice ref) {
    static const char *const places[] = {"#/$defs/", "#/definitions/"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct slice place = slice_str(places[i]);
        if (!slice_starts(ref, place))
            continue;
        struct slice name = slice_from(ref, place.len);
        uint32_t defs = tape_get_str(w->t, w->root, i == 0 ? "$defs" : "definitions");
        if (defs && tape_get(w->t, defs, name))
            return arena_printf(w->a, "%.*s_%.*s", SLICE_FMT(w->prefix),
                                SLICE_FMT(typed_identifier(name, w->dialect, w->a)));
    }
    return (struct slice){0};
}

static bool is_required(const struct writer *w, uint32_t schema, uint32_t key) {
    uint32_t required = tape_get_str(w->t, schema, "required");
    if (!required || !tape_is(w->t, required, TAPE_ARRAY))
        return false;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice name = tape_text(w->t, key, &a);
    TAPE_FOR_ELEM(w->t, required, i) {
        if (tape_eq(w->t, i, name))
            return true;
    }
    return false;
}

static void write_union(struct writer *w, uint32_t list, const char *between, uint32_t indent) {
    if (!tape_is(w->t, list, TAPE_ARRAY) || !tape_node(w->t, list)->count) {
        push_str(w, any(w));
        return;
    }
    size_t from = w->depth;
    push_str(w, "(");
    bool first = true;
    TAPE_FOR_ELEM(w->t, list, i) {
        if (!first)
            push_str(w, between);
        push_schema(w, i, indent);
        first = false;
    }
    push_str(w, ")");
    turn_round(w, from);
}

static void write_members(struct writer *w, uint32_t schema, uint32_t properties, uint32_t indent) {
    size_t from = w->depth;
    push_str(w, "{");
    TAPE_FOR_MEMBER(w->t, properties, key) {
        struct slice about = comment_text(w, text_at(w, key + 1, "description"));
        push_text(w, indentation(w, indent + 1));
        if (about.len)
            push_text(w, arena_printf(w->a, "/** %.*s */%.*s", SLICE_FMT(about),
                                      SLICE_FMT(indentation(w, indent + 1))));
        struct slice name = tape_text(w->t, key, w->a);
        push_text(w, is_identifier(name, w->dialect) || is_keyword(name, w->dialect) ? name
                                                                                     : tape_raw(w->t, key));
        push_str(w, is_required(w, schema, key) ? ": " : "?: ");
        push_schema(w, key + 1, indent + 1);
        push_str(w, ";");
    }
    push_text(w, indentation(w, indent));
    push_str(w, "}");
    turn_round(w, from);
}

static void write_class_later(struct writer *w, uint32_t schema) {
    if (w->class_count >= TYPED_CLASSES_MAX) {
        push_str(w, "dict[str, Any]");
        return;
    }
    if (w->class_count == w->class_cap) {
        w->class_cap = w->class_cap ? w->class_cap * 2 : 16;
        w->classes = mem_realloc(w->classes, w->class_cap * sizeof(*w->classes));
    }
    struct slice name =
        arena_printf(w->a, "%.*s_%zu", SLICE_FMT(w->within.len ? w->within : w->prefix), w->class_count + 1);
    w->classes[w->class_count++] = (struct later){name, schema};
    push_text(w, name);
}

static void write_object(struct writer *w, uint32_t schema, uint32_t indent) {
    uint32_t properties = tape_get_str(w->t, schema, "properties");
    uint32_t more = tape_get_str(w->t, schema, "additionalProperties");
    if (properties && tape_is(w->t, properties, TAPE_OBJECT) && tape_node(w->t, properties)->count) {
        if (is_python(w))
            write_class_later(w, schema);
        else
            write_members(w, schema, properties, indent);
        return;
    }
    push_str(w, is_python(w) ? "]" : ">");
    if (more && tape_is(w->t, more, TAPE_OBJECT))
        push_schema(w, more, indent);
    else
        push_str(w, any(w));
    push_str(w, is_python(w) ? "dict[str, " : "Record<string, ");
}

static void write_tuple(struct writer *w, uint32_t items, uint32_t rest, uint32_t indent) {
    size_t from = w->depth;
    push_str(w, is_python(w) ? "tuple[" : "[");
    bool first = true;
    TAPE_FOR_ELEM(w->t, items, i) {
        if (!first)
            push_str(w, ", ");
        push_schema(w, i, indent);
        first = false;
    }
    if (rest && tape_is(w->t, rest, TAPE_OBJECT) && !is_python(w)) {
        push_str(w, first ? "...(" : ", ...(");
        push_schema(w, rest, indent);
        push_str(w, ")[]");
    }
    push_str(w, "]");
    turn_round(w, from);
}

static void write_array(struct writer *w, uint32_t schema, uint32_t indent) {
    uint32_t items = tape_get_str(w->t, schema, "items");
    uint32_t prefix = tape_get_str(w->t, schema, "prefixItems");
    if (!prefix && items && tape_is(w->t, items, TAPE_ARRAY)) { /* as older drafts write tuples */
        prefix = items;
        items = tape_get_str(w->t, schema, "additionalItems");
    }
    if (prefix && tape_is(w->t, prefix, TAPE_ARRAY) && tape_node(w->t, prefix)->count) {
        write_tuple(w, prefix, items, indent);
        return;
    }
    push_str(w, is_python(w) ? "]" : ">");
    if (items)
        push_schema(w, items, indent);
    else
        push_str(w, any(w));
    push_str(w, is_python(w) ? "list[" : "Array<");
}

static void write_type(struct writer *w, uint32_t schema, struct slice type, uint32_t indent) {
    if (slice_is(type, "string"))
        push_str(w, is_python(w) ? "str" : "string");
    else if (slice_is(type, "integer"))
        push_str(w, is_python(w) ? "int" : "number");
    else if (slice_is(type, "number"))
        push_str(w, is_python(w) ? "float" : "number");
    else if (slice_is(type, "boolean"))
        push_str(w, is_python(w) ? "bool" : "boolean");
    else if (slice_is(type, "null"))
        push_str(w, none(w));
    else if (slice_is(type, "array"))
        write_array(w, schema, indent);
    else if (slice_is(type, "object"))
        write_object(w, schema, indent);
    else
        push_str(w, any(w));
}

/* ["string","null"]: each type with the rest of the schema. */
static void write_types(struct writer *w, uint32_t schema, uint32_t types, uint32_t indent) {
    size_t left = tape_node(w->t, types)->count;
    push_str(w, ")");
    TAPE_FOR_ELEM(w->t, types, i) {
        if (tape_is(w->t, i, TAPE_STRING))
            write_type(w, schema, tape_text(w->t, i, w->a), indent);
        else
            push_str(w, any(w));
        if (--left)
            push_str(w, " | ");
    }
    push_str(w, "(");
}

/* True when one of the keywords that come before `type` determines the schema. */
static bool write_special(struct writer *w, uint32_t schema, uint32_t indent) {
    uint32_t node;
    struct slice ref = text_at(w, schema, "$ref");
    if (ref.len) {
        struct slice name = ref_name(w, ref);
        push_text(w, name.len ? name : slice_str(any(w)));
    } else if ((node = tape_get_str(w->t, schema, "const"))) {
        if (!is_literal(w, node))
            push_str(w, any(w));
        else
            push_text(w, is_python(w) ? arena_printf(w->a, "Literal[%.*s]", SLICE_FMT(literal(w, node)))
                                      : literal(w, node));
    } else if ((node = tape_get_str(w->t, schema, "enum")) && tape_is(w->t, node, TAPE_ARRAY)) {
        write_enum(w, node);
    } else if ((node = tape_get_str(w->t, schema, "anyOf")) || (node = tape_get_str(w->t, schema, "oneOf"))) {
        write_union(w, node, " | ", indent);
    } else if ((node = tape_get_str(w->t, schema, "allOf")) && !is_python(w)) {
        write_union(w, node, " & ", indent);
    } else {
        return false;
    }
    return true;
}

static void take_apart(struct writer *w, uint32_t schema, uint32_t indent) {
    if (!tape_is(w->t, schema, TAPE_OBJECT)) {
        push_str(w, any(w)); /* true, false, or invalid */
        return;
    }
    uint32_t nullable = tape_get_str(w->t, schema, "nullable");
    if (nullable && tape_is(w->t, nullable, TAPE_TRUE))
        push_str(w, is_python(w) ? " | None" : " | null");
    if (write_special(w, schema, indent))
        return;
    uint32_t type = tape_get_str(w->t, schema, "type");
    if (type && tape_is(w->t, type, TAPE_STRING))
        write_type(w, schema, tape_text(w->t, type, w->a), indent);
    else if (type && tape_is(w->t, type, TAPE_ARRAY) && tape_node(w->t, type)->count)
        write_types(w, schema, type, indent);
    else if (tape_get_str(w->t, schema, "properties"))
        write_object(w, schema, indent);
    else if (tape_get_str(w->t, schema, "items") || tape_get_str(w->t, schema, "prefixItems"))
        write_array(w, schema, indent);
    else
        push_str(w, any(w));
}

static void write_schema(struct writer *w, uint32_t schema, uint32_t indent) {
    push_schema(w, schema, indent);
    while (w->depth) {
        struct piece p = w->stack[--w->depth];
        if (w->out->full)
            continue;
        if (p.text.ptr)
            buf_put_slice(w->out, p.text);
        else if (++w->steps > TYPED_STEPS_MAX)
            buf_put_str(w->out, any(w));
        else
            take_apart(w, p.schema, p.indent);
    }
}

/* ---- files ---- */

static void write_class(struct writer *w, struct slice name, uint32_t schema) {
    uint32_t properties = tape_get_str(w->t, schema, "properties");
    w->within = name;
    if (!properties || !tape_is(w->t, properties, TAPE_OBJECT)) {
        buf_printf(w->out, "%.*s = ", SLICE_FMT(name));
        write_schema(w, schema, 0);
        buf_put_str(w->out, "\n\n");
        return;
    }
    /* The functional form accepts keys that are not identifiers. */
    buf_printf(w->out, "%.*s = TypedDict(\"%.*s\", {\n", SLICE_FMT(name), SLICE_FMT(name));
    TAPE_FOR_MEMBER(w->t, properties, key) {
        buf_put_str(w->out, "    ");
        buf_put_slice(w->out, tape_raw(w->t, key));
        buf_put_str(w->out, is_required(w, schema, key) ? ": " : ": NotRequired[");
        write_schema(w, key + 1, 0);
        buf_put_str(w->out, is_required(w, schema, key) ? "," : "],");
        struct slice about = comment_text(w, text_at(w, key + 1, "description"));
        buf_printf(w->out, "%s%.*s\n", about.len ? "  # " : "", SLICE_FMT(about));
    }
    buf_put_str(w->out, "}, total=True)\n\n");
}

static void write_classes(struct writer *w) {
    for (size_t i = 0; i < w->class_count; i++) /* grows during the loop */
        write_class(w, w->classes[i].name, w->classes[i].schema);
    w->class_count = 0;
    w->within = (struct slice){0};
}

static void write_defs(struct writer *w) {
    static const char *const places[] = {"$defs", "definitions"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        uint32_t defs = tape_get_str(w->t, w->root, places[i]);
        if (!defs || !tape_is(w->t, defs, TAPE_OBJECT))
            continue;
        TAPE_FOR_MEMBER(w->t, defs, key) {
            struct slice id = typed_identifier(tape_text(w->t, key, w->a), w->dialect, w->a);
            struct slice name = arena_printf(w->a, "%.*s_%.*s", SLICE_FMT(w->prefix), SLICE_FMT(id));
            if (is_python(w)) {
                write_class(w, name, key + 1);
                continue;
            }
            buf_printf(w->out, "export type %.*s = ", SLICE_FMT(name));
            write_schema(w, key + 1, 0);
            buf_put_str(w->out, ";\n");
        }
    }
    write_classes(w);
}

/* The type of one schema under that name; its $defs first. */
static void write_named(struct writer *w, const struct tape *t, uint32_t schema, struct slice name) {
    w->t = t;
    w->root = schema;
    w->prefix = name;
    write_defs(w);
    if (is_python(w)) {
        write_class(w, name, schema);
        write_classes(w);
        return;
    }
    buf_printf(w->out, "export type %.*s = ", SLICE_FMT(name));
    write_schema(w, schema, 0);
    buf_put_str(w->out, ";\n");
}

static void write_signature(struct writer *w, struct slice id, struct slice input, struct slice output,
                            struct slice about) {
    if (is_python(w)) {
        buf_printf(w->out, "def %.*s(**args: Unpack[%.*s]) -> %.*s:\n    \"\"\"%.*s\"\"\"\n    ...\n",
                   SLICE_FMT(id), SLICE_FMT(input), SLICE_FMT(output), SLICE_FMT(about));
        return;
    }
    if (about.len)
        buf_printf(w->out, "/** %.*s */\n", SLICE_FMT(about));
    buf_printf(w->out, "export declare function %.*s(args: %.*s): Promise<%.*s>;\n", SLICE_FMT(id),
               SLICE_FMT(input), SLICE_FMT(output));
}

bool typed_file(const struct tape *t, uint32_t definition, struct slice identifier, struct slice output,
                enum typed_dialect dialect, struct buf *out) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_tape struct tape learned;
    tape_init(&learned);
    struct writer w = {.t = t, .dialect = dialect, .out = out, .a = &a};
    struct slice about = comment_text(&w, text_at(&w, definition, "description"));
    if (is_python(&w))
        buf_put_str(out, "from typing import Any, Literal, NotRequired, TypedDict, Unpack\n\n");
    struct slice input_name = arena_printf(&a, "%.*s_input", SLICE_FMT(identifier));
    struct slice output_name = slice_str(any(&w));
    uint32_t input = tape_get_str(t, definition, "inputSchema");
    uint32_t result = tape_get_str(t, definition, "outputSchema");
    if (input && tape_path(t, input, "properties", NULL))
        write_named(&w, t, input, input_name);
    else
        buf_printf(out,
                   is_python(&w) ? "%.*s = TypedDict(\"%.*s\", {})\n\n"
                                 : "export type %.*s = Record<string, unknown>;\n",
                   SLICE_FMT(input_name), SLICE_FMT(input_name));
    if (result || (output.len && tape_parse(&learned, output, NULL) == TAPE_OK)) {
        output_name = arena_printf(&a, "%.*s_output", SLICE_FMT(identifier));
        write_named(&w, result ? t : &learned, result, output_name);
    }
    write_signature(&w, identifier, input_name, output_name, about);
    free(w.stack);
    free(w.classes);
    return !out->full;
}

/* ---- learning ---- */

static void learn_members(struct writer *w, uint32_t object) {
    size_t from = w->depth;
    push_str(w, "{\"type\":\"object\",\"properties\":{");
    bool first = true;
    TAPE_FOR_MEMBER(w->t, object, key) {
        if (!first)
            push_str(w, ",");
        push_text(w, tape_raw(w->t, key));
        push_str(w, ":");
        push_schema(w, key + 1, 0);
        first = false;
    }
    push_str(w, "}}");
    turn_round(w, from);
}

/* The first element stands for all: most lists contain one type. */
static void learn_items(struct writer *w, uint32_t array) {
    push_str(w, "}");
    if (tape_node(w->t, array)->count)
        push_schema(w, array + 1, 0);
    else
        push_str(w, "{}");
    push_str(w, "{\"type\":\"array\",\"items\":");
}

bool typed_learn(const struct tape *t, uint32_t value, struct buf *out) {
    static const char *const scalar[] = {[TAPE_NULL] = "{}",
                                         [TAPE_FALSE] = "{\"type\":\"boolean\"}",
                                         [TAPE_TRUE] = "{\"type\":\"boolean\"}",
                                         [TAPE_NUMBER] = "{\"type\":\"number\"}",
                                         [TAPE_STRING] = "{\"type\":\"string\"}"};
    struct writer w = {.t = t, .out = out};
    push_schema(&w, value, 0);
    while (w.depth && !out->full) {
        struct piece p = w.stack[--w.depth];
        if (p.text.ptr)
            buf_put_slice(out, p.text);
        else if (tape_is(t, p.schema, TAPE_ARRAY))
            learn_items(&w, p.schema);
        else if (tape_is(t, p.schema, TAPE_OBJECT))
            learn_members(&w, p.schema);
        else
            buf_put_str(out, scalar[tape_type(t, p.schema)]);
    }
    free(w.stack);
    return !out->full;
}
