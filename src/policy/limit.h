/* Limits as they stand for one call. Private to the policy room. */
#pragma once

#include "policy/evaluation.h"

/* The limit as it stands for this call: key with the scope's identity, window start, amount. false: the
 * amount cannot be had from the arguments; e->amount_path, unless it is empty, is the argument to blame. */
bool policy_limit_build(struct eval *e, const struct limit_rule *rule, struct policy_limit *ret_limit);
