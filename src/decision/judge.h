/* The policy's verdict with the counters behind its limits: the same for calls of clients (judge.c) and for
 * what servers want of clients (reverse.c). */
#pragma once

#include "policy/policy.h"
#include "state/state.h"
#include "wire/tape.h"

struct core;
struct server;

struct judge { /* whose counters */
    struct core *core;
    const struct policy *policy;
    const struct server *server;
    struct arena *arena;
    struct judge_fetch *fetched; /* NULL: the store answers at once, or nothing can wait for it */
};

/* For struct policy_counters, with a struct judge. */
bool judge_read_counter(void *ctx, const struct policy_limit *limit, int64_t *ret_micro);
/* All limits of the verdict or none, as state_reserve. */
enum state_step judge_reserve(const struct judge *j, const struct policy_verdict *v, uint64_t now_ms,
                              struct state_ticket *ticket, state_done_fn *done, void *ctx);
/* What the store said becomes part of the verdict: a denial, or notes about limits in shadow mode. */
void judge_reserved(const struct judge *j, const struct state_answer *answer, struct policy_verdict *v);
/* Canonical arguments as a hash: they stand for the call in the log, in approvals and against repetition. Of
 * a tool these are its arguments; of any other method its params without what is said about them. */
struct slice judge_hash(struct core *core, const struct tape *t, uint32_t args, bool of_tool,
                        struct arena *a);
