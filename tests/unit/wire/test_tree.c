#include "wire/tree_parse.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;
static struct err err;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    return 0;
}

typedef int parse_fn(struct slice, struct arena *, const struct tree **, struct err *);

/* Parses a copy that ends where the text ends and is gone afterwards: the tree must not need it. */
static int parse_copy(parse_fn *parse, struct slice text, const struct tree **ret_root) {
    char *copy = mem_alloc(text.len);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    int result = parse(slice_of(copy, text.len), &arena, ret_root, &err);
    memset(copy, 'Z', text.len);
    free(copy);
    return result;
}

static const struct tree *parse(const char *text) {
    const struct tree *root = NULL;
    if (parse_copy(tree_parse, slice_str(text), &root) < 0)
        fail_msg("`%s`: %s", text, err.text);
    return root;
}

static void assert_slice(struct slice got, const char *want) {
    if (!slice_is(got, want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(got), want);
}

struct refusal {
    const char *name;
    struct slice text;
    const char *want;
};
#define ROW(name, text, want)                                                                                \
    { name, {text, sizeof(text) - 1}, want }

static void check_refusals(parse_fn *how, const struct refusal *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct tree *root = NULL;
        if (parse_copy(how, rows[i].text, &root) == 0)
            fail_msg("%s was taken", rows[i].name);
        assert_null(root);
        if (!strstr(err.text, rows[i].want))
            fail_msg("%s: `%s` instead of `%s`", rows[i].name, err.text, rows[i].want);
    }
}

