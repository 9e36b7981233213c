/* The APPROVE step. A call whose verdict is `approve` stops here until a person has approved exactly this
 * call. How the person is reached depends on the client and on the gate's setting:
 *
 *   elicit   the client has declared elicitation: it asks its user
 *              legacy: a request of ours on the call's own stream; the call waits
 *              modern: an `input_required` result with a sealed state; the client calls again
 *   retry    error -32003 with the id of the approval; once approved, the same call passes
 *   hold     the call waits, with progress for a client that wants some
 *
 * A waiting call holds no reservations: they are released before and made again after. Then the call is
 * judged again: an approval replaces no other check. */
#pragma once

#include "approval/approval.h"
#include "call/call.h"

enum approve_mode {
    APPROVE_AUTO,   /* elicit if the client supports it, else retry */
    APPROVE_ELICIT, /* elicit if the client supports it, else the call is refused */
    APPROVE_RETRY,  /* the client is never asked */
    APPROVE_HOLD,
};

struct approve_settings {
    enum approve_mode mode;
    uint64_t timeout_ms; /* where the policy does not set it; 0: the default */
    bool persons; /* people use all clients: their answers to questions count. Otherwise answers count only
                     for principals with the role `person`, because an agent that answers for its user would
                     approve its own call */
};

/* What the calls of one loop share. */
struct approvals {
    struct core *core;
    const char *home;
    struct state_approvals *store; /* NULL before the first use */
    struct state_approvals *asks;  /* the same for the thread that waits for the disk */
    bool made;                     /* the database exists: opening it writes nothing */
    struct approve_settings settings;
    struct list waiting;    /* calls */
    bool looking;           /* the store is being queried for them */
    size_t pending;         /* as of the last sweep */
    struct io_timer timer;  /* runs while there are some */
    struct io_timer sweeps; /* expires approvals */
    /* Called for each new request, to notify people. May be NULL. */
    void (*requested)(void *ctx, const struct state_approval *r);
    void *ctx;
    struct webhook *webhook; /* see webhook.h; stopped before this is freed. Or NULL */
};

/* Nothing is opened before the first call needs it. `home` outlives the core. */
void approve_init(struct core *core, const char *home, const struct approve_settings *settings);
/* For calls that begin to wait from now on. */
void approve_set(struct core *core, const struct approve_settings *settings);
void approve_free(struct core *core); /* after the last session */
/* NULL when it cannot be opened. */
struct state_approvals *approve_store(struct core *core, struct err *err);
/* A policy was replaced: its pending approvals end, and waiting calls are judged by the new one. */
void approve_outdate(struct core *core, struct slice policy_hash);
/* This process decided an approval: waiting calls check again. */
void approve_wake(struct core *core);

/* The number that wait for a person; in PostgreSQL as of the last sweep. */
size_t approve_pending(const struct core *core);
/* A webhook about it was delivered. */
void approve_set_notified(struct core *core, struct slice id);

enum call_next approve_step(struct call *c);
/* The call is over, or continues without its question. */
void approve_end(struct call *c);
/* The answer is a question of the server, and the client will repeat the call with `state` (empty when
 * there is none): the approval covers that call, once. */
void approve_extend(struct call *c, struct slice state);
/* Did this step make the request's state? Then no other step reads it. */
bool approve_has_state(struct call *c);
/* Members of params that are for the gate, not for the server. */
bool approve_strip(struct call *c, struct splice *text);
