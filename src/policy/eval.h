/* Conditions against facts. Private to the policy room. */
#pragma once

#include "policy/evaluation.h"

/* YES, NO or FAULT. */
enum truth policy_eval(struct eval *e, const struct cond *c);
