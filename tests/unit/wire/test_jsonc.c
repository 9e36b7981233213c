#include "wire/jsonc.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct arena arena;
static struct jsonc json;
static struct splice splice;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    jsonc_init(&json);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    jsonc_free(&json);
    return 0;
}

static void start(const char *text) {
    struct err err = {0};
    if (jsonc_parse(&json, slice_str(text), &err) < 0)
        fail_msg("%s", err.text);
    splice_init(&splice, json.src, &arena);
}

static void assert_result(const char *want) {
    cleanup_buf struct buf out;
    struct err err = {0};
    buf_init(&out, 1 << 20);
    assert_true(splice_write(&splice, &out));
    if (!slice_is(buf_slice(&out), want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(buf_slice(&out)), want);
    cleanup_jsonc struct jsonc again;
    jsonc_init(&again);
    if (jsonc_parse(&again, buf_slice(&out), &err) < 0)
        fail_msg("the result is not read again: %s", err.text);
}

static uint32_t member(const char *path) {
    uint32_t node = 0;
    struct slice rest = slice_str(path), part;
    bool more;
    do {
        more = slice_cut(&rest, '/', &part);
        node = tape_get(&json.tape, node, part);
        assert_true(node);
    } while (more);
    return node;
}

static void test_reads_comments(void **state) {
    (void)state;
    start("\xef\xbb\xbf// head\n{ /* a */ \"a//b\": \"/* no */ \\\" , ]\", // end\n \"l\": [1, 2, /* x */ ], "
          "}\n/* tail */");
    uint32_t text = tape_get(&json.tape, 0, SLICE("a//b"));
    assert_true(text && tape_eq(&json.tape, text, SLICE("/* no */ \" , ]")));
    assert_int_equal(tape_node(&json.tape, member("l"))->count, 2);
    assert_int_equal(json.src.ptr[jsonc_start(&json, member("l"))], '[');
    /* What an editor shows behind a lone carriage return is not a comment. */
    start("{\"a\": 1 // one\r, \"b\": 2 /* x\r */ }");
    assert_true(member("b"));
}

static void test_refuses(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{\"a\": 1,\n \"a\": 2}", "line 2"}, {"{", "line 1"},        {"", "line 1"},
        {"{\"a\": 1} // x\n 2", "line 2"},    {"{'a': 1}", "line 1"}, {"/* no end {}", "does not end"},
        {"{} /* no end", "does not end"},     {"{}\n/*/", "line 2"},  {"{} // x\r{}", "line 1"},
        {"{\"a\": 1, /* }", "does not end"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = {0};
        assert_int_equal(jsonc_parse(&json, slice_str(rows[i].text), &err), -1);
        assert_non_null(strstr(err.text, rows[i].why));
    }
}

static void test_prepends(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"x\": []}", "{\"x\": [1, 2]}"},
        {"{\"x\": [ ]}", "{\"x\": [1, 2 ]}"},
        {"{\"x\": [\"a\"]}", "{\"x\": [1, 2, \"a\"]}"},
        {"{\"x\": [ // c\n    \"a\",\n    \"b\"\n  ]}",
         "{\"x\": [ // c\n    1,\n    2,\n    \"a\",\n    \"b\"\n  ]}"},
        {"{\"x\": [\n\t\"a\",\n]}", "{\"x\": [\n\t1,\n\t2,\n\t\"a\",\n]}"},
    };
    static const struct slice values[] = {{"1", 1}, {"2", 1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(rows[i].text);
        assert_true(jsonc_prepend(&json, &splice, member("x"), values, 2));
        assert_result(rows[i].want);
    }
}

static void test_adds(void **state) {
    (void)state;
    start("{\n  \"a\": 1, // one\n  \"b\": 2\n}\n");
    assert_true(jsonc_add_behind(&json, &splice, member("a") - 1, SLICE("n"), SLICE("[]")));
    assert_result("{\n  \"a\": 1,\n  \"n\": [], // one\n  \"b\": 2\n}\n");
    start("{\"a\": 1}");
    assert_true(jsonc_add_behind(&json, &splice, member("a") - 1, SLICE("n"), SLICE("[]")));
    assert_result("{\"a\": 1, \"n\": []}");
    start("{\"a\": 1,}");
    assert_true(jsonc_add_behind(&json, &splice, member("a") - 1, SLICE("n"), SLICE("[]")));
    assert_result("{\"a\": 1, \"n\": [],}");
}

static void drop(const char *names) {
    uint32_t keys[8];
    size_t count = 0;
    for (; *names; names++) {
        char name[2] = {*names, 0};
        keys[count++] = member(name) - 1;
    }
    assert_true(jsonc_drop_members(&json, &splice, 0, keys, count));
}

static void test_drops(void **state) {
    (void)state;
    static const struct {
        const char *text, *names, *want;
    } rows[] = {
        {"{\"a\": 1}", "a", "{}"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "a", "{\"b\": 2, \"c\": 3}"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "b", "{\"a\": 1, \"c\": 3}"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "c", "{\"a\": 1, \"b\": 2 }"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "bc", "{\"a\": 1 }"},
        {"{\"a\": 1, \"b\": 2, \"c\": 3}", "abc", "{}"},
        {"{\n  // of a\n  \"a\": {\n    \"x\": 1\n  },\n  // of b\n  \"b\": 2\n}\n", "a",
         "{\n  // of a\n  // of b\n  \"b\": 2\n}\n"},
        {"{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}\n", "b", "{\n  \"a\": 1 // one\n   // two\n}\n"},
        {"{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n}\r\n", "b", "{\r\n  \"a\": 1,\r\n}\r\n"},
        {"{\n  \"a\": 1\n  , \"b\": 2\n}", "a", "{\n   \"b\": 2\n}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        start(rows[i].text);
        drop(rows[i].names);
        assert_result(rows[i].want);
    }
}

static void test_knows_indents(void **state) {
    (void)state;
    start("{\n\t\"a\": 1}");
    assert_true(slice_is(jsonc_unit(&json), "\t"));
    start("{\"a\": 1}");
    assert_true(slice_is(jsonc_unit(&json), "  "));
    start("[]");
    assert_true(slice_is(jsonc_unit(&json), "  "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prepends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_adds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_knows_indents, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reads_comments, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
