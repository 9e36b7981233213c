#include "policy/tick.h"
#include "policy/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define MINUTE 60000
#define T0 1767225600000ull /* 2026-01-01T00:00:00Z */

static struct policy_limit limit(enum policy_limit_kind kind, uint64_t window_ms, int64_t max,
                                 uint64_t now_ms) {
    return (struct policy_limit){
        .kind = kind,
        .window_ms = window_ms,
        .start_ms = kind == POLICY_FIXED ? policy_window_start(now_ms, window_ms) : now_ms,
        .max = max * POLICY_MICRO,
        .refill = max * POLICY_MICRO,
        .amount = POLICY_MICRO,
    };
}

static bool take(struct policy_meter *m, enum policy_limit_kind kind, uint64_t window_ms, int64_t max,
                 uint64_t now_ms, uint64_t *ret_retry) {
    struct policy_limit l = limit(kind, window_ms, max, now_ms);
    return policy_meter_reserve(m, &l, now_ms, ret_retry);
}

static void test_fixed(void **state) {
    (void)state;
    struct policy_meter m = {0};
    uint64_t retry = 0;
    assert_true(take(&m, POLICY_FIXED, MINUTE, 2, T0 + 50000, &retry));
    assert_true(take(&m, POLICY_FIXED, MINUTE, 2, T0 + 59999, &retry));
    assert_false(take(&m, POLICY_FIXED, MINUTE, 2, T0 + 59999, &retry));
    assert_int_equal(retry, 1);
    assert_true(take(&m, POLICY_FIXED, MINUTE, 2, T0 + 60000, &retry));
    struct policy_limit l = limit(POLICY_FIXED, MINUTE, 2, T0 + 60000);
    assert_int_equal(policy_meter_read(&m, &l, T0 + 60000), POLICY_MICRO);
    assert_int_equal(policy_meter_read(&m, &l, T0 + 120000), 0);
}

static void test_rollback_of_an_old_window_changes_nothing(void **state) {
    (void)state;
    struct policy_meter m = {0};
    struct policy_limit old = limit(POLICY_FIXED, MINUTE, 9, T0),
                        new = limit(POLICY_FIXED, MINUTE, 9, T0 + MINUTE);
    assert_true(policy_meter_reserve(&m, &old, T0, NULL));
    assert_true(policy_meter_reserve(&m, &new, T0 + MINUTE, NULL));
    policy_meter_release(&m, &old, T0 + MINUTE);
    assert_int_equal(policy_meter_read(&m, &new, T0 + MINUTE), POLICY_MICRO);
    policy_meter_release(&m, &new, T0 + MINUTE);
    assert_int_equal(policy_meter_read(&m, &new, T0 + MINUTE), 0);
    policy_meter_release(&m, &new, T0 + MINUTE); /* never below zero */
    assert_int_equal(m.value, 0);
}

static void test_a_clock_that_steps_back_gives_no_budget(void **state) {
    (void)state;
    struct policy_meter m = {0};
    assert_true(take(&m, POLICY_FIXED, MINUTE, 1, T0 + MINUTE, NULL));
    assert_false(take(&m, POLICY_FIXED, MINUTE, 1, T0, NULL));
}

/* Against the definition: every call of the last minute counts, and none older than a minute and a slot. */
static void test_sliding_never_counts_too_little(void **state) {
    (void)state;
    struct policy_meter m = {0};
    uint64_t calls[4096], now = T0;
    size_t count = 0;
    uint32_t random = 12345;
    for (int i = 0; i < 4000; i++) {
        random = random * 1664525 + 1013904223;
        now += random >> 20;
        struct policy_limit l = limit(POLICY_SLIDING, MINUTE, 10, now);
        int64_t must = 0, may = 0;
        for (size_t j = 0; j < count; j++) {
            must += calls[j] + MINUTE > now;
            may += calls[j] + MINUTE + 2 * (MINUTE / (POLICY_METER_SLOTS - 1)) >= now;
        }
        int64_t value = policy_meter_read(&m, &l, now) / POLICY_MICRO;
        assert_in_range(value, must, may);
        if (policy_meter_reserve(&m, &l, now, NULL))
            calls[count++] = now;
    }
    assert_true(count > 100);
}

static void test_sliding_retry_is_long_enough(void **state) {
    (void)state;
    struct policy_meter m = {0};
    uint64_t retry = 0;
    assert_true(take(&m, POLICY_SLIDING, MINUTE, 1, T0 + 1234, &retry));
    assert_false(take(&m, POLICY_SLIDING, MINUTE, 1, T0 + 5000, &retry));
    assert_true(retry > 0);
    assert_true(take(&m, POLICY_SLIDING, MINUTE, 1, T0 + 5000 + retry, &retry));
}

static void test_bucket(void **state) {
    (void)state;
    struct policy_meter m = {0};
    struct policy_limit l = limit(POLICY_BUCKET, MINUTE, 3, T0);
    l.refill = 60 * (int64_t)POLICY_MICRO;
    uint64_t retry = 0;
    for (int i = 0; i < 3; i++)
        assert_true(policy_meter_reserve(&m, &l, T0, &retry));
    assert_false(policy_meter_reserve(&m, &l, T0, &retry));
    assert_int_equal(retry, 1000);
    assert_true(policy_meter_reserve(&m, &l, T0 + retry, &retry));
    assert_int_equal(policy_meter_read(&m, &l, T0 + 3600000), 0);
}

