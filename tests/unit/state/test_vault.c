#include "state/vault.h"

#include "database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char dir[64];
static struct arena arena;

static int setup(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sallyport-vault-XXXXXX");
    arena_init(&arena);
    return mkdtemp(dir) ? database_setup(dir) : -1;
}

static int teardown(void **state) {
    (void)state;
    database_teardown(dir);
    static const char *const names[] = {"stores",           "vault.sqlite", "vault.sqlite-wal",
                                        "vault.sqlite-shm", "keys/key",     "keys"};
    arena_free(&arena);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        remove(path);
    }
    return rmdir(dir);
}

static struct state_vault *vault(void) {
    struct state_vault *v = NULL;
    struct err err = {0};
    if (state_vault_open(dir, &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

static void put(struct state_vault *v, const char *scope, const char *id, const char *sealed,
                uint64_t expires) {
    struct err err = {0};
    assert_int_equal(state_vault_begin(v, &err), 0);
    assert_int_equal(state_vault_put(v, slice_str(scope), slice_str(id), slice_str(sealed), expires, &err),
                     0);
    assert_int_equal(state_vault_commit(v, &err), 0);
}

static void assert_get(struct state_vault *v, const char *scope, const char *id, const char *want) {
    struct slice sealed;
    const bool found = state_vault_get(v, slice_str(scope), slice_str(id), 1000, &arena, &sealed);
    assert_int_equal(found, want != NULL);
    if (want)
        assert_true(slice_is(sealed, want));
}

static void keeps_by_scope(void **state) {
    (void)state;
    struct state_vault *v = vault();
    put(v, "one", "EMAIL_AAAAAAAA", "first", 5000);
    put(v, "two", "EMAIL_AAAAAAAA", "other", 5000);
    put(v, "one", "EMAIL_AAAAAAAA", "again", 5000);
    assert_get(v, "one", "EMAIL_AAAAAAAA", "again");
    assert_get(v, "two", "EMAIL_AAAAAAAA", "other");
    assert_get(v, "three", "EMAIL_AAAAAAAA", NULL);
    state_vault_close(v);
    v = vault();
    assert_get(v, "one", "EMAIL_AAAAAAAA", "again");
    state_vault_close(v);
}

static void forgets_by_age(void **state) {
    (void)state;
    struct state_vault *v = vault();
    put(v, "one", "EMAIL_AAAAAAAA", "old", 1000);
    put(v, "one", "EMAIL_BBBBBBBB", "young", 1001);
    assert_get(v, "one", "EMAIL_AAAAAAAA", NULL);
    assert_get(v, "one", "EMAIL_BBBBBBBB", "young");
    assert_int_equal(state_vault_expire(v, 1000), 1);
    assert_int_equal(state_vault_expire(v, 1000), 0);
    assert_get(v, "one", "EMAIL_BBBBBBBB", "young");
    state_vault_close(v);
}

static void by_prefix(void **state) {
    (void)state;
    struct state_vault *v = vault();
    struct slice id, sealed;
    put(v, "one", "EMAIL_AAAAA001", "a", 5000);
    put(v, "one", "EMAIL_AAAAA002", "b", 5000);
    put(v, "one", "EMAIL_AAAB0000", "c", 5000);
    put(v, "two", "EMAIL_AAAC0000", "d", 5000);
    assert_int_equal(state_vault_prefix(v, SLICE("one"), SLICE("EMAIL_AAAAA"), 1, &arena, &id, &sealed), 2);
    assert_int_equal(state_vault_prefix(v, SLICE("one"), SLICE("EMAIL_AAAB"), 1, &arena, &id, &sealed), 1);
    assert_true(slice_is(id, "EMAIL_AAAB0000") && slice_is(sealed, "c"));
    assert_int_equal(state_vault_prefix(v, SLICE("one"), SLICE("EMAIL_AAAC"), 1, &arena, &id, &sealed), 0);
    state_vault_close(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_by_scope, setup, teardown),
        cmocka_unit_test_setup_teardown(forgets_by_age, setup, teardown),
        cmocka_unit_test_setup_teardown(by_prefix, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
