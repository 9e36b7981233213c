#include "wire/base64.h"

static const char *const alphabets[] = {
    [BASE64_PADDED] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

bool base64_put(struct buf *out, struct slice bytes, enum base64_kind kind) {
    const char *digits = alphabets[kind];
    const unsigned char *in = (const unsigned char *)bytes.ptr;
    if (!bytes.len)
        return !out->full;
    char *at = buf_reserve(out, (bytes.len + 2) / 3 * 4);
    if (!at)
        return false;
    size_t i = 0;
    for (; i + 3 <= bytes.len; i += 3) {
        uint32_t bits = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        *at++ = digits[bits >> 6 & 63];
        *at++ = digits[bits & 63];
    }
    size_t left = bytes.len - i;
    if (left) {
        uint32_t bits = (uint32_t)in[i] << 16 | (left == 2 ? (uint32_t)in[i + 1] << 8 : 0);
        *at++ = digits[bits >> 18];
        *at++ = digits[bits >> 12 & 63];
        if (left == 2)
            *at++ = digits[bits >> 6 & 63];
        for (; kind == BASE64_PADDED && left < 3; left++)
            *at++ = '=';
    }
    out->len = (size_t)(at - out->ptr);
    return true;
}

static int digit_of(char c, enum base64_kind kind) {
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == alphabets[kind][62] ? 62 : c == alphabets[kind][63] ? 63 : -1;
}

bool base64_get(struct slice text, enum base64_kind kind, struct arena *a, struct slice *ret_bytes) {
    if (kind == BASE64_PADDED) {
        if (text.len % 4)
            return false;
        for (int i = 0; i < 2 && text.len && text.ptr[text.len - 1] == '='; i++)
            text.len--;
    }
    if (text.len % 4 == 1)
        return false;
    char *out = arena_alloc(a, text.len / 4 * 3 + 3);
    size_t len = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = digit_of(text.ptr[i], kind);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[len++] = (char)(bits >> have);
        }
    }
    *ret_bytes = slice_of(out, len);
    return (bits & ((1u << have) - 1)) == 0;
}
