#include "policy/number.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int sign(int n) { return (n > 0) - (n < 0); }

static void test_order(void **state) {
    (void)state;
    static const struct {
        const char *x, *y;
        int order;
    } rows[] = {
        {"0", "-0", 0},
        {"1", "1.0", 0},
        {"1e3", "1000", 0},
        {"0.0001e4", "1", 0},
        {"100e-2", "1.00", 0},
        {"9007199254740992", "9007199254740993", -1},
        {"-9007199254740992", "-9007199254740993", 1},
        {"0.1", "0.10000000000000001", -1},
        {"1e400", "1e399", 1},
        {"1e-400", "0", 1},
        {"1e99999999999999999999", "2", 1},
        {"-1", "1", -1},
        {"972783798187987123879878123.18878137", "972783798187987123879878123.188781371", -1},
        {"10", "9", 1},
        {"0.02", "0.1", -1},
        {".5", "+0.50", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (sign(policy_number_cmp(slice_str(rows[i].x), slice_str(rows[i].y))) != rows[i].order ||
            sign(policy_number_cmp(slice_str(rows[i].y), slice_str(rows[i].x))) != -rows[i].order)
            fail_msg("%s and %s", rows[i].x, rows[i].y);
    }
}

static void test_integers(void **state) {
    (void)state;
    assert_true(policy_number_is_integer(SLICE("1.0")));
    assert_true(policy_number_is_integer(SLICE("12345678901234567890123")));
    assert_true(policy_number_is_integer(SLICE("1.5e1")));
    assert_true(policy_number_is_integer(SLICE("0.0")));
    assert_false(policy_number_is_integer(SLICE("1.5")));
    assert_false(policy_number_is_integer(SLICE("15e-1")));
    assert_false(policy_number_is_integer(SLICE("9007199254740993.5")));
}

static void test_multiples(void **state) {
    (void)state;
    assert_int_equal(policy_number_multiple(SLICE("0.0075"), SLICE("0.0001")), POLICY_MULTIPLE_YES);
    assert_int_equal(policy_number_multiple(SLICE("0.00751"), SLICE("0.0001")), POLICY_MULTIPLE_NO);
    assert_int_equal(policy_number_multiple(SLICE("1e308"), SLICE("0.123456789")), POLICY_MULTIPLE_NO);
    assert_int_equal(policy_number_multiple(SLICE("12391239123"), SLICE("1e-8")), POLICY_MULTIPLE_YES);
    assert_int_equal(policy_number_multiple(SLICE("-7"), SLICE("2")), POLICY_MULTIPLE_NO);
    assert_int_equal(policy_number_multiple(SLICE("-8"), SLICE("2")), POLICY_MULTIPLE_YES);
    assert_int_equal(policy_number_multiple(SLICE("0"), SLICE("3")), POLICY_MULTIPLE_YES);
    assert_int_equal(policy_number_multiple(SLICE("30"), SLICE("100")), POLICY_MULTIPLE_NO);
    assert_int_equal(policy_number_multiple(SLICE("1"), SLICE("1.2345678901234567890123")),
                     POLICY_MULTIPLE_UNKNOWN);
}

static void test_texts(void **state) {
    (void)state;
    assert_false(policy_number_is(SLICE("")));
    assert_false(policy_number_is(SLICE("-")));
    assert_false(policy_number_is(SLICE("1e")));
    assert_false(policy_number_is(SLICE("1 ")));
    assert_false(policy_number_is(SLICE("0x10")));
    assert_true(policy_number_is_short(SLICE("-12345.678")));
    assert_false(policy_number_is_short(SLICE("1e3")));
    assert_false(policy_number_is_short(SLICE("1234567890123456")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_multiples),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
