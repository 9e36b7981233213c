#include "upstream/oauth.h"

#include "base/buf.h"
#include "upstream/bearer.h"
#include "upstream/fetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_challenges(void **state) {
    (void)state;
    static const struct {
        const char *challenge, *name, *value; /* NULL: none */
    } rows[] = {
        {"Bearer resource_metadata=\"https://a/b\", scope=\"x y\"", "resource_metadata", "https://a/b"},
        {"bearer scope=\"x y\",resource_metadata=\"https://a/b\"", "resource_metadata", "https://a/b"},
        {"Bearer realm=\"a, scope=\\\"evil\\\"\", scope=good", "scope", "good"},
        {"Bearer error=invalid_token, SCOPE=\"a\"", "scope", "a"},
        {"Bearer scope=\"\\\"quoted\\\"\"", "scope", "\"quoted\""},
        {"Bearer", "scope", NULL},
        {"Bearer scope", "scope", NULL},
        {"Bearer scope=\"open", "scope", NULL},
        {"Bearer scope=\"\"", "scope", NULL},
        {"Basic scope=\"x\"", "scope", NULL},
        {"", "scope", NULL},
        {"Bearer scopes=\"x\"", "scope", NULL},
    };
    struct buf out;
    buf_init(&out, 256);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool got = up_challenge_param(slice_str(rows[i].challenge), rows[i].name, &out);
        if (got != (rows[i].value != NULL) || (got && !slice_is(buf_slice(&out), rows[i].value)))
            fail_msg("%s", rows[i].challenge);
    }
    buf_free(&out);
}

