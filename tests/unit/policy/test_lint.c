#include "policy/policy.h"
#include "policy/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t warnings(const char *text, const char *part) {
    struct policy_problems problems;
    struct policy *p = NULL;
    policy_problems_init(&problems);
    if (policy_load(slice_str(text), NULL, &p, &problems) != 0)
        fail_msg("%.*s", SLICE_FMT(problems.items[0].text));
    if (!p)
        fail_msg("%.*s", SLICE_FMT(problems.items[0].text));
    policy_lint(p, &problems);
    size_t found = 0;
    for (size_t i = 0; i < problems.count; i++) {
        assert_int_equal(problems.items[i].severity, POLICY_WARNING);
        found += memmem(problems.items[i].text.ptr, problems.items[i].text.len, part, strlen(part)) != NULL;
    }
    policy_unref(p);
    policy_problems_free(&problems);
    return found;
}

#define RULES(rules) "version: \"1\"\ntools: {t: {rules: [" rules "]}}\n"

static void test_lint(void **state) {
    (void)state;
    assert_int_equal(warnings(RULES("{name: a, action: deny}, {name: b, action: deny}"), "can never fire"),
                     1);
    assert_int_equal(warnings(RULES("{name: a, action: deny}, {name: b, rate_limit: 5/day}"), "never count"),
                     1);
    assert_int_equal(
        warnings("version: \"1\"\nhide: [t]\ntools: {t: {rules: [{name: a, action: deny}]}}\n", "hidden"), 1);
    assert_int_equal(
        warnings("version: \"1\"\ntools: {t: {rules: [{name: a, rate_limit: 1/day}]}, '*': {rules: "
                 "[{name: b, action: deny}]}}\n",
                 "shadowed"),
        1);
    assert_int_equal(
        warnings(RULES("{name: a, conditions: [{path: args.x, op: regex, value: '^(a+)+$'}]}"), "backtrack"),
        1);
    assert_int_equal(
        warnings(RULES("{name: a, conditions: [{path: args.x, op: regex, value: '^a+$'}]}"), "backtrack"), 0);
    assert_int_equal(
        warnings(RULES("{name: a, conditions: [{path: args.x, op: regex, value: '^a(?=b)'}]}"), "not RE2"),
        1);
    assert_int_equal(
        warnings(RULES("{name: a, conditions: [{path: args.x, op: regex, value: 'a'}]}"), "anywhere"), 1);
    assert_int_equal(warnings(RULES("{name: a, conditions: [{path: args.x, op: lt, value: 1}, {path: args.x, "
                                    "op: gt, value: 5}]}"),
                              "no value"),
                     1);
    assert_int_equal(warnings(RULES("{name: a, conditions: [{path: args.x, op: gte, value: 1}, {path: "
                                    "args.x, op: lte, value: 5}]}"),
                              "no value"),
                     0);
    assert_int_equal(
        warnings(RULES("{name: a, conditions: [{path: args.x, op: starts_with, value: /srv}]}"), "\"..\""),
        1);
    assert_int_equal(warnings("{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"t\":{\"deny_if\":[{"
                              "\"conditions\":[{\"path\":"
                              "\"args.n\",\"op\":\"gt\",\"value\":5}]}]}}}",
                              "is missing"),
                     1);
    assert_int_equal(
        warnings(
            "{\"version\":\"1\",\"default\":\"deny\",\"tools\":{\"t\":{\"deny_if\":[{\"on_missing\":\"deny\","
            "\"conditions\":[{\"path\":\"args.n\",\"op\":\"gt\",\"value\":5}]}]}}}",
            "is missing"),
        0);
    assert_int_equal(warnings("version: \"1\"\ntools: {}\n", "allows every call"), 1);
}

/* ---- conditions and the schema of the tool ---- */

#define SCHEMA                                                                                               \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"amount\":{\"type\":\"integer\"}," \
    "\"rate\":{\"type\":\"number\"},\"force\":{\"type\":\"boolean\"},\"tags\":{\"type\":\"array\","          \
    "\"items\":"                                                                                             \
    "{\"type\":\"string\"}},\"mode\":{\"enum\":[\"a\",\"b\"]},\"limit\":{\"anyOf\":[{\"type\":\"integer\"}," \
    "{\"type\":\"null\"}]},\"where\":{\"$ref\":\"#/$defs/"                                                   \
    "where\"},\"any\":{},\"either\":{\"type\":[\"integer\",\"string\"]},\"model\":{\"anyOf\":[{\"$ref\":\"#" \
    "/$defs/"                                                                                                \
    "model\"},{\"type\":\"null\"}]}},\"$defs\":{\"model\":{\"type\":\"object\",\"properties\":{\"count\":{"  \
    "\"type\":\"integer\"}}},\"where\":{\"type\":"                                                           \
    "\"object\",\"properties\":{\"city\":{\"type\":\"string\"}}}}}"

