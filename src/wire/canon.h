/* Canonical JSON: one text for one value, whatever the order of members, the white space and the spelling of
 * strings and numbers were. After RFC 8785, with one difference: numbers are never squeezed through a double,
 * so two numbers that differ in any digit stay different (9007199254740993 is not ...992, and
 * 0.1000000000000000055 is not 0.1). What is bound to such a text, an approval or a pin, cannot be swapped
 * for a neighbour. Numbers that a double holds exactly as written come out as RFC 8785 writes them. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/sha.h"
#include "wire/tape.h"

/* Appends the value's canonical text; false when `out` is full. Scratch memory comes from the arena. */
bool canon_write(const struct tape *t, uint32_t node, struct arena *a, struct buf *out);
/* The same without the root's own members named in `skip` (NULL-terminated). */
bool canon_write_without(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                         struct buf *out);
/* SHA-256 of that text, whatever its length: runs of the source are summed where they stand. `scratch` is
 * emptied, and holds some KB at most. */
void canon_hash(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                struct buf *scratch, unsigned char ret_sum[SHA_BYTES]);
/* That text in parts, for sha_256_two(): those of the source where they stand, the rest in the arena. False
 * when it is too short for that or not made of a few long strings. */
bool canon_parts(const struct tape *t, uint32_t node, struct arena *a, struct buf *scratch,
                 struct sha_text *ret_text);
