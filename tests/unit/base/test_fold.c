#include "base/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool alike(const char *x, const char *y) {
    cleanup_arena struct arena a;
    arena_init(&a);
    return fold_alike(slice_str(x), slice_str(y), &a);
}

static void test_plain(void **state) {
    (void)state;
    assert_true(fold_is_plain(SLICE("amount_2.x-y")));
    assert_true(fold_is_plain(SLICE("")));
    assert_false(fold_is_plain(SLICE("Amount")));
    assert_false(fold_is_plain(SLICE("betr\xc3\xa4ge")));
}

static void test_case(void **state) {
    (void)state;
    assert_true(alike("Amount", "aMOUNT"));
    assert_true(alike("\xc5\xbfql", "SQL")); /* long s */
    assert_true(alike("\xe2\x84\xaa"
                      "ey",
                      "key"));                      /* Kelvin sign */
    assert_true(alike("\xce\xa3", "\xcf\x82"));     /* sigma, final sigma */
    assert_true(alike("\xe1\xba\x9e", "\xc3\x9f")); /* capital and small sharp s */
    assert_false(alike("amount", "amounts"));
    assert_false(alike("\xc4\xb1", "i")); /* dotless i is a letter of its own */
}

static void test_compatibility(void **state) {
    (void)state;
    assert_true(alike("\xef\xbd\x81mount", "amount"));                          /* full width */
    assert_true(alike("\xf0\x9d\x93\xaa", "A"));                                /* mathematical script */
    assert_true(alike("\xef\xac\x81le", "file"));                               /* ligature */
    assert_true(alike("\xc3\xa9", "e\xcc\x81"));                                /* composed and decomposed */
    assert_true(alike("a\xcc\xa3\xcc\x87", "a\xcc\x87\xcc\xa3"));               /* marks in either order */
    assert_true(alike("\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8")); /* Hangul */
    assert_false(alike("e", "\xc3\xa9"));
}

/* A key made of marks must not cost more than its length. */
static void test_long_marks(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    char text[60000];
    for (size_t i = 0; i + 3 < sizeof(text); i += 4)
        memcpy(text + i, "\xcc\x87\xcc\xa3", 4);
    assert_int_equal(fold_text(slice_of(text, sizeof(text)), &a).len, sizeof(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_case),
        cmocka_unit_test(test_compatibility),
        cmocka_unit_test(test_long_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
