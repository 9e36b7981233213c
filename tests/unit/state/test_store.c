#include "base/clock.h"
#include "state/state.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CALL STATE_MICRO

static char dir[64];
static uint64_t now; /* the middle of an hour, so that no window ends during a test */

static int setup(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sallyport-state-XXXXXX");
    now = clock_wall_ms() / 3600000 * 3600000 + 1800000;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    const char *names[] = {"stores", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.live"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static struct state_store *open_store(const char *dsn) {
    struct state_store *store = NULL;
    struct err err = {0};
    struct state_config config = {.dsn = dsn, .dir = dir};
    if (state_open(&config, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static void remove_live(void) {
    char path[128];
    snprintf(path, sizeof(path), "%s/state.live", dir);
    assert_int_equal(unlink(path), 0);
}

static struct state_limit limit_of(const char *key, enum state_kind kind, int64_t calls) {
    return (struct state_limit){.kind = kind,
                                .key = slice_str(key),
                                .window_ms = kind == STATE_CONCURRENT ? 0 : 3600000,
                                .max = calls * CALL,
                                .refill = CALL,
                                .amount = CALL};
}

static enum state_result reserve(struct state_store *store, const struct state_limit *limits, size_t count,
                                 struct state_ticket *ticket) {
    assert_int_equal(state_reserve(store, limits, count, now, ticket, NULL, NULL), STATE_DONE);
    return ticket->answer.result;
}

static bool take(struct state_store *store, struct state_limit limit) {
    struct state_ticket ticket;
    enum state_result result = reserve(store, &limit, 1, &ticket);
    if (result == STATE_GRANTED)
        state_settle(&ticket, STATE_KEEP);
    return result == STATE_GRANTED;
}

static int64_t value_of(struct state_store *store, struct state_limit limit) {
    int64_t value = -1;
    assert_int_equal(state_read(store, &limit, now, &value), STATE_GRANTED);
    return value;
}

static void test_all_or_none(void **state) {
    (void)state;
    struct state_store *store = open_store("memory:");
    struct state_limit limits[] = {limit_of("a", STATE_FIXED, 5), limit_of("b", STATE_SLIDING, 5),
                                   limit_of("c", STATE_BUCKET, 5), limit_of("d", STATE_CONCURRENT, 1)};
    struct state_ticket first, second;
    assert_int_equal(reserve(store, limits, 4, &first), STATE_GRANTED);
    assert_int_equal(reserve(store, limits, 4, &second), STATE_REFUSED);
    assert_int_equal(second.answer.refused_index, 3);
    for (int i = 0; i < 4; i++)
        assert_int_equal(value_of(store, limits[i]), CALL);
    state_settle(&second, STATE_ROLLBACK); /* a refused ticket holds nothing */
    state_settle(&first, STATE_KEEP);
    assert_int_equal(value_of(store, limits[3]), 0);
    assert_int_equal(value_of(store, limits[0]), CALL);
    assert_int_equal(reserve(store, limits, 4, &first), STATE_GRANTED);
    state_settle(&first, STATE_ROLLBACK);
    state_settle(&first, STATE_ROLLBACK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(value_of(store, limits[i]), CALL);
    state_close(store);
}

static void test_one_counter_twice_in_a_call(void **state) {
    (void)state;
    struct state_store *store = open_store("sqlite:");
    struct state_limit limits[] = {limit_of("a", STATE_FIXED, 3), limit_of("a", STATE_FIXED, 3)};
    struct state_ticket ticket;
    assert_int_equal(reserve(store, limits, 2, &ticket), STATE_GRANTED);
    state_settle(&ticket, STATE_KEEP);
    assert_int_equal(reserve(store, limits, 2, &ticket), STATE_REFUSED);
    assert_int_equal(ticket.answer.refused_index, 1);
    assert_int_equal(value_of(store, limits[0]), 2 * CALL);
    state_close(store);
}

static void test_shadow(void **state) {
    (void)state;
    struct state_store *store = open_store("memory:");
    struct state_limit limits[] = {limit_of("s", STATE_FIXED, 1), limit_of("t", STATE_FIXED, 9)};
    limits[0].shadow = true;
    struct state_ticket ticket;
    assert_int_equal(reserve(store, limits, 2, &ticket), STATE_GRANTED);
    assert_int_equal(ticket.answer.shadow_refused, 0);
    state_settle(&ticket, STATE_KEEP);
    assert_int_equal(reserve(store, limits, 2, &ticket), STATE_GRANTED);
    assert_int_equal(ticket.answer.shadow_refused, 1);
    state_settle(&ticket, STATE_ROLLBACK);
    assert_int_equal(value_of(store, limits[0]), CALL);
    assert_int_equal(value_of(store, limits[1]), CALL);
    state_close(store);
}

static void test_bad_limits(void **state) {
    (void)state;
    struct state_store *store = open_store("memory:");
    struct state_ticket ticket;
    struct state_limit limit = limit_of("x", STATE_FIXED, 1);
    limit.amount = -5;
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    limit = limit_of("", STATE_FIXED, 1);
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    limit = limit_of("x", STATE_SLIDING, 1);
    limit.window_ms = 0;
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    limit = limit_of("x", STATE_CONCURRENT, 1);
    limit.amount = CALL / 2;
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    state_close(store);
}

static void test_many_limits_and_long_keys(void **state) {
    (void)state;
    struct state_store *store = open_store("sqlite:");
    static char keys[STATE_LIMITS_MAX][400];
    struct state_limit limits[STATE_LIMITS_MAX];
    for (size_t i = 0; i < STATE_LIMITS_MAX; i++) {
        memset(keys[i], 'k', 399);
        snprintf(keys[i] + 390, 10, "%zu", i); /* they differ behind what is kept */
        limits[i] = limit_of(keys[i], STATE_FIXED, 2);
    }
    struct state_ticket ticket;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(reserve(store, limits, STATE_LIMITS_MAX, &ticket), STATE_GRANTED);
        state_settle(&ticket, STATE_KEEP);
    }
    assert_int_equal(reserve(store, limits, STATE_LIMITS_MAX, &ticket), STATE_REFUSED);
    struct state_health health;
    state_health(store, &health);
    assert_int_equal(health.counters, STATE_LIMITS_MAX);
    assert_int_equal(health.commits, 1);
    state_close(store);
}

static void test_prefix(void **state) {
    (void)state;
    struct state_store *a = NULL, *b = NULL;
    struct state_config config = {.dir = dir, .prefix = "one/"};
    assert_int_equal(state_open(&config, &a, NULL), 0);
    config.prefix = "two/";
    assert_int_equal(state_open(&config, &b, NULL), 0);
    assert_true(take(a, limit_of("k", STATE_FIXED, 1)));
    assert_false(take(a, limit_of("k", STATE_FIXED, 1)));
    assert_true(take(b, limit_of("k", STATE_FIXED, 1)));
    state_close(a);
    state_close(b);
}

static void test_full_table_refuses(void **state) {
    (void)state;
    struct state_store *store = open_store("memory:");
    char key[32];
    for (int i = 0; i < STATE_COUNTERS_MAX; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        assert_true(take(store, limit_of(key, STATE_FIXED, 5)));
    }
    struct state_limit limit = limit_of("one more", STATE_FIXED, 5);
    struct state_ticket ticket;
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    assert_true(take(store, limit_of("key 17", STATE_FIXED, 5)));
    now += 3600000; /* their hour is over: they make room */
    assert_true(take(store, limit));
    assert_int_equal(value_of(store, limit_of("key 17", STATE_FIXED, 5)), 0);
    state_close(store);
}

/* Calls with new keys until one is refused. */
static int take_new(struct state_store *store, const char *owner, int most) {
    static int serial;
    char key[32];
    for (int i = 0; i < most; i++) {
        snprintf(key, sizeof(key), "%s %d", owner, serial++);
        struct state_limit limit = limit_of(key, STATE_FIXED, 5);
        struct state_ticket ticket;
        limit.owner = slice_str(owner);
        enum state_result result = reserve(store, &limit, 1, &ticket);
        if (result != STATE_GRANTED) {
            assert_int_equal(result, STATE_REFUSED);
            assert_int_equal(ticket.answer.retry_after_ms, 3600000);
            return i;
        }
        state_settle(&ticket, STATE_KEEP);
    }
    return most;
}

static void test_one_owner_does_not_fill_the_table(void **state) {
    (void)state;
    struct state_store *store = open_store("memory:");
    assert_int_equal(take_new(store, "greedy", STATE_COUNTERS_MAX), STATE_COUNTERS_MAX / 2);
    assert_int_equal(take_new(store, "modest", 1000), 1000);
    assert_int_equal(take_new(store, "greedy", 1), 0);
    struct state_limit known = limit_of("greedy 17", STATE_FIXED, 5);
    known.owner = slice_str("greedy");
    assert_true(take(store, known)); /* counters that it has go on */
    assert_int_equal(take_new(store, "", 1000), 1000);
    now += 3600000 + 60000; /* their hour is over */
    assert_int_equal(take_new(store, "greedy", 1000), 1000);
    state_close(store);
}

static void test_restart_keeps(void **state) {
    (void)state;
    const enum state_kind kinds[] = {STATE_FIXED, STATE_SLIDING, STATE_BUCKET};
    struct state_store *store = open_store("sqlite:");
    for (size_t k = 0; k < 3; k++)
        for (int i = 0; i < 40; i++)
            assert_true(take(store, limit_of("r", kinds[k], 100)));
    state_close(store);
    store = open_store(NULL);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(value_of(store, limit_of("r", kinds[k], 100)), 40 * CALL);
    state_close(store);
    remove_live(); /* as after a restart of the machine */
    store = open_store(NULL);
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(value_of(store, limit_of("r", kinds[k], 100)), 40 * CALL);
    assert_true(take(store, limit_of("r", STATE_FIXED, 100)));
    state_close(store);
}

static void test_two_stores_are_one(void **state) {
    (void)state;
    struct state_store *a = open_store("sqlite:"), *b = open_store("sqlite:");
    int granted = 0;
    for (int i = 0; i < 300; i++)
        granted += take(i % 3 ? a : b, limit_of("shared", STATE_FIXED, 100));
    assert_int_equal(granted, 100);
    struct state_limit cap = limit_of("cap", STATE_CONCURRENT, 2);
    struct state_ticket one, two, three;
    assert_int_equal(reserve(a, &cap, 1, &one), STATE_GRANTED);
    assert_int_equal(reserve(b, &cap, 1, &two), STATE_GRANTED);
    assert_int_equal(reserve(a, &cap, 1, &three), STATE_REFUSED);
    state_settle(&one, STATE_ROLLBACK);
    assert_int_equal(reserve(b, &cap, 1, &three), STATE_GRANTED);
    state_settle(&two, STATE_KEEP);
    state_settle(&three, STATE_KEEP);
    struct state_health health;
    state_health(a, &health);
    assert_int_equal(health.processes, 2);
    state_close(a);
    assert_int_equal(value_of(b, limit_of("shared", STATE_FIXED, 100)), 100 * CALL);
    state_close(b);
}

struct caller {
    struct state_store *store;
    unsigned seed;
    int kept;
};

#define CALLERS 64
#define CALLER_MAX 500

/* The value may never pass the limit, and what was rolled back must be there for others. */
static void *caller_run(void *arg) {
    struct caller *c = arg;
    struct state_limit limits[] = {limit_of("p1", STATE_FIXED, CALLER_MAX),
                                   limit_of("p2", STATE_CONCURRENT, 40)};
    for (int i = 0; i < 60; i++) {
        struct state_ticket ticket;
        state_reserve(c->store, limits, 2, now, &ticket, NULL, NULL);
        if (ticket.answer.result != STATE_GRANTED)
            continue;
        int64_t value = 0;
        state_read(c->store, &limits[0], now, &value);
        if (value > CALLER_MAX * (int64_t)CALL)
            abort();
        bool fails = rand_r(&c->seed) % 3 == 0;
        state_settle(&ticket, fails ? STATE_ROLLBACK : STATE_KEEP);
        c->kept += !fails;
    }
    return NULL;
}

static void test_callers_at_once(void **state) {
    (void)state;
    struct state_store *stores[] = {open_store("sqlite:"), open_store("sqlite:")};
    pthread_t threads[CALLERS];
    struct caller callers[CALLERS];
    int kept = 0;
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){stores[i % 2], (unsigned)i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, caller_run, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        kept += callers[i].kept;
    }
    assert_int_equal(value_of(stores[0], limit_of("p1", STATE_FIXED, CALLER_MAX)), kept * (int64_t)CALL);
    assert_int_equal(value_of(stores[1], limit_of("p2", STATE_CONCURRENT, 40)), 0);
    while (take(stores[1], limit_of("p1", STATE_FIXED, CALLER_MAX)))
        kept++;
    assert_int_equal(kept, CALLER_MAX);
    state_close(stores[0]);
    state_close(stores[1]);
}

static void break_database(void) {
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof(path), "%s/state.sqlite", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE counters", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_fail_modes(void **state) {
    (void)state;
    for (int mode = STATE_FAIL_CLOSED; mode <= STATE_FAIL_OPEN; mode++) {
        struct state_store *store = NULL;
        struct state_config config = {.dir = dir, .fail_mode = (enum state_fail_mode)mode};
        assert_int_equal(state_open(&config, &store, NULL), 0);
        break_database();
        struct state_limit limit = limit_of(mode ? "open" : "closed", STATE_FIXED, 2);
        struct state_ticket ticket;
        enum state_result want = mode == STATE_FAIL_OPEN ? STATE_GRANTED : STATE_FAULT;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(reserve(store, &limit, 1, &ticket), want);
            assert_int_equal(ticket.answer.degraded, mode == STATE_FAIL_OPEN);
            state_settle(&ticket, STATE_KEEP);
        }
        /* The table in memory still knows the limit. */
        assert_int_equal(reserve(store, &limit, 1, &ticket),
                         mode == STATE_FAIL_OPEN ? STATE_REFUSED : STATE_FAULT);
        struct state_health health;
        state_health(store, &health);
        assert_true(health.faults >= 2);
        assert_non_null(strstr(health.fault, "counters"));
        state_close(store);
    }
}

static void expect_fault(struct state_store *store, const char *text) {
    struct state_limit limit = limit_of("k", STATE_FIXED, 2);
    struct state_ticket ticket;
    struct state_health health;
    state_health(store, &health);
    assert_true(health.down);
    assert_non_null(strstr(health.fault, text));
    assert_int_equal(reserve(store, &limit, 1, &ticket), STATE_FAULT);
    state_close(store);
    store = open_store("sqlite:");
    state_health(store, &health);
    assert_false(health.down);
    assert_true(take(store, limit));
    state_close(store);
}

static void test_removed_table_is_a_fault(void **state) {
    (void)state;
    struct state_store *store = open_store("sqlite:");
    remove_live();
    expect_fault(store, "removed from the state directory");
}

static void test_removed_database_is_a_fault(void **state) {
    (void)state;
    char path[128];
    struct state_store *store = open_store("sqlite:");
    snprintf(path, sizeof(path), "%s/state.sqlite", dir);
    assert_int_equal(unlink(path), 0);
    expect_fault(store, "was deleted while it was in use");
}

/* An empty table would let every limit be used again. */
static void test_overwritten_table_is_a_fault(void **state) {
    (void)state;
    char path[128];
    static const char zeros[4096];
    struct state_store *store = open_store("sqlite:");
    snprintf(path, sizeof(path), "%s/state.live", dir);
    FILE *f = fopen(path, "r+");
    assert_int_equal(fwrite(zeros, sizeof(zeros), 1, f), 1);
    fclose(f);
    expect_fault(store, "overwritten");
}

static void count_counter(void *ctx, const struct state_counter *c) {
    int64_t *sum = ctx;
    if (slice_is(c->key, "seen"))
        *sum += c->value;
}

static void test_looking(void **state) {
    (void)state;
    struct state_store *store = open_store("sqlite:"), *look = NULL;
    struct state_config config = {.dir = dir, .read_only = true};
    struct err err = {0};
    int64_t sum = 0;
    take(store, limit_of("seen", STATE_FIXED, 5));
    take(store, limit_of("seen", STATE_SLIDING, 5));
    assert_int_equal(state_open(&config, &look, &err), 0);
    assert_int_equal(state_list(look, now, count_counter, &sum, &err), 0);
    assert_int_equal(sum, 2 * CALL);
    struct state_health health;
    state_health(look, &health);
    assert_int_equal(health.processes, 1);
    state_close(look);
    state_close(store);
    remove_live();
    sum = 0;
    assert_int_equal(state_open(&config, &look, &err), 0);
    assert_int_equal(state_list(look, now, count_counter, &sum, &err), 0);
    assert_int_equal(sum, 2 * CALL);
    state_close(look);
}

static void test_dsn(void **state) {
    (void)state;
    struct state_dsn dsn;
    struct err err = {0};
    assert_int_equal(state_dsn_parse(NULL, &dsn, &err), 0);
    assert_int_equal(dsn.backend, STATE_SQLITE);
    assert_int_equal(dsn.path.len, 0);
    assert_int_equal(state_dsn_parse("sqlite:/a/b.sqlite", &dsn, &err), 0);
    assert_true(slice_is(dsn.path, "/a/b.sqlite"));
    assert_int_equal(state_dsn_parse("sqlite:///a", &dsn, &err), 0);
    assert_true(slice_is(dsn.path, "/a"));
    assert_int_equal(state_dsn_parse("memory:", &dsn, &err), 0);
    assert_int_equal(dsn.backend, STATE_MEMORY);
    const char *bad[] = {"redis:localhost", "", "sqlite", "mysql:x", "memory:x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err.text[0] = '\0';
        assert_int_equal(state_dsn_parse(bad[i], &dsn, &err), -1);
        assert_true(err.text[0] != '\0');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_counter_twice_in_a_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shadow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_limits_and_long_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(test_full_table_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_owner_does_not_fill_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_restart_keeps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_stores_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_callers_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fail_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_table_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed_database_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overwritten_table_is_a_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(test_looking, setup, teardown),
        cmocka_unit_test(test_dsn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
