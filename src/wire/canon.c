#include "wire/canon.h"

#include "base/check.h"
#include "wire/emit.h"

#include <stdlib.h>

#define CANON_EXPONENT_MAX 1000000000 /* beyond it a number keeps its text */
#define CANON_FEW_KEYS 8              /* objects with at most this many keys are sorted by insertion */
#define CANON_HELD_MAX 1024           /* bytes buffered before they are hashed */
#define CANON_LONG_MIN 4096           /* shortest text for which hashing two texts at once is faster */

/* Output: a buffer, a hash (buffered by `held`), or a list of parts. */
struct sink {
    struct buf *buf;
    struct sha_state *sum;
    struct slice *parts;
    size_t part_count;
    struct arena *arena; /* allocates the parts */
};

static bool sink_flows(const struct sink *out) { return out->sum || out->parts; }

static void sink_drain(struct sink *out) {
    struct slice text = buf_slice(out->buf);
    if (out->sum)
        sha_add(out->sum, text);
    else
        out->parts[out->part_count++] = arena_dup(out->arena, text);
    buf_reset(out->buf);
}

/* Appends bytes of the source unchanged. */
static void put_run(struct sink *out, const char *ptr, size_t len) {
    if (sink_flows(out) && out->buf->len + len > CANON_HELD_MAX) {
        sink_drain(out);
        if (out->sum)
            sha_add(out->sum, slice_of(ptr, len));
        else
            out->parts[out->part_count++] = slice_of(ptr, len);
    } else {
        buf_put(out->buf, ptr, len);
    }
}

/* One open container. */
struct frame {
    uint32_t *order; /* objects: keys, sorted; arrays: elements */
    uint32_t count;
    uint32_t at;
    bool object;
};

struct sort_key {
    struct slice text;
    uint32_t key;
};

/* Order of UTF-16 code units, as RFC 8785 asks: a character beyond U+FFFF (lead byte F0..F4) sorts before
 * U+E000..U+FFFF (lead bytes EE and EF), everything else as its bytes do. */
