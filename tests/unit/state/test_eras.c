/* Legacy commands that are remembered in the home: how long, how many, and what a wrong file does. */
#include "base/mem.h"
#include "io/file.h"
#include "state/eras.h"
#include "state/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 1000000000000ull

static char home[64];

static bool is_legacy(unsigned n, uint64_t now_ms) {
    unsigned char key[STATE_ERA_KEY] = {(unsigned char)n, (unsigned char)(n >> 8)};
    uint64_t until_ms;
    return state_eras_legacy(home, key, now_ms, &until_ms);
}

static void note(unsigned n, bool legacy, uint64_t now_ms) {
    unsigned char key[STATE_ERA_KEY] = {(unsigned char)n, (unsigned char)(n >> 8)};
    state_eras_note(home, key, legacy, now_ms);
}

static int make_home(void **state) {
    (void)state;
    snprintf(home, sizeof(home), "/tmp/eras-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int drop_home(void **state) {
    (void)state;
    char path[80];
    snprintf(path, sizeof(path), "%s/eras", home);
    unlink(path);
    return rmdir(home);
}

static void test_an_entry_holds_for_its_time(void **state) {
    (void)state;
    assert_false(is_legacy(1, NOW));
    note(1, true, NOW);
    assert_true(is_legacy(1, NOW));
    assert_false(is_legacy(2, NOW));
    assert_true(is_legacy(1, NOW + STATE_ERA_MS - 1));
    assert_false(is_legacy(1, NOW + STATE_ERA_MS));
    assert_false(is_legacy(1, NOW - 1)); /* written under a clock that was ahead */
    note(1, false, NOW);
    assert_false(is_legacy(1, NOW));
}

static void test_the_oldest_is_forgotten(void **state) {
    (void)state;
    for (unsigned i = 0; i < STATE_ERAS_MAX + 1; i++)
        note(i, true, NOW + i);
    assert_false(is_legacy(0, NOW + STATE_ERAS_MAX));
    assert_true(is_legacy(1, NOW + STATE_ERAS_MAX));
    assert_true(is_legacy(STATE_ERAS_MAX, NOW + STATE_ERAS_MAX));
}

static void test_a_file_that_is_wrong(void **state) {
    (void)state;
    char path[80], text[256];
    snprintf(path, sizeof(path), "%s/eras", home);
    snprintf(text, sizeof(text), "sallyport eras 1\n\nx 1\n%064d %llu\n%064d 99999999999999999999\n", 0,
             NOW + 5ull, 0);
    assert_int_equal(io_file_write(path, slice_str(text), NULL), 0);
    assert_true(is_legacy(0, NOW));
    note(1, true, NOW);
    assert_true(is_legacy(0, NOW) && is_legacy(1, NOW));
    assert_int_equal(io_file_write(path, SLICE("sallyport eras 2\nof a newer version\n"), NULL), 0);
    note(1, true, NOW);
    assert_false(is_legacy(1, NOW));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_entry_holds_for_its_time, make_home, drop_home),
        cmocka_unit_test_setup_teardown(test_the_oldest_is_forgotten, make_home, drop_home),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_wrong, make_home, drop_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
