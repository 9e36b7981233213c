#include "state/meter.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALL STATE_MICRO
#define DAY_MS 86400000ull
#define T0 (20000 * DAY_MS) /* a midnight */

static struct state_limit limit_of(enum state_kind kind, uint64_t window_ms, int64_t calls) {
    return (struct state_limit){.kind = kind,
                                .key = SLICE("k"),
                                .window_ms = window_ms,
                                .max = calls * CALL,
                                .refill = calls * CALL,
                                .amount = CALL};
}

static bool add(struct state_meter *m, const struct state_limit *l, uint64_t now, uint64_t *retry) {
    struct state_hold hold;
    uint64_t ignored;
    return state_meter_add(m, l, now, 0, &hold, retry ? retry : &ignored);
}

static void test_fixed(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_FIXED, 60000, 3);
    uint64_t retry = 0;
    for (int i = 0; i < 3; i++)
        assert_true(add(&m, &l, T0 + 59000, NULL));
    assert_false(add(&m, &l, T0 + 59900, &retry));
    assert_int_equal(retry, 100);
    assert_int_equal(state_meter_read(&m, &l, T0 + 59999), 3 * CALL);
    assert_int_equal(state_meter_read(&m, &l, T0 + 60000), 0);
    assert_true(add(&m, &l, T0 + 60000, NULL));
    l.amount = 0;
    l.max = CALL;
    assert_true(add(&m, &l, T0 + 60000, NULL)); /* nothing to count fits at the limit */
    l.max = 0;
    assert_false(add(&m, &l, T0 + 60000, NULL));
}

static void test_weeks_begin_on_monday(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_FIXED, 7 * DAY_MS, 1);
    const uint64_t monday = T0 + 3 * DAY_MS; /* T0 is a Friday */
    uint64_t retry = 0;
    assert_true(add(&m, &l, monday - 1000, NULL));
    assert_false(add(&m, &l, monday - 1000, &retry));
    assert_int_equal(retry, 1000);
    assert_true(add(&m, &l, monday, NULL));
    assert_false(add(&m, &l, monday + 7 * DAY_MS - 1, NULL));
    assert_true(add(&m, &l, monday + 7 * DAY_MS, NULL));
}

static void test_fixed_clock_steps_back(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_FIXED, 60000, 2);
    uint64_t retry = 0;
    assert_true(add(&m, &l, T0 + 60000, NULL));
    assert_true(add(&m, &l, T0 + 59000, NULL));
    assert_false(add(&m, &l, T0 + 58000, &retry));
    assert_int_equal(retry, 62000);
}

static void test_rollback_stays_in_its_window(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_FIXED, 60000, 5);
    struct state_hold old, hold;
    uint64_t retry;
    assert_true(state_meter_add(&m, &l, T0, 0, &old, &retry));
    assert_true(state_meter_add(&m, &l, T0 + 60000, 0, &hold, &retry));
    state_meter_undo(&m, l.kind, l.window_ms, 0, &old);
    assert_int_equal(m.value, CALL);
    state_meter_undo(&m, l.kind, l.window_ms, 0, &hold);
    assert_int_equal(m.value, 0);
    state_meter_undo(&m, l.kind, l.window_ms, 0, &hold);
    assert_int_equal(m.value, 0);
}

/* Every call with its time; the truth that the slots approximate. */
struct log {
    uint64_t at[20000];
    size_t count;
};

static int64_t log_within(const struct log *log, uint64_t now, uint64_t window) {
    int64_t sum = 0;
    for (size_t i = 0; i < log->count; i++)
        sum += log->at[i] + window > now ? CALL : 0;
    return sum;
}

static void test_sliding_never_forgets_early(void **state) {
    (void)state;
    static struct log log;
    unsigned seed = 7;
    const uint64_t windows[] = {1, 7, 31, 32, 33, 1000, 60000};
    for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
        struct state_meter m = {0};
        struct state_limit l = limit_of(STATE_SLIDING, windows[w], 20);
        uint64_t now = T0, kept = (windows[w] + 30) / 31 * 32; /* 32 slots of 1/31, in whole milliseconds */
        log.count = 0;
        for (int i = 0; i < 4000; i++) {
            seed = seed * 1103515245u + 12345u;
            now += (seed >> 16) % (windows[w] / 8 + 2);
            int64_t low = log_within(&log, now, windows[w]), high = log_within(&log, now, kept);
            int64_t got = state_meter_read(&m, &l, now);
            assert_in_range(got, low, high);
            uint64_t retry = 0;
            if (add(&m, &l, now, &retry)) {
                log.at[log.count++] = now;
                continue;
            }
            assert_true(retry > 0);
            struct state_meter later = m;
            assert_true(add(&later, &l, now + retry, NULL));
            later = m;
            assert_false(add(&later, &l, now + retry - 1, NULL));
        }
    }
}

static void test_sliding_rollback(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_SLIDING, 3100, 5);
    struct state_hold first, second;
    uint64_t retry;
    assert_true(state_meter_add(&m, &l, T0, 0, &first, &retry));
    assert_true(state_meter_add(&m, &l, T0 + 3000, 0, &second, &retry));
    state_meter_undo(&m, l.kind, l.window_ms, 0, &first);
    assert_int_equal(state_meter_read(&m, &l, T0 + 3000), CALL);
    assert_true(add(&m, &l, T0 + 9000, NULL));
    state_meter_undo(&m, l.kind, l.window_ms, 0, &second); /* long gone */
    assert_int_equal(state_meter_read(&m, &l, T0 + 9000), CALL);
}

