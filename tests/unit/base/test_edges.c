/* The corners of base: empty slices, every pair of bytes, ceilings of nothing, and the map against a model.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct slice none = {0};

/* ---- slices ---- */

static void test_empty_slices(void **state) {
    (void)state;
    struct slice rest = none, head;
    assert_true(slice_eq(none, SLICE("")));
    assert_null(slice_from(none, 0).ptr);
    assert_null(slice_from(none, 5).ptr);
    assert_true(slice_starts(none, none));
    assert_true(slice_ends(none, none));
    assert_int_equal(slice_trim(none).len, 0);
    assert_false(slice_cut(&rest, ',', &head));
    assert_int_equal(head.len, 0);
    assert_true(slice_cmp(none, SLICE("a")) < 0);
    assert_int_equal(slice_str(NULL).len, 0);
    assert_true(slice_eq_nocase(none, none));
}

/* Only the 26 letters fold. */
static void test_case_of_all_bytes(void **state) {
    (void)state;
    for (int c = 0; c < 256; c++)
        for (int d = 0; d < 256; d++) {
            char x = (char)c, y = (char)d;
            bool letters = (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && (c | 0x20) == (d | 0x20);
            assert_int_equal(slice_eq_nocase(slice_of(&x, 1), slice_of(&y, 1)), c == d || letters);
        }
}

static void test_to_u64(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool fits;
        uint64_t value;
    } rows[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"99999999999999999999", false, 0},
        {"000000000000000000001", false, 0}, /* more digits than the largest number has */
        {"", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1x", false, 0},
        {"0x1", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t value = 77;
        assert_int_equal(slice_to_u64(slice_str(rows[i].text), &value), rows[i].fits);
        assert_true(value == (rows[i].fits ? rows[i].value : 77));
    }
}

/* ---- buffers and arenas ---- */

static void test_no_room_at_all(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 0);
    assert_true(buf_put(&b, "", 0));
    assert_false(buf_put_char(&b, 'x'));
    assert_true(b.full);
}

static void test_reserve(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_put_str(&b, "ab");
    char *room = buf_reserve(&b, 1000);
    assert_non_null(room);
    memset(room, 'x', 1000);
    assert_int_equal(b.len, 2);
    assert_true(b.cap >= 1002);
    assert_ptr_equal(room, b.ptr + 2);
    assert_null(buf_reserve(&b, 1 << 20));
    assert_true(b.full);
    assert_null(buf_reserve(&b, SIZE_MAX));
}

static void test_growth(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    buf_init(&b, 100000);
    for (int i = 0; i < 100000; i++)
        assert_true(buf_put_char(&b, (char)('a' + i % 26)));
    for (int i = 0; i < 100000; i++)
        assert_int_equal(b.ptr[i], 'a' + i % 26);
    assert_int_equal(b.cap, 100000);
}

static void test_zeroed_after_reset(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    for (int round = 0; round < 3; round++) {
        memset(arena_alloc(&a, 3000), 0xff, 3000);
        arena_reset(&a); /* the chunk comes back with old bytes in it */
        uint64_t *numbers = arena_array(&a, uint64_t, 300);
        for (int i = 0; i < 300; i++)
            assert_true(numbers[i] == 0);
    }
}

static void test_large_pieces(void **state) {
    (void)state;
    cleanup_arena struct arena a;
    arena_init(&a);
    char *small = arena_alloc(&a, 10);
    char *large = arena_alloc(&a, 5 << 20);
    char *after = arena_alloc(&a, 10);
    memset(large, 'x', 5 << 20);
    memset(small, 'a', 10);
    memset(after, 'b', 10);
    assert_true(a.total >= 5 << 20);
    arena_reset(&a);
    assert_true(a.total < 1 << 20); /* an unusual size is not kept */
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 10));
}

/* ---- the map against an array ---- */

enum { KEYS = 300 };

static uint32_t next_number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/* Puts and removals in a fixed disorder. Removals close gaps in runs of colliding keys, which is where such
 * maps go wrong. */
