#include "wire/mend.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *mended; /* NULL: nothing to mend */
    } rows[] = {
        {"", NULL},
        {"{\"a\":\"\\ud83d\\ude00 \\u00e9 \xc3\xa9 \xf0\x9f\x98\x80\"}", NULL},
        {"\"\\\\ud83d\"", NULL}, /* a backslash, then letters */
        {"\"\\ud83d\"", "\"\\ufffd\""},
        {"\"\\uDE00\"", "\"\\ufffd\""},
        {"\"\\ud83d\\u0041\"", "\"\\ufffd\\u0041\""},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\""},
        {"\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\""},
        {"\"\\ud83d\\n\"", "\"\\ufffd\\n\""},
        {"\"\\\\\\ud83d\"", "\"\\\\\\ufffd\""},
        {"\"caf\xe9 au\"", "\"caf\xef\xbf\xbd au\""},
        {"\"\xe2\x82\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* a character that was cut */
        {"\"\xed\xa0\xbd\"", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate in UTF-8 */
        {"\"\xc0\xaf\"", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* an overlong form */
        {"\"\\ud83", NULL},
        {"\"\\", NULL},
        {"\xff", "\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_buf struct buf out;
        buf_init(&out, 4096);
        bool mended = mend_text(slice_str(rows[i].text), &out);
        if (mended != (rows[i].mended != NULL) || (mended && !slice_is(buf_slice(&out), rows[i].mended)))
            fail_msg("%s: `%.*s`", rows[i].text, SLICE_FMT(buf_slice(&out)));
    }
}

static void test_text_over_its_ceiling(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    buf_init(&out, 4);
    assert_false(mend_text(SLICE("\"\xff\xff\""), &out));
}

static void test_envelope(void **state) {
    (void)state;
    static const struct {
        const char *text, *mended;
    } rows[] = {
        {"{\"id\":1,\"result\":{},\"error\":null}", "{\"id\":1,\"result\":{}}"},
        {"{\"id\":1,\"result\":null,\"error\":{\"code\":1}}", "{\"id\":1,\"error\":{\"code\":1}}"},
        {"{\"id\":1,\"result\":null}", "{\"id\":1,\"result\":{}}"},
        {"{\"result\":null,\"error\":null,\"id\":1}", "{\"result\":{},\"id\":1}"},
        {"{\"method\":null,\"params\":null,\"id\":1,\"result\":{\"a\":null}}",
         "{\"id\":1,\"result\":{\"a\":null}}"},
        {"{\"method\":\"x\",\"params\":null}", "{\"method\":\"x\"}"},
        {"{\"method\":\"x\",\"result\":null,\"params\":{\"result\":null}}",
         "{\"method\":\"x\",\"params\":{\"result\":null}}"},
        {"{\"p\\u0061rams\":null,\"method\":\"x\"}", "{\"method\":\"x\"}"},
        {"{\"id\":7.0,\"result\":{}}", "{\"id\":7,\"result\":{}}"},
        {"{\"id\":-12.000,\"method\":null,\"error\":{}}", "{\"id\":-12,\"error\":{}}"},
        {"{\"id\":7.0,\"method\":\"x\"}", NULL}, /* a request keeps its own spelling, or is refused */
        {"{\"id\":7.5,\"result\":{}}", NULL},
        {"{\"id\":7.0e1,\"result\":{}}", NULL},
        {"{\"id\":\"7.0\",\"result\":{}}", NULL},
        {"{\"id\":null,\"jsonrpc\":null,\"method\":\"x\"}", NULL},
        {"{\"Params\":null,\"method\":\"x\"}", NULL},
        {"{\"error\":{}}", NULL},
        {"[null]", NULL},
        {"null", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cleanup_tape struct tape t;
        cleanup_arena struct arena a;
        cleanup_buf struct buf out;
        tape_init(&t);
        arena_init(&a);
        buf_init(&out, 4096);
        assert_int_equal(tape_parse(&t, slice_str(rows[i].text), NULL), TAPE_OK);
        bool mended = mend_envelope(&t, &a, &out);
        if (mended != (rows[i].mended != NULL) || (mended && !slice_is(buf_slice(&out), rows[i].mended)))
            fail_msg("%s: `%.*s`", rows[i].text, SLICE_FMT(buf_slice(&out)));
    }
}

static void test_mark(void **state) {
    (void)state;
    assert_true(slice_is(mend_mark(SLICE("\xef\xbb\xbf{}")), "{}"));
    assert_true(slice_is(mend_mark(SLICE("{}\xef\xbb\xbf")), "{}\xef\xbb\xbf"));
    assert_true(slice_is(mend_mark(SLICE("\xef\xbb")), "\xef\xbb"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_over_its_ceiling),
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
