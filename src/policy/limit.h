/* Limits as they apply to one call. Private to the policy room. */
#pragma once

#include "policy/evaluation.h"

/* The limit for this call: key with the scope's identity, window start, amount. false: the amount cannot
 * be read from the arguments; e->amount_path, unless empty, is that argument. */
bool policy_limit_build(struct eval *e, const struct limit_rule *rule, struct policy_limit *ret_limit);
