#include "filter/disguise.h"

#include "base/hex.h"
#include "filter/chars.h"
#include "filter/limits.h"

#define WORD_MIN 8      /* bytes of a word with escapes */
#define RUN_MIN 12      /* values or letters in a row that make a text */
#define STRIDE 16       /* a run is longer, so looking at one place in so many bytes finds it */
#define GAP_MAX 3       /* characters between two values: `, 0x` has the prefix besides */
#define BASE32_MIN 32   /* characters of base32 */
#define GUESS_MAX 512   /* longer texts are not read backwards */
#define JOINED_MAX 4096 /* bytes of text that pieces may make */
#define PIECES_MAX 4096 /* elements of a list */

struct reading {
    char *out;
    size_t len;
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static bool is_text(uint32_t byte) { return (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == '\t'; }

static uint32_t digits_at(struct slice t, size_t at, size_t count, unsigned base) {
    uint32_t value = 0;
    if (at + count > t.len)
        return UINT32_MAX;
    for (size_t i = at; i < at + count; i++) {
        const int digit = hex_value(t.ptr[i]);
        if (digit < 0 || (unsigned)digit >= base)
            return UINT32_MAX;
        value = value * base + (unsigned)digit;
    }
    return value;
}

/* ---- escapes ---- */

/* The length of the escape at `at`, or 0. */
static size_t escape_at(struct slice t, size_t at, uint32_t *ret_byte) {
    const char c = t.ptr[at], next = at + 1 < t.len ? t.ptr[at + 1] : '\0';
    size_t len = 0;
    *ret_byte = UINT32_MAX;
    if (c == '\\' && (next == 'x' || next == 'X') && (len = 4)) {
        *ret_byte = digits_at(t, at + 2, 2, 16);
    } else if (c == '\\' && next >= '0' && next <= '7') {
        for (len = 1; len < 4 && digits_at(t, at + 1, len, 8) != UINT32_MAX; len++)
            *ret_byte = digits_at(t, at + 1, len, 8);
    } else if (((c == '%' && (next | 0x20) == 'u') || (c == '\\' && next == 'u')) && (len = 6)) {
        *ret_byte = digits_at(t, at + 2, 4, 16);
    } else if (c == '=' && (len = 3)) {
        *ret_byte = digits_at(t, at + 1, 2, 16);
    }
    return *ret_byte < 0x80 && is_text(*ret_byte) ? len : 0;
}

/* Word by word: only words with an escape have another reading. */
static void read_escapes(struct slice t, struct arena *a, disguise_fn *each, void *ctx) {
    if (slice_find(t, '\\') < 0 && slice_find(t, '%') < 0 && slice_find(t, '=') < 0)
        return;
    char *out = NULL;
    for (size_t i = 0; i < t.len; i++) {
        uint32_t byte;
        size_t len = 0;
        if ((t.ptr[i] != '\\' && t.ptr[i] != '%' && t.ptr[i] != '=') || !escape_at(t, i, &byte))
            continue;
        while (i > 0 && !is_blank(t.ptr[i - 1]))
            i--;
        out = out ? out : arena_alloc(a, t.len);
        while (i < t.len && !is_blank(t.ptr[i])) {
            const size_t size = escape_at(t, i, &byte);
            out[len++] = size ? (char)byte : t.ptr[i];
            i += size ? size : 1;
        }
        if (len >= WORD_MIN)
            each(ctx, slice_of(out, len), true);
    }
}

/* ---- byte values in a row ---- */

/* One value: two hexadecimal digits with or without 0x, or two or three decimal ones. Returns its end. */
static size_t value_at(struct slice t, size_t at, unsigned base, uint32_t *ret_byte) {
    size_t end = at;
    if (base == 16 && end + 1 < t.len && t.ptr[end] == '0' && (t.ptr[end + 1] | 0x20) == 'x')
        end += 2;
    const size_t start = end;
    while (end < t.len && ch_alnum(t.ptr[end]) && end - start < 4)
        end++;
    const size_t count = end - start;
    if (base == 16 ? count != 2 : count < 2 || count > 3)
        return at;
    *ret_byte = digits_at(t, start, count, base);
    return *ret_byte != UINT32_MAX && is_text(*ret_byte) ? end : at;
}

/* From `at` on as many values as follow one another; returns the end of the last. */
static size_t read_values(struct slice t, size_t at, unsigned base, struct reading *r) {
    uint32_t byte;
    for (size_t end; (end = value_at(t, at, base, &byte)) > at;) {
        r->out[r->len++] = (char)byte;
        at = end;
        size_t gap = at;
        while (gap < t.len && gap - at <= GAP_MAX && !ch_alnum(t.ptr[gap]))
            gap++;
        if (gap == at || gap - at > GAP_MAX)
            break;
        at = gap;
    }
    return at;
}

/* The same for single letters with one separator between them: g-h-p-_. */
static size_t read_letters(struct slice t, size_t at, struct reading *r) {
    const char sep = at + 1 < t.len ? t.ptr[at + 1] : '\0';
    if (ch_alnum(sep) || (unsigned char)sep >= 0x80 || !sep)
        return at;
    for (; at < t.len && (unsigned char)t.ptr[at] > ' ' && (unsigned char)t.ptr[at] < 0x80; at += 2) {
        r->out[r->len++] = t.ptr[at];
        if (at + 1 == t.len || t.ptr[at + 1] != sep)
            return at + 1;
    }
    return at;
}

/* Are two values in a row near this place? */
static bool has_values(struct slice t, size_t at, unsigned base) {
    uint32_t byte;
    size_t end;
    const size_t stop = t.len - at < STRIDE ? t.len : at + STRIDE; /* a run has a value in every stride */
    while (at < stop && (!ch_alnum(t.ptr[at]) || (at && ch_alnum(t.ptr[at - 1]))))
        at++;
    if (at == stop || (end = value_at(t, at, base, &byte)) == at)
        return false;
    for (at = end; at < t.len && at - end <= GAP_MAX && !ch_alnum(t.ptr[at]);)
        at++;
    return at > end && value_at(t, at, base, &byte) > at;
}

/* Letters with the same separator at every second place, from here or from the next place on. */
static bool has_letters(struct slice t, size_t at) {
    for (size_t p = at; p < at + 2; p++)
        if (!ch_alnum(t.ptr[p]) && t.ptr[p] == t.ptr[p + 2] && t.ptr[p] == t.ptr[p + 4] &&
            t.ptr[p] == t.ptr[p + 6])
            return true;
    return false;
}

static bool has_run(struct slice t, size_t at) {
    return has_letters(t, at) || has_values(t, at, 16) || has_values(t, at, 10);
}

static size_t read_run(struct slice t, size_t at, unsigned base, struct reading *r) {
    return base ? read_values(t, at, base, r) : read_letters(t, at, r);
}

/* Runs of any of the three forms in the neighbourhood; `from` moves behind what was read. */
static void read_runs(struct slice t, struct arena *a, disguise_fn *each, void *ctx) {
    static const unsigned bases[] = {16, 10, 0};
    struct reading r = {0};
    size_t done[3] = {0};
    for (size_t at = 0; at + STRIDE <= t.len; at += STRIDE) {
        if (!has_run(t, at))
            continue;
        for (size_t k = 0; k < 3; k++) {
            const size_t back = at > STRIDE ? at - STRIDE : 0, end = at + STRIDE / 2;
            for (size_t i = back > done[k] ? back : done[k]; i < end; i++) {
                if (i && ch_alnum(t.ptr[i - 1]) && ch_alnum(t.ptr[i]))
                    continue;
                r.out = r.out ? r.out : arena_alloc(a, t.len);
                r.len = 0;
                const size_t stop = read_run(t, i, bases[k], &r);
                if (r.len >= RUN_MIN) {
                    each(ctx, slice_of(r.out, r.len), bases[k] != 0);
                    done[k] = stop;
                    break;
                }
            }
        }
    }
}

/* ---- base32 ---- */

static int base32_value(char c) {
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        return (c | 0x20) - 'a';
    return c >= '2' && c <= '7' ? c - '2' + 26 : -1;
}

static void read_base32(struct slice t, struct arena *a, disguise_fn *each, void *ctx) {
    for (size_t i = 0; i + BASE32_MIN <= t.len; i++) {
        size_t end = i + BASE32_MIN;
        uint32_t bits = 0, acc = 0;
        while (end > i && base32_value(t.ptr[end - 1]) >= 0)
            end--;
        if (end > i) { /* a run cannot begin before this */
            i = end - 1;
            continue;
        }
        for (end = i + BASE32_MIN; end < t.len && base32_value(t.ptr[end]) >= 0;)
            end++;
        char *out = arena_alloc(a, end - i);
        size_t len = 0;
        for (; i < end; i++) {
            acc = acc << 5 | (uint32_t)base32_value(t.ptr[i]);
            bits += 5;
            if (bits < 8)
                continue;
            bits -= 8;
            out[len++] = (char)(acc >> bits);
            if (!is_text((unsigned char)out[len - 1]))
                break;
        }
        if (i == end)
            each(ctx, slice_of(out, len), true);
        i = end;
    }
}

/* ---- pieces and guesses ---- */

/* Behind "…" + "…": the place after the second quote, or 0. */
static size_t joint_at(struct slice t, size_t at) {
    const char quote = t.ptr[at];
    size_t i = at + 1;
    while (i < t.len && is_blank(t.ptr[i]))
        i++;
    if (i < t.len && strchr("+.&", t.ptr[i]) && t.ptr[i])
        i++;
    while (i < t.len && is_blank(t.ptr[i]))
        i++;
    return i < t.len && t.ptr[i] == quote && i > at + 1 ? i + 1 : 0;
}

/* Without line breaks inside words and without the joints of quoted pieces. */
static void read_pieces(struct slice t, struct arena *a, disguise_fn *each, void *ctx) {
    char *out = arena_alloc(a, t.len);
    size_t len = 0;
    for (size_t i = 0; i < t.len; i++) {
        const char c = t.ptr[i];
        const size_t behind = ch_is(c, CH_QUOTE) ? joint_at(t, i) : 0;
        if (behind)
            i = behind - 1;
        else if (c != '\n' && c != '\r')
            out[len++] = c;
    }
    if (len < t.len)
        each(ctx, slice_of(out, len), false);
}

static char rot13(char c) {
    const char low = (char)(c | 0x20);
    return low < 'a' || low > 'z' ? c : (char)(low < 'n' ? c + 13 : c - 13);
}

static bool has_long_word(struct slice t) {
    size_t run = 0;
    for (size_t i = 0; i < t.len && run < PII_ENCODED_MIN; i++)
        run = ch_alnum(t.ptr[i]) ? run + 1 : 0;
    return run >= PII_ENCODED_MIN;
}

static void read_turned(struct slice t, struct arena *a, disguise_fn *each, void *ctx) {
    if (!has_long_word(t))
        return;
    char *back = arena_alloc(a, 2 * t.len), *turned = back + t.len;
    for (size_t i = 0; i < t.len; i++) {
        back[i] = t.ptr[t.len - 1 - i];
        turned[i] = rot13(t.ptr[i]);
    }
    each(ctx, slice_of(back, t.len), false);
    each(ctx, slice_of(turned, t.len), false);
}

void filter_disguise_each(struct slice text, struct arena *a, disguise_fn *each, void *ctx) {
    read_escapes(text, a, each, ctx);
    if (text.len < PII_ENCODED_MIN)
        return;
    read_runs(text, a, each, ctx);
    read_base32(text, a, each, ctx);
    if (text.len <= JOINED_MAX)
        read_pieces(text, a, each, ctx);
    if (text.len <= GUESS_MAX)
        read_turned(text, a, each, ctx);
}

/* ---- lists ---- */

static bool add_byte(const struct tape *t, uint32_t node, struct reading *r) {
    int64_t byte;
    if (!tape_int(t, node, &byte) || byte < 0 || byte > 0x7f || !is_text((uint32_t)byte))
        return false;
    r->out[r->len++] = (char)byte;
    return true;
}

static bool add_piece(const struct tape *t, uint32_t node, struct arena *a, struct reading *r) {
    const struct slice text = tape_text(t, node, a);
    if (r->len + text.len > JOINED_MAX)
        return false;
    memcpy(r->out + r->len, text.ptr, text.len);
    r->len += text.len;
    return true;
}

void filter_disguise_list(const struct tape *t, uint32_t node, struct arena *a, disguise_fn *each,
                          void *ctx) {
    const bool is_object = tape_is(t, node, TAPE_OBJECT);
    const uint32_t count = tape_node(t, node)->count, first = node + 1 + is_object;
    if ((!is_object && !tape_is(t, node, TAPE_ARRAY)) || count < 2 || count > PIECES_MAX)
        return;
    const bool bytes = !is_object && tape_is(t, first, TAPE_NUMBER);
    if (bytes ? count < RUN_MIN : !tape_is(t, first, TAPE_STRING))
        return;
    struct reading r = {.out = arena_alloc(a, JOINED_MAX)};
    for (uint32_t i = first; i < tape_node(t, node)->next; i = tape_node(t, i)->next + is_object)
        if (bytes ? !add_byte(t, i, &r) : !tape_is(t, i, TAPE_STRING) || !add_piece(t, i, a, &r))
            return;
    if (r.len >= PII_ENCODED_MIN || bytes)
        each(ctx, slice_of(r.out, r.len), bytes);
}
