#include "base/portion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many of 100 pieces owners get that take what they can, one after the other. */
static size_t take_all(struct map *home, const char *owner, bool is_whole, size_t *used) {
    size_t count = 0;
    while (portion_left(100, *used) &&
           portion_take(home, slice_str(owner), is_whole, portion_left(100, *used))) {
        count++;
        (*used)++;
    }
    return count;
}

static void give_all(struct map *home) {
    while (home->count) {
        size_t at = 0;
        portion_give(map_next(home, &at)->value);
    }
}

static void test_each_owner_gets_half_of_what_is_left(void **state) {
    (void)state;
    struct map home;
    size_t used = 0;
    map_init(&home);
    assert_int_equal(take_all(&home, "a", false, &used), 50);
    assert_int_equal(take_all(&home, "b", false, &used), 25);
    assert_int_equal(take_all(&home, "a", false, &used), 0);
    assert_int_equal(take_all(&home, "c", false, &used), 13);
    assert_int_equal(take_all(&home, "", false, &used), 6);
    assert_true(portion_fits(&home, SLICE("new"), false, portion_left(100, used)));
    assert_int_equal(take_all(&home, "all", true, &used), 6);
    assert_false(portion_fits(&home, SLICE("new"), false, portion_left(100, used)));
    give_all(&home);
    assert_int_equal(home.cap, 0);
}

static void test_what_is_given_back_can_be_taken_again(void **state) {
    (void)state;
    struct map home;
    map_init(&home);
    struct portion *first = portion_take(&home, SLICE("a"), false, 2),
                   *second = portion_take(&home, SLICE("a"), false, 2);
    assert_ptr_equal(first, second);
    assert_null(portion_take(&home, SLICE("a"), false, 2));
    portion_give(first);
    assert_ptr_equal(portion_take(&home, SLICE("a"), false, 2), first);
    portion_give(first);
    portion_give(first);
    assert_int_equal(home.count, 0);
    assert_int_equal(portion_left(3, 5), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_owner_gets_half_of_what_is_left),
        cmocka_unit_test(test_what_is_given_back_can_be_taken_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
