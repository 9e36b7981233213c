#include "packages/spec.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_specs(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum pack_kind kind;
        const char *name, *version; /* name NULL: refused */
        bool range;
    } rows[] = {
        {"pandas", PACK_PIP, "pandas", "", false},
        {" pandas==2.2.0 ", PACK_PIP, "pandas", "2.2.0", false},
        {"pandas == 2.2.0", PACK_PIP, "pandas", "2.2.0", false},
        {"pandas==2.*", PACK_PIP, "pandas", "", true},
        {"pandas>=2,<3", PACK_PIP, "pandas", "", true},
        {"httpx[http2]==0.27", PACK_PIP, "httpx", "0.27", false},
        {"pip:zope.interface", PACK_PIP, "zope.interface", "", false},
        {"npm:lodash", PACK_NPM, "lodash", "", false},
        {"zod@3", PACK_NPM, "zod", "3", false},
        {"zod@^3.1", PACK_NPM, "zod", "", true},
        {"@scope/name", PACK_NPM, "@scope/name", "", false},
        {"@scope/name@1.2.3-rc.1", PACK_NPM, "@scope/name", "1.2.3-rc.1", false},
        {"npm:@a/b@>=1 <2", PACK_NPM, "@a/b", "", true},
        {"", PACK_PIP, NULL, NULL, false},
        {"--index-url=x", PACK_PIP, NULL, NULL, false},
        {"-r x", PACK_PIP, NULL, NULL, false},
        {"./dir", PACK_PIP, NULL, NULL, false},
        {"a/b", PACK_PIP, NULL, NULL, false},
        {"x @ https://a/b.whl", PACK_PIP, NULL, NULL, false},
        {"git+https://a/b", PACK_PIP, NULL, NULL, false},
        {"pandas; id", PACK_PIP, NULL, NULL, false},
        {"pandas[a", PACK_PIP, NULL, NULL, false},
        {"pandas 2.2", PACK_PIP, NULL, NULL, false},
        {"zod@file:../x", PACK_NPM, NULL, NULL, false},
        {"zod@npm:other@1", PACK_NPM, NULL, NULL, false},
        {"zod@github:a/b", PACK_NPM, NULL, NULL, false},
        {"@scope", PACK_NPM, NULL, NULL, false},
        {"npm:../x", PACK_NPM, NULL, NULL, false},
        {"npm:", PACK_NPM, NULL, NULL, false},
        {"zod@", PACK_NPM, NULL, NULL, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pack_spec s = {0};
        struct err err = {""};
        const int got = pack_spec_parse(slice_str(rows[i].text), PACK_PIP, &s, &err);
        if (got != (rows[i].name ? 0 : -1))
            fail_msg("`%s`: %s", rows[i].text, got ? err.text : "taken");
        if (got < 0)
            continue;
        if (s.kind != rows[i].kind || !slice_is(s.name, rows[i].name) ||
            !slice_is(s.version, rows[i].version) || s.range != rows[i].range)
            fail_msg("`%s`: name `%.*s`, version `%.*s`, range %d", rows[i].text, SLICE_FMT(s.name),
                     SLICE_FMT(s.version), s.range);
    }
}

static struct pack_spec spec(const char *text) {
    struct pack_spec s = {0};
    struct err err;
    assert_int_equal(pack_spec_parse(slice_str(text), PACK_PIP, &s, &err), 0);
    return s;
}

static void test_fits(void **state) {
    (void)state;
    assert_true(pack_spec_same_name(PACK_PIP, SLICE("Zope.Interface"), SLICE("zope-_interface")));
    assert_false(pack_spec_same_name(PACK_PIP, SLICE("zopeinterface"), SLICE("zope-interface")));
    assert_false(pack_spec_same_name(PACK_NPM, SLICE("A"), SLICE("a")));
    const struct pack_spec three = spec("zod@3"), pinned = spec("pandas==2.2"), any = spec("pandas");
    assert_true(pack_spec_fits(&three, SLICE("3.1.0")));
    assert_false(pack_spec_fits(&three, SLICE("31.0.0")));
    assert_true(pack_spec_fits(&pinned, SLICE("2.2")));
    assert_false(pack_spec_fits(&pinned, SLICE("2.2.1")));
    assert_true(pack_spec_covers(&any, &pinned));
    assert_true(pack_spec_covers(&pinned, &any));
    const struct pack_spec other = spec("pandas==2.3"), range = spec("pandas>=1"), exact = spec("zod@3.4.5");
    assert_false(pack_spec_covers(&pinned, &other));
    assert_false(pack_spec_covers(&range, &other));
    assert_false(pack_spec_covers(&any, &range));
    assert_true(pack_spec_covers(&three, &exact));
    assert_non_null(pack_spec_preset(SLICE("data-science")));
    assert_null(pack_spec_preset(SLICE("other")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_specs), cmocka_unit_test(test_fits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
