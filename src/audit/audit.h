/* The tamper-evident log. The gate's thread puts records into a ring; a writer thread of its own numbers
 * them, chains them by SHA-256 and commits them in groups.
 *
 *   audit_put_decision() ─┐                      ┌─▶ 000001.sqlite   records: seq, fields…, hash
 *   audit_put_outcome()  ─┼─▶ ring ─▶ writer ────┤                   checkpoints: seq, hash, signature
 *   audit_put_event()    ─┘   full: FULL         └─▶ head            the newest signed checkpoint once more
 *
 * A call is two records: the decision before it is forwarded, the outcome after. Both carry the same `call`
 * number. Nothing is ever updated. Slices are copied before the functions return. */
#pragma once

#include "audit/limits.h"
#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"
#include "io/loop.h"

struct audit;

enum audit_result {
    AUDIT_OK,     /* recorded (in the ring; or counted as a gap if the setting is pass) */
    AUDIT_WAIT,   /* durable: `done` of the wait is called after the commit */
    AUDIT_FULL,   /* no room: refuse the call */
    AUDIT_FAILED, /* the writer cannot write: refuse the call */
};

enum audit_args_mode { AUDIT_ARGS_KEYS, AUDIT_ARGS_TOKENIZED, AUDIT_ARGS_FULL };
enum audit_on_full { AUDIT_REFUSE, AUDIT_PASS };

struct audit_health;

struct audit_config {
    const char *home; /* the log is HOME/audit/, the key HOME/audit.key; made when absent */
    bool durable;     /* decisions are acknowledged by audit_wait after their commit */
    enum audit_on_full
        on_full;            /* full ring, failing disk: refuse calls (default) or pass and count the gap */
    uint64_t segment_bytes; /* 0: AUDIT_SEGMENT_BYTES */
    uint64_t retain_ms;     /* age of segments that are retired; 0: keep everything */
    bool ships;             /* what was not shipped to the fleet's database is not retired */
    struct io_loop *loop;   /* loop on which `done` is called; NULL: only audit_flush waits */
    /* Called on the loop when writing fails, works again, or a loss was found at the start. May be NULL. */
    void (*changed)(void *owner, const struct audit_health *health);
    void *owner;
};

/* Creates the directory and starts the writer, which opens the log; a failure is reported as AUDIT_FAILED
 * and in the health. The first record is the start of this instance. */
int audit_open(const struct audit_config *config, struct audit **ret_audit, struct err *err);
/* Writes what is in the ring, signs a last checkpoint, ends the writer. Open waits are notified. Call it
 * before the loop is freed. NULL is fine. */
void audit_close(struct audit *a);

/* A number for a call, unique over all instances; its decision and its outcome share it. */
uint64_t audit_next_call(struct audit *a);

struct audit_decision {
    uint64_t call;
    uint64_t parent;  /* call number of the code run that made this call; 0: none */
    uint64_t time_us; /* wall clock; 0: now */
    struct slice identity, grant, session;
    struct slice server, method, tool;
    struct slice verdict;     /* allow | deny | approve */
    struct slice reason;      /* policy_reason_name(): rule, limit, hide … */
    struct slice rule;        /* its name */
    struct slice pointer;     /* its JSON Pointer */
    struct slice policy;      /* name */
    struct slice policy_hash; /* hex */
    struct slice policy_version;
    struct slice text;   /* the text that the agent got, when denied */
    struct slice shadow; /* JSON array of shadow verdicts, or empty */
    enum audit_args_mode args_mode;
    struct slice args;        /* keys: JSON array of paths; tokenized, full: JSON */
    struct slice args_hash;   /* of the canonical arguments, hex */
    struct slice fingerprint; /* of the tool's definition */
    struct slice class;       /* its risk class: Read … Financial; empty when not known */
};

struct audit_outcome {
    uint64_t call;
    uint64_t time_us;    /* wall clock; 0: now */
    struct slice status; /* ok | tool_error | rpc_error | timeout | cancelled | gone | refused … */
    struct slice text;   /* error message, cut */
    uint64_t latency_us;
    uint64_t bytes_in;  /* of the request */
    uint64_t bytes_out; /* of the response */
};

/* Part of the call; must stay at its address until `done` was called or audit_cancel. */
struct audit_wait {
    struct list node;
    uint64_t position;
    void (*done)(struct audit_wait *wait, bool written);
};

/* In a durable log with a wait: AUDIT_WAIT, then done on the loop. With wait NULL, or a log that is not
 * durable: AUDIT_OK as soon as the record is in the ring. */
enum audit_result audit_put_decision(struct audit *a, const struct audit_decision *d,
                                     struct audit_wait *wait);
void audit_cancel(struct audit *a, struct audit_wait *wait);
/* A decision without an outcome shows that the process died. Outcomes use a reserve of the ring, so that a
 * recorded decision can be completed. */
enum audit_result audit_put_outcome(struct audit *a, const struct audit_outcome *o);
/* Events of the gate itself: reload, reload_failed, grant_created … */
enum audit_result audit_put_event(struct audit *a, struct slice name, struct slice policy,
                                  struct slice policy_hash, struct slice text);

/* An action of a person that concerns a call or its permissions: approved it, created a grant … */
struct audit_action {
    struct slice name;     /* of the event: approval_approved … */
    struct slice identity; /* the person */
    struct slice grant, session, server, tool;
    struct slice rule, policy, policy_hash, policy_version;
    struct slice args_hash, fingerprint;
    struct slice text;
};
enum audit_result audit_put_action(struct audit *a, const struct audit_action *x);

/* While held, decisions are refused as if the ring were full (unless the setting is pass): the fleet's
 * database is so far behind that the disk would fill. From any thread. */
void audit_hold(struct audit *a, bool held);

/* Blocks until the log is open and all records added so far are committed; -1 when that fails. Not for the
 * loop's thread. */
int audit_flush(struct audit *a, struct err *err);

struct audit_health {
    uint64_t written;    /* records by this process */
    uint64_t queued;     /* bytes in the ring */
    uint64_t gaps;       /* records that could not be kept (setting: pass) */
    uint64_t unrecorded; /* gaps and refused calls that no `gap` record reports yet */
    uint64_t refused;    /* puts answered FULL or FAILED */
    uint64_t commits;
    uint64_t seq;          /* newest of the chain that this process wrote */
    uint64_t committed_ms; /* wall clock of the last commit */
    bool failed;
    bool held;    /* see audit_hold */
    bool passing; /* calls pass without a record while it fails, by setting */
    char fault[256];
    char finding[256]; /* what was missing when this process took the log over; empty: nothing */
};
void audit_health(struct audit *a, struct audit_health *ret_health);
