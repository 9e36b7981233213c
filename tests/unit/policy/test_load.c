#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct policy *load(const char *text, struct policy_problems *problems) {
    struct policy *p = NULL;
    policy_problems_init(problems);
    policy_load(slice_str(text), "test.yaml", &p, problems);
    return p;
}

static void expect_problem(const char *text, const char *want, unsigned line, unsigned column,
                           const char *hint) {
    struct policy_problems problems;
    struct policy *p = load(text, &problems);
    assert_null(p);
    assert_true(problems.count >= 1);
    const struct policy_problem *one = &problems.items[0];
    if (!slice_is(one->text, want) || one->line != line || one->column != column ||
        !slice_is(one->hint, hint))
        fail_msg("%.*s at %u:%u (%.*s)", SLICE_FMT(one->text), one->line, one->column, SLICE_FMT(one->hint));
    policy_problems_free(&problems);
}

static void test_positions_and_hints(void **state) {
    (void)state;
    expect_problem("version: \"1\"\nhiden: [a]\ntools: {}\n", "unknown key \"hiden\"", 2, 1,
                   "did you mean \"hide\"?");
    expect_problem("version: \"1\"\ntools:\n  t:\n    rules:\n      - name: r\n        conditions:\n"
                   "          - {path: args.x, op: regexp, value: a}\n",
                   "tools.t.rules[0].conditions[0]: unknown operator \"regexp\"", 7, 32,
                   "did you mean \"regex\"?");
    expect_problem("version: \"2\"\ntools: {}\n", "version must be \"1\", got \"2\"", 1, 10, "");
    expect_problem("version: 1.0\ntools: {}\n", "version must be \"1\", got \"1.0\"", 1, 10, "");
    expect_problem("tools: {}\n", "version must be \"1\", got \"\"", 1, 1, "");
    expect_problem("{\"version\":\"1\",\n\"default\":\"no\",\"tools\":{}}",
                   "default must be \"allow\" or \"deny\", got \"no\"", 2, 11, "");
    expect_problem("version: \"1\"\ntools:\n  \"@destructiv\": {rules: []}\n",
                   "unknown selector \"@destructiv\"", 3, 18, "did you mean \"@destructive\"?");
}

static void test_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "[]",
        "5",
        "\"x\"",
        "version: \"1\"\ntools: []",
        "version: \"1\"\ntools: {t: 5}",
        "version: \"1\"\ntools: {t: {rules: {}}}",
        "version: \"1\"\ntools: {t: {rules: [5]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [5]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{any: []}]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args., op: eq, value: 1}]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: 'args.a[', op: eq, value: 1}]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.a, op: under, value: "
        "relative}]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, conditions: [{path: args.a, op: within, value: "
        "{}}]}]}}",
        "version: \"1\"\ntools: {t: {rules: [{name: r, spend_limit: lots}]}}",
        "version: \"1\"\nflows: [{after: [src_untrusted]}]",
        "version: \"1\"\nflows: [{after: [x], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [\"result.pii.EMAIL\"], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [\"result.pii.EMAIL > x\"], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [\"result.pii.EMAIL >= 0\"], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [\"result.pii.email > 0\"], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [\"result.piiEMAIL > 0\"], deny: [sink]}]",
        "version: \"1\"\nflows: [{after: [sink], deny: [\"result.pii.EMAIL > 0\"]}]",
        "version: \"1\"\nmethods: {tools/call: deny}",
        "{\"version\":\"1\",\"tools\":{\"t\":{\"limits\":[]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"*\":{\"limits\":[]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"a_*\":{}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"t\":{\"deny_if\":[{}]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"t\":{\"require\":[{\"conditions\":[]}]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"a\":{\"limits\":[{\"counter\":\"c\",\"window\":"
        "\"day\",\"max\":1}]},"
        "\"b\":{\"limits\":[{\"counter\":\"c\",\"window\":\"day\",\"max\":2}]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"a\":{\"limits\":[{\"counter\":\"c\",\"window\":"
        "\"day\"}]}}}",
        "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"a\":{\"limits\":[{\"counter\":\"c\",\"window\":"
        "\"day\",\"max\":-1}]}}}",
        "{\"version\":\"1\",\"version\":\"1\",\"tools\":{}}",
        "version: \"1\"\nversion: \"1\"\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct policy_problems problems;
        struct policy *p = load(texts[i], &problems);
        if (p || problems.count == 0)
            fail_msg("%s was taken", texts[i]);
        policy_problems_free(&problems);
    }
}

static void test_deep_groups_are_refused(void **state) {
    (void)state;
    char text[4096] = "{\"version\":\"1\",\"tools\":{\"t\":{\"rules\":[{\"name\":\"r\",\"conditions\":[";
    size_t len = strlen(text);
    for (int i = 0; i < 9; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "{\"not\":");
    len +=
        (size_t)snprintf(text + len, sizeof(text) - len, "{\"path\":\"args.a\",\"op\":\"eq\",\"value\":1}");
    for (int i = 0; i < 9; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "}");
    snprintf(text + len, sizeof(text) - len, "]}]}}}");
    struct policy_problems problems;
    assert_null(load(text, &problems));
    policy_problems_free(&problems);
}

static void test_properties(void **state) {
    (void)state;
    struct policy_problems problems;
    struct policy *p =
        load("version: \"1\"\nmode: shadow\ntools: {a: {rules: []}, 'b_*': {rules: []}}\n", &problems);
    assert_non_null(p);
    assert_true(policy_is_shadow(p));
    assert_int_equal(policy_dialect(p), POLICY_INTERCEPT);
    assert_int_equal(policy_tool_count(p), 2);
    assert_int_equal(strlen(policy_hash(p)), 64);
    assert_true(slice_is(policy_name(p), "test.yaml"));
    policy_unref(policy_ref(p));
    policy_unref(p);
    policy_problems_free(&problems);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_and_hints),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deep_groups_are_refused),
        cmocka_unit_test(test_properties),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
