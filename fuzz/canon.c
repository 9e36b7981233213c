/* Canonical JSON is valid, and its own canonical form. */
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
    return 0;
}
