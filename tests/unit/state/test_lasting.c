/* Small stores that must last: the kill switch, versions of files, sign-ins. Also over PostgreSQL. */
#include "database.h"
#include "state/fleet_pins.h"
#include "state/logins.h"
#include "state/stops.h"
#include "state/versions.h"

#include <dirent.h>
#include <poll.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WAIT_TRIES 3000
#define WAIT_STEP_MS 10
#define ROUNDS 3

static char dir[64];
static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena);
    snprintf(dir, sizeof(dir), "/tmp/sallyport-lasting-XXXXXX");
    return mkdtemp(dir) ? database_setup(dir) : -1;
}

static int teardown(void **state) {
    (void)state;
    arena_free(&arena);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[384];
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        unlink(path);
    }
    closedir(d);
    return rmdir(dir);
}

static void test_stopped_elsewhere(void **state) {
    (void)state;
    struct state_stops *here = NULL, *there = NULL;
    struct err err = {0};
    uint64_t first = 0, again = 0;
    assert_int_equal(state_stops_open(dir, &here, &err), 0);
    struct state_stop stop = {.scope = STATE_STOP_SERVER,
                              .name = SLICE("bank"),
                              .reason = SLICE("drill"),
                              .by = SLICE("cli:me"),
                              .at_ms = 5};
    assert_int_equal(state_stops_put(here, &stop, &first, &err), 0);
    stop.reason = SLICE("no drill");
    assert_int_equal(state_stops_put(here, &stop, &again, &err), 0);
    assert_int_equal(state_stops_open(dir, &there, &err), 0);
    assert_int_equal(state_stops_count(there), 1);
    assert_true(slice_is(state_stops_at(there, 0)->reason, "no drill"));
    assert_non_null(state_stops_match(there, SLICE("bank"), (struct slice){0}));
    assert_null(state_stops_match(there, SLICE("shop"), SLICE("bank")));
    assert_int_equal(state_stops_remove(here, again, &err), 1);
    assert_int_equal(state_stops_count(here), 0);
    state_stops_close(here);
    state_stops_close(there);
}

