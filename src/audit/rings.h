/* Reads the rings beside a log: which gates run, what a killed one left, what is unreadable. */
#pragma once

#include "audit/ring.h"

enum rings_state {
    RINGS_RUNNING,
    RINGS_LEFT,    /* its gate was killed; the next start takes its records over */
    RINGS_DAMAGED, /* its gate was killed, and it is unreadable: truncated, zeroed, of another version */
    RINGS_ASIDE,   /* unreadable and already recorded */
};

struct rings_one {
    enum rings_state state;
    char instance[RING_INSTANCE_LEN + 1];
    int fd;
    const struct ring_head *head; /* NULL when it is damaged or set aside */
};

typedef void audit_rings_fn(void *ctx, const struct rings_one *ring);
/* Each ring in the directory of a log. */
void audit_rings_each(const char *dir, audit_rings_fn *each, void *ctx);

struct audit_rings {
    uint64_t running, left, damaged, aside; /* how many are in which state */
    uint64_t waiting;                       /* bytes of records in those that were left */
    uint64_t unrecorded; /* records for which there was no room and that no record reports */
};
void audit_rings_count(const char *home, struct audit_rings *ret_rings);
