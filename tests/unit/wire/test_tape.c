/* Texts that must be read, texts that must be refused and with which fault, and what is read from them. Each
 * is parsed in memory that ends where the text ends. */
#include "wire/tape.h"

#include "base/buf.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct text_case {
    struct slice text;
    enum tape_fault want;
};

#define YES(text)                                                                                            \
    { {text, sizeof(text) - 1}, TAPE_OK }
#define NO(text, fault)                                                                                      \
    { {text, sizeof(text) - 1}, TAPE_##fault }

static const struct text_case accepted[] = {
    YES("null"),
    YES("true"),
    YES("false"),
    YES("0"),
    YES("-0"),
    YES("1"),
    YES("-1"),
    YES("\"\""),
    YES("\"a\""),
    YES("{}"),
    YES("[]"),
    YES(" null"),
    YES("null "),
    YES("\t\r\n null\t\r\n "),
    YES("[ ]"),
    YES("{ }"),
    YES("[\n]"),
    YES("[1]"),
    YES("[1,2]"),
    YES("[ 1 , 2 ]"),
    YES("[1\n,\n2\n]"),
    YES("[[]]"),
    YES("[[],[]]"),
    YES("[{}]"),
    YES("{\"a\":1}"),
    YES("{\"a\":1,\"b\":2}"),
    YES("{ \"a\" : 1 , \"b\" : 2 }"),
    YES("{\"\":0}"),
    YES("{\"a\":{}}"),
    YES("{\"a\":[]}"),
    YES("{\"a\":null,\"A\":null}"),
    YES("{\"a\":1,\"a \":2}"),
    YES("{\"a\":1,\"aa\":2}"),
    YES("{\"x\":{\"a\":1},\"y\":{\"a\":1}}"),
    YES("{\"a\":{\"a\":{\"a\":1}}}"),
    YES("[{\"a\":1},{\"a\":1}]"),
    YES("{\"\\u0000\":1,\"\":2}"),
    YES("{\"\\n\":1,\"n\":2}"),
    /* numbers */
    YES("10"),
    YES("123456789"),
    YES("1.0"),
    YES("0.5"),
    YES("-0.5"),
    YES("1e1"),
    YES("1E1"),
    YES("1e+1"),
    YES("1e-1"),
    YES("1.5e10"),
    YES("0e0"),
    YES("0.0e0"),
    YES("-0e-0"),
    YES("1e400"),
    YES("-1e400"),
    YES("1e-400"),
    YES("1E00001"),
    YES("9007199254740993"),
    YES("9223372036854775807"),
    YES("-9223372036854775808"),
    YES("18446744073709551616"),
    YES("123456789012345678901234567890"),
    YES("0.000000000000000000000000000000000000000000000000001"),
    YES("[0,-0,0.0]"),
    YES("[1,2.5,-3e4]"),
    /* strings */
    YES("\"\\\"\""),
    YES("\"\\\\\""),
    YES("\"\\/\""),
    YES("\"/\""),
    YES("\"\\b\\f\\n\\r\\t\""),
    YES("\"\\u0041\""),
    YES("\"\\u00e9\""),
    YES("\"\\u00E9\""),
    YES("\"\\u20ac\""),
    YES("\"\\ud83d\\ude00\""),
    YES("\"\\uD83D\\uDE00\""),
    YES("\"\\udbff\\udfff\""),
    YES("\"\\ud800\\udc00\""),
    YES("\"\\u0000\""),
    YES("\"\\u001f\""),
    YES("\"\\uffff\""),
    YES("\"\\ufffe\""),
    YES("\"\\\\u0041\""),
    YES("\"\\\\\\\"\""),
    YES("\"\x7f\""),
    YES("\"\xc3\xa9\""),
    YES("\"\xe2\x82\xac\""),
    YES("\"\xf0\x9f\x98\x80\""),
    YES("\"\xf4\x8f\xbf\xbf\""),
    YES("\"\xed\x9f\xbf\""),
    YES("\"\xee\x80\x80\""),
    YES("\"\xef\xbf\xbf\""),
    YES("\"\xc2\x80\""),
    YES("\"\xe0\xa0\x80\""),
    YES("\"\xf0\x90\x80\x80\""),
    YES("\"\xe2\x80\xa8\""),
    YES("\"\xef\xbb\xbf\""),
    YES("\"0123456789abcdef\""),
    YES("\"0123456789abcde\\n\""),
    YES("\"0123456789abcdef\xc3\xa9\""),
    YES("\"'\""),
    YES("\"// no comment\""),
    YES("[\"a\",\"b\"]"),
    YES("[\"\",\"\",\"\"]"),
    YES("[\"\\u0061\",\"a\"]"),
    YES("{\"\\u0061\":\"\\u0062\"}"),
    YES("{\"\xc3\xa9\":1,\"e\":2}"),
    /* mixtures */
    YES("[null,true,false,1,\"x\",[],{}]"),
    YES("[[[[[[[[[[1]]]]]]]]]]"),
    YES("{\"a\":[{\"b\":[{\"c\":null}]}]}"),
    YES("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
        "call\",\"params\":{\"name\":\"x\",\"arguments\":{\"a\":[1,2]}}}"),
};

static const struct text_case refused[] = {
    /* nothing, or not enough */
    NO("", TRUNCATED),
    NO(" ", TRUNCATED),
    NO("\n\t", TRUNCATED),
    NO("[", TRUNCATED),
    NO("{", TRUNCATED),
    NO("[1", TRUNCATED),
    NO("[1,", TRUNCATED),
    NO("[[]", TRUNCATED),
    NO("{\"", TRUNCATED),
    NO("{\"a", TRUNCATED),
    NO("{\"a\"", TRUNCATED),
    NO("{\"a\":", TRUNCATED),
    NO("{\"a\":1", TRUNCATED),
    NO("{\"a\":1,", TRUNCATED),
    NO("\"", TRUNCATED),
    NO("\"a", TRUNCATED),
    NO("\"\\", TRUNCATED),
    NO("\"\\\"", TRUNCATED),
    NO("\"\\u", TRUNCATED),
    NO("\"\\u00", TRUNCATED),
    NO("\"\\u0041", TRUNCATED),
    NO("\"\\ud83d", TRUNCATED),
    NO("\"\\ud83d\\", TRUNCATED),
    NO("\"\\ud83d\\ude0", TRUNCATED),
    NO("t", TRUNCATED),
    NO("tru", TRUNCATED),
    NO("fals", TRUNCATED),
    NO("nul", TRUNCATED),
    NO("-", TRUNCATED),
    NO("1.", TRUNCATED),
    NO("1e", TRUNCATED),
    NO("1e+", TRUNCATED),
    NO("[{\"a\":[", TRUNCATED),
    NO("[ ", TRUNCATED),
    NO("{ ", TRUNCATED),
    /* words */
    NO("True", SYNTAX),
    NO("TRUE", SYNTAX),
    NO("nil", SYNTAX),
    NO("nulL", SYNTAX),
    NO("truth", SYNTAX),
    NO("truex", SYNTAX),
    NO("nulll", SYNTAX),
    NO("undefined", SYNTAX),
    NO("NaN", SYNTAX),
    NO("Infinity", SYNTAX),
    NO("-Infinity", SYNTAX),
    NO("-NaN", SYNTAX),
    NO("[NaN]", SYNTAX),
    NO("a", SYNTAX),
    NO("[a]", SYNTAX),
    NO("yes", SYNTAX),
    /* structure */
    NO("]", SYNTAX),
    NO("}", SYNTAX),
    NO(",", SYNTAX),
    NO(":", SYNTAX),
    NO("[}", SYNTAX),
    NO("{]", SYNTAX),
    NO("[1}", SYNTAX),
    NO("{\"a\":1]", SYNTAX),
    NO("[,]", SYNTAX),
    NO("[,1]", SYNTAX),
    NO("[1,]", SYNTAX),
    NO("[1,,2]", SYNTAX),
    NO("[1 2]", SYNTAX),
    NO("[1:2]", SYNTAX),
    NO("[\"a\":1]", SYNTAX),
    NO("{,}", SYNTAX),
    NO("{\"a\"}", SYNTAX),
    NO("{\"a\",\"b\"}", SYNTAX),
    NO("{\"a\":}", SYNTAX),
    NO("{\"a\":,}", SYNTAX),
    NO("{\"a\":1,}", SYNTAX),
    NO("{\"a\":1,,\"b\":2}", SYNTAX),
    NO("{\"a\":1 \"b\":2}", SYNTAX),
    NO("{\"a\" 1}", SYNTAX),
    NO("{\"a\"::1}", SYNTAX),
    NO("{\"a\"=1}", SYNTAX),
    NO("{a:1}", SYNTAX),
    NO("{'a':1}", SYNTAX),
    NO("{1:2}", SYNTAX),
    NO("{null:1}", SYNTAX),
    NO("{[]:1}", SYNTAX),
    NO("{:1}", SYNTAX),
    NO("{\"a\":1}}", SYNTAX),
    NO("[]]", SYNTAX),
    NO("[][]", SYNTAX),
    NO("{}{}", SYNTAX),
    NO("1 2", SYNTAX),
    NO("1,", SYNTAX),
    NO("\"a\"\"b\"", SYNTAX),
    NO("\"a\" x", SYNTAX),
    NO("null null", SYNTAX),
    NO("[1];", SYNTAX),
    NO("{\"a\":1}\0", SYNTAX),
    NO("[1,{]}", SYNTAX),
    NO("[\"a\",\n4\n,1,,]", SYNTAX),
    NO("(1)", SYNTAX),
    NO("<x>", SYNTAX),
    NO("*", SYNTAX),
    /* comments and white space that is none */
    NO("// x\n1", SYNTAX),
    NO("/* x */ 1", SYNTAX),
    NO("[1 // x\n]", SYNTAX),
    NO("[1, # x\n2]", SYNTAX),
    NO("\f1", SYNTAX),
    NO("\v1", SYNTAX),
    NO("\xa0"
       "1",
       SYNTAX),
    NO("\xc2\xa0"
       "1",
       SYNTAX),
    NO("[\f]", SYNTAX),
    NO("1\0", SYNTAX),
    NO("\0", SYNTAX),
    NO("\0"
       "1",
       SYNTAX),
    NO("[1\0]", SYNTAX),
    NO("\xe2\x80\xa8"
       "1",
       SYNTAX),
    NO("\xef\xbb\xbf"
       "1",
       SYNTAX),
    NO("\xef\xbb\xbf", SYNTAX),
    NO("\xff\xfe[\0]\0", SYNTAX),
    NO("\0[\0]", SYNTAX),
    /* numbers */
    NO("01", SYNTAX),
    NO("-01", SYNTAX),
    NO("00", SYNTAX),
    NO("-00", SYNTAX),
    NO("+1", SYNTAX),
    NO("++1", SYNTAX),
    NO("--1", SYNTAX),
    NO(".5", SYNTAX),
    NO("-.5", SYNTAX),
    NO("5.x", SYNTAX),
    NO("1..2", SYNTAX),
    NO("1.2.3", SYNTAX),
    NO("1.e1", SYNTAX),
    NO("1ee1", SYNTAX),
    NO("1e1.5", SYNTAX),
    NO("1e+-1", SYNTAX),
    NO("e1", SYNTAX),
    NO("- 1", SYNTAX),
    NO("-a", SYNTAX),
    NO("1a", SYNTAX),
    NO("0x1", SYNTAX),
    NO("0b1", SYNTAX),
    NO("0o1", SYNTAX),
    NO("1_000", SYNTAX),
    NO("1,000", SYNTAX),
    NO("0e", TRUNCATED),
    NO("[1.]", SYNTAX),
    NO("[1e]", SYNTAX),
    NO("[-]", SYNTAX),
    NO("[0e+]", SYNTAX),
    NO("1f", SYNTAX),
    NO("1L", SYNTAX),
    NO("\xef\xbc\x91", SYNTAX),
    NO("[1\x00"
       "2]",
       SYNTAX),
    NO("$1", SYNTAX),
    NO("1e 1", SYNTAX),
    /* strings */
    NO("'a'", SYNTAX),
    NO("`a`", SYNTAX),
    NO("\"\n\"", SYNTAX),
    NO("\"\t\"", SYNTAX),
    NO("\"\r\"", SYNTAX),
    NO("\"\0\"", SYNTAX),
    NO("\"\x1f\"", SYNTAX),
    NO("\"0123456789abcdef\x01\"", SYNTAX),
    NO("\"\\a\"", SYNTAX),
    NO("\"\\'\"", SYNTAX),
    NO("\"\\0\"", SYNTAX),
    NO("\"\\x41\"", SYNTAX),
    NO("\"\\U0041\"", SYNTAX),
    NO("\"\\ \"", SYNTAX),
    NO("\"\\\n\"", SYNTAX),
    NO("\"\\u004\"", SYNTAX),
    NO("\"\\u00g0\"", SYNTAX),
    NO("\"\\u 041\"", SYNTAX),
    NO("\"\\u+041\"", SYNTAX),
    NO("\"\\u-041\"", SYNTAX),
    NO("\"\\u{41}\"", SYNTAX),
    NO("\"\\\xc3\xa9\"", SYNTAX),
    NO("\"a\\\"", TRUNCATED),
    /* surrogates */
    NO("\"\\ud800\"", SURROGATE),
    NO("\"\\udbff\"", SURROGATE),
    NO("\"\\udc00\"", SURROGATE),
    NO("\"\\udfff\"", SURROGATE),
    NO("\"\\ud800a\"", SURROGATE),
    NO("\"\\ud800\\n\"", SURROGATE),
    NO("\"\\ud800\\u0041\"", SURROGATE),
    NO("\"\\ud800\\ud800\"", SURROGATE),
    NO("\"\\udc00\\ud800\"", SURROGATE),
    NO("\"\\ud800\\ue000\"", SURROGATE),
    NO("\"\\ud83d\\ude00\\ud83d\"", SURROGATE),
    NO("{\"\\ud800\":1}", SURROGATE),
    NO("\"\\ud800\xed\xb0\x80\"", SURROGATE),
    /* UTF-8 */
    NO("\"\x80\"", UTF8),
    NO("\"\xbf\"", UTF8),
    NO("\"\xc0\x80\"", UTF8),
    NO("\"\xc1\xbf\"", UTF8),
    NO("\"\xc3\"", UTF8),
    NO("\"\xc3(\"", UTF8),
    NO("\"\xe2\x82\"", UTF8),
    NO("\"\xe2(\xa1\"", UTF8),
    NO("\"\xe0\x80\xaf\"", UTF8),
    NO("\"\xe0\x9f\xbf\"", UTF8),
    NO("\"\xed\xa0\x80\"", UTF8),
    NO("\"\xed\xbf\xbf\"", UTF8),
    NO("\"\xf0\x80\x80\xaf\"", UTF8),
    NO("\"\xf0\x8f\xbf\xbf\"", UTF8),
    NO("\"\xf0\x9f\x98\"", UTF8),
    NO("\"\xf4\x90\x80\x80\"", UTF8),
    NO("\"\xf5\x80\x80\x80\"", UTF8),
    NO("\"\xf8\x88\x80\x80\x80\"", UTF8),
    NO("\"\xfe\"", UTF8),
    NO("\"\xff\"", UTF8),
    NO("\"0123456789abcdef\xff\"", UTF8),
    NO("{\"\xff\":1}", UTF8),
    NO("\"\xc3", UTF8),
    NO("\"\xe9t\xe9\"", UTF8),
    /* duplicate keys */
    NO("{\"a\":1,\"a\":1}", DUPLICATE),
    NO("{\"a\":1,\"b\":2,\"a\":3}", DUPLICATE),
    NO("{\"\":1,\"\":2}", DUPLICATE),
    NO("{\"a\":1,\"\\u0061\":2}", DUPLICATE),
    NO("{\"\\u0061\":1,\"a\":2}", DUPLICATE),
    NO("{\"\\u0061\":1,\"\\u0061\":2}", DUPLICATE),
    NO("{\"\\/\":1,\"/\":2}", DUPLICATE),
    NO("{\"\\n\":1,\"\\u000a\":2}", DUPLICATE),
    NO("{\"\\u000A\":1,\"\\u000a\":2}", DUPLICATE),
    NO("{\"\xc3\xa9\":1,\"\\u00e9\":2}", DUPLICATE),
    NO("{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}", DUPLICATE),
    NO("{\"\\u0000\":1,\"\\u0000\":2}", DUPLICATE),
    NO("[{\"x\":{\"a\":1,\"a\":2}}]", DUPLICATE),
    NO("{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"0\":1}",
       DUPLICATE),
    NO("{\"0\":0,\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,\"9\":0,\"\\u0030\":1}",
       DUPLICATE),
};

static enum tape_fault parse_exact(struct tape *t, struct slice text, size_t *ret_at) {
    static char *kept; /* the tape points into it until the next call */
    free(kept);
    kept = mem_alloc(text.len);
    if (text.len)
        memcpy(kept, text.ptr, text.len);
    return tape_parse(t, slice_of(kept, text.len), ret_at);
}

static void check_table(const struct text_case *rows, size_t count) {
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < count; i++) {
        size_t at = SIZE_MAX;
        enum tape_fault got = parse_exact(&t, rows[i].text, &at);
        if (got != rows[i].want)
            fail_msg("`%.*s`: %s instead of %s", SLICE_FMT(rows[i].text), tape_fault_text(got),
                     tape_fault_text(rows[i].want));
        assert_true(at <= rows[i].text.len);
        if (got == TAPE_TRUNCATED)
            continue;
        /* Nothing that was refused inside becomes right by what follows, and white space changes nothing. */
        cleanup_buf struct buf b;
        buf_init(&b, 4096);
        buf_put_char(&b, ' ');
        buf_put_slice(&b, rows[i].text);
        buf_put_char(&b, '\n');
        got = tape_parse(&t, buf_slice(&b), NULL);
        if (got != rows[i].want)
            fail_msg("`%.*s` with space: %s", SLICE_FMT(rows[i].text), tape_fault_text(got));
    }
    parse_exact(&t, SLICE("0"), NULL);
}

