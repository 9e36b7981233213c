/* The FILTER step's part about personal data and secrets. */
#pragma once

#include "call/call.h"

/* Works on the answer that c->response will become; sets another one when it must be kept back. */
void redact_answer(struct call *c, struct splice *text);
/* A text that was edited, read as a message of its own; NULL when it is none. */
struct msg *call_reread(struct call *c, const struct splice *text);
/* What was found in the result of a call: "EMAIL 2, SECRET 1", or empty. */
struct slice redact_summary(struct call *c);
