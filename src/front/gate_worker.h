/* What the processes of one gate share: memory that a supervisor made before it started them. */
#pragma once

#include "front/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct trail_slot;

struct gate_slot {       /* one worker */
    _Atomic int32_t pid; /* 0: none */
    _Atomic uint32_t conns;
    _Atomic bool accepts;
    char tag[FRONT_TAG + 1]; /* written before it accepts */
};

struct gate_shared {
    struct gate_slot slots[GATE_WORKERS_MAX];
};

struct gate_worker {
    struct gate_shared *shared; /* NULL: this gate is one process */
    struct trail_slot *trails;  /* see trail_shared_bytes() */
    unsigned index;             /* of the slot */
    unsigned count;
    int listen_fd;
    int ready_fd; /* a byte is written to it when the worker accepts connections */
};
