/* The protocol's own methods, and what a server may ask a person for. */
#pragma once

#include "base/slice.h"
#include "wire/tape.h"

/* Is it a method of the specification, of either era and in either direction? */
bool policy_method_known(struct slice method);
/* Does it differ from one only by case, Unicode form, blanks or punctuation (`TOOLS/CALL`)? */
bool policy_method_imitates(struct slice method, struct arena *a);
/* Why this elicitation/create would deceive the person who answers it, or NULL. */
const char *policy_elicitation_fault(const struct tape *t, uint32_t params, struct arena *a);
