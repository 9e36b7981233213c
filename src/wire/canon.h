/* Canonical JSON: equal values have equal text, whatever the order of members, the white space and the
 * spelling of strings and numbers. Follows RFC 8785 with one difference: numbers are never converted to a
 * double, so two numbers that differ in any digit stay different (9007199254740993 is not ...992, and
 * 0.1000000000000000055 is not 0.1). An approval or a pin for one value therefore never matches a different
 * value. Numbers that a double represents exactly are written as RFC 8785 writes them. */
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
/* SHA-256 of the canonical text, of any length. Long runs of the source are hashed in place. `scratch` is
 * reset and holds some KB at most. */
void canon_hash(const struct tape *t, uint32_t node, const char *const *skip, struct arena *a,
                struct buf *scratch, unsigned char ret_sum[SHA_BYTES]);
/* The canonical text as parts, for sha_256_two(): runs of the source are borrowed, the rest is in the arena.
 * False when the text is too short or has too many parts. */
bool canon_parts(const struct tape *t, uint32_t node, struct arena *a, struct buf *scratch,
                 struct sha_text *ret_text);
