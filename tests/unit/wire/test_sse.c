#include "wire/sse.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct sse_case {
    const char *name;
    struct slice in;
    const char *want; /* one line an event, as tell() writes it */
};

#define ROW(name, text, want)                                                                                \
    { name, {text, sizeof(text) - 1}, want }
#define BOM "\xef\xbb\xbf"

static const struct sse_case cases[] = {
    ROW("one", "data: a\n\n", "message|a\n"),
    ROW("no space", "data:a\n\n", "message|a\n"),
    ROW("two spaces", "data:  a\n\n", "message| a\n"),
    ROW("tab is no space", "data:\ta\n\n", "message|\ta\n"),
    ROW("typed", "event: x\ndata: a\n\n", "x|a\n"),
    ROW("typed behind the data", "data: a\nevent: x\n\n", "x|a\n"),
    ROW("empty type", "event:\ndata: a\n\n", "message|a\n"),
    ROW("last type wins", "event: x\nevent: y\ndata: a\n\n", "y|a\n"),
    ROW("type does not stay", "event: x\ndata: a\n\ndata: b\n\n", "x|a\nmessage|b\n"),
    ROW("two lines", "data: a\ndata: b\n\n", "message|a~b\n"),
    ROW("three lines, one empty", "data: a\ndata\ndata: c\n\n", "message|a~~c\n"),
    ROW("empty first line", "data:\ndata: b\n\n", "message|~b\n"),
    ROW("only empty data", "data:\n\n", "message|\n"),
    ROW("only the word data", "data\n\n", "message|\n"),
    ROW("two empty lines of data", "data\ndata\n\n", "message|~\n"),
    ROW("data with colons", "data: a:b: c\n\n", "message|a:b: c\n"),
    ROW("fields between the data", "data: a\nevent: typ\nid: 17\ndata: bbbbbbbbbbbbbbbbbbbbbbbbbbbb\n\n",
        "typ|a~bbbbbbbbbbbbbbbbbbbbbbbbbbbb|id=17\n"),
    ROW("fields all over",
        "id: 1\ndata: a\nid: 22\ndata: b\nevent: e1\ndata: c\nevent: e2\nid: 333\ndata: d\n\n",
        "e2|a~b~c~d|id=333\n"),
    ROW("type in front, id behind", "event: long-type-name\ndata: a\ndata: b\nid: 9\n\n",
        "long-type-name|a~b|id=9\n"),
    ROW("comment", ": hello\n\n", ""),
    ROW("comment in an event", "data: a\n: x\ndata: b\n\n", "message|a~b\n"),
    ROW("empty comment", ":\n\n:\n\ndata: a\n\n", "message|a\n"),
    ROW("many empty lines", "\n\n\n\r\n\r\r\ndata: a\n\n\n\n", "message|a\n"),
    ROW("only a type", "event: x\n\n", ""),
    ROW("unknown field", "foo: x\nDATA: y\n data: z\n\n", ""),
    ROW("unknown and known", "datax: y\ndata: z\n\n", "message|z\n"),
    ROW("id", "id: 7\ndata: a\n\n", "message|a|id=7\n"),
    ROW("id alone", "id: 7\n\n", "-|id=7\n"),
    ROW("empty id", "id\n\n", "-|id=\n"),
    ROW("id with NUL", "id: a\0b\ndata: x\n\n", "message|x\n"),
    ROW("retry", "retry: 1500\n\n", "-|retry=1500\n"),
    ROW("retry not a number", "retry: 15s\n\n", ""),
    ROW("retry signed", "retry: -1\n\n", ""),
    ROW("retry too large", "retry: 99999999999999999999999\n\n", ""),
    ROW("all", "event: e\nid: i\nretry: 5\ndata: d\n\n", "e|d|id=i|retry=5\n"),
    ROW("CRLF", "event: x\r\ndata: a\r\ndata: b\r\n\r\n", "x|a~b\n"),
    ROW("CR", "event: x\rdata: a\rdata: b\r\r", "x|a~b\n"),
    ROW("mixed ends", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r\ndata: e\n\r",
        "message|a~b~c\nmessage|d\nmessage|e\n"),
    ROW("CRLF blocks in a row", "data: a\r\n\r\ndata: b\r\n\r\n", "message|a\nmessage|b\n"),
    ROW("CR then LF is one end", "data: a\r\n\ndata: b\r\n\n", "message|a\nmessage|b\n"),
    ROW("byte-order mark", BOM "data: a\n\n", "message|a\n"),
    ROW("two byte-order marks", BOM BOM "data: a\n\ndata: b\n\n", "message|b\n"),
    ROW("byte-order mark later", "data: a\n\n" BOM "data: b\n\n", "message|a\n"),
    ROW("half a byte-order mark",
        "\xef\xbb"
        "data: a\n\ndata: b\n\n",
        "message|b\n"),
    ROW("unfinished", "data: a\n\ndata: b\n", "message|a\n"),
    ROW("unfinished line", "data: a", ""),
    ROW("nothing", "", ""),
    ROW("NUL in data", "data: a\0b\n\n", "message|a#b\n"),
};