static void test_accepted(void **state) {
    (void)state;
    check_table(accepted, ARRAY_LEN(accepted));
}

static void test_refused(void **state) {
    (void)state;
    check_table(refused, ARRAY_LEN(refused));
}

/* Every front part of an accepted text that is not itself one is refused. */
static void test_prefixes(void **state) {
    (void)state;
    struct slice text = SLICE("{\"a\":[1.5e3,true,null,\"\\ud83d\\ude00\xc3\xa9\"],\"b\":{}}");
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t len = 0; len < text.len; len++) {
        enum tape_fault got = parse_exact(&t, slice_upto(text, len), NULL);
        assert_true(got == TAPE_TRUNCATED || got == TAPE_UTF8);
    }
    assert_int_equal(parse_exact(&t, text, NULL), TAPE_OK);
}

static void test_fault_offsets(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } rows[] = {
        {"", 0},      {"x", 0},       {"  x", 2},      {"[1 2]", 3},       {"[1,]", 3},
        {"tru ", 3},  {"\"a\n\"", 2}, {"\"a\\q\"", 2}, {"\"\xff\"", 1},    {"{\"a\":1}x", 7},
        {"{1:2}", 1}, {"01", 1},      {"[[", 2},       {"\"\\ud800\"", 7},
    };
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        size_t at;
        assert_int_not_equal(tape_parse(&t, slice_str(rows[i].text), &at), TAPE_OK);
        if (at != rows[i].at)
            fail_msg("%s: at %zu", rows[i].text, at);
    }
}

