/* The value that code gets of a tool's answer: objects and lists are read, any other text stays text. */
#include "code/unwrap.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void values_of_answers(void **state) {
    (void)state;
    static const struct {
        const char *answer, *value;
        bool ok;
    } rows[] = {
        {"{\"content\":[{\"type\":\"text\",\"text\":\"007\"}]}", "\"007\"", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"12\"}]}", "\"12\"", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"true\"}]}", "\"true\"", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"null\"}]}", "\"null\"", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"\\\"a\\\"\"}]}", "\"\\\"a\\\"\"", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}]}", "{\"a\":1}", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"[1,2]\"}]}", "[1,2]", true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"12\"}],\"structuredContent\":{\"n\":12}}", "{\"n\":12}",
         true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}", "\"a\\nb\"",
         true},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}", "no", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct arena a;
        arena_init(&a);
        struct slice value;
        assert_int_equal(unwrap_result(slice_str(rows[i].answer), &a, &value), rows[i].ok);
        assert_true(slice_is(value, rows[i].value));
        arena_free(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_of_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
