/* YAML by libyaml's events. Scalars are typed here, by the core schema of YAML 1.2; libyaml itself only knows
 * whether they were quoted. */
#include "base/map.h"
#include "base/mem.h"
#include "wire/tree_build.h"

#include <math.h>
#include <yaml.h>

struct tree_yaml {
    struct tree_build build;
    struct slice text;
    struct map anchors;              /* name → struct tree */
    bool merges[TREE_DEPTH_MAX + 1]; /* the map at this depth has a merge key */
    bool seen_document;
    bool done;
};

static int tree_yaml_events(struct tree_yaml *y, yaml_parser_t *parser);
static int tree_yaml_event(struct tree_yaml *y, const yaml_event_t *event);
static int tree_yaml_scalar(struct tree_yaml *y, const yaml_event_t *event);
static int tree_yaml_plain(struct tree_build *b, struct slice text, struct tree_mark at);

int tree_read_yaml(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err) {
    struct tree_yaml y = {.build = {.arena = a, .err = err}, .text = text};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return err_set(err, "out of memory");
    map_init(&y.anchors);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.len ? text.ptr : ""), text.len);
    int result = tree_yaml_events(&y, &parser);
    yaml_parser_delete(&parser);
    map_free(&y.anchors);
    if (result < 0)
        return -1;
    if (!y.build.root)
        return tree_fault(err, (struct tree_mark){1, 1}, "the document is empty");
    *ret_root = y.build.root;
    return 0;
}

