#include "risk/confusable.h"

#include "risk/tokens.h"
#include "risk_test.h"

static bool clean(const char *text) {
    struct slice s = slice_str(text);
    size_t len;
    for (size_t i = 0; i < s.len; i += len)
        if (risk_glyph_at(s, i, &len) != RISK_GLYPH_PLAIN)
            return false;
    return true;
}

static void in_place_and_out_of_place(void **state) {
    (void)state;
    assert_true(clean("plain text\twith\nline ends\r\n"));
    assert_true(clean("\xf0\x9f\x9b\xa1\xef\xb8\x8f shield"));                 /* emoji + VS16 */
    assert_true(clean("1\xef\xb8\x8f\xe2\x83\xa3 keycap"));                    /* 1 + VS16 + keycap */
    assert_true(clean("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"));        /* woman ZWJ laptop */
    assert_true(clean("\xd7\xa9\xe2\x80\x8f "));                               /* Hebrew + RLM */
    assert_true(clean("see \xe2\x80\x8b\xe2\x80\x8bto obtain"));               /* debris */
    assert_false(clean("rm\xe2\x80\x8b_file"));                                /* splits a word */
    assert_false(clean(" \xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b\xe2\x80\x8b ")); /* a message of spaces */
    assert_false(clean("a\xef\xb8\x8f"));                                      /* VS16 on a letter */
    assert_false(clean("\xe2\x80\xae"
                       "evil"));                             /* RLO */
    assert_false(clean("\xf3\xa0\x81\x89\xf3\xa0\x81\xa7")); /* tags */
    assert_false(clean("\x1b[31mred"));
    assert_false(clean("\xc2\x9b"
                       "31m")); /* C1 CSI */
    assert_false(clean("bell\x07"));
}

static bool alike(const char *a, const char *b) {
    return slice_eq(risk_skeleton(slice_str(a), &arena), risk_skeleton(slice_str(b), &arena));
}

static void skeletons(void **state) {
    (void)state;
    assert_true(alike("send_email", "s\xd0\xb5nd_email")); /* Cyrillic e */
    assert_true(alike("send_email", "SEND_EMAIL"));
    assert_true(alike("send_email", "send_emaiI")); /* capital I for l */
    assert_true(alike("read_file", "read\xe2\x80\x8b_file"));
    assert_true(alike("read", "\xef\xbd\x92\xef\xbd\x85\xef\xbd\x81\xef\xbd\x84")); /* full width */
    assert_true(alike("format", "forrnat"));
    assert_true(alike("tool0", "toolO"));
    assert_false(alike("read_file", "read_files"));
    assert_false(alike("send_email", "send_mail"));
}

static void stripped_and_shown(void **state) {
    (void)state;
    cleanup_buf struct buf out;
    buf_init(&out, 1000);
    assert_true(risk_strip(SLICE("a\x1b[0mb\xe2\x80\xae"
                                 "c"),
                           &out));
    assert_true(slice_is(buf_slice(&out), "a[0mbc"));
    assert_true(slice_is(glyph_printable(SLICE("a\nb\xe2\x80\xae\x1b"), 50, &arena), "a b<U+202E><U+001B>"));
    assert_true(slice_is(glyph_printable(SLICE("x\xe2\x80\xa8y"), 50, &arena), "x y"));
    assert_true(slice_is(glyph_printable(SLICE("abcdef"), 3, &arena), "abc..."));
}

static void tokens(void **state) {
    (void)state;
    assert_int_equal(risk_tokens_of(SLICE("")), 0);
    assert_int_equal(risk_tokens_of(SLICE("list all files")), 3);
    assert_int_equal(risk_tokens_of(SLICE("internationalisation")), 3);
    assert_int_equal(risk_tokens_of(SLICE("2026")), 2);
    assert_int_equal(risk_tokens_of(SLICE("\xe5\xa4\xa9\xe6\xb0\x94")), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_place_and_out_of_place, setup, teardown),
        cmocka_unit_test_setup_teardown(skeletons, setup, teardown),
        cmocka_unit_test_setup_teardown(stripped_and_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