/* A command that a person pastes: nothing that a server said may end it and start another. */
static void test_commands(void **state) {
    (void)state;
    static const struct {
        const char *url, *granted, *wanted, *command;
    } rows[] = {
        {"https://a/mcp", "", "", "sallyport login --url https://a/mcp"},
        {"https://a/mcp", "", "r:x w", "sallyport login --url https://a/mcp --scope r:x --scope w"},
        {"https://a/mcp", "r", "w r", "sallyport login --url https://a/mcp --scope r --scope w"},
        {"https://a/mcp", "r", "", "sallyport login --url https://a/mcp"},
        {"https://a/mcp?k=1&l=2", "", "", "sallyport login --url 'https://a/mcp?k=1&l=2'"},
        {"https://a/it's", "", "", "sallyport login --url URL"},
        {"https://a/mcp", "", "x;reboot", "sallyport login --url https://a/mcp"},
        {"https://a/mcp", "", "x `id`", "sallyport login --url https://a/mcp"},
        {"https://a/mcp", "", "$(id)", "sallyport login --url https://a/mcp"},
        {"https://a/mcp", "", "x --forget", "sallyport login --url https://a/mcp"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct up_server s = {.url = rows[i].url};
        char command[UP_COMMAND_MAX];
        up_scopes_take(s.challenge.granted, slice_str(rows[i].granted));
        up_scopes_take(s.challenge.wanted, slice_str(rows[i].wanted));
        up_challenge_command(&s, command);
        assert_string_equal(command, rows[i].command);
    }
    struct up_server s = {.url = "https://a/mcp"};
    char command[UP_COMMAND_MAX], most[UP_SCOPE_MAX];
    memset(most, 'x', sizeof(most));
    up_scopes_take(s.challenge.wanted, slice_of(most, sizeof(most)));
    assert_string_equal(s.challenge.wanted, "");
    up_scopes_take(s.challenge.wanted, slice_of(most, sizeof(most) - 1));
    up_challenge_command(&s, command);
    assert_string_equal(command, "sallyport login --url URL");
}

static void test_resources(void **state) {
    (void)state;
    static const struct {
        const char *resource, *url;
        bool covers;
    } rows[] = {
        {"https://a/mcp", "https://a/mcp", true},
        {"https://a", "https://a/mcp", true},
        {"https://a/", "https://a/mcp", true},
        {"https://A/mcp", "https://a/mcp", true},
        {"https://a:443/mcp", "https://a/mcp/x?q", true},
        {"https://a/mcp/", "https://a/mcp", true},
        {"https://a/mc", "https://a/mcp", false},
        {"https://a/mcp/x", "https://a/mcp", false},
        {"http://a/mcp", "https://a/mcp", false},
        {"https://a:444/mcp", "https://a/mcp", false},
        {"https://a.b/mcp", "https://a/mcp", false},
        {"https://a@evil/mcp", "https://a/mcp", false},
        {"", "https://a/mcp", false},
        {"mcp", "https://a/mcp", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (up_resource_covers(slice_str(rows[i].resource), slice_str(rows[i].url)) != rows[i].covers)
            fail_msg("%s %s", rows[i].resource, rows[i].url);
}

static void test_safe_urls(void **state) {
    (void)state;
    const char *safe[] = {"https://a.example/x", "http://127.0.0.1:1/x", "http://localhost/x",
                          "http://[::1]:8/"};
    const char *unsafe[] = {"http://a.example/", "file:///etc/passwd",
                            "javascript:x",      "",
                            "https://",          "//a",
                            "https://u:p@a/",    "http://127.0.0.1.evil.example/",
                            "ftp://a/",          "$(id)"};
    for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
        assert_true(up_url_is_safe(slice_str(safe[i])));
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
        if (up_url_is_safe(slice_str(unsafe[i])))
            fail_msg("%s", unsafe[i]);
}

static void test_forms(void **state) {
    (void)state;
    struct buf out;
    buf_init(&out, 256);
    up_form_put(&out, "a", SLICE("x y&z=%/\xc3\xa4"));
    up_form_put(&out, "b", SLICE("A-._~9"));
    assert_true(slice_is(buf_slice(&out), "a=x%20y%26z%3D%25%2F%C3%A4&b=A-._~9"));
    buf_free(&out);
}

static int take(const char *body, int status, struct up_login *login) {
    struct err err = {0};
    struct up_fetch_answer answer = {.status = status, .body = slice_str(body)};
    return up_login_take(login, &answer, 1000, &err);
}

static void test_token_answers(void **state) {
    (void)state;
    struct up_login login = {0};
    arena_init(&login.arena);
    assert_int_equal(take("{\"access_token\":\"t\",\"token_type\":\"bearer\",\"expires_in\":60,"
                          "\"refresh_token\":\"r\",\"scope\":\"s\"}",
                          200, &login),
                     0);
    assert_true(slice_is(login.access_token, "t") && slice_is(login.refresh_token, "r"));
    assert_int_equal(login.expires_ms, 61000);
    assert_int_equal(take("{\"access_token\":\"t2\",\"token_type\":\"Bearer\"}", 200, &login), 0);
    assert_true(slice_is(login.access_token, "t2") && slice_is(login.refresh_token, "r"));
    assert_int_equal(login.expires_ms, 0);
    const char *lifetimes[] = {"\"60\"", "60.0", "\"\"", "\"soon\"", "\"-60\"", "-60", "[60]", "null"};
    for (size_t i = 0; i < sizeof(lifetimes) / sizeof(*lifetimes); i++) {
        char body[128];
        snprintf(body, sizeof(body), "{\"access_token\":\"t2\",\"token_type\":\"Bearer\",\"expires_in\":%s}",
                 lifetimes[i]);
        assert_int_equal(take(body, 201, &login), 0);
        assert_int_equal(login.expires_ms, i < 2 ? 61000 : 0);
    }
    const char *bad[] = {"",
                         "x",
                         "[]",
                         "{}",
                         "{\"access_token\":\"t\"}",
                         "{\"access_token\":\"t\",\"token_type\":\"DPoP\"}",
                         "{\"access_token\":\"a\\r\\nX: y\",\"token_type\":\"Bearer\"}",
                         "{\"access_token\":\"\",\"token_type\":\"Bearer\"}",
                         "{\"access_token\":7,\"token_type\":\"Bearer\"}",
                         "{\"access_token\":\"t\",\"access_token\":\"u\",\"token_type\":\"Bearer\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(take(bad[i], 200, &login), -1);
    assert_int_equal(take("{\"access_token\":\"t\",\"token_type\":\"Bearer\"}", 400, &login), -1);
    assert_true(slice_is(login.access_token, "t2"));
    arena_free(&login.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_challenges), cmocka_unit_test(test_commands),
        cmocka_unit_test(test_resources),  cmocka_unit_test(test_safe_urls),
        cmocka_unit_test(test_forms),      cmocka_unit_test(test_token_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
