#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_pieces_do_not_overlap(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    char *pieces[500];
    for (size_t i = 0; i < 500; i++) {
        pieces[i] = arena_alloc(&a, i + 1);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 0xff), i + 1);
    }
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal((unsigned char)pieces[i][0], i & 0xff);
        assert_int_equal((unsigned char)pieces[i][i], i & 0xff);
    }
}

static void test_large_and_zeroed(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    memset(arena_alloc(&a, 4000), 0xff, 4000);
    arena_reset(&a);
    unsigned char *zeroed = arena_zalloc(&a, 100000);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(zeroed[i], 0);
}

static void test_text(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice copy = arena_dup(&a, slice_of("abcdef", 3));
    assert_true(slice_is(copy, "abc"));
    assert_int_equal(copy.ptr[3], '\0');
    assert_true(slice_is(arena_dup(&a, (struct slice){0}), ""));
    assert_true(slice_is(arena_printf(&a, "%d-%s", 7, "x"), "7-x"));
}

static void test_nothing(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    arena_array(&a, int, 0);
    arena_reset(&a);
    arena_free(&a);
    assert_null(a.head);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_do_not_overlap),
        cmocka_unit_test(test_large_and_zeroed),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
