#include "filter/codec.h"

#include "base/mem.h"
#include "filter/limits.h"

#include <pthread.h>

#define SAID_MIN 16 /* bytes of text that are worth a look */
#define CODECS 8
#define WORD_MIN 20 /* characters for which every alphabet has fewer bytes than that */

/* So many characters of an alphabet stand for so many bytes. */
struct codec {
    const char *alphabet;
    uint8_t chars, bytes;
    bool folds; /* capitals are the same digits */
};

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const struct codec codecs[CODECS] = {
    {UPPER LOWER DIGITS "+/", 4, 3, false},
    {LOWER "234567", 8, 5, true},
    {DIGITS "abcdefghijklmnopqrstuv", 8, 5, true},
    {DIGITS "abcdef", 2, 1, true},
    {"01", 8, 1, false},
    {"!\"#$%&'()*+,-./" DIGITS ":;<=>?@" UPPER "[\\]^_`abcdefghijklmnopqrstu", 5, 4, false},
    {DIGITS UPPER LOWER "!#$%&()*+-;<=>?@^_`{|}~", 5, 4, false},
    {DIGITS LOWER UPPER ".-:+=^!/*?&<>()[]{}@%$#", 5, 4, false},
};

static struct {
    uint8_t digit[256]; /* its value and one */
    uint8_t stride;     /* groups of which one is inside of each text that is long enough */
} tables[CODECS];

static void build(void) {
    for (size_t k = 0; k < CODECS; k++) {
        const struct codec *c = &codecs[k];
        for (size_t i = 0; c->alphabet[i]; i++) {
            const uint8_t letter = (uint8_t)c->alphabet[i];
            tables[k].digit[letter] = (uint8_t)(i + 1);
            if (c->folds && letter >= 'a')
                tables[k].digit[letter & ~0x20] = (uint8_t)(i + 1);
        }
        tables[k].stride = (uint8_t)((SAID_MIN - (c->bytes - 1)) / c->bytes);
    }
    tables[0].digit['-'] = tables[0].digit['+'];
    tables[0].digit['_'] = tables[0].digit['/'];
}

/* The digits of one run, and the text that is being read from them. */
struct run {
    const struct codec *codec;
    const uint8_t *digits;
    size_t count, stride;
    char *out;
    size_t len;
    codec_fn *each;
    void *ctx;
    struct arena *arena;
};

#define EACH_BYTE(byte) (UINT64_C(0x0101010101) * (byte))

