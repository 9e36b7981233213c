/* Passes of FILTER that belong to no other room: the envelope of the answer, its effects on the session, and
 * which tools of a list the client may see. */
#pragma once

#include "call/call.h"

/* Puts the server's response into the answer, with the client's own id. */
enum call_next results_begin(struct call *c);
/* initialize was refused by a modern server: it is not sent again but answered by the gate. */
enum call_next results_reconsider_era(struct call *c);
/* Stores what the answer reveals about the server, and what the client may now expect. */
enum call_next results_learn(struct call *c);
/* Responses are made for one principal: no shared cache may keep them, whatever the server allows. */
enum call_next results_keep_private(struct call *c);
/* initialize was answered: stores the negotiated parameters, for the session and for a restart of the
 * server. */
enum call_next results_initialized(struct call *c);
/* tools/list: learns the list, then removes what the client may not see. */
enum call_next results_filter_tools(struct call *c);
/* subscriptions/listen: the client's own id of it. */
enum call_next results_subscription(struct call *c);
