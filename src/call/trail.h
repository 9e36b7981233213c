/* What one identity has touched: the flow labels of its allowed calls, and how much personal data one result
 * held at most. It belongs to the identity, not to a session, so that a new session or another endpoint does
 * not forget it. Each entry lasts for the core's flow window after it was last seen. */
#pragma once

#include "call/core.h"
#include "filter/kind.h"

struct trail_slot;

struct trail {
    struct trail_slot *slot; /* what all processes of the gate remember; NULL: this one is alone */
    char *identity;          /* owned */
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
/* What was kept in pii_most and pii_ms counts for the other processes, too. */
void trail_publish(struct trail *t);
void trail_free_all(struct core *core);

/* Memory that several processes map, for what each of them saw to count for all: so many bytes, zero at
 * first. Kinds of personal data that rules add are numbered by each process: only the built-in ones, and all
 * together, are shared. */
size_t trail_shared_bytes(void);