static const struct refusal yaml_refusals[] = {
    ROW("empty", "", "line 1, column 1: the document is empty"),
    ROW("white space", " \n\n ", "the document is empty"),
    ROW("comment", "# nothing\n", "the document is empty"),
    ROW("document mark", "---\n", "the document is empty"),
    ROW("document marks", "---\n...\n", "the document is empty"),
    ROW("byte-order mark only", "\xef\xbb\xbf", "the document is empty"),
    ROW("anchor on a key", "&x a: 1\n", "line 1, column 1: a key cannot have an anchor"),
    ROW("alias without anchor", "a: *x\n", "line 1, column 4: there is no anchor `x` before this alias"),
    ROW("alias before its anchor", "a: *x\nb: &x 1\n", "there is no anchor `x` before this alias"),
    ROW("alias for a key", "a: &x 1\n*x : 1\n", "line 2, column 1: a key must be a string, not an alias"),
    ROW("alias inside of itself", "a: &x {b: [*x]}\n",
        "line 1, column 12: this alias is inside its own anchor"),
    ROW("aliases too deep",
        "a: &a [[[[[[[[[[]]]]]]]]]]\nb: &b [[[[[[[[[*a]]]]]]]]]\nc: [[[[[[[[[[[[[*b]]]]]]]]]]]]]\n",
        "nested deeper"),
    ROW("a million laughs",
        "a: &a [1,2,3,4,5,6,7,8,9,10]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c "
        "[*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
        "aliases expand to more than 100000 values"),
    ROW("alias twice under one key", "a: &x {b: 1}\nc: {b: *x, b: *x}\n", "duplicate key `b`"),
    ROW("tag", "a: !!str 1\n", "line 1, column 4: tags are not supported"),
    ROW("bare tag", "a: ! 1\n", "tags are not supported"),
    ROW("own tag", "a: !env HOME\n", "tags are not supported"),
    ROW("tag on a map", "!!map {a: 1}\n", "tags are not supported"),
    ROW("tag on a list", "a: !!set [1]\n", "tags are not supported"),
    ROW("tag on a key", "!!str a: 1\n", "tags are not supported"),
    ROW("merge of a scalar", "a: &x 1\n<<: *x\n",
        "line 2, column 1: `<<` needs a map or a list of maps, got integer"),
    ROW("merge of a list of scalars", "<<: [{a: 1}, b]\n", "got string"),
    ROW("merge twice", "<<: {a: 1}\n<<: {b: 2}\n", "duplicate key `<<`"),
    ROW("leading zero", "a: 0755\n", "line 1, column 4: `0755`: put it in quotes, or write a number without"),
    ROW("sign and leading zero", "a: -00\n", "without leading zeros"),
    ROW("two documents", "a: 1\n---\nb: 2\n", "line 2, column 1: more than one document"),
    ROW("two documents with end", "a: 1\n...\n---\nb: 2\n", "more than one document"),
    ROW("version directive", "%YAML 1.1\n---\na: 1\n", "directives (%YAML, %TAG) are not supported"),
    ROW("tag directive", "%TAG ! tag:x,2000:\n---\na: 1\n", "directives"),
    ROW("duplicate", "a: 1\nb: 2\n\"a\": 3\n",
        "line 3, column 1: duplicate key `a`, first at line 1, column 1"),
    ROW("duplicate by escape", "a: 1\n\"\\x61\": 3\n", "duplicate key `a`"),
    ROW("duplicate below", "x:\n  - {a: 1, b: 2, a: 3}\n",
        "line 2, column 18: duplicate key `a`, first at line 2, column 6"),
    ROW("duplicate empty key", "\"\": 1\n'': 2\n", "duplicate key ``"),
    ROW("number for a key", "1: 2\n", "line 1, column 1: key `1` is not a string: put it in quotes"),
    ROW("truth for a key", "true: 2\n", "is not a string"),
    ROW("null for a key", "~: 2\n", "is not a string"),
    ROW("nothing for a key", "? \n: 2\n", "is not a string"),
    ROW("float for a key", "1.5: 2\n", "is not a string"),
    ROW("infinity for a key", ".inf: 2\n", "is not a string"),
    ROW("list for a key", "? [a]\n: b\n", "line 1, column 3: a key must be a string, not a list"),
    ROW("map for a key", "{{a: 1}: b}\n", "a key must be a string, not a map"),
    ROW("control character in a key", "\"a\\tb\": 1\n", "control character in a key"),
    ROW("NUL in a key", "\"a\\0\": 1\n", "control character in a key"),
    ROW("tab", "a:\n\tb: 1\n", "line 2, column 1: a tab cannot indent: use spaces"),
    ROW("bad indent", "a:\n  b: 1\n c: 2\n", "line 3, column 2"),
    ROW("map value in a line", "a: b: c\n", "line 1, column 5"),
    ROW("open list", "a: [1, 2\n", "did not find expected"),
    ROW("open quote", "a: \"x\n", "end of stream"),
    ROW("wrong bracket", "{a: [1, 2}\n", "line 1, column 10"),
    ROW("unknown escape", "a: \"\\q\"\n", "escape"),
    ROW("surrogate escape", "a: \"\\ud800\"\n", "line 1"),
    ROW("not a number", "a: .nan\n", "line 1, column 4: `.nan`: only finite numbers are supported"),
    ROW("infinity", "a: .inf\n", "only finite"),
    ROW("minus infinity", "a: -.INF\n", "only finite"),
    ROW("number out of range", "a: 1e400\n", "line 1, column 4: number out of range"),
    ROW("NUL byte", "a: x\0y\n", "line 1, column 5: control character"),
    ROW("NUL at the end", "a: x\n\0", "line 2, column 1: control character"),
    ROW("NUL in a string", "a: \"\\0\"\n", "line 1, column 4: NUL in a string"),
    ROW("escape byte", "a: \x1b[31m\n", "control character"),
    ROW("DEL", "a: \x7f\n", "control character"),
    ROW("C1 control", "a: \xc2\x9b\n", "control character"),
    ROW("next line character", "a: x\xc2\x85 b: y\n", "control character"),
    ROW("line separator",
        "a: x\xe2\x80\xa8"
        "b: y\n",
        "line 1, column 5: line separator"),
    ROW("right to left override", "a: \xe2\x80\xae\n", "reorders what is shown"),
    ROW("isolate", "a: \xe2\x81\xa6\n", "reorders what is shown"),
    ROW("byte-order mark inside",
        "a: 1\n\xef\xbb\xbf"
        "b: 2\n",
        "line 2, column 1: byte-order mark"),
    ROW("two byte-order marks",
        "\xef\xbb\xbf\xef\xbb\xbf"
        "a: 1\n",
        "byte-order mark"),
    ROW("UTF-16",
        "\xff\xfe"
        "a\0:\0",
        "line 1, column 1: invalid UTF-8"),
    ROW("stray byte", "a: \xc3\xa9\xa9\n", "line 1, column 5: invalid UTF-8"),
    ROW("overlong", "a: \xc0\x80\n", "invalid UTF-8"),
    ROW("surrogate bytes", "a: \xed\xa0\x80\n", "invalid UTF-8"),
    ROW("cut character", "a: \xe2\x82", "invalid UTF-8"),
};

