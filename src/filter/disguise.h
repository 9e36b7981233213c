/* Other readings of what an agent sends: forms that a person or a program turns back into the text at once,
 * and that no honest caller needs. They are looked at in arguments only, never in results. */
#pragma once

#include "base/arena.h"
#include "wire/tape.h"

/* `exact`: the reading is what the text encodes, not a guess. true: something was found in it, and no more
 * readings are wanted. */
typedef bool disguise_fn(void *ctx, struct slice reading, bool exact);
/* Escapes (\x41, \101, %u0041, =41, %41), lists of byte values, base64, base32, base85, hexadecimal and
 * binary digits, letters with separators between them, line breaks inside words, pieces of quoted text that
 * code joins, reversed text and rot13; and readings of readings, up to PII_LAYERS_MAX. *work has the bytes of
 * readings that are still allowed; false: there would be more. */
bool filter_disguise_each(struct slice text, struct arena *a, uint64_t *work, disguise_fn *each, void *ctx);
/* A list of byte values, or of pieces of text, and an object of such pieces. */
bool filter_disguise_list(const struct tape *t, uint32_t node, struct arena *a, uint64_t *work,
                          disguise_fn *each, void *ctx);
