/* "Did you mean": the known word closest to an unknown one. */
#pragma once

#include "base/slice.h"

/* NULL when no word is close enough. `words` ends with NULL. */
const char *nearest_word(struct slice word, const char *const *words);
size_t nearest_distance(struct slice a, struct slice b);
