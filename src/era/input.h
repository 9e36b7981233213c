/* Questions in an answer (`input_required`), which is how modern servers ask. A modern client gets them as
 * they are, after the policy has allowed them. A legacy client gets each of them as a request, and the
 * call is repeated with its answers. */
#pragma once

#include "call/call.h"

/* A pass of FILTER, for modern clients of modern servers: withholds questions that may not be asked. */
enum call_next input_filter(struct call *c);
/* CALL_NEXT: there are none. Otherwise the client is asked, or the call has failed. */
enum call_next input_start(struct call *c);
/* For a task: does it ask anything that the client has not been asked yet? */
bool input_continue(const struct call *c);
/* "inputResponses":…,"requestState":… for the repeated request; empty before. */
struct slice input_members(const struct call *c);
void input_forget(struct call *c);