static void test_depth(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    for (int over = 0; over <= 1; over++)
        for (int object = 0; object <= 1; object++) {
            cleanup_buf struct buf b;
            buf_init(&b, 4096);
            for (int i = 0; i < TAPE_DEPTH_MAX + over; i++)
                buf_put_str(&b, object ? "{\"a\":" : "[");
            buf_put_str(&b, "0");
            for (int i = 0; i < TAPE_DEPTH_MAX + over; i++)
                buf_put_char(&b, object ? '}' : ']');
            assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), over ? TAPE_DEPTH : TAPE_OK);
        }
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 1 << 19; i++)
        buf_put_char(&b, '[');
    assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_DEPTH);
}

static void test_number_length(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 4096);
        for (int i = 0; i < TAPE_NUMBER_MAX + over; i++)
            buf_put_char(&b, '7');
        assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), over ? TAPE_TOO_LARGE : TAPE_OK);
    }
}

static void test_node_count(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    for (int over = 0; over <= 1; over++) {
        cleanup_buf struct buf b;
        buf_init(&b, 32 << 20);
        buf_put_char(&b, '[');
        for (uint32_t i = 0; i < TAPE_NODES_MAX - 2 + (uint32_t)over; i++)
            buf_put(&b, "0,", 2);
        buf_put_str(&b, "0]");
        assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), over ? TAPE_TOO_LARGE : TAPE_OK);
        if (!over)
            assert_int_equal(t.nodes[0].count, TAPE_NODES_MAX - 1);
    }
    tape_trim(&t);
    assert_int_equal(t.cap, 0);
}

