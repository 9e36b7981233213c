#include "base/fold.h"

#include "base/fold_table.h"

#define FOLD_GROWTH_MAX 11 /* bytes that one byte may fold to: U+FDFA, three bytes, becomes 33 */
#define FOLD_MARKS_MAX 30  /* marks in a row that are ordered; Unicode's stream-safe text has no more */

#define HANGUL_FIRST 0xac00u
#define HANGUL_LAST 0xd7a3u
#define HANGUL_LEAD 0x1100u
#define HANGUL_VOWEL 0x1161u
#define HANGUL_TAIL 0x11a7u
#define HANGUL_VOWELS 21u
#define HANGUL_TAILS 28u

bool fold_is_ascii(struct slice text) {
    unsigned char all = 0;
    for (size_t i = 0; i < text.len; i++)
        all |= (unsigned char)text.ptr[i];
    return all < 0x80;
}

/* The code point at *at, which moves behind it. */
static uint32_t read_code(struct slice text, size_t *at) {
    unsigned char lead = (unsigned char)text.ptr[(*at)++];
    unsigned more = lead < 0xc0 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (; more && *at < text.len; more--)
        code = code << 6 | ((unsigned char)text.ptr[(*at)++] & 0x3f);
    return code;
}

/* Three bytes: all of Hangul's parts have that many. */
static size_t put_jamo(char *out, uint32_t code) {
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

static size_t put_hangul(char *out, uint32_t code) {
    uint32_t index = code - HANGUL_FIRST, tail = index % HANGUL_TAILS;
    size_t len = put_jamo(out, HANGUL_LEAD + index / (HANGUL_VOWELS * HANGUL_TAILS));
    len += put_jamo(out + len, HANGUL_VOWEL + index / HANGUL_TAILS % HANGUL_VOWELS);
    if (tail)
        len += put_jamo(out + len, HANGUL_TAIL + tail);
    return len;
}

static const struct fold_row *find_row(uint32_t code) {
    size_t low = 0, high = fold_row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fold_rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < fold_row_count && fold_rows[low].code == code ? &fold_rows[low] : NULL;
}

static uint8_t class_of(uint32_t code) {
    size_t low = 0, high = fold_class_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (fold_classes[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < fold_class_count && fold_classes[low].first <= code ? fold_classes[low].rank : 0;
}

/* Combining marks in canonical order, so that two orders of the same marks come out the same. An insertion
 * sort of each run of marks by their class, in place; runs are short, so that its cost stays linear. */
static void order_marks(char *text, size_t len) {
    size_t run = 0, count = 0; /* start and length of the current run of marks */
    for (size_t at = 0; at < len;) {
        size_t start = at;
        uint8_t rank = class_of(read_code(slice_of(text, len), &at));
        if (!rank || ++count > FOLD_MARKS_MAX) {
            run = at;
            count = 0;
            continue;
        }
        size_t to = run;
        while (to < start) {
            size_t next = to;
            if (class_of(read_code(slice_of(text, len), &next)) > rank)
                break;
            to = next;
        }
        char mark[4];
        size_t mark_len = at - start;
        memcpy(mark, text + start, mark_len);
        memmove(text + to + mark_len, text + to, start - to);
        memcpy(text + to, mark, mark_len);
    }
}

struct slice fold_text(struct slice text, struct arena *a) {
    if (fold_is_plain(text))
        return text;
    bool ascii = fold_is_ascii(text);
    char *out = arena_alloc(a, ascii ? text.len : text.len * FOLD_GROWTH_MAX);
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t start = at;
        uint32_t code = read_code(text, &at);
        if (code < 0x80) {
            out[len++] = (char)(code - 'A' < 26 ? code | 0x20 : code);
            continue;
        }
        const struct fold_row *row = find_row(code);
        if (code >= HANGUL_FIRST && code <= HANGUL_LAST) {
            len += put_hangul(out + len, code);
        } else if (row) {
            memcpy(out + len, fold_pool + row->at, row->len);
            len += row->len;
        } else {
            memcpy(out + len, text.ptr + start, at - start);
            len += at - start;
        }
    }
    if (!ascii)
        order_marks(out, len);
    return slice_of(out, len);
}

bool fold_alike(struct slice x, struct slice y, struct arena *a) {
    if (fold_is_ascii(x) && fold_is_ascii(y))
        return slice_eq_nocase(x, y);
    return slice_eq(fold_text(x, a), fold_text(y, a));
}
