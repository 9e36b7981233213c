/* Do letters look like a word? */
#pragma once

#include "base/slice.h"

/* gxbhwqyl, lja_bskwvgjj: most of the threes of letters occur in no word, so a machine drew them. Digits and
 * signs divide the runs of letters and count for nothing. False for less than five letters, because chance
 * decides there. */
bool pii_letters_random(struct slice v);
