/* Keys of one object that differ in bytes but are equal to a lenient parser: `amount` and `Amount`. Policy
 * and server could read different values, so such an object is refused. */
#pragma once

#include "wire/tape.h"

/* The first key under `root` (including node 0) that clashes with an earlier key of its object, or 0. The
 * subtree at `except` is skipped; 0: none. Lower-case ASCII keys are checked in one pass. */
uint32_t clash_find(const struct tape *t, uint32_t root, uint32_t except);
/* Like clash_find for an entire message. Stores a negative result in the tape, so that clash_find returns
 * immediately. */
uint32_t clash_admit(struct tape *t, uint32_t except);
/* Does the key clash with `name`: equal to a lenient parser, but different bytes? */
bool clash_key(const struct tape *t, uint32_t key, struct slice name);
/* The key of `obj` (0: no object) that clashes with `name`, or 0. */
uint32_t clash_alike(const struct tape *t, uint32_t obj, struct slice name);
