/* Package names that imitate others. Names are compared within one registry only: the same name may be
 * legitimate in two. A name that the catalogue has in that registry is not an imitation, and neither is one
 * in the same scope, because only the scope's owner can publish there.
 *
 *   looks the same in print           70      the known one is used a lot       +25
 *   one edit apart                    50      its usage is not known            +10
 *   two edits apart (long names)      40      they differ in digits only        -30
 *
 * A score from 40 is reported; from 60 it is refused, unless the user trusts the name (risk/trust.h). */
#pragma once

#include "risk/catalogue.h"

#define RISK_LOOKALIKE_REPORT 40
#define RISK_LOOKALIKE_REFUSE 60

struct risk_lookalike {
    struct slice of; /* the known name; empty: not an imitation */
    unsigned score;
    bool trusted; /* by the user */
    bool refuse;
    struct slice reasons; /* "one edit apart (+50); used a lot, rank 3 (+25)" */
};

/* Texts in the arena, or borrowed from the catalogue. */
void risk_lookalike_find(enum risk_registry registry, struct slice name, struct arena *a,
                         struct risk_lookalike *ret_lookalike);
/* "the package name is close to the known package `X` (score 75: ...)". */
struct slice risk_lookalike_text(const struct risk_lookalike *l, struct arena *a);
