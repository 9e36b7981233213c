/* JSON texts of servers that are almost right. A text that a strict reader refuses could not be judged, and
 * dropping it would leave its caller waiting; what common clients accept is therefore written anew. */
#pragma once

#include "base/buf.h"
#include "wire/tape.h"

/* The text with U+FFFD in place of half a surrogate pair and of bytes that are no UTF-8; every other byte
 * unchanged. False when there is nothing to replace, or `out` is full. */
bool mend_text(struct slice text, struct buf *out);
/* A message without those of method, params, result and error that are null: some programs write every
 * member of the envelope. A result that is null and the only answer becomes an empty one. The id of an answer
 * that is written as a fraction, 7.0, becomes an integer. False when there is none of these. */
bool mend_envelope(const struct tape *t, struct arena *a, struct buf *out);
/* Without the byte-order mark in front. */
struct slice mend_mark(struct slice text);