static void test_yaml_refusals(void **state) {
    (void)state;
    check_refusals(tree_parse_yaml, yaml_refusals, ARRAY_LEN(yaml_refusals));
    check_refusals(tree_parse, yaml_refusals, ARRAY_LEN(yaml_refusals));
}

static void test_json_refusals(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        ROW("empty", "", "the document is empty"),
        ROW("white space", " \n ", "the document is empty"),
        ROW("cut", "{\"a\":\n  [1,", "line 2, column 6: JSON text ends too early"),
        ROW("comma at the end", "{\"a\":1,}", "line 1, column 8: not valid JSON"),
        ROW("comment", "{} // x", "not valid JSON"),
        ROW("single quotes", "{'a':1}", "not valid JSON"),
        ROW("byte-order mark", "\xef\xbb\xbf{}", "byte-order mark"),
        ROW("lone surrogate", "[\"\\ud800\"]", "lone surrogate"),
        ROW("NUL in a string", "[\"\\u0000\"]", "NUL in a string"),
        ROW("NUL in a key", "{\"\\u0000\":1}", "control character in a key"),
        ROW("huge number", "[1e999]", "line 1, column 2: number out of range"),
        ROW("invalid UTF-8", "[\"\xff\"]", "line 1, column 3: invalid UTF-8"),
        ROW("duplicate", "{\"a\":1,\n \"b\":{\"c\":1},\n \"\\u0061\":2}",
            "line 3, column 2: duplicate key `a`, first at line 1, column 2"),
        ROW("duplicate below", "[{\"x\":1},{\"\xc3\xa9\":1,\"k\":2,\"\xc3\xa9\":2}]",
            "line 1, column 23: duplicate key `\xc3\xa9`, first at line 1, column 11"),
    };
    check_refusals(tree_parse_json, rows, ARRAY_LEN(rows));
}

/* What is JSON but for one of its stricter rules is refused by that rule, not read again as YAML. */
static void test_json_faults_do_not_fall_through(void **state) {
    (void)state;
    static const struct refusal rows[] = {
        ROW("duplicate", "{\"a\":1,\"\\u0061\":2}",
            "line 1, column 8: duplicate key `a`, first at line 1, column 2"),
        ROW("surrogate", "{\"a\":\"\\udc00\"}", "lone surrogate"),
        ROW("control character", " [\"\x01\"]", "control character"),
    };
    check_refusals(tree_parse, rows, ARRAY_LEN(rows));
}

static void test_flow_yaml_with_braces(void **state) {
    (void)state;
    const struct tree *root = parse("{a: 1, b: [x, y],} # YAML after all\n");
    assert_int_equal(root->type, TREE_MAP);
    assert_int_equal(tree_get(root, "b")->count, 2);
}

