#define OPENSSL_SUPPRESS_DEPRECATED /* OpenSSL 3 deprecates this API in favour of EVP; see the header */
#include "base/sha.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"

#include <endian.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

_Static_assert(SHA_BYTES == SHA256_DIGEST_LENGTH && SHA_BLOCK == SHA256_CBLOCK, "SHA-256");
_Static_assert(sizeof((SHA256_CTX){0}.h) == sizeof((struct sha_state){0}.h), "what each block changes");

/* Up to this many blocks, hashing here is cheaper than loading OpenSSL. */
#define PLAIN_BLOCKS_MAX 8192

/* ---- one block, where OpenSSL is not loaded ---- */

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int by) { return x >> by | x << (32 - by); }

/* FIPS 180-4, 6.2.2, with the names used there. */
static void block_plain(uint32_t h[8], const unsigned char *block) {
    uint32_t w[64], v[8];
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int t = 16; t < 64; t++)
        w[t] = w[t - 16] + w[t - 7] + (turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3) +
               (turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10);
    memcpy(v, h, sizeof(v));
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], b = v[1], c = v[2], e = v[4], f = v[5], g = v[6];
        uint32_t t1 =
            v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + sha_k[t] + w[t];
        uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        memmove(v + 1, v, 7 * sizeof(*v));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
    explicit_bzero(w, sizeof(w)); /* it may have been a key */
}

static bool openssl_pays(void) {
    static uint32_t plain_count;
    return openssl_is_loaded() || __atomic_add_fetch(&plain_count, 1, __ATOMIC_RELAXED) > PLAIN_BLOCKS_MAX;
}

static void blocks(struct sha_state *s, const unsigned char *at, size_t count) {
    for (; count && !openssl_pays(); count--, at += SHA_BLOCK)
        block_plain(s->h, at);
    if (!count)
        return;
    SHA256_CTX ctx = {
        .num = 0}; /* whole blocks change only h; passing all of them in one call is a tenth faster */
    memcpy(ctx.h, s->h, sizeof(ctx.h));
    CHECK(SHA256_Update(&ctx, at, count * SHA_BLOCK) == 1);
    memcpy(s->h, ctx.h, sizeof(ctx.h));
}

/* ---- any number of bytes ---- */

void sha_begin(struct sha_state *s) {
    *s = (struct sha_state){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19}};
}

void sha_add(struct sha_state *s, struct slice bytes) {
    size_t held = s->len % SHA_BLOCK, fill = SHA_BLOCK - held;
    s->len += bytes.len;
    if (held && bytes.len >= fill) {
        memcpy(s->held + held, bytes.ptr, fill);
        blocks(s, s->held, 1);
        bytes = slice_from(bytes, fill);
        held = 0;
    }
    if (!held && bytes.len >= SHA_BLOCK) {
        blocks(s, (const unsigned char *)bytes.ptr, bytes.len / SHA_BLOCK);
        bytes = slice_from(bytes, bytes.len / SHA_BLOCK * SHA_BLOCK);
    }
    if (bytes.len)
        memcpy(s->held + held, bytes.ptr, bytes.len);
}

void sha_end(struct sha_state *s, unsigned char ret_sum[SHA_BYTES]) {
    unsigned char last[2 * SHA_BLOCK] = {0};
    const uint64_t bits = htobe64(s->len * 8);
    size_t held = s->len % SHA_BLOCK, count = held < SHA_BLOCK - sizeof(bits) ? 1 : 2;
    memcpy(last, s->held, held);
    last[held] = 0x80;
    memcpy(last + count * SHA_BLOCK - sizeof(bits), &bits, sizeof(bits));
    blocks(s, last, count);
    for (size_t i = 0; i < ARRAY_LEN(s->h); i++) {
        const uint32_t word = htobe32(s->h[i]);
        memcpy(ret_sum + i * sizeof(word), &word, sizeof(word));
    }
}

void sha_256(const struct slice *parts, size_t count, unsigned char ret_sum[SHA_BYTES]) {
    struct sha_state state;
    sha_begin(&state);
    for (size_t i = 0; i < count; i++)
        sha_add(&state, parts[i]);
    sha_end(&state, ret_sum);
}

/* ---- two texts ----
 *
 * With SHA-NI each step of a sum waits for the one before it, and the processor is idle half of the time:
 * steps of a second sum fit in between. OpenSSL has code for that, but keeps it to itself. */

/* One text and the read position in it. */
struct reading {
    struct sha_state sum;
    const struct slice *part, *end;
    struct slice rest; /* of the part before */
};

/* Advances to the next run of complete contiguous blocks; returns their number, 0 at the end. */
static size_t blocks_ahead(struct reading *r) {
    for (;;) {
        while (!r->rest.len && r->part < r->end)
            r->rest = *r->part++;
        size_t fill = SHA_BLOCK - r->sum.len % SHA_BLOCK;
        if (!r->rest.len || (fill == SHA_BLOCK && r->rest.len >= SHA_BLOCK))
            return r->rest.len / SHA_BLOCK;
        struct slice piece = slice_upto(r->rest, fill);
        sha_add(&r->sum, piece);
        r->rest = slice_from(r->rest, piece.len);
    }
}

#ifdef __x86_64__
#define SHA_ROUNDS 16 /* of four steps each */

/* One hash state in the order that the instructions need, and the last sixteen words of the message. */
struct sha_half {
    __m128i abef, cdgh;
    __m128i w[4];
};

/* Sixteen words of the message at a time: four are used up, four made of all. */
__attribute__((target("sha,sse4.1"))) static inline __m128i next_words(const __m128i w[4], int at) {
    __m128i a = w[at % 4], b = w[(at + 1) % 4], c = w[(at + 2) % 4], d = w[(at + 3) % 4];
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4)), d);
}

