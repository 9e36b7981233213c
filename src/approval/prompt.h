/* Texts about an approval: the form that a client shows its user and the answer to it, and the error data for
 * an agent. */
#pragma once

#include "call/call.h"
#include "state/approvals.h"

enum approve_answer { APPROVE_ANSWER_NONE, APPROVE_ANSWER_APPROVE, APPROVE_ANSWER_DENY };

/* Can the client show a form to its user? */
bool approve_prompt_supported(const struct call *c);
/* The params of elicitation/create; empty when they are too large. */
struct slice approve_prompt_question(const struct state_approval *r, bool modern, struct arena *a);
/* An ElicitResult. Only an explicit choice approves; declining denies; dismissing decides nothing. */
enum approve_answer approve_prompt_read(const struct tape *t, uint32_t result);
/* The data of error -32003: everything that a retry needs. `console` may be NULL. */
struct slice approve_prompt_pending(const struct state_approval *r, const char *console, struct arena *a);
/* The approvers of the verdict as a JSON array. */
struct slice approve_prompt_approvers(const struct policy_verdict *v, struct arena *a);
