/* The policy's verdict with the counters behind its limits: the same for calls of clients (judge.c) and for
 * requests of servers to clients (reverse.c). */
#pragma once

#include "call/call.h"

void judge_init(struct core *core);
void judge_free(struct core *core);

enum call_next judge_step_decide(struct call *c);  /* DECIDE: the policy's verdict */
enum call_next judge_step_reserve(struct call *c); /* RESERVE: all its limits or none */
enum call_next judge_step_settle(struct call *c);  /* SETTLE: keeps or refunds them */

/* Passes of FILTER: a result larger than the policy allows is withheld, or noted in shadow mode. */
enum call_next judge_filter_size(struct call *c);
enum call_next judge_filter_shadow_size(struct call *c);

/* ---- the same for messages that servers send on their own ---- */

struct judge { /* whose counters */
    struct core *core;
    const struct policy *policy;
    const struct server *server;
    struct arena *arena;
    bool refunds;                /* the answer may refund limits, so refunds are counted */
    struct slice owner;          /* the share of the counters that is used; empty: none */
    struct judge_fetch *fetched; /* NULL: the store answers synchronously, or the caller cannot wait */
};

/* The user who started the gate is not restricted. */
struct slice judge_owner(const struct session *s);
/* For struct policy_counters, with a struct judge. */
bool judge_read_counter(void *ctx, const struct policy_limit *limit, int64_t *ret_micro);
/* All limits of the verdict or none, as state_reserve. */
enum state_step judge_reserve(const struct judge *j, const struct policy_verdict *v, uint64_t now_ms,
                              struct state_ticket *ticket, state_done_fn *done, void *ctx);
/* Adds the store's result to the verdict: a denial, or notes about limits in shadow mode. */
void judge_reserved(const struct judge *j, const struct state_answer *answer, struct policy_verdict *v);
/* A hash of the canonical arguments. It represents the call in the log, in approvals and in the check for
 * repetition. For a tool these are its arguments; for any other method its params without `_meta`,
 * inputResponses and requestState. */
struct slice judge_hash(struct core *core, const struct tape *t, uint32_t args, bool of_tool,
                        struct arena *a);
