/* SHA-256. OpenSSL's own code for its blocks, but called directly: asking for it by name (EVP) reads
 * OpenSSL's configuration and sets its providers up first, five million instructions, and costs a thousand
 * more at each hash. As long as nothing else has loaded OpenSSL, the few hashes of a start are made without
 * it. */
#pragma once

#include "base/slice.h"

#define SHA_BYTES 32
#define SHA_BLOCK 64 /* bytes that it reads at a time */
#define SHA_HEX 64   /* digits; no NUL behind them */

/* Of all parts, one behind the other. */
void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]);
void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]);

/* The same of what comes bit by bit. */
struct sha_state {
    uint32_t h[8];
    uint64_t len;                  /* bytes so far */
    unsigned char held[SHA_BLOCK]; /* those that are no block yet */
};
void sha_begin(struct sha_state *s);
void sha_add(struct sha_state *s, struct slice bytes);
void sha_end(struct sha_state *s, unsigned char ret_sum[SHA_BYTES]);

/* Of two texts at once, which take little longer than one where sha_pairs(). */
struct sha_text {
    const struct slice *parts;
    size_t count;
};
void sha_256_two(const struct sha_text texts[2], unsigned char ret_sums[2][SHA_BYTES]);
bool sha_pairs(void);

/* HMAC-SHA-256 under one key, made ready once: tokens take one for every value. */
struct sha_hmac;
struct sha_hmac *sha_hmac_new(struct slice key);
void sha_hmac_free(struct sha_hmac *h); /* wipes it; NULL is fine */
void sha_hmac_sum(const struct sha_hmac *h, const struct slice *parts, size_t count,
                  unsigned char ret_sum[SHA_BYTES]);
/* The same under a key that is used once. */
void sha_hmac_once(struct slice key, const struct slice *parts, size_t count,
                   unsigned char ret_sum[SHA_BYTES]);
