/* Profiles of the built-in server: its tools with the schemas and result texts of other code servers. They
 * share one engine. */
#pragma once

#include "base/slice.h"
#include "wire/emit.h"

struct code_face;

extern const char *const profile_names[]; /* NULL-terminated, for command lines and settings */

/* Our own, whose tools code can call in every profile. */
extern const struct code_face profile_native;

const struct code_face *profile_find(struct slice name); /* NULL if there is no such profile */
/* Writes the tools that find and call all others, as in the native profile: elements of an array that the
 * caller has opened. */
void profile_write_discovery(struct emit *e);
