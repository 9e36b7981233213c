/* Streams: the same output however the bytes arrive. */
#include "filter_test.h"

static struct slice run(struct rig *r, struct slice text, size_t piece, struct buf *out) {
    struct filter_stream *st = filter_stream_new(r->scope, &r->opt);
    buf_init(out, FILTER_OUT_MAX);
    for (size_t at = 0; at < text.len; at += piece) {
        const size_t before = out->len;
        assert_int_equal(filter_stream_feed(st, slice_upto(slice_from(text, at), piece), out, &r->report),
                         FILTER_CHANGED);
        assert_true(out->len >= before);
    }
    assert_int_equal(filter_stream_end(st, out, &r->report), FILTER_CHANGED);
    filter_stream_free(st);
    return buf_slice(out);
}

static const char sample[] =
    "Phone:\n467 3395\nmail bob@example.org, card 4111 1111 1111 1111\n"
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n"
    "-----END RSA PRIVATE KEY-----\nip=192.0.2.17 token [EMAIL_7K3QX9M2] \xc3\xa9nd\n";

static void every_split_point(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    struct buf whole, cut;
    const struct slice text = slice_of(sample, sizeof(sample) - 1);
    const struct slice want = run(&r, text, text.len, &whole);
    cleanup_free char *plain = rig_hide(&r, sample);
    assert_int_equal(strlen(plain), want.len);
    assert_memory_equal(plain, want.ptr, want.len);
    for (size_t at = 1; at < text.len; at++) {
        struct filter_stream *st = filter_stream_new(r.scope, &r.opt);
        buf_init(&cut, FILTER_OUT_MAX);
        filter_stream_feed(st, slice_upto(text, at), &cut, &r.report);
        filter_stream_feed(st, slice_from(text, at), &cut, &r.report);
        filter_stream_end(st, &cut, &r.report);
        assert_int_equal(cut.len, want.len);
        assert_memory_equal(cut.ptr, want.ptr, want.len);
        buf_free(&cut);
        filter_stream_free(st);
    }
    buf_free(&whole);
    rig_free(&r);
}

/* Long enough for several blocks: pieces of 1 to 64 bytes, and what is held back stays bounded. */
static void every_piece_size(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_buf struct buf text;
    buf_init(&text, FILTER_OUT_MAX);
    for (int i = 0; i < 150; i++)
        buf_printf(&text, "%s line %d user%d@example.org %s\n", sample, i, i,
                   i % 3 ? "" : "no break in this one");
    struct buf whole;
    const struct slice want = run(&r, buf_slice(&text), text.len, &whole);
    for (size_t piece = 1; piece <= 64; piece++) {
        struct buf cut;
        const struct slice have = run(&r, buf_slice(&text), piece, &cut);
        assert_int_equal(have.len, want.len);
        assert_memory_equal(have.ptr, want.ptr, want.len);
        buf_free(&cut);
    }
    assert_null(memmem(want.ptr, want.len, "@example.org", 12));
    assert_null(memmem(want.ptr, want.len, "MzEfYyji", 8));
    struct buf back;
    buf_init(&back, FILTER_OUT_MAX);
    assert_int_equal(filter_restore_text(r.scope, &r.rules, want, &back, &r.report), FILTER_CHANGED);
    assert_int_equal(back.len, text.len);
    assert_memory_equal(back.ptr, text.ptr, text.len);
    buf_free(&back);
    buf_free(&whole);
    rig_free(&r);
}

static void held_back_bytes_are_bounded(void **state) {
    (void)state;
    struct rig r;
    rig_init(&r, 1);
    cleanup_buf struct buf out;
    buf_init(&out, FILTER_OUT_MAX);
    struct filter_stream *st = filter_stream_new(r.scope, &r.opt);
    char piece[1000];
    memset(piece, 'x', sizeof(piece));
    size_t fed = 0;
    for (int i = 0; i < 200; i++) {
        filter_stream_feed(st, slice_of(piece, sizeof(piece)), &out, &r.report);
        fed += sizeof(piece);
        assert_true(fed - out.len <= FILTER_STREAM_BLOCK);
    }
    filter_stream_free(st);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_point),
        cmocka_unit_test(every_piece_size),
        cmocka_unit_test(held_back_bytes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
