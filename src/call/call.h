/* One message of a client on its way through the gate, and the engine that walks it through its steps. The
 * steps are a table that is handed down (session/steps.c). A step does its work and says what comes next;
 * only the engine moves a call from step to step. */
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

/* What a step returns: what the engine does next. */
enum call_next {
    CALL_NEXT,
    CALL_WAIT,        /* it stays in this step, which runs again when it is resumed */
    CALL_FAIL,        /* the answer is there, or there is none: the rest of the walk */
    CALL_DONE,        /* there is nothing to settle or to record */
    CALL_JUDGE_AGAIN, /* policy, definition or limits may have changed while it waited */
    CALL_GATHER,      /* several servers answer for it */
    CALL_ANSWERED,    /* the response is there already */
    CALL_RESEND,      /* to the server once more; the response so far is dropped */
    CALL_WAIT_RESEND, /* the same when it is resumed */
};

struct call_step {
    const char *name;
    enum call_next (*run)(struct call *c);
};

struct call_walk {
    const struct call_step *steps; /* in their order */
    uint8_t count;
    uint8_t fail, done, judge, gather, answered, resend; /* where the transitions lead to */
    /* What each room gives back when a call is over; ends with NULL. */
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
    /* There will be no answer (it was cancelled); the sink is not used again. */
    void (*none)(struct call_sink *sink);
};

struct call_sink {
    const struct call_sink_ops *ops;
    struct call *call;           /* NULL before and after */
    struct session_batch *batch; /* that it is for instead of a call, or NULL; set by the front */
    /* Set before call_start(): */
    bool modern;                /* the message is of the modern era */
    bool mirrored;              /* and came with headers that mirror it */
    struct slice extra_headers; /* Mcp-Param-* lines to pass on, valid during call_start() only */
    /* A call from inside the gate goes to this server, under the tool's bare name; NULL for clients' calls.
     */
    struct server *to;
    bool subcall;       /* and it is part of a client's own request; set by call_make() */
    uint64_t parent;    /* record of the call that it is made for, or 0 */
    struct slice about; /* what the record contains beside its name, valid during call_start() only */
    bool list_all;      /* tools/list from inside: every server of the principal, see gather.h */
};

/* Fields are grouped by the room that writes them. What several rooms set has a function below. */
struct call {
    /* ---- call/ ---- */
    uint32_t magic;
    uint8_t step; /* only the engine reads or sets it */
    bool modern;
    bool inner;    /* made from inside the gate: it has no id of a client */
    bool subcall;  /* of a client's request that several servers answer; see gather.h */
    bool list_all; /* lists everything that the principal may use, whatever its session leads to */
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
    struct msg *asked;          /* as the client wrote it, with tokens where `request` has values; or NULL */
    uint32_t asked_args;        /* node of the arguments in asked->tape */
    struct msg *response;       /* call_replace_response() */
    struct splice *answer;      /* what the client gets, in the arena; answer.h */
    struct msg *answer_msg;     /* whose bytes it edits, or NULL */
    int http_status;            /* of the answer */
    struct slice fault;         /* the message of the error that answers it */
    const char *outcome;        /* for the log; call_set_outcome() */
    struct slice findings;      /* what a detector found in the result; call_add_finding() */
    struct slice extra_headers; /* call_set_headers() */
    struct state_ticket ticket; /* what its limits hold; call_settle() */
    bool reserving;             /* the ticket is in use */
    struct slice fingerprint;   /* of the tool's definition, when it is known; call_set_definition() */
    enum policy_class class;    /* of the tool, when it is known */
    uint64_t parent;            /* record of the call that made it, from inside the gate */
    struct slice about;         /* what the record contains beside its name */
    uint64_t received_us;
    /* ---- session/: IDENTIFY ---- */
    struct slice method;
    enum call_method kind;
    const char *subject; /* member of params that the message is about, or NULL */
    bool subject_required;
    struct slice id_raw; /* as the client wrote it; empty for notifications */
    struct slice id_key;
    /* ---- many/: ROUTE ---- */
    struct slice name;      /* tool, prompt, URI or task: what the message is about */
    uint32_t args;          /* node of the arguments in request->tape; call_replace_request() moves it */
    struct slice token_raw; /* the client's progress token; empty for none */
    bool wants_log;         /* asked for log messages (modern era) */
    bool renamed;           /* the server uses another name for its tool than the message */
    struct server *server;  /* it goes to; NULL when the gate answers itself */
    struct gather *gather;  /* several servers take part; see gather.h */
    bool gathering;         /* and not all of them have answered */
    /* ---- decision/ ---- */
    struct policy *policy;
    struct policy_verdict verdict; /* others: call_set_verdict(), call_deny_as() */
    struct sha_text args_text;     /* the canonical arguments, while they wait to be hashed */
    struct slice args_hash;        /* of those, hex; of other methods than tools/call, of their params */
    uint32_t tags;                 /* labels that the session gathers when it is made */
    struct judge_fetch *fetched;   /* in the arena: counters of a store on the network */
    uint64_t judged_ms;            /* wall clock at the verdict; its limits count by the same */
    /* ---- approval/ ---- */
    struct call_approval *approval; /* in the arena, once a person has to approve it */
    /* ---- record/ ---- */
    uint64_t record; /* its number in the audit log; 0 before the decision is on record */
    struct audit_wait audit_wait;
    bool recording; /* waits for the log */
    bool recorded;  /* the log has answered */
    bool log_failed;
    bool holding;           /* reading from its client is paused meanwhile */
    struct call_span *span; /* in the arena, while calls are traced */
    /* ---- privacy/ ---- */
    const struct filter_report *pii;  /* what was found in its result, or NULL */
    struct slice stands_for;          /* what tokens in its arguments stand for, without the values */
    uint64_t restored_kinds;          /* of the tokens in its arguments that became values: PII_BIT */
    uint64_t flush;                   /* the write of new tokens that its answer waits for; vault_stored() */
    struct list in_vault;             /* among those that wait */
    struct vault_fetch *vault_fetch;  /* values behind its tokens, on their way from another gate's store */
    bool vault_fetched, vault_failed; /* and then */
    bool token_clash;                 /* one of its new tokens stands for something else at another gate */
    /* ---- channel/ ---- */
    struct channel *channel; /* that it is sent on; channel_take() */
    struct channel *chosen;  /* the same, while it counts as one of its users */
    struct link_req req;
    bool client_read; /* the next three are known; see channel_read_client() */
    struct slice client_caps, client_info;
    uint32_t client_bits;
    const struct channel *checked_on; /* where the server's tools are asked for on its account, */
    uint32_t checked_loads;           /* and how often they had been before */
    uint64_t list_serial;             /* of the list of tools that answers it */
    uint64_t started_ms;
    struct io_timer timer;
    /* ---- era/ ---- */
    bool cross_era;               /* client and server use different eras */
    bool forwarding;              /* has reached FORWARD */
    bool again;                   /* has been sent once more after a refusal; see adapt_retry() */
    bool subscribing;             /* has asked for a subscription */
    bool translated;              /* the response is already translated to the client's era */
    uint8_t tries;                /* how often it was sent */
    uint8_t task_turn;            /* enum task_turn */
    int log_rank;                 /* of the level that it asks for, -1 for none */
    uint32_t missing;             /* the capability without which a question was refused */
    struct call_listen *listen;   /* what it listens for; in the arena */
    struct call_input *input;     /* questions of a modern server; in the arena */
    struct park *park;            /* questions of a legacy one */
    struct park_answers *answers; /* that were given before on another node; in the arena */
};

