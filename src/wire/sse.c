/* Server-sent events. A block is the run of lines up to an empty one; it is found first, by its line ends
 * alone, and read when it is whole:
 *
 *   event: message⏎ id: 7⏎ data: {"a":⏎ data: 1}⏎ ⏎
 *   ╰──────────────────── block ───────────────╯ ╰ ends it
 *
 * Data of several lines is moved together inside the block; that of one line, the common case, stays. */
#include "wire/sse.h"

static const char sse_bom[] = {'\xef', '\xbb', '\xbf'};

struct sse_block {
    char *base;
    char *first; /* of the data */
    size_t data_len;
    size_t data_lines;
    struct slice type;
    struct slice id;
    bool has_id;
    bool has_retry;
    uint64_t retry_ms;
};

void sse_reader_init(struct sse_reader *r) { *r = (struct sse_reader){0}; }

static bool sse_is_end(char c) { return c == '\n' || c == '\r'; }

/* First line end in in[from..len), or len. */
static size_t sse_find_end(const char *in, size_t from, size_t len) {
    if (from == len)
        return len;
    const char *lf = memchr(in + from, '\n', len - from);
    /* Stop at the LF; bytes after it are searched later. */
    size_t until = lf ? (size_t)(lf - in) : len;
    const char *cr = memchr(in + from, '\r', until - from);
    return cr ? (size_t)(cr - in) : until;
}

/* The empty line that ends the block which starts at in[0]: its offset, or len when it is not there yet. */
static size_t sse_find_block(const char *in, size_t from, size_t len) {
    for (size_t at = sse_find_end(in, from, len); at < len; at = sse_find_end(in, at + 1, len)) {
        if (at == 0)
            return at;
        if (in[at] == '\n' && in[at - 1] == '\r')
            continue; /* the second half of a CRLF */
        if (sse_is_end(in[at - 1]))
            return at;
    }
    return len;
}

/* Moves the data of a further line behind the data so far. This overwrites the bytes between, so slices that
 * point there must have been saved. */
static void sse_join(struct sse_block *b, const char *value, size_t len) {
    if (b->data_lines++ == 0) {
        b->first = b->base + (value - b->base);
        b->data_len = len;
        return;
    }
    b->first[b->data_len++] = '\n';
    memmove(b->first + b->data_len, value, len);
    b->data_len += len;
}

/* One line that is no comment. False when a field is over its ceiling. */
static bool sse_field(struct sse_block *b, struct slice line, bool data_only) {
    struct slice name, value = line;
    slice_cut(&value, ':', &name);
    if (value.len && value.ptr[0] == ' ')
        value = slice_from(value, 1);
    if (slice_eq(name, SLICE("data"))) {
        if (data_only)
            sse_join(b, value.ptr, value.len);
        return true;
    }
    if (data_only)
        return true;
    if (slice_eq(name, SLICE("event"))) {
        b->type = value;
        return value.len <= SSE_FIELD_MAX;
    }
    if (slice_eq(name, SLICE("id"))) {
        if (slice_find(value, '\0') < 0) {
            b->id = value;
            b->has_id = true;
        }
        return value.len <= SSE_FIELD_MAX;
    }
    if (slice_eq(name, SLICE("retry")) && slice_to_u64(value, &b->retry_ms))
        b->has_retry = true;
    return true;
}

static bool sse_lines(struct sse_block *b, size_t len, bool data_only) {
    const char *in = b->base;
    for (size_t at = 0; at < len;) {
        size_t end = sse_find_end(in, at, len);
        /* Empty only between the halves of a CRLF. */
        if (end > at && in[at] != ':' && !sse_field(b, slice_of(in + at, end - at), data_only))
            return false;
        at = end + 1;
    }
    return true;
}

/* Moves a saved slice to its place after the joined data. */
static size_t sse_restore(struct sse_block *b, struct slice *field, const char *copy, size_t behind) {
    if (b->data_lines < 2 || field->ptr < b->first)
        return behind;
    char *to = b->first + b->data_len + behind;
    memcpy(to, copy, field->len);
    *field = slice_of(to, field->len);
    return behind + field->len;
}