static void test_nodes(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    struct slice text = SLICE(" {\"a\" : [1,\"x\\n\"] , \"b\":null}");
    assert_int_equal(tape_parse(&t, text, NULL), TAPE_OK);
    static const struct {
        enum tape_type type;
        uint32_t next, count, flags;
        const char *raw;
    } want[] = {
        {TAPE_OBJECT, 7, 2, 0, "{\"a\" : [1,\"x\\n\"] , \"b\":null}"},
        {TAPE_STRING, 2, 0, 0, "\"a\""},
        {TAPE_ARRAY, 5, 2, 0, "[1,\"x\\n\"]"},
        {TAPE_NUMBER, 4, 0, TAPE_INTEGER, "1"},
        {TAPE_STRING, 5, 0, TAPE_ESCAPED, "\"x\\n\""},
        {TAPE_STRING, 6, 0, 0, "\"b\""},
        {TAPE_NULL, 7, 0, 0, "null"},
    };
    assert_int_equal(t.count, ARRAY_LEN(want));
    for (uint32_t i = 0; i < t.count; i++) {
        assert_int_equal(t.nodes[i].type, want[i].type);
        assert_int_equal(t.nodes[i].next, want[i].next);
        assert_int_equal(t.nodes[i].count, want[i].count);
        assert_int_equal(t.nodes[i].flags, want[i].flags);
        assert_true(slice_is(tape_raw(&t, i), want[i].raw));
    }
    assert_int_equal(t.nodes[4].start, 12);
    assert_int_equal(t.nodes[4].len, 3);
}

