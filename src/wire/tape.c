#include "wire/tape.h"

#include "base/cpu.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define TAPE_NODES_MIN 64
#define TAPE_NODES_KEEP 4096
#define TAPE_PAIRWISE_MAX 8 /* members up to which comparing all pairs beats hashing */

struct reader {
    struct tape *t;
    const unsigned char *base;
    const unsigned char *end;
    const unsigned char *bad; /* where reading stopped, and why */
    enum tape_fault fault;
};

void tape_init(struct tape *t) { *t = (struct tape){0}; }

void tape_free(struct tape *t) {
    free(t->nodes);
    free(t->scratch);
    tape_init(t);
}

void tape_trim(struct tape *t) {
    if (t->cap > TAPE_NODES_KEEP || t->scratch_cap > TAPE_NODES_KEEP)
        tape_free(t);
}

const char *tape_fault_text(enum tape_fault fault) {
    static const char *const texts[] = {
        [TAPE_OK] = "fine",
        [TAPE_SYNTAX] = "not valid JSON",
        [TAPE_TRUNCATED] = "JSON text ends too early",
        [TAPE_UTF8] = "invalid UTF-8",
        [TAPE_SURROGATE] = "lone surrogate in a string",
        [TAPE_DEPTH] = "nested too deeply",
        [TAPE_DUPLICATE] = "duplicate key in an object",
        [TAPE_TOO_LARGE] = "too large",
    };
    return texts[fault];
}

/* ---- reading ----
 *
 * A reader takes the position where it starts and returns the position after what it read, or NULL when the
 * text is not valid JSON. */

static const unsigned char *reader_fail(struct reader *r, const unsigned char *at, enum tape_fault fault) {
    r->bad = at;
    r->fault = fault;
    return NULL;
}

/* Reports an unexpected byte; text that ends too early is reported as truncated. */
static const unsigned char *reader_unexpected(struct reader *r, const unsigned char *at) {
    return reader_fail(r, at, at == r->end ? TAPE_TRUNCATED : TAPE_SYNTAX);
}

