#include "hist.h"

#include <string.h>

void hist_reset(struct hist *h) { memset(h, 0, sizeof *h); }

/* The middle of a slot, so that the error is even on both sides. */
static uint64_t slot_value_ns(unsigned slot) {
    if (slot < HIST_SUB)
        return slot;
    unsigned shift = slot / HIST_SUB - 1;
    uint64_t low = (uint64_t)(HIST_SUB + slot % HIST_SUB) << shift;
    return low + ((1ULL << shift) >> 1);
}

uint64_t hist_quantile_ns(const struct hist *h, double q) {
    if (!h->count)
        return 0;
    uint64_t rank = (uint64_t)(q * (double)h->count + 0.999999);
    if (rank < 1)
        rank = 1;
    uint64_t seen = 0;
    for (unsigned slot = 0; slot < HIST_SLOTS; slot++) {
        seen += h->slots[slot];
        if (seen >= rank) {
            uint64_t value = slot_value_ns(slot);
            return value < h->max_ns ? value : h->max_ns;
        }
    }
    return h->max_ns;
}
