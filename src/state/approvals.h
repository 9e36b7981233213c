/* Calls that wait for a person. An approval is bound to one exact call: who asks, which server and tool, the
 * canonical arguments, the tool's definition and the policy; whatever of it changes makes another call. It is
 * good for one execution and for a limited time. Rows lie in approvals.sqlite of the home, or in its
 * PostgreSQL, so they outlive the process, and several gates and the command line see the same ones.
 *
 *   ask ──▶ pending ── decide ──▶ approved ── ask again ──▶ used
 *              │          └─────▶ denied
 *              └── its time is over ──▶ expired (an approval that nobody used in time, too)
 *
 * An approval may hold for a while: until then the same call, or the same tool with any arguments, passes
 * again without a question. It stays bound to identity, server, definition and policy.
 *
 * A call that was made may be answered with a question, and come back with the answer to it: then its
 * approval is good once more, for exactly that (used ── extend ──▶ approved, under the digest of the
 * continuation).
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#define STATE_DIGEST_LEN 64 /* hex */

enum state_approval_status {
    STATE_APPROVAL_PENDING,
    STATE_APPROVAL_APPROVED,
    STATE_APPROVAL_DENIED,
    STATE_APPROVAL_EXPIRED,
    STATE_APPROVAL_USED,
    STATE_APPROVAL_STATUSES,
};
const char *state_approval_status_name(enum state_approval_status status);
/* -1 for any other name. */
int state_approval_status_from(struct slice name, enum state_approval_status *ret_status);

/* The call that an approval is bound to. */
struct state_approval_call {
    struct slice identity;
    struct slice server;
    struct slice tool;
    struct slice args_hash;   /* of the canonical arguments */
    struct slice fingerprint; /* of the tool's definition; empty when the server lists none */
    struct slice policy_hash;
};
/* A digest that is unique per call, whatever bytes its parts have. */
void state_approval_digest(const struct state_approval_call *call, char ret_hex[STATE_DIGEST_LEN]);

/* What is known of an approval. In a listing the texts live in the caller's arena. */
struct state_approval {
    struct slice id; /* unguessable */
    struct slice digest;
    enum state_approval_status status;
    struct state_approval_call call;
    struct slice session;
    struct slice args; /* JSON for approvers while it is pending; truncated at STATE_APPROVAL_ARGS_MAX */
    bool args_cut;
    struct slice rule, policy;
    struct slice text;      /* the policy's text about it */
    struct slice approvers; /* JSON array of the approvers who may decide; "[]": every approver */
    uint64_t created_ms, expires_ms;
    uint64_t asked; /* number of attempts while it was pending */
    uint64_t decided_ms;
    struct slice decider, note;
    uint64_t used_ms;
    uint64_t notified_ms; /* when a webhook was delivered */
    uint64_t repeat_ms;   /* the same call is allowed until then; 0: only once */
    bool repeat_any;      /* with any arguments */
    /* set by the code that displays it, otherwise empty: */
    struct slice code;  /* see state_approvals_code() */
    struct slice stale; /* why approving it would have no effect */
    struct slice class; /* of the tool */
    struct slice url;   /* URL where it is decided */
};

/* Copies its texts to this arena. */
void state_approval_keep(struct state_approval *r, struct arena *a);

struct state_approvals;

/* Creates HOME/approvals.sqlite and the key HOME/approvals.key if they are absent. */
int state_approvals_open(const char *home, struct state_approvals **ret_store, struct err *err);
void state_approvals_close(struct state_approvals *s); /* NULL is fine */
/* In PostgreSQL: every access may be slow. */
bool state_approvals_is_remote(const struct state_approvals *s);

enum state_ask {
    STATE_ASK_GRANTED, /* it was approved; the approval is now used */
    STATE_ASK_NEW,     /* a decision is pending */
    STATE_ASK_JOINED,  /* it was pending before */
    STATE_ASK_DENIED,  /* denied by an approver, until the request expires */
    STATE_ASK_FULL,    /* too many are pending, for this identity or in total */
    STATE_ASK_FAULT,   /* the store failed */
};
/* Requests approval of the call. `want` has everything except id, status and later values; created_ms is
 * now. *ret_found (except for FULL and FAULT) is the row in the store, texts in the arena. */
enum state_ask state_approvals_ask(struct state_approvals *s, const struct state_approval *want,
                                   struct arena *a, struct state_approval *ret_found, struct err *err);