static void test_lookups(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(
        tape_parse(&t, SLICE("{\"p\":{\"_\\u006deta\":{\"x\":7}},\"l\":[{\"p\":1}],\"\":\"e\"}"), NULL), 0);
    uint32_t x = tape_path(&t, 0, "p", "_meta", "x", NULL);
    int64_t value = 0;
    assert_true(x && tape_int(&t, x, &value));
    assert_int_equal(value, 7);
    assert_int_equal(tape_path(&t, 0, "p", "nope", "x", NULL), 0);
    assert_int_equal(tape_path(&t, 0, "l", "p", NULL), 0); /* arrays have no keys */
    assert_int_equal(tape_get_str(&t, 0, "x"), 0);         /* not looked for below */
    assert_true(tape_get_str(&t, 0, "") != 0);
    assert_int_equal(tape_get_str(&t, 1, "p"), 0);
    assert_int_equal(tape_get_str(&t, 1000, "p"), 0);
    size_t members = 0, elements = 0;
    TAPE_FOR_MEMBER(&t, 0, key) { members += tape_is(&t, key, TAPE_STRING); }
    TAPE_FOR_ELEM(&t, tape_get_str(&t, 0, "l"), i) { elements += tape_is(&t, i, TAPE_OBJECT); }
    assert_int_equal(members, 3);
    assert_int_equal(elements, 1);
    static const char *const names[] = {"l", "_meta", NULL};
    cleanup_arena struct arena a;
    arena_init(&a);
    assert_true(slice_is(tape_text_of(&t, 0, "", &a), "e"));
    assert_int_equal(tape_text_of(&t, 0, "p", &a).len, 0); /* no string */
    assert_int_equal(tape_text_of(&t, 0, "nope", &a).len, 0);
    assert_true(tape_eq_any(&t, tape_get_str(&t, 0, "p") + 1, names));
    assert_false(tape_eq_any(&t, x, names));
    assert_false(tape_eq_any(&t, x, NULL));
}