static void test_bucket(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_BUCKET, 60000, 10);
    uint64_t retry = 0;
    for (int i = 0; i < 10; i++)
        assert_true(add(&m, &l, T0, NULL));
    assert_false(add(&m, &l, T0, &retry));
    assert_int_equal(retry, 6000);
    assert_false(add(&m, &l, T0 + 5999, NULL));
    assert_true(add(&m, &l, T0 + 6000, NULL));
    assert_int_equal(state_meter_read(&m, &l, T0 + 66000), 0);
}

/* Reading and adding every millisecond must not lose the fractions that refill in between. */
static void test_bucket_keeps_fractions(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_BUCKET, 86400000, 7);
    for (int i = 0; i < 7; i++)
        assert_true(add(&m, &l, T0, NULL));
    l.amount = 0;
    for (uint64_t ms = 1; ms <= 100000; ms++)
        assert_true(add(&m, &l, T0 + ms, NULL));
    int64_t back = (int64_t)(100000ull * 7 * CALL / 86400000);
    assert_int_equal(m.value, 7 * CALL - back);
}

static void test_concurrent(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_CONCURRENT, 0, 2);
    struct state_hold a, b, c;
    uint64_t retry;
    assert_true(state_meter_add(&m, &l, T0, 3, &a, &retry));
    assert_true(state_meter_add(&m, &l, T0, 4, &b, &retry));
    assert_false(state_meter_add(&m, &l, T0, 3, &c, &retry));
    state_meter_undo(&m, l.kind, 0, 3, &a);
    state_meter_undo(&m, l.kind, 0, 3, &a); /* twice is once */
    assert_int_equal(m.value, CALL);
    assert_int_equal(m.owners[4], 1);
}

static void test_identical(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_IDENTICAL, 60000, 2);
    uint64_t retry = 0;
    l.fingerprint = 77;
    assert_true(add(&m, &l, T0, NULL));
    assert_true(add(&m, &l, T0 + 10000, NULL));
    assert_false(add(&m, &l, T0 + 20000, &retry));
    assert_int_equal(retry, 40000);
    l.fingerprint = 78;
    assert_true(add(&m, &l, T0 + 20000, NULL));
    l.fingerprint = 77;
    assert_true(add(&m, &l, T0 + 60000, NULL));
    for (uint64_t i = 0; i < STATE_RECENT; i++) { /* many others push it out */
        l.fingerprint = 1000 + i;
        assert_true(add(&m, &l, T0 + 61000 + i, NULL));
    }
    l.fingerprint = 77;
    assert_int_equal(state_meter_read(&m, &l, T0 + 62000), 0);
}

static void test_amounts_do_not_overflow(void **state) {
    (void)state;
    struct state_meter m = {0};
    struct state_limit l = limit_of(STATE_FIXED, 60000, 1);
    l.max = STATE_NO_MAX;
    l.amount = STATE_AMOUNT_MAX;
    for (int i = 0; i < 4; i++)
        assert_true(add(&m, &l, T0, NULL));
    assert_false(add(&m, &l, T0, NULL));
    assert_true(m.value > 0);
    l.amount = -1;
    assert_false(state_limit_valid(&l));
    l.amount = STATE_AMOUNT_MAX + 1;
    assert_false(state_limit_valid(&l));
}

/* Rebuilding from a mark at any moment never counts less than the meter itself, then or later. */
static void test_marks_cover(void **state) {
    (void)state;
    unsigned seed = 99;
    const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET};
    for (size_t k = 0; k < 3; k++) {
        struct state_meter m = {0};
        struct state_mark mark = {0};
        struct state_limit l = limit_of(kinds[k], 3100, 50);
        uint64_t now = T0;
        int commits = 0;
        for (int i = 0; i < 20000; i++) {
            seed = seed * 1103515245u + 12345u;
            now += (seed >> 16) % 97;
            struct state_meter next = m;
            if (!add(&next, &l, now, NULL))
                continue;
            if (!state_meter_covered(&mark, &next, &l, now)) {
                mark = state_meter_mark(&next, &l, now);
                commits++;
            }
            assert_true(state_meter_covered(&mark, &next, &l, now));
            m = next;
            struct state_meter back;
            state_meter_restore(&mark, l.kind, l.window_ms, &back);
            for (uint64_t later = now; later < now + 7000; later += 53)
                assert_true(state_meter_read(&back, &l, later) >= state_meter_read(&m, &l, later));
        }
        assert_true(commits < 15000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_weeks_begin_on_monday),
        cmocka_unit_test(test_fixed_clock_steps_back),
        cmocka_unit_test(test_rollback_stays_in_its_window),
        cmocka_unit_test(test_sliding_never_forgets_early),
        cmocka_unit_test(test_sliding_rollback),
        cmocka_unit_test(test_bucket),
        cmocka_unit_test(test_bucket_keeps_fractions),
        cmocka_unit_test(test_concurrent),
        cmocka_unit_test(test_identical),
        cmocka_unit_test(test_amounts_do_not_overflow),
        cmocka_unit_test(test_marks_cover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
