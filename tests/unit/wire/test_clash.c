#include "wire/clash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

static bool clashes(const char *json) {
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, slice_str(json), NULL), TAPE_OK);
    return clash_find(&t, 0, 0) != 0;
}

static void test_find(void **state) {
    (void)state;
    assert_false(clashes("{\"amount\":1,\"total\":2,\"maxTokens\":3,\"maxtoken\":4}"));
    assert_true(clashes("{\"amount\":1,\"Amount\":2}"));
    assert_true(clashes("{\"a\":[1,{\"b\":{\"maxTokens\":1,\"maxtokens\":2}}]}"));
    assert_true(clashes("{\"sql\":1,\"\xc5\xbfql\":2}"));
    assert_true(clashes("{\"sql\":1,\"\\u017fql\":2}"));
    assert_true(clashes("{\"\\u0041\":1,\"a\":2}"));
    assert_true(clashes("{\"\xef\xac\x81le\":1,\"file\":2}"));
    assert_false(clashes("{\"\xc3\xa9\":1,\"e\":2}"));
    assert_false(clashes("[{\"a\":1},{\"A\":1}]"));
}

static void test_many_members(void **state) {
    (void)state;
    struct buf json;
    buf_init(&json, 1u << 20);
    buf_put_char(&json, '{');
    for (int i = 0; i < 5000; i++)
        buf_printf(&json, "\"Key%d\":1,", i);
    size_t len = json.len;
    buf_put_str(&json, "\"key5000\":1}");
    buf_put_char(&json, '\0');
    assert_false(clashes(json.ptr));
    json.len = len;
    buf_put_str(&json, "\"kEY4999\":1}");
    buf_put_char(&json, '\0');
    assert_true(clashes(json.ptr));
    buf_free(&json);
}

static void test_except(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    const struct slice json = SLICE("{\"params\":{\"arguments\":{\"a\":1,\"A\":2},\"name\":\"x\"}}");
    assert_int_equal(tape_parse(&t, json, NULL), TAPE_OK);
    uint32_t args = tape_path(&t, 0, "params", "arguments", NULL);
    assert_int_equal(clash_find(&t, 0, args), 0);
    assert_int_not_equal(clash_find(&t, args, 0), 0);
    assert_int_equal(clash_admit(&t, args), 0);
    assert_false(t.is_distinct); /* what was left out still has to be looked at */
    assert_int_not_equal(clash_find(&t, args, 0), 0);
    assert_int_equal(tape_parse(&t, SLICE("{\"a\":1,\"b\":2}"), NULL), TAPE_OK);
    assert_int_equal(clash_admit(&t, 0), 0);
    assert_true(t.is_distinct);
}

static void test_alike(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, SLICE("[{\"x\":1,\"Amount\":2}]"), NULL), TAPE_OK);
    assert_int_not_equal(clash_alike(&t, 1, SLICE("amount")), 0);
    assert_int_equal(clash_alike(&t, 1, SLICE("Amount")), 0);
    assert_int_equal(clash_alike(&t, 1, SLICE("amounts")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_except),
        cmocka_unit_test(test_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
