/* Splits names, descriptions and queries into words for the tool index. */
#pragma once

#include "base/arena.h"

#define TERMS_MAX 64

/* Appends the words of a text, in lower case and separated by spaces: "createPullRequest" and
 * "create_pull-request" are the same three. Non-ASCII bytes stay unchanged. */
struct slice terms_split(struct slice text, struct arena *a);
/* The significant words, at most TERMS_MAX; all words when none is significant. */
size_t terms_keep(struct slice words, struct slice *ret_words);
/* One stem for all forms of a word: file, files, filing, filed. */
struct slice terms_stem(struct slice word);
/* The i-th group of synonyms in queries for tools, ending with NULL; NULL after the last. */
const char *const *terms_meaning(size_t i);
