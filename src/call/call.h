/* One message of a client on its way through the gate. See call.c for the steps. */
#pragma once

#include "audit/audit.h"
#include "base/sha.h"
#include "policy/policy.h"
#include "session/session.h"
#include "state/state.h"

/* The methods that the gate itself has something to say about. */
enum call_method {
    CALL_OTHER,
    CALL_TOOLS_CALL,
    CALL_TOOLS_LIST,
    CALL_INITIALIZE,
    CALL_PING,
    CALL_LISTEN,
    CALL_LIST, /* of prompts, resources, templates, tasks */
    CALL_DISCOVER,
    CALL_COMPLETE,
    CALL_SET_LEVEL,
    CALL_INITIALIZED,
    CALL_CANCELLED,
};

/* What a step says comes next. */
enum call_next {
    CALL_NEXT,
    CALL_WAIT,
    CALL_FAIL,   /* to SETTLE; the answer is there */
    CALL_AGAIN,  /* to DECIDE: it is judged anew */
    CALL_GATHER, /* to AWAIT: several servers answer for it, or there is an answer already */
};

struct call_approval;
struct call_listen;
struct call_input;
struct call_span;
struct park_answers;
struct session_batch;

struct call_sink_ops {
    /* The answer; the sink is not used again. */
    void (*reply)(struct call_sink *sink, const struct session_out *out);
    /* A message that belongs to this call and comes before its answer. */
    void (*event)(struct call_sink *sink, const struct session_out *out);
    /* The server opened a resumable stream (left false), or left it to be taken up after retry_ms. */
    void (*streaming)(struct call_sink *sink, int64_t retry_ms, bool left);
    /* There will be no answer (it was cancelled); the sink is not used again. */
    void (*none)(struct call_sink *sink);
};

struct call_sink {
    const struct call_sink_ops *ops;
    struct call *call;           /* NULL before and after */
    struct session_batch *batch; /* that it is for instead of a call, or NULL; set by the front */
    /* Set by the front before session_receive(): */
    bool modern;                /* the message is of the stateless era */
    bool mirrored;              /* and came with headers that mirror it */
    struct slice extra_headers; /* Mcp-Param-* lines to pass on, valid during session_receive() only */
    /* A call from inside the gate goes to this server, under the tool's bare name; NULL for clients' calls.
     */
    struct server *to;
    bool subcall;    /* and it is part of a client's own request; set by call_make() */
    uint64_t parent; /* record of the call that it is made for, or 0 */
    bool list_all;   /* tools/list from inside: every server of the principal, see gather.h */
};

struct filter_report;