static inline const unsigned char *skip_space(struct reader *r, const unsigned char *at,
                                              const unsigned char *end) {
    if (at<end && * at> ' ')
        return at;
    for (; at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'); at++)
        r->t->has_breaks |= *at == '\n' || *at == '\r';
    return at;
}

static bool tape_grow(struct tape *t) {
    if (t->cap >= TAPE_NODES_MAX)
        return false;
    t->cap = t->cap ? t->cap * 2 : TAPE_NODES_MIN;
    t->nodes = mem_realloc(t->nodes, t->cap * sizeof(*t->nodes));
    return true;
}

static inline struct tape_node *tape_push(struct reader *r, enum tape_type type, const unsigned char *start) {
    struct tape *t = r->t;
    if (t->count == t->cap && !tape_grow(t)) {
        reader_fail(r, start, TAPE_TOO_LARGE);
        return NULL;
    }
    struct tape_node *n = &t->nodes[t->count++];
    *n = (struct tape_node){.start = (uint32_t)(start - r->base), .next = t->count, .type = type};
    return n;
}

/* Length of the well-formed UTF-8 sequence at p, or 0. */
static size_t utf8_len(const unsigned char *p, const unsigned char *end) {
    unsigned c = p[0];
    size_t left = (size_t)(end - p);
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return left >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((c & 0xf0) == 0xe0) {
        if (left < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
            return 0;
        if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f))
            return 0;
        return 3;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        if (left < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[3] & 0xc0) != 0x80)
            return 0;
        if ((c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}

bool tape_utf8_valid(struct slice s) {
    if (s.len == 0)
        return true;
    const unsigned char *p = (const unsigned char *)s.ptr, *end = p + s.len;
    while (p < end) {
        size_t step = utf8_len(p, end);
        if (!step)
            return false;
        p += step;
    }
    return true;
}

/* The four digits of \uXXXX, or -1. */
static int hex4(const unsigned char *p, const unsigned char *end) {
    if (end - p < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value((char)p[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* `at` points to the backslash of an escape that is not a short one. */
static const unsigned char *read_escape(struct reader *r, const unsigned char *at) {
    const unsigned char *end = r->end;
    if (end - at < 2)
        return reader_fail(r, at, TAPE_TRUNCATED);
    if (at[1] == '/')
        return at + 2;
    if (at[1] != 'u')
        return reader_fail(r, at, TAPE_SYNTAX);
    int unit = hex4(at + 2, end);
    if (unit < 0)
        return reader_fail(r, at, end - at < 6 ? TAPE_TRUNCATED : TAPE_SYNTAX);
    if (unit == 0)
        r->t->has_nul = true;
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return reader_fail(r, at, TAPE_SURROGATE);
    at += 6;
    if (unit < 0xd800 || unit > 0xdbff)
        return at;
    if (at == end || (at[0] == '\\' && end - at < 2))
        return reader_fail(r, at, TAPE_TRUNCATED);
    if (at[0] != '\\' || at[1] != 'u')
        return reader_fail(r, at, TAPE_SURROGATE);
    int low = hex4(at + 2, end);
    if (low < 0xdc00 || low > 0xdfff)
        return reader_fail(r, at, low < 0 && end - at < 6 ? TAPE_TRUNCATED : TAPE_SURROGATE);
    return at + 6;
}

/* The character of a short escape; 0 when its canonical spelling differs, or it is not a short escape. */
static const char short_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

static inline bool is_plain(unsigned char c) { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\'; }

#ifdef __SSE2__
/* Bit mask of the bytes that are not plain. */
static inline unsigned odd_of(__m128i v) {
    __m128i mark =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(mark, control), v)); /* v: bytes >= 0x80 */
}

static inline unsigned odd_bytes(const unsigned char *p) { /* of 16 */
    return odd_of(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* The same for 64 bytes. */
__attribute__((target("avx2"))) static inline uint64_t odd_bytes_wide(const unsigned char *p) {
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\'),
                  control = _mm256_set1_epi8(0x1f);
    uint64_t odd = 0;
    for (int half = 0; half < 2; half++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * half));
        __m256i mark = _mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, slash));
        __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v);
        __m256i any = _mm256_or_si256(_mm256_or_si256(mark, low), v);
        odd |= (uint64_t)(uint32_t)_mm256_movemask_epi8(any) << (32 * half);
    }
    return odd;
}

/* Stops at the first byte that is not plain, or when less than 64 bytes are left. */
__attribute__((target("avx2"))) static const unsigned char *skip_plain_wide(const unsigned char *p,
                                                                            const unsigned char *end) {
    for (; end - p >= 64; p += 64) {
        uint64_t odd = odd_bytes_wide(p);
        if (odd)
            return p + __builtin_ctzll(odd);
    }
    return p;
}

/* Which of 32 bytes are beyond ASCII. */
__attribute__((target("avx2"))) static inline uint32_t high_bytes(const unsigned char *p) {
    return (uint32_t)_mm256_movemask_epi8(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

/* Whether 32 bytes continue the UTF-8 text before them. Each pair of adjacent bytes is looked up by three of
 * its nibbles; a fault that all three report is an error (Keiser and Lemire, Validating UTF-8 in less than
 * one instruction per byte). A sequence that is cut off at the end is checked with the next 32 bytes. */
__attribute__((target("avx2"))) static inline bool is_utf8_wide(const unsigned char *p) {
    enum {
        SHORT = 1,      /* a lead byte without its continuation */
        LONG = 2,       /* a continuation byte without a lead byte */
        OVER3 = 4,      /* an overlong sequence */
        LARGE = 8,      /* beyond U+10FFFF */
        SURROGATE = 16, /* U+D800 to U+DFFF */
        OVER2 = 32,
        OVER4 = 64, /* and beyond U+13FFFF */
        TWO = -128, /* two continuation bytes: valid only after a lead byte of three or four */
        ANY = SHORT | LONG | TWO,
        TOP = ANY | LARGE | OVER4,
        CONT = LONG | OVER2 | TWO,
    };
    const __m256i before_high = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, TWO, TWO, TWO, TWO, SHORT | OVER2,
                      SHORT, SHORT | OVER3 | SURROGATE, SHORT | LARGE | OVER4));
    const __m256i before_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(ANY | OVER3 | OVER2 | OVER4, ANY | OVER2, ANY, ANY, ANY | LARGE, TOP, TOP, TOP, TOP,
                      TOP, TOP, TOP, TOP, TOP | SURROGATE, TOP, TOP));
    const __m256i here_high = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, CONT | OVER3 | OVER4, CONT | OVER3 | LARGE,
        CONT | SURROGATE | LARGE, CONT | SURROGATE | LARGE, SHORT, SHORT, SHORT, SHORT));
    const __m256i half = _mm256_set1_epi8(15);
    __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i one = _mm256_loadu_si256((const __m256i *)(const void *)(p - 1));
    __m256i two = _mm256_loadu_si256((const __m256i *)(const void *)(p - 2));
    __m256i three = _mm256_loadu_si256((const __m256i *)(const void *)(p - 3));
    __m256i fault =
        _mm256_and_si256(_mm256_shuffle_epi8(before_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), half)),
                         _mm256_shuffle_epi8(before_low, _mm256_and_si256(one, half)));
    fault = _mm256_and_si256(
        fault, _mm256_shuffle_epi8(here_high, _mm256_and_si256(_mm256_srli_epi16(here, 4), half)));
    /* After a lead byte of three or four bytes, two continuation bytes are required. */
    __m256i asked = _mm256_or_si256(_mm256_subs_epu8(two, _mm256_set1_epi8(0xe0 - 0x80)),
                                    _mm256_subs_epu8(three, _mm256_set1_epi8(0xf0 - 0x80)));
    fault = _mm256_xor_si256(fault, _mm256_and_si256(asked, _mm256_set1_epi8(TWO)));
    return _mm256_testz_si256(fault, fault);
}

