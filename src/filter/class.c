#include "filter/class.h"

#include "filter/chars.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

void pii_class_scalar(const char *block, struct class_masks *out) {
    struct class_masks m = {0};
    for (unsigned i = 0; i < 64; i++) {
        const char c = block[i];
        const uint64_t bit = UINT64_C(1) << i;
        if (ch_digit(c))
            m.digit |= bit;
        if (ch_alnum(c))
            m.alnum |= bit;
        else if (c == '@' || c == ':' || c == '=' || c == '%' || c == '~' || c == '>')
            m.punct |= bit;
        else if (c == '\\' || c == '&' || (uint8_t)c >= 0x80)
            m.odd |= bit;
    }
    *out = m;
}

#if defined(__x86_64__)

/* Unsigned "c - low < span" for bytes by saturation: min(x, span-1) == x. */
static void class_sse2(const char *block, struct class_masks *out) {
    struct class_masks m = {0};
    for (unsigned k = 0; k < 4; k++) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * k));
        const __m128i d = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d);
        const __m128i l = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
        const __m128i alpha = _mm_cmpeq_epi8(_mm_min_epu8(l, _mm_set1_epi8(25)), l);
        const __m128i punct = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('@')), _mm_cmpeq_epi8(x, _mm_set1_epi8(':'))),
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('=')), _mm_cmpeq_epi8(x, _mm_set1_epi8('%'))));
        const __m128i more =
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('~')), _mm_cmpeq_epi8(x, _mm_set1_epi8('>')));
        const __m128i odd =
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')), _mm_cmpeq_epi8(x, _mm_set1_epi8('&')));
        m.digit |= (uint64_t)(uint32_t)_mm_movemask_epi8(digit) << (16 * k);
        m.alnum |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(digit, alpha)) << (16 * k);
        m.punct |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_or_si128(punct, more)) << (16 * k);
        m.odd |= (uint64_t)(uint32_t)(_mm_movemask_epi8(odd) | _mm_movemask_epi8(x)) << (16 * k);
    }
    *out = m;
}

__attribute__((target("avx2"))) static void class_avx2(const char *block, struct class_masks *out) {
    struct class_masks m = {0};
    for (unsigned k = 0; k < 2; k++) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32 * k));
        const __m256i d = _mm256_sub_epi8(x, _mm256_set1_epi8('0'));
        const __m256i digit = _mm256_cmpeq_epi8(_mm256_min_epu8(d, _mm256_set1_epi8(9)), d);
        const __m256i l = _mm256_sub_epi8(_mm256_or_si256(x, _mm256_set1_epi8(32)), _mm256_set1_epi8('a'));
        const __m256i alpha = _mm256_cmpeq_epi8(_mm256_min_epu8(l, _mm256_set1_epi8(25)), l);
        const __m256i punct = _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('@')),
                                                              _mm256_cmpeq_epi8(x, _mm256_set1_epi8(':'))),
                                              _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('=')),
                                                              _mm256_cmpeq_epi8(x, _mm256_set1_epi8('%'))));
        const __m256i more = _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('~')),
                                             _mm256_cmpeq_epi8(x, _mm256_set1_epi8('>')));
        const __m256i odd = _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\')),
                                            _mm256_cmpeq_epi8(x, _mm256_set1_epi8('&')));
        m.digit |= (uint64_t)(uint32_t)_mm256_movemask_epi8(digit) << (32 * k);
        m.alnum |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_or_si256(digit, alpha)) << (32 * k);
        m.punct |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_or_si256(punct, more)) << (32 * k);
        m.odd |= (uint64_t)((uint32_t)_mm256_movemask_epi8(odd) | (uint32_t)_mm256_movemask_epi8(x))
                 << (32 * k);
    }
    *out = m;
}

class_fn *pii_class_best(void) { return __builtin_cpu_supports("avx2") ? class_avx2 : class_sse2; }

#else

class_fn *pii_class_best(void) { return pii_class_scalar; }

#endif
