/* Words of names, descriptions and questions, as the tool index compares them. */
#pragma once

#include "base/arena.h"

#define TERMS_MAX 64

/* Appends the words of a text, in lower case and one space apart: "createPullRequest" and
 * "create_pull-request" are the same three. Bytes that are not ASCII stay as they are. */
struct slice terms_split(struct slice text, struct arena *a);
/* The words that carry meaning, at most TERMS_MAX; all of them when none does. */
size_t terms_keep(struct slice words, struct slice *ret_words);
/* The same for the forms of a word: file, files, filing, filed. */
struct slice terms_stem(struct slice word);
/* The i-th group of words that mean the same to somebody who looks for a tool, ending with NULL; NULL behind
 * the last. */
const char *const *terms_meaning(size_t i);
