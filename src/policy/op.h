/* The operators: one condition against one value. Private to the policy room. */
#pragma once

#include "policy/evaluation.h"

/* UNSURE when the operator cannot judge a value of this type: a server may still coerce it into one that
 * would be judged. FAULT when the budget of the call is spent or a fact is unknown. */
enum truth policy_op_judge(struct eval *e, const struct cond *c, const struct value *v);
