/* A response head: any front part of it is either not enough or refused like the whole, and bodies are there
 * only where they may be. Input: one byte for the method it answers, two for the length of the front part,
 * then the head. */
#include "fuzz.h"
#include "wire/http.h"

static int parse_copy(struct slice in, enum http_method to, struct http_head *out, char **ret_copy) {
    const char *why = NULL;
    *ret_copy = fuzz_copy(in);
    int got = http_parse_response(slice_of(*ret_copy, in.len), to, out, &why);
    CHECK(got <= (int)in.len && (got >= 0 || why));
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    enum http_method to = fuzz_byte(&in) % 2 ? HTTP_HEAD : HTTP_POST;
    size_t front = fuzz_length(&in, size);
    struct http_head whole, part;
    cleanup_free char *copy = NULL, *part_copy = NULL;
    int got = parse_copy(in, to, &whole, &copy);
    int first = parse_copy(slice_upto(in, front), to, &part, &part_copy);
    if (got > 0 && front >= (size_t)got)
        CHECK(first == got);
    else
        CHECK(first == 0 || (first < 0 && first == got));
    if (got <= 0)
        return 0;
    bool none = to == HTTP_HEAD || whole.status < 200 || whole.status == 204 || whole.status == 304;
    CHECK(whole.status >= 100 && whole.status < 600 && whole.status != 101);
    CHECK(!none || whole.body == HTTP_BODY_NONE);
    CHECK(whole.body != HTTP_BODY_CLOSE || !whole.keep_alive);
    CHECK(whole.body != HTTP_BODY_LENGTH || whole.body_len > 0);
    CHECK(http_value_ok(whole.reason));
    for (size_t i = 0; i < whole.count; i++)
        CHECK(http_token_ok(whole.headers[i].name) && http_value_ok(whole.headers[i].value));
    return 0;
}
