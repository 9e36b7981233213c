#include "runner/sandbox_frame.h"

#include "base/buf.h"
#include "runner/limits.h"

#include <endian.h>
#include <math.h>

/* The largest body of each frame type that a sandbox may send; 0 for types that it may not send. */
static size_t body_max(uint32_t kind) {
    switch (kind) {
    case FRAME_CALL:
    case FRAME_DONE:
    case FRAME_IMAGE:
        return FRAME_GUEST_MAX;
    case FRAME_PROGRESS:
        return FRAME_TEXT_MAX;
    default:
        return 0;
    }
}

enum sandbox_read sandbox_frame_read(struct slice bytes, struct sandbox_frame *ret_frame, size_t *ret_want) {
    uint32_t words[3];
    *ret_want = FRAME_HEAD_BYTES;
    if (bytes.len < FRAME_HEAD_BYTES)
        return SANDBOX_READ_AGAIN;
    memcpy(words, bytes.ptr, sizeof(words));
    const uint32_t length = le32toh(words[0]), id = le32toh(words[1]), kind = le32toh(words[2]);
    if (length > body_max(kind) || length == 0 || (kind == FRAME_CALL) != (id != 0))
        return SANDBOX_READ_BAD;
    *ret_want = FRAME_HEAD_BYTES + (size_t)length;
    if (bytes.len < *ret_want)
        return SANDBOX_READ_AGAIN;
    *ret_frame =
        (struct sandbox_frame){(enum frame_kind)kind, id, slice_of(bytes.ptr + FRAME_HEAD_BYTES, length)};
    return SANDBOX_READ_OK;
}

void sandbox_frame_head(struct buf *out, enum frame_kind kind, uint32_t id, size_t length) {
    const uint32_t words[3] = {htole32((uint32_t)length), htole32(id), htole32((uint32_t)kind)};
    buf_put(out, words, sizeof(words));
}

const char *sandbox_frame_call(struct slice body, struct tape *t, struct arena *a,
                               struct sandbox_frame_call *ret_call) {
    const enum tape_fault fault = tape_parse(t, body, NULL);
    if (fault != TAPE_OK)
        return tape_fault_text(fault);
    if (t->has_nul)
        return "a NUL character in the arguments";
    const uint32_t server = tape_get_str(t, 0, "server"), tool = tape_get_str(t, 0, "tool");
    const uint32_t args = tape_get_str(t, 0, "args");
    if (!server || !tape_is(t, server, TAPE_STRING) || !tool || !tape_is(t, tool, TAPE_STRING))
        return "a call needs a server and a tool";
    if (!args || !tape_is(t, args, TAPE_OBJECT))
        return "the arguments of a tool must be an object";
    *ret_call =
        (struct sandbox_frame_call){tape_text(t, server, a), tape_text(t, tool, a), tape_raw(t, args)};
    return NULL;
}

static struct slice text_of(const struct tape *t, const char *key, struct arena *a) {
    const uint32_t at = tape_get_str(t, 0, key);
    return at && tape_is(t, at, TAPE_STRING) ? tape_text(t, at, a) : (struct slice){"", 0};
}

bool sandbox_frame_progress(struct slice body, struct tape *t, struct arena *a,
                            struct sandbox_frame_progress *ret_progress) {
    if (tape_parse(t, body, NULL) != TAPE_OK || !tape_is(t, 0, TAPE_OBJECT))
        return false;
    const uint32_t fraction = tape_get_str(t, 0, "fraction");
    double value;
    if (!fraction || !tape_double(t, fraction, &value) || !isfinite(value))
        value = NAN;
    *ret_progress = (struct sandbox_frame_progress){value, text_of(t, "text", a)};
    return true;
}

static uint64_t count_of(const struct tape *t, const char *key) {
    int64_t value = 0;
    const uint32_t at = tape_get_str(t, 0, key);
    return at && tape_int(t, at, &value) && value > 0 ? (uint64_t)value : 0;
}

bool sandbox_frame_done(struct slice body, struct tape *t, struct arena *a,
                        struct sandbox_frame_done *ret_done) {
    if (tape_parse(t, body, NULL) != TAPE_OK || !tape_is(t, 0, TAPE_OBJECT))
        return false;
    const uint32_t ok = tape_get_str(t, 0, "ok");
    if (!ok || (!tape_is(t, ok, TAPE_TRUE) && !tape_is(t, ok, TAPE_FALSE)))
        return false;
    *ret_done = (struct sandbox_frame_done){
        .ok = tape_is(t, ok, TAPE_TRUE),
        .result = tape_get_str(t, 0, "result"),
        .error = slice_upto(text_of(t, "error", a), FRAME_TEXT_MAX),
        .kind = slice_upto(text_of(t, "kind", a), FRAME_NAME_MAX),
        .traceback = slice_upto(text_of(t, "traceback", a), FRAME_TEXT_MAX),
        .cpu_us = count_of(t, "cpu_us"),
        .rss_kb = count_of(t, "rss_kb"),
    };
    return true;
}

bool sandbox_frame_image(struct slice body, struct slice *ret_mime, struct slice *ret_bytes) {
    static const char *const types[] = {"image/png",     "image/jpeg", "image/gif",  "image/webp",
                                        "image/svg+xml", "text/html",  "text/plain", NULL};
    const size_t n = body.len ? (unsigned char)body.ptr[0] : 0;
    if (n == 0 || body.len < 1 + n)
        return false;
    *ret_mime = slice_of(body.ptr + 1, n);
    *ret_bytes = slice_from(body, 1 + n);
    for (const char *const *type = types; *type; type++)
        if (slice_is(*ret_mime, *type))
            return true;
    return false;
}
