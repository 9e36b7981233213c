/* One message of a client on its way through the gate, and the engine that runs its steps. The table of
 * steps is passed in (session/steps.c). A step does its work and returns what comes next; only the engine
 * moves a call from step to step. */
#pragma once

#include "audit/audit.h"
#include "base/sha.h"
#include "call/core.h"
#include "call/principal.h"
#include "call/trail.h"
#include "policy/policy.h"
#include "state/state.h"
#include "wire/splice.h"

/* The methods that the gate handles itself or treats specially. */
enum call_method {
    CALL_OTHER,
    CALL_TOOLS_CALL,
    CALL_TOOLS_LIST,
    CALL_INITIALIZE,
    CALL_PING,
    CALL_LISTEN,
    CALL_LIST, /* of prompts, resources, templates, skills, tasks */
    CALL_DISCOVER,
    CALL_COMPLETE,
    CALL_SET_LEVEL,
    CALL_INITIALIZED,
    CALL_CANCELLED,
};

/* The return value of a step: what the engine does next. */
enum call_next {
    CALL_NEXT,
    CALL_WAIT,        /* stays in this step, which runs again when the call is resumed */
    CALL_FAIL,        /* the answer is set, or there is none: skips to the end of the walk */
    CALL_DONE,        /* nothing to settle or to record */
    CALL_JUDGE_AGAIN, /* policy, definition or limits may have changed while it waited */
    CALL_GATHER,      /* several servers answer it */
    CALL_ANSWERED,    /* the response is already there */
    CALL_RESEND,      /* sends it to the server again; drops the current response */
    CALL_WAIT_RESEND, /* the same, when the call is resumed */
};

struct call_step {
    const char *name;
    enum call_next (*run)(struct call *c);
};

struct call_walk {
    const struct call_step *steps; /* in their order */
    uint8_t count;
    uint8_t fail, done, judge, gather, answered, resend; /* targets of the transitions */
    /* Cleanup of each room at the end of a call; ends with NULL. */
    void (*const *ends)(struct call *c);
    /* Cancels the request at the server. */
    void (*cancel)(struct call *c, struct slice reason);
    /* The client's stream of this call is slow: pause (resume) reading it from the server. */
    void (*pause)(struct call *c, bool on);
};

struct call_approval;
struct call_input;
struct call_listen;
struct call_span;
struct filter_report;
struct gather;
struct judge_fetch;
struct park;
struct park_answers;
struct session_batch;

struct call_sink_ops {
    /* The answer; the sink is not used again. */
    void (*reply)(struct call_sink *sink, const struct session_out *out);
    /* A message that belongs to this call and comes before its answer. */
    void (*event)(struct call_sink *sink, const struct session_out *out);
    /* The server opened a resumable stream (left false), or closed it for the client to resume after
     * retry_ms. */
    void (*streaming)(struct call_sink *sink, int64_t retry_ms, bool left);
    /* There will be no answer (the call was cancelled); the sink is not used again. */
    void (*none)(struct call_sink *sink);
};

struct call_sink {
    const struct call_sink_ops *ops;
    struct call *call; /* NULL before and after the call */
    struct session_batch
        *batch; /* the batch that it belongs to instead of a call, or NULL; set by the front */
    /* Set before call_start(): */
    bool modern;                /* the message is of the modern era */
    bool mirrored;              /* it came with headers that mirror it */
    struct slice extra_headers; /* Mcp-Param-* lines to pass on, valid during call_start() only */
    /* A call from inside the gate goes to this server, under the tool's bare name; NULL for clients' calls.
     */
    struct server *to;
    bool subcall;       /* it is part of a client's own request; set by call_make() */
    uint64_t parent;    /* audit number of the call that it was made for, or 0 */
    struct slice about; /* extra content of the record, valid during call_start() only */
    bool list_all;      /* tools/list from inside the gate: every server of the principal, see gather.h */
};

