/* Canonical JSON is valid, and its own canonical form; its hash does not depend on how it was gathered. */
#include "wire/canon.h"
#include "base/buf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_free char *text = fuzz_copy(slice_of((const char *)data, size));
    cleanup_tape struct tape t, again;
    cleanup_arena struct arena a;
    cleanup_buf struct buf first, second;
    tape_init(&t);
    tape_init(&again);
    arena_init(&a);
    buf_init(&first, 1 << 24);
    buf_init(&second, 1 << 24);
    if (tape_parse(&t, slice_of(text, size), NULL) != TAPE_OK)
        return 0;
    CHECK(canon_write(&t, 0, &a, &first));
    CHECK(tape_parse(&again, buf_slice(&first), NULL) == TAPE_OK);
    CHECK(again.count == t.count);
    CHECK(canon_write(&again, 0, &a, &second));
    CHECK(slice_eq(buf_slice(&first), buf_slice(&second)));
    unsigned char sum[SHA_BYTES], whole[SHA_BYTES];
    canon_hash(&t, 0, NULL, &a, &second, sum);
    sha_256(&(struct slice){first.ptr, first.len}, 1, whole);
    CHECK(memcmp(sum, whole, SHA_BYTES) == 0);
    struct sha_text parts;
    unsigned char sums[2][SHA_BYTES];
    if (!canon_parts(&t, 0, &a, &second, &parts))
        return 0;
    sha_256_two((struct sha_text[]){parts, {&(struct slice){first.ptr, first.len}, 1}}, sums);
    CHECK(memcmp(sums[0], whole, SHA_BYTES) == 0 && memcmp(sums[1], whole, SHA_BYTES) == 0);
    return 0;
}
