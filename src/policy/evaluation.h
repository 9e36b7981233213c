/* One decision while it is being made. Private to the policy room. */
#pragma once

#include "policy/budget.h"
#include "policy/program.h"
#include "policy/schema.h"
#include "policy/trace.h"
#include "policy/value.h"

struct eval {
    const struct policy *policy;
    const struct policy_facts *facts;
    struct arena *arena;
    struct policy_trace *trace;
    const struct entry *applied[POLICY_APPLIED_MAX]; /* entries of this call: their counters go up */
    uint32_t applied_count;
    uint64_t looked_up; /* one bit for each valid node below */
    uint32_t nodes[POLICY_PATHS_REMEMBERED];
    struct policy_budget budget;
    const struct cond *blame;  /* the leaf that decided last */
    const struct cond *unsure; /* the leaf with a value that it cannot judge */
    bool optimistic;           /* such a value gets the result that allows the call */
    const char *unsure_type;   /* type of that value; NULL: its path cannot be followed */
    const char *fault;         /* why TRUTH_FAULT */
    struct slice found_kind;   /* kind and place of the personal data or secret that decided */
    struct slice found_path;
    struct slice amount_path;        /* the argument that is not an amount */
    bool strict;                     /* and required: keys outside of the schema may have a meaning */
    struct policy_unlisted unlisted; /* if strict */
    bool args_checked;               /* against the tool's schema, if required */
};

/* Node 0 means absent, as everywhere on a tape. */
static inline bool policy_has_args(const struct policy_facts *f) { return f->tape && f->args; }

static inline enum truth policy_eval_fault(struct eval *e, const char *why) {
    e->fault = why;
    return TRUTH_FAULT;
}