/* Checks 64 bytes that contain non-ASCII characters. A separate function, so that ASCII text does not pay
 * for it. */
__attribute__((target("avx2"), noinline)) static bool read_high_wide(const unsigned char *p,
                                                                     uint64_t *ret_high) {
    *ret_high = high_bytes(p) | (uint64_t)high_bytes(p + 32) << 32;
    return is_utf8_wide(p) && is_utf8_wide(p + 32);
}

/* The start of a character that p would split, else p. */
static const unsigned char *utf8_cut(const unsigned char *p) {
    static const unsigned char leads[] = {0, 0xc0, 0xe0,
                                          0xf0}; /* lead bytes of sequences longer than the index */
    for (int len = 1; len <= 3 && p[-len] >= 0x80; len++)
        if (p[-len] >= 0xc0)
            return p[-len] >= leads[len] ? p - len : p;
    return p;
}

/* Masks of 32 bytes: backslashes, and characters of short escapes (short_escapes). */
__attribute__((target("avx2"))) static inline uint32_t find_escapes(const unsigned char *p,
                                                                    uint32_t *ret_short) {
    enum { SLASH = -128, QUOTE = 1, BFN = 2, RT = 4 }; /* their upper halves are 5, 2, 6 and 7 */
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, QUOTE | BFN | RT, 0, RT, 0, BFN, 0, 0, 0, 0, 0, SLASH, 0, BFN, 0));
    const __m256i by_high =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, QUOTE, 0, 0, SLASH, BFN, RT, 0, 0, 0, 0, 0, 0, 0, 0));
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
    __m256i is = _mm256_and_si256(_mm256_shuffle_epi8(by_low, v), _mm256_shuffle_epi8(by_high, high));
    __m256i none = _mm256_cmpeq_epi8(is, _mm256_setzero_si256());
    *ret_short = ~(uint32_t)_mm256_movemask_epi8(none);
    return (uint32_t)_mm256_movemask_epi8(is);
}

