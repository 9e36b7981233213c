/* What the audit log gets to know, of calls of clients and of what servers want of clients. */
#pragma once

#include "policy/policy.h"
#include "session/session.h"

/* Names of the arguments, or all of them, as the settings say. May lie in the core's scratch buffer. */
struct slice record_arguments(struct session *s, struct session_server *server, const struct tape *t,
                              uint32_t args, struct arena *a);
/* The verdicts that were not enforced, as a JSON array; empty when there are none. */
struct slice record_shadows(const struct policy_verdict *v, struct arena *a);
