/* Questions in an answer (`input_required`), which is how modern servers ask. A client of that era gets them
 * as they are, once they have been decided on; a legacy client gets each of them as a request, and the call
 * is repeated with its answers. */
#pragma once

#include "call/call.h"

/* A pass of FILTER, for modern clients of modern servers: questions that may not be asked are withheld. */
enum call_next input_filter(struct call *c);
/* CALL_NEXT: there are none. Otherwise the client is being asked, or the call has failed. */
enum call_next input_start(struct call *c);
/* Of a task: does it ask anything that the client has not been asked yet? */
bool input_continue(const struct call *c);
/* "inputResponses":…,"requestState":… for the repeated request; empty before. */
struct slice input_members(const struct call *c);
void input_forget(struct call *c);