static void test_concurrent(void **state) {
    (void)state;
    struct policy_meter m = {0};
    struct policy_limit l = limit(POLICY_CONCURRENT, 0, 2, T0);
    assert_true(policy_meter_reserve(&m, &l, T0, NULL) && policy_meter_reserve(&m, &l, T0, NULL));
    assert_false(policy_meter_reserve(&m, &l, T0 + 86400000, NULL));
    policy_meter_release(&m, &l, T0);
    assert_true(policy_meter_reserve(&m, &l, T0, NULL));
}

static void test_zero_checks_without_counting(void **state) {
    (void)state;
    struct policy_meter m = {0};
    struct policy_limit l = limit(POLICY_FIXED, MINUTE, 1, T0), check = l;
    check.amount = 0;
    assert_true(policy_meter_reserve(&m, &l, T0, NULL));
    assert_true(policy_meter_reserve(&m, &check, T0, NULL));
    check.max = 0;
    assert_false(policy_meter_reserve(&m, &check, T0, NULL));
}

static void test_overflow_refuses(void **state) {
    (void)state;
    struct policy_meter m = {0};
    struct policy_limit l = limit(POLICY_FIXED, MINUTE, 1, T0);
    l.max = POLICY_NO_MAX;
    l.amount = INT64_MAX - 5;
    assert_true(policy_meter_reserve(&m, &l, T0, NULL));
    l.amount = 6;
    assert_false(policy_meter_reserve(&m, &l, T0, NULL));
}

static void test_amounts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t micro; /* -1: refused */
    } rows[] = {
        {"0", 0},
        {"1", 1000000},
        {"0.1", 100000},
        {"0.99", 990000},
        {"0.0000001", 1},
        {"1.0000001", 1000001},
        {"1e3", 1000000000},
        {"25E-1", 2500000},
        {"-0", 0},
        {"-1", -1},
        {"-0.5", -1},
        {"", -1},
        {"abc", -1},
        {"1e400", -1},
        {"99999999999999999999", -1},
        {"9223372036854.775807", INT64_MAX},
        {"9223372036854.775808", -1},
        {"1.2.3", -1},
        {"1e", -1},
        {".5", 500000},
        {"+2", 2000000},
        {"NaN", -1},
        {"1e-300", 1},
        {"0e-300", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t micro = -1;
        if (!policy_amount_parse(slice_str(rows[i].text), &micro))
            micro = -1;
        if (micro != rows[i].micro)
            fail_msg("%s: %lld", rows[i].text, (long long)micro);
    }
}

static void test_durations(void **state) {
    (void)state;
    uint64_t ms;
    assert_true(policy_duration_parse(SLICE("30m"), &ms) && ms == 1800000);
    assert_true(policy_duration_parse(SLICE("90"), &ms) && ms == 90000);
    assert_true(policy_duration_parse(SLICE("250ms"), &ms) && ms == 250);
    assert_true(policy_duration_parse(SLICE("2d"), &ms) && ms == 172800000);
    assert_true(policy_duration_parse(SLICE("1h30m"), &ms) && ms == 5400000);
    assert_true(policy_duration_parse(SLICE("1m1s1ms"), &ms) && ms == 61001);
    assert_false(policy_duration_parse(SLICE("1h30"), &ms));
    assert_false(policy_duration_parse(SLICE("1h 30m"), &ms));
    assert_false(policy_duration_parse(SLICE("h"), &ms));
    assert_false(policy_duration_parse(SLICE("365d365d"), &ms));
    assert_false(policy_duration_parse(SLICE("0m0s"), &ms));
    assert_false(policy_duration_parse(SLICE("0"), &ms));
    assert_false(policy_duration_parse(SLICE("-1s"), &ms));
    assert_false(policy_duration_parse(SLICE("9999999d"), &ms));
    assert_false(policy_duration_parse(SLICE(""), &ms));
}

static void test_times(void **state) {
    (void)state;
    uint64_t ms;
    assert_true(policy_time_parse(SLICE("2026-01-01T00:00:00Z"), &ms) && ms == T0);
    assert_true(policy_time_parse(SLICE("2026-01-01T02:00:00.25+02:00"), &ms) && ms == T0 + 250);
    assert_true(policy_time_parse(SLICE("2024-02-29T12:00:00Z"), &ms));
    assert_false(policy_time_parse(SLICE("2026-02-29T12:00:00Z"), &ms));
    assert_false(policy_time_parse(SLICE("2026-13-01T00:00:00Z"), &ms));
    assert_false(policy_time_parse(SLICE("2026-01-01T00:00:00"), &ms));
    assert_false(policy_time_parse(SLICE("2026-01-01T00:00:00Zx"), &ms));
    assert_false(policy_time_parse(SLICE("1969-12-31T23:59:59Z"), &ms));
    assert_int_equal(policy_time_weekday(T0, 0), 3); /* a Thursday */
    assert_int_equal(policy_time_weekday(T0, -60), 2);
    assert_int_equal(policy_time_minute(T0, 90), 90);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_rollback_of_an_old_window_changes_nothing),
        cmocka_unit_test(test_a_clock_that_steps_back_gives_no_budget),
        cmocka_unit_test(test_sliding_never_counts_too_little),
        cmocka_unit_test(test_sliding_retry_is_long_enough),
        cmocka_unit_test(test_bucket),
        cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_zero_checks_without_counting),
        cmocka_unit_test(test_overflow_refuses),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
