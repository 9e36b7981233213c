#include "egress/egress_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_entries(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool fine;
    } rows[] = {
        {"api.example.com:443", true},
        {"*.example.com:*", true},
        {"*:443", true},
        {"10.0.0.0/8:5432", true},
        {"[::1]:80", true},
        {"[fd00::]/8:80", true},
        {"1.2.3.4:80", true},
        {"localhost:80", true},
        {"api.example.com", false},
        {":443", false},
        {"a:0", false},
        {"a:65536", false},
        {"a b:1", false},
        {"10.0.0.1/8:80", false},
        {"::1:80", false},
        {"a.*:80", false},
        {"[::1:80", false},
        {"0x7f.1:80", false},
        {"user@a:80", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct egress_rules *rules = calloc(1, sizeof(*rules));
        struct err err = {""};
        cleanup_arena struct arena a;
        arena_init(&a);
        if ((egress_rules_add(rules, slice_str(rows[i].text), &a, &err) == 0) != rows[i].fine)
            fail_msg("%s: %s", rows[i].text, err.text);
        free(rules);
    }
}

static bool address(const struct egress_rules *rules, const char *text, uint16_t port) {
    struct io_address found;
    assert_true(io_address_parse(slice_str(text), &found));
    return egress_rules_have_address(rules, &found, port);
}

static void test_names_and_addresses_are_apart(void **state) {
    (void)state;
    static const char *const texts[] = {"api.example.com:443", "*.files.example:*", "10.0.0.0/8:5432",
                                        "[fd00::]/8:80"};
    struct egress_rules *rules = calloc(1, sizeof(*rules));
    struct err err = {""};
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(egress_rules_add(rules, slice_str(texts[i]), &a, &err), 0);
    assert_true(egress_rules_have_name(rules, SLICE("api.example.com"), 443));
    assert_false(egress_rules_have_name(rules, SLICE("api.example.com"), 80));
    assert_false(egress_rules_have_name(rules, SLICE("xapi.example.com"), 443));
    assert_true(egress_rules_have_name(rules, SLICE("a.b.files.example"), 1));
    assert_false(egress_rules_have_name(rules, SLICE("files.example"), 1));
    assert_true(address(rules, "10.255.0.1", 5432));
    assert_false(address(rules, "10.255.0.1", 443));
    assert_false(address(rules, "11.0.0.1", 5432));
    assert_true(address(rules, "fd12::1", 80));
    assert_true(egress_rules_mention(rules, SLICE("10.1.1.1")));
    assert_false(egress_rules_mention(rules, SLICE("example.com")));
    free(rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_entries),
                                       cmocka_unit_test(test_names_and_addresses_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
