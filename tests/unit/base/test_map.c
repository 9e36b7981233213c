#include "base/map.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEYS 5000

static char names[KEYS][16];
static int values[KEYS];

static int setup_keys(void **state) {
    (void)state;
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "key %d", i);
        values[i] = i;
    }
    return 0;
}

static void test_put_get(void **state) {
    (void)state;
    struct map m;
    map_init(&m);
    assert_null(map_get(&m, SLICE("absent")));
    assert_null(map_remove(&m, SLICE("absent")));
    for (int i = 0; i < KEYS; i++)
        assert_null(map_put(&m, slice_str(names[i]), &values[i]));
    for (int i = 0; i < KEYS; i++)
        assert_ptr_equal(map_get(&m, slice_str(names[i])), &values[i]);
    assert_ptr_equal(map_put(&m, slice_str(names[3]), &values[4]), &values[3]);
    assert_false(map_add(&m, slice_str(names[3]), &values[3]));
    assert_ptr_equal(map_get(&m, slice_str(names[3])), &values[4]);
    assert_ptr_equal(map_get(&m, slice_str(names[3])), &values[4]);
    assert_int_equal(m.count, KEYS);
    map_free(&m);
}

/* Removal closes gaps by moving entries: every key that stays must still be found, in every order. */
static void test_remove(void **state) {
    (void)state;
    struct map m;
    map_init(&m);
    for (int i = 0; i < KEYS; i++)
        map_put(&m, slice_str(names[i]), &values[i]);
    for (int i = 0; i < KEYS; i++)
        if (i % 3 != 0)
            assert_ptr_equal(map_remove(&m, slice_str(names[i])), &values[i]);
    size_t at = 0, seen = 0;
    for (struct map_entry *e; (e = map_next(&m, &at)); seen++)
        assert_int_equal(*(int *)e->value % 3, 0);
    assert_int_equal(seen, m.count);
    for (int i = 0; i < KEYS; i++)
        assert_ptr_equal(map_get(&m, slice_str(names[i])), i % 3 == 0 ? &values[i] : NULL);
    map_free(&m);
}

static void test_hash_depends_on_every_byte(void **state) {
    (void)state;
    char text[24] = "abcdefghijklmnopqrstuvw";
    for (size_t len = 1; len < sizeof(text); len++) {
        uint64_t before = map_hash(slice_of(text, len));
        assert_true(before == map_hash(slice_of(text, len)));
        assert_true(before != map_hash(slice_of(text, len - 1)));
        text[len - 1] ^= 1;
        assert_true(before != map_hash(slice_of(text, len)));
        text[len - 1] ^= 1;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_get),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_hash_depends_on_every_byte),
    };
    return cmocka_run_group_tests(tests, setup_keys, NULL);
}
