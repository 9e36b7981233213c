/* What a run writes on one stream: everything while it fits, else its beginning and its end with a line
 * between them that counts what is missing. */
#pragma once

#include "base/arena.h"

struct sandbox_output {
    char *bytes; /* the first half stays, the second is a ring; NULL before the first write */
    size_t max;
    uint64_t written; /* in all */
};

void sandbox_output_init(struct sandbox_output *o, size_t max);
void sandbox_output_free(struct sandbox_output *o);
void sandbox_output_put(struct sandbox_output *o, struct slice bytes);
bool sandbox_output_cut(const struct sandbox_output *o);
/* The text, at most `max` bytes; a cut never splits a character. */
struct slice sandbox_output_text(const struct sandbox_output *o, struct arena *a);
