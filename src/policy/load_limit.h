/* Limits of rules and tools while a policy is loaded, and the rule that they belong to. Private to the policy
 * room. */
#pragma once

#include "policy/load.h"

/* Formats into the arena of a loader named l. */
#define POLICY_TEXT(...) arena_printf(l->arena, __VA_ARGS__)

struct rule { /* one rule of dialect A while it is being read */
    struct loader *l;
    const struct tree *t;
    struct place place;
    struct entry *entry;
    struct slice name;
    struct slice on_deny;
    struct slice action;
    bool shadow;
    size_t index;
};

/* "PREFIX: text". */
void policy_problem_at(struct loader *l, const struct tree *at, struct place place, const char *text);

void policy_check_rate(struct loader *l, const struct tree *at, struct place place);
/* The counter of a rate limit of this form; empty when it cannot be read. */
struct slice policy_rate_counter(struct loader *l, const struct tree *rate);
void policy_load_rate_map(const struct rule *r, const struct tree *rate);
void policy_load_rate_text(const struct rule *r, const struct tree *rate);
void policy_load_spend(const struct rule *r, const struct tree *spend);
/* `check` holds the rule's conditions; NULL when it has none. */
void policy_load_state(const struct rule *r, const struct tree *state, struct check *check);
/* `limits` of a tool, or of the rule `r`. */
void policy_load_limits(struct loader *l, const struct tree *list, struct place place, struct entry *entry,
                        const struct rule *r);
/* Largest value that satisfies lt or lte, in micro-units; -1 when none does. */
int64_t policy_cap_from(const struct cond *c);
