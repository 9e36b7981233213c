/* SHA-256. Uses OpenSSL's block function but calls it directly: fetching it by name (EVP) first reads
 * OpenSSL's configuration and sets up its providers, which takes five million instructions, and costs a
 * thousand more for each hash. As long as OpenSSL is not loaded, the few hashes of a start are computed
 * without it. */
#pragma once

#include "base/slice.h"

#define SHA_BYTES 32
#define SHA_BLOCK 64 /* bytes of one block */
#define SHA_HEX 64   /* digits; no NUL behind them */

/* The hash of all parts, concatenated. */
void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]);
void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]);

/* Incremental hashing. */
struct sha_state {
    uint32_t h[8];
    uint64_t len;                  /* bytes hashed so far */
    unsigned char held[SHA_BLOCK]; /* an incomplete block */
};
void sha_begin(struct sha_state *s);
void sha_add(struct sha_state *s, struct slice bytes);
void sha_end(struct sha_state *s, unsigned char ret_sum[SHA_BYTES]);

/* Hashes two texts together; takes little longer than one text if sha_pairs(). */
struct sha_text {
    const struct slice *parts;
    size_t count;
};
void sha_256_two(const struct sha_text texts[2], unsigned char ret_sums[2][SHA_BYTES]);
bool sha_pairs(void);

/* HMAC-SHA-256 with a prepared key: tokens need one for every value. */
struct sha_hmac;
struct sha_hmac *sha_hmac_new(struct slice key);
void sha_hmac_free(struct sha_hmac *h); /* wipes it; NULL is fine */
void sha_hmac_sum(const struct sha_hmac *h, const struct slice *parts, size_t count,
                  unsigned char ret_sum[SHA_BYTES]);
/* HMAC-SHA-256 with a key that is used once. */
void sha_hmac_once(struct slice key, const struct slice *parts, size_t count,
                   unsigned char ret_sum[SHA_BYTES]);
