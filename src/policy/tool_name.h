/* Names of tools that a policy does not spell exactly so. Private to the policy room. */
#pragma once

#include "policy/program.h"

/* Names that people cannot distinguish or see (zero-width, controls, look-alikes) match no tool unless the
 * policy spells them out; "*" is never a tool. Words of any language are valid names. */
bool policy_name_is_plain(struct slice tool);
/* Indexes the names of the policy, when it is complete. */
void policy_name_index(struct policy *p);
/* The name or pattern of the policy from which this one differs only in case, Unicode form or blanks around
 * it; empty: there is none. */
struct slice policy_name_imitated(const struct policy *p, struct slice tool, struct arena *a);
