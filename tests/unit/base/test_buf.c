#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_ceiling(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 8);
    assert_true(buf_put_str(&b, "12345678"));
    assert_false(b.full);
    assert_false(buf_put_char(&b, '9'));
    assert_true(b.full);
    assert_true(slice_is(buf_slice(&b), "12345678"));
    /* Once full, even what would fit is dropped: a text with a hole is worse than one that ends. */
    b.len = 0;
    assert_false(buf_put_char(&b, 'x'));
    buf_reset(&b);
    assert_true(buf_put_char(&b, 'x'));
}

static void test_huge_request(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 100);
    buf_put_str(&b, "abc");
    assert_null(buf_reserve(&b, SIZE_MAX));
    assert_true(b.full);
}

static void test_printf(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 16);
    for (int i = 0; i < 1000; i++)
        assert_true(buf_printf(&b, "%04d,", i));
    assert_int_equal(b.len, 5000);
    assert_memory_equal(b.ptr + 4995, "0999,", 5);
    buf_reset(&b);
    buf_put_u64(&b, 0);
    buf_put_char(&b, ' ');
    buf_put_u64(&b, UINT64_MAX);
    assert_true(slice_is(buf_slice(&b), "0 18446744073709551615"));
}

static void test_free_keeps_ceiling(void **state) {
    (void)state;
    struct buf b;
    buf_init(&b, 4);
    buf_put_str(&b, "12345");
    buf_free(&b);
    assert_false(b.full);
    assert_true(buf_put_str(&b, "1234"));
    assert_false(buf_put_str(&b, "5"));
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_huge_request),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_free_keeps_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
