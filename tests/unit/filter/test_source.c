/* Strings as the PII filter reads them, compared with a reader of one character after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/source.h"
#include "wire/tape.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 20000
#define TEXT_MAX 200

static uint64_t seed = 20261118;

static uint32_t chance(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

/* A JSON string, what it says, and where each byte of that came from. */
struct twin {
    char source[TEXT_MAX * 6 + 8];
    size_t source_len;
    char text[TEXT_MAX * 4];
    uint32_t from[TEXT_MAX * 4 + 1];
    size_t len;
};

static void add(struct twin *t, const char *spelling, const char *text) {
    for (size_t i = 0; text[i]; i++) {
        const bool plain = spelling[0] != '\\';
        t->from[t->len] = (uint32_t)(t->source_len + (plain ? i : 0));
        t->text[t->len++] = text[i];
    }
    memcpy(t->source + t->source_len, spelling, strlen(spelling));
    t->source_len += strlen(spelling);
}

static void make_twin(struct twin *t, uint32_t often) {
    static const char *const escapes[][2] = {
        {"\\n", "\n"},
        {"\\\"", "\""},
        {"\\\\", "\\"},
        {"\\/", "/"},
        {"\\u0040", "@"},
        {"\\u00e9", "\xc3\xa9"},
        {"\\u20ac", "\xe2\x82\xac"},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    };
    const uint32_t count = chance(TEXT_MAX);
    t->source_len = t->len = 0;
    t->source[t->source_len++] = '"';
    for (uint32_t i = 0; i < count; i++) {
        if (chance(often) == 0) {
            const uint32_t which = chance(sizeof(escapes) / sizeof(*escapes));
            add(t, escapes[which][0], escapes[which][1]);
        } else {
            const char one[2] = {(char)('a' + chance(26)), '\0'};
            add(t, one, one);
        }
    }
    t->from[t->len] = (uint32_t)t->source_len;
    t->source[t->source_len++] = '"';
}

static void compare(const struct twin *want) {
    struct tape t;
    struct arena a;
    tape_init(&t);
    arena_init(&a);
    assert_int_equal(tape_parse(&t, slice_of(want->source, want->source_len), NULL), TAPE_OK);
    const struct source_layer whole = {.text = t.src};
    const struct source_layer got = filter_source_string(&whole, &t, 0, &a);
    assert_int_equal(got.text.len, want->len);
    assert_memory_equal(got.text.ptr, want->text, want->len);
    for (uint32_t i = 0; i <= want->len; i++)
        if (filter_source_offset(&got, i) != want->from[i])
            fail_msg("byte %u of %.*s is said to come from %u, not %u", i, (int)want->source_len,
                     want->source, filter_source_offset(&got, i), want->from[i]);
    arena_free(&a);
    tape_free(&t);
}

static void test_strings_are_decoded_and_mapped_as_one_character_after_the_other(void **state) {
    (void)state;
    static struct twin twin;
    static const uint32_t often[] = {2, 5, 20, 60, 1000};
    for (size_t i = 0; i < ROUNDS; i++) {
        make_twin(&twin, often[i % 5]);
        compare(&twin);
    }
}

static void test_escaping_is_the_opposite_of_decoding(void **state) {
    (void)state;
    static struct twin twin;
    for (size_t i = 0; i < 2000; i++) {
        struct arena a;
        struct tape t;
        char json[TEXT_MAX * 30];
        make_twin(&twin, 4);
        arena_init(&a);
        tape_init(&t);
        const struct slice text = slice_of(twin.text, twin.len);
        const struct slice once = filter_source_escape(text, 1, &a);
        const int len = snprintf(json, sizeof(json), "\"%.*s\"", SLICE_FMT(once));
        assert_int_equal(tape_parse(&t, slice_of(json, (size_t)len), NULL), TAPE_OK);
        assert_true(slice_eq(tape_text(&t, 0, &a), text));
        assert_true(slice_eq(filter_source_escape(once, 1, &a), filter_source_escape(text, 2, &a)));
        tape_free(&t);
        arena_free(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_are_decoded_and_mapped_as_one_character_after_the_other),
        cmocka_unit_test(test_escaping_is_the_opposite_of_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
