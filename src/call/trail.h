/* What one identity has touched: the flow labels of its allowed calls, and how much personal data one result
 * held at most. It belongs to the identity, not to a session, so that a new session or another endpoint does
 * not forget it. Each entry lasts for the core's flow window after it was last seen. */
#pragma once

#include "call/core.h"

struct trail {
    char *identity; /* owned */
    uint32_t labels;
    uint64_t seen_ms[32]; /* of each label */
    uint32_t *pii_most;   /* of each kind in one result, last of all together; NULL: none */
    uint64_t pii_ms;
};

/* Never NULL: where there are too many, the one that all further identities share. */
struct trail *trail_of(struct core *core, const char *identity);
/* The labels that still count. */
uint32_t trail_labels(const struct core *core, const struct trail *t, uint64_t now_ms);
void trail_add(struct trail *t, uint32_t labels, uint64_t now_ms);
void trail_free_all(struct core *core);
