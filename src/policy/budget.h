/* The work that one call may cost. Regular expressions, globs, paths, lists and schemas draw on one
 * budget; when it is spent the call is denied, so that no client can delay the others. Private to the
 * policy room. */
#pragma once

#include "base/arena.h"
#include "policy/limits.h"

struct searcher;

struct policy_budget {
    uint64_t left;  /* steps: about one comparison or one byte each */
    uint32_t quick; /* matches of short texts that may still run without being counted step by step */
    struct arena *arena;
    struct searcher *searcher; /* of regex.c, created at first use */
};

static inline void policy_budget_init(struct policy_budget *b, struct arena *a) {
    *b = (struct policy_budget){.left = POLICY_STEPS_MAX, .quick = POLICY_REGEX_QUICK_MAX, .arena = a};
}

/* false: the budget is spent, for the rest of the call too. */
static inline bool policy_spend(struct policy_budget *b, uint64_t steps) {
    if (steps <= b->left) {
        b->left -= steps;
        return true;
    }
    b->left = 0;
    return false;
}
