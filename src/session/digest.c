#include "session/digest.h"

#include "base/check.h"
#include "base/mem.h"

#include <openssl/evp.h>

struct session_digest {
    EVP_MD *md;
    EVP_MD_CTX *ctx;
};

struct session_digest *digest_new(void) {
    struct session_digest *d = mem_zalloc(sizeof(*d));
    d->md = EVP_MD_fetch(NULL, "SHA256", NULL);
    d->ctx = EVP_MD_CTX_new();
    CHECK(d->md && d->ctx);
    return d;
}

void digest_free(struct session_digest *d) {
    if (!d)
        return;
    EVP_MD_CTX_free(d->ctx);
    EVP_MD_free(d->md);
    free(d);
}

void digest_hex(struct session_digest *d, struct slice text, char hex[DIGEST_HEX_LEN]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[DIGEST_HEX_LEN / 2];
    CHECK(EVP_DigestInit_ex2(d->ctx, d->md, NULL) == 1 && EVP_DigestUpdate(d->ctx, text.ptr, text.len) == 1 &&
          EVP_DigestFinal_ex(d->ctx, sum, NULL) == 1);
    for (size_t i = 0; i < sizeof(sum); i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
}
