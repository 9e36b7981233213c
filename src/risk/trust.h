/* Names that the user trusts although they are similar to others: HOME/trusted-names.jsonl, one line per
 * decision, with user, time and reason. The last line about a name counts; lines are never removed. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "risk/origin.h"

struct risk_trust {
    enum risk_registry registry;
    struct slice name, by, reason;
    struct slice at; /* RFC 3339 */
    bool undone;
};

bool risk_trust_has(enum risk_registry registry, struct slice name);
/* Appends a decision. */
int risk_trust_add(const struct risk_trust *decision, struct err *err);
/* All decisions, oldest first; lines that cannot be read are an error. In the arena. */
int risk_trust_read(struct arena *a, struct risk_trust **ret_list, size_t *ret_count, struct err *err);