static int by_utf16(const void *left, const void *right) {
    struct slice a = ((const struct sort_key *)left)->text, b = ((const struct sort_key *)right)->text;
    size_t shared = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < shared; i++) {
        unsigned char x = (unsigned char)a.ptr[i], y = (unsigned char)b.ptr[i];
        if (x == y)
            continue;
        bool x_high = x >= 0xf0, y_high = y >= 0xf0;
        if (x_high != y_high && (x_high ? y : x) >= 0xee)
            return x_high ? -1 : 1;
        return x < y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

/* Most objects have a handful of keys. */
static void sort_keys(struct sort_key *keys, uint32_t count) {
    if (count > CANON_FEW_KEYS) {
        qsort(keys, count, sizeof *keys, by_utf16);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct sort_key moved = keys[i];
        uint32_t at = i;
        for (; at > 0 && by_utf16(&keys[at - 1], &moved) > 0; at--)
            keys[at] = keys[at - 1];
        keys[at] = moved;
    }
}

static struct frame open_object(const struct tape *t, uint32_t obj, const char *const *skip,
                                struct arena *a) {
    uint32_t max = tape_node(t, obj)->count, count = 0;
    struct sort_key *keys = arena_alloc(a, sizeof *keys * (max + 1));
    TAPE_FOR_MEMBER(t, obj, key)
    if (!tape_eq_any(t, key, skip))
        keys[count++] = (struct sort_key){tape_text(t, key, a), key};
    sort_keys(keys, count);
    uint32_t *order = arena_alloc(a, sizeof *order * (max + 1));
    for (uint32_t i = 0; i < count; i++)
        order[i] = keys[i].key;
    return (struct frame){order, count, 0, true};
}

static struct frame open_array(const struct tape *t, uint32_t arr, struct arena *a) {
    uint32_t *order = arena_alloc(a, sizeof *order * (tape_node(t, arr)->count + 1u));
    uint32_t count = 0;
    TAPE_FOR_ELEM(t, arr, i)
    order[count++] = i;
    return (struct frame){order, count, 0, false};
}

/* A number as sign, digits without zeros at either end, and the power of ten of its last digit. */
struct decimal {
    bool negative;
    char *digits;
    size_t len;
    int64_t exponent;
};

static bool read_exponent(struct slice text, int64_t *ret_value) {
    bool minus = text.len && text.ptr[0] == '-';
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        text = slice_from(text, 1);
    uint64_t value;
    while (text.len > 1 && text.ptr[0] == '0')
        text = slice_from(text, 1);
    if (!slice_to_u64(text, &value) || value > CANON_EXPONENT_MAX)
        return false;
    *ret_value = minus ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool read_decimal(struct slice text, struct arena *a, struct decimal *d) {
    *d = (struct decimal){.digits = arena_alloc(a, text.len + 1)};
    bool fraction = false;
    size_t i = 0;
    if (text.ptr[0] == '-') {
        d->negative = true;
        i = 1;
    }
    for (; i < text.len && text.ptr[i] != 'e' && text.ptr[i] != 'E'; i++) {
        if (text.ptr[i] == '.') {
            fraction = true;
            continue;
        }
        d->exponent -= fraction;
        if (d->len || text.ptr[i] != '0')
            d->digits[d->len++] = text.ptr[i];
    }
    int64_t written = 0;
    if (i < text.len && !read_exponent(slice_from(text, i + 1), &written))
        return false;
    d->exponent += written;
    while (d->len && d->digits[d->len - 1] == '0') {
        d->len--;
        d->exponent++;
    }
    return true;
}

static void put_zeros(struct buf *out, int64_t count) {
    while (count-- > 0)
        buf_put_char(out, '0');
}

/* The layout of ECMAScript's Number::toString, on exact digits. */
static void write_decimal(const struct decimal *d, struct buf *out) {
    if (d->len == 0) {
        buf_put_char(out, '0');
        return;
    }
    if (d->negative)
        buf_put_char(out, '-');
    int64_t point = (int64_t)d->len + d->exponent; /* digits in front of the point */
    if (d->exponent >= 0 && point <= 21) {
        buf_put(out, d->digits, d->len);
        put_zeros(out, d->exponent);
    } else if (point > 0 && point <= 21) {
        buf_put(out, d->digits, (size_t)point);
        buf_put_char(out, '.');
        buf_put(out, d->digits + point, d->len - (size_t)point);
    } else if (point > -6 && point <= 0) {
        buf_put_str(out, "0.");
        put_zeros(out, -point);
        buf_put(out, d->digits, d->len);
    } else {
        buf_put_char(out, d->digits[0]);
        if (d->len > 1) {
            buf_put_char(out, '.');
            buf_put(out, d->digits + 1, d->len - 1);
        }
        buf_printf(out, "e%c%lld", point > 0 ? '+' : '-', (long long)(point > 0 ? point - 1 : 1 - point));
    }
}

static void write_number(const struct tape *t, uint32_t node, struct arena *a, struct sink *out) {
    struct slice text = tape_raw(t, node);
    struct decimal d;
    if (read_decimal(text, a, &d))
        write_decimal(&d, out->buf);
    else
        put_run(out, text.ptr, text.len);
}

/* Nearly every string is already canonical; otherwise its escapes are rewritten one by one. */
static void put_string(const struct tape *t, uint32_t node, struct sink *out) {
    struct slice raw = tape_raw(t, node);
    if (!(tape_node(t, node)->flags & TAPE_RESPELT)) {
        put_run(out, raw.ptr, raw.len);
        return;
    }
    const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1, *from = p;
    buf_put_char(out->buf, '"');
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        if (p[1] != 'u' && p[1] != '/') { /* the short escapes are the canonical ones */
            p += 2;
            continue;
        }
        put_run(out, from, (size_t)(p - from));
        char piece[4];
        emit_escape(out->buf, slice_of(piece, tape_unescape(&p, piece)));
        from = p;
    }
    put_run(out, from, (size_t)(end - from));
    buf_put_char(out->buf, '"');
}

static void write_scalar(const struct tape *t, uint32_t node, struct arena *a, struct sink *out) {
    switch (tape_type(t, node)) {
    case TAPE_NUMBER:
        write_number(t, node, a, out);
        return;
    case TAPE_STRING:
        put_string(t, node, out);
        return;
    default:
        buf_put_slice(out->buf, tape_raw(t, node));
        return;
    }
}

static void write_tree(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                       struct sink *out) {
    struct frame stack[TAPE_DEPTH_MAX + 1];
    size_t depth = 0;
    uint32_t value = node;
    for (;;) {
        bool object = tape_is(t, value, TAPE_OBJECT);
        if (object || tape_is(t, value, TAPE_ARRAY)) {
            CHECK(depth <= TAPE_DEPTH_MAX);
            stack[depth++] =
                object ? open_object(t, value, value == node ? skip : NULL, a) : open_array(t, value, a);
            buf_put_char(out->buf, object ? '{' : '[');
        } else {
            write_scalar(t, value, a, out);
        }
        while (depth && stack[depth - 1].at == stack[depth - 1].count)
            buf_put_char(out->buf, stack[--depth].object ? '}' : ']');
        if (!depth || out->buf->full)
            return;
        if (sink_flows(out) && out->buf->len > CANON_HELD_MAX)
            sink_drain(out);
        struct frame *top = &stack[depth - 1];
        if (top->at)
            buf_put_char(out->buf, ',');
        value = top->order[top->at++];
        if (top->object) {
            put_string(t, value, out);
            buf_put_char(out->buf, ':');
            value++;
        }
    }
}

bool canon_write_without(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                         struct buf *out) {
    write_tree(t, node, skip, a, &(struct sink){.buf = out});
    return !out->full;
}

bool canon_write(const struct tape *t, uint32_t node, struct arena *a, struct buf *out) {
    return canon_write_without(t, node, NULL, a, out);
}

void canon_hash(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                struct buf *scratch, unsigned char ret_sum[SHA_BYTES]) {
    struct sha_state sum;
    struct sink out = {.buf = scratch, .sum = &sum};
    buf_reset(scratch);
    sha_begin(&sum);
    write_tree(t, node, skip, a, &out);
    CHECK(!scratch->full);
    sink_drain(&out);
    sha_end(&sum, ret_sum);
}

bool canon_parts(const struct tape *t, uint32_t node, struct arena *a, struct buf *scratch,
                 struct sha_text *ret_text) {
    uint32_t end = tape_node(t, node)->next, count = end - node;
    if (tape_raw(t, node).len < CANON_LONG_MIN || count > CANON_PARTS_NODES_MAX)
        return false;
    for (uint32_t i = node; i < end; i++)
        if (tape_is(t, i, TAPE_STRING) && tape_node(t, i)->flags & TAPE_RESPELT)
            return false; /* too many escapes, each of which would become a part */
    /* Each node adds at most three parts: the buffered bytes, its run, and the bytes after it. */
    struct sink out = {
        .buf = scratch, .arena = a, .parts = arena_alloc(a, sizeof(*out.parts) * 3 * (count + 1))};
    buf_reset(scratch);
    write_tree(t, node, NULL, a, &out);
    CHECK(!scratch->full);
    sink_drain(&out);
    *ret_text = (struct sha_text){out.parts, out.part_count};
    return true;
}
