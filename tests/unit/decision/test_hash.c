/* The hash of arguments, by which the log, approvals and repetition know a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decision/judge.h"

static struct core core;
static struct arena arena;

static int set_up(void **state) {
    (void)state;
    core = (struct core){0};
    buf_init(&core.scratch, MSG_BYTES_MAX);
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    buf_free(&core.scratch);
    arena_free(&arena);
    return 0;
}

static struct slice hash(const char *json, bool of_tool) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf text;
    buf_init(&text, 1 << 16);
    buf_printf(&text, "{\"x\":%s}", json);
    assert_int_equal(tape_parse(&t, buf_slice(&text), NULL), TAPE_OK);
    return judge_hash(&core, &t, tape_get_str(&t, 0, "x"), of_tool, &arena);
}

static void test_order_and_spelling_do_not_matter(void **state) {
    (void)state;
    struct slice one = hash("{\"a\":1,\"b\":[1,2],\"c\":\"\\u00e9\"}", true);
    assert_int_equal(one.len, 64);
    assert_true(slice_eq(one, hash("{ \"c\" : \"\xc3\xa9\", \"b\" : [ 1, 2 ], \"a\" : 1 }", true)));
}

static void test_values_and_their_types_do(void **state) {
    (void)state;
    struct slice one = hash("{\"a\":1}", true);
    assert_false(slice_eq(one, hash("{\"a\":2}", true)));
    assert_false(slice_eq(one, hash("{\"a\":\"1\"}", true)));
    assert_false(slice_eq(one, hash("{\"a\":1,\"b\":null}", true)));
    assert_false(slice_eq(hash("{\"a\":[1,2]}", true), hash("{\"a\":[2,1]}", true)));
}

static void test_what_is_said_about_a_method_is_no_argument_of_it(void **state) {
    (void)state;
    struct slice plain = hash("{\"uri\":\"a\"}", false);
    assert_true(slice_eq(plain, hash("{\"uri\":\"a\",\"_meta\":{\"progressToken\":1}}", false)));
    assert_true(slice_eq(plain, hash("{\"uri\":\"a\",\"requestState\":\"s\",\"inputResponses\":{}}", false)));
    /* A tool may have an argument of that name. */
    assert_false(slice_eq(hash("{\"uri\":\"a\"}", true), hash("{\"uri\":\"a\",\"_meta\":{}}", true)));
}

static void test_no_arguments_are_an_empty_object(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, SLICE("{}"), NULL), TAPE_OK);
    assert_true(slice_eq(judge_hash(&core, &t, 0, true, &arena), hash("{}", true)));
}

#define hash_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        hash_test(test_order_and_spelling_do_not_matter),
        hash_test(test_values_and_their_types_do),
        hash_test(test_what_is_said_about_a_method_is_no_argument_of_it),
        hash_test(test_no_arguments_are_an_empty_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
