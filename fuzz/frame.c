/* What a guest writes on the bridge: every frame of the input, read as the gate does. */
#include "fuzz.h"
#include "runner/sandbox_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice rest = slice_of((const char *)data, size);
    struct tape t;
    struct arena a;
    tape_init(&t);
    arena_init(&a);
    for (;;) {
        struct sandbox_frame f;
        struct sandbox_frame_call call;
        struct sandbox_frame_progress progress;
        struct sandbox_frame_done done;
        struct slice mime, bytes;
        size_t want = 0;
        const enum sandbox_read got = sandbox_frame_read(rest, &f, &want);
        if (got != SANDBOX_READ_OK) {
            CHECK(got == SANDBOX_READ_BAD || want > rest.len);
            break;
        }
        CHECK(want <= rest.len && f.body.len + FRAME_HEAD_BYTES == want);
        if (sandbox_frame_call(f.body, &t, &a, &call) == NULL)
            CHECK(call.args.len >= 2 && call.args.ptr[0] == '{');
        sandbox_frame_progress(f.body, &t, &a, &progress);
        sandbox_frame_done(f.body, &t, &a, &done);
        if (sandbox_frame_image(f.body, &mime, &bytes))
            CHECK(mime.len + bytes.len + 1 == f.body.len);
        rest = slice_from(rest, want);
        arena_reset(&a);
    }
    arena_free(&a);
    tape_free(&t);
    return 0;
}
