#include "filter/disguise.h"

#include "base/hex.h"
#include "base/mem.h"
#include "filter/chars.h"
#include "filter/codec.h"
#include "filter/detect.h"
#include "filter/limits.h"

#define WORD_MIN 8      /* bytes of a word with escapes */
#define STRIDE 16       /* a run is longer, so looking at one place in so many bytes finds it */
#define GAP_MAX 3       /* characters between two values: `, 0x` has the prefix besides */
#define GUESS_MAX 512   /* longer texts are not read backwards */
#define JOINED_MAX 4096 /* bytes of text that pieces may make */
#define PIECE_END 256   /* bytes at each end of a piece that are joined with others */

struct reading {
    char *out;
    size_t len;
};

/* Guesses that are taken once on the way to a reading, or they would undo one another. */
enum guess { GUESS_PIECES = 1, GUESS_BACKWARDS = 2, GUESS_ROT13 = 4 };

struct pending {
    struct slice text;
    uint8_t layers;
    uint8_t guesses;
    bool exact;
};

/* Readings whose own readings are still to be found. */
struct layers {
    struct arena *arena;
    disguise_fn *each;
    void *ctx;
    uint64_t *work;
    struct pending *queue, now;
    size_t count, cap;
    bool found, spent;
};

static void add_reading(struct layers *l, struct slice text, bool exact, uint8_t guess) {
    const struct pending p = {text, (uint8_t)(l->now.layers + 1), l->now.guesses | guess,
                              l->now.exact && exact};
    if (l->found || l->spent)
        return;
    l->spent = *l->work < text.len;
    if (l->spent)
        return;
    *l->work -= text.len;
    l->found = l->each(l->ctx, text, p.exact);
    if (l->found || p.layers == PII_LAYERS_MAX || text.len < PII_ENCODED_MIN)
        return;
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 8;
        l->queue = mem_realloc(l->queue, l->cap * sizeof(*l->queue));
    }
    l->queue[l->count++] = p;
}

static void add_exact(void *layers, struct slice text) { add_reading(layers, text, true, 0); }

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
    } else if ((c == '=' || c == '%') && (len = 3)) {
        *ret_byte = digits_at(t, at + 1, 2, 16);
    }
    return *ret_byte < 0x80 && is_text(*ret_byte) ? len : 0;
}

/* Word by word: only words with an escape have another reading. */
static void read_escapes(struct layers *l, struct slice t) {
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
        out = out ? out : arena_alloc(l->arena, t.len);
        while (i < t.len && !is_blank(t.ptr[i])) {
            const size_t size = escape_at(t, i, &byte);
            out[len++] = size ? (char)byte : t.ptr[i];
            i += size ? size : 1;
        }
        if (len >= WORD_MIN)
            add_reading(l, slice_of(out, len), true, 0);
    }
}

/* ---- byte values in a row ---- */

/* One value: two hexadecimal digits with or without 0x, or two or three decimal or octal ones. Returns its
 * end. */
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
    return has_letters(t, at) || has_values(t, at, 16) || has_values(t, at, 10) || has_values(t, at, 8);
}

static size_t read_run(struct slice t, size_t at, unsigned base, struct reading *r) {
    return base ? read_values(t, at, base, r) : read_letters(t, at, r);
}

