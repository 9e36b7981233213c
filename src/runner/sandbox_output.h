/* Captures the output of a run on one stream: all of it if it fits, else its beginning and its end with a
 * line in between that counts the omitted bytes. */
#pragma once

#include "base/arena.h"

struct sandbox_output {
    char *bytes; /* the first half is kept, the second is a ring; NULL before the first write */
    size_t max;
    uint64_t written; /* total bytes */
};

void sandbox_output_init(struct sandbox_output *o, size_t max);
void sandbox_output_free(struct sandbox_output *o);
void sandbox_output_put(struct sandbox_output *o, struct slice bytes);
bool sandbox_output_cut(const struct sandbox_output *o);
/* The text, at most `max` bytes; never split inside a character. */
struct slice sandbox_output_text(const struct sandbox_output *o, struct arena *a);
