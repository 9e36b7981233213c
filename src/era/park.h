/* Questions of legacy servers for modern clients, which accept no requests. The call
 * is answered with the questions (`input_required`) while the server still works on it; the client repeats
 * the request with the answers, and the new call takes the parked request over.
 *
 *   call ── server asks ──▶ gather ──▶ answered with questions; the request is parked
 *   next call, with requestState ──▶ answers go to the server; the request is this call's now
 *
 * The state that the client sends back is encrypted for its principal and names the call. On a node that has
 * the key but not the parked request, the call is repeated and the same questions are answered from the
 * state. The same happens to a request that had to give up its link.
 */
#pragma once

#include "call/call.h"

void park_init(struct core *core);
void park_free_all(struct core *core); /* after the last session */

/* A question that may be asked; `call` is the call on whose stream it came, or NULL. */
void park_ask(struct channel *ch, struct call *call, struct msg *m, struct slice method);
/* FORWARD: does the call contain answers? True: *ret_next is what comes next. */
bool park_resume(struct call *c, enum call_next *ret_next);
/* The server requires the user to visit URLs first (-32042): answers with questions, if they may be asked. */
bool park_urls(struct call *c);
/* The server cancels a question. */
void park_take_back(struct channel *ch, struct slice server_id);
/* Does the message contain a requestState of this owner, and which process has the parked request? */
#define PARK_NODE 17
bool park_owner(const struct core *core, struct slice owner, const struct msg *m, struct arena *a,
                char ret_node[PARK_NODE]);
/* A call waits for a link to that server: the request that is parked longest gives up its own, as soon as it
 * has been parked for PARK_YIELD_MS. Otherwise a client that leaves its questions open blocks itself. */
void park_yield(struct channel *first);
void park_leave(struct call *c);          /* the call is over */
void park_drop(const struct channel *ch); /* the link is down */