static void test_texts(void **state) {
    (void)state;
    static const struct {
        const char *json;
        struct slice want;
    } rows[] = {
        {"\"\"", {"", 0}},
        {"\"plain\"", {"plain", 5}},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}},
        {"\"\\u0041b\\u00e9\\u20ac\"", {"Ab\xc3\xa9\xe2\x82\xac", 7}},
        {"\"\\ud83d\\ude00\"", {"\xf0\x9f\x98\x80", 4}},
        {"\"\\udbff\\udfff\"", {"\xf4\x8f\xbf\xbf", 4}},
        {"\"\\ud800\\udc00\"", {"\xf0\x90\x80\x80", 4}},
        {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", {"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11}},
        {"\"a\\u0000b\"", {"a\0b", 3}},
        {"\"\\\\u0041\"", {"\\u0041", 6}},
    };
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(parse_exact(&t, slice_str(rows[i].json), NULL), TAPE_OK);
        assert_true(slice_eq(tape_text(&t, 0, &a), rows[i].want));
        assert_true(tape_eq(&t, 0, rows[i].want));
        for (size_t len = 0; len < rows[i].want.len; len++)
            assert_false(tape_eq(&t, 0, slice_upto(rows[i].want, len)));
        cleanup_buf struct buf longer;
        buf_init(&longer, 64);
        buf_put_slice(&longer, rows[i].want);
        buf_put_char(&longer, '\0');
        assert_false(tape_eq(&t, 0, buf_slice(&longer)));
        assert_int_equal(t.has_nul, slice_find(rows[i].want, '\0') >= 0);
    }
    parse_exact(&t, SLICE("[\"x\"]"), NULL);
    assert_false(tape_eq(&t, 0, SLICE("[\"x\"]")));
    assert_int_equal(tape_text(&t, 0, &a).len, 0);
    struct slice plain = tape_text(&t, 1, &a);
    assert_true(plain.ptr > t.src.ptr && plain.ptr < t.src.ptr + t.src.len); /* borrowed */
    parse_exact(&t, SLICE("0"), NULL);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
        double number;
    } rows[] = {
        {"0", true, 0, 0},
        {"-0", true, 0, -0.0},
        {"42", true, 42, 42},
        {"-42", true, -42, -42},
        {"9223372036854775807", true, INT64_MAX, 9223372036854775807.0},
        {"-9223372036854775808", true, INT64_MIN, -9223372036854775808.0},
        {"9223372036854775808", false, 0, 9223372036854775808.0},
        {"-9223372036854775809", false, 0, -9223372036854775808.0},
        {"99999999999999999999999", false, 0, 99999999999999999999999.0},
        {"1.0", false, 0, 1},
        {"1e2", false, 0, 100},
        {"0.1", false, 0, 0.1},
        {"2.2250738585072014e-308", false, 0, 2.2250738585072014e-308},
        {"1.7976931348623157e308", false, 0, 1.7976931348623157e308},
        {"1e400", false, 0, INFINITY},
        {"1e-400", false, 0, 0},
    };
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t value = 77;
        double number;
        assert_int_equal(parse_exact(&t, slice_str(rows[i].text), NULL), TAPE_OK);
        assert_int_equal(tape_int(&t, 0, &value), rows[i].whole);
        assert_int_equal(value, rows[i].whole ? rows[i].value : 77);
        assert_true(tape_double(&t, 0, &number) && number == rows[i].number);
        assert_true(slice_is(tape_raw(&t, 0), rows[i].text)); /* the text is kept */
    }
    int64_t value;
    double number;
    parse_exact(&t, SLICE("\"1\""), NULL);
    assert_false(tape_int(&t, 0, &value));
    assert_false(tape_double(&t, 0, &number));
    parse_exact(&t, SLICE("0"), NULL);
}

