/* Mirrored headers: what is encoded comes back, a header made from arguments agrees with them, and no schema
 * or header value breaks the reader. */
#include "wire/mirror.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_params(const struct tape *t, struct arena *a) {
    struct mirror_param *params;
    size_t count;
    if (t->count < 2 || !mirror_params(t, 1, a, &params, &count)) /* node 0 never names a schema */
        return;
    for (size_t i = 0; i < count; i++) {
        cleanup_buf struct buf value;
        buf_init(&value, 1 << 20);
        bool there = mirror_value(t, 1, &params[i], a, &value);
        if (there && !value.full)
            CHECK(mirror_agrees(t, 1, &params[i], buf_slice(&value), a));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice text = slice_of((const char *)data, size);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice decoded;
    mirror_decode(text, &a, &decoded);
    if (tape_utf8_valid(text)) {
        cleanup_buf struct buf out;
        buf_init(&out, size * 2 + 64);
        CHECK(mirror_encode(text, &out));
        CHECK(mirror_decode(buf_slice(&out), &a, &decoded) && slice_eq(decoded, text));
    }
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, text, NULL) == TAPE_OK)
        check_params(&t, &a);
    return 0;
}
