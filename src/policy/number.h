/* Numbers without loss: decimal texts of any length, compared digit by digit. Private to the policy room. */
#pragma once

#include "base/slice.h"

/* JSON's grammar, and also a leading + or a bare point as YAML writes them. */
bool policy_number_is(struct slice text);
/* Below, at or above zero when x is less than, equal to or greater than y. Both must be numbers. */
int policy_number_cmp(struct slice x, struct slice y);
/* Is x a multiple of `factor`? UNKNOWN: the factor has too many digits. */
enum policy_multiple { POLICY_MULTIPLE_NO, POLICY_MULTIPLE_YES, POLICY_MULTIPLE_UNKNOWN };
enum policy_multiple policy_number_multiple(struct slice x, struct slice factor);
bool policy_number_is_integer(struct slice text);
#define POLICY_NUMBER_SHORT 15 /* characters of a number that a double always represents exactly */
/* At most that many, and no exponent: a double holds it exactly, so every reader reads the same. */
bool policy_number_is_short(struct slice text);