/* The only warning about the types of that policy, or NULL; valid until the next call. */
static const char *type_warning_of(const char *policy_text, const char *schema_text, const char *tool) {
    static char text[512];
    struct policy_problems problems;
    struct policy *p = NULL;
    struct policy_schema *schema = NULL;
    struct err err = {0};
    policy_problems_init(&problems);
    if (policy_load(slice_str(policy_text), NULL, &p, &problems) != 0)
        fail_msg("%.*s", SLICE_FMT(problems.items[0].text));
    if (policy_schema_compile(slice_str(schema_text), &schema, &err) < 0)
        fail_msg("%s", err.text);
    const size_t before = problems.count;
    policy_lint_types(p, &(struct policy_lint_tool){.name = slice_str(tool), .schema = schema}, &problems);
    assert_true(problems.count <= before + 1);
    const bool any = problems.count > before;
    if (any) {
        assert_int_equal(problems.items[before].severity, POLICY_WARNING);
        snprintf(text, sizeof(text), "%.*s", SLICE_FMT(problems.items[before].text));
    }
    policy_schema_free(schema);
    policy_unref(p);
    policy_problems_free(&problems);
    return any ? text : NULL;
}

static const char *type_warning(const char *block, const char *condition) {
    char text[512];
    snprintf(text, sizeof(text), "version: \"1\"\ndefault: deny\ntools: {t: {%s: [{conditions: [%s]}]}}\n",
             block, condition);
    return type_warning_of(text, SCHEMA, "t");
}

static void test_operator_that_cannot_judge_the_type(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "{path: args.name, op: gt, value: 5}",         "{path: args.amount, op: regex, value: '^a'}",
        "{path: args.force, op: contains, value: x}",  "{path: args.amount, op: len_lte, value: 5}",
        "{path: args.amount, op: under, value: /srv}", "{path: 'args.tags[*]', op: lt, value: 3}",
        "{path: args.where.city, op: gte, value: 1}",  "{path: args.where, op: starts_with, value: x}",
        "{path: args.limit, op: ends_with, value: x}", "{path: args.mode, op: lt, value: 2}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        static const char *const blocks[] = {"deny_if", "approve_if", "require"};
        for (size_t j = 0; j < 3; j++) {
            const char *text = type_warning(blocks[j], wrong[i]);
            if (!text || !strstr(text, "cannot judge"))
                fail_msg("%s %s: %s", blocks[j], wrong[i], text ? text : "no warning");
        }
    }
}

static void test_value_of_another_type(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "{path: args.amount, op: eq, value: '5'}",   "{path: args.name, op: neq, value: 5}",
        "{path: args.force, op: eq, value: 'true'}", "{path: args.amount, op: in, value: ['1', '2']}",
        "{path: args.mode, op: not_in, value: [1]}", "{path: args.amount, op: eq, value: 1.5}",
        "{path: 'args.tags[*]', op: eq, value: 1}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        const char *text = type_warning("deny_if", wrong[i]);
        if (!text || !strstr(text, "compares it with type"))
            fail_msg("%s: %s", wrong[i], text ? text : "no warning");
    }
}

static void test_conditions_that_fit(void **state) {
    (void)state;
    static const char *const right[] = {
        "{path: args.amount, op: gt, value: 5}",        "{path: args.rate, op: lte, value: 1}",
        "{path: args.amount, op: eq, value: 5.0}",      "{path: args.rate, op: eq, value: 1.5}",
        "{path: args.name, op: regex, value: '^a'}",    "{path: args.tags, op: contains, value: x}",
        "{path: args.tags, op: len_lte, value: 3}",     "{path: 'args.tags[*]', op: in, value: [a, b]}",
        "{path: args.mode, op: eq, value: a}",          "{path: args.limit, op: lt, value: 5}",
        "{path: args.limit, op: eq, value: null}",      "{path: args.any, op: gt, value: 5}",
        "{path: args.any.deeper, op: eq, value: 5}",    "{path: args.where.city, op: eq, value: x}",
        "{path: args.amount, op: in, value: [1, all]}", "{path: args.force, op: exists, value: true}",
    };
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        const char *text = type_warning("deny_if", right[i]);
        if (text)
            fail_msg("%s: %s", right[i], text);
    }
}

