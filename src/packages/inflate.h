/* The deflate format (RFC 1951) and its checksum. Strict: what zlib refuses is refused. Memory is bounded
 * whatever the bytes say; the receiver of the output sets its own ceiling. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct pack_inflate_sink {
    /* The next bytes of the output. -1, with err set, ends it. */
    int (*put)(void *owner, struct slice bytes, struct err *err);
    void *owner;
};

/* *ret_used: bytes of the input up to the end of the stream. */
int pack_inflate(struct slice in, const struct pack_inflate_sink *sink, size_t *ret_used, struct err *err);
/* CRC-32 of what came before (0 at the start) and of these bytes. */
uint32_t pack_inflate_crc(uint32_t before, struct slice bytes);