__attribute__((target("sha,sse4.1"))) static inline void load_state(struct sha_half *l, const uint32_t h[8]) {
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(h + 4)), 0x1b);
    l->abef = _mm_alignr_epi8(low, high, 8);
    l->cdgh = _mm_blend_epi16(high, low, 0xf0);
}

__attribute__((target("sha,sse4.1"))) static inline void store_state(const struct sha_half *l,
                                                                     uint32_t h[8]) {
    __m128i low = _mm_shuffle_epi32(l->abef, 0x1b), high = _mm_shuffle_epi32(l->cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(high, low, 8));
}

__attribute__((target("sha,sse4.1"))) static void blocks_two(struct reading r[2], size_t count) {
    const __m128i turned = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    struct sha_half l[2];
    load_state(&l[0], r[0].sum.h);
    load_state(&l[1], r[1].sum.h);
    for (size_t block = 0; block < count; block++) {
        const struct sha_half before[2] = {l[0], l[1]};
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++)
                l[k].w[i] = _mm_shuffle_epi8(
                    _mm_loadu_si128((const __m128i *)(const void *)(r[k].rest.ptr + block * SHA_BLOCK) + i),
                    turned);
#pragma GCC unroll 16
        for (int i = 0; i < SHA_ROUNDS; i++) {
            __m128i step = _mm_loadu_si128((const __m128i *)(const void *)(sha_k + 4 * i)), sum[2];
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                sum[k] = _mm_add_epi32(l[k].w[i % 4], step);
                l[k].cdgh = _mm_sha256rnds2_epu32(l[k].cdgh, l[k].abef, sum[k]);
            }
#pragma GCC unroll 2
            for (int k = 0; k < 2; k++) {
                l[k].abef = _mm_sha256rnds2_epu32(l[k].abef, l[k].cdgh, _mm_shuffle_epi32(sum[k], 0x0e));
                if (i < SHA_ROUNDS - 4)
                    l[k].w[i % 4] = next_words(l[k].w, i);
            }
        }
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            l[k].abef = _mm_add_epi32(l[k].abef, before[k].abef);
            l[k].cdgh = _mm_add_epi32(l[k].cdgh, before[k].cdgh);
        }
    }
    for (int k = 0; k < 2; k++) {
        store_state(&l[k], r[k].sum.h);
        r[k].sum.len += count * SHA_BLOCK;
        r[k].rest = slice_from(r[k].rest, count * SHA_BLOCK);
    }
}

bool sha_pairs(void) {
    unsigned a, b = 0, c, d;
    static int known; /* 1: no, 2: yes */
    if (!__atomic_load_n(&known, __ATOMIC_RELAXED))
        __atomic_store_n(&known, __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA ? 2 : 1,
                         __ATOMIC_RELAXED);
    return known == 2;
}
#else
static void blocks_two(struct reading r[2], size_t count) { (void)r, (void)count; }
bool sha_pairs(void) { return false; }
#endif

void sha_256_two(const struct sha_text texts[2], unsigned char ret_sums[2][SHA_BYTES]) {
    struct reading r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = (struct reading){.part = texts[i].parts, .end = texts[i].parts + texts[i].count};
        sha_begin(&r[i].sum);
    }
    while (sha_pairs()) {
        size_t first = blocks_ahead(&r[0]), second = blocks_ahead(&r[1]);
        if (!first || !second)
            break;
        blocks_two(r, first < second ? first : second);
    }
    for (int i = 0; i < 2; i++) {
        sha_add(&r[i].sum, r[i].rest);
        while (r[i].part < r[i].end)
            sha_add(&r[i].sum, *r[i].part++);
        sha_end(&r[i].sum, ret_sums[i]);
    }
}

void sha_256_hex(struct slice text, char ret_hex[SHA_HEX]) {
    unsigned char sum[SHA_BYTES];
    sha_256(&text, 1, sum);
    hex_put(sum, SHA_BYTES, ret_hex);
}

struct sha_hmac {
    struct sha_state inner, outer; /* each has read its block of the key */
};

struct sha_hmac *sha_hmac_new(struct slice key) {
    struct sha_hmac *h = mem_zalloc(sizeof(*h));
    unsigned char inner[SHA_BLOCK] = {0}, outer[SHA_BLOCK];
    if (key.len > SHA_BLOCK)
        sha_256(&key, 1, inner);
    else if (key.len)
        memcpy(inner, key.ptr, key.len);
    for (size_t i = 0; i < SHA_BLOCK; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    sha_begin(&h->inner);
    sha_add(&h->inner, slice_of((char *)inner, SHA_BLOCK));
    sha_begin(&h->outer);
    sha_add(&h->outer, slice_of((char *)outer, SHA_BLOCK));
    explicit_bzero(inner, sizeof(inner));
    explicit_bzero(outer, sizeof(outer));
    return h;
}

void sha_hmac_free(struct sha_hmac *h) {
    if (!h)
        return;
    explicit_bzero(h, sizeof(*h));
    free(h);
}

void sha_hmac_sum(const struct sha_hmac *h, const struct slice *parts, size_t count,
                  unsigned char ret_sum[SHA_BYTES]) {
    struct sha_state inner = h->inner, outer = h->outer;
    for (size_t i = 0; i < count; i++)
        sha_add(&inner, parts[i]);
    sha_end(&inner, ret_sum);
    sha_add(&outer, slice_of((char *)ret_sum, SHA_BYTES));
    sha_end(&outer, ret_sum);
}

void sha_hmac_once(struct slice key, const struct slice *parts, size_t count,
                   unsigned char ret_sum[SHA_BYTES]) {
    struct sha_hmac *h = sha_hmac_new(key);
    sha_hmac_sum(h, parts, count, ret_sum);
    sha_hmac_free(h);
}