struct call {
    uint32_t magic;
    uint8_t step;
    bool modern;
    bool mirrored;
    bool denied;
    bool wants_log; /* asked for log messages (stateless era) */
    bool inner;     /* made from inside the gate: its id is nobody's */
    bool subcall;   /* of a client's request that several servers answer; see gather.h */
    bool list_all;  /* lists everything that the principal may use, whatever its session leads to */
    bool renamed;   /* the server knows its tool by another name than the message says */
    uint8_t tries;
    struct session *session;
    struct call_sink *sink; /* NULL for notifications and when the client went away */
    struct list node;       /* in session->calls */
    struct list wait;       /* in a link's waiting list */
    struct call *next_free;
    struct arena arena;
    struct msg *request; /* as it is judged and sent */
    struct msg *asked;   /* as the client wrote it, with tokens where `request` has values; NULL: the same */
    uint32_t asked_args; /* node of the arguments in asked->tape */
    struct slice stands_for; /* what those tokens stand for, without the values: for approvers and records */
    struct msg *response;
    struct slice method;
    enum call_method kind;
    const char *subject; /* member of params that the message is about, or NULL */
    bool subject_required;
    struct slice name;   /* tool, prompt, URI or task: what the message is about */
    struct slice id_raw; /* as the client wrote it; empty for notifications */
    struct slice id_key;
    struct slice token_raw; /* the client's progress token; empty for none */
    struct slice extra_headers;
    uint32_t args;         /* node of the arguments in request->tape */
    struct server *server; /* it goes to; NULL when the gate answers itself */
    struct gather *gather; /* several servers take part; see gather.h */
    struct channel *channel;
    struct link_req req;
    /* Of a client whose server speaks the other era: */
    bool cross_era;
    bool forwarding;  /* has come to FORWARD */
    bool again;       /* has been sent once more after a refusal; see adapt_retry() */
    bool client_read; /* the next three are known; see channel_read_client() */
    struct slice client_caps, client_info;
    uint32_t client_bits;
    struct channel *chosen;           /* chosen for it, or NULL */
    const struct channel *checked_on; /* where the server's tools are asked for on its account, */
    uint32_t checked_loads;           /* and how often they had been before */
    int log_rank;                     /* of the level that it asks for, -1 for none */
    bool subscribing;                 /* has asked for a subscription */
    struct call_listen *listen;       /* what it listens for; in the arena */
    uint32_t missing;                 /* the capability without which a question was refused */
    struct call_input *input;         /* questions of a server of the newer era; in the arena */
    struct park *park;                /* questions of a server of the older one */
    uint8_t task_turn;                /* enum task_turn */
    bool translated;                  /* the response has been put in the client's words already */
    struct park_answers *answers;     /* that were given before on another node; in the arena */
    struct policy *policy;
    struct policy_verdict verdict;
    struct slice fingerprint;       /* of the tool's definition, when it is known */
    enum policy_class class;        /* of the tool, when it is known */
    uint64_t list_serial;           /* of the list of tools that answers it */
    struct slice findings;          /* what a detector found in the result */
    struct sha_text args_text;      /* the canonical arguments, while they wait to be summed */
    struct slice args_hash;         /* of those, hex; of other methods than tools/call, of their params */
    uint32_t tags;                  /* labels that the session gathers when it is made */
    struct call_span *span;         /* in the arena, while calls are traced */
    struct call_approval *approval; /* in the arena, once a person has to approve it */
    struct judge_fetch *fetched;    /* in the arena: counters of a store on the network */
    struct state_ticket ticket;     /* what its limits hold */
    uint64_t judged_ms;             /* wall clock at the verdict; its limits count by the same */
    bool reserving;                 /* the ticket is in use */
    bool sent;                      /* the server may have seen it */
    uint64_t record;                /* its number in the audit log; 0 before the decision is on record */
    uint64_t parent;                /* that of the call that made it, from inside the gate */
    struct audit_wait audit_wait;
    bool recording; /* waits for the log */
    bool recorded;  /* the log has answered */
    bool log_failed;
    bool holding;                    /* its client is held back meanwhile */
    const char *outcome;             /* for the log */
    struct slice fault;              /* what the error says that answers it */
    const struct filter_report *pii; /* what was found in its result, or NULL */
    uint64_t restored_kinds;         /* of the tokens in its arguments that became values: PII_BIT */
    const struct splice *answer;     /* what the client gets; in the arena */
    struct msg *answer_msg;          /* whose bytes it edits, or NULL */
    int http_status;
    uint64_t received_us;
    uint64_t started_ms;
    struct io_timer timer;
};

/* The message that people and records may see: never one with values in place of tokens. */
static inline const struct msg *call_shown(const struct call *c) { return c->asked ? c->asked : c->request; }
static inline uint32_t call_shown_args(const struct call *c) { return c->asked ? c->asked_args : c->args; }

/* Takes a reference to the message. */
void call_start(struct session *s, struct msg *m, struct call_sink *sink);
/* A request of the gate's own to one server, which walks all the steps like a client's. `text` is the whole
 * message, with the server's own names; it is copied. The sink may be answered before this returns. */
void call_make(struct session *s, struct server *server, struct slice text, struct call_sink *sink);
/* Answers with an error; always CALL_FAIL. For the files that hold the body of a step. */
enum call_next call_refuse(struct call *c, int code, int http_status, const char *message);
/* A message of its own from a text; NULL when it is none. */
struct msg *call_read_text(struct core *core, struct slice text);
/* A waiting call goes on. */
void call_resume(struct call *c);
/* A waiting call cannot go on. */
void call_fail(struct call *c, const char *why);
/* The answer is set: the rest of the walk. */
void call_conclude(struct call *c);
/* To be forwarded once more, when it is resumed. */
void call_rewind(struct call *c);
/* The client has lost interest: tells the server, answers nothing. */
void call_cancel(struct call *c, const char *reason);
/* The gate is about to end: every subscription gets its last answer. */
void call_end_listen(struct call *c);
void call_end_listens(struct core *core);
/* The client is gone but the call goes on (its answer may be fetched later, or is dropped). */
void call_orphan(struct call *c);
/* The call's own stream is slow: stop (go on) reading it from the server. */
void call_pause(struct call *c, bool on);

/* The link's events about calls. */
void call_answer(void *call, struct msg *m);
void call_failed(void *call, const char *why, bool retry);
void call_streaming(void *call, int64_t retry_ms, bool left);
void call_touch(struct call *c); /* a word about it came: its idle time starts anew */

/* {"jsonrpc":"2.0","id":ID,"error":{"code":CODE,"message":MESSAGE}} in the arena; an empty id is null. */
struct slice answer_error_text(struct arena *a, struct slice id_raw, int code, const char *message);
void call_pool_free(struct core *core);
