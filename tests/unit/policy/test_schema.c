#include "policy/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static enum policy_schema_answer check(const char *schema, const char *value,
                                       struct policy_schema_failure *failure, struct arena *a) {
    struct policy_schema *s = NULL;
    struct err err;
    struct tape t;
    tape_init(&t);
    if (policy_schema_compile(slice_str(schema), &s, &err) < 0)
        fail_msg("%s: %s", schema, err.text);
    assert_int_equal(tape_parse(&t, slice_str(value), NULL), TAPE_OK);
    enum policy_schema_answer answer = policy_schema_check(s, &t, 0, a, failure);
    tape_free(&t);
    policy_schema_free(s);
    return answer;
}

struct row {
    const char *schema, *value;
    bool valid;
};

/* What the comparison with ajv leaves out, because ajv differs from the standard there. */
static const struct row rows[] = {
    {"{\"contains\":{\"const\":1},\"prefixItems\":[true]}", "[]", false},
    {"{\"contains\":{\"const\":1},\"minContains\":0}", "[]", true},
    {"{\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1,1]", true},
    {"{\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1,2]", false},
    {"{\"if\":{\"properties\":{\"a\":true}},\"unevaluatedProperties\":false}", "{\"a\":1}", true},
    {"{\"anyOf\":[{\"properties\":{\"a\":true}},{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":"
     "false}",
     "{\"a\":1,\"b\":2}", true},
    {"{\"anyOf\":[{\"properties\":{\"a\":true}},{\"properties\":{\"b\":false}}],\"unevaluatedProperties\":"
     "false}",
     "{\"a\":1,\"b\":2}", false},
    {"{\"oneOf\":[{\"unevaluatedItems\":false},{\"minLength\":1}],\"unevaluatedItems\":{\"type\":\"object\"}"
     "}",
     "[\"a\"]", false},
    {"{\"not\":{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"a\"]},\"unevaluatedProperties\":false}",
     "{\"a\":2}", false},
    {"{\"$ref\":\"#/$defs/"
     "x\",\"unevaluatedProperties\":false,\"$defs\":{\"x\":{\"properties\":{\"a\":true}}}}",
     "{\"a\":1}", true},
    {"{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":1}",
     false},
    {"{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":true}}},\"properties\":{\"a\":true},"
     "\"unevaluatedProperties\":false}",
     "{\"a\":1,\"b\":1}", true},
    {"{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\",1]", false},
    {"{\"items\":[{\"type\":\"string\"}],\"additionalItems\":false}", "[\"a\"]", true},
    {"{\"enum\":[{\"a\":[1,2.0],\"b\":null}]}", "{\"b\":null,\"a\":[1.0,2]}", true},
    {"{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]", false},
    {"{\"pattern\":\"^\\\\u0061$\"}", "\"a\"", true},
    {"{\"$anchor\":\"top\",\"properties\":{\"x\":{\"$ref\":\"#top\"}},\"required\":[\"y\"]}",
     "{\"y\":1,\"x\":{}}", false},
    {"{\"properties\":{\"a/b\":{\"type\":\"string\"},\"c\":{\"$ref\":\"#/properties/a~1b\"}}}", "{\"c\":1}",
     false},
    {"true", "1", true},
    {"false", "1", false},
    {"{\"type\":\"integer\"}", "1e2", true},
    {"{\"maxLength\":1}", "\"\\ud83d\\ude00\"", true},
};

static void test_rows(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((check(rows[i].schema, rows[i].value, NULL, &a) == POLICY_SCHEMA_VALID) != rows[i].valid)
            fail_msg("%s with %s", rows[i].schema, rows[i].value);
    arena_free(&a);
}

static void test_failures_say_where(void **state) {
    (void)state;
    struct arena a;
    struct policy_schema_failure failure;
    arena_init(&a);
    check("{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}}}", "{\"b\":1,\"a\":[\"x\",5]}", &failure,
          &a);
    assert_string_equal(failure.keyword, "type");
    assert_true(slice_is(failure.pointer, "/a/1"));
    arena_free(&a);
}

static void test_endless_schemas_are_faults(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    assert_int_equal(check("{\"$ref\":\"#\"}", "1", NULL, &a), POLICY_SCHEMA_FAULT);
    assert_int_equal(check("{\"allOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "1", NULL, &a),
                     POLICY_SCHEMA_FAULT);
    assert_int_equal(check("{\"not\":{\"$ref\":\"#\"}}", "1", NULL, &a), POLICY_SCHEMA_FAULT);
    assert_int_equal(
        check("{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", NULL, &a),
        POLICY_SCHEMA_FAULT);
    arena_free(&a);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const schemas[] = {
        "[]",
        "5",
        "{",
        "{\"$ref\":\"http://example.com/x\"}",
        "{\"$ref\":\"#/nowhere\"}",
        "{\"pattern\":\"(\"}",
        "{\"properties\":[]}",
        "{\"required\":\"a\"}",
        "{\"items\":5}",
        "{\"maximum\":\"5\"}",
    };
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++) {
        struct policy_schema *s = NULL;
        struct err err;
        if (policy_schema_compile(slice_str(schemas[i]), &s, &err) == 0)
            fail_msg("%s was taken", schemas[i]);
        assert_null(s);
    }
}

static void test_required(void **state) {
    (void)state;
    struct policy_schema *s = NULL;
    struct err err;
    assert_int_equal(policy_schema_compile(SLICE("{\"required\":[\"a\",\"b\"]}"), &s, &err), 0);
    assert_true(slice_is(policy_schema_required(s, 1), "b"));
    assert_null(policy_schema_required(s, 2).ptr);
    policy_schema_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_failures_say_where),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_endless_schemas_are_faults),
        cmocka_unit_test(test_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