/* Line ends and NUL are made visible, so that one event is one line. */
static void tell(struct buf *out, const struct sse_event *e) {
    if (e->has_data) {
        buf_put_slice(out, e->type);
        buf_put_char(out, '|');
        for (size_t i = 0; i < e->data.len; i++)
            buf_put_char(out, e->data.ptr[i] == '\n' ? '~' : e->data.ptr[i] ? e->data.ptr[i] : '#');
    } else {
        buf_put_char(out, '-');
        assert_int_equal(e->data.len, 0);
    }
    if (e->has_id)
        buf_printf(out, "|id=%.*s", SLICE_FMT(e->id));
    if (e->has_retry)
        buf_printf(out, "|retry=%llu", (unsigned long long)e->retry_ms);
    buf_put_char(out, '\n');
}

struct feed {
    struct sse_reader reader;
    char *pending;
    size_t len;
    struct buf told;
};

static void feed_open(struct feed *f) {
    *f = (struct feed){0};
    sse_reader_init(&f->reader);
    buf_init(&f->told, 1 << 20);
}

static void feed_close(struct feed *f) {
    free(f->pending);
    buf_free(&f->told);
}

/* The pending bytes get memory of exactly their length each time. */
static void feed_bytes(struct feed *f, const char *ptr, size_t len) {
    char *grown = mem_alloc(f->len + len);
    if (f->len)
        memcpy(grown, f->pending, f->len);
    if (len)
        memcpy(grown + f->len, ptr, len);
    free(f->pending);
    f->pending = grown;
    f->len += len;
    for (enum sse_step step = SSE_EVENT; step == SSE_EVENT;) {
        struct sse_event e;
        size_t used;
        step = sse_next(&f->reader, f->pending, f->len, &used, &e);
        assert_true(used <= f->len);
        if (step == SSE_EVENT)
            tell(&f->told, &e);
        else
            assert_int_equal(step, SSE_MORE);
        f->len -= used;
        memmove(f->pending, f->pending + used, f->len);
    }
}

static void check(const struct sse_case *c, struct feed *f, size_t a, size_t b) {
    if (!slice_is(buf_slice(&f->told), c->want))
        fail_msg("%s, split at %zu and %zu: told `%.*s`", c->name, a, b, SLICE_FMT(buf_slice(&f->told)));
    feed_close(f);
}

static void test_every_split(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct slice in = cases[i].in;
        for (size_t a = 0; a <= in.len; a++)
            for (size_t b = a; b <= in.len; b++) {
                struct feed f;
                feed_open(&f);
                feed_bytes(&f, in.ptr, a);
                feed_bytes(&f, in.ptr + a, b - a);
                feed_bytes(&f, in.ptr + b, in.len - b);
                check(&cases[i], &f, a, b);
            }
    }
}

static void test_byte_by_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct feed f;
        feed_open(&f);
        for (size_t at = 0; at < cases[i].in.len; at++)
            feed_bytes(&f, cases[i].in.ptr + at, 1);
        check(&cases[i], &f, 1, 1);
    }
}

/* An event is delivered as soon as its empty line has begun: a CR may be all of it. */
static void test_told_at_once(void **state) {
    (void)state;
    struct feed f;
    feed_open(&f);
    feed_bytes(&f, "data: a\r\n\r", 10);
    assert_true(slice_is(buf_slice(&f.told), "message|a\n"));
    feed_bytes(&f, "\ndata: b\n\n", 10);
    assert_true(slice_is(buf_slice(&f.told), "message|a\nmessage|b\n"));
    assert_int_equal(f.len, 0);
    feed_close(&f);
}

