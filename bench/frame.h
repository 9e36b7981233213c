/* HTTP/1.1 framing for both ends of the bench: where does the message in this buffer end?
 *
 *   base                                              len
 *    │ start line, headers │ body (length or chunked) │ next message ...
 *                          └ head_len                 └ total_len
 *
 * A chunked body is unchunked in place once it is complete; `body` is then contiguous. Not a general
 * parser: it trusts its peer to be well-formed and only guards its own memory. */
#ifndef BENCH_FRAME_H
#define BENCH_FRAME_H

#include "util.h"

enum frame_state { FRAME_MORE, FRAME_DONE, FRAME_BAD };

struct frame {
    size_t head_len;  /* 0 until the headers are complete */
    size_t total_len; /* bytes of the buffer this message took; set by FRAME_DONE */
    size_t body_len;
    size_t scanned; /* how far a chunked body was walked */
    bool chunked;
    bool close;
    char *body;
};

/* Call with the same `frame` (zeroed for a new message) each time more bytes arrived. */
enum frame_state frame_step(struct frame *frame, char *base, size_t len);

/* Value of a header, surrounding blanks trimmed; name in any case. */
struct slice frame_header(const char *base, size_t head_len, const char *name);

#endif
