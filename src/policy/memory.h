/* Counters in memory, exact and not persistent: used by simulate and the tests, and the reference for
 * every other store. Time is passed in. */
#pragma once

#include "base/map.h"
#include "policy/policy.h"

struct policy_memory {
    struct arena arena;
    struct map meters; /* key, kind and window → struct policy_memory_meter */
    struct map seeds;  /* label → struct policy_memory_seed */
    uint64_t seed_ms;
    uint64_t now_ms; /* for reads through the vtable */
};

struct policy_memory_meter {
    struct slice label;
    struct policy_limit limit; /* kind and window, to look it up by */
    struct policy_meter meter;
    bool touched; /* something was reserved or seeded, even if it was refunded */
};

struct policy_memory_seed {
    int64_t micro;
    bool used;
};

void policy_memory_init(struct policy_memory *m);
void policy_memory_free(struct policy_memory *m);
static inline void policy_memory_cleanup(struct policy_memory *m) { policy_memory_free(m); }
#define cleanup_memory __attribute__((cleanup(policy_memory_cleanup)))

/* A counter's value as of at_ms, set by label before its window is known. */
void policy_memory_seed(struct policy_memory *m, struct slice label, int64_t micro, uint64_t at_ms);
struct policy_counters policy_memory_counters(struct policy_memory *m);

/* Reserves all or none; shadow limits that refuse are skipped and noted in the verdict. NULL when all fit,
 * else the limit that refused, with *ret_retry_ms. */
const struct policy_limit *policy_memory_reserve(struct policy_memory *m, struct policy_verdict *v,
                                                 struct arena *a, uint64_t *ret_retry_ms);
enum policy_ending { POLICY_ENDED, POLICY_NEVER_SENT, POLICY_FAILED, POLICY_FAILED_PROVEN };
/* The call is over: each limit decides what is refunded; a concurrency slot always is. */
void policy_memory_settle(struct policy_memory *m, const struct policy_verdict *v, enum policy_ending ending);
