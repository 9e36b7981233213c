/* YAML by libyaml's events. Scalars are typed here, by the core schema of YAML 1.2; libyaml itself only knows
 * whether they were quoted. */
#include "base/mem.h"
#include "wire/tree_build.h"

#include <math.h>
#include <yaml.h>

struct tree_yaml {
    struct tree_build build;
    struct slice text;
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
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.len ? text.ptr : ""), text.len);
    int result = tree_yaml_events(&y, &parser);
    yaml_parser_delete(&parser);
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

/* What libyaml has to say, and where. */
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

static int tree_yaml_open(struct tree_yaml *y, enum tree_type type, const yaml_event_t *event) {
    struct tree_mark at = tree_yaml_mark(event->start_mark);
    bool list = type == TREE_LIST;
    if (list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor)
        return tree_fault(y->build.err, at, "anchors are not supported");
    if (list ? event->data.sequence_start.tag : event->data.mapping_start.tag)
        return tree_fault(y->build.err, at, "tags are not supported");
    if (tree_build_wants_key(&y->build))
        return tree_fault(y->build.err, at, "a key must be a string, not a %s", tree_type_name(type));
    return tree_build_open(&y->build, type, at);
}

static int tree_yaml_event(struct tree_yaml *y, const yaml_event_t *event) {
    switch (event->type) {
    case YAML_STREAM_END_EVENT:
        y->done = true;
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        return tree_yaml_document(y, event);
    case YAML_ALIAS_EVENT:
        return tree_fault(y->build.err, tree_yaml_mark(event->start_mark), "aliases are not supported");
    case YAML_SCALAR_EVENT:
        return tree_yaml_scalar(y, event);
    case YAML_SEQUENCE_START_EVENT:
        return tree_yaml_open(y, TREE_LIST, event);
    case YAML_MAPPING_START_EVENT:
        return tree_yaml_open(y, TREE_MAP, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return tree_build_close(&y->build);
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
    PLAIN_NOT_FINITE
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

/* 8 or 16 for 0o17 and 0x1f, 10 for all else. */
static int tree_base(struct slice text) {
    if (text.len < 3 || text.ptr[0] != '0' || (text.ptr[1] != 'x' && text.ptr[1] != 'o'))
        return 10;
    int base = text.ptr[1] == 'x' ? 16 : 8;
    return tree_digits(text, 2, base) == text.len - 2 ? base : 10;
}

static enum tree_plain tree_classify(struct slice text) {
    for (size_t i = 0; i < ARRAY_LEN(tree_words); i++)
        if (slice_is(text, tree_words[i].text))
            return tree_words[i].plain;
    if (tree_base(text) != 10)
        return PLAIN_INT;
    size_t at = text.ptr[0] == '-' || text.ptr[0] == '+';
    size_t whole = tree_digits(text, at, 10), fraction = 0;
    at += whole;
    if (whole && at == text.len)
        return PLAIN_INT;
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

/* Fills in what fits; an integer that does not fit 64 bits becomes a float. */
static int tree_yaml_number(struct tree *node, enum tree_plain plain) {
    struct slice text = node->text;
    int base = tree_base(text);
    bool negative = text.ptr[0] == '-', whole = plain == PLAIN_INT;
    uint64_t magnitude = 0;
    for (size_t i = base == 10 ? negative || text.ptr[0] == '+' : 2; whole && i < text.len; i++) {
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
    for (size_t i = 2; base != 10 && i < text.len; i++)
        node->number = node->number * base + tree_digit(text.ptr[i], base);
    if (base == 10)
        node->number = strtod(text.ptr, NULL); /* the arena's copy ends with a NUL */
    return isfinite(node->number) ? 0 : -1;
}

static int tree_yaml_plain(struct tree_build *b, struct slice text, struct tree_mark at) {
    static const enum tree_type types[] = {
        [PLAIN_STRING] = TREE_STRING, [PLAIN_NULL] = TREE_NULL, [PLAIN_TRUE] = TREE_BOOL,
        [PLAIN_FALSE] = TREE_BOOL,    [PLAIN_INT] = TREE_INT,   [PLAIN_FLOAT] = TREE_FLOAT,
    };
    enum tree_plain plain = tree_classify(text);
    if (plain == PLAIN_STRING)
        return tree_build_string(b, text, at);
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

static int tree_yaml_key(struct tree_build *b, struct slice text, bool plain, struct tree_mark at) {
    if (plain && slice_is(text, "<<"))
        return tree_fault(b->err, at, "merge keys (<<) are not supported");
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
    if (event->data.scalar.anchor)
        return tree_fault(b->err, at, "anchors are not supported");
    if (event->data.scalar.tag)
        return tree_fault(b->err, at, "tags are not supported");
    if (tree_build_wants_key(b))
        return tree_yaml_key(b, text, plain, at);
    if (plain && text.len == 0 && b->depth == 0)
        return tree_fault(b->err, at, "the document is empty");
    return plain ? tree_yaml_plain(b, text, at) : tree_build_string(b, text, at);
}