/* The message that people and records may see: never one with values in place of tokens. */
static inline const struct msg *call_shown(const struct call *c) { return c->asked ? c->asked : c->request; }
static inline uint32_t call_shown_args(const struct call *c) { return c->asked ? c->asked_args : c->args; }

/* ---- the engine ---- */

/* Takes a reference to the message. */
void call_start(struct session *s, struct msg *m, struct call_sink *sink);
/* A request of the gate's own to one server, which walks all the steps like a client's. `text` is the whole
 * message, with the server's own names; it is copied. The sink may be answered before this returns. */
void call_make(struct session *s, struct server *server, struct slice text, struct call_sink *sink);
/* A waiting call goes on with the step that it waits in. */
void call_resume(struct call *c);
/* A waiting call is forwarded once more. */
void call_resend(struct call *c);
/* The same when it is resumed. */
void call_rewind(struct call *c);
/* The answer is set: the rest of the walk. */
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
/* The client is gone but the call goes on (its answer may be fetched later, or is dropped). */
void call_orphan(struct call *c);
/* The client's stream of this call is slow: pause (resume) reading it from the server. */
void call_pause(struct call *c, bool on);
/* The end of the walk: hands the answer to the sink. */
void call_reply(struct call *c);
void call_pool_free(struct core *core);

/* ---- messages ---- */

/* A message of its own from a text; NULL when it is none. */
struct msg *call_read_text(struct core *core, struct slice text);
/* A text that was edited, read as a message of its own; NULL when it is none. */
struct msg *call_reread(struct call *c, const struct splice *text);
/* Takes ownership of the message, which replaces the call's request. */
void call_replace_request(struct call *c, struct msg *take_m);
/* The same with values in place of tokens; the message with tokens stays for readers who must not see values.
 */
void call_restore_request(struct call *c, struct msg *take_m);
/* Frees the bytes of the message, which may be large. */
void call_release_request(struct call *c);
void call_replace_response(struct call *c, struct msg *take_m);
/* Key of an id in by_id: the decoded text behind a quote, or the digits. */
struct slice call_id_key(const struct tape *t, uint32_t id, struct arena *a);

/* ---- what several rooms set ---- */

void call_set_verdict(struct call *c, const struct policy_verdict *verdict);
/* The verdict becomes a denial; limits and caps stay as they are. */
void call_deny_as(struct call *c, enum policy_reason reason, struct slice rule, struct slice text);
/* Keeps what its limits hold, or gives it back by the bits of state_settle_each. Only the first call has an
 * effect. */
void call_settle(struct call *c, uint64_t give_back);
void call_add_finding(struct call *c, struct slice text);
/* Takes a reference, in place of the one before. */
static inline void call_set_policy(struct call *c, struct policy *policy) {
    policy_ref(policy);
    policy_unref(c->policy);
    c->policy = policy;
}
static inline void call_set_outcome(struct call *c, const char *outcome) { c->outcome = outcome; }
/* Its ticket is in use from now on; call_settle() ends that. */
static inline void call_set_reserving(struct call *c) { c->reserving = true; }
static inline void call_set_denied(struct call *c, bool denied) { c->denied = denied; }
static inline void call_set_sent(struct call *c, bool sent) { c->sent = sent; }
/* Labels that the call's identity gathers by making it. */
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