static const struct scalar_case {
    const char *text;
    enum tree_type type;
    double number;
} scalars[] = {
    {"null", TREE_NULL, 0},
    {"Null", TREE_NULL, 0},
    {"NULL", TREE_NULL, 0},
    {"~", TREE_NULL, 0},
    {"nULL", TREE_STRING, 0},
    {"true", TREE_BOOL, 1},
    {"True", TREE_BOOL, 1},
    {"TRUE", TREE_BOOL, 1},
    {"false", TREE_BOOL, 0},
    {"False", TREE_BOOL, 0},
    {"FALSE", TREE_BOOL, 0},
    {"tRUE", TREE_STRING, 0},
    {"yes", TREE_STRING, 0},
    {"no", TREE_STRING, 0},
    {"on", TREE_STRING, 0},
    {"off", TREE_STRING, 0},
    {"y", TREE_STRING, 0},
    {"0", TREE_INT, 0},
    {"1", TREE_INT, 1},
    {"-1", TREE_INT, -1},
    {"+1", TREE_INT, 1},
    {"-0", TREE_INT, 0},
    {"0o755", TREE_INT, 493},
    {"0x1F", TREE_INT, 31},
    {"0xfF", TREE_INT, 255},
    {"0X1F", TREE_STRING, 0},
    {"-0x1F", TREE_INT, -31},
    {"-0x10000000000000000", TREE_FLOAT, -18446744073709551616.0},
    {"0x", TREE_STRING, 0},
    {"0xg", TREE_STRING, 0},
    {"0o8", TREE_STRING, 0},
    {"0o", TREE_STRING, 0},
    {"0b101", TREE_INT, 5},
    {"0b2", TREE_STRING, 0},
    {"1_x", TREE_STRING, 0},
    {"_1", TREE_STRING, 0},
    {"00.5", TREE_FLOAT, .5},
    {"12:30", TREE_STRING, 0},
    {"1.5", TREE_FLOAT, 1.5},
    {".5", TREE_FLOAT, .5},
    {"5.", TREE_FLOAT, 5},
    {"-.5", TREE_FLOAT, -.5},
    {"1e3", TREE_FLOAT, 1000},
    {"1E+3", TREE_FLOAT, 1000},
    {"1.e-1", TREE_FLOAT, .1},
    {"1e", TREE_STRING, 0},
    {"1e+", TREE_STRING, 0},
    {"e3", TREE_STRING, 0},
    {".e3", TREE_STRING, 0},
    {".", TREE_STRING, 0},
    {"+", TREE_STRING, 0},
    {"+.", TREE_STRING, 0},
    {"1.2.3", TREE_STRING, 0},
    {"1x", TREE_STRING, 0},
    {"--1", TREE_STRING, 0},
    {"inf", TREE_STRING, 0},
    {"nan", TREE_STRING, 0},
    {"2020-01-02", TREE_STRING, 0},
    {"9223372036854775807", TREE_INT, 9223372036854775807.0},
    {"-9223372036854775808", TREE_INT, -9223372036854775808.0},
    {"9223372036854775808", TREE_FLOAT, 9223372036854775808.0},
    {"-9223372036854775809", TREE_FLOAT, -9223372036854775809.0},
    {"0x7fffffffffffffff", TREE_INT, 9223372036854775807.0},
    {"0x8000000000000000", TREE_FLOAT, 9223372036854775808.0},
    {"0x10000000000000000", TREE_FLOAT, 18446744073709551616.0},
    {"0o2000000000000000000000", TREE_FLOAT, 18446744073709551616.0},
    {"1e-400", TREE_FLOAT, 0},
};

static void test_scalars(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
        const struct tree *v = tree_get(parse(arena_printf(&arena, "k: %s\n", scalars[i].text).ptr), "k");
        if (v->type != scalars[i].type)
            fail_msg("%s: %s", scalars[i].text, tree_type_name(v->type));
        assert_slice(v->text, scalars[i].text);
        if (v->type == TREE_BOOL)
            assert_int_equal(v->truth, scalars[i].number != 0);
        else
            assert_true(v->number == scalars[i].number);
        if (v->type == TREE_INT)
            assert_true((double)v->integer == scalars[i].number);
        /* Quotes of either kind make a string of anything. */
        static const char quotes[] = {'"', '\''};
        for (size_t q = 0; q < ARRAY_LEN(quotes); q++) {
            struct slice text = arena_printf(&arena, "k: %c%s%c\n", quotes[q], scalars[i].text, quotes[q]);
            v = tree_get(parse(text.ptr), "k");
            assert_int_equal(v->type, TREE_STRING);
            assert_slice(v->text, scalars[i].text);
        }
    }
}

/* Go's reader, and so Intercept, takes these for numbers. */
static void test_underscores(void **state) {
    (void)state;
    const struct tree *root = parse("a: 1_000\nb: -2_5.5_0\nc: 0x_ff\nd: '1_000'\ne: 1_000 x\n");
    assert_int_equal(tree_get(root, "a")->integer, 1000);
    assert_slice(tree_get(root, "a")->text, "1000");
    assert_true(tree_get(root, "b")->number == -25.5);
    assert_int_equal(tree_get(root, "c")->integer, 255);
    assert_slice(tree_get(root, "d")->text, "1_000");
    assert_slice(tree_get(root, "e")->text, "1_000 x");
}

