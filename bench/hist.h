/* A fixed histogram of nanoseconds: 128 linear steps in each power of two, so a value is kept to
 * better than 0.8 %. Recording is an index and an increment; nothing is allocated.
 *
 *   value   0 ── 127 │ 128 ── 255 │ 256 ── 511 │ ...
 *   step       1     │     1      │     2      │ ...
 */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS 7
#define HIST_SUB (1U << HIST_SUB_BITS)
#define HIST_SLOTS ((64 - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
    uint64_t count;
    uint64_t max_ns;
    uint64_t slots[HIST_SLOTS];
};

void hist_reset(struct hist *h);
uint64_t hist_quantile_ns(const struct hist *h, double q);

static inline unsigned hist_slot(uint64_t ns) {
    if (ns < HIST_SUB)
        return (unsigned)ns;
    unsigned shift = (unsigned)(63 - __builtin_clzll(ns)) - HIST_SUB_BITS;
    return (shift + 1) * HIST_SUB + (unsigned)((ns >> shift) - HIST_SUB);
}

static inline void hist_add(struct hist *h, uint64_t ns) {
    h->slots[hist_slot(ns)]++;
    h->count++;
    if (ns > h->max_ns)
        h->max_ns = ns;
}

#endif
