/* A client of one era and a server of the other. The gate is then a client of the server and a server of
 * the client: FORWARD, FILTER and messages that servers send on their own use these functions. Calls whose
 * link uses the client's era do not. */
#pragma once

#include "call/call.h"

/* FORWARD, once the channel is known: CALL_NEXT when the message is to be sent. A message that the gate
 * answers itself has its answer set and skips to SETTLE (CALL_FAIL). */
enum call_next adapt_forward(struct call *c);
/* The message, translated to the channel's era. */
bool adapt_request_text(struct call *c, struct splice *text);

/* Passes of FILTER. Sends a call again after a refusal that allows it: */
enum call_next adapt_retry(struct call *c);
/* The answer, translated to the client's era; its id is already the client's. */
enum call_next adapt_answer(struct call *c);

/* A notification of a legacy server for a modern client. */
void adapt_notification(struct channel *ch, struct call *call, struct msg *m, struct slice method,
                        struct arena *a);
