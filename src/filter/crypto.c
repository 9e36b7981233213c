/* Addresses of crypto currencies, distinguished from other long words by their checksums. */
#include "base/mem.h"
#include "base/sha.h"
#include "filter/detect.h"

#define BECH32_MAX 90

static const char base58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
static const char ripple58[] = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz";

/* 25 bytes of version, hash and check: false for anything else. The version is checked first, because it
 * needs no digest. */
static bool base58_check(const char *text, size_t len, const char *alphabet, const char *versions) {
    uint32_t words[7] = {0}; /* the number, its lowest part first */
    uint8_t out[25], first[SHA_BYTES], second[SHA_BYTES];
    for (size_t i = 0; i < len; i++) {
        const char *at = memchr(alphabet, text[i], 58);
        if (!at)
            return false;
        uint64_t carry = (uint64_t)(at - alphabet);
        for (size_t k = 0; k < ARRAY_LEN(words); k++) {
            carry += UINT64_C(58) * words[k];
            words[k] = (uint32_t)carry;
            carry >>= 32;
        }
        if (words[6] >> 8)
            return false;
    }
    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (uint8_t)(words[(24 - i) / 4] >> (24 - i) % 4 * 8);
    if (!memchr(versions, out[0], 2))
        return false;
    sha_256(&(struct slice){(const char *)out, 21}, 1, first);
    sha_256(&(struct slice){(const char *)first, SHA_BYTES}, 1, second);
    return memcmp(second, out + 21, 4) == 0;
}

static bool bech32_check(const char *text, size_t len, size_t hrp) {
    static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    static const uint32_t gen[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    uint8_t v[BECH32_MAX * 2];
    size_t n = 0;
    for (size_t i = 0; i < hrp; i++)
        v[n++] = (uint8_t)(ch_lower(text[i]) >> 5);
    v[n++] = 0;
    for (size_t i = 0; i < hrp; i++)
        v[n++] = (uint8_t)(ch_lower(text[i]) & 31);
    for (size_t i = hrp + 1; i < len; i++) {
        const char *at = memchr(alphabet, ch_lower(text[i]), 32);
        if (!at)
            return false;
        v[n++] = (uint8_t)(at - alphabet);
    }
    uint32_t c = 1;
    for (size_t i = 0; i < n; i++) {
        const uint32_t top = c >> 25;
        c = (c & 0x1ffffff) << 5 ^ v[i];
        for (int k = 0; k < 5; k++)
            c ^= (top >> k & 1) ? gen[k] : 0;
    }
    return c == 1 || c == 0x2bc830a3;
}

static const char *crypto_sub(struct slice w) {
    if (w.len == 42 && w.ptr[0] == '0' && (w.ptr[1] | 32) == 'x') {
        for (size_t i = 2; i < 42; i++)
            if (!ch_hex(w.ptr[i]))
                return NULL;
        return "ethereum";
    }
    if (w.len >= 42 && w.len <= BECH32_MAX) {
        if (slice_eq_nocase(slice_upto(w, 3), SLICE("bc1")) && bech32_check(w.ptr, w.len, 2))
            return "bitcoin-segwit";
        if (slice_eq_nocase(slice_upto(w, 4), SLICE("ltc1")) && bech32_check(w.ptr, w.len, 3))
            return "litecoin-segwit";
    }
    if (w.len < 25 || w.len > 35 || memchr(w.ptr, '0', w.len)) /* most digests have a zero */
        return NULL;
    switch (w.ptr[0]) {
    case '1':
    case '3':
        return base58_check(w.ptr, w.len, base58, "\x00\x05") ? "bitcoin" : NULL;
    case 'L':
    case 'M':
        return base58_check(w.ptr, w.len, base58, "\x30\x32") ? "litecoin" : NULL;
    case 'D':
        return base58_check(w.ptr, w.len, base58, "\x1e\x16") ? "dogecoin" : NULL;
    case 'T':
        return base58_check(w.ptr, w.len, base58, "\x41\x41") ? "tron" : NULL;
    case 'r':
        return base58_check(w.ptr, w.len, ripple58, "\x00\x00") ? "ripple" : NULL;
    default:
        return NULL;
    }
}

bool pii_crypto_read(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (!detect_wants(d, PII_CRYPTO) || !pii_detect_starts(d, at))
        return false;
    uint32_t i = at;
    while (i < d->n && i - at <= BECH32_MAX && ch_alnum(d->p[i]))
        i++;
    if (detect_at(d, i) == '_' || detect_before(d, at) == '_')
        return false;
    const char *sub = crypto_sub(slice_of(d->p + at, i - at));
    if (!sub)
        return false;
    unsigned score = 95;
    if (sub[0] == 'e') { /* 0x with forty hex digits has no checksum in common use */
        const struct hints h = pii_context_of(d, at, i);
        score = (h.label | h.near) & HINT_WALLET ? 90 : 60;
    }
    pii_detect_add(d, at, i, PII_CRYPTO, score, sub);
    *ret_end = i;
    return true;
}
