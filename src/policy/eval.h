/* Conditions against facts. Private to the policy room. */
#pragma once

#include "policy/program.h"
#include "policy/trace.h"

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_FAULT };

struct eval {
    const struct policy *policy;
    const struct policy_facts *facts;
    struct arena *arena;
    struct policy_trace *trace;
    const struct entry *applied[POLICY_APPLIED_MAX]; /* what this call falls under: its counters count up */
    uint32_t applied_count;
    uint64_t looked_up; /* one bit for each of the nodes below that is valid */
    uint32_t nodes[POLICY_PATHS_REMEMBERED];
    pcre2_match_data *match;  /* made on first use, in the arena */
    const struct cond *blame; /* the leaf that decided last */
    const char *fault;        /* why TRUTH_FAULT */
};

/* As everywhere on a tape, node 0 stands for absent. */
static inline bool policy_has_args(const struct policy_facts *f) { return f->tape && f->args; }

enum truth policy_eval(struct eval *e, const struct cond *c);

/* The limit as it stands for this call: key with the scope's identity, window start, amount. false: the
 * amount cannot be had from the arguments. */
bool policy_limit_build(struct eval *e, const struct limit_rule *rule, struct policy_limit *ret_limit);
bool policy_limit_amount(struct eval *e, const struct limit_rule *rule, int64_t *ret_amount);
