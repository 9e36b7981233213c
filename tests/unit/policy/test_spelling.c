#include "policy/spelling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void test_usual_spellings(void **state) {
    (void)state;
    static const struct {
        const char *format, *usual[6], *other[12];
    } rows[] = {
        {"date-time",
         {"2026-11-17T00:00:00Z", "2026-11-17T00:00:00.000Z", "2026-11-17T01:00:00+01:00",
          "2026-02-28T23:59:60-08:00"},
         {"2026-11-17", "2026-11-17 00:00:00Z", "2026-11-17T00:00:00", "1794873600", "1794873600.0",
          "2026-11-17t00:00:00z", "2026-11-17T00:00Z", " 2026-11-17T00:00:00Z", "2026-11-17T00:00:00.Z",
          "2026-11-17T00:00:00+0100", ""}},
        {"date",
         {"2026-11-17"},
         {"2026-11-17T00:00:00", "20261117", "1794873600", "2026-1-7", " 2026-11-17", "2026/11/17", ""}},
        {"time", {"10:20:30"}, {"10:20", "10:20:30.0", "10:20:30Z", "37230", ""}},
        {"uuid",
         {"550e8400-e29b-41d4-a716-446655440000"},
         {"550E8400-e29b-41d4-a716-446655440000", "{550e8400-e29b-41d4-a716-446655440000}",
          "550e8400e29b41d4a716446655440000", "urn:uuid:550e8400-e29b-41d4-a716-446655440000", ""}},
        {"email",
         {"a@b.org", "A.b+c@mail.b-c.org"},
         {"a@B.org", "Ann <a@b.org>", "a@b.org ", "\"a\"@b.org", "a@b.org.", "a@b..org", "a(x)@b.org",
          "@b.org", "a", ""}},
        {"uri",
         {"https://a.org", "https://a.org/", "https://a.org:8443/x?y=Z#w", "mailto:a@b.org",
          "http://[2001:db8::1]/", "https://a.org/a%20b"},
         {"HTTPS://a.org/", "https://A.org/", "https://a.org:443/", "https://u@a.org/", "https:\\\\a.org",
          "https://a.org/./x", "https://a.org/x/..", "https://a.org/%61", "https://a.org/a%2f",
          " https://a.org", "https://a.org\t/"}},
        {"hostname", {"a", "a.b-c.org"}, {"A.org", "a.org.", ".a", "a..b", "a_b", ""}},
        {"ipv4", {"10.0.0.1"}, {"10.0.0.01", "10.1", "0x0a000001", "167772161", "10.0.0.1 ", ""}},
        {"ipv6",
         {"::1", "2001:db8::1"},
         {"0:0:0:0:0:0:0:1", "2001:DB8::1", "2001:db8:0::1", "::1%lo", "[::1]", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const enum policy_format format = policy_spelling_from(slice_str(rows[i].format));
        assert_int_not_equal(format, POLICY_FORMAT_NONE);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].usual) && rows[i].usual[k]; k++)
            if (!policy_spelling_is_usual(format, slice_str(rows[i].usual[k])))
                fail_msg("%s %s", rows[i].format, rows[i].usual[k]);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].other) && rows[i].other[k]; k++)
            if (policy_spelling_is_usual(format, slice_str(rows[i].other[k])))
                fail_msg("%s %s", rows[i].format, rows[i].other[k]);
    }
    assert_int_equal(policy_spelling_from(SLICE("regex")), POLICY_FORMAT_NONE);
    assert_true(policy_spelling_is_usual(POLICY_FORMAT_NONE, SLICE("anything")));
}

static void test_spellings_of_one_value(void **state) {
    (void)state;
    static const struct {
        const char *format, *one, *other;
        bool alike;
    } rows[] = {
        {"date-time", "2026-11-17T00:00:00Z", "2026-11-17T00:00:00.000Z", true},
        {"date-time", "2026-11-17T00:00:00Z", "2026-11-17T01:30:00+01:30", true},
        {"date-time", "2026-12-31T23:00:00-02:00", "2027-01-01T01:00:00Z", true},
        {"date-time", "2024-02-28T24:00:00Z", "2024-02-29T00:00:00Z", true},
        {"date-time", "2026-11-17T00:00:00Z", "2026-11-17T00:00:00.001Z", false},
        {"date-time", "2026-11-17T00:00:00Z", "2026-11-17T00:00:00+01:00", false},
        {"uuid", "550e8400-e29b-41d4-a716-446655440000", "{550E8400E29B41D4A716446655440000}", true},
        {"uuid", "550e8400-e29b-41d4-a716-446655440000", "urn:uuid:550e8400-e29b-41d4-a716-446655440000",
         true},
        {"uuid", "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001", false},
        {"uuid", "550e8400-e29b-41d4-a716-446655440000", "none", false},
        {"email", "Ann@b.org", "ann@B.org", true},
        {"email", "ann@b.org", "bob@b.org", false},
        {"uri", "https://a.org", "https://a.org/", true},
        {"uri", "https://a.org/x", "https://a.org/y", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (policy_spelling_alike(policy_spelling_from(slice_str(rows[i].format)), slice_str(rows[i].one),
                                  slice_str(rows[i].other)) != rows[i].alike)
            fail_msg("%s and %s", rows[i].one, rows[i].other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_spellings),
        cmocka_unit_test(test_spellings_of_one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
