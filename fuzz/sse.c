/* An event stream gives the same events however it is split, and the same as a plain reading of the standard,
 * line by line. Input: one byte for the size of the pieces, then the stream. */
#include "wire/sse.h"
#include "base/buf.h"
#include "fuzz.h"

static void put_event(struct buf *out, const struct sse_event *e) {
    buf_put_slice(out, e->has_data ? e->type : SLICE("(none)"));
    buf_put_char(out, '\0');
    buf_put_slice(out, e->data);
    buf_printf(out, "|%d%d|", e->has_data, e->has_id);
    if (e->has_id)
        buf_put_slice(out, e->id);
    buf_printf(out, "|%llu\n", e->has_retry ? (unsigned long long)e->retry_ms + 1 : 0);
}

/* By pieces, through the reader; stops at a field over its ceiling. */
static void read_pieces(struct slice in, size_t piece, struct buf *out) {
    struct sse_reader r;
    char *pending = NULL;
    size_t len = 0;
    enum sse_step step = SSE_MORE;
    sse_reader_init(&r);
    while (in.len && step != SSE_BAD) {
        struct slice some = slice_upto(in, piece);
        char *grown = mem_alloc(len + some.len);
        if (len)
            memcpy(grown, pending, len);
        memcpy(grown + len, some.ptr, some.len);
        free(pending);
        pending = grown;
        len += some.len;
        in = slice_from(in, some.len);
        do {
            struct sse_event e;
            size_t used;
            step = sse_next(&r, pending, len, &used, &e);
            CHECK(used <= len);
            if (step == SSE_EVENT)
                put_event(out, &e);
            len -= used;
            memmove(pending, pending + used, len);
        } while (step == SSE_EVENT);
    }
    free(pending);
}

struct model {
    struct buf *out;
    struct buf data;
    struct sse_event e;
    bool bad;
};

static void model_line(struct model *m, struct slice line) {
    struct slice name, value = line;
    if (line.len == 0) {
        m->e.data = buf_slice(&m->data);
        if (m->e.type.len == 0)
            m->e.type = SLICE("message");
        if ((m->e.has_data || m->e.has_id || m->e.has_retry) && !m->bad)
            put_event(m->out, &m->e);
        m->e = (struct sse_event){0};
        buf_reset(&m->data);
        return;
    }
    slice_cut(&value, ':', &name);
    if (value.len && value.ptr[0] == ' ')
        value = slice_from(value, 1);
    if (slice_is(name, "data")) {
        if (m->e.has_data)
            buf_put_char(&m->data, '\n');
        buf_put_slice(&m->data, value);
        m->e.has_data = true;
    } else if (slice_is(name, "event")) {
        m->e.type = value;
        m->bad |= value.len > SSE_FIELD_MAX;
    } else if (slice_is(name, "id")) {
        if (slice_find(value, '\0') < 0) {
            m->e.id = value;
            m->e.has_id = true;
        }
        m->bad |= value.len > SSE_FIELD_MAX;
    } else if (slice_is(name, "retry")) {
        m->e.has_retry |= slice_to_u64(value, &m->e.retry_ms);
    }
}

static void read_model(struct slice in, struct buf *out) {
    struct model m = {.out = out};
    buf_init(&m.data, in.len + 1);
    if (slice_starts(in, SLICE("\xef\xbb\xbf")))
        in = slice_from(in, 3);
    /* What a field over its ceiling stops is the block that holds it and all behind. */
    while (in.len && !m.bad) {
        size_t end = 0;
        while (end < in.len && in.ptr[end] != '\n' && in.ptr[end] != '\r')
            end++;
        if (end == in.len)
            break;
        model_line(&m, slice_upto(in, end));
        end += in.ptr[end] == '\r' && end + 1 < in.len && in.ptr[end + 1] == '\n' ? 2 : 1;
        in = slice_from(in, end);
    }
    buf_free(&m.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    size_t piece = 1 + fuzz_byte(&in) % 32;
    cleanup_buf struct buf whole, pieces, model;
    buf_init(&whole, size * 64 + 64);
    buf_init(&pieces, size * 64 + 64);
    buf_init(&model, size * 64 + 64);
    read_pieces(in, in.len, &whole);
    read_pieces(in, piece, &pieces);
    read_model(in, &model);
    CHECK(!whole.full && !pieces.full && !model.full);
    CHECK(slice_eq(buf_slice(&whole), buf_slice(&pieces)));
    CHECK(slice_eq(buf_slice(&whole), buf_slice(&model)));
    return 0;
}
