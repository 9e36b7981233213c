/* A chunked body comes out the same in any pieces, decoded in place or elsewhere. Input: one byte for the
 * size of the pieces, then the body. */
#include "fuzz.h"
#include "wire/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    size_t piece = 1 + fuzz_byte(&in) % 32;
    cleanup_free char *whole = mem_alloc(in.len), *place = fuzz_copy(in);
    struct http_chunked c;
    size_t used, len, at = 0, made = 0;
    http_chunked_init(&c);
    enum http_step want = http_chunked_decode(&c, in.ptr, in.len, whole, &used, &len);
    CHECK(used <= in.len && len <= used && (want != HTTP_MORE || used == in.len));
    enum http_step got = HTTP_MORE;
    http_chunked_init(&c);
    while (got == HTTP_MORE && at < in.len) {
        size_t some = piece < in.len - at ? piece : in.len - at, some_used, some_made;
        got = http_chunked_decode(&c, place + at, some, place + made, &some_used, &some_made);
        CHECK(some_used <= some && (got != HTTP_MORE || some_used == some));
        at += some_used;
        made += some_made;
    }
    CHECK(got == want && at == used && made == len);
    CHECK(slice_eq(slice_of(whole, len), slice_of(place, made)));
    return 0;
}