/* Large objects are checked by hashing: all different, then one twin, plain or escaped, anywhere. */
static void test_duplicates_in_large_objects(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    cleanup_tape struct tape t;
    tape_init(&t);
    for (int twin = -1; twin < COUNT - 1; twin += 331)
        for (int escaped = 0; escaped <= 1; escaped++) {
            cleanup_buf struct buf b;
            buf_init(&b, 1 << 20);
            for (int i = 0; i < COUNT; i++)
                buf_printf(&b, "%c\"%sey%d\":{\"a\":1}", i ? ',' : '{', i % 2 ? "k" : "\\u006b", i);
            if (twin >= 0)
                buf_printf(&b, ",\"%sey%d\":0", escaped ? "\\u006B" : "k", twin);
            buf_put_char(&b, '}');
            assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), twin >= 0 ? TAPE_DUPLICATE : TAPE_OK);
        }
}

static void test_reuse(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, SLICE("[1,2,3,\"\\u0000\"]"), NULL), TAPE_OK);
    struct tape_node *nodes = t.nodes;
    assert_true(t.has_nul);
    assert_int_equal(tape_parse(&t, SLICE("[1"), NULL), TAPE_TRUNCATED);
    assert_int_equal(tape_parse(&t, SLICE("{}"), NULL), TAPE_OK);
    assert_ptr_equal(t.nodes, nodes);
    assert_int_equal(t.count, 1);
    assert_false(t.has_nul);
    assert_int_equal(tape_parse(&t, (struct slice){0}, NULL), TAPE_TRUNCATED);
}

/* Wherever whitespace may stand, ends of lines in it are noticed; those inside strings are escapes. */
static void test_breaks(void **state) {
    (void)state;
    static const char *const with[] = {"\n[]",        "[]\r",          "[\n]",        "[1 \r]",
                                       "[1,\n2]",     "[1\r\n,2]",     "{\n\"a\":1}", "{\"a\"\r:1}",
                                       "{\"a\":\n1}", "{\"a\":1 \r\n}"};
    static const char *const without[] = {"[]", " [ 1 ,\t2 ] ", "{ \"a\" : \"\\n\\r\" }\t"};
    cleanup_tape struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < ARRAY_LEN(with); i++) {
        assert_int_equal(tape_parse(&t, slice_str(with[i]), NULL), TAPE_OK);
        assert_true(t.has_breaks);
        assert_int_equal(tape_parse(&t, slice_str(without[i % ARRAY_LEN(without)]), NULL), TAPE_OK);
        assert_false(t.has_breaks);
    }
}

static void test_too_large(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    size_t at = 77;
    tape_init(&t);
    /* Only the length is looked at. */
    assert_int_equal(tape_parse(&t, slice_of("", (size_t)TAPE_BYTES_MAX + 1), &at), TAPE_TOO_LARGE);
    assert_int_equal(at, 0);
}

/* Long strings are read in wide steps and short ones byte by byte: the two must agree on every byte
 * everywhere. */
static void test_every_byte_in_long_strings(void **state) {
    (void)state;
    char text[200];
    struct tape t;
    tape_init(&t);
    for (int c = 0; c < 256; c++) {
        char small[] = "\"xbb\"";
        small[1] = (char)c;
        size_t bad;
        enum tape_fault want = tape_parse(&t, SLICE(small), &bad);
        for (size_t at = 1; at + 3 < sizeof(text); at++) {
            memset(text, 'b', sizeof(text));
            text[0] = text[sizeof(text) - 1] = '"';
            text[at] = (char)c;
            size_t found;
            if (tape_parse(&t, slice_of(text, sizeof(text)), &found) != want ||
                (want && found != bad - 1 + at))
                fail_msg("byte %d at %zu: stopped at %zu", c, at, found);
        }
    }
    tape_free(&t);
}

/* The same of every escape, and of any number of them in a row. */
static void test_every_escape_in_long_strings(void **state) {
    (void)state;
    char text[200];
    struct tape t;
    tape_init(&t);
    for (int c = 0; c < 256; c++) {
        char small[] = "\"\\xbbbbb\"";
        small[2] = (char)c;
        size_t bad;
        enum tape_fault want = tape_parse(&t, SLICE(small), &bad);
        uint32_t flags = tape_node(&t, 0)->flags;
        for (size_t at = 1; at + 7 < sizeof(text); at++) {
            memset(text, 'b', sizeof(text));
            text[0] = text[sizeof(text) - 1] = '"';
            text[at] = '\\';
            text[at + 1] = (char)c;
            size_t found;
            if (tape_parse(&t, slice_of(text, sizeof(text)), &found) != want ||
                (want ? found != bad - 1 + at : tape_node(&t, 0)->flags != flags))
                fail_msg("escape %d at %zu: stopped at %zu", c, at, found);
        }
    }
    for (size_t count = 0; count + 2 <= sizeof(text); count++) { /* of backslashes behind a byte */
        memset(text, '\\', sizeof(text));
        text[0] = text[count + 1] = '"';
        assert_int_equal(tape_parse(&t, slice_of(text, count + 2), NULL),
                         count % 2 ? TAPE_TRUNCATED : TAPE_OK);
        assert_int_equal(tape_node(&t, 0)->flags, count % 2 || !count ? 0 : TAPE_ESCAPED);
    }
    tape_free(&t);
}

