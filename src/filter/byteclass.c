#include "filter/byteclass.h"

#include "base/cpu.h"
#include "filter/chars.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define HEAD_AHEAD 4 /* bytes after a block that its heads depend on */

static struct class_masks scalar_block(const char *block) {
    struct class_masks m = {0};
    for (unsigned i = 0; i < CLASS_BYTES; i++) {
        const char c = block[i];
        const uint32_t bit = UINT32_C(1) << i;
        if (ch_digit(c))
            m.digit |= bit;
        if (ch_alnum(c))
            m.alnum |= bit;
        else if (c == '@' || c == ':' || c == '=' || c == '%' || c == '~' || c == '>')
            m.punct |= bit;
        else if (c == '+' || c == '-' || c == '.' || c == '/' || c == '_')
            m.joint |= bit;
        else if (c == '&' || (uint8_t)c >= 0x80)
            m.far |= bit;
        else if (c == '\\')
            m.odd |= bit;
        if (c == '-')
            m.dash |= bit;
        if (c == 'u')
            m.u |= bit;
        if (c == '%')
            m.percent |= bit;
        if ((c | 5) == '\'')
            m.quote |= bit;
        if ((c | 8) == '(')
            m.lead |= bit;
    }
    m.joint |= m.alnum | m.punct;
    m.odd |= m.far;
    return m;
}

void pii_byteclass_scalar(const char *text, size_t blocks, struct class_masks *out) {
    for (size_t i = 0; i < blocks; i++)
        out[i] = scalar_block(text + i * CLASS_BYTES);
}

void pii_byteclass_head_add(struct class_heads *h, unsigned group, const char *name) {
    const uint8_t bit = (uint8_t)(1u << group % 8);
    for (unsigned i = 0; i < CLASS_HEAD; i++)
        for (unsigned c = 0; c < 32; c++)
            if (!ch_alpha(name[i]) || c == (unsigned)(name[i] & 31)) {
                h->letter[i][0][c & 15] |= bit;
                h->letter[i][1][c >> 4] |= bit;
            }
}

#if defined(__x86_64__)

uint64_t pii_byteclass_near(const char *text, uint64_t *ret_lines) {
    uint64_t alnum = 0, lines = 0;
    for (unsigned i = 0; i < CLASS_NEAR; i += 16) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + i));
        const __m128i d = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        const __m128i l = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
        const __m128i word = _mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d),
                                          _mm_cmpeq_epi8(_mm_min_epu8(l, _mm_set1_epi8(25)), l));
        alnum |= (uint64_t)(unsigned)_mm_movemask_epi8(word) << i;
        lines |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\n'))) << i;
    }
    *ret_lines = lines;
    return alnum;
}

/* Unsigned "c - low < span" for bytes by saturation: min(x, span-1) == x. */
static void class_sse2(const char *text, size_t blocks, struct class_masks *out) {
    for (size_t i = 0; i < 2 * blocks; i++) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
        const __m128i d = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d);
        const __m128i l = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
        const __m128i alpha = _mm_cmpeq_epi8(_mm_min_epu8(l, _mm_set1_epi8(25)), l);
        const __m128i punct = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('@')), _mm_cmpeq_epi8(x, _mm_set1_epi8(':'))),
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('=')), _mm_cmpeq_epi8(x, _mm_set1_epi8('%'))));
        const __m128i more =
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('~')), _mm_cmpeq_epi8(x, _mm_set1_epi8('>')));
        const __m128i j = _mm_sub_epi8(x, _mm_set1_epi8('+'));
        const __m128i joint =
            _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('_')),
                         _mm_andnot_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8(',')),
                                          _mm_cmpeq_epi8(_mm_min_epu8(j, _mm_set1_epi8(4)), j)));
        const __m128i far = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('&')), x);
        struct class_masks m = {
            .digit = (uint32_t)_mm_movemask_epi8(digit),
            .alnum = (uint32_t)_mm_movemask_epi8(_mm_or_si128(digit, alpha)),
            .punct = (uint32_t)_mm_movemask_epi8(_mm_or_si128(punct, more)),
            .joint = (uint32_t)_mm_movemask_epi8(joint),
            .dash = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('-'))),
            .odd = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\'))),
            .far = (uint32_t)_mm_movemask_epi8(far),
            .u = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('u'))),
            .percent = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('%'))),
            .quote = (uint32_t)_mm_movemask_epi8(
                _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(5)), _mm_set1_epi8('\''))),
            .lead = (uint32_t)_mm_movemask_epi8(
                _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(8)), _mm_set1_epi8('('))),
        };
        m.joint |= m.alnum | m.punct;
        m.odd |= m.far;
        struct class_masks *const to = &out[i / 2];
        if (i % 2 == 0) {
            *to = m;
            continue;
        }
        to->digit |= m.digit << 16;
        to->alnum |= m.alnum << 16;
        to->punct |= m.punct << 16;
        to->joint |= m.joint << 16;
        to->dash |= m.dash << 16;
        to->odd |= m.odd << 16;
        to->far |= m.far << 16;
        to->u |= m.u << 16;
        to->percent |= m.percent << 16;
        to->quote |= m.quote << 16;
        to->lead |= m.lead << 16;
    }
}