/* Reads a complete block. The line of each field is longer than its value, so there is room after joined
 * data for the type and the id that were between its lines. */
static bool sse_read_block(struct sse_block *b, char *in, size_t len) {
    char type[SSE_FIELD_MAX], id[SSE_FIELD_MAX];
    *b = (struct sse_block){.base = in};
    if (!sse_lines(b, len, false))
        return false;
    if (b->type.len)
        memcpy(type, b->type.ptr, b->type.len);
    if (b->id.len)
        memcpy(id, b->id.ptr, b->id.len);
    sse_lines(b, len, true);
    size_t behind = sse_restore(b, &b->type, type, 0);
    sse_restore(b, &b->id, id, behind);
    return true;
}

static void sse_fill_event(const struct sse_block *b, struct sse_event *out) {
    *out = (struct sse_event){
        .type = b->type.len ? b->type : SLICE("message"),
        .data = b->data_lines ? slice_of(b->first, b->data_len) : (struct slice){0},
        .id = b->id,
        .has_id = b->has_id,
        .has_data = b->data_lines > 0,
        .has_retry = b->has_retry,
        .retry_ms = b->retry_ms,
    };
}

/* Skips what may precede a block: the byte-order mark of the stream, or the LF of the previous CRLF. False
 * when more bytes are needed to decide. */
static bool sse_skip_front(struct sse_reader *r, const char *in, size_t len, size_t *at) {
    if (!r->started) {
        size_t shared = len < sizeof(sse_bom) ? len : sizeof(sse_bom);
        bool maybe = shared == 0 || memcmp(in, sse_bom, shared) == 0;
        if (maybe && shared < sizeof(sse_bom))
            return false;
        r->started = true;
        *at = maybe ? sizeof(sse_bom) : 0;
    }
    if (r->skip_lf && *at < len) {
        *at += in[*at] == '\n';
        r->skip_lf = false;
    }
    return true;
}

enum sse_step sse_next(struct sse_reader *r, char *in, size_t len, size_t *ret_used, struct sse_event *out) {
    for (size_t at = 0;;) {
        bool known = sse_skip_front(r, in, len, &at);
        *ret_used = at;
        if (!known)
            return SSE_MORE;
        size_t left = len - at, end = left ? sse_find_block(in + at, r->scanned, left) : 0;
        if (end == left) {
            r->scanned = left;
            return SSE_MORE;
        }
        struct sse_block b;
        bool fits = sse_read_block(&b, in + at, end);
        r->scanned = 0;
        r->skip_lf = in[at + end] == '\r';
        at += end + 1;
        *ret_used = at;
        if (!fits)
            return SSE_BAD;
        if (b.data_lines || b.has_id || b.has_retry) {
            sse_fill_event(&b, out);
            return SSE_EVENT;
        }
    }
}

/* ---- writing ---------------------------------------------------------------------------------------- */

/* A line end in a field could inject further fields or events. */
static bool sse_field_ok(struct slice s) {
    return s.len <= SSE_FIELD_MAX && slice_find(s, '\n') < 0 && slice_find(s, '\r') < 0 &&
           slice_find(s, '\0') < 0;
}

bool sse_write_head(struct buf *out, struct slice type, struct slice id) {
    size_t before = out->len;
    bool done = sse_field_ok(type) && sse_field_ok(id);
    if (type.len)
        done = done && buf_put_str(out, "event: ") && buf_put_slice(out, type) && buf_put_char(out, '\n');
    if (id.len)
        done = done && buf_put_str(out, "id: ") && buf_put_slice(out, id) && buf_put_char(out, '\n');
    done = done && buf_put_str(out, "data: ");
    if (!done)
        out->len = before;
    return done;
}

bool sse_write(struct buf *out, struct slice type, struct slice id, struct slice data) {
    size_t before = out->len;
    bool done = slice_find(data, '\n') < 0 && slice_find(data, '\r') < 0 && sse_write_head(out, type, id) &&
                buf_put_slice(out, data) && buf_put_slice(out, SSE_TAIL);
    if (!done)
        out->len = before;
    return done;
}
