#include "policy/match.h"

#include "wire/host.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_clean_paths(void **state) {
    (void)state;
    struct arena a;
    struct slice clean;
    arena_init(&a);
    assert_true(policy_under_clean(SLICE("/a//b/./c/../d/"), &a, &clean) && slice_is(clean, "/a/b/d"));
    assert_true(policy_under_clean(SLICE("/../.."), &a, &clean) && slice_is(clean, "/"));
    assert_true(policy_under_clean(SLICE("/...a/.b"), &a, &clean) && slice_is(clean, "/...a/.b"));
    assert_false(policy_under_clean(SLICE("a/b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a\0b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/~root"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/%2F"), &a, &clean));
    assert_true(policy_under_clean(SLICE("/a/100%25x/b"), &a, &clean) == false);
    assert_true(policy_under_clean(SLICE("/a/100%/b"), &a, &clean));
    arena_free(&a);
}

static void test_under(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    assert_true(policy_under_holds(SLICE("/d/x"), SLICE("/d/"), &a));
    assert_true(policy_under_holds(SLICE("/d"), SLICE("/d"), &a));
    assert_true(policy_under_holds(SLICE("/anything"), SLICE("/"), &a));
    assert_false(policy_under_holds(SLICE("/dx"), SLICE("/d"), &a));
    assert_false(policy_under_holds(SLICE("/d/../e"), SLICE("/d"), &a));
    arena_free(&a);
}

static void test_hosts(void **state) {
    (void)state;
    static const struct {
        const char *url, *host;
        enum host_fault fault;
    } rows[] = {
        {"http://Example.COM./x", "example.com", HOST_OK},
        {"https://example.com:443?a", "example.com", HOST_OK},
        {"https://example.com#a@b", "example.com", HOST_OK},
        {"http://1.1.1.1", "1.1.1.1", HOST_OK},
        {"http://16843009/", "1.1.1.1", HOST_OK},
        {"http://0x01010101", "1.1.1.1", HOST_OK},
        {"http://[2606:4700:0:0::1111]/", "2606:4700::1111", HOST_OK},
        {"http://[::FFFF:10.0.0.1]", "::ffff:10.0.0.1", HOST_PRIVATE},
        {"http://017700000001/", "127.0.0.1", HOST_PRIVATE},
        {"http://intranet/", "intranet", HOST_PRIVATE},
        {"http://x.internal/", "x.internal", HOST_PRIVATE},
        {"http://255.255.255.255/", "255.255.255.255", HOST_PRIVATE},
        {"http://a@b/", "", HOST_USERINFO},
        {"gopher://a.com/", "", HOST_SCHEME},
        {"http://", "", HOST_SYNTAX},
        {"http:///x", "", HOST_SYNTAX},
        {"http://a..b/", "", HOST_SYNTAX},
        {"http://[::1%25eth0]/", "", HOST_SYNTAX},
        {"http://a.com:99999/", "", HOST_SYNTAX},
        {"http://a.com:80x/", "", HOST_SYNTAX},
        {"http://1.2.3.256/", "", HOST_SYNTAX},
        {"http://0x.1.2.3/", "0.1.2.3", HOST_PRIVATE},
        {"http://a%2ecom/", "", HOST_SYNTAX},
        {"http://xn--e1afmkfd.com/", "xn--e1afmkfd.com", HOST_OK},
        {" http://a.com/", "", HOST_SYNTAX},
        {"http://a.com\t/", "", HOST_SYNTAX},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice host;
        bool is_ip;
        enum host_fault fault = host_of_url(slice_str(rows[i].url), &a, &host, &is_ip);
        if (fault != rows[i].fault || (host.len && !slice_is(host, rows[i].host)))
            fail_msg("%s: %d %.*s", rows[i].url, (int)fault, SLICE_FMT(host));
    }
    arena_free(&a);
    assert_true(host_matches(SLICE("a.b.c"), SLICE("*.b.c")));
    assert_false(host_matches(SLICE("b.c"), SLICE("*.b.c")));
    assert_false(host_matches(SLICE("xb.c"), SLICE("*.b.c")));
}

static void test_agent_config(void **state) {
    (void)state;
    assert_true(policy_preset_names_config(SLICE(".cursor/mcp.json"), false));
    assert_true(policy_preset_names_config(SLICE("a/b/../.VSCode/x"), false));
    assert_true(policy_preset_names_config(SLICE("~\\.ssh\\config"), false));
    assert_true(policy_preset_names_config(SLICE("/x/.git/hooks/pre-commit"), false));
    assert_false(policy_preset_names_config(SLICE("read .bashrc first"), false));
    assert_false(policy_preset_names_config(SLICE("/srv/.gitignore"), false));
    assert_false(policy_preset_names_config(SLICE(""), false));
}

static void test_shell(void **state) {
    (void)state;
    assert_true(policy_shell_clean(SLICE("a-b_c.d/e=f,g:h@i+j")));
    for (const char *c = ";&|`$<>(){}[]*?!#~\\'\"^%\n\r\t\x7f"; *c; c++)
        assert_false(policy_shell_clean(slice_of(c, 1)));
    assert_false(policy_shell_clean(slice_of("\0", 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_clean_paths), cmocka_unit_test(test_under),        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_shell),       cmocka_unit_test(test_agent_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