/* Classes by the two halves of a byte: a byte is of class b when both tables have the bit b for it. */
enum {
    HALF_DIGIT = 1,
    HALF_AO = 2,
    HALF_PZ = 4,
    HALF_SIGN = 8,
    HALF_JOIN = 16,
    HALF_LINE = 32,
    HALF_TILDE = 64
};
#define HALF_AT ((char)0x80)
#define HALF_PUNCT (HALF_SIGN | HALF_TILDE | HALF_AT)

__attribute__((target("avx2"))) static void class_avx2(const char *text, size_t blocks,
                                                       struct class_masks *out) {
    const __m256i low = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        HALF_DIGIT | HALF_PZ | HALF_AT, HALF_DIGIT | HALF_AO | HALF_PZ, HALF_DIGIT | HALF_AO | HALF_PZ,
        HALF_DIGIT | HALF_AO | HALF_PZ, HALF_DIGIT | HALF_AO | HALF_PZ, HALF_DIGIT | HALF_AO | HALF_PZ,
        HALF_DIGIT | HALF_AO | HALF_PZ, HALF_DIGIT | HALF_AO | HALF_PZ, HALF_DIGIT | HALF_AO | HALF_PZ,
        HALF_DIGIT | HALF_AO | HALF_PZ, HALF_AO | HALF_PZ | HALF_SIGN, HALF_AO | HALF_JOIN, HALF_AO,
        HALF_AO | HALF_SIGN | HALF_JOIN, HALF_AO | HALF_SIGN | HALF_JOIN | HALF_TILDE,
        HALF_AO | HALF_JOIN | HALF_LINE));
    const __m256i high = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, HALF_JOIN, HALF_DIGIT | HALF_SIGN, HALF_AO | HALF_AT, HALF_PZ | HALF_LINE,
                      HALF_AO, HALF_PZ | HALF_TILDE, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i none = _mm256_setzero_si256();
    for (size_t i = 0; i < blocks; i++) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(text + CLASS_BYTES * i));
        const __m256i top = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
        const __m256i half = _mm256_and_si256(_mm256_shuffle_epi8(low, x), _mm256_shuffle_epi8(high, top));
        const __m256i percent = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('%'));
        const __m256i word = _mm256_and_si256(half, _mm256_set1_epi8(HALF_DIGIT | HALF_AO | HALF_PZ));
        const __m256i punct = _mm256_or_si256(_mm256_and_si256(half, _mm256_set1_epi8(HALF_PUNCT)), percent);
        const __m256i dash = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('-'));
        const __m256i slash = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('\\'));
        const __m256i far = _mm256_or_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('&')), x);
        const __m256i u = _mm256_cmpeq_epi8(x, _mm256_set1_epi8('u'));
        out[i].digit = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(half, 7));
        out[i].alnum = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(word, none));
        out[i].punct = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(punct, none));
        out[i].joint =
            ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(half, percent), none));
        out[i].dash = (uint32_t)_mm256_movemask_epi8(dash);
        out[i].odd = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(slash, far));
        out[i].far = (uint32_t)_mm256_movemask_epi8(far);
        out[i].u = (uint32_t)_mm256_movemask_epi8(u);
        out[i].percent = (uint32_t)_mm256_movemask_epi8(percent);
        const __m256i quote =
            _mm256_cmpeq_epi8(_mm256_or_si256(x, _mm256_set1_epi8(5)), _mm256_set1_epi8('\''));
        const __m256i lead =
            _mm256_cmpeq_epi8(_mm256_or_si256(x, _mm256_set1_epi8(8)), _mm256_set1_epi8('('));
        out[i].quote = (uint32_t)_mm256_movemask_epi8(quote);
        out[i].lead = (uint32_t)_mm256_movemask_epi8(lead);
    }
}

