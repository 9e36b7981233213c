/* The names of files and folders that the preset protects, and a quick look at one component of a path.
 * Private to the policy room. */
#pragma once

#include "base/slice.h"
#include "policy/match.h"

/* Is it protected as a part of a path? `any_parent`: what the parent is called is not known. */
bool policy_preset_listed(struct slice parent, bool any_parent, struct slice part);
/* Notes a path that ends in the folder `last`, and one that begins with `first`; `is_path`: it has a slash.
 * true: what was noted so far is a protected folder and its content. */
bool policy_preset_note(struct policy_preset_parts *parts, struct slice first, struct slice last,
                        bool is_path);
