#include "base/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_add_get_remove(void **state) {
    (void)state;
    struct slots s;
    int values[3];
    slots_init(&s);
    assert_null(slots_get(&s, 0));
    assert_null(slots_get(&s, 12345));
    uint64_t a = slots_add(&s, &values[0]), b = slots_add(&s, &values[1]);
    assert_true(a != 0 && b != 0 && a != b);
    assert_ptr_equal(slots_get(&s, a), &values[0]);
    assert_ptr_equal(slots_get(&s, b), &values[1]);
    slots_remove(&s, a);
    assert_null(slots_get(&s, a));
    slots_remove(&s, a); /* twice is nothing */
    assert_ptr_equal(slots_get(&s, b), &values[1]);
    slots_free(&s);
}

/* An id that someone still remembers must not come to mean another entry. */
static void test_old_ids_stay_dead(void **state) {
    (void)state;
    struct slots s;
    int value, other;
    slots_init(&s);
    uint64_t first = slots_add(&s, &value);
    slots_remove(&s, first);
    for (int i = 0; i < 100000; i++) {
        uint64_t id = slots_add(&s, &other);
        assert_true(id != first && id < (1ull << 53));
        assert_null(slots_get(&s, first));
        slots_remove(&s, id);
    }
    slots_free(&s);
}

static void test_full(void **state) {
    (void)state;
    struct slots s;
    int value;
    size_t count = 0;
    slots_init(&s);
    uint64_t last = 0, id;
    while (count <= SLOTS_MAX && (id = slots_add(&s, &value))) {
        last = id;
        count++;
    }
    assert_true(count > SLOTS_MAX / 2 && count <= SLOTS_MAX);
    assert_ptr_equal(slots_get(&s, last), &value);
    size_t seen = 0;
    for (uint32_t at = 0; slots_next(&s, &at);)
        seen++;
    assert_int_equal(seen, count);
    slots_remove(&s, last);
    assert_true(slots_add(&s, &value) != 0);
    slots_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_get_remove),
        cmocka_unit_test(test_old_ids_stay_dead),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