/* The kill switch works on when its files were deleted under a gate, and what was stopped stays stopped. */
static void test_stopped_after_a_deletion(void **state) {
    (void)state;
    static const char *const files[] = {"stops.live", "stops.sqlite", "stops.sqlite-wal", "stops.sqlite-shm"};
    struct state_stops *gate = NULL, *desk = NULL;
    struct err err = {0};
    struct state_stop bank = {.scope = STATE_STOP_SERVER, .name = SLICE("bank")},
                      shop = {.scope = STATE_STOP_SERVER, .name = SLICE("shop")};
    if (database_is_remote())
        return;
    assert_int_equal(state_stops_open(dir, &gate, &err), 0);
    assert_int_equal(state_stops_follow(gate, &err), 0);
    assert_int_equal(state_stops_put(gate, &bank, NULL, &err), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(state_stops_open(dir, &desk, &err), 0);
    assert_int_equal(state_stops_put(desk, &shop, NULL, &err), 0);
    for (int i = 0; !state_stops_match(gate, SLICE("shop"), (struct slice){0}); i++) {
        assert_true(i < WAIT_TRIES);
        poll(NULL, 0, WAIT_STEP_MS);
    }
    assert_non_null(state_stops_match(gate, SLICE("bank"), (struct slice){0}));
    state_stops_close(desk);
    assert_int_equal(state_stops_open(dir, &desk, &err), 0);
    assert_int_equal(state_stops_count(desk), 2);
    assert_int_equal(state_stops_remove(desk, 0, &err), 2);
    for (int i = 0; state_stops_match(gate, SLICE("bank"), (struct slice){0}); i++) {
        assert_true(i < WAIT_TRIES);
        poll(NULL, 0, WAIT_STEP_MS);
    }
    state_stops_close(gate);
    state_stops_close(desk);
}

/* A statement of the test itself; the number in its first row. */
static int64_t ask(struct db *db, const char *sql) {
    struct err err = {0};
    struct db_stmt *st = db_prepare(db, sql);
    int64_t number = db_step(st) ? db_int(st, 0) : 0;
    if (db_finish(st, &err) < 0)
        fail_msg("%s: %s", sql, err.text);
    return number;
}

static void until(struct db *db, const char *sql) {
    for (int i = 0; i < WAIT_TRIES && !ask(db, sql); i++)
        poll(NULL, 0, WAIT_STEP_MS);
}

/* The home of a gate whose role reads each row only when nobody holds the lock 42. */
static void make_slow_reader(struct db *db, char home[64]) {
    char path[128];
    static const char lock_42[] =
        "CREATE OR REPLACE FUNCTION public.lock_42() RETURNS boolean LANGUAGE sql AS "
        "'SELECT pg_advisory_lock_shared(42); SELECT pg_advisory_unlock_shared(42)'";
    static const char *const lines[] = {
        "DROP ROLE IF EXISTS slow_reader",
        "CREATE ROLE slow_reader LOGIN",
        "GRANT USAGE ON SCHEMA sallyport TO slow_reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA sallyport, public TO slow_reader",
        lock_42,
        "ALTER TABLE stops ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY slow ON stops TO slow_reader USING (public.lock_42())",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        ask(db, lines[i]);
    snprintf(home, 64, "/tmp/sallyport-lasting-XXXXXX");
    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof(path), "%s/database", home);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const char *dsn = getenv("SALLYPORT_TEST_DATABASE"), *at = strchr(dsn, '@');
    fprintf(f, "postgres://slow_reader%s\n", at);
    assert_int_equal(fclose(f), 0);
}

static void end_slow_reader(struct db *db, const char *home) {
    char path[128];
    static const char *const lines[] = {"DROP POLICY slow ON stops",
                                        "ALTER TABLE stops DISABLE ROW LEVEL SECURITY",
                                        "DROP OWNED BY slow_reader", "DROP ROLE slow_reader"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        ask(db, lines[i]);
    snprintf(path, sizeof(path), "%s/database", home);
    unlink(path);
    rmdir(home);
}

struct pair {
    struct db *db;
    struct state_stops *desk, *gate; /* the gate is the slow reader */
    char home[64];
};

static void pair_open(struct pair *p) {
    struct err err = {0};
    assert_int_equal(db_open(dir, "stops.sqlite", false, "", &p->db, &err), 0);
    make_slow_reader(p->db, p->home);
    assert_int_equal(state_stops_open(dir, &p->desk, &err), 0);
    assert_int_equal(state_stops_open(p->home, &p->gate, &err), 0);
    assert_int_equal(state_stops_follow(p->gate, &err), 0);
}

static void pair_close(struct pair *p) {
    state_stops_close(p->gate);
    state_stops_close(p->desk);
    end_slow_reader(p->db, p->home);
    db_close(p->db);
}

static bool is_stopped(struct state_stops *s, const char *server) {
    return state_stops_match(s, slice_str(server), (struct slice){0});
}

/* A gate reads its copy, and a stop is made at it while that lasts. */
static void test_an_older_copy_comes_after_a_stop(void **state) {
    (void)state;
    if (!database_is_remote())
        return;
    static const char waits[] = "SELECT count(*) FROM pg_locks WHERE locktype='advisory' AND NOT granted";
    struct pair p = {0};
    struct err err = {0};
    struct state_stop one = {.scope = STATE_STOP_SERVER, .name = SLICE("one"), .at_ms = 1};
    struct state_stop two = {.scope = STATE_STOP_SERVER, .name = SLICE("two"), .at_ms = 1};
    pair_open(&p);
    for (int round = 0; round < ROUNDS; round++) {
        ask(p.db, "SELECT 1 FROM pg_advisory_lock(42)");
        assert_int_equal(state_stops_put(p.desk, &one, NULL, &err), 0);
        until(p.db, waits); /* the gate reads what is there now: `one` */
        assert_int_equal(state_stops_put(p.desk, &two, NULL, &err), 0);
        state_stops_take(p.gate, state_stops_snapshot(p.desk));
        assert_true(is_stopped(p.gate, "two"));
        ask(p.db, "SELECT count(*) FROM pg_advisory_unlock(42)");
        for (int i = 0; i < WAIT_TRIES && !state_stops_refresh(p.gate); i++)
            poll(NULL, 0, WAIT_STEP_MS);
        assert_true(is_stopped(p.gate, "two"));
        /* The other way round: what was read before a resumption comes after it. */
        struct stops_copy *old = state_stops_snapshot(p.desk);
        assert_int_equal(state_stops_remove(p.desk, 0, &err), 2);
        for (int i = 0; i < WAIT_TRIES && is_stopped(p.gate, "two"); i++)
            poll(NULL, 0, WAIT_STEP_MS);
        state_stops_take(p.gate, old);
        assert_false(is_stopped(p.gate, "two"));
    }
    pair_close(&p);
}

/* A gate that lost the store cannot be asked before it has read what was stopped meanwhile. */
static void test_nothing_passes_before_a_stop_was_read(void **state) {
    (void)state;
    if (!database_is_remote())
        return;
    struct pair p = {0};
    struct err err = {0};
    struct state_stop one = {.scope = STATE_STOP_SERVER, .name = SLICE("one"), .at_ms = 1};
    pair_open(&p);
    ask(p.db, "SELECT 1 FROM pg_advisory_lock(42)");
    assert_int_equal(state_stops_put(p.desk, &one, NULL, &err), 0);
    for (int i = 0; i < WAIT_TRIES && state_stops_reachable(p.gate, NULL); i++)
        poll(NULL, 0, WAIT_STEP_MS);
    assert_false(state_stops_reachable(p.gate, NULL));
    ask(p.db, "SELECT count(*) FROM pg_advisory_unlock(42)");
    for (int i = 0; i < WAIT_TRIES && !state_stops_reachable(p.gate, NULL); i++)
        poll(NULL, 0, WAIT_STEP_MS);
    assert_true(state_stops_reachable(p.gate, NULL));
    assert_true(is_stopped(p.gate, "one"));
    assert_int_equal(state_stops_remove(p.desk, 0, &err), 1);
    pair_close(&p);
}

/* A database that was put back has the last word again. */
static void test_a_database_that_was_put_back(void **state) {
    (void)state;
    if (!database_is_remote())
        return;
    struct state_stops *gate = NULL, *desk = NULL;
    struct db *db = NULL;
    struct err err = {0};
    struct state_stop stop = {.scope = STATE_STOP_ALL, .at_ms = 1};
    assert_int_equal(db_open(dir, "stops.sqlite", false, "", &db, &err), 0);
    assert_int_equal(state_stops_open(dir, &desk, &err), 0);
    assert_int_equal(state_stops_open(dir, &gate, &err), 0);
    assert_int_equal(state_stops_follow(gate, &err), 0);
    assert_int_equal(state_stops_put(desk, &stop, NULL, &err), 0);
    for (int i = 0; i < WAIT_TRIES && !is_stopped(gate, "one"); i++)
        poll(NULL, 0, WAIT_STEP_MS);
    ask(db, "TRUNCATE stops");
    ask(db, "UPDATE changes SET number=1 WHERE store='stops'");
    for (int i = 0; i < WAIT_TRIES && is_stopped(gate, "one"); i++)
        poll(NULL, 0, WAIT_STEP_MS);
    assert_false(is_stopped(gate, "one"));
    state_stops_close(gate);
    state_stops_close(desk);
    db_close(db);
}

static void count_version(void *ctx, const struct state_version *one) {
    uint64_t *newest = ctx;
    *newest = one->number > *newest ? one->number : *newest;
}

static void test_versions_of_a_file(void **state) {
    (void)state;
    struct state_versions *v = NULL;
    struct err err = {0};
    struct slice text;
    uint64_t newest = 0;
    static const char *const texts[] = {"a: 1", "a: 1", "a: 2\0 and more"};
    assert_int_equal(state_versions_open(dir, &v, &err), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(state_versions_add(v, SLICE("/p.yaml"), slice_of(texts[i], i == 2 ? 14 : 4),
                                            SLICE("me"), SLICE("why"), 7, &err),
                         0);
    assert_int_equal(state_versions_list(v, SLICE("/p.yaml"), count_version, &newest, &err), 0);
    assert_int_equal(newest, 2); /* the same text again is no version */
    assert_int_equal(state_versions_get(v, SLICE("/p.yaml"), 2, &arena, &text, &err), 1);
    assert_int_equal(text.len, 14);
    assert_memory_equal(text.ptr, texts[2], 14);
    assert_int_equal(state_versions_get(v, SLICE("/p.yaml"), 3, &arena, &text, &err), 0);
    assert_int_equal(state_versions_get(v, SLICE("/q.yaml"), 1, &arena, &text, &err), 0);
    state_versions_close(v);
}

static void test_a_link_is_good_once(void **state) {
    (void)state;
    struct state_logins *l = NULL;
    struct err err = {0};
    struct state_login login;
    char code[STATE_LOGIN_TEXT], cookie[STATE_LOGIN_TEXT];
    assert_int_equal(state_logins_open(dir, &l, &err), 0);
    assert_int_equal(state_logins_link(l, SLICE("cli:me"), 3, 1000, code, &err), 0);
    assert_int_equal(state_logins_find(l, slice_str(code), 1000, &arena, &login, &err), 0);
    assert_int_equal(state_logins_redeem(l, slice_str(code), 1000, cookie, &err), 1);
    assert_int_equal(state_logins_redeem(l, slice_str(code), 1000, cookie, &err), 0);
    assert_int_equal(state_logins_find(l, slice_str(cookie), 1000, &arena, &login, &err), 1);
    assert_true(slice_is(login.name, "cli:me"));
    assert_int_equal(login.roles, 3);
    assert_int_equal(state_logins_find(l, slice_str(cookie), 1000 + STATE_LOGIN_MS, &arena, &login, &err), 0);
    assert_int_equal(state_logins_end(l, slice_str(cookie), &err), 0);
    assert_int_equal(state_logins_find(l, slice_str(cookie), 1000, &arena, &login, &err), 0);
    state_logins_close(l);
}

static void test_first_use_is_recorded_once(void **state) {
    (void)state;
    struct state_pins *here = NULL, *there = NULL;
    struct err err = {0};
    assert_int_equal(state_pins_open(dir, &here, &err), 0);
    assert_int_equal(state_pins_open(dir, &there, &err), 0);
    assert_int_equal(state_pins_add(here, SLICE("shop"), SLICE("{\"a\":1}"), &err), 1);
    assert_int_equal(state_pins_add(there, SLICE("shop"), SLICE("{\"a\":2}"), &err), 0);
    struct state_pins_copy *copy = state_pins_load(there, &err);
    assert_non_null(copy);
    assert_true(slice_is(copy->entries, "{\"shop\":{\"a\":1}}"));
    assert_int_equal(state_pins_number(copy, SLICE("shop")), 1);
    assert_int_equal(state_pins_number(copy, SLICE("bank")), 0);
    state_pins_copy_free(copy);
    state_pins_close(here);
    state_pins_close(there);
}

/* Two people accept what they saw of the same entry: the second one sees that it has changed. */
static void test_pins_are_replaced_if_unchanged(void **state) {
    (void)state;
    struct state_pins *here = NULL, *there = NULL;
    struct err err = {0};
    struct state_pin pin = {SLICE("shop"), 0};
    struct slice all = {0};
    assert_int_equal(state_pins_open(dir, &here, &err), 0);
    assert_int_equal(state_pins_open(dir, &there, &err), 0);
    assert_int_equal(state_pins_replace(here, &pin, SLICE("1"), all, &err), 1);
    assert_int_equal(state_pins_replace(there, &pin, SLICE("2"), all, &err), 0);
    pin.number = 1;
    assert_int_equal(state_pins_replace(there, &pin, SLICE("3"), all, &err), 1);
    assert_int_equal(state_pins_replace(here, &pin, SLICE("4"), all, &err), 0);
    struct state_pins_copy *copy = state_pins_load(here, &err);
    assert_non_null(copy);
    assert_true(slice_is(copy->entries, "{\"shop\":3}"));
    state_pins_copy_free(copy);
    state_pins_close(here);
    state_pins_close(there);
}

static size_t count_holds(struct state_pins *p) {
    struct err err = {0};
    struct state_pins_copy *copy = state_pins_load(p, &err);
    assert_non_null(copy);
    size_t count = copy->hold_count;
    state_pins_copy_free(copy);
    return count;
}

static void test_a_hold_lasts_until_it_is_accepted(void **state) {
    (void)state;
    struct state_pins *p = NULL;
    struct err err = {0};
    struct state_pin pin = {SLICE("shop"), 1};
    const struct state_pin_hold buy = {SLICE("shop"), SLICE("buy"), SLICE("changed"), 1};
    const struct state_pin_hold sell = {SLICE("shop"), SLICE("sell"), SLICE("new"), 1};
    const struct state_pin_hold other = {SLICE("bank"), SLICE("sell"), SLICE("new"), 0};
    assert_int_equal(state_pins_open(dir, &p, &err), 0);
    assert_int_equal(state_pins_add(p, SLICE("shop"), SLICE("1"), &err), 1);
    assert_int_equal(state_pins_hold(p, &buy, &err), 0);
    assert_int_equal(state_pins_hold(p, &buy, &err), 0);
    assert_int_equal(state_pins_hold(p, &sell, &err), 0);
    assert_int_equal(state_pins_hold(p, &other, &err), 0);
    assert_int_equal(count_holds(p), 3);
    assert_int_equal(state_pins_replace(p, &pin, SLICE("2"), SLICE("buy"), &err), 1);
    assert_int_equal(count_holds(p), 2);
    assert_int_equal(state_pins_hold(p, &buy, &err), 0); /* it differs from an entry that is replaced */
    assert_int_equal(count_holds(p), 2);
    pin.number = 2;
    assert_int_equal(state_pins_replace(p, &pin, SLICE("3"), (struct slice){0}, &err), 1);
    assert_int_equal(count_holds(p), 1);
    state_pins_close(p);
}

static void test_a_server_cannot_hold_without_end(void **state) {
    (void)state;
    struct state_pins *p = NULL;
    struct err err = {0};
    assert_int_equal(state_pins_open(dir, &p, &err), 0);
    for (int i = 0; i < STATE_PIN_HOLDS_MAX + 5; i++) {
        char name[16];
        snprintf(name, sizeof(name), "tool%d", i);
        assert_int_equal(
            state_pins_hold(p, &(struct state_pin_hold){SLICE("shop"), slice_str(name), SLICE("new")}, &err),
            0);
    }
    assert_int_equal(count_holds(p), STATE_PIN_HOLDS_MAX);
    state_pins_close(p);
}

static void test_a_gate_follows_pins(void **state) {
    (void)state;
    if (!database_is_remote())
        return;
    struct state_pins *gate = NULL, *desk = NULL;
    struct state_pins_copy *copy = NULL;
    struct err err = {0};
    assert_int_equal(state_pins_open(dir, &gate, &err), 0);
    assert_int_equal(state_pins_open(dir, &desk, &err), 0);
    assert_int_equal(state_pins_follow(gate, &err), 0);
    assert_int_equal(state_pins_add(desk, SLICE("shop"), SLICE("1"), &err), 1);
    for (int i = 0; i < WAIT_TRIES && !(copy && copy->count); i++) {
        state_pins_copy_free(copy);
        copy = state_pins_take(gate);
        poll(NULL, 0, WAIT_STEP_MS);
    }
    assert_non_null(copy);
    assert_int_equal(copy->count, 1);
    state_pins_copy_free(copy);
    state_pins_close(gate);
    state_pins_close(desk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stopped_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped_after_a_deletion, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_older_copy_comes_after_a_stop, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_passes_before_a_stop_was_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_database_that_was_put_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_first_use_is_recorded_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pins_are_replaced_if_unchanged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_hold_lasts_until_it_is_accepted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_server_cannot_hold_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_gate_follows_pins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_versions_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_link_is_good_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
