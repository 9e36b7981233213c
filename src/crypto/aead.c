#include "crypto/aead.h"

#include "base/check.h"
#include "base/openssl.h"
#include "base/rand.h"

#define NONCE 12
#define TAG 16

_Static_assert(NONCE + TAG == CRYPTO_SEAL_HEAD, "the header of the ciphertext");

static bool aead_run(bool encrypt, const unsigned char *key, struct slice bound, const unsigned char *nonce,
                     unsigned char *tag, struct slice in, unsigned char *out) {
    int len = 0, last = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CHECK(c);
    bool good = in.len <= CRYPTO_SEAL_BYTES_MAX && bound.len <= CRYPTO_SEAL_BYTES_MAX &&
                EVP_CipherInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce, encrypt) == 1 &&
                EVP_CipherUpdate(c, NULL, &len, (const unsigned char *)bound.ptr, (int)bound.len) == 1 &&
                (encrypt || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1) &&
                EVP_CipherUpdate(c, out, &len, (const unsigned char *)in.ptr, (int)in.len) == 1 &&
                EVP_CipherFinal_ex(c, out + len, &last) == 1 &&
                (!encrypt || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, tag) == 1);
    EVP_CIPHER_CTX_free(c);
    return good;
}

void crypto_seal(const unsigned char key[CRYPTO_SEAL_KEY], struct slice bound, struct slice text,
                 void *ret_box) {
    unsigned char *box = ret_box;
    rand_bytes(box, NONCE);
    CHECK(aead_run(true, key, bound, box, box + NONCE, text, box + CRYPTO_SEAL_HEAD));
}

bool crypto_unseal(const unsigned char key[CRYPTO_SEAL_KEY], struct slice bound, struct slice box,
                   void *ret_text) {
    unsigned char tag[TAG]; /* OpenSSL requires a writable buffer */
    if (box.len < CRYPTO_SEAL_HEAD)
        return false;
    memcpy(tag, box.ptr + NONCE, TAG);
    return aead_run(false, key, bound, (const unsigned char *)box.ptr, tag, slice_from(box, CRYPTO_SEAL_HEAD),
                    ret_text);
}
