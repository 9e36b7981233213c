/* The strict parser of frames that a guest writes on the bridge. Pure functions over bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "sandbox/frame.h"
#include "wire/tape.h"

enum sandbox_read {
    SANDBOX_READ_OK,
    SANDBOX_READ_AGAIN, /* more bytes are needed: *ret_want in total */
    SANDBOX_READ_BAD,   /* malformed: the guest must be ended */
};

struct sandbox_frame {
    enum frame_kind kind;
    uint32_t id;
    struct slice body;
};

/* Reads the first frame of `bytes`. Accepts only types that a sandbox may send, within their sizes. */
enum sandbox_read sandbox_frame_read(struct slice bytes, struct sandbox_frame *ret_frame, size_t *ret_want);
/* Appends a frame's header. */
void sandbox_frame_head(struct buf *out, enum frame_kind kind, uint32_t id, size_t length);

struct sandbox_frame_call {
    struct slice server, tool; /* decoded */
    struct slice args;         /* a JSON object as written in the frame */
};
/* Returns NULL, or the error for the guest. The tape and the slices point into the body. */
const char *sandbox_frame_call(struct slice body, struct tape *t, struct arena *a,
                               struct sandbox_frame_call *ret_call);

struct sandbox_frame_progress {
    double fraction; /* NaN when absent */
    struct slice text;
};
bool sandbox_frame_progress(struct slice body, struct tape *t, struct arena *a,
                            struct sandbox_frame_progress *ret_progress);

struct sandbox_frame_done {
    bool ok;
    uint32_t result; /* node of the tape, 0 when absent */
    struct slice error, kind, traceback;
    uint64_t cpu_us, rss_kb;
};
bool sandbox_frame_done(struct slice body, struct tape *t, struct arena *a,
                        struct sandbox_frame_done *ret_done);

/* MIME type and bytes; false if it is not a supported image type. */
bool sandbox_frame_image(struct slice body, struct slice *ret_mime, struct slice *ret_bytes);