/* Of backslashes, those that begin an escape: the first, third, ... of each run. The subtraction borrows
 * through a run, which turns every other bit of it. */
static inline uint64_t escapes_of(uint64_t slashes) {
    const uint64_t odd = 0xaaaaaaaaaaaaaaaa;
    return ((((slashes << 1) | odd) - slashes) ^ odd) & slashes;
}

/* Text of many lines has a short escape at the end of each, and many languages use non-ASCII characters:
 * this skips both, and reports whether there were escapes. At least three bytes precede p. */
__attribute__((target("avx2"))) static const unsigned char *
skip_lines_wide(const unsigned char *p, const unsigned char *end, bool *ret_escaped) {
    uint64_t carried = 0, seen = 0; /* carried: the first byte follows the backslash of an escape */
    uint64_t cut = 0;               /* a character may be split at p */
    for (; end - p >= 64; p += 64) {
        uint64_t odd = odd_bytes_wide(p);
        if (!(odd | carried | cut))
            continue;
        uint32_t low, upper;
        uint64_t slashes = find_escapes(p, &low) | (uint64_t)find_escapes(p + 32, &upper) << 32;
        uint64_t escapes = escapes_of(slashes & ~carried), behind = escapes << 1 | carried;
        uint64_t wrong = (odd & ~(escapes | behind)) | (behind & ~(low | (uint64_t)upper << 32));
        if (wrong | cut) {
            uint64_t high;
            if (!read_high_wide(p, &high))
                break; /* the byte-wise reader finds the position */
            cut = high >> 61;
            wrong &= ~high | behind;
        }
        if (wrong) {
            int at = __builtin_ctzll(wrong);
            *ret_escaped |= (seen | (behind & ((wrong & -wrong) - 1))) != 0;
            return p + at - (behind >> at & 1);
        }
        seen |= behind;
        carried = escapes >> 63;
    }
    *ret_escaped |= seen != 0;
    return utf8_cut(p) - carried;
}
#endif

static const unsigned char *skip_plain_near(const unsigned char *p, const unsigned char *end) {
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        unsigned odd = odd_bytes(p);
        if (odd)
            return p + __builtin_ctz(odd);
    }
    if (end - p >= 8) {
        unsigned odd = odd_of(_mm_loadl_epi64((const __m128i *)(const void *)p)) & 0xff;
        if (odd)
            return p + __builtin_ctz(odd);
        p += 8;
    }
#endif
    while (p < end && is_plain(*p))
        p++;
    return p;
}

/* Up to the first byte that is not plain. */
const unsigned char *tape_skip_plain(const unsigned char *p, const unsigned char *end) {
#ifdef __SSE2__
    if (end - p >= 64 && cpu_avx2)
        p = skip_plain_wide(p, end);
#endif
    return skip_plain_near(p, end);
}

static const unsigned char *skip_lines(const unsigned char *p, const unsigned char *end, bool *ret_escaped) {
#ifdef __SSE2__
    if (end - p >= 64 && cpu_avx2)
        p = skip_lines_wide(p, end, ret_escaped);
#else
    (void)ret_escaped;
#endif
    return skip_plain_near(p, end);
}

/* Skips the plain bytes of a string. Most strings are short. */
static inline const unsigned char *skip_inside(const unsigned char *p, const unsigned char *end,
                                               bool *ret_escaped) {
#ifdef __SSE2__
    for (int turns = 0; turns < 2 && end - p >= 16; turns++, p += 16) {
        unsigned odd = odd_bytes(p);
        if (odd)
            return p + __builtin_ctz(odd);
    }
#endif
    return skip_lines(p, end, ret_escaped);
}

