#include "io/netmask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct io_address address(const char *text) {
    struct io_address a;
    assert_true(io_address_parse(slice_str(text), &a));
    return a;
}

static bool has(const char *mask, const char *text) {
    struct io_netmask m;
    struct io_address a = address(text);
    assert_true(io_netmask_parse(slice_str(mask), &m));
    return io_netmask_has(&m, &a);
}

static void test_networks(void **state) {
    (void)state;
    assert_true(has("10.0.0.0/8", "10.255.1.2"));
    assert_false(has("10.0.0.0/8", "11.0.0.1"));
    assert_true(has("192.0.2.128/25", "192.0.2.200"));
    assert_false(has("192.0.2.128/25", "192.0.2.127"));
    assert_true(has("0.0.0.0/0", "203.0.113.1"));
    assert_false(has("0.0.0.0/0", "2001:db8::1"));
    assert_true(has("2001:db8::/32", "2001:db8:1::9"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::9"));
    assert_true(has("192.0.2.7", "192.0.2.7"));
    assert_false(has("192.0.2.7", "192.0.2.6"));
    assert_true(has("192.0.2.7", "::ffff:192.0.2.7"));
    assert_true(has("::1", "::1"));
}

static void test_addresses(void **state) {
    (void)state;
    static const char *const bad[] = {"",       "1.2.3",   "1.2.3.4:x:y", "[::1",
                                      "[::1]x", "unknown", "1.2.3.4.5",   "::1::"};
    struct io_address a, b = address("192.0.2.7");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(io_address_parse(slice_str(bad[i]), &a));
    a = address("192.0.2.7:8080");
    assert_memory_equal(&a, &b, sizeof(a));
    a = address("[2001:db8::1]:80");
    b = address("2001:db8::1");
    assert_memory_equal(&a, &b, sizeof(a));
    assert_int_equal(io_address_network(&a).len, 8);
    a = address("192.0.2.7");
    assert_int_equal(io_address_network(&a).len, 4);
}

static void test_masks_that_are_none(void **state) {
    (void)state;
    static const char *const bad[] = {"10.0.0.1/8", "10.0.0.0/33", "fd00::/129", "10.0.0.0/",
                                      "/8",         "host",        "10.0.0.0/-1"};
    struct io_netmask m;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(io_netmask_parse(slice_str(bad[i]), &m));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_masks_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