/* Fields are grouped by the room that writes them. Fields that several rooms set have a function below. */
struct call {
    /* ---- call/ ---- */
    uint32_t magic;
    uint8_t step; /* only the engine reads or sets it */
    bool modern;
    bool inner;    /* made inside the gate: it has no client id */
    bool subcall;  /* part of a client's request that several servers answer; see gather.h */
    bool list_all; /* lists everything that the principal may use, not only the session's servers */
    bool denied;   /* call_set_denied() */
    bool sent;     /* the server may have seen it; call_set_sent() */
    bool lingers;  /* cancelled: it waits without a client until the server is done; see call_cancel() */
    bool mirrored; /* its headers mirror its arguments; call_set_headers() */
    struct session *session;
    struct call_sink *sink; /* NULL for notifications and when the client went away */
    struct list node;       /* in session->calls */
    struct list wait;       /* in the list of what it waits for */
    struct call *next_free;
    struct arena arena;
    struct msg *request;        /* as it is judged and sent; call_replace_request() */
    struct msg *asked;          /* as the client sent it, with tokens where `request` has values; or NULL */
    uint32_t asked_args;        /* node of the arguments in asked->tape */
    struct msg *response;       /* call_replace_response() */
    struct splice *answer;      /* what the client gets, in the arena; answer.h */
    struct msg *answer_msg;     /* the message that the answer edits, or NULL */
    int http_status;            /* of the answer */
    struct slice fault;         /* the message of the error answer */
    const char *outcome;        /* for the log; call_set_outcome() */
    struct slice findings;      /* finds of a detector in the result; call_add_finding() */
    struct slice extra_headers; /* call_set_headers() */
    struct state_ticket ticket; /* reservations of its limits; call_settle() */
    bool reserving;             /* the ticket is in use */
    struct slice fingerprint;   /* of the tool's definition, when it is known; call_set_definition() */
    enum policy_class class;    /* of the tool, when it is known */
    uint64_t parent;            /* record of the call that made it, from inside the gate */
    struct slice about;         /* extra content of the record */
    uint64_t received_us;
    /* ---- session/: IDENTIFY ---- */
    struct slice method;
    enum call_method kind;
    const char *subject; /* member of params that the message is about, or NULL */
    bool subject_required;
    struct slice id_raw; /* as the client wrote it; empty for notifications */
    struct slice id_key;
    /* ---- many/: ROUTE ---- */
    struct slice name;      /* tool, prompt, URI or task of the message */
    uint32_t args;          /* node of the arguments in request->tape; call_replace_request() moves it */
    struct slice token_raw; /* the client's progress token; empty for none */
    bool wants_log;         /* asked for log messages (modern era) */
    bool renamed;           /* the server's name for the tool differs from the message */
    struct server *server;  /* destination; NULL when the gate answers itself */
    struct gather *gather;  /* several servers take part; see gather.h */
    bool gathering;         /* not all of them have answered yet */
    /* ---- decision/ ---- */
    struct policy *policy;
    struct policy_verdict verdict; /* others: call_set_verdict(), call_deny_as() */
    struct sha_text args_text;     /* the canonical arguments, until they are hashed */
    struct slice args_hash;        /* their hash, hex; for methods other than tools/call, of the params */
    uint32_t tags;                 /* labels that the session gets from this call */
    struct judge_fetch *fetched;   /* in the arena: counters of a store on the network */
    uint64_t judged_ms;            /* wall clock at the verdict; limits use the same time */
    /* ---- approval/ ---- */
    struct call_approval *approval; /* in the arena, once approval is required */
    /* ---- record/ ---- */
    uint64_t record; /* audit number; 0 before the decision is recorded */
    struct audit_wait audit_wait;
    bool recording; /* waits for the log */
    bool recorded;  /* the log has answered */
    bool log_failed;
    bool holding;           /* reading from its client is paused meanwhile */
    struct call_span *span; /* in the arena, while calls are traced */
    /* ---- privacy/ ---- */
    const struct filter_report *pii;  /* finds in its result, or NULL */
    struct slice stands_for;          /* descriptions of the tokens in its arguments, without values */
    uint64_t restored_kinds;          /* of the tokens in its arguments that became values: PII_BIT */
    uint64_t flush;                   /* the write of new tokens that its answer waits for; vault_stored() */
    struct list in_vault;             /* in the list of waiting calls */
    struct vault_fetch *vault_fetch;  /* waits for values from another gate's store */
    bool vault_fetched, vault_failed; /* they could not be fetched */
    bool token_clash;                 /* one of its new tokens has another value at another gate */
    /* ---- channel/ ---- */
    struct channel *channel; /* the channel that it is sent on; channel_take() */
    struct channel *chosen;  /* the same, while it counts as a user */
    struct link_req req;
    bool client_read; /* the next three are known; see channel_choice_read() */
    struct slice client_caps, client_info;
    uint32_t client_bits;
    const struct channel *checked_on; /* the channel on which the server's tools are requested for it */
    uint32_t checked_loads;           /* the number of requests before that */
    uint64_t list_serial;             /* of the tool list in its response */
    uint64_t started_ms;
    struct io_timer timer;
    /* ---- era/ ---- */
    bool cross_era;               /* client and server use different eras */
    bool forwarding;              /* has reached FORWARD */
    bool again;                   /* was sent again after a refusal; see adapt_retry() */
    bool subscribing;             /* has requested a subscription */
    bool translated;              /* the response is already translated to the client's era */
    uint8_t tries;                /* how often it was sent */
    uint8_t task_turn;            /* enum task_turn */
    int log_rank;                 /* of its requested level, -1 for none */
    uint32_t missing;             /* the missing capability that a question needed */
    struct call_listen *listen;   /* its subscription; in the arena */
    struct call_input *input;     /* questions of a modern server; in the arena */
    struct park *park;            /* questions of a legacy one */
    struct park_answers *answers; /* earlier answers from another node; in the arena */
};