/* `at` points to a byte that is neither plain nor a short escape. */
static const unsigned char *read_odd(struct reader *r, const unsigned char *at) {
    if (*at == '\\')
        return read_escape(r, at);
    if (*at < 0x20)
        return reader_fail(r, at, TAPE_SYNTAX);
    size_t step = utf8_len(at, r->end);
    return step ? at + step : reader_fail(r, at, TAPE_UTF8);
}

/* `at` points behind the opening quote. */
static const unsigned char *read_string(struct reader *r, const unsigned char *at) {
    struct tape_node *n = tape_push(r, TAPE_STRING, at);
    if (!n)
        return NULL;
    const unsigned char *start = at, *end = r->end;
    bool escaped = false;
    for (;;) {
        at = skip_inside(at, end, &escaped);
        if (at == end)
            return reader_fail(r, at, TAPE_TRUNCATED);
        if (*at == '"')
            break;
        if (*at == '\\') {
            escaped = true;
            if (end - at >= 2 && short_escapes[at[1]]) {
                at += 2;
                continue;
            }
            n->flags = TAPE_RESPELT;
        }
        bool beyond = *at >= 0x80;
        at = read_odd(r, at);
        if (!at)
            return NULL;
        if (beyond) /* the next character is likely non-ASCII, too */
            at = skip_lines(at, end, &escaped);
    }
    if (escaped)
        n->flags |= TAPE_ESCAPED;
    n->len = (uint32_t)(at - start);
    return at + 1;
}

static const unsigned char *read_digits(struct reader *r, const unsigned char *at) {
    const unsigned char *start = at;
    while (at < r->end && *at >= '0' && *at <= '9')
        at++;
    return at > start ? at : reader_unexpected(r, at);
}

/* An optional fraction and exponent. */
static const unsigned char *read_fraction(struct reader *r, const unsigned char *at) {
    const unsigned char *end = r->end;
    if (*at == '.')
        at = read_digits(r, at + 1);
    if (at && at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        at = read_digits(r, at);
    }
    return at;
}

static const unsigned char *read_number(struct reader *r, const unsigned char *at) {
    struct tape_node *n = tape_push(r, TAPE_NUMBER, at);
    if (!n)
        return NULL;
    const unsigned char *start = at, *end = r->end;
    if (*at == '-')
        at++;
    at = at < end && *at == '0' ? at + 1 : read_digits(r, at);
    if (at && at < end && (*at == '.' || (*at | 0x20) == 'e'))
        at = read_fraction(r, at);
    else
        n->flags = TAPE_INTEGER;
    if (!at)
        return NULL;
    n->len = (uint32_t)(at - start);
    return n->len <= TAPE_NUMBER_MAX ? at : reader_fail(r, at, TAPE_TOO_LARGE);
}

static const unsigned char *read_word(struct reader *r, const unsigned char *at, struct slice word,
                                      enum tape_type type) {
    size_t left = (size_t)(r->end - at);
    size_t shared = left < word.len ? left : word.len;
    for (size_t i = 0; i < shared; i++)
        if (at[i] != (unsigned char)word.ptr[i])
            return reader_fail(r, at + i, TAPE_SYNTAX);
    if (left < word.len)
        return reader_fail(r, r->end, TAPE_TRUNCATED);
    struct tape_node *n = tape_push(r, type, at);
    if (!n)
        return NULL;
    n->len = (uint32_t)word.len;
    return at + word.len;
}

static inline const unsigned char *read_scalar(struct reader *r, const unsigned char *at) {
    switch (*at) {
    case '"':
        return read_string(r, at + 1);
    case 't':
        return read_word(r, at, SLICE("true"), TAPE_TRUE);
    case 'f':
        return read_word(r, at, SLICE("false"), TAPE_FALSE);
    case 'n':
        return read_word(r, at, SLICE("null"), TAPE_NULL);
    case '-':
    case '0' ... '9':
        return read_number(r, at);
    default:
        return reader_fail(r, at, TAPE_SYNTAX);
    }
}

