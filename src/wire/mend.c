#include "wire/mend.h"

#include "base/hex.h"
#include "base/mem.h"
#include "wire/splice.h"

#define ESCAPE_LEN 6 /* \uXXXX */

/* The code unit of the escape at `at`, or -1. */
static int unit_at(struct slice text, size_t at) {
    if (at + ESCAPE_LEN > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u')
        return -1;
    int unit = 0;
    for (size_t i = at + 2; i < at + ESCAPE_LEN; i++) {
        int digit = hex_value(text.ptr[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit) { return unit >= 0xd800 && unit <= 0xdbff; }
static bool is_low(int unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

/* Bytes of the escape at `at` that belong together. */
static size_t escape_len(struct slice text, size_t at, bool *ret_half) {
    int unit = unit_at(text, at);
    *ret_half = is_low(unit);
    if (unit < 0)
        return at + 2 <= text.len ? 2 : 1;
    if (!is_high(unit))
        return ESCAPE_LEN;
    *ret_half = !is_low(unit_at(text, at + ESCAPE_LEN));
    return *ret_half ? ESCAPE_LEN : 2 * (size_t)ESCAPE_LEN;
}

/* Length of the character that begins at `at`; 0 for a byte that begins none. */
static size_t character_len(struct slice text, size_t at) {
    for (size_t len = 2; len <= 4 && at + len <= text.len; len++)
        if (tape_utf8_valid(slice_of(text.ptr + at, len)))
            return len;
    return 0;
}

/* What replaces the bytes at `at`, or NULL when they stay. */
static const char *odd_at(struct slice text, size_t at, size_t *ret_len) {
    bool half;
    *ret_len = 1;
    if (text.ptr[at] == '\\') {
        *ret_len = escape_len(text, at, &half);
        return half ? "\\ufffd" : NULL;
    }
    if ((unsigned char)text.ptr[at] < 0x80)
        return NULL;
    size_t len = character_len(text, at);
    *ret_len = len ? len : 1;
    return len ? NULL : "\xef\xbf\xbd";
}

bool mend_text(struct slice text, struct buf *out) {
    size_t kept = 0;
    for (size_t at = 0, len; at < text.len; at += len) {
        const char *odd = odd_at(text, at, &len);
        if (!odd)
            continue;
        buf_put(out, text.ptr + kept, at - kept);
        buf_put_str(out, odd);
        kept = at + len;
    }
    buf_put_slice(out, slice_from(text, kept));
    return kept && !out->full;
}

/* The integer in front of `.0`, as programs write it whose only numbers are fractions; else empty. */
static struct slice whole_number(struct slice text) {
    struct slice zeros = text, whole;
    if (!slice_cut(&zeros, '.', &whole) || !zeros.len)
        return (struct slice){0};
    for (size_t i = 0; i < zeros.len; i++)
        if (zeros.ptr[i] != '0')
            return (struct slice){0};
    return whole;
}

bool mend_envelope(const struct tape *t, struct arena *a, struct buf *out) {
    static const char *const names[] = {"method", "params", "error", "result"};
    const char *drop[ARRAY_LEN(names) + 1] = {NULL};
    size_t dropped = 0;
    uint32_t result = 0;
    bool has_body = false;
    if (!tape_is(t, 0, TAPE_OBJECT))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        uint32_t node = tape_get_str(t, 0, names[i]);
        bool is_null = node && tape_is(t, node, TAPE_NULL);
        has_body |= node && !is_null;
        if (is_null && i + 1 == ARRAY_LEN(names) && !has_body)
            result = node;
        else if (is_null)
            drop[dropped++] = names[i];
    }
    const uint32_t id = tape_get_str(t, 0, "id"), method = tape_get_str(t, 0, "method");
    const bool is_answer = !method || tape_is(t, method, TAPE_NULL);
    struct slice whole = {0};
    if (id && is_answer && tape_is(t, id, TAPE_NUMBER))
        whole = whole_number(tape_raw(t, id));
    struct splice s;
    splice_init(&s, t->src, a);
    if (!dropped && !result && !whole.len)
        return false;
    return (!dropped || splice_drop_members(&s, t, 0, drop)) &&
           (!result || splice_value(&s, t, result, SLICE("{}"))) &&
           (!whole.len || splice_value(&s, t, id, whole)) && splice_write(&s, out);
}

struct slice mend_mark(struct slice text) {
    return slice_starts(text, SLICE("\xef\xbb\xbf")) ? slice_from(text, 3) : text;
}
