#include "crypto/signature.h"

#include "base/mem.h"
#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char dir[64], secret[96], public[96];

static int setup(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sallyport-signature-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(secret, sizeof(secret), "%s/secret", dir);
    snprintf(public, sizeof(public), "%s/public", dir);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(secret);
    unlink(public);
    return rmdir(dir);
}

static struct crypto_signer *load(void) {
    struct crypto_signer *s = NULL;
    struct err err = {0};
    if (crypto_signer_check(secret, public, &err) < 0 || crypto_signer_load(secret, public, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void write_secret(const char *text) {
    struct err err = {0};
    unlink(secret);
    assert_int_equal(io_file_create(secret, slice_str(text), 0600, &err), 0);
}

static void expect(const char *why) {
    struct crypto_signer *s = NULL;
    struct err err = {0};
    assert_int_equal(crypto_signer_load(secret, public, &s, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("expected \"%s\", got: %s", why, err.text);
    err = (struct err){0};
    assert_int_equal(crypto_signer_check(secret, public, &err), -1);
    assert_non_null(strstr(err.text, why));
}

static void test_signs_and_verifies(void **state) {
    (void)state;
    unsigned char sign[CRYPTO_SIGNATURE], again[CRYPTO_SIGNATURE];
    struct crypto_signer *one = load(), *two = load(), *verifier = NULL;
    struct stat st;
    struct err err = {0};
    crypto_sign(one, SLICE("text"), sign);
    crypto_sign(two, SLICE("text"), again);
    assert_memory_equal(sign, again, sizeof(sign)); /* the same key */
    assert_int_equal(crypto_signer_read_public(public, &verifier, &err), 0);
    assert_true(crypto_verify(verifier, SLICE("text"), sign));
    assert_false(crypto_verify(verifier, SLICE("Text"), sign));
    sign[0] ^= 1;
    assert_false(crypto_verify(verifier, SLICE("text"), sign));
    assert_int_equal(stat(public, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    crypto_signer_free(one);
    crypto_signer_free(two);
    crypto_signer_free(verifier);
}

/* RFC 8032, 7.1, test 2, in our format and as the PEM file that version 0.1.0 wrote. */
static void test_formats(void **state) {
    (void)state;
    static const char *const texts[] = {"sallyport ed25519 secret key 1\n"
                                        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
                                        "bcb24aa3\n",
                                        "-----BEGIN PRIVATE KEY-----\n"
                                        "MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7\n"
                                        "-----END PRIVATE KEY-----\n"};
    static const unsigned char expected[] = {0x92, 0xa0, 0x09, 0xa9, 0xf0, 0xd4, 0xca, 0xb8,
                                             0x72, 0x0e, 0x82, 0x0b, 0x5f, 0x64, 0x25, 0x40};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        unsigned char sign[CRYPTO_SIGNATURE];
        write_secret(texts[i]);
        struct crypto_signer *s = load();
        crypto_sign(s, SLICE("\x72"), sign);
        assert_memory_equal(sign, expected, sizeof(expected));
        crypto_signer_free(s);
    }
}

static void test_refused(void **state) {
    (void)state;
    write_secret("sallyport ed25519 secret key 2\nwhatever\n");
    expect("newer version");
    static const char *const damaged[] = {
        "",
        "\n",
        "sallyport ed25519 secret key 1\n",
        "sallyport ed25519 secret key "
        "1\n4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fbcb24aa3\n",
        "sallyport ed25519 secret key "
        "1\n4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fbbcb24aa3",
        "sallyport ed25519 secret key "
        "1\n4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fgbcb24aa3\n",
        "sallyport ed25519 secret key "
        "1\n5ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fbbcb24aa3\n",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEzNCJso\n-----END PRIVATE KEY-----\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
        write_secret(damaged[i]);
        expect("damaged");
    }
}

/* A new key in the place of a lost one would make old signatures look forged. */
static void test_lost_secret(void **state) {
    (void)state;
    crypto_signer_free(load());
    assert_int_equal(unlink(secret), 0);
    expect("is missing");
    assert_int_equal(access(secret, F_OK), -1);
    assert_int_equal(unlink(public), 0);
    crypto_signer_free(load());
    assert_int_equal(unlink(public), 0);
    crypto_signer_free(load()); /* the public half can be made again */
    assert_int_equal(access(public, F_OK), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_signs_and_verifies),
        TEST(test_formats),
        TEST(test_refused),
        TEST(test_lost_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
