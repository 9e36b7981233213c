/* Keys of one object that differ in bytes but not to a lenient reader: `amount` beside `Amount`. What the
 * gate judges must be what the server reads, so such an object is refused. */
#pragma once

#include "wire/tape.h"

/* The first key under `root` (node 0 counts, too) that is alike an earlier key of its object, or 0. The
 * subtree at `except` is left out; 0: none. Ordinary keys, lower-case ASCII, cost one look at their bytes. */
uint32_t clash_find(const struct tape *t, uint32_t root, uint32_t except);
/* The same for a whole message, which remembers that nothing was found: then clash_find need not look again.
 */
uint32_t clash_admit(struct tape *t, uint32_t except);
/* Is the key alike `name` without being equal to it? */
bool clash_key(const struct tape *t, uint32_t key, struct slice name);
/* The key of `obj` (0: no object) that is alike `name` without being equal to it, or 0. */
uint32_t clash_alike(const struct tape *t, uint32_t obj, struct slice name);
