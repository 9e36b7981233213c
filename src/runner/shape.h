/* Shortens a JSON value to a size. The largest parts are cut first, and the result is valid JSON of the
 * same shape. Long strings lose their end, long arrays and objects their last members; each cut states
 * what is missing. */
#pragma once

#include "base/buf.h"
#include "wire/tape.h"

/* Appends the value to `out` in at most `max` bytes. *ret_cut is true if anything is missing. */
void shape_value(const struct tape *t, uint32_t node, size_t max, struct buf *out, bool *ret_cut);
/* The first bytes of a text, at most `max`, that end between characters. */
struct slice shape_text(struct slice text, size_t max);
