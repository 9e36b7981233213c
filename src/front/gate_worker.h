/* What the processes of one gate share: memory that the supervisor creates before it starts them. */
#pragma once

#include "base/err.h"
#include "front/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct trail_slot;

struct gate_slot {       /* one worker */
    _Atomic int32_t pid; /* 0: not running */
    _Atomic uint32_t conns;
    _Atomic bool accepts;
    char tag[FRONT_TAG + 1]; /* written before it accepts connections */
};

struct gate_shared {
    struct gate_slot slots[GATE_WORKERS_MAX];
    /* While the first workers start, one of them tells the supervisor what is wrong: the others would repeat
     * it. */
    _Atomic bool starting;
    _Atomic bool told;
    struct err fault;
    _Atomic bool reloaded; /* the workers have other settings than the supervisor */
};

struct gate_worker {
    struct gate_shared *shared; /* NULL: a gate of one process */
    struct trail_slot *trails;  /* see trail_shared_bytes() */
    unsigned index;             /* the index of its slot */
    unsigned count;
    bool again; /* one with this index ran before: the settings of the supervisor may be old */
    int listen_fd;
    int ready_fd; /* a byte is written to it when the worker accepts connections */
};