static bool is_text(uint8_t byte) {
    return (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == '\t' || byte == '\r';
}

static inline __attribute__((always_inline)) uint64_t value_of(const uint8_t *digits, unsigned chars,
                                                               unsigned base) {
    uint64_t value = 0;
    for (unsigned i = 0; i < chars; i++)
        value = value * base + digits[i];
    return value;
}

static inline uint64_t group_value(const struct codec *c, const uint8_t *digits) {
    switch (c->chars * 16 + c->bytes) {
    case 4 * 16 + 3:
        return value_of(digits, 4, 64);
    case 5 * 16 + 4:
        return value_of(digits, 5, 85);
    case 8 * 16 + 5:
        return value_of(digits, 8, 32);
    case 2 * 16 + 1:
        return value_of(digits, 2, 16);
    default:
        return value_of(digits, 8, 2);
    }
}

/* Nothing but text, and zero bytes between it? */
static inline bool is_text_group(const struct run *r, size_t at) {
    const struct codec *c = r->codec;
    const uint64_t value = group_value(c, r->digits + at);
    if (!value || value >> 8 * c->bytes || value & EACH_BYTE(0x80))
        return false;
    if (!(((value + EACH_BYTE(0x60)) ^ EACH_BYTE(0x80)) & EACH_BYTE(0x80) &
          ((UINT64_C(1) << 8 * c->bytes) - 1)) &&
        !((value + EACH_BYTE(1)) & EACH_BYTE(0x80)))
        return true;
    for (unsigned shift = 0; shift < 8u * c->bytes; shift += 8)
        if (value >> shift & 0xff && !is_text((uint8_t)(value >> shift)))
            return false;
    return true;
}

/* The bytes of the group at `at`, of which the run may have only the first characters; their number. */
static unsigned group_at(const struct run *r, size_t at, uint8_t bytes[5]) {
    const struct codec *c = r->codec;
    const size_t left = r->count - at;
    uint8_t digits[8];
    for (size_t i = 0; i < c->chars; i++)
        digits[i] = i < left ? r->digits[at + i] : (uint8_t)(strlen(c->alphabet) - 1);
    const uint64_t value = group_value(c, digits);
    if (value >> 8 * c->bytes)
        return 0;
    for (unsigned i = 0; i < c->bytes; i++)
        bytes[i] = (uint8_t)(value >> 8 * (c->bytes - 1u - i));
    return left < c->chars ? (unsigned)(left * c->bytes / c->chars) : c->bytes;
}

static void say(struct run *r) {
    if (r->len >= SAID_MIN)
        r->each(r->ctx, arena_dup(r->arena, slice_of(r->out, r->len)));
    r->len = 0;
}

/* Reads on from the group before the text, whose last bytes may belong to it, to the first that has other
 * bytes; returns where that one is. */
static size_t read_text(struct run *r, size_t at) {
    uint8_t bytes[5];
    const uint8_t chars = r->codec->chars;
    bool is_inside = false, was_zero = true;
    while (at < r->count) {
        const unsigned count = group_at(r, at, bytes);
        bool breaks = count == 0;
        for (unsigned i = 0; i < count; i++) {
            const bool skips = bytes[i] == 0 && !was_zero;
            was_zero = bytes[i] == 0;
            if (is_text(bytes[i])) {
                r->out[r->len++] = (char)bytes[i];
            } else if (!skips) {
                breaks = true;
                say(r);
            }
        }
        if (breaks && is_inside)
            break;
        is_inside = true;
        at += chars;
    }
    say(r);
    return at;
}

/* A group of one byte may be a zero byte of UTF-16. */
static bool has_text(const struct run *r, size_t at) {
    const size_t next = at + r->codec->chars;
    return is_text_group(r, at) ||
           (r->codec->bytes == 1 && next + r->codec->chars <= r->count && is_text_group(r, next));
}

/* Where the text that `at` lies in begins, or the group before it; not before `done`. */
static size_t text_start(const struct run *r, size_t at, size_t done) {
    const uint8_t chars = r->codec->chars;
    size_t room = (at - done) / chars;
    for (; room && is_text_group(r, at - chars); room--)
        at -= chars;
    for (; r->codec->bytes == 1 && room > 1 && is_text_group(r, at - 2 * chars); room -= 2)
        at -= 2 * chars;
    return room ? at - chars : at;
}

static void read_run(struct run *r) {
    const uint8_t chars = r->codec->chars;
    for (size_t start = 0; start < chars; start++) {
        for (size_t at = start, done = start; at + chars <= r->count; at += r->stride) {
            if (at < done || !has_text(r, at))
                continue;
            for (done = text_start(r, at, done); done <= at;)
                done = read_text(r, done);
        }
    }
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/* The runs of one alphabet in a word, with the line ends inside of them left out. */
static void read_runs(struct slice word, size_t codec, struct run *r, uint8_t *digits) {
    const struct codec *c = &codecs[codec];
    const uint8_t *digit = tables[codec].digit;
    const size_t min = (SAID_MIN * c->chars + c->bytes - 1) / c->bytes;
    const bool is_spaced = c->bytes * 8 == c->chars;
    r->codec = c;
    r->digits = digits;
    r->stride = (size_t)tables[codec].stride * c->chars;
    for (size_t i = 0; i + min <= word.len; i++) {
        r->count = 0;
        for (; i < word.len; i++) {
            const uint8_t value = digit[(uint8_t)word.ptr[i]];
            if (value)
                digits[r->count++] = (uint8_t)(value - 1);
            else if (!r->count || !(is_line_end(word.ptr[i]) || (is_spaced && word.ptr[i] == ' ')))
                break;
        }
        if (r->count >= min)
            read_run(r);
    }
}

static bool is_bit(char c) { return c == '0' || c == '1'; }

/* A word may go on in the next line, and binary digits behind a blank. */
static size_t word_end(struct slice text, size_t at) {
    while (at < text.len && ((unsigned char)text.ptr[at] > ' ' || is_line_end(text.ptr[at]) ||
                             (text.ptr[at] == ' ' && at && at + 1 < text.len && is_bit(text.ptr[at - 1]) &&
                              is_bit(text.ptr[at + 1]))))
        at++;
    return at;
}

void codec_each(struct slice text, struct arena *a, codec_fn *each, void *ctx) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct run r = {.each = each, .ctx = ctx, .arena = a};
    uint8_t *digits = NULL;
    for (size_t at = 0, end; at < text.len; at = end + 1) {
        end = word_end(text, at);
        if (end - at < WORD_MIN)
            continue;
        if (!digits) {
            pthread_once(&once, build);
            digits = arena_alloc(a, text.len);
            r.out = arena_alloc(a, text.len);
        }
        for (size_t codec = 0; codec < CODECS; codec++)
            read_runs(slice_of(text.ptr + at, end - at), codec, &r, digits);
    }
}