/* A member's key with the colon. */
static inline const unsigned char *read_key(struct reader *r, const unsigned char *at) {
    at = skip_space(r, at, r->end);
    if (at == r->end || *at != '"')
        return reader_unexpected(r, at);
    at = read_string(r, at + 1);
    if (!at)
        return NULL;
    at = skip_space(r, at, r->end);
    if (at == r->end || *at != ':')
        return reader_unexpected(r, at);
    return at + 1;
}

static bool object_is_unique(struct tape *t, uint32_t obj);

/* A container that is not closed yet. */
struct open {
    uint32_t node;
    uint32_t count;
    unsigned char closer;
};

/* `at` points behind the closing bracket. */
static bool close_container(struct reader *r, const struct open *o, const unsigned char *at) {
    struct tape_node *n = &r->t->nodes[o->node];
    n->len = (uint32_t)(at - r->base) - n->start;
    n->next = r->t->count;
    n->count = o->count;
    return o->closer != '}' || o->count < 2 || object_is_unique(r->t, o->node);
}

static const unsigned char *read_tree(struct reader *r, const unsigned char *at) {
    struct open stack[TAPE_DEPTH_MAX + 1], *top = stack; /* the lowest entry is the text itself */
    const unsigned char *end = r->end;
    for (;;) { /* once per value */
        at = skip_space(r, at, end);
        if (at == end)
            return reader_fail(r, at, TAPE_TRUNCATED);
        bool opened = *at == '{' || *at == '[';
        if (!opened) {
            at = read_scalar(r, at);
            if (!at)
                return NULL;
        } else {
            if (top == stack + TAPE_DEPTH_MAX)
                return reader_fail(r, at, TAPE_DEPTH);
            *++top = (struct open){.node = r->t->count, .closer = *at + 2}; /* ASCII: opener + 2 */
            if (!tape_push(r, *at == '{' ? TAPE_OBJECT : TAPE_ARRAY, at))
                return NULL;
            at++;
        }
        for (;;) { /* what follows a value: the end of containers, a comma, the end */
            if (top == stack)
                return at;
            top->count += !opened;
            at = skip_space(r, at, end);
            if (at == end)
                return reader_fail(r, at, TAPE_TRUNCATED);
            if (*at != top->closer)
                break;
            if (!close_container(r, top--, ++at))
                return reader_fail(r, at, TAPE_DUPLICATE);
            opened = false;
        }
        if (!opened && *at++ != ',')
            return reader_fail(r, at - 1, TAPE_SYNTAX);
        if (top->closer == '}' && !(at = read_key(r, at)))
            return NULL;
    }
}

enum tape_fault tape_parse(struct tape *t, struct slice src, size_t *ret_at) {
    t->src = src;
    t->count = 0;
    t->has_nul = t->has_breaks = t->is_distinct = false;
    if (ret_at)
        *ret_at = 0;
    if (src.len > TAPE_BYTES_MAX)
        return TAPE_TOO_LARGE;
    const unsigned char *base = (const unsigned char *)(src.ptr ? src.ptr : "");
    struct reader r = {.t = t, .base = base, .end = base + src.len};
    const unsigned char *at = read_tree(&r, base);
    if (at) {
        at = skip_space(&r, at, r.end);
        if (at != r.end)
            reader_fail(&r, at, TAPE_SYNTAX);
    }
    if (ret_at)
        *ret_at = (size_t)((r.fault ? r.bad : at) - base);
    return r.fault;
}

/* ---- decoded values ---- */

static size_t put_utf8(char *to, uint32_t code) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* One decoded character (or run of one byte) of a validated string; moves *p on. */
static inline size_t unescape(const char **p, char *out) {
    const char *s = *p;
    if (*s != '\\') {
        out[0] = *s;
        *p = s + 1;
        return 1;
    }
    if (s[1] != 'u') {
        out[0] = s[1] == '/' ? '/' : short_escapes[(unsigned char)s[1]];
        *p = s + 2;
        return 1;
    }
    uint32_t code = (uint32_t)hex4((const unsigned char *)s + 2, (const unsigned char *)s + 6);
    *p = s + 6;
    if (code >= 0xd800 && code <= 0xdbff) {
        uint32_t low = (uint32_t)hex4((const unsigned char *)s + 8, (const unsigned char *)s + 12);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *p = s + 12;
    }
    return put_utf8(out, code);
}

