#include "policy/match.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What git's own table of wildmatch (t3070) expects: with slashes as separators, and without. */
static const struct {
    bool path, name;
    const char *text, *pattern;
} rows[] = {
    /* clang-format off */
    {1, 1, "foo", "foo"},
    {0, 0, "foo", "bar"},
    {1, 1, "", ""},
    {1, 1, "foo", "?\??"},
    {0, 0, "foo", "?\?"},
    {1, 1, "foo", "*"},
    {1, 1, "foo", "f*"},
    {0, 0, "foo", "*f"},
    {1, 1, "foo", "*foo*"},
    {1, 1, "foobar", "*ob*a*r*"},
    {1, 1, "aaaaaaabababab", "*ab"},
    {1, 1, "foo*", "foo\\*"},
    {0, 0, "foobar", "foo\\*bar"},
    {1, 1, "f\\oo", "f\\\\oo"},
    {0, 0, "foo\\", "foo\\"},
    {1, 1, "c", "[c-a]"}, /* a range that is the wrong way round contains its first character */
    {0, 0, "b", "[c-a]"},
    {1, 1, "ball", "*[al]?"},
    {0, 0, "ten", "[ten]"},
    {1, 1, "ten", "**[!te]"},
    {0, 0, "ten", "**[!ten]"},
    {1, 1, "ten", "t[a-g]n"},
    {0, 0, "ten", "t[!a-g]n"},
    {1, 1, "ton", "t[!a-g]n"},
    {1, 1, "ton", "t[^a-g]n"},
    {1, 1, "a]b", "a[]]b"},
    {1, 1, "a-b", "a[]-]b"},
    {1, 1, "a]b", "a[]-]b"},
    {0, 0, "aab", "a[]-]b"},
    {1, 1, "aab", "a[]a-]b"},
    {1, 1, "]", "]"},
    {0, 1, "foo/baz/bar", "foo*bar"},
    {0, 1, "foo/baz/bar", "foo**bar"},
    {1, 1, "foobazbar", "foo**bar"},
    {1, 1, "foo/baz/bar", "foo/**/bar"},
    {1, 0, "foo/baz/bar", "foo/**/**/bar"},
    {1, 1, "foo/b/a/z/bar", "foo/**/bar"},
    {1, 1, "foo/b/a/z/bar", "foo/**/**/bar"},
    {1, 0, "foo/bar", "foo/**/bar"},
    {1, 0, "foo/bar", "foo/**/**/bar"},
    {0, 1, "foo/bar", "foo?bar"},
    {0, 1, "foo/bar", "foo[/]bar"},
    {0, 1, "foo/bar", "foo[^a-z]bar"},
    {0, 1, "foo/bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r"},
    {1, 1, "foo-bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r"},
    {1, 0, "foo", "**/foo"},
    {1, 1, "XXX/foo", "**/foo"},
    {1, 1, "bar/baz/foo", "**/foo"},
    {0, 1, "bar/baz/foo", "*/foo"},
    {0, 1, "foo/bar/baz", "**/bar*"},
    {1, 1, "deep/foo/bar/baz", "**/bar/*"},
    {0, 1, "deep/foo/bar/baz/", "**/bar/*"},
    {1, 1, "deep/foo/bar/baz/", "**/bar/**"},
    {0, 0, "deep/foo/bar", "**/bar/*"},
    {1, 1, "deep/foo/bar/", "**/bar/**"},
    {0, 1, "foo/bar/baz", "**/bar**"},
    {1, 1, "foo/bar/baz/x", "*/bar/**"},
    {0, 1, "deep/foo/bar/baz/x", "*/bar/**"},
    {1, 1, "deep/foo/bar/baz/x", "**/bar/*/*"},
    {0, 0, "acrt", "a[c-c]st"},
    {1, 1, "acrt", "a[c-c]rt"},
    {0, 0, "]", "[!]-]"},
    {1, 1, "a", "[!]-]"},
    {0, 0, "", "\\"},
    {0, 0, "\\", "\\"},
    {0, 0, "XXX/\\", "*/\\"},
    {1, 1, "XXX/\\", "*/\\\\"},
    {1, 1, "foo", "foo"},
    {1, 1, "@foo", "@foo"},
    {0, 0, "foo", "@foo"},
    {1, 1, "[ab]", "\\[ab]"},
    {1, 1, "[ab]", "[[]ab]"},
    {1, 1, "[ab]", "[[:]ab]"},
    {0, 0, "[ab]", "[[::]ab]"},
    {1, 1, "[ab]", "[[:digit]ab]"},
    {1, 1, "[ab]", "[\\[:]ab]"},
    {1, 1, "?a?b", "\\?\?\\?b"},
    {1, 1, "abc", "\\a\\b\\c"},
    {0, 0, "foo", ""},
    {1, 1, "foo/bar/baz/to", "**/t[o]"},
    {1, 1, "a1B", "[[:alpha:]][[:digit:]][[:upper:]]"},
    {0, 0, "a", "[[:digit:][:upper:][:space:]]"},
    {1, 1, "A", "[[:digit:][:upper:][:space:]]"},
    {1, 1, "1", "[[:digit:][:upper:][:space:]]"},
    {0, 0, "1", "[[:digit:][:upper:][:spaci:]]"},
    {1, 1, " ", "[[:digit:][:upper:][:space:]]"},
    {0, 0, ".", "[[:digit:][:upper:][:space:]]"},
    {1, 1, ".", "[[:digit:][:punct:][:space:]]"},
    {1, 1, "5", "[[:xdigit:]]"},
    {1, 1, "f", "[[:xdigit:]]"},
    {1, 1, "D", "[[:xdigit:]]"},
    {1, 1, "_", "[[:alnum:][:alpha:][:blank:][:cntrl:][:digit:][:graph:][:lower:][:print:][:punct:][:space:][:upper:][:xdigit:]]"},
    {1, 1, ".", "[^[:alnum:][:alpha:][:blank:][:cntrl:][:digit:][:lower:][:space:][:upper:][:xdigit:]]"},
    {1, 1, "5", "[a-c[:digit:]x-z]"},
    {1, 1, "b", "[a-c[:digit:]x-z]"},
    {1, 1, "y", "[a-c[:digit:]x-z]"},
    {0, 0, "q", "[a-c[:digit:]x-z]"},
    {1, 1, "]", "[\\\\-^]"},
    {0, 0, "[", "[\\\\-^]"},
    {1, 1, "-", "[\\-_]"},
    {1, 1, "]", "[\\]]"},
    {0, 0, "\\]", "[\\]]"},
    {0, 0, "\\", "[\\]]"},
    {0, 0, "ab", "a[]b"},
    {0, 0, "a[]b", "a[]b"},
    {0, 0, "ab[", "ab["},
    {0, 0, "ab", "[!"},
    {0, 0, "ab", "[-"},
    {1, 1, "-", "[-]"},
    {0, 0, "-", "[a-"},
    {0, 0, "-", "[!a-"},
    {1, 1, "-", "[--A]"},
    {1, 1, "5", "[--A]"},
    {1, 1, " ", "[ --]"},
    {1, 1, "$", "[ --]"},
    {1, 1, "-", "[ --]"},
    {0, 0, "0", "[ --]"},
    {1, 1, "-", "[---]"},
    {1, 1, "-", "[------]"},
    {0, 0, "j", "[a-e-n]"},
    {1, 1, "-", "[a-e-n]"},
    {1, 1, "a", "[!------]"},
    {0, 0, "[", "[]-a]"},
    {1, 1, "^", "[]-a]"},
    {0, 0, "^", "[!]-a]"},
    {1, 1, "[", "[!]-a]"},
    {1, 1, "^", "[a^bc]"},
    {1, 1, "-b]", "[a-]b]"},
    {0, 0, "\\", "[\\]"},
    {1, 1, "\\", "[\\\\]"},
    {0, 0, "\\", "[!\\\\]"},
    {1, 1, "G", "[A-\\\\]"},
    {0, 0, "aaabbb", "b*a"},
    {0, 0, "aabcaa", "*ba*"},
    {1, 1, ",", "[,]"},
    {1, 1, ",", "[\\\\,]"},
    {1, 1, "\\", "[\\\\,]"},
    {1, 1, "-", "[,-.]"},
    {0, 0, "+", "[,-.]"},
    {0, 0, "-.]", "[,-.]"},
    {1, 1, "2", "[\\1-\\3]"},
    {1, 1, "3", "[\\1-\\3]"},
    {0, 0, "4", "[\\1-\\3]"},
    {1, 1, "\\", "[[-\\]]"},
    {1, 1, "[", "[[-\\]]"},
    {1, 1, "]", "[[-\\]]"},
    {0, 0, "-", "[[-\\]]"},
    {1, 1, "-adobe-courier-bold-o-normal--12-120-75-75-m-70-iso8859-1", "-*-*-*-*-*-*-12-*-*-*-m-*-*-*"},
    {0, 0, "-adobe-courier-bold-o-normal--12-120-75-75-X-70-iso8859-1", "-*-*-*-*-*-*-12-*-*-*-m-*-*-*"},
    {0, 0, "-adobe-courier-bold-o-normal--12-120-75-75-/-70-iso8859-1", "-*-*-*-*-*-*-12-*-*-*-m-*-*-*"},
    {1, 1, "XXX/adobe/courier/bold/o/normal//12/120/75/75/m/70/iso8859/1", "XXX/*/*/*/*/*/*/12/*/*/*/m/*/*/*"},
    {0, 0, "XXX/adobe/courier/bold/o/normal//12/120/75/75/X/70/iso8859/1", "XXX/*/*/*/*/*/*/12/*/*/*/m/*/*/*"},
    {1, 1, "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txt", "**/*a*b*g*n*t"},
    {0, 0, "abcd/abcdefg/abcdefghijk/abcdefghijklmnop.txtz", "**/*a*b*g*n*t"},
    {0, 0, "foo", "*/*/*"},
    {0, 0, "foo/bar", "*/*/*"},
    {1, 1, "foo/bba/arr", "*/*/*"},
    {0, 1, "foo/bb/aa/rr", "*/*/*"},
    {1, 1, "foo/bb/aa/rr", "**/**/**"},
    {1, 1, "abcXdefXghi", "*X*i"},
    {0, 1, "ab/cXd/efXg/hi", "*X*i"},
    {1, 1, "ab/cXd/efXg/hi", "*/*X*/*/*i"},
    {1, 1, "ab/cXd/efXg/hi", "**/*X*/**/*i"},
    {0, 0, "foo", "fo"},
    {1, 1, "foo/bar", "foo/bar"},
    {1, 1, "foo/bar", "foo/*"},
    {0, 1, "foo/bba/arr", "foo/*"},
    {1, 1, "foo/bba/arr", "foo/**"},
    {0, 1, "foo/bba/arr", "foo*"},
    {0, 1, "foo/bba/arr", "foo**"},
    {0, 1, "foo/bba/arr", "foo/*arr"},
    {0, 1, "foo/bba/arr", "foo/**arr"},
    {0, 0, "foo/bba/arr", "foo/*z"},
    {0, 0, "foo/bba/arr", "foo/**z"},
    {0, 1, "foo/bar", "foo?bar"},
    {0, 1, "foo/bar", "foo[/]bar"},
    {0, 1, "foo/bar", "foo[^a-z]bar"},
    {0, 1, "ab/cXd/efXg/hi", "*Xg*i"},
    {0, 0, "a", "[A-Z]"},
    {1, 1, "A", "[A-Z]"},
    {0, 0, "A", "[a-z]"},
    {1, 1, "a", "[a-z]"},
    {0, 0, "a", "[[:upper:]]"},
    {1, 1, "A", "[[:upper:]]"},
    {0, 0, "A", "[[:lower:]]"},
    {1, 1, "a", "[[:lower:]]"},
    {0, 0, "A", "[B-Za]"},
    {1, 1, "a", "[B-Za]"},
    {0, 0, "A", "[B-a]"},
    {1, 1, "a", "[B-a]"},
    {0, 0, "z", "[Z-y]"},
    {1, 1, "Z", "[Z-y]"},
    /* clang-format on */
};

