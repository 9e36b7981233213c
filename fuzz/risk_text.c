/* Any bytes as a text under the detectors; what is stripped has nothing left to strip. */
#include "base/buf.h"
#include "fuzz.h"
#include "risk/confusable.h"
#include "risk/poison.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_free char *text = fuzz_copy(slice_of((const char *)data, size));
    struct slice in = slice_of(text, size);
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_findings f = {0};
    risk_poison_text(NULL, NULL, in, SLICE("x"), &a, &f);
    CHECK(f.count <= RISK_FINDINGS_MAX);
    if (!tape_utf8_valid(in))
        return 0;
    struct slice shown = glyph_printable(in, 64, &a);
    CHECK(shown.len <= 80 && tape_utf8_valid(shown));
    CHECK(tape_utf8_valid(risk_skeleton(in, &a)));
    cleanup_buf struct buf out;
    buf_init(&out, size + 1);
    CHECK(risk_strip(in, &out) && out.len <= size && tape_utf8_valid(buf_slice(&out)));
    return 0;
}
