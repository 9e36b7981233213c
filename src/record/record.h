/* Audit records of clients' calls and of servers' requests to clients. */
#pragma once

#include "base/log.h"
#include "call/call.h"

void record_init(struct core *core);
void record_free(struct core *core);

/* NOTE: the decision is recorded before the call is sent. */
enum call_next record_step_note(struct call *c);
/* RECORD: the result of the call. */
enum call_next record_step_outcome(struct call *c);
/* The call is over. */
void record_end(struct call *c);

/* The fields of a log line about this call: identity, server, tool, rule and policy, as far as known. */
#define RECORD_ABOUT 5
const struct log_field *record_about(const struct call *c, struct log_field about[RECORD_ABOUT]);

/* The names of the arguments, or all arguments, by setting. May lie in the core's scratch buffer. */
struct slice record_arguments(struct session *s, struct server *server, const struct tape *t, uint32_t args,
                              struct arena *a);
/* The shadow verdicts as a JSON array; empty when there are none. */
struct slice record_shadows(const struct policy_verdict *v, struct arena *a);

/* A message that is refused before a policy can judge it. It is recorded as a denial. */
struct refusal {
    enum {
        REFUSAL_MALFORMED,        /* by the client: not a message, or not one for this endpoint */
        REFUSAL_SERVER_MALFORMED, /* by the server */
        REFUSAL_REFUSED,          /* a request that no server can receive */
    } kind;
    const struct principal *who;
    const struct session *session; /* NULL: it reached no session */
    const struct server *server;   /* NULL: not known, or none */
    struct slice method, tool;     /* as far as known */
    uint64_t parent;               /* as in struct call */
    struct slice why;
};
void record_refusal(struct core *core, const struct refusal *r);
