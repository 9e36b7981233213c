/* Values that do not fit: what is left is valid JSON within the room, and the largest parts were cut first.
 */
#include "runner/shape.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool shape(struct slice json, size_t max, struct buf *out) {
    struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, json, NULL), TAPE_OK);
    bool cut;
    shape_value(&t, 0, max, out, &cut);
    tape_free(&t);
    return cut;
}

/* Repeats a text between two others. */
static struct slice repeat(struct buf *to, const char *head, const char *part, size_t times,
                           const char *tail) {
    buf_init(to, 64u << 20);
    buf_put_str(to, head);
    for (size_t i = 0; i < times; i++) {
        buf_put_str(to, i ? "," : "");
        buf_put_str(to, part);
    }
    buf_put_str(to, tail);
    return buf_slice(to);
}

static void what_fits_is_left_alone(void **state) {
    (void)state;
    static const struct slice texts[] = {SLICE("null"), SLICE("[1, 2]"), SLICE("{\"a\":\"b\"}"),
                                         SLICE("\"x\"")};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        cleanup_buf struct buf out;
        buf_init(&out, 1024);
        assert_false(shape(texts[i], 64, &out));
        assert_true(slice_eq(buf_slice(&out), texts[i]));
    }
}

static void what_is_cut_stays_valid(void **state) {
    (void)state;
    static const struct {
        const char *head, *part, *tail;
        size_t times;
    } cases[] = {
        {"[", "123456789", "]", 100000},
        {"[", "\"some text of a row\"", "]", 5000},
        {"{\"rows\":[", "{\"id\":1,\"name\":\"n\",\"deep\":[[[1,2,3]]]}", "],\"total\":7}", 9000},
        {"[\"", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\"]", 4000},
        {"[[[[[[[[", "\"\\u00e4\\ud83d\\ude00\"", "]]]]]]]]", 9000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t max = 64; max <= 65536; max *= 4) {
            cleanup_buf struct buf text, out;
            repeat(&text, cases[i].head, cases[i].part, cases[i].times, cases[i].tail);
            buf_init(&out, 1u << 20);
            assert_true(shape(buf_slice(&text), max, &out));
            cleanup_tape struct tape t;
            tape_init(&t);
            assert_int_equal(tape_parse(&t, buf_slice(&out), NULL), TAPE_OK);
            assert_true(out.len <= (max < 256 ? 256 : max));
        }
    }
}

static void the_largest_part_is_cut_first(void **state) {
    (void)state;
    cleanup_buf struct buf text, out;
    repeat(&text, "{\"small\":[1,2,3],\"note\":\"kept\",\"big\":[", "\"row\"", 20000, "],\"last\":true}");
    buf_init(&out, 1u << 20);
    assert_true(shape(buf_slice(&text), 4096, &out));
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, buf_slice(&out), NULL), TAPE_OK);
    assert_int_equal(tape_node(&t, tape_get_str(&t, 0, "small"))->count, 3);
    assert_true(tape_eq(&t, tape_get_str(&t, 0, "note"), SLICE("kept")));
    assert_true(tape_is(&t, tape_get_str(&t, 0, "last"), TAPE_TRUE));
    assert_true(tape_node(&t, tape_get_str(&t, 0, "big"))->count < 1000);
    assert_true(out.len > 1024); /* and the room is used */
}

static void texts_end_between_characters(void **state) {
    (void)state;
    struct slice text = SLICE("a\xc3\xa4\xf0\x9f\x98\x80z");
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 3, 7, 8, 8};
    for (size_t max = 0; max < ARRAY_LEN(want); max++)
        assert_int_equal(shape_text(text, max).len, want[max]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_is_left_alone),
        cmocka_unit_test(what_is_cut_stays_valid),
        cmocka_unit_test(the_largest_part_is_cut_first),
        cmocka_unit_test(texts_end_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
