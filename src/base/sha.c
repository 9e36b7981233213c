#define OPENSSL_SUPPRESS_DEPRECATED /* OpenSSL 3 would have everybody use EVP; see the header */
#include "base/sha.h"

#include "base/check.h"
#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

_Static_assert(SHA_BYTES == SHA256_DIGEST_LENGTH, "SHA-256");

_Static_assert(sizeof(struct sha_state) >= sizeof(SHA256_CTX), "room for OpenSSL's");
_Static_assert(_Alignof(struct sha_state) >= _Alignof(SHA256_CTX), "room for OpenSSL's");

static SHA256_CTX *sha_ctx(struct sha_state *s) { return (SHA256_CTX *)(void *)s; }

void sha_begin(struct sha_state *s) { CHECK(SHA256_Init(sha_ctx(s)) == 1); }

void sha_add(struct sha_state *s, struct slice bytes) {
    CHECK(!bytes.len || SHA256_Update(sha_ctx(s), bytes.ptr, bytes.len) == 1);
}

void sha_end(struct sha_state *s, unsigned char ret_sum[SHA_BYTES]) {
    CHECK(SHA256_Final(ret_sum, sha_ctx(s)) == 1);
}

void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]) {
    struct sha_state state;
    sha_begin(&state);
    for (size_t i = 0; i < count; i++)
        sha_add(&state, parts[i]);
    sha_end(&state, ret_sum);
}

void sha_hex(const unsigned char sum[SHA_BYTES], char ret_hex[SHA_HEX]) {
    unsigned char digits[SHA_HEX];
    for (size_t i = 0; i < SHA_BYTES; i++) {
        digits[2 * i] = sum[i] >> 4;
        digits[2 * i + 1] = sum[i] & 15;
    }
    for (size_t i = 0; i < SHA_HEX; i++) /* without a table: compilers do many at once */
        ret_hex[i] = (char)(digits[i] + (digits[i] < 10 ? '0' : 'a' - 10));
}

void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]) {
    unsigned char sum[SHA_BYTES];
    sha_256(&text, 1, sum);
    sha_hex(sum, ret_hex);
}

struct sha_hmac {
    SHA256_CTX inner, outer; /* each has read its block of the key */
};

struct sha_hmac *sha_hmac_new(struct slice key) {
    struct sha_hmac *h = mem_zalloc(sizeof(*h));
    unsigned char inner[SHA_BLOCK] = {0}, outer[SHA_BLOCK];
    CHECK(key.len <= SHA_BLOCK);
    memcpy(inner, key.ptr, key.len);
    for (size_t i = 0; i < SHA_BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    CHECK(SHA256_Init(&h->inner) == 1 && SHA256_Update(&h->inner, inner, SHA_BLOCK) == 1);
    CHECK(SHA256_Init(&h->outer) == 1 && SHA256_Update(&h->outer, outer, SHA_BLOCK) == 1);
    OPENSSL_cleanse(inner, sizeof(inner));
    OPENSSL_cleanse(outer, sizeof(outer));
    return h;
}

void sha_hmac_free(struct sha_hmac *h) {
    if (!h)
        return;
    OPENSSL_cleanse(h, sizeof(*h));
    free(h);
}

void sha_hmac_sum(const struct sha_hmac *h, const struct slice *parts, size_t count,
                  unsigned char ret_sum[SHA_BYTES]) {
    SHA256_CTX inner = h->inner, outer = h->outer;
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good = good && (!parts[i].len || SHA256_Update(&inner, parts[i].ptr, parts[i].len) == 1);
    CHECK(good && SHA256_Final(ret_sum, &inner) == 1);
    CHECK(SHA256_Update(&outer, ret_sum, SHA_BYTES) == 1 && SHA256_Final(ret_sum, &outer) == 1);
}
