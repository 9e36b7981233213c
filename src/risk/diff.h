/* Inside the room: a readable difference of two JSON values. */
#pragma once

#include "base/buf.h"
#include "wire/tape.h"

/* A line for each difference, "~ path: old -> new", "+ path: new", "- path: old"; at most
 * RISK_DIFF_LINES_MAX. Objects are compared member by member, arrays element by element. `_meta` of the root
 * is left out. */
void risk_diff(const struct tape *old_t, uint32_t old_node, const struct tape *new_t, uint32_t new_node,
               struct arena *a, struct buf *out);
