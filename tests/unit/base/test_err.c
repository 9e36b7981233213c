#include "base/err.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_set_and_wrap(void **state) {
    (void)state;
    struct err err;
    assert_int_equal(err_set(&err, "line %d: %s", 3, "unknown key"), -1);
    assert_int_equal(err_wrap(&err, "load `%s`", "a.yaml"), -1);
    assert_string_equal(err.text, "load `a.yaml`: line 3: unknown key");
    assert_int_equal(err_set(NULL, "nobody listens"), -1);
    assert_int_equal(err_wrap(NULL, "nobody listens"), -1);
}

/* However long the pieces are, the text ends inside its array and the outermost context is kept. */
static void test_overlong(void **state) {
    (void)state;
    char filler[2 * ERR_TEXT_MAX];
    memset(filler, 'x', sizeof(filler) - 1);
    filler[sizeof(filler) - 1] = '\0';
    struct err err;
    err_set(&err, "%s", filler);
    assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1);
    err_wrap(&err, "outer");
    assert_memory_equal(err.text, "outer: xxx", 10);
    assert_true(strlen(err.text) < ERR_TEXT_MAX);
    for (size_t len = ERR_TEXT_MAX - 8; len < ERR_TEXT_MAX + 8; len++) {
        err_set(&err, "inner");
        err_wrap(&err, "%.*s", (int)len, filler);
        assert_true(strlen(err.text) < ERR_TEXT_MAX);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_wrap),
        cmocka_unit_test(test_overlong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