size_t tape_unescape(const char **p, char *out) { return unescape(p, out); }

/* Copies up to a backslash, or until less than 32 bytes are left; both buffers have that much room. */
#ifdef __SSE2__
static const char *copy_plain(const char *p, const char *end, char **out) {
    const __m128i slash = _mm_set1_epi8('\\');
    for (; end - p >= 32; p += 32, *out += 32) {
        __m128i first = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(p + 16));
        _mm_storeu_si128((__m128i *)(void *)*out, first);
        _mm_storeu_si128((__m128i *)(void *)(*out + 16), second);
        uint32_t slashes = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(first, slash)) |
                           (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(second, slash)) << 16;
        if (!slashes)
            continue;
        *out += __builtin_ctz(slashes);
        return p + __builtin_ctz(slashes);
    }
    return p;
}
#else
static const char *copy_plain(const char *p, const char *end, char **out) {
    (void)end, (void)out;
    return p;
}
#endif

/* Decoded text is never longer than raw text. */
static size_t decode(struct slice raw, char *to) {
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    char *out = to;
    while ((p = copy_plain(p, end, &out)) < end)
        out += unescape(&p, out);
    return (size_t)(out - to);
}

static struct slice node_bytes(const struct tape *t, const struct tape_node *n) {
    return slice_of(t->src.ptr + n->start, n->len);
}

bool tape_eq_escaped(const struct tape *t, uint32_t i, struct slice text) {
    struct slice raw = node_bytes(t, &t->nodes[i]);
    const char *p = raw.ptr, *end = raw.ptr + raw.len;
    size_t at = 0;
    while (p < end) {
        char piece[4];
        size_t len = tape_unescape(&p, piece);
        if (text.len - at < len || memcmp(text.ptr + at, piece, len) != 0)
            return false;
        at += len;
    }
    return at == text.len;
}

struct slice tape_text(const struct tape *t, uint32_t i, struct arena *a) {
    const struct tape_node *n = &t->nodes[i];
    struct slice raw = node_bytes(t, n);
    if (n->type != TAPE_STRING)
        return (struct slice){0};
    if (!(n->flags & TAPE_ESCAPED))
        return raw;
    char *text = arena_alloc(a, raw.len);
    return slice_of(text, decode(raw, text));
}

struct slice tape_text_of(const struct tape *t, uint32_t obj, const char *key, struct arena *a) {
    uint32_t node = tape_get_str(t, obj, key);
    return node ? tape_text(t, node, a) : (struct slice){0};
}

bool tape_eq_any(const struct tape *t, uint32_t i, const char *const *texts) {
    for (; texts && *texts; texts++)
        if (tape_eq(t, i, slice_str(*texts)))
            return true;
    return false;
}

struct slice tape_raw(const struct tape *t, uint32_t i) {
    const struct tape_node *n = &t->nodes[i];
    if (n->type == TAPE_STRING)
        return slice_of(t->src.ptr + n->start - 1, n->len + 2);
    return node_bytes(t, n);
}

uint32_t tape_get(const struct tape *t, uint32_t obj, struct slice key) {
    if (obj >= t->count || t->nodes[obj].type != TAPE_OBJECT)
        return 0;
    TAPE_FOR_MEMBER(t, obj, k) {
        if (tape_eq(t, k, key))
            return k + 1;
    }
    return 0;
}

bool tape_list_has(const struct tape *t, uint32_t obj, const char *key, const char *word) {
    uint32_t list = tape_get_str(t, obj, key);
    if (!list || !tape_is(t, list, TAPE_ARRAY))
        return false;
    TAPE_FOR_ELEM(t, list, elem) {
        if (tape_eq(t, elem, slice_str(word)))
            return true;
    }
    return false;
}