static void test_field_ceilings(void **state) {
    (void)state;
    static const char *const names[] = {"event", "id"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (size_t over = 0; over <= 1; over++) {
            cleanup_buf struct buf b;
            struct sse_reader r;
            struct sse_event e;
            size_t used;
            buf_init(&b, 1 << 20);
            buf_printf(&b, "data: 1\n%s: ", names[i]);
            for (size_t n = 0; n < SSE_FIELD_MAX + over; n++)
                buf_put_char(&b, 'x');
            buf_put_str(&b, "\ndata: 2\n\n");
            sse_reader_init(&r);
            assert_int_equal(sse_next(&r, b.ptr, b.len, &used, &e), over ? SSE_BAD : SSE_EVENT);
            assert_int_equal(used, b.len);
            if (!over)
                assert_int_equal(i ? e.id.len : e.type.len, SSE_FIELD_MAX);
        }
}

/* A long line in many pieces is searched once: with a second look at all of it for each piece, this would
 * be a quarter of a million megabytes and not end. */
static void test_long_line_is_linear(void **state) {
    (void)state;
    enum { LEN = 24 << 20, PIECE = 1024 };
    cleanup_free char *in = mem_alloc(LEN);
    memset(in, 'x', LEN);
    memcpy(in, "data:", 5);
    memcpy(in + LEN - 2, "\n\n", 2);
    struct sse_reader r;
    struct sse_event e;
    size_t used;
    sse_reader_init(&r);
    for (size_t len = PIECE; len < LEN; len += PIECE) {
        assert_int_equal(sse_next(&r, in, len, &used, &e), SSE_MORE);
        assert_int_equal(used, 0);
        assert_int_equal(r.scanned, len);
    }
    assert_int_equal(sse_next(&r, in, LEN, &used, &e), SSE_EVENT);
    assert_int_equal(e.data.len, LEN - 7);
    assert_ptr_equal(e.data.ptr, in + 5);
}

static void test_write(void **state) {
    (void)state;
    struct slice none = {0};
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 16);
    assert_true(sse_write(&b, SLICE("message"), SLICE("7"), SLICE("{}")));
    assert_true(sse_write(&b, none, none, SLICE("x")));
    assert_true(sse_write(&b, none, SLICE("8"), none));
    assert_true(sse_write_head(&b, SLICE("t"), none));
    assert_true(slice_is(buf_slice(&b), "event: message\nid: 7\ndata: {}\n\ndata: x\n\nid: 8\ndata: \n\n"
                                        "event: t\ndata: "));
}

static void test_write_refuses_line_ends(void **state) {
    (void)state;
    struct slice none = {0};
    static const struct slice bad[] = {{"a\nb", 3}, {"a\rb", 3}, {"\n", 1}};
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(sse_write(&b, bad[i], none, none));
        assert_false(sse_write(&b, none, bad[i], none));
        assert_false(sse_write(&b, none, none, bad[i]));
    }
    assert_false(sse_write(&b, none, slice_of("a\0b", 3), none));
    char field[SSE_FIELD_MAX + 1];
    memset(field, 'x', sizeof(field));
    assert_false(sse_write_head(&b, slice_of(field, sizeof(field)), none));
    assert_true(sse_write_head(&b, slice_of(field, sizeof(field) - 1), none));
}

static void test_write_is_all_or_nothing(void **state) {
    (void)state;
    for (size_t max = 0; max < 40; max++) {
        cleanup_buf struct buf b;
        buf_init(&b, max);
        bool done = sse_write(&b, SLICE("type"), SLICE("id"), SLICE("data"));
        assert_int_equal(done, max >= strlen("event: type\nid: id\ndata: data\n\n"));
        assert_int_equal(b.len > 0, done);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    struct feed f;
    cleanup_buf struct buf b;
    buf_init(&b, 1 << 16);
    sse_write(&b, SLICE("e"), SLICE("1"), SLICE(" {\"a\": 1}"));
    sse_write(&b, (struct slice){0}, (struct slice){0}, SLICE(""));
    feed_open(&f);
    feed_bytes(&f, b.ptr, b.len);
    assert_true(slice_is(buf_slice(&f.told), "e| {\"a\": 1}|id=1\nmessage|\n"));
    feed_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_told_at_once),
        cmocka_unit_test(test_field_ceilings),
        cmocka_unit_test(test_long_line_is_linear),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_refuses_line_ends),
        cmocka_unit_test(test_write_is_all_or_nothing),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
