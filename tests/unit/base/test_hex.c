#include "base/hex.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_every_byte(void **state) {
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        unsigned char byte = (unsigned char)i, back = 0;
        char text[3], expected[3];
        snprintf(expected, sizeof(expected), "%02x", i);
        hex_str(&byte, 1, text);
        assert_string_equal(text, expected);
        assert_true(hex_get(slice_str(text), &back, 1));
        assert_int_equal(back, byte);
    }
}

static void test_digits(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++) {
        const char *at = c ? strchr("0123456789abcdef", c) : NULL, *upper = c ? strchr("ABCDEF", c) : NULL;
        int value = at ? (int)(at - strchr("0123456789abcdef", '0')) : upper ? c - 'A' + 10 : -1;
        assert_int_equal(hex_value((char)c), value);
    }
}

static void test_one_spelling(void **state) {
    (void)state;
    unsigned char bytes[2];
    assert_true(hex_get(SLICE("00ff"), bytes, 2));
    assert_false(hex_get(SLICE("00FF"), bytes, 2));
    assert_false(hex_get(SLICE("00f"), bytes, 2));
    assert_false(hex_get(SLICE("00fff"), bytes, 2));
    assert_false(hex_get(SLICE("00f "), bytes, 2));
    assert_true(hex_get(SLICE(""), bytes, 0));
}

static void test_text(void **state) {
    (void)state;
    struct text t = {0};
    assert_null(text_slice(t).ptr);
    text_set(&t, SLICE("a text"));
    text_set(&t, slice_from(text_slice(t), 2));
    assert_string_equal(t.ptr, "text");
    text_set(&t, SLICE(""));
    assert_non_null(t.ptr);
    text_set(&t, (struct slice){0});
    assert_null(t.ptr);
    text_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_one_spelling),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