/* The used approval also covers one continuation: the call with this digest. */
int state_approvals_extend(struct state_approvals *s, struct slice id, struct slice digest, struct err *err);
/* Checks for such a continuation. Returns 1 and *ret_found if it is covered, and marks it used; 0, or -1. */
int state_approvals_continue(struct state_approvals *s, struct slice digest, uint64_t now_ms, struct arena *a,
                             struct state_approval *ret_found, struct err *err);

enum state_decide {
    STATE_DECIDED,
    STATE_DECIDE_UNKNOWN, /* no such approval */
    STATE_DECIDE_OVER,    /* it is not pending any more: *ret_after has its status */
    STATE_DECIDE_SELF,    /* the requester cannot decide */
    STATE_DECIDE_OTHERS,  /* the policy names other approvers */
    STATE_DECIDE_FAULT,
};
struct state_decision {
    struct slice id;
    bool approve;
    struct slice decider; /* "cli:alice", "grant:NAME", "webhook:HOST": the approver */
    struct slice note;
    uint64_t now_ms;
    uint64_t for_ms; /* duration of a repeatable approval, STATE_REPEAT_MS_MAX at most; 0: once */
    bool any_args;   /* if repeatable: for any arguments */
};
/* ret_after may be NULL. */
enum state_decide state_approvals_decide(struct state_approvals *s, const struct state_decision *d,
                                         struct arena *a, struct state_approval *ret_after, struct err *err);
/* Expires a pending or approved one early. */
enum state_decide state_approvals_expire(struct state_approvals *s, const struct state_decision *d,
                                         struct arena *a, struct state_approval *ret_after, struct err *err);

/* Requests under this policy can no longer match a call: expires pending and approved ones. */
int state_approvals_outdate(struct state_approvals *s, struct slice policy_hash, uint64_t now_ms,
                            struct err *err);

/* A webhook about it was delivered. */
int state_approvals_notified(struct state_approvals *s, struct slice id, uint64_t now_ms);
/* Expires what is due and deletes old rows. `each` gets the ones that expired now, once among all
 * processes. The texts are valid inside the call only. */
int state_approvals_sweep(struct state_approvals *s, uint64_t now_ms,
                          void (*each)(void *ctx, const struct state_approval *a), void *ctx,
                          struct err *err);

/* Does this name match one of the approvers (a JSON array)? An entry is a whole identity, or the part
 * after its first colon. An empty list matches every approver. */
bool state_approvers_name(struct slice approvers, struct slice decider);

#define STATE_APPROVAL_ID_PREFIX "ap_"
#define STATE_APPROVAL_ID_CHARS 22 /* after the prefix: 132 random bits */
#define STATE_APPROVAL_ID_TEXT (sizeof(STATE_APPROVAL_ID_PREFIX) + STATE_APPROVAL_ID_CHARS)
/* 1 and *ret_found, 0 when there is none, -1. */
int state_approvals_get(struct state_approvals *s, struct slice id, uint64_t now_ms, struct arena *a,
                        struct state_approval *ret_found, struct err *err);
struct state_approval_filter {
    uint32_t statuses; /* bits 1 << STATE_APPROVAL_…; 0: all */
    struct slice identity;
    uint64_t limit;                    /* 0: STATE_APPROVALS_LIST_MAX */
#define STATE_APPROVALS_ALL UINT64_MAX /* `each` ends the walk */
};
/* Newest first; the texts are valid inside the call only. Returning false ends the iteration. */
int state_approvals_list(struct state_approvals *s, const struct state_approval_filter *filter,
                         uint64_t now_ms, bool (*each)(void *ctx, const struct state_approval *a), void *ctx,
                         struct err *err);
size_t state_approvals_pending(struct state_approvals *s, uint64_t now_ms);

struct emit;
void state_approval_json(struct emit *e, const struct state_approval *r);

/* Has another process or connection written since the last check? Cheap. */
bool state_approvals_changed(struct state_approvals *s);

/* The code that the console shows to approvers: typing it proves that the approver has seen the request
 * there. */
#define STATE_APPROVAL_CODE_LEN 8
void state_approvals_code(const struct state_approvals *s, struct slice id,
                          char ret_code[STATE_APPROVAL_CODE_LEN + 1]);
bool state_approvals_code_fits(const struct state_approvals *s, struct slice id, struct slice code);

/* ---- seals ---- */
/* A text about `what` that only a gate of this home can create. 64 hex digits. */
void state_approvals_seal(const struct state_approvals *s, const char *purpose, struct slice what,
                          char ret_hex[STATE_DIGEST_LEN]);
bool state_approvals_sealed(const struct state_approvals *s, const char *purpose, struct slice what,
                            struct slice seal);
