#include "base/slice.h"

#include <strings.h>

bool slice_eq_nocase_same_len(const char *a, const char *b, size_t len) {
    size_t i = 0;
    for (uint64_t x, y; i + sizeof(x) <= len; i += sizeof(x)) { /* most texts are equal byte for byte */
        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        if (x != y)
            break;
    }
    for (; i < len; i++) {
        unsigned char x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x == y)
            continue;
        unsigned char lx = (unsigned char)(x | 0x20);
        if (lx != (y | 0x20) || lx < 'a' || lx > 'z')
            return false;
    }
    return true;
}

bool slice_is_any(struct slice a, const char *const *words) {
    for (; *words; words++)
        if (slice_is(a, *words))
            return true;
    return false;
}

bool slice_is_any_nocase(struct slice a, const char *const *words) {
    for (; *words; words++)
        if (slice_eq_nocase(a, slice_str(*words)))
            return true;
    return false;
}

bool slice_has_nocase(struct slice a, struct slice word) {
    for (size_t i = 0; i + word.len <= a.len; i++)
        if (slice_eq_nocase(slice_of(a.ptr + i, word.len), word))
            return true;
    return false;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct slice slice_trim(struct slice a) {
    while (a.len && is_space(a.ptr[0])) {
        a.ptr++;
        a.len--;
    }
    while (a.len && is_space(a.ptr[a.len - 1]))
        a.len--;
    return a;
}

ptrdiff_t slice_find(struct slice a, char c) {
    const char *hit = a.len ? memchr(a.ptr, c, a.len) : NULL;
    return hit ? hit - a.ptr : -1;
}

bool slice_cut(struct slice *rest, char sep, struct slice *ret_head) {
    ptrdiff_t at = slice_find(*rest, sep);
    if (at < 0) {
        *ret_head = *rest;
        *rest = slice_from(*rest, rest->len);
        return false;
    }
    *ret_head = slice_upto(*rest, (size_t)at);
    *rest = slice_from(*rest, (size_t)at + 1);
    return true;
}

bool slice_to_u64(struct slice a, uint64_t *ret_value) {
    if (a.len == 0 || a.len > 20)
        return false;
    uint64_t value = 0, digit = 0;
    for (size_t i = 0; i < a.len; i++) {
        digit = (uint64_t)(unsigned char)a.ptr[i] - '0';
        if (digit > 9)
            return false;
        if (i == 19 && value > (UINT64_MAX - digit) / 10) /* 19 digits always fit */
            return false;
        value = value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

int slice_cmp(struct slice a, struct slice b) {
    size_t shared = a.len < b.len ? a.len : b.len;
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}