/* Runs of any of these forms in the neighbourhood; `from` moves behind what was read. */
static void read_runs(struct layers *l, struct slice t) {
    static const unsigned bases[] = {16, 10, 8, 0};
    struct reading r = {0};
    size_t done[ARRAY_LEN(bases)] = {0};
    for (size_t at = 0; at + STRIDE <= t.len; at += STRIDE) {
        if (!has_run(t, at))
            continue;
        for (size_t k = 0; k < ARRAY_LEN(bases); k++) {
            const size_t back = at > STRIDE ? at - STRIDE : 0, end = at + STRIDE / 2;
            for (size_t i = back > done[k] ? back : done[k]; i < end; i++) {
                if (i && ch_alnum(t.ptr[i - 1]) && ch_alnum(t.ptr[i]))
                    continue;
                r.out = r.out ? r.out : arena_alloc(l->arena, t.len);
                r.len = 0;
                const size_t stop = read_run(t, i, bases[k], &r);
                if (r.len >= PII_READING_MIN) {
                    add_reading(l, arena_dup(l->arena, slice_of(r.out, r.len)), bases[k] != 0, 0);
                    done[k] = stop;
                    break;
                }
            }
        }
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
static void read_pieces(struct layers *l, struct slice t) {
    char *out = arena_alloc(l->arena, t.len);
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
        add_reading(l, slice_of(out, len), false, GUESS_PIECES);
}

static char rot13(char c) {
    const char low = (char)(c | 0x20);
    return low < 'a' || low > 'z' ? c : (char)(low < 'n' ? c + 13 : c - 13);
}

static bool has_long_word(struct slice t) {
    size_t run = 0;
    for (size_t i = 0; i < t.len && run < PII_ENCODED_MIN; i++)
        run = is_blank(t.ptr[i]) ? 0 : run + 1;
    return run >= PII_ENCODED_MIN;
}

static void read_turned(struct layers *l, struct slice t) {
    if (!has_long_word(t))
        return;
    char *back = arena_alloc(l->arena, 2 * t.len), *turned = back + t.len;
    for (size_t i = 0; i < t.len; i++) {
        back[i] = t.ptr[t.len - 1 - i];
        turned[i] = rot13(t.ptr[i]);
    }
    if (!(l->now.guesses & GUESS_BACKWARDS))
        add_reading(l, slice_of(back, t.len), false, GUESS_BACKWARDS);
    if (!(l->now.guesses & GUESS_ROT13))
        add_reading(l, slice_of(turned, t.len), false, GUESS_ROT13);
}

/* Entities, escapes and look-alikes. */
static void read_folded(struct layers *l, struct slice t) {
    uint32_t len, *map;
    bool may = false;
    for (size_t i = 0; i < t.len && !may; i++)
        may = (t.ptr[i] == '&' || t.ptr[i] == '\\' || (uint8_t)t.ptr[i] >= 0x80) &&
              pii_decode_folds(t, (uint32_t)i);
    if (!may)
        return;
    cleanup_free char *folded = pii_decode_fold(t, &len, &map);
    free(map);
    add_reading(l, arena_dup(l->arena, slice_of(folded, len)), true, 0);
}

static void read_all(struct layers *l, struct slice text) {
    read_escapes(l, text);
    if (text.len < PII_ENCODED_MIN)
        return;
    read_runs(l, text);
    codec_each(text, l->arena, add_exact, l);
    if (l->now.layers)
        read_folded(l, text);
    if (text.len <= JOINED_MAX && !(l->now.guesses & GUESS_PIECES))
        read_pieces(l, text);
    if (text.len <= GUESS_MAX)
        read_turned(l, text);
}

static bool read_layers(struct layers *l) {
    for (size_t i = 0; i < l->count && !l->found && !l->spent; i++) {
        l->now = l->queue[i];
        read_all(l, l->now.text);
    }
    free(l->queue);
    return !l->spent;
}

bool filter_disguise_each(struct slice text, struct arena *a, uint64_t *work, disguise_fn *each, void *ctx) {
    struct layers l = {.arena = a, .each = each, .ctx = ctx, .work = work, .now = {.exact = true}};
    read_all(&l, text);
    return read_layers(&l);
}

/* ---- lists ---- */

/* A byte that is no text ends what was read so far. */
static void add_byte(struct layers *l, const struct tape *t, uint32_t node, struct reading *r) {
    int64_t byte = -1;
    if (tape_is(t, node, TAPE_NUMBER) && tape_int(t, node, &byte) && byte == 0)
        return; /* of UTF-16 */
    if (byte > 0 && byte < 0x80 && is_text((uint32_t)byte)) {
        r->out[r->len++] = (char)byte;
        return;
    }
    if (r->len >= PII_READING_MIN)
        add_reading(l, arena_dup(l->arena, slice_of(r->out, r->len)), true, 0);
    r->len = 0;
}

static void end_pieces(struct layers *l, struct reading *r) {
    if (r->len >= PII_ENCODED_MIN)
        add_reading(l, arena_dup(l->arena, slice_of(r->out, r->len)), false, GUESS_PIECES);
}

static void put(struct reading *r, struct slice text) {
    if (!text.len)
        return;
    memcpy(r->out + r->len, text.ptr, text.len);
    r->len += text.len;
}

/* Of a long piece only the ends are joined with others. */
static void add_piece(struct layers *l, const struct tape *t, uint32_t node, struct reading *r) {
    struct slice text = tape_text(t, node, l->arena);
    if (r->len + text.len > JOINED_MAX) {
        put(r, slice_upto(text, PIECE_END));
        end_pieces(l, r);
        const size_t keep = r->len < 2 * PIECE_END ? r->len : 2 * PIECE_END;
        memmove(r->out, r->out + r->len - keep, keep);
        r->len = text.len > PIECE_END ? 0 : keep;
        text = text.len > PIECE_END ? slice_from(text, text.len - PIECE_END) : (struct slice){0};
    }
    put(r, text);
}

bool filter_disguise_list(const struct tape *t, uint32_t node, struct arena *a, uint64_t *work,
                          disguise_fn *each, void *ctx) {
    const bool is_object = tape_is(t, node, TAPE_OBJECT);
    const uint32_t count = tape_node(t, node)->count, first = node + 1 + is_object;
    struct layers l = {.arena = a, .each = each, .ctx = ctx, .work = work, .now = {.exact = true}};
    if ((!is_object && !tape_is(t, node, TAPE_ARRAY)) || count < 2)
        return true;
    const bool bytes = !is_object && tape_is(t, first, TAPE_NUMBER);
    if (bytes && count < PII_READING_MIN)
        return true;
    struct reading r = {.out = arena_alloc(a, bytes ? count : 2 * JOINED_MAX)};
    for (uint32_t i = first; i < tape_node(t, node)->next; i = tape_node(t, i)->next + is_object) {
        if (bytes)
            add_byte(&l, t, i, &r);
        else if (tape_is(t, i, TAPE_STRING))
            add_piece(&l, t, i, &r);
    }
    if (bytes && r.len >= PII_READING_MIN)
        add_reading(&l, slice_of(r.out, r.len), true, 0);
    else if (!bytes)
        end_pieces(&l, &r);
    return read_layers(&l);
}
