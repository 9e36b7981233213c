/* What is mended has no fault of its characters any more, and is not mended again. A text that the strict
 * reader takes is never touched. */
#include "wire/mend.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    cleanup_buf struct buf out, again;
    struct slice text = slice_of((const char *)data, size);
    tape_init(&t);
    arena_init(&a);
    buf_init(&out, size * 3 + 16);
    buf_init(&again, size * 9 + 64);
    char *copy = fuzz_copy(text);
    text.ptr = copy;
    bool mended = mend_text(text, &out);
    enum tape_fault fault = tape_parse(&t, text, NULL);
    CHECK(fault != TAPE_OK || !mended);
    if (mended) {
        fault = tape_parse(&t, buf_slice(&out), NULL);
        CHECK(fault != TAPE_UTF8 && fault != TAPE_SURROGATE);
        CHECK(!mend_text(buf_slice(&out), &again));
    }
    buf_reset(&again);
    if (fault == TAPE_OK && mend_envelope(&t, &a, &again)) {
        cleanup_tape struct tape after;
        tape_init(&after);
        CHECK(tape_parse(&after, buf_slice(&again), NULL) == TAPE_OK);
        CHECK(tape_node(&after, 0)->count <= tape_node(&t, 0)->count);
    }
    free(copy);
    return 0;
}
