#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void test_equality(void **state) {
    (void)state;
    assert_true(slice_eq(SLICE("ab"), slice_of("abc", 2)));
    assert_false(slice_eq(SLICE("ab"), SLICE("abc")));
    assert_true(slice_eq(SLICE(""), (struct slice){0}));
    assert_true(slice_is(SLICE("x"), "x"));
    assert_true(slice_eq_nocase(SLICE("Content-Type"), SLICE("content-TYPE")));
    /* '@' and '`' differ by the same bit as a letter's case, yet are no letters. */
    assert_false(slice_eq_nocase(SLICE("@"), SLICE("`")));
    assert_false(slice_eq_nocase(SLICE("["), SLICE("{")));
}

static void test_edges(void **state) {
    (void)state;
    assert_true(slice_starts(SLICE("abc"), SLICE("ab")));
    assert_false(slice_starts(SLICE("a"), SLICE("ab")));
    assert_true(slice_ends(SLICE("abc"), SLICE("bc")));
    assert_false(slice_ends(SLICE("c"), SLICE("bc")));
    assert_true(slice_is(slice_from(SLICE("abc"), 1), "bc"));
    assert_int_equal(slice_from(SLICE("abc"), 9).len, 0);
    assert_true(slice_is(slice_upto(SLICE("abc"), 2), "ab"));
    assert_true(slice_is(slice_upto(SLICE("abc"), 9), "abc"));
    assert_true(slice_is(slice_trim(SLICE(" \t a b\r\n")), "a b"));
    assert_int_equal(slice_trim(SLICE(" \t")).len, 0);
    assert_int_equal(slice_find(SLICE("abc"), 'c'), 2);
    assert_int_equal(slice_find(SLICE("abc"), 'x'), -1);
    assert_int_equal(slice_find((struct slice){0}, 'x'), -1);
}

static void test_cut(void **state) {
    (void)state;
    struct slice rest = SLICE("a=b=c"), head;
    assert_true(slice_cut(&rest, '=', &head));
    assert_true(slice_is(head, "a"));
    assert_true(slice_is(rest, "b=c"));
    rest = SLICE("abc");
    assert_false(slice_cut(&rest, '=', &head));
    assert_true(slice_is(head, "abc"));
    assert_int_equal(rest.len, 0);
}

static void test_numbers(void **state) {
    (void)state;
    uint64_t value = 0;
    assert_true(slice_to_u64(SLICE("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_false(slice_to_u64(SLICE("18446744073709551616"), &value));
    assert_false(slice_to_u64(SLICE("99999999999999999999"), &value));
    assert_false(slice_to_u64(SLICE(""), &value));
    assert_false(slice_to_u64(SLICE("-1"), &value));
    assert_false(slice_to_u64(SLICE("+1"), &value));
    assert_false(slice_to_u64(SLICE("1 "), &value));
}

static void test_order(void **state) {
    (void)state;
    assert_true(slice_cmp(SLICE("a"), SLICE("b")) < 0);
    assert_true(slice_cmp(SLICE("ab"), SLICE("a")) > 0);
    assert_int_equal(slice_cmp(SLICE("a"), SLICE("a")), 0);
    assert_true(slice_cmp(SLICE("\xff"), SLICE("a")) > 0); /* bytes, not signed characters */
}

static void test_words(void **state) {
    (void)state;
    static const char *const words[] = {"yes", "on", NULL};
    assert_true(slice_is_any(SLICE("on"), words));
    assert_false(slice_is_any(SLICE("ON"), words));
    assert_false(slice_is_any(SLICE("o"), words));
    assert_true(slice_is_any_nocase(SLICE("Yes"), words));
    assert_false(slice_is_any_nocase(SLICE("yes "), words));
    assert_true(slice_has_nocase(SLICE("Session not found"), SLICE("session")));
    assert_true(slice_has_nocase(SLICE("no SESSION"), SLICE("session")));
    assert_false(slice_has_nocase(SLICE("sessio"), SLICE("session")));
}

/* Texts of two letters, so that words nearly stand in many places; memmem is the twin. The text ends where
 * its memory ends. */
static void test_search(void **state) {
    (void)state;
    uint32_t seed = 7;
    for (size_t len = 0; len <= 200; len++) {
        char *text = malloc(len ? len : 1), *end = text + len;
        for (size_t i = 0; i < len; i++)
            text[i] = (char)('a' + ((seed = seed * 1664525 + 1013904223) >> 24) % 2);
        for (size_t size = 1; size <= 70; size++) {
            char word[70];
            const char *from = end - (len < size ? len : size);
            memset(word, 'a', sizeof(word));
            memcpy(word, from, (size_t)(end - from)); /* stands at the very end, or nowhere */
            for (int changed = 0; changed < 2; changed++, word[size / 2] ^= 'a' ^ 'b')
                assert_ptr_equal(slice_search(slice_of(text, len), slice_of(word, size)),
                                 memmem(text, len, word, size));
        }
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equality), cmocka_unit_test(test_edges), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_order), cmocka_unit_test(test_words),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
