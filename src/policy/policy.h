/* The policy engine: a document in either dialect becomes one immutable program, and the program turns facts
 * about one message into a verdict. No I/O and no clock in here: time, counters, file links and everything
 * known about the caller arrive with the facts.
 *
 *   text ── policy_load ──▶ struct policy (reference-counted, shared by every thread)
 *                               │
 *   facts ── policy_decide ─────┴──▶ verdict ── limits[] ──▶ the caller reserves them all or none
 *                                       │                     refused: policy_refuse() ──▶ denied
 *                                       └── allow | deny | approve, rule, text, shadow verdicts
 *
 * The caller's walk for one message:
 *   policy_decide(); when the outcome is not DENY, reserve verdict.limits[] as one transaction; on a refusal
 *   call policy_refuse() with the limit that refused (a limit with `shadow` set never refuses: note it in the
 *   shadow verdicts with policy_shadow() and go on); forward; settle, or roll back on a JSON-RPC error. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "policy/window.h"
#include "wire/tape.h"

struct policy;
struct policy_schema;

enum policy_outcome { POLICY_ALLOW, POLICY_DENY, POLICY_APPROVE };
enum policy_direction { POLICY_TO_SERVER, POLICY_TO_CLIENT };
enum policy_dialect { POLICY_INTERCEPT, POLICY_LAYER };

/* Coarse reason of a verdict: for metrics, the audit and `_meta`. */
enum policy_reason {
    POLICY_BY_NOTHING, /* allowed */
    POLICY_BY_HIDE,
    POLICY_BY_DEFAULT,
    POLICY_BY_RULE,
    POLICY_BY_LIMIT,
    POLICY_BY_APPROVAL,
    POLICY_BY_FLOW,
    POLICY_BY_METHOD,
    POLICY_BY_SCHEMA,
    POLICY_BY_FAULT,     /* a rule could not be evaluated: refused */
    POLICY_BY_PIN,       /* the tool's definition differs from its pin */
    POLICY_BY_POISON,    /* the tool's definition contains instructions */
    POLICY_BY_AMBIGUITY, /* a server may read the arguments differently from the policy */
    POLICY_BY_STOP,      /* an operator has stopped it */
};
const char *policy_reason_name(enum policy_reason reason);
const char *policy_outcome_name(enum policy_outcome outcome);

/* Risk class of a tool, from the classifier; the selectors @read … @financial match it. */
enum policy_class {
    POLICY_CLASS_UNKNOWN,
    POLICY_CLASS_READ,
    POLICY_CLASS_WRITE,
    POLICY_CLASS_EXECUTE,
    POLICY_CLASS_DESTRUCTIVE,
    POLICY_CLASS_FINANCIAL,
};
/* UNKNOWN for any other name; case does not matter. */
enum policy_class policy_class_from(struct slice name);

/* Flow labels: static tags of a tool, and the set a session has gathered from its allowed calls. */
enum policy_flow {
    POLICY_SRC_UNTRUSTED = 1,
    POLICY_SRC_PRIVATE = 2,
    POLICY_SINK = 4,
    POLICY_EXEC = 8,
    POLICY_MONEY = 16,
    POLICY_FLOW_ALL = 31,
};
/* 0 when there is no such label. */
uint32_t policy_flow_from(struct slice name);

struct policy_traits { /* facts about the tool itself */
    enum policy_class class;
    uint32_t tags; /* POLICY_SRC_UNTRUSTED … */
};

/* ---- loading ---- */

enum policy_severity { POLICY_ERROR, POLICY_WARNING };

struct policy_problem {
    enum policy_severity severity;
    struct slice text;    /* the exact text, without position */
    struct slice pointer; /* JSON Pointer of the place in the document; empty for the document itself */
    struct slice hint;    /* "did you mean" or advice; empty when there is none */
    uint32_t line;        /* 1-based; 0 when unknown */
    uint32_t column;
};

struct policy_problems {
    struct arena arena; /* owns every text below */
    struct policy_problem *items;
    size_t count;
    size_t cap;
};

void policy_problems_init(struct policy_problems *p);
void policy_problems_free(struct policy_problems *p);
static inline void policy_problems_cleanup(struct policy_problems *p) { policy_problems_free(p); }
#define cleanup_problems __attribute__((cleanup(policy_problems_cleanup)))

