/* The history of one identity: the flow labels of its allowed calls, and the highest count of personal
 * data in one result. It belongs to the identity, not to a session, so that a new session or another
 * endpoint keeps it. Each entry expires when the core's flow window has passed since it was last seen. */
#pragma once

#include "call/core.h"
#include "filter/kind.h"

struct trail_slot;

struct trail {
    struct trail_slot *slot; /* shared by all processes of the gate; NULL: there is only one */
    char *identity;          /* owned */
    uint32_t labels;
    uint64_t seen_ms[32]; /* of each label */
    uint32_t *pii_most;   /* of each kind in one result, the last one for all kinds together; NULL: none */
    uint64_t pii_ms;
};

/* Never NULL: beyond the maximum, the one that all further identities share. */
struct trail *trail_of(struct core *core, const char *identity);
/* The labels that have not expired. */
uint32_t trail_labels(const struct core *core, const struct trail *t, uint64_t now_ms);
void trail_add(struct trail *t, uint32_t labels, uint64_t now_ms);
/* Publishes pii_most and pii_ms to the other processes. */
void trail_publish(struct trail *t);
void trail_free_all(struct core *core);

/* Shared memory through which processes see each other's labels: this many bytes, initially zero. Kinds of
 * personal data that rules add are numbered by each process: only the built-in ones, and the total, are
 * shared. */
size_t trail_shared_bytes(void);
