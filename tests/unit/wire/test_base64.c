#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/base64.h"

static void writes_and_reads_what_the_rfc_shows(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *padded, *url;
    } rows[] = {{"", "", ""},
                {"f", "Zg==", "Zg"},
                {"fo", "Zm8=", "Zm8"},
                {"foo", "Zm9v", "Zm9v"},
                {"foob", "Zm9vYg==", "Zm9vYg"},
                {"\xfb\xff\xfe", "+//+", "-__-"}};
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int kind = BASE64_PADDED; kind <= BASE64_URL; kind++) {
            const char *text = kind == BASE64_URL ? rows[i].url : rows[i].padded;
            cleanup_buf struct buf out;
            buf_init(&out, 64);
            assert_true(base64_put(&out, slice_str(rows[i].bytes), (enum base64_kind)kind));
            assert_true(slice_is(buf_slice(&out), text));
            struct slice back;
            assert_true(base64_get(slice_str(text), (enum base64_kind)kind, &a, &back));
            assert_true(slice_is(back, rows[i].bytes));
        }
}

static void refuses_a_second_way_to_write_the_same(void **state) {
    (void)state;
    static const char *const padded[] = {
        "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm8-", "Zm 8", "Zm8=Zm8="};
    static const char *const url[] = {"Zg==", "Zh", "Zm9+", "Z", "Zm9vY", "Zm8\n"};
    struct slice back;
    cleanup_arena struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(padded); i++)
        assert_false(base64_get(slice_str(padded[i]), BASE64_PADDED, &a, &back));
    for (size_t i = 0; i < ARRAY_LEN(url); i++)
        assert_false(base64_get(slice_str(url[i]), BASE64_URL, &a, &back));
}

static void respects_the_ceiling(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    buf_init(&out, 7);
    assert_false(base64_put(&out, SLICE("foob"), BASE64_PADDED));
    assert_true(out.full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_and_reads_what_the_rfc_shows),
        cmocka_unit_test(refuses_a_second_way_to_write_the_same),
        cmocka_unit_test(respects_the_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
