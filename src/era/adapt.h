/* A client of one era and a server of the other. When the eras differ the gate is itself the client of the
 * server and itself the server of the client; call.c asks here at FORWARD and FILTER, session.c for what
 * servers say on their own account. Calls whose link speaks the client's own era never come here. */
#pragma once

#include "call/call.h"

/* FORWARD, once the channel is known: CALL_NEXT when the message is to be sent. A message that the gate
 * answers itself has its answer and fails (skips to SETTLE). */
enum call_next adapt_forward(struct call *c);
/* The message in the words of the channel's era. */
bool adapt_request_text(struct call *c, struct splice *text);

/* Passes of FILTER. A refusal that is met by sending the call once more: */
enum call_next adapt_retry(struct call *c);
/* The answer in the words of the client's era; its id has been put right before. */
enum call_next adapt_answer(struct call *c);

/* A notification of a legacy server that a modern client is behind. */
void adapt_notification(struct channel *ch, struct call *call, struct msg *m, struct slice method,
                        struct arena *a);