static void test_aliases(void **state) {
    (void)state;
    const struct tree *root = parse("a: &x {p: 1, q: [2, &y three]}\nb: *x\nc: [*y, *x]\n"
                                    "x: &x 4\nd: *x\ne: &empty []\nf: *empty\n");
    const struct tree *b = tree_get(root, "b");
    assert_int_equal(b->count, 2);
    assert_int_equal(b->key_line, 2);
    assert_int_equal(b->line, 1); /* what is wrong with it is wrong where it was written */
    assert_int_equal(tree_get(b, "p")->integer, 1);
    assert_int_equal(tree_get(b, "q")->child->integer, 2);
    assert_slice(tree_get(b, "q")->child->next->text, "three");
    assert_ptr_not_equal(b->child, tree_get(root, "a")->child);
    assert_int_equal(tree_get(root, "c")->count, 2);
    assert_slice(tree_get(root, "c")->child->text, "three");
    assert_int_equal(tree_get(tree_get(root, "c")->child->next, "p")->integer, 1);
    assert_int_equal(tree_get(root, "d")->integer, 4); /* the newest anchor of that name */
    assert_int_equal(tree_get(root, "f")->type, TREE_LIST);
    assert_int_equal(tree_get(root, "f")->count, 0);
    assert_int_equal(root->count, 7);
}

/* Own members win wherever they stand, then earlier maps of a list. */
static void test_merges(void **state) {
    (void)state;
    const struct tree *root =
        parse("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc: {x: 9, <<: *a, w: 5}\n"
              "d: &d {<<: [*a, *b], z: 8}\ne: {<<: *d}\nf: {<<: {v: 6}}\ng: {<<: {}}\n");
    const struct tree *c = tree_get(root, "c"), *d = tree_get(root, "d"), *e = tree_get(root, "e");
    assert_int_equal(c->count, 3);
    assert_int_equal(tree_get(c, "x")->integer, 9);
    assert_int_equal(tree_get(c, "y")->integer, 2);
    assert_int_equal(tree_get(c, "w")->integer, 5);
    assert_null(tree_get(c, "<<"));
    assert_int_equal(d->count, 3);
    assert_int_equal(tree_get(d, "x")->integer, 1);
    assert_int_equal(tree_get(d, "y")->integer, 2);
    assert_int_equal(tree_get(d, "z")->integer, 8);
    assert_int_equal(e->count, 3);
    assert_int_equal(tree_get(e, "y")->integer, 2);
    assert_int_equal(tree_get(tree_get(root, "f"), "v")->integer, 6);
    assert_int_equal(tree_get(root, "g")->count, 0);
    assert_null(tree_get(root, "g")->child);
}

static void test_json_scalars(void **state) {
    (void)state;
    const struct tree *root = parse("[null,true,false,12,-1.5e2,\"1\",\"\\u0041\\n\",12345678901234567890]");
    static const enum tree_type types[] = {TREE_NULL,  TREE_BOOL,   TREE_BOOL,   TREE_INT,
                                           TREE_FLOAT, TREE_STRING, TREE_STRING, TREE_FLOAT};
    static const char *const texts[] = {"null",   "true", "false", "12",
                                        "-1.5e2", "1",    "A\n",   "12345678901234567890"};
    assert_int_equal(root->count, ARRAY_LEN(types));
    const struct tree *v = root->child;
    for (size_t i = 0; i < ARRAY_LEN(types); i++, v = v->next) {
        assert_int_equal(v->type, types[i]);
        assert_slice(v->text, texts[i]);
    }
    assert_null(v);
    assert_true(root->child->next->truth);
    assert_int_equal(root->child->next->next->next->integer, 12);
}

static void test_positions(void **state) {
    (void)state;
    const struct tree *root =
        parse("# c\n\xc3\xa9t\xc3\xa9: \xe2\x82\xac\r\n\"b\":\r\n  - x\r\n  - {c: [1, d]}\n");
    const struct tree *first = root->child, *list = first->next;
    assert_slice(first->key, "\xc3\xa9t\xc3\xa9");
    assert_int_equal(first->key_line, 2);
    assert_int_equal(first->key_column, 1);
    assert_int_equal(first->line, 2);
    assert_int_equal(first->column, 6);
    assert_int_equal(list->key_line, 3);
    assert_int_equal(list->line, 4);
    assert_int_equal(list->column, 3);
    const struct tree *c = tree_get(list->child->next, "c");
    assert_int_equal(c->key_line, 5);
    assert_int_equal(c->key_column, 6);
    assert_int_equal(c->child->next->line, 5);
    assert_int_equal(c->child->next->column, 13);
}

