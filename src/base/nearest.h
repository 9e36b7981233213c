/* "Did you mean": the known word closest to an unknown one. */
#pragma once

#include "base/slice.h"

/* NULL when nothing is close enough to be worth saying. `words` ends with NULL. */
const char *nearest_word(struct slice word, const char *const *words);
size_t nearest_distance(struct slice a, struct slice b);
