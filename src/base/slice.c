#include "base/slice.h"

#include "base/cpu.h"

#include <strings.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define SEARCH_WIDE 32     /* places that are looked at together */
#define SEARCH_WORD_MAX 64 /* longer words are left to memmem, whose time does not grow with their length */

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

#ifdef __SSE2__
/* Looks at 32 places at a time for the first and the last byte of the word. *ret_rest is what is left when
 * there are fewer places. */
__attribute__((target("avx2"))) static const char *search_wide(struct slice a, struct slice word,
                                                               struct slice *ret_rest) {
    const __m256i first = _mm256_set1_epi8(word.ptr[0]), last = _mm256_set1_epi8(word.ptr[word.len - 1]);
    const char *at = a.ptr, *end = a.ptr + a.len - (word.len - 1);
    for (; end - at >= SEARCH_WIDE; at += SEARCH_WIDE) {
        const __m256i heads = _mm256_loadu_si256((const __m256i *)(const void *)at);
        const __m256i tails = _mm256_loadu_si256((const __m256i *)(const void *)(at + word.len - 1));
        uint32_t places = (uint32_t)_mm256_movemask_epi8(
            _mm256_and_si256(_mm256_cmpeq_epi8(heads, first), _mm256_cmpeq_epi8(tails, last)));
        for (; places; places &= places - 1)
            if (memcmp(at + __builtin_ctz(places), word.ptr, word.len) == 0)
                return at + __builtin_ctz(places);
    }
    *ret_rest = slice_of(at, a.len - (size_t)(at - a.ptr));
    return NULL;
}
#endif

const char *slice_search(struct slice a, struct slice word) {
    if (a.len < word.len)
        return NULL;
#ifdef __SSE2__
    if (cpu_avx2 && word.len <= SEARCH_WORD_MAX && a.len >= SEARCH_WIDE + word.len) {
        const char *found = search_wide(a, word, &a);
        if (found)
            return found;
    }
#endif
    return memmem(a.ptr, a.len, word.ptr, word.len);
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