static void test_json_positions_match_yaml(void **state) {
    (void)state;
    struct slice text = SLICE("{\n  \"\xc3\xa9\": [1, \"\xe2\x82\xac\", {\"k\": null}],\r\n  \"z\": {}\n}\n");
    const struct tree *json, *yaml;
    assert_int_equal(tree_parse_json(text, &arena, &json, &err), 0);
    assert_int_equal(tree_parse_yaml(text, &arena, &yaml, &err), 0);
    const struct tree *a = json, *b = yaml;
    for (int steps = 0; steps < 4; steps++) { /* root, list, 1, "€" */
        assert_int_equal(a->type, b->type);
        assert_int_equal(a->line, b->line);
        assert_int_equal(a->column, b->column);
        assert_int_equal(a->key_line, b->key_line);
        assert_int_equal(a->key_column, b->key_column);
        assert_int_equal(a->count, b->count);
        a = a->child ? a->child : a->next;
        b = b->child ? b->child : b->next;
    }
    assert_int_equal(tree_get(json, "z")->column, tree_get(yaml, "z")->column);
    assert_int_equal(tree_get(json, "z")->line, 3);
}

static void test_shapes(void **state) {
    (void)state;
    const struct tree *root = parse("---\na:\nb: []\nc: {}\nd: |\n  x\n  y\ne: >-\n  p\n  q\nf:\n- 1\n- - 2\n"
                                    "  - 3\n\"<<\": quoted\n\"1\": quoted\n...\n");
    assert_int_equal(root->count, 8);
    assert_int_equal(tree_get(root, "a")->type, TREE_NULL);
    assert_int_equal(tree_get(root, "b")->type, TREE_LIST);
    assert_null(tree_get(root, "b")->child);
    assert_int_equal(tree_get(root, "c")->type, TREE_MAP);
    assert_slice(tree_get(root, "d")->text, "x\ny\n");
    assert_slice(tree_get(root, "e")->text, "p q");
    assert_int_equal(tree_get(root, "f")->child->next->child->next->integer, 3);
    assert_slice(tree_get(root, "<<")->text, "quoted");
    assert_slice(tree_get(root, "1")->text, "quoted");
    assert_null(tree_get(root, "absent"));
    assert_null(tree_get(tree_get(root, "b"), "a"));
    assert_null(tree_get(NULL, "a"));
    assert_slice(parse("just text")->text, "just text");
    assert_int_equal(parse("\xef\xbb\xbf{\"a\":1}")->count, 1);
}

static void test_version_text(void **state) {
    (void)state;
    static const char *const texts[] = {"version: 1\n", "version: \"1\"\n", "{\"version\": 1}",
                                        "{\"version\": \"1\"}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_slice(tree_get(parse(texts[i]), "version")->text, "1");
    assert_slice(tree_get(parse("version: 1.10\n"), "version")->text, "1.10");
}

static void nest(struct buf *b, const char *open, const char *close, int depth) {
    for (int i = 0; i < depth; i++)
        buf_put_str(b, open);
    for (int i = 0; i < depth; i++)
        buf_put_str(b, close);
}

static void test_depth(void **state) {
    (void)state;
    static const struct {
        const char *open;
        const char *close;
        parse_fn *parse;
    } rows[] = {
        {"[", "]", tree_parse_json},       {"[", "]", tree_parse_yaml}, {"[", "]", tree_parse},
        {"{\"a\":", "}", tree_parse_yaml}, {"- ", "", tree_parse_yaml}, {"? ", "", tree_parse_yaml},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int over = 0; over <= 1; over++) {
            cleanup_buf struct buf b;
            const struct tree *root;
            buf_init(&b, 1 << 16);
            nest(&b, rows[i].open, rows[i].close, TREE_DEPTH_MAX + over);
            int got = parse_copy(rows[i].parse, buf_slice(&b), &root);
            if (rows[i].open[0] == '?') {
                assert_int_equal(got, -1);
                continue;
            }
            assert_int_equal(got, -over);
            if (over)
                assert_non_null(strstr(err.text, "nested deeper than 32 levels"));
        }
    cleanup_buf struct buf b;
    const struct tree *root;
    buf_init(&b, 4 << 20);
    nest(&b, "[", "]", 1 << 20);
    assert_int_equal(parse_copy(tree_parse_yaml, buf_slice(&b), &root), -1);
}

static void test_size(void **state) {
    (void)state;
    const struct tree *root;
    cleanup_free char *text = mem_alloc(TREE_BYTES_MAX + 1);
    memset(text, 'a', TREE_BYTES_MAX + 1);
    assert_int_equal(tree_parse(slice_of(text, TREE_BYTES_MAX + 1), &arena, &root, &err), -1);
    assert_non_null(strstr(err.text, "larger than 16 MB"));
    assert_int_equal(tree_parse(slice_of(text, TREE_BYTES_MAX), &arena, &root, &err), 0);
    assert_int_equal(root->text.len, TREE_BYTES_MAX);
}

static void test_node_count(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        const struct tree *root;
        buf_init(&b, 8 << 20);
        buf_put_char(&b, '[');
        for (int i = 0; i < TREE_NODES_MAX - 2 + over; i++)
            buf_put_str(&b, "0,");
        buf_put_str(&b, "0]");
        assert_int_equal(tree_parse_json(buf_slice(&b), &arena, &root, &err), -over);
        if (over)
            assert_non_null(strstr(err.text, "more than 1000000 values"));
        arena_free(&arena);
    }
}