/* The message that people and records may see: never one with restored values. */
static inline const struct msg *call_shown(const struct call *c) { return c->asked ? c->asked : c->request; }
static inline uint32_t call_shown_args(const struct call *c) { return c->asked ? c->asked_args : c->args; }

/* ---- the engine ---- */

/* Takes a reference to the message. */
void call_start(struct session *s, struct msg *m, struct call_sink *sink);
/* A request that the gate makes to one server; it runs all steps like a client's. `text` is the complete
 * message, with the server's own names; it is copied. The sink may be answered before this returns. */
void call_make(struct session *s, struct server *server, struct slice text, struct call_sink *sink);
/* Resumes a waiting call in the step in which it waits. */
void call_resume(struct call *c);
/* Forwards a waiting call again. */
void call_resend(struct call *c);
/* The same when it is resumed. */
void call_rewind(struct call *c);
/* The answer is set: runs the rest of the steps. */
void call_conclude(struct call *c);
/* The server has answered. */
void call_answer(struct call *c, struct msg *m);
void call_streaming(struct call *c, int64_t retry_ms, bool left);
/* Cancels the call at the server; the client gets that answer, or none (NULL). */
void call_stop(struct call *c, const char *reason, struct splice *answer);
/* The client cancelled: cancels the call at the server, answers nothing. A call that holds a concurrency slot
 * keeps it until the server is done. */
void call_cancel(struct call *c, const char *reason);
/* notifications/cancelled: ends the request that it names, if it is under way. */
void call_cancel_named(struct session *s, const struct msg *m);
/* The client is gone but the call continues (its answer may be fetched later, or is dropped). */
void call_orphan(struct call *c);
/* The client's stream of this call is slow: pause (resume) reading it from the server. */
void call_pause(struct call *c, bool on);
/* The end of the walk: passes the answer to the sink. */
void call_reply(struct call *c);
void call_pool_free(struct core *core);

/* ---- messages ---- */

/* A message made from a text; NULL when it is invalid. */
struct msg *call_read_text(struct core *core, struct slice text);
/* An edited text, parsed as a new message; NULL when it is invalid. */
struct msg *call_reread(struct call *c, const struct splice *text);
/* Takes ownership of the message, which replaces the call's request. */
void call_replace_request(struct call *c, struct msg *take_m);
/* The same with values instead of tokens; the message with tokens stays for readers who must not see
 * values. */
void call_restore_request(struct call *c, struct msg *take_m);
/* Frees the bytes of the message, which may be many. */
void call_release_request(struct call *c);
void call_replace_response(struct call *c, struct msg *take_m);
/* Key of an id in by_id: the decoded text behind a quote, or the digits. */
struct slice call_id_key(const struct tape *t, uint32_t id, struct arena *a);

/* ---- setters for other rooms ---- */

void call_set_verdict(struct call *c, const struct policy_verdict *verdict);
/* The verdict becomes a denial; limits and caps stay as they are. */
void call_deny_as(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
/* Keeps its reservations, or refunds them by the bits of state_settle_each. Only the first call has an
 * effect. */
void call_settle(struct call *c, uint64_t give_back);
/* Moves its reservations to the caller, who settles them. */
void call_take_ticket(struct call *c, struct state_ticket *ret_ticket);
void call_add_finding(struct call *c, struct slice text);
/* Takes a reference and drops the previous one. */
static inline void call_set_policy(struct call *c, struct policy *policy) {
    policy_ref(policy);
    policy_unref(c->policy);
    c->policy = policy;
}
static inline void call_set_outcome(struct call *c, const char *outcome) { c->outcome = outcome; }
/* Marks its ticket as used; call_settle() ends that. */
static inline void call_set_reserving(struct call *c) { c->reserving = true; }
static inline void call_set_denied(struct call *c, bool denied) { c->denied = denied; }
static inline void call_set_sent(struct call *c, bool sent) { c->sent = sent; }
/* Labels that the call's identity gets from this call. */
static inline void call_add_flow(struct call *c, uint32_t labels) {
    if (labels)
        trail_add(trail_of(c->session->core, c->session->principal->id), labels, c->judged_ms);
}
/* Header lines that mirror the arguments; `by_client`: they came with the message. */
static inline void call_set_headers(struct call *c, struct slice lines, bool by_client) {
    c->extra_headers = lines;
    c->mirrored = by_client;
}
static inline void call_set_definition(struct call *c, const char *fingerprint, enum policy_class class) {
    c->fingerprint = arena_dup(&c->arena, slice_str(fingerprint));
    c->class = class;
}
