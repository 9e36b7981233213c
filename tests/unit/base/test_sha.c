/* SHA-256 as it is before OpenSSL is loaded and after, against the standard's examples and OpenSSL's own. */
#include "base/openssl.h"
#include "base/sha.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LEN_MAX 300 /* some blocks, and every place in one */

static char text[LEN_MAX];
static unsigned char plain[LEN_MAX + 1][SHA_BYTES], plain_hmac[LEN_MAX + 1][SHA_BYTES];

static int setup(void **state) {
    (void)state;
    for (int i = 0; i < LEN_MAX; i++)
        text[i] = (char)(i * 131 + 7);
    return 0;
}

/* In two parts, cut where `len` says, and in one piece. */
static void sum_both_ways(size_t len, unsigned char ret_sum[SHA_BYTES]) {
    size_t cut = len * 37 % (len + 1);
    const struct slice whole = slice_of(text, len),
                       parts[] = {slice_upto(whole, cut), slice_from(whole, cut)};
    unsigned char other[SHA_BYTES];
    sha_256(&whole, 1, ret_sum);
    sha_256(parts, 2, other);
    assert_memory_equal(ret_sum, other, SHA_BYTES);
}

static void sum_hmac(const struct sha_hmac *hmac, size_t len, unsigned char ret_sum[SHA_BYTES]) {
    sha_hmac_sum(hmac, &(struct slice){text, len}, 1, ret_sum);
}

static void test_examples(void **state) {
    (void)state;
    char hex[SHA_HEX];
    sha_256_hex(SLICE("abc"), hex);
    assert_memory_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", SHA_HEX);
    sha_256_hex(SLICE(""), hex);
    assert_memory_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", SHA_HEX);
}

static void test_without_openssl(void **state) {
    (void)state;
    struct sha_hmac *hmac = sha_hmac_new(SLICE("a key"));
    for (size_t len = 0; len <= LEN_MAX; len++) {
        sum_both_ways(len, plain[len]);
        sum_hmac(hmac, len, plain_hmac[len]);
    }
    sha_hmac_free(hmac);
    assert_false(openssl_is_loaded());
}

static void test_with_openssl(void **state) {
    (void)state;
    struct sha_hmac *hmac = sha_hmac_new(SLICE("a key"));
    for (size_t len = 0; len <= LEN_MAX; len++) {
        unsigned char sum[SHA_BYTES], theirs[SHA_BYTES];
        SHA256((const unsigned char *)text, len, theirs);
        assert_true(openssl_is_loaded());
        sum_both_ways(len, sum);
        assert_memory_equal(sum, theirs, SHA_BYTES);
        assert_memory_equal(plain[len], theirs, SHA_BYTES);
        assert_non_null(HMAC(EVP_sha256(), "a key", 5, (const unsigned char *)text, len, theirs, NULL));
        sum_hmac(hmac, len, sum);
        assert_memory_equal(sum, theirs, SHA_BYTES);
        assert_memory_equal(plain_hmac[len], theirs, SHA_BYTES);
    }
    sha_hmac_free(hmac);
}

/* Every length beside another, each in parts that end anywhere in a block, and empty ones. */
static void test_two_at_once(void **state) {
    (void)state;
    for (size_t len = 0; len <= LEN_MAX; len++) {
        const size_t lens[] = {len, len * 59 % (LEN_MAX + 1)};
        struct slice parts[2][4] = {0};
        for (int i = 0; i < 2; i++) {
            struct slice whole = slice_of(text, lens[i]);
            parts[i][0] = slice_upto(whole, len % 71);
            parts[i][2] = slice_upto(slice_from(whole, parts[i][0].len), lens[i] / 2);
            parts[i][3] = slice_from(whole, parts[i][0].len + parts[i][2].len);
        }
        unsigned char sums[2][SHA_BYTES];
        sha_256_two((struct sha_text[]){{parts[0], 4}, {parts[1], 4}}, sums);
        assert_memory_equal(sums[0], plain[lens[0]], SHA_BYTES);
        assert_memory_equal(sums[1], plain[lens[1]], SHA_BYTES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_without_openssl),
        cmocka_unit_test(test_with_openssl),
        cmocka_unit_test(test_two_at_once),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
