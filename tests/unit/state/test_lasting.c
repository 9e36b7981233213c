/* Small stores that must last: the kill switch, versions of files, sign-ins. Also over PostgreSQL. */
#include "database.h"
#include "state/logins.h"
#include "state/stops.h"
#include "state/versions.h"

#include <dirent.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stopped_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(test_versions_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_link_is_good_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