static struct tree_mark tree_yaml_mark(yaml_mark_t mark) {
    return (struct tree_mark){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* libyaml's error message and its position. */
static int tree_yaml_fault(const struct tree_yaml *y, const yaml_parser_t *parser) {
    struct tree_mark at = tree_yaml_mark(parser->problem_mark);
    const char *problem = parser->problem ? parser->problem : "not valid YAML";
    struct tree_cursor c;
    tree_cursor_init(&c, y->text);
    while (c.offset < y->text.len && (c.at.line < at.line || c.at.column < at.column) && c.at.line <= at.line)
        tree_cursor_to(&c, c.offset + 1);
    if (c.offset < y->text.len && y->text.ptr[c.offset] == '\t')
        return tree_fault(y->build.err, at, "a tab cannot indent: use spaces");
    if (parser->context)
        return tree_fault(y->build.err, at, "%s (%s)", problem, parser->context);
    return tree_fault(y->build.err, at, "%s", problem);
}

static int tree_yaml_events(struct tree_yaml *y, yaml_parser_t *parser) {
    while (!y->done) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return tree_yaml_fault(y, parser);
        int result = tree_yaml_event(y, &event);
        yaml_event_delete(&event);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int tree_yaml_document(struct tree_yaml *y, const yaml_event_t *event) {
    struct tree_mark at = tree_yaml_mark(event->start_mark);
    if (y->seen_document)
        return tree_fault(y->build.err, at, "more than one document");
    if (event->data.document_start.version_directive ||
        event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
        return tree_fault(y->build.err, at, "directives (%%YAML, %%TAG) are not supported");
    y->seen_document = true;
    return 0;
}

static void tree_yaml_anchor(struct tree_yaml *y, const yaml_char_t *name, struct tree *node) {
    if (name)
        map_put(&y->anchors, arena_dup(y->build.arena, slice_str((const char *)name)), node);
}

static int tree_yaml_open(struct tree_yaml *y, enum tree_type type, const yaml_event_t *event) {
    struct tree_mark at = tree_yaml_mark(event->start_mark);
    bool list = type == TREE_LIST;
    if (list ? event->data.sequence_start.tag : event->data.mapping_start.tag)
        return tree_fault(y->build.err, at, "tags are not supported");
    if (tree_build_wants_key(&y->build))
        return tree_fault(y->build.err, at, "a key must be a string, not a %s", tree_type_name(type));
    if (tree_build_open(&y->build, type, at) < 0)
        return -1;
    y->merges[y->build.depth] = false;
    tree_yaml_anchor(y, list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor,
                     y->build.stack[y->build.depth - 1].container);
    return 0;
}

static int tree_yaml_close(struct tree_yaml *y) {
    if (y->merges[y->build.depth] && tree_build_merge(&y->build) < 0)
        return -1;
    return tree_build_close(&y->build);
}

static int tree_yaml_alias(struct tree_yaml *y, const yaml_event_t *event) {
    struct tree_mark at = tree_yaml_mark(event->start_mark);
    struct slice name = slice_str((const char *)event->data.alias.anchor);
    const struct tree *from = map_get(&y->anchors, name);
    if (tree_build_wants_key(&y->build))
        return tree_fault(y->build.err, at, "a key must be a string, not an alias");
    if (!from)
        return tree_fault(y->build.err, at, "there is no anchor `%.*s` before this alias",
                          SLICE_FMT(tree_show(name)));
    return tree_build_copy(&y->build, from, at);
}

static int tree_yaml_event(struct tree_yaml *y, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_STREAM_END_EVENT:
        y->done = true;
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        return tree_yaml_document(y, event);
    case YAML_ALIAS_EVENT:
        return tree_yaml_alias(y, event);
    case YAML_SCALAR_EVENT:
        return tree_yaml_scalar(y, event);
    case YAML_SEQUENCE_START_EVENT:
        return tree_yaml_open(y, TREE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        return tree_yaml_open(y, TREE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return tree_yaml_close(y);
    default:
        return 0;
    }
}

/* ---- scalars ---------------------------------------------------------------------------------------- */

enum tree_plain {
    PLAIN_STRING,
    PLAIN_NULL,
    PLAIN_TRUE,
    PLAIN_FALSE,
    PLAIN_INT,
    PLAIN_FLOAT,
    PLAIN_NOT_FINITE,
    PLAIN_OCTAL /* octal in YAML 1.1, decimal in 1.2 */
};

static const struct tree_word {
    const char *text;
    enum tree_plain plain;
} tree_words[] = {
    {"", PLAIN_NULL},
    {"~", PLAIN_NULL},
    {"null", PLAIN_NULL},
    {"Null", PLAIN_NULL},
    {"NULL", PLAIN_NULL},
    {"true", PLAIN_TRUE},
    {"True", PLAIN_TRUE},
    {"TRUE", PLAIN_TRUE},
    {"false", PLAIN_FALSE},
    {"False", PLAIN_FALSE},
    {"FALSE", PLAIN_FALSE},
    {".nan", PLAIN_NOT_FINITE},
    {".NaN", PLAIN_NOT_FINITE},
    {".NAN", PLAIN_NOT_FINITE},
    {".inf", PLAIN_NOT_FINITE},
    {".Inf", PLAIN_NOT_FINITE},
    {".INF", PLAIN_NOT_FINITE},
    {"+.inf", PLAIN_NOT_FINITE},
    {"+.Inf", PLAIN_NOT_FINITE},
    {"+.INF", PLAIN_NOT_FINITE},
    {"-.inf", PLAIN_NOT_FINITE},
    {"-.Inf", PLAIN_NOT_FINITE},
    {"-.INF", PLAIN_NOT_FINITE},
};

/* Value of a digit in that base, or -1. */
static int tree_digit(char c, int base) {
    int value = c >= '0' && c <= '9'                     ? c - '0'
                : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                         : 16;
    return value < base ? value : -1;
}

static size_t tree_digits(struct slice text, size_t from, int base) {
    size_t at = from;
    while (at < text.len && tree_digit(text.ptr[at], base) >= 0)
        at++;
    return at - from;
}

/* 2, 8 or 16 for 0b11, 0o17 and 0x1f, 10 for all else; *ret_start is where the digits begin. */
static int tree_base(struct slice text, size_t *ret_start) {
    size_t sign = text.ptr[0] == '-' || text.ptr[0] == '+';
    char mark = text.len > sign + 2 && text.ptr[sign] == '0' ? text.ptr[sign + 1] : '\0';
    int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    *ret_start = base == 10 ? sign : sign + 2;
    if (base == 10 || tree_digits(text, *ret_start, base) == text.len - *ret_start)
        return base;
    *ret_start = sign;
    return 10;
}

static enum tree_plain tree_classify(struct slice text) {
    for (size_t i = 0; i < ARRAY_LEN(tree_words); i++)
        if (slice_is(text, tree_words[i].text))
            return tree_words[i].plain;
    size_t at, fraction = 0;
    if (tree_base(text, &at) != 10)
        return PLAIN_INT;
    size_t whole = tree_digits(text, at, 10);
    at += whole;
    if (whole && at == text.len)
        return whole > 1 && text.ptr[at - whole] == '0' ? PLAIN_OCTAL : PLAIN_INT;
    if (at < text.len && text.ptr[at] == '.') {
        fraction = tree_digits(text, at + 1, 10);
        at += 1 + fraction;
    }
    if (whole + fraction == 0)
        return PLAIN_STRING;
    if (at < text.len && (text.ptr[at] | 0x20) == 'e') {
        at += 1 + (at + 1 < text.len && (text.ptr[at + 1] == '-' || text.ptr[at + 1] == '+'));
        size_t exponent = tree_digits(text, at, 10);
        if (exponent == 0)
            return PLAIN_STRING;
        at += exponent;
    }
    return at == text.len ? PLAIN_FLOAT : PLAIN_STRING;
}

/* Sets the value; an integer that does not fit 64 bits becomes a float. */
static int tree_yaml_number(struct tree *node, enum tree_plain plain) {
    struct slice text = node->text;
    size_t start;
    int base = tree_base(text, &start);
    bool negative = text.ptr[0] == '-', whole = plain == PLAIN_INT;
    uint64_t magnitude = 0;
    for (size_t i = start; whole && i < text.len; i++) {
        uint64_t digit = (uint64_t)tree_digit(text.ptr[i], base);
        whole = !__builtin_mul_overflow(magnitude, (uint64_t)base, &magnitude) &&
                !__builtin_add_overflow(magnitude, digit, &magnitude);
    }
    if (whole && magnitude <= (uint64_t)INT64_MAX + negative) {
        node->type = TREE_INT;
        node->integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
        node->number = (double)node->integer;
        return 0;
    }
    node->type = TREE_FLOAT;
    for (size_t i = start; base != 10 && i < text.len; i++)
        node->number = node->number * base + (negative ? -1 : 1) * tree_digit(text.ptr[i], base);
    if (base == 10)
        node->number = strtod(text.ptr, NULL); /* the arena's copy ends with a NUL */
    return isfinite(node->number) ? 0 : -1;
}

/* 1_000 without its underscores, if it could be a number. */
static struct slice tree_bare(struct slice text, char *into) {
    size_t len = 0;
    char first = text.len ? text.ptr[0] : '\0';
    if ((first != '+' && first != '-' && tree_digit(first, 10) < 0) || text.len > TAPE_NUMBER_MAX)
        return text;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_')
            into[len++] = text.ptr[i];
    return slice_of(into, len);
}

static int tree_yaml_plain(struct tree_build *b, struct slice written, struct tree_mark at) {
    char digits[TAPE_NUMBER_MAX];
    struct slice text = tree_bare(written, digits);
    static const enum tree_type types[] = {
        [PLAIN_STRING] = TREE_STRING, [PLAIN_NULL] = TREE_NULL, [PLAIN_TRUE] = TREE_BOOL,
        [PLAIN_FALSE] = TREE_BOOL,    [PLAIN_INT] = TREE_INT,   [PLAIN_FLOAT] = TREE_FLOAT,
    };
    enum tree_plain plain = tree_classify(text);
    if (plain == PLAIN_STRING)
        return tree_build_string(b, written, at);
    if (plain == PLAIN_OCTAL)
        return tree_fault(b->err, at, "`%.*s`: put it in quotes, or write a number without leading zeros",
                          SLICE_FMT(tree_show(written)));
    if (plain == PLAIN_NOT_FINITE)
        return tree_fault(b->err, at, "`%.*s`: only finite numbers are supported", SLICE_FMT(text));
    if (text.len > TAPE_NUMBER_MAX)
        return tree_fault(b->err, at, "number of more than %d characters", TAPE_NUMBER_MAX);
    struct tree *node = tree_build_add(b, types[plain], at);
    if (!node)
        return -1;
    node->text = arena_dup(b->arena, text);
    node->truth = plain == PLAIN_TRUE;
    if ((plain == PLAIN_INT || plain == PLAIN_FLOAT) && tree_yaml_number(node, plain) < 0)
        return tree_fault(b->err, at, "number out of range");
    return 0;
}

static int tree_yaml_key(struct tree_yaml *y, struct slice text, bool plain, struct tree_mark at) {
    struct tree_build *b = &y->build;
    if (plain && slice_is(text, "<<")) {
        if (y->merges[b->depth])
            return tree_fault(b->err, at, "duplicate key `<<`: one of them takes a list of maps");
        y->merges[b->depth] = true;
    }
    if (plain && tree_classify(text) != PLAIN_STRING)
        return tree_fault(b->err, at, "key `%.*s` is not a string: put it in quotes",
                          SLICE_FMT(tree_show(text)));
    return tree_build_key(b, text, at);
}

static int tree_yaml_scalar(struct tree_yaml *y, const yaml_event_t *event) {
    struct tree_build *b = &y->build;
    struct tree_mark at = tree_yaml_mark(event->start_mark);
    struct slice text = slice_of((const char *)event->data.scalar.value, event->data.scalar.length);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.tag)
        return tree_fault(b->err, at, "tags are not supported");
    if (tree_build_wants_key(b) && event->data.scalar.anchor)
        return tree_fault(b->err, at, "a key cannot have an anchor");
    if (tree_build_wants_key(b))
        return tree_yaml_key(y, text, plain, at);
    if (plain && text.len == 0 && b->depth == 0)
        return tree_fault(b->err, at, "the document is empty");
    if ((plain ? tree_yaml_plain(b, text, at) : tree_build_string(b, text, at)) < 0)
        return -1;
    tree_yaml_anchor(y, event->data.scalar.anchor, b->depth ? b->stack[b->depth - 1].last : b->root);
    return 0;
}
