#include "runner/sandbox_output.h"

#include "base/mem.h"
#include "runner/shape.h"

#define LINE_MAX_BYTES 64 /* bytes of the line that counts the omitted bytes */

void sandbox_output_init(struct sandbox_output *o, size_t max) { *o = (struct sandbox_output){.max = max}; }

void sandbox_output_free(struct sandbox_output *o) {
    free(o->bytes);
    o->bytes = NULL;
}

static size_t head_of(const struct sandbox_output *o) { return o->max / 2; }

void sandbox_output_put(struct sandbox_output *o, struct slice bytes) {
    const size_t head = head_of(o), ring = o->max - head;
    if (!o->bytes && bytes.len)
        o->bytes = mem_alloc(o->max);
    while (bytes.len) {
        const size_t at =
            o->written < head ? (size_t)o->written : head + (size_t)((o->written - head) % ring);
        const size_t room = (o->written < head ? head : o->max) - at;
        const size_t take = bytes.len < room ? bytes.len : room;
        memcpy(o->bytes + at, bytes.ptr, take);
        o->written += take;
        bytes = slice_from(bytes, take);
    }
}

bool sandbox_output_cut(const struct sandbox_output *o) { return o->written > o->max; }

struct slice sandbox_output_text(const struct sandbox_output *o, struct arena *a) {
    if (!sandbox_output_cut(o))
        return slice_of(o->bytes, (size_t)o->written);
    const size_t head = head_of(o), ring = o->max - head, at = (size_t)((o->written - head) % ring);
    char *tail = arena_alloc(a, ring);
    memcpy(tail, o->bytes + head + at, ring - at);
    memcpy(tail + ring - at, o->bytes + head, at);
    struct slice first =
                     shape_text(slice_of(o->bytes, head), head > LINE_MAX_BYTES ? head - LINE_MAX_BYTES : 0),
                 last = slice_of(tail, ring);
    while (last.len && ((unsigned char)last.ptr[0] & 0xc0) == 0x80)
        last = slice_from(last, 1);
    return arena_printf(a, "%.*s\n[... %llu bytes are left out here ...]\n%.*s", SLICE_FMT(first),
                        (unsigned long long)(o->written - first.len - last.len), SLICE_FMT(last));
}
