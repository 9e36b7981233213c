#include "crypto/aead.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TEXT "the text"
#define BOX (CRYPTO_SEAL_HEAD + sizeof(TEXT) - 1)

static const unsigned char key[CRYPTO_SEAL_KEY] = "0123456789abcdef0123456789abcde";

static void test_round_trip(void **state) {
    (void)state;
    char box[BOX], again[BOX], text[sizeof(TEXT)] = "";
    crypto_seal(key, SLICE("owner"), SLICE(TEXT), box);
    crypto_seal(key, SLICE("owner"), SLICE(TEXT), again);
    assert_memory_not_equal(box, again, BOX); /* the nonce is random */
    assert_true(crypto_unseal(key, SLICE("owner"), slice_of(box, BOX), text));
    assert_string_equal(text, TEXT);
    crypto_seal(key, SLICE(""), SLICE(""), box);
    assert_true(crypto_unseal(key, SLICE(""), slice_of(box, CRYPTO_SEAL_HEAD), text));
}

static void test_every_change_is_noticed(void **state) {
    (void)state;
    char box[BOX], text[sizeof(TEXT)];
    unsigned char other[CRYPTO_SEAL_KEY] = {0};
    crypto_seal(key, SLICE("owner"), SLICE(TEXT), box);
    assert_false(crypto_unseal(other, SLICE("owner"), slice_of(box, BOX), text));
    assert_false(crypto_unseal(key, SLICE("other"), slice_of(box, BOX), text));
    assert_false(crypto_unseal(key, SLICE(""), slice_of(box, BOX), text));
    for (size_t bit = 0; bit < BOX * 8; bit++) {
        box[bit / 8] = (char)(box[bit / 8] ^ 1 << bit % 8);
        assert_false(crypto_unseal(key, SLICE("owner"), slice_of(box, BOX), text));
        box[bit / 8] = (char)(box[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t len = 0; len < BOX; len++)
        assert_false(crypto_unseal(key, SLICE("owner"), slice_of(box, len), text));
}

/* AES-256-GCM, test case 16 of McGrew and Viega: the format is the standard's, not our own. */
static void test_known_answer(void **state) {
    (void)state;
    static const unsigned char k[] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f,
                                      0x94, 0x67, 0x30, 0x83, 0x08, 0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65,
                                      0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
    static const unsigned char bound[] = {0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
                                          0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
    static const unsigned char box[] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca,
                                        0xf8, 0x88, /* nonce */
                                        0x76, 0xfc, 0x6e, 0xce, 0x0f, 0x4e, 0x17, 0x68, 0xcd, 0xdf,
                                        0x88, 0x53, 0xbb, 0x2d, 0x55, 0x1b, /* tag */
                                        0x52, 0x2d, 0xc1, 0xf0, 0x99, 0x56, 0x7d, 0x07, 0xf4, 0x7f,
                                        0x37, 0xa3, 0x2a, 0x84, 0x42, 0x7d, 0x64, 0x3a, 0x8c, 0xdc,
                                        0xbf, 0xe5, 0xc0, 0xc9, 0x75, 0x98, 0xa2, 0xbd, 0x25, 0x55,
                                        0xd1, 0xaa, 0x8c, 0xb0, 0x8e, 0x48, 0x59, 0x0d, 0xbb, 0x3d,
                                        0xa7, 0xb0, 0x8b, 0x10, 0x56, 0x82, 0x88, 0x38, 0xc5, 0xf6,
                                        0x1e, 0x63, 0x93, 0xba, 0x7a, 0x0a, 0xbc, 0xc9, 0xf6, 0x62};
    static const unsigned char plain[] = {0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5};
    unsigned char text[sizeof(box)];
    assert_true(crypto_unseal(k, slice_of((const char *)bound, sizeof(bound)),
                              slice_of((const char *)box, sizeof(box)), text));
    assert_memory_equal(text, plain, sizeof(plain));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_every_change_is_noticed),
        cmocka_unit_test(test_known_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
