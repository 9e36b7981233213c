#include "wire/emit.h"

#include "base/mem.h"
#include "wire/tape.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_buf(const struct buf *b, const char *want) {
    if (b->full || !slice_is(buf_slice(b), want))
        fail_msg("`%.*s` instead of `%s`", SLICE_FMT(buf_slice(b)), want);
}

static void test_shapes(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    struct emit e;
    buf_init(&b, 4096);
    emit_init(&e, &b);
    emit_object(&e);
    emit_key(&e, "a");
    emit_array(&e);
    emit_int(&e, 1);
    emit_array(&e);
    emit_array_end(&e);
    emit_object(&e);
    emit_object_end(&e);
    emit_cstr(&e, "x");
    emit_array_end(&e);
    emit_key_slice(&e, SLICE("b\""));
    emit_object(&e);
    emit_key(&e, "c");
    emit_null(&e);
    emit_object_end(&e);
    emit_key(&e, "d");
    emit_bool(&e, true);
    emit_key(&e, "e");
    emit_bool(&e, false);
    emit_key(&e, "f");
    emit_raw(&e, SLICE("[ 1 ]"));
    emit_key(&e, "");
    emit_str(&e, (struct slice){0});
    emit_object_end(&e);
    assert_buf(&b,
               "{\"a\":[1,[],{},\"x\"],\"b\\\"\":{\"c\":null},\"d\":true,\"e\":false,\"f\":[ 1 ],\"\":\"\"}");
}

/* A container that was closed and opened again at the same depth starts without a comma. */
static void test_commas_by_level(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    struct emit e;
    buf_init(&b, 4096);
    emit_init(&e, &b);
    emit_array(&e);
    for (int i = 0; i < 3; i++) {
        emit_array(&e);
        emit_int(&e, i);
        emit_int(&e, i);
        emit_array_end(&e);
    }
    emit_array_end(&e);
    assert_buf(&b, "[[0,0],[1,1],[2,2]]");
}

static void test_deepest(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    cleanup_tape struct tape t;
    struct emit e;
    buf_init(&b, 4096);
    tape_init(&t);
    emit_init(&e, &b);
    for (int i = 0; i < TAPE_DEPTH_MAX - 1; i++) {
        emit_array(&e);
        emit_int(&e, i);
    }
    for (int i = 0; i < TAPE_DEPTH_MAX - 1; i++)
        emit_array_end(&e);
    assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_OK);
}

static void test_integers(void **state) {
    (void)state;
    static const int64_t values[] = {0, 1, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        cleanup_buf struct buf b;
        cleanup_tape struct tape t;
        struct emit e;
        int64_t back;
        buf_init(&b, 64);
        tape_init(&t);
        emit_init(&e, &b);
        emit_int(&e, values[i]);
        assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_OK);
        assert_true(tape_int(&t, 0, &back) && back == values[i]);
    }
}

static void test_doubles(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},           {1, "1"},
        {-1.5, "-1.5"},     {0.1, "0.1"},
        {1e21, "1e+21"},    {NAN, "null"},
        {INFINITY, "null"}, {-INFINITY, "null"},
        {-0.0, "-0"},       {123456789.125, "123456789.125"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_buf struct buf b;
        struct emit e;
        buf_init(&b, 64);
        emit_init(&e, &b);
        emit_double(&e, rows[i].value);
        assert_buf(&b, rows[i].text);
    }
    static const double exact[] = {DBL_MAX, DBL_MIN, DBL_EPSILON,        0.1 + 0.2,
                                   1.0 / 3, 5e-324,  9007199254740993.0, 2e-7};
    for (size_t i = 0; i < ARRAY_LEN(exact); i++) {
        cleanup_buf struct buf b;
        cleanup_tape struct tape t;
        struct emit e;
        double back;
        buf_init(&b, 64);
        tape_init(&t);
        emit_init(&e, &b);
        emit_double(&e, exact[i]);
        assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_OK);
        assert_true(tape_double(&t, 0, &back) && back == exact[i]);
    }
}

static void test_quote(void **state) {
    (void)state;
    static const struct {
        struct slice text;
        const char *want;
    } rows[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"\"\\/", 3}, "\"\\\"\\\\/\""},
        {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {{"\0\x01\x1f\x7f", 4}, "\"\\u0000\\u0001\\u001f\x7f\""},
        {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9}, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"a\xff"
          "b",
          3},
         "\"a\xef\xbf\xbd"
         "b\""},
        {{"\xc3", 1}, "\"\xef\xbf\xbd\""},
        {{"\xe2\x82", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xc3(", 2}, "\"\xef\xbf\xbd(\""},
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {{"\xe2\x82\"", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\\\"\""},
        {{"\xf0\x9f\x98", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_buf struct buf b;
        cleanup_free char *exact = mem_alloc(rows[i].text.len);
        memcpy(exact, rows[i].text.ptr, rows[i].text.len);
        buf_init(&b, 4096);
        assert_true(emit_quote(&b, slice_of(exact, rows[i].text.len)));
        assert_buf(&b, rows[i].want);
    }
}

/* All bytes, alone and in pairs: what is UTF-8 comes back as it was, what is not comes back as UTF-8. */
static void test_quote_reads_back(void **state) {
    (void)state;
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    for (int first = 0; first < 256; first++)
        for (int second = 0; second < 256; second++) {
            char bytes[] = {'<', (char)first, (char)second, '>'};
            struct slice text = slice_of(bytes, sizeof(bytes));
            cleanup_buf struct buf b;
            buf_init(&b, 64);
            emit_quote(&b, text);
            assert_int_equal(tape_parse(&t, buf_slice(&b), NULL), TAPE_OK);
            assert_int_equal(tape_eq(&t, 0, text), tape_utf8_valid(text));
            assert_true(tape_utf8_valid(tape_text(&t, 0, &a)));
            arena_reset(&a);
        }
}

static void test_full_buffer_is_said(void **state) {
    (void)state;
    for (size_t max = 0; max < 12; max++) {
        cleanup_buf struct buf b;
        struct emit e;
        buf_init(&b, max);
        emit_init(&e, &b);
        emit_array(&e);
        emit_cstr(&e, "a\n\"b");
        emit_array_end(&e);
        assert_int_equal(b.full, max < strlen("[\"a\\n\\\"b\"]"));
        assert_true(b.len <= max);
    }
}

static void test_empty_text_is_no_member(void **state) {
    (void)state;
    cleanup_buf struct buf b;
    struct emit e;
    buf_init(&b, 100);
    emit_init(&e, &b);
    emit_object(&e);
    emit_text(&e, "a", (struct slice){0});
    emit_text(&e, "b", SLICE("c\n"));
    emit_object_end(&e);
    assert_true(slice_is(buf_slice(&b), "{\"b\":\"c\\n\"}"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_commas_by_level),
        cmocka_unit_test(test_deepest),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_reads_back),
        cmocka_unit_test(test_full_buffer_is_said),
        cmocka_unit_test(test_empty_text_is_no_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