static enum policy_glob_answer match(const char *pattern, const char *text, char separator) {
    uint64_t steps = 100000;
    return policy_glob_match(slice_str(pattern), slice_str(text), separator, &steps);
}

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if ((match(rows[i].pattern, rows[i].text, '/') == POLICY_GLOB_YES) != rows[i].path)
            fail_msg("path `%s` against `%s`", rows[i].text, rows[i].pattern);
        if ((match(rows[i].pattern, rows[i].text, 0) == POLICY_GLOB_YES) != rows[i].name)
            fail_msg("name `%s` against `%s`", rows[i].text, rows[i].pattern);
    }
}

static void test_directories(void **state) {
    (void)state;
    assert_int_equal(match("**/.env", ".env", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("**/.env", "a/b/.env", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("**/.env", "a/x.env", '/'), POLICY_GLOB_NO);
    assert_int_equal(match("a/**/b/**/c", "a/b/c", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("a/**/b/**/c", "a/x/b/y/b/z/c", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("a/**/b*/**/c*d", "a/b/bx/y/cd", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("a/**/b*/**/c*d", "a/b/bx/y/cd/", '/'), POLICY_GLOB_NO);
    assert_int_equal(match("/**", "/a/b", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("a/**", "a", '/'), POLICY_GLOB_NO);
}

static void test_characters(void **state) {
    (void)state;
    assert_int_equal(match("?", "\xc3\xa9", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("[\xc3\xa9]", "\xc3\xa9", '/'), POLICY_GLOB_YES);
    assert_int_equal(match("*[!\xc3\xa9]", "\xc3\xa9", '/'), POLICY_GLOB_NO);
    assert_int_equal(match("[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", '/'), POLICY_GLOB_YES);
}

static void test_broken(void **state) {
    (void)state;
    assert_int_equal(match("[a-", "a", '/'), POLICY_GLOB_BROKEN);
    assert_int_equal(match("a[[:alfa:]]", "b", '/'), POLICY_GLOB_BROKEN);
    assert_int_equal(match("x\\", "y", '/'), POLICY_GLOB_BROKEN);
    assert_true(policy_glob_is_sound(SLICE("a[]]b\\[")));
}

static void test_gives_up(void **state) {
    (void)state;
    char text[4000], pattern[200];
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i + 1 < sizeof(pattern); i += 2) {
        pattern[i] = 'a';
        pattern[i + 1] = '*';
    }
    pattern[199] = 'b';
    uint64_t steps = 1000;
    struct slice stars = slice_of(pattern, 200), letters = slice_of(text, sizeof(text));
    assert_int_equal(policy_glob_match(stars, letters, 0, &steps), POLICY_GLOB_SPENT);
    assert_int_equal(steps, 0);
    assert_false(policy_glob_names(stars, letters));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),  cmocka_unit_test(test_directories), cmocka_unit_test(test_characters),
        cmocka_unit_test(test_broken), cmocka_unit_test(test_gives_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