/* Long strings are decoded in wide steps: as one character after the other is, wherever the escape stands. */
static void test_decoding_everywhere(void **state) {
    (void)state;
    static const char *const escapes[] = {"\\n",        "\\\\",           "\\/",     "\\u00e9",
                                          "\\u20ac\\t", "\\ud83d\\ude00", "\\\"\\\""};
    struct arena a;
    struct tape t;
    arena_init(&a);
    tape_init(&t);
    for (size_t len = 12; len < 100; len++)
        for (size_t at = 0; at + 12 <= len; at++) {
            const char *escape = escapes[(len + at) % ARRAY_LEN(escapes)];
            char text[102], want[100];
            memset(text, 'b', sizeof(text));
            text[0] = text[len + 1] = '"';
            memcpy(text + 1 + at, escape, strlen(escape));
            assert_int_equal(tape_parse(&t, slice_of(text, len + 2), NULL), TAPE_OK);
            size_t n = 0;
            for (const char *p = text + 1; p < text + 1 + len;)
                n += tape_unescape(&p, want + n);
            struct slice got = tape_text(&t, 0, &a);
            assert_true(slice_eq(got, slice_of(want, n)));
        }
    tape_free(&t);
    arena_free(&a);
}

/* And of every kind of character and of what is none, among plain bytes and among characters. */
static void test_every_sequence_in_long_strings(void **state) {
    (void)state;
    static const char *const pieces[] = {"\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xef\xbf\xbf",
                                         "\xed\x9f\xbf",
                                         "\xf0\x9f\x98\x80",
                                         "\xf4\x8f\xbf\xbf",
                                         "\xc2\x80",
                                         "\xe0\xa0\x80",
                                         "\xf0\x90\x80\x80",
                                         "\xc1\xbf",
                                         "\xe0\x9f\xbf",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xed\xa0\x80",
                                         "\xf4\x90\x80\x80",
                                         "\xf5\x80\x80\x80",
                                         "\x80",
                                         "\xc3",
                                         "\xe2\x82",
                                         "\xf0\x9f\x98",
                                         "\xc3\xa9\xa9",
                                         "\xe2\x82\xac\x80",
                                         "\xff",
                                         "\xf0\x9f\x98\\n",
                                         "\xc3\"",
                                         "\\\xc3\xa9"};
    static const char *const fills[] = {"b", "\xd0\xb6", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\\n"};
    struct tape t;
    tape_init(&t);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces) * 5; i++) {
        const char *piece = pieces[i / 5], *fill = fills[i % 5];
        cleanup_buf struct buf text;
        buf_init(&text, 4096);
        buf_printf(&text, "\"%s%s\"", piece, fill);
        size_t bad = 0, found = 0;
        enum tape_fault want = tape_parse(&t, buf_slice(&text), &bad);
        for (size_t before = 0; before < 140; before++) {
            buf_reset(&text);
            buf_put_char(&text, '"');
            for (size_t k = 0; k < before; k++)
                buf_put_str(&text, fill);
            size_t at = text.len;
            buf_put_str(&text, piece);
            for (size_t k = 0; k < 140; k++)
                buf_put_str(&text, fill);
            buf_put_char(&text, '"');
            if (tape_parse(&t, buf_slice(&text), &found) != want || (want && found != bad - 1 + at))
                fail_msg("piece %zu behind %zu of fill %zu: stopped at %zu", i / 5, before, i % 5, found);
        }
    }
    tape_free(&t);
}

static void test_utf8(void **state) {
    (void)state;
    assert_true(tape_utf8_valid((struct slice){0}));
    assert_true(tape_utf8_valid(SLICE("a\0b\xc3\xa9")));
    assert_false(tape_utf8_valid(SLICE("\xc3")));
    assert_false(tape_utf8_valid(SLICE("\xed\xa0\x80")));
    assert_false(tape_utf8_valid(SLICE("\xf4\x90\x80\x80")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_fault_offsets),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_number_length),
        cmocka_unit_test(test_node_count),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_duplicates_in_large_objects),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_every_byte_in_long_strings),
        cmocka_unit_test(test_every_escape_in_long_strings),
        cmocka_unit_test(test_decoding_everywhere),
        cmocka_unit_test(test_every_sequence_in_long_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