/* YAML or JSON, either dialect. 0 and *ret_policy (one reference), perhaps with a POLICY_WARNING; or -1 and
 * at least one POLICY_ERROR in problems. `name` (may be NULL) is what messages and the audit call the policy.
 * `problems` must have been initialised; the text need not outlive the call. */
int policy_load(struct slice text, const char *name, struct policy **ret_policy,
                struct policy_problems *problems);
/* Appends POLICY_WARNINGs: rules that cannot match, rules covered by earlier ones, deny blocks that a
 * missing argument bypasses, patterns that backtrack. */
void policy_lint(const struct policy *p, struct policy_problems *problems);
/* A tool as its server lists it. */
struct policy_lint_tool {
    struct slice name;
    struct slice server; /* for messages; empty if there is only one */
    const struct policy_schema *schema;
};
/* The same for conditions that do not match the tool's schema: arguments that it does not have, operators
 * and values of other types. Once for each known tool. */
void policy_lint_types(const struct policy *p, const struct policy_lint_tool *tool,
                       struct policy_problems *problems);

struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p); /* NULL is fine */
static inline void policy_cleanup(struct policy **p) { policy_unref(*p); }
#define cleanup_policy __attribute__((cleanup(policy_cleanup)))

struct slice policy_name(const struct policy *p);
const char *policy_hash(const struct policy *p); /* SHA-256 of the source text, 64 hex digits */
/* The version that the document declares; after reloads with a + and their number: 1, 1+1, 1+2 … */
struct slice policy_version(const struct policy *p);
/* Call once, before any other reference exists. */
void policy_set_revision(struct policy *p, uint64_t revision);
enum policy_dialect policy_dialect(const struct policy *p);
bool policy_is_shadow(const struct policy *p); /* nothing is enforced, everything is recorded */
bool policy_has_flows(const struct policy *p);
size_t policy_tool_count(const struct policy *p);

/* ---- facts ---- */

struct policy_fact { /* "identity.team" → "billing"; also grant.*, session.*, server.* beyond the names below
                      */
    struct slice key;
    struct slice value;
};

/* How state conditions read counters: the current value in micro-units, 0 for an unknown counter or one
 * whose window is over. false: the store failed, and the call is refused. `limit` has key, kind, window. */
struct policy_counters {
    bool (*read)(void *ctx, const struct policy_limit *limit, int64_t *ret_micro);
    void *ctx;
};

/* For `under`: the path with every symbolic link resolved, built in the arena; if the file does not exist
 * yet, the longest existing ancestor is resolved. false when it cannot be resolved: the condition is
 * false. */
struct policy_files {
    bool (*realpath)(void *ctx, struct slice path, struct arena *a, struct slice *ret_path);
    void *ctx;
};

/* For `contains_secret` and `pii`: finds personal data and secrets in a value and everything inside it. */
struct policy_finds {
    uint64_t count;
    uint64_t work;     /* bytes that were looked at besides those of the value */
    struct slice kind; /* kind of the first find, as tokens name it */
    uint32_t node;     /* node that contains it; the object if it is one of its keys */
};

struct policy_detector {
    /* No kinds: the default kinds. false: detection failed, and the call is refused. */
    bool (*find)(void *ctx, const struct tape *t, uint32_t node, const struct slice *kinds, size_t kind_count,
                 struct arena *a, struct policy_finds *ret_finds);
    void *ctx;
};

/* The highest count of a kind of personal data in one result of the session. The kind is named as in
 * tokens; the empty name stands for all kinds together. */
struct policy_pii {
    struct slice kind;
    uint32_t most;
};

struct policy_facts {
    struct slice method; /* "tools/call" … */
    enum policy_direction direction;
    struct slice server;
    struct slice tool; /* tools/call: the bare tool name; other methods: empty */
    /* Arguments of the call, or params of any other method: an object that is not the root. 0: none. */
    const struct tape *tape;
    uint32_t args;
    struct policy_traits traits;
    struct slice grant;
    struct slice limits; /* the name that limits of scope grant are counted under; empty: the grant */
    struct slice identity;
    struct slice session;
    const struct policy_fact *more;
    size_t more_count;
    uint32_t flow;                /* labels the session has gathered so far */
    const struct policy_pii *pii; /* what the session's results contained */
    size_t pii_count;
    bool pii_closed; /* a kind that is not in this list has no detector and counts as seen */
    const struct policy_schema *schema; /* the tool's inputSchema, compiled; NULL when not known */
    bool schema_unreadable;             /* the schema is known, but could not be compiled */
    struct slice args_hash;             /* canonical argument hash if the caller has one, for `identical` */
    uint64_t now_ms;
    const struct policy_counters
        *counters;                    /* NULL: no store; state conditions pass, no limits are returned */
    const struct policy_files *files; /* NULL: `under` stays lexical */
    const struct policy_detector *detector; /* NULL: conditions that need it refuse the call */
};

