/* Server-sent events, both sides. The reader works in place on received bytes: LF, CR and CRLF line ends,
 * comments, a byte-order mark, several data lines joined with LF, events split anywhere. */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "wire/limits.h"

/* Type and id come from the peer; only their length is checked. */
struct sse_event {
    struct slice type; /* "message" when the event names none */
    struct slice data;
    struct slice id; /* as sent with this event; only valid when has_id */
    bool has_id;
    bool has_data; /* false for events that only set id or retry */
    bool has_retry;
    uint64_t retry_ms;
};

enum sse_step {
    SSE_MORE,  /* no complete event in these bytes yet */
    SSE_EVENT, /* *out is filled; its slices point into `in` */
    SSE_BAD,   /* a field over its ceiling */
};

struct sse_reader {
    bool started;   /* the byte-order mark has been handled */
    bool skip_lf;   /* the last block ended in CR: a following LF belongs to it */
    size_t scanned; /* how much of the pending bytes has been searched already */
};

void sse_reader_init(struct sse_reader *r);
/* Takes the next event off the front of in[0..len). *ret_used = bytes to drop from the front in any case (on
 * SSE_MORE: leading bytes that are not needed again). The bytes may be moved inside the event's own span.
 * Call again with the rest until SSE_MORE, then with those same bytes and more after them; a block without a
 * known field is skipped. */
enum sse_step sse_next(struct sse_reader *r, char *in, size_t len, size_t *ret_used, struct sse_event *out);

/* Writes one event. An empty type or id is omitted; the data line is always written, so that clients
 * dispatch an event that has only an id. False, and nothing is written, when one of them contains a line end
 * (JSON messages never do), a field is over its ceiling or the buffer is full. */
bool sse_write(struct buf *out, struct slice type, struct slice id, struct slice data);
/* The bytes before and after the data, so that the data need not be copied or checked. */
bool sse_write_head(struct buf *out, struct slice type, struct slice id);
#define SSE_TAIL SLICE("\n\n")
