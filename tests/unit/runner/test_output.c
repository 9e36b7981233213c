/* Both ends of what was written are kept, whatever the sizes of the writes. */
#include "runner/sandbox_output.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct slice written(const char *text, size_t len, size_t step, size_t max, struct arena *a) {
    struct sandbox_output o;
    sandbox_output_init(&o, max);
    for (size_t at = 0; at < len; at += step)
        sandbox_output_put(&o, slice_of(text + at, len - at < step ? len - at : step));
    struct slice got = arena_dup(a, sandbox_output_text(&o, a));
    sandbox_output_free(&o);
    return got;
}

static void what_fits_is_whole(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    char text[1000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    for (size_t step = 1; step < 300; step += 7)
        for (size_t len = 0; len <= sizeof(text); len += 125)
            assert_true(slice_eq(written(text, len, step, sizeof(text), &a), slice_of(text, len)));
    arena_free(&a);
}

static void both_ends_are_kept(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    char text[10000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 26);
    for (size_t step = 1; step < 3000; step += 61) {
        struct slice got = written(text, sizeof(text), step, 1000, &a);
        assert_true(got.len <= 1000);
        assert_true(slice_starts(got, slice_of(text, 400)));
        assert_true(slice_ends(got, slice_of(text + sizeof(text) - 500, 500)));
        assert_non_null(memmem(got.ptr, got.len, "[... 9064 bytes are left out here ...]", 38));
    }
    arena_free(&a);
}

/* A cut between the bytes of a character would make the whole text invalid. */
static void characters_stay_whole(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    char text[3 * 999 + 1] = "";
    for (size_t i = 0; i < 999; i++)
        memcpy(text + 3 * i, "\xe2\x82\xac", 3);
    for (size_t max = 200; max < 210; max++) {
        struct slice got = written(text, 3 * 999, 100, max, &a);
        for (size_t i = 0; i < got.len; i++)
            if ((unsigned char)got.ptr[i] == 0xe2)
                assert_memory_equal(got.ptr + i, "\xe2\x82\xac", 3);
            else
                assert_true((unsigned char)got.ptr[i] < 0x80 || (i && (unsigned char)got.ptr[i - 1] >= 0x80));
    }
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_whole),
        cmocka_unit_test(both_ends_are_kept),
        cmocka_unit_test(characters_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
