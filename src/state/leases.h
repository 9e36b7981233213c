/* Slices of large limits: a gate reserves many calls at the server in one request, and then allows so many
 * without asking. What is left of a slice is given back after STATE_LEASE_MS, or when its window ends; a gate
 * that dies gives nothing back, so a counter is too high until its window ends, never too low. Only limits on
 * whole calls in calendar windows: in the others a call that is counted earlier would be forgotten earlier.
 * Private to the state room. */
#pragma once

#include "base/map.h"
#include "state/store.h"

struct lease {
    uint64_t start; /* start of the window that the slice was counted in */
    int64_t left;
    uint64_t until_ms;       /* of the loop's clock */
    uint64_t exact_until_ms; /* a slice did not fit: single calls are counted until then */
    bool asking;             /* a slice has been requested */
    uint64_t window_ms;
    size_t key_len;
    char key[];
};

struct leases {
    struct map by_key;
    int64_t slice; /* micro-units; 0: none are wanted */
};

void state_leases_init(struct leases *l, int64_t calls);
void state_leases_free(struct leases *l);
/* Takes an amount from a slice, if it has enough; *ret_start is the window that it was counted in. */
bool state_leases_take(struct leases *l, struct slice key, int64_t amount, uint64_t now_ms,
                       uint64_t *ret_start);
/* May a slice be requested? The caller reports the result with state_leases_report(). */
bool state_leases_ask(struct leases *l, struct slice key, uint64_t window_ms, uint64_t now_ms);
/* The remaining amount of the slice that was counted, valid until then; `left` below 0: none was. */
void state_leases_report(struct leases *l, struct slice key, uint64_t start, int64_t left, uint64_t now_ms,
                         uint64_t until_ms);
/* Returns a call's part; false: that slice has expired. */
bool state_leases_return(struct leases *l, struct slice key, uint64_t start, int64_t amount, uint64_t now_ms);
/* An expired slice, removed from the table; the caller frees it. NULL: none. `all`: also those that have
 * not expired. */
struct lease *state_leases_over(struct leases *l, uint64_t now_ms, bool all);