/* ---- decisions ---- */

struct policy_shadow { /* the verdict that would have been enforced */
    enum policy_outcome outcome;
    struct slice rule;
    struct slice pointer;
    struct slice text;
};

struct policy_verdict {
    enum policy_outcome outcome;
    enum policy_reason reason;
    struct slice rule;       /* name; "(hidden)", "(default deny)" …; empty when allowed */
    struct slice pointer;    /* JSON Pointer into the policy document */
    struct slice text;       /* message for the agent without the prefix; policy_verdict_text() adds it */
    struct slice detail;     /* what would be allowed: "args.amount must be lte 500"; may be empty */
    struct slice path;       /* path of the argument to blame, if there is one: args.items[0].price */
    uint64_t retry_after_ms; /* 0: unknown or never */
    uint64_t approval_timeout_ms;  /* POLICY_APPROVE; 0: the gate's default */
    const struct slice *approvers; /* POLICY_APPROVE; borrowed from the policy */
    size_t approver_count;
    const struct policy_limit *limits; /* to reserve, all or none; empty when denied */
    size_t limit_count;
    struct policy_shadow *shadows;
    size_t shadow_count;
    uint64_t result_bytes_max;    /* 0: no cap by policy */
    uint64_t result_bytes_shadow; /* a cap that is noted, not enforced */
};

/* The lower of two caps applies; 0 is none. */
static inline void policy_tighten(uint64_t *cap, uint64_t other) {
    if (other && (!*cap || other < *cap))
        *cap = other;
}

struct policy_trace;

/* Never fails: what cannot be evaluated is denied. Slices in the verdict live in the arena or the policy.
 * trace (may be NULL) collects what `explain` prints. */
void policy_decide(const struct policy *p, const struct policy_facts *f, struct arena *a,
                   struct policy_trace *trace, struct policy_verdict *ret_verdict);
/* Turns the verdict into the denial for the limit that refused. */
void policy_refuse(const struct policy_limit *limit, uint64_t retry_after_ms, struct arena *a,
                   struct policy_verdict *v);
/* Denial because the store failed and the fail mode is closed. */
void policy_refuse_fault(struct policy_verdict *v);
/* Notes that a shadow limit would have refused. */
void policy_shadow(const struct policy_limit *limit, struct arena *a, struct policy_verdict *v);
/* What the agent reads: prefix and text ("[POLICY DENIED] …", "[INTERCEPT POLICY DENIED] …"). Empty when
 * allowed. NUL-terminated behind the slice. */
struct slice policy_verdict_text(const struct policy *p, const struct policy_verdict *v, struct arena *a);
/* The verdict on a tool that is not listed, where the default is deny. False: the default is allow. */
bool policy_verdict_unlisted(const struct policy *p, struct slice tool, struct arena *a,
                             struct policy_verdict *ret_verdict);

/* Is the tool removed from tools/list? True for hidden tools, for names that are not plain ASCII and that
 * the policy does not contain, and with `prune: true` for tools that default deny refuses. */
bool policy_hides(const struct policy *p, struct slice tool, const struct policy_traits *traits);
/* Can the class or the flow labels of a tool change a verdict? Then they are needed for every call. */
bool policy_wants_traits(const struct policy *p);
/* Does a condition look for personal data or secrets in arguments? Then facts->detector is needed. */
bool policy_wants_detector(const struct policy *p);
/* The kinds that flows refer to (`result.pii.EMAIL > 0`), one after the other; ptr is NULL after the last. */
struct slice policy_pii_kind(const struct policy *p, size_t index);
/* The same for conditions and flows, with the place; `text` is the kind. False after the last. The policy
 * does not know which kinds exist. */
bool policy_kind_at(const struct policy *p, size_t index, struct policy_problem *ret_place);
/* Adds an error at a place that policy_kind_at gave. */
void policy_kind_unknown(const struct policy_problem *place, struct slice hint,
                         struct policy_problems *problems);
/* Does some rule for this tool need facts->schema (validate, op schema without a schema of its own, or strict
 * arguments)? */
bool policy_wants_schema(const struct policy *p, struct slice tool, const struct policy_traits *traits);