uint32_t tape_path(const struct tape *t, uint32_t obj, ...) {
    va_list ap;
    va_start(ap, obj);
    const char *key = va_arg(ap, const char *);
    while (key) {
        obj = tape_get_str(t, obj, key);
        if (!obj)
            break;
        key = va_arg(ap, const char *);
    }
    va_end(ap);
    return obj;
}

bool tape_int(const struct tape *t, uint32_t i, int64_t *ret_value) {
    const struct tape_node *n = &t->nodes[i];
    if (n->type != TAPE_NUMBER || !(n->flags & TAPE_INTEGER))
        return false;
    struct slice text = node_bytes(t, n);
    bool negative = text.ptr[0] == '-';
    uint64_t magnitude;
    if (!slice_to_u64(slice_from(text, negative), &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool tape_double(const struct tape *t, uint32_t i, double *ret_value) {
    const struct tape_node *n = &t->nodes[i];
    if (n->type != TAPE_NUMBER)
        return false;
    char text[TAPE_NUMBER_MAX + 1];
    memcpy(text, t->src.ptr + n->start, n->len);
    text[n->len] = '\0';
    *ret_value = strtod(text, NULL);
    return true;
}

/* ---- duplicate keys ---- */

static bool keys_equal(const struct tape *t, uint32_t a, uint32_t b) {
    const struct tape_node *x = &t->nodes[a], *y = &t->nodes[b];
    if (!((x->flags | y->flags) & TAPE_ESCAPED))
        return x->len == y->len && memcmp(t->src.ptr + x->start, t->src.ptr + y->start, x->len) == 0;
    if (!(x->flags & TAPE_ESCAPED))
        return tape_eq(t, b, node_bytes(t, x));
    if (!(y->flags & TAPE_ESCAPED))
        return tape_eq(t, a, node_bytes(t, y));
    cleanup_free char *text = mem_alloc(x->len);
    return tape_eq(t, b, slice_of(text, decode(node_bytes(t, x), text)));
}

/* Nearly all pairs differ in length already. */
static inline bool keys_may_equal(const struct tape_node *x, const struct tape_node *y) {
    return x->len == y->len || (x->flags | y->flags) & TAPE_ESCAPED;
}

static uint64_t key_hash(const struct tape *t, uint32_t key) {
    const struct tape_node *n = &t->nodes[key];
    if (!(n->flags & TAPE_ESCAPED))
        return map_hash(node_bytes(t, n));
    cleanup_free char *text = mem_alloc(n->len);
    return map_hash(slice_of(text, decode(node_bytes(t, n), text)));
}

static bool object_is_unique_hashed(struct tape *t, uint32_t obj) {
    uint32_t need = 16;
    while (need < t->nodes[obj].count * 2u)
        need *= 2;
    if (need > t->scratch_cap) {
        t->scratch = mem_realloc(t->scratch, need * sizeof(*t->scratch));
        t->scratch_cap = need;
    }
    memset(t->scratch, 0, need * sizeof(*t->scratch));
    TAPE_FOR_MEMBER(t, obj, key) {
        uint32_t slot = (uint32_t)key_hash(t, key) & (need - 1);
        for (; t->scratch[slot]; slot = (slot + 1) & (need - 1))
            if (keys_equal(t, t->scratch[slot], key))
                return false;
        t->scratch[slot] = key;
    }
    return true;
}

static bool object_is_unique(struct tape *t, uint32_t obj) {
    if (t->nodes[obj].count > TAPE_PAIRWISE_MAX)
        return object_is_unique_hashed(t, obj);
    TAPE_FOR_MEMBER(t, obj, key) {
        for (uint32_t earlier = obj + 1; earlier < key; earlier = t->nodes[earlier + 1].next)
            if (keys_may_equal(&t->nodes[earlier], &t->nodes[key]) && keys_equal(t, earlier, key))
                return false;
    }
    return true;
}