static void test_number_length(void **state) {
    (void)state;
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        const struct tree *root;
        buf_init(&b, 1 << 16);
        buf_put_str(&b, "a: 0.");
        for (int i = 0; i < TAPE_NUMBER_MAX - 2 + over; i++)
            buf_put_char(&b, '1');
        assert_int_equal(tree_parse(buf_slice(&b), &arena, &root, &err), -over);
    }
}

/* Over the size from which keys are hashed, with the twins far apart. */
static void test_duplicate_in_large_map(void **state) {
    (void)state;
    for (int twin = 0; twin <= 1; twin++) {
        cleanup_buf struct buf b;
        const struct tree *root;
        buf_init(&b, 1 << 20);
        for (int i = 0; i < 5000; i++)
            buf_printf(&b, "k%d: 1\n", twin && i == 4999 ? 3 : i);
        assert_int_equal(tree_parse_yaml(buf_slice(&b), &arena, &root, &err), -twin);
        if (twin)
            assert_string_equal(err.text,
                                "line 5000, column 1: duplicate key `k3`, first at line 4, column 1");
        else
            assert_int_equal(root->count, 5000);
    }
}

static void test_check_keys(void **state) {
    (void)state;
    static const char *const known[] = {"hide", "allow", "version", NULL};
    assert_int_equal(tree_check_keys(parse("hide: 1\nversion: 2\n"), known, &err), 0);
    assert_int_equal(tree_check_keys(parse("[1]"), known, &err), 0);
    assert_int_equal(tree_check_keys(parse("allow: 1\nhiden: 2\n"), known, &err), -1);
    assert_string_equal(err.text, "line 2, column 1: unknown key `hiden`, did you mean `hide`?");
    assert_int_equal(tree_check_keys(parse("something_else: 1\n"), known, &err), -1);
    assert_string_equal(err.text, "line 1, column 1: unknown key `something_else`");
    assert_int_equal(tree_check_keys(parse("hid: 1\n"), known, NULL), -1);
}

/* A message shows only the front of a long key, cut between characters. */
static void test_long_key_in_message(void **state) {
    (void)state;
    static const char *const known[] = {"a", NULL};
    cleanup_buf struct buf b;
    const struct tree *root;
    buf_init(&b, 1 << 16);
    buf_put_char(&b, 'x');
    for (int i = 0; i < 300; i++)
        buf_put_str(&b, "\xc3\xa9");
    buf_put_str(&b, ": 1\n");
    assert_int_equal(tree_parse_yaml(buf_slice(&b), &arena, &root, &err), 0);
    assert_int_equal(tree_check_keys(root, known, &err), -1);
    assert_true(strlen(err.text) < 120);
    assert_non_null(strstr(err.text, "\xc3\xa9`"));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_yaml_refusals),
        TEST(test_json_refusals),
        TEST(test_json_faults_do_not_fall_through),
        TEST(test_flow_yaml_with_braces),
        TEST(test_scalars),
        TEST(test_underscores),
        TEST(test_aliases),
        TEST(test_merges),
        TEST(test_json_scalars),
        TEST(test_positions),
        TEST(test_json_positions_match_yaml),
        TEST(test_shapes),
        TEST(test_version_text),
        TEST(test_depth),
        TEST(test_size),
        TEST(test_node_count),
        TEST(test_number_length),
        TEST(test_duplicate_in_large_map),
        TEST(test_check_keys),
        TEST(test_long_key_in_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
