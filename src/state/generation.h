/* A number in a file of the home that every process maps: raised by each change, so that a process with a
 * copy of what changed sees with one load that it is old. Private to the state room. */
#pragma once

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

int state_generation_open(const char *home, const char *name, _Atomic uint64_t **ret_at, struct err *err);
void state_generation_close(_Atomic uint64_t *at); /* NULL is fine */
static inline uint64_t state_generation_get(const _Atomic uint64_t *at) {
    return at ? atomic_load_explicit(at, memory_order_acquire) : 0;
}
static inline void state_generation_raise(_Atomic uint64_t *at) {
    if (at)
        atomic_fetch_add_explicit(at, 1, memory_order_acq_rel);
}
