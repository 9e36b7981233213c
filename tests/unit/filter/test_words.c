/* The SSE2 look at the end of a key says no more than the readers of whole keys do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/words.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 200000

static uint64_t seed = 20261118;

static uint32_t chance(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static size_t put_word(char *out, size_t at, bool capital) {
    static const char *const words[] = {
        "name",    "title",  "path",          "token",      "apikey", "password", "secret", "access",
        "private", "key",    "auth",          "user",       "client", "session",  "cookie", "id",
        "count",   "page",   "line",          "code",       "rev",    "x",        "bearer", "a",
        "pass",    "pwd",    "authorization", "credential", "db",     "aws",      "github", "stripe",
        "next",    "public", "signing",       "hash",       "sha",    "number",   "phone",  "passw",
    };
    const char *word = words[chance(sizeof(words) / sizeof(*words))];
    size_t len = strlen(word);
    memcpy(out + at, word, len);
    if (capital)
        out[at] = (char)(out[at] - 32);
    return at + len;
}

/* snake_case, camelCase, kebab-case, dots, blanks, numbers. */
static size_t make_key(char *out) {
    static const char between[] = "_-. 0";
    const uint32_t style = chance(6), words = 1 + chance(3);
    size_t len = 0;
    for (uint32_t i = 0; i < words; i++) {
        if (i && style < 5)
            out[len++] = between[style];
        len = put_word(out, len, i && style == 5);
    }
    if (chance(4) == 0)
        out[len++] = (char)('0' + chance(10));
    return len;
}

static void test_harmless_tail_is_a_key_that_names_no_secret(void **state) {
    (void)state;
    struct words *w = pii_words_new();
    size_t harmless = 0, secrets = 0;
    for (size_t i = 0; i < ROUNDS; i++) {
        char text[160] = "{\"some\":\"text that is before it\",\"";
        const size_t head = strlen(text), len = make_key(text + head);
        const struct slice key = slice_of(text + head, len);
        const bool names_secret = pii_words_key(w, key) & HINT_SECRET;
        secrets += names_secret;
        if (!pii_words_harmless(w, text + head + len - WORDS_TAIL))
            continue;
        harmless++;
        if (names_secret)
            fail_msg("`%.*s` is called harmless", SLICE_FMT(key));
    }
    assert_true(secrets > ROUNDS / 10);
#if defined(__SSE2__)
    assert_true(harmless > ROUNDS / 50);
#else
    assert_int_equal(harmless, 0);
#endif
    pii_words_free(w);
}

static void test_words_are_found_in_any_case(void **state) {
    (void)state;
    struct words *w = pii_words_new();
    assert_true(pii_words_lookup(w, SLICE("password")) & HINT_SECRET);
    assert_int_equal(pii_words_lookup(w, SLICE("PassWord")), pii_words_lookup(w, SLICE("password")));
    assert_true(pii_words_key(w, SLICE("userApiKey")) & HINT_SECRET);
    assert_true(pii_words_key(w, SLICE("user_phone")) & HINT_PHONE);
    assert_int_equal(pii_words_key(w, SLICE("zebra")), 0);
    assert_int_equal(pii_words_key(w, SLICE("")), 0);
    pii_words_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harmless_tail_is_a_key_that_names_no_secret),
        cmocka_unit_test(test_words_are_found_in_any_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