static inline __attribute__((target("avx2"))) __m256i group_of(__m256i x, const uint8_t table[2][16]) {
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table[0]));
    const __m256i high =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table[1]));
    const __m256i top = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(1));
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(x, _mm256_set1_epi8(15))),
                            _mm256_shuffle_epi8(high, top));
}

/* An address starts with 24, 25 or 20; a day with 5, 6 or 7, and a dash follows its year. */
static inline __attribute__((target("avx2"))) uint32_t numbers_avx2(const char *p) {
    const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i next = _mm256_loadu_si256((const __m256i *)(const void *)(p + 1));
    const __m256i fifth = _mm256_loadu_si256((const __m256i *)(const void *)(p + HEAD_AHEAD));
    const __m256i four_five =
        _mm256_cmpeq_epi8(_mm256_or_si256(next, _mm256_set1_epi8(1)), _mm256_set1_epi8('5'));
    const __m256i second = _mm256_or_si256(four_five, _mm256_cmpeq_epi8(next, _mm256_set1_epi8('0')));
    const __m256i year = _mm256_sub_epi8(x, _mm256_set1_epi8('5'));
    const __m256i address = _mm256_and_si256(_mm256_cmpeq_epi8(x, _mm256_set1_epi8('2')), second);
    const __m256i day = _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(year, _mm256_set1_epi8(2)), year),
                                         _mm256_cmpeq_epi8(fifth, _mm256_set1_epi8('-')));
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(address, day));
}

__attribute__((target("avx2"))) static void heads_avx2(const struct class_heads *h, const char *text,
                                                       size_t blocks, struct class_masks *out) {
    for (size_t i = 0; i < blocks; i++) {
        const char *p = text + CLASS_BYTES * i;
        __m256i fit = _mm256_set1_epi8(-1);
        for (int k = 0; k < CLASS_HEAD; k++)
            fit = _mm256_and_si256(
                fit, group_of(_mm256_loadu_si256((const __m256i *)(const void *)(p + k)), h->letter[k]));
        const __m256i none = _mm256_cmpeq_epi8(fit, _mm256_setzero_si256());
        out[i].head = (~(uint32_t)_mm256_movemask_epi8(none) & ~out[i].digit) | numbers_avx2(p);
    }
}

void pii_byteclass_heads(const struct class_heads *h, const char *text, const char *end, size_t blocks,
                         struct class_masks *out) {
    const size_t left = (size_t)(end - text);
    const size_t most = cpu_avx2 && left > HEAD_AHEAD ? (left - HEAD_AHEAD) / CLASS_BYTES : 0;
    const size_t done = blocks < most ? blocks : most;
    heads_avx2(h, text, done, out);
    for (size_t i = done; i < blocks; i++)
        out[i].head = ~UINT32_C(0);
}

class_fn *pii_byteclass_best(void) { return cpu_avx2 ? class_avx2 : class_sse2; }
class_fn *pii_byteclass_common(void) { return class_sse2; }

#else

uint64_t pii_byteclass_near(const char *text, uint64_t *ret_lines) {
    uint64_t alnum = 0;
    *ret_lines = 0;
    for (unsigned i = 0; i < CLASS_NEAR; i++) {
        alnum |= (uint64_t)ch_alnum(text[i]) << i;
        *ret_lines |= (uint64_t)(text[i] == '\n') << i;
    }
    return alnum;
}

void pii_byteclass_heads(const struct class_heads *h, const char *text, const char *end, size_t blocks,
                         struct class_masks *out) {
    (void)h, (void)text, (void)end;
    for (size_t i = 0; i < blocks; i++)
        out[i].head = ~UINT32_C(0);
}

class_fn *pii_byteclass_best(void) { return pii_byteclass_scalar; }
class_fn *pii_byteclass_common(void) { return pii_byteclass_scalar; }

#endif