/* Amounts that limits count. */
static void test_limits_on_arguments(void **state) {
    (void)state;
    static const struct {
        const char *limit, *part;
    } rows[] = {
        {"{counter: c, increment_from: args.name, max: 5, window: day}",
         "args.name of \"t\" is of type string, which no limit counts"},
        {"{counter: c, increment_from: args.name, max: 5, window: day, numeric_strings: true}", NULL},
        {"{counter: c, increment_from: args.force, max: 5, window: day}", "is of type boolean"},
        {"{counter: c, increment_from: args.where, max: 5, window: day, numeric_strings: true}",
         "is of type object"},
        {"{counter: c, increment_from: args.amuont, max: 5, window: day}",
         "args.amuont of \"t\" is not in its schema"},
        {"{counter: c, increment_from: args.either, max: 5, window: day}",
         "may be of type string, which no limit counts"},
        {"{counter: c, increment_from: args.amount, max: 5, window: day}", NULL},
        {"{counter: c, increment_from: args.limit, max: 5, window: day}", NULL},
        {"{counter: c, increment_from: args.any, max: 5, window: day}", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char text[512];
        snprintf(text, sizeof(text), "version: \"1\"\ndefault: deny\ntools: {t: {limits: [%s]}}\n",
                 rows[i].limit);
        const char *says = type_warning_of(text, SCHEMA, "t");
        if (!says != !rows[i].part || (says && !strstr(says, rows[i].part)))
            fail_msg("%s: %s", rows[i].limit, says ? says : "no warning");
        if (says && !strstr(says, "limit \""))
            fail_msg("%s", says);
    }
    const char *says =
        type_warning_of("version: \"1\"\ndefault: allow\ntools: {t: {rules: [{name: l, conditions: [{path: "
                        "state.t.n, op: lte, "
                        "value: 5}], state: {counter: n, window: day, increment_from: args.name}}]}}\n",
                        SCHEMA, "t");
    assert_true(says && strstr(says, "which no limit counts"));
}

#define RULES_OF_ALL(path, op, value)                                                                        \
    "version: \"1\"\ntools: {'*': {rules: [{name: a, conditions: [{path: " path ", op: " op                  \
    ", value: " value "}]}]}}\n"

static void test_types_in_every_position(void **state) {
    (void)state;
    /* one of several types, a model that may be null, rules for all tools, groups */
    static const char *const wrong[] = {
        "{path: args.either, op: gt, value: 5}",
        "{path: args.either, op: regex, value: '^a'}",
        "{path: args.model.count, op: starts_with, value: a}",
        "{any: [{path: args.name, op: eq, value: x}, {not: {path: args.name, op: lt, value: 5}}]}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        static const char *const blocks[] = {"deny_if", "approve_if", "require"};
        for (size_t j = 0; j < 3; j++) {
            const char *text = type_warning(blocks[j], wrong[i]);
            if (!text || !strstr(text, "cannot judge"))
                fail_msg("%s %s: %s", blocks[j], wrong[i], text ? text : "no warning");
        }
    }
    /* `*` of Intercept's dialect: rules for all tools, some of which lack the argument */
    assert_non_null(type_warning_of(RULES_OF_ALL("args.name", "gt", "1"), SCHEMA, "t"));
    assert_null(type_warning_of(RULES_OF_ALL("args.nmae", "eq", "x"), SCHEMA, "t"));
}

static void test_argument_that_the_tool_does_not_have(void **state) {
    (void)state;
    const char *text = type_warning("deny_if", "{path: args.amuont, op: gt, value: 5}");
    assert_non_null(text);
    assert_non_null(strstr(text, "args.amuont of \"t\" is not in its schema"));
    assert_non_null(type_warning("require", "{path: args.where.town, op: eq, value: x}"));
    /* A pattern is for tools with other arguments, too; a schema may leave room for more. */
    assert_null(
        type_warning_of("version: \"1\"\ndefault: deny\nmatch: glob\ntools: {'t*': {deny_if: [{conditions: "
                        "[{path: args.b, op: eq, value: 1}]}]}}",
                        SCHEMA, "t"));
    assert_null(type_warning_of("version: \"1\"\ndefault: deny\ntools: {t: {deny_if: [{conditions: [{path: "
                                "args.b, op: eq, value: 1}]}]}}",
                                "{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"integer\"}}",
                                "t"));
}

static void test_patterns_are_compared_with_each_tool(void **state) {
    (void)state;
    const char *text =
        type_warning_of("version: \"1\"\ndefault: deny\nmatch: glob\ntools: {'t*': {deny_if: [{conditions: "
                        "[{path: args.name, op: gt, value: 1}]}]}}",
                        SCHEMA, "tt");
    assert_non_null(text);
    assert_null(
        type_warning_of("version: \"1\"\ndefault: deny\nmatch: glob\ntools: {'u*': {deny_if: [{conditions: "
                        "[{path: args.name, op: gt, value: 1}]}]}}",
                        SCHEMA, "tt"));
}

static size_t path_warnings(const char *block, const char *argument, const char *op, const char *value,
                            const char *part) {
    char text[512];
    snprintf(text, sizeof(text),
             "version: \"1\"\ndefault: deny\ntools: {t: {%s: [{conditions: [{path: 'args.%s', op: %s, value: "
             "'%s'}]}]}}\n",
             block, argument, op, value);
    return warnings(text, part);
}

static void test_text_operators_on_paths_and_urls_in_every_position(void **state) {
    (void)state;
    static const char *const blocks[] = {"deny_if", "approve_if", "require"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(path_warnings(blocks[i], "path", "starts_with", "/etc", "look-alike prefixes"), 1);
        assert_int_equal(path_warnings(blocks[i], "url", "regex", "^https://a", "weak check of a URL"), 1);
        assert_int_equal(path_warnings(blocks[i], "path", "contains", ".ssh", "look-alike prefixes"), i == 2);
        assert_int_equal(path_warnings(blocks[i], "title", "contains", "draft", "weak check"), 0);
        /* other names of paths and URLs, and lists of them */
        assert_int_equal(path_warnings(blocks[i], "filePath", "starts_with", "src", "look-alike"), 1);
        assert_int_equal(path_warnings(blocks[i], "in.source_files[*]", "starts_with", "a", "look-alike"), 1);
        assert_int_equal(path_warnings(blocks[i], "Directories.*", "regex", "^docs", "look-alike"), 1);
        assert_int_equal(path_warnings(blocks[i], "callback_urls[0]", "ends_with", "a.org", "a URL"), 1);
        assert_int_equal(path_warnings(blocks[i], "webhook", "contains", "a.org", "a URL"), 1);
        assert_int_equal(path_warnings(blocks[i], "profile", "starts_with", "x", "look-alike"), 0);
        assert_int_equal(path_warnings(blocks[i], "sql", "regex", "(?i)drop", "weak check of SQL"), 1);
        assert_int_equal(path_warnings(blocks[i], "command", "contains", "rm", "of a command"), 1);
        /* a list of what is denied lacks the other spellings; a list of what is allowed may lack them */
        assert_int_equal(path_warnings(blocks[i], "path", "eq", "/etc/passwd", "look-alike"), i < 2);
        assert_int_equal(path_warnings(blocks[i], "url", "neq", "http://a/", "a URL"), i == 2);
    }
    assert_int_equal(path_warnings("require", "filename", "regex", "^[a-z]+[.]md$", "look-alike"), 0);
    assert_int_equal(path_warnings("require", "filename", "regex", "^.*[.]md$", "look-alike"), 1);
    /* beside the operator that knows the spellings */
    assert_int_equal(warnings("version: \"1\"\ndefault: deny\ntools: {t: {require: [{conditions: [{path: "
                              "args.path, op: under, value: /srv}]}, {conditions: [{path: args.path, op: "
                              "starts_with, value: /srv/a}]}]}}\n",
                              "look-alike"),
                     0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lint),
        cmocka_unit_test(test_operator_that_cannot_judge_the_type),
        cmocka_unit_test(test_value_of_another_type),
        cmocka_unit_test(test_conditions_that_fit),
        cmocka_unit_test(test_limits_on_arguments),
        cmocka_unit_test(test_types_in_every_position),
        cmocka_unit_test(test_argument_that_the_tool_does_not_have),
        cmocka_unit_test(test_patterns_are_compared_with_each_tool),
        cmocka_unit_test(test_text_operators_on_paths_and_urls_in_every_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
