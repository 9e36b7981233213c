/* A request head: any front part of it is either not enough or refused like the whole; what is accepted is
 * clean by an independent look, and reads the same when it is written again. Input: two bytes for the length
 * of the front part, then the head. */
#include "base/buf.h"
#include "fuzz.h"
#include "wire/http.h"

static int parse_copy(struct slice in, struct http_head *out, char **ret_copy) {
    const char *why = NULL;
    *ret_copy = fuzz_copy(in);
    int got = http_parse_request(slice_of(*ret_copy, in.len), out, &why);
    CHECK(got >= 0 || (why && -got >= 400 && -got < 600));
    CHECK(got <= (int)in.len);
    return got;
}

/* CR and LF only together, no other control byte but tab, once the head is accepted. */
static void check_bytes(struct slice head) {
    for (size_t i = 0; i < head.len; i++) {
        unsigned char c = (unsigned char)head.ptr[i];
        CHECK(c >= 0x20 ? c != 0x7f : c == '\t' || c == '\r' || c == '\n');
        CHECK(c != '\r' || (i + 1 < head.len && head.ptr[i + 1] == '\n'));
        CHECK(c != '\n' || (i > 0 && head.ptr[i - 1] == '\r'));
    }
}

static size_t count_of(const struct http_head *h, struct slice name) {
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        count += slice_eq_nocase(h->headers[i].name, name);
    return count;
}

static void check_framing(const struct http_head *h) {
    size_t length = count_of(h, SLICE("content-length")), coding = count_of(h, SLICE("transfer-encoding"));
    CHECK(length + coding <= 1 && count_of(h, SLICE("host")) <= 1);
    CHECK((h->body == HTTP_BODY_CHUNKED) == (coding == 1));
    CHECK(h->body != HTTP_BODY_LENGTH || (length == 1 && h->body_len > 0));
    CHECK(h->body != HTTP_BODY_CLOSE);
    CHECK(h->minor == 0 || count_of(h, SLICE("host")) == 1);
    CHECK(h->target.ptr[0] == '/' || slice_is(h->target, "*"));
    CHECK(slice_starts(h->target, h->path) && slice_ends(h->target, h->query));
    CHECK(slice_find(h->path, '?') < 0);
}

static void check_again(const struct http_head *h) {
    cleanup_buf struct buf b;
    struct http_head again;
    const char *why;
    buf_init(&b, 2 * HTTP_HEAD_MAX);
    buf_printf(&b, "%.*s %.*s HTTP/1.%d\r\n", SLICE_FMT(h->method_text), SLICE_FMT(h->target), h->minor);
    for (size_t i = 0; i < h->count; i++) {
        CHECK(http_token_ok(h->headers[i].name) && http_value_ok(h->headers[i].value));
        buf_put_slice(&b, h->headers[i].name);
        buf_put_char(&b, ':');
        buf_put_slice(&b, h->headers[i].value);
        buf_put_str(&b, "\r\n");
    }
    buf_put_str(&b, "\r\n");
    CHECK(http_parse_request(buf_slice(&b), &again, &why) == (int)b.len);
    CHECK(again.method == h->method && again.body == h->body && again.body_len == h->body_len);
    CHECK(again.keep_alive == h->keep_alive && again.expect_continue == h->expect_continue);
    CHECK(again.count == h->count && slice_eq(again.path, h->path) && slice_eq(again.query, h->query));
    for (size_t i = 0; i < h->count; i++)
        CHECK(slice_eq(again.headers[i].value, h->headers[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    size_t front = fuzz_length(&in, size);
    struct http_head whole, part;
    cleanup_free char *copy = NULL, *part_copy = NULL;
    int got = parse_copy(in, &whole, &copy);
    int first = parse_copy(slice_upto(in, front), &part, &part_copy);
    if (got > 0 && front >= (size_t)got)
        CHECK(first == got);
    else
        CHECK(first == 0 || (first < 0 && first == got));
    if (got <= 0)
        return 0;
    CHECK(whole.head_len == (size_t)got);
    check_bytes(slice_of(copy, whole.head_len));
    check_framing(&whole);
    check_again(&whole);
    return 0;
}