static void test_map_against_model(void **state) {
    (void)state;
    static char names[KEYS][8];
    static int values[KEYS][2];
    int *model[KEYS] = {0};
    size_t count = 0;
    uint64_t seed = 7;
    struct map m;
    map_init(&m);
    for (int i = 0; i < KEYS; i++)
        snprintf(names[i], sizeof(names[i]), "k%d", i);
    for (int step = 0; step < 100000; step++) {
        uint32_t i = next_number(&seed) % KEYS;
        struct slice key = slice_str(names[i]);
        if (next_number(&seed) % 3) {
            int *value = &values[i][next_number(&seed) % 2];
            assert_ptr_equal(map_put(&m, key, value), model[i]);
            count += !model[i];
            model[i] = value;
        } else {
            assert_ptr_equal(map_remove(&m, key), model[i]);
            count -= model[i] != NULL;
            model[i] = NULL;
        }
        i = next_number(&seed) % KEYS;
        assert_ptr_equal(map_get(&m, slice_str(names[i])), model[i]);
        assert_int_equal(m.count, count);
    }
    size_t walked = 0, at = 0;
    for (struct map_entry *e; (e = map_next(&m, &at)); walked++)
        assert_ptr_equal(map_get(&m, e->key), e->value);
    assert_int_equal(walked, count);
    map_free(&m);
}

/* ---- texts ---- */

/* Where nothing of the cause would be left, the context is dropped instead. */
static void test_err_keeps_the_cause(void **state) {
    (void)state;
    struct err err;
    char text[2 * ERR_TEXT_MAX];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, "kept");
    err_wrap(&err, "%s", text);
    assert_string_equal(err.text, "kept");
}

static void test_clock_text_of_odd_days(void **state) {
    (void)state;
    char text[CLOCK_TEXT_MAX];
    clock_text(951782400007, text);
    assert_string_equal(text, "2000-02-29T00:00:00.007Z");
    clock_text(4102444799999, text);
    assert_string_equal(text, "2099-12-31T23:59:59.999Z");
}

static void test_distance(void **state) {
    (void)state;
    assert_int_equal(nearest_distance(SLICE(""), SLICE("")), 0);
    assert_int_equal(nearest_distance(SLICE("abc"), SLICE("")), 3);
    assert_int_equal(nearest_distance(SLICE("abc"), SLICE("abc")), 0);
    assert_int_equal(nearest_distance(SLICE("abc"), SLICE("axc")), 1);
    assert_int_equal(nearest_distance(SLICE("abc"), SLICE("ac")), 1);
    assert_int_equal(nearest_distance(SLICE("abc"), SLICE("acb")), 1);
    assert_int_equal(nearest_distance(SLICE("kitten"), SLICE("sitting")), 3);
    char text[66];
    memset(text, 'a', sizeof(text));
    assert_true(nearest_distance(slice_of(text, 65), slice_of(text, 65)) == SIZE_MAX);
    assert_int_equal(nearest_distance(slice_of(text, 64), slice_of(text, 64)), 0);
}

static void test_steal(void **state) {
    (void)state;
    cleanup_free char *mine = mem_dup("abc", 3);
    char *taken = steal(mine);
    assert_null(mine);
    assert_string_equal(taken, "abc");
    free(taken);
    int fd = 5, moved = steal_fd(fd);
    assert_int_equal(fd, -1);
    assert_int_equal(moved, 5);
    mine = mem_zalloc(0); /* nothing is still a pointer */
    assert_non_null(mine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_slices),
        cmocka_unit_test(test_case_of_all_bytes),
        cmocka_unit_test(test_to_u64),
        cmocka_unit_test(test_no_room_at_all),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_zeroed_after_reset),
        cmocka_unit_test(test_large_pieces),
        cmocka_unit_test(test_map_against_model),
        cmocka_unit_test(test_err_keeps_the_cause),
        cmocka_unit_test(test_clock_text_of_odd_days),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_steal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
