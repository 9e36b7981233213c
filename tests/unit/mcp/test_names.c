/* Names of many servers in one space: there and back, and what must not be mistaken. */
#include "mcp/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct arena a;

static void shown(const char *prefix, const char *tool, const char *want) {
    struct slice got = names_show(&a, slice_str(prefix), slice_str(tool));
    if (!slice_is(got, want))
        fail_msg("`%.*s` is not `%s`", SLICE_FMT(got), want);
}

static void tools(void **state) {
    (void)state;
    shown("files", "read_file", "files__read_file");
    shown("files", "a__b", "files__a__b");
    struct slice prefix, name;
    assert_true(names_split(SLICE("files__a__b"), &prefix, &name));
    assert_true(slice_is(prefix, "files") && slice_is(name, "a__b"));
    assert_true(names_split(SLICE("files___x"), &prefix, &name));
    assert_true(slice_is(prefix, "files") && slice_is(name, "_x"));
    assert_false(names_split(SLICE("read_file"), &prefix, &name));
    assert_false(names_split(SLICE("__x"), &prefix, &name));
    assert_false(names_split(SLICE(""), &prefix, &name));
}

static void long_names(void **state) {
    (void)state;
    char one[128], two[128], exact[128];
    snprintf(one, sizeof(one), "%060d_list_all_objects", 1);
    snprintf(two, sizeof(two), "%060d_list_all_objects", 2);
    snprintf(exact, sizeof(exact), "%059d", 1);
    struct slice x = names_show(&a, SLICE("srv"), slice_str(one)),
                 y = names_show(&a, SLICE("srv"), slice_str(two));
    assert_int_equal(x.len, NAMES_TOOL_MAX);
    assert_true(slice_ends(x, SLICE("_list_all_objects")));
    assert_true(slice_starts(x, SLICE("srv__")));
    assert_false(slice_eq(x, y));
    assert_true(slice_eq(x, names_show(&a, SLICE("srv"), slice_str(one))));
    assert_true(names_is_short(x));
    assert_false(names_is_short(SLICE("srv__read_file")));
    /* As long as allowed stays as it is. */
    assert_int_equal(names_show(&a, SLICE("srv"), slice_str(exact)).len, NAMES_TOOL_MAX);
    assert_true(slice_ends(names_show(&a, SLICE("srv"), slice_str(exact)), slice_str(exact)));
}

static void no_half_characters(void **state) {
    (void)state;
    char name[256] = "";
    for (size_t i = 0; i < 40; i++)
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "\xc3\xa9");
    struct slice got = names_show(&a, SLICE("s"), slice_str(name));
    assert_true(got.len <= NAMES_TOOL_MAX && got.len >= NAMES_TOOL_MAX - 3);
    assert_int_equal((unsigned char)got.ptr[got.len - 2], 0xc3);
    assert_true(names_is_short(got));
}

static void uri(const char *uri_text, const char *want) {
    struct slice prefix, back, got = names_show_uri(&a, SLICE("srv"), slice_str(uri_text));
    if (!slice_is(got, want))
        fail_msg("`%.*s` is not `%s`", SLICE_FMT(got), want);
    assert_true(names_split_uri(&a, got, &prefix, &back));
    assert_true(slice_is(prefix, "srv") && slice_is(back, uri_text));
}

static void uris(void **state) {
    (void)state;
    uri("file:///a/b?c#d", "sallyport:srv/file:///a/b?c#d");
    uri("https://example.com/x", "sallyport:srv/https://example.com/x");
    uri("memo:1", "sallyport:srv/memo:1");
    uri("test://t/{id}/data", "sallyport:srv/test://t/{id}/data");
    uri("ui://page.html", "ui://srv/page.html");
    uri("ui://a/b.html", "ui://srv/a/b.html");
    uri("skill://x/SKILL.md", "skill://srv/x/SKILL.md");
    struct slice prefix, back;
    assert_false(names_split_uri(&a, SLICE("file:///etc/passwd"), &prefix, &back));
    assert_false(names_split_uri(&a, SLICE("sallyport:srv"), &prefix, &back));
    assert_false(names_split_uri(&a, SLICE("sallyport:/x"), &prefix, &back));
    assert_false(names_split_uri(&a, SLICE("ui://page"), &prefix, &back));
}

static void templates(void **state) {
    (void)state;
    static const struct {
        const char *template, *uri;
        bool fits;
    } cases[] = {
        {"test://t/{id}/data", "test://t/7/data", true},
        {"test://t/{id}/data", "test://t/7/date", false},
        {"test://t/{id}/data", "best://t/7/data", false},
        {"file:///{+path}", "file:///a/b/c", true},
        {"x:{a}-{b}", "x:1-2", true},
        {"x:{a}-{b}", "x:12", false},
        {"x:plain", "x:plain", true},
        {"x:plain", "x:plainer", false},
        {"{+any}", "whatever://x", true},
        {"x:{broken", "x:1", false},
        {"a{x}b{y}b", "a1b2b", true},
        {"a{x}bb", "abb", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (names_fit_template(slice_str(cases[i].template), slice_str(cases[i].uri)) != cases[i].fits)
            fail_msg("%s %s", cases[i].template, cases[i].uri);
}

int main(void) {
    arena_init(&a);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools), cmocka_unit_test(long_names), cmocka_unit_test(no_half_characters),
        cmocka_unit_test(uris),  cmocka_unit_test(templates),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(&a);
    return failed;
}
