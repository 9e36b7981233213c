#include "cli/command.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int setup_empty(void **state) {
    (void)state;
    return unsetenv("SALLYPORT_HOME") || unsetenv("XDG_STATE_HOME") || unsetenv("HOME");
}

static void test_order(void **state) {
    (void)state;
    char path[CLI_PATH_MAX];
    struct err err = {0};
    assert_int_equal(cli_home(path, &err), -1);
    setenv("HOME", "/home/ann", 1);
    assert_int_equal(cli_home(path, &err), 0);
    assert_string_equal(path, "/home/ann/.local/state/sallyport");
    setenv("XDG_STATE_HOME", "", 1);
    assert_int_equal(cli_home(path, &err), 0);
    assert_string_equal(path, "/home/ann/.local/state/sallyport");
    setenv("XDG_STATE_HOME", "/var/ann", 1);
    assert_int_equal(cli_home(path, &err), 0);
    assert_string_equal(path, "/var/ann/sallyport");
    setenv("SALLYPORT_HOME", "/srv/gate", 1);
    assert_int_equal(cli_home(path, &err), 0);
    assert_string_equal(path, "/srv/gate");
}

static void test_refusals(void **state) {
    (void)state;
    char path[CLI_PATH_MAX], overlong[CLI_PATH_MAX + 1];
    struct err err = {0};
    setenv("SALLYPORT_HOME", "state", 1);
    assert_int_equal(cli_home(path, &err), -1);
    assert_string_equal(err.text, "SALLYPORT_HOME is `state`: it must be an absolute path");
    memset(overlong, '/', CLI_PATH_MAX);
    overlong[CLI_PATH_MAX] = '\0';
    setenv("SALLYPORT_HOME", overlong, 1);
    assert_int_equal(cli_home(path, &err), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_order, setup_empty),
        cmocka_unit_test_setup(test_refusals, setup_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
