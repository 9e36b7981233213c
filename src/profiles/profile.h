/* Profiles of the built-in server: which tools it shows, with whose schemas and result texts. The engine that
 * runs them is the same. */
#pragma once

#include "base/slice.h"
#include "wire/emit.h"

struct code_face;

extern const char *const profile_names[]; /* NULL-terminated, for command lines and settings */

/* Our own, whose tools code can call in every profile. */
extern const struct code_face profile_native;

const struct code_face *profile_find(struct slice name); /* NULL when there is none of that name */
/* The tools by which all others are found and called, as the native profile has them: elements of an array
 * that the caller has opened. */
void profile_write_discovery(struct emit *e);
