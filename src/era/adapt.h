/* A client of one era and a server of the other. When the eras differ the gate is itself the client of the
 * server and itself the server of the client; call.c asks here at FORWARD and FILTER, session.c for what
 * servers say on their own account. Calls whose link speaks the client's own era never come here. */
#pragma once

#include "call/call.h"

/* FORWARD, once the link is known: CALL_NEXT when the message is to be sent, else what call.c shall do. A
 * message that the gate answers itself has its answer and fails (skips to SETTLE). */
enum call_next adapt_forward(struct call *c);
/* The message in the words of the link's era. */
bool adapt_request_text(struct call *c, struct splice *text);
/* FILTER: the answer in the words of the client's era. The id has been put right before. */
enum call_next adapt_answer(struct call *c, struct splice *text);

/* FILTER, first of all: a refusal that is met by sending the call once more; it is then the next step. */
bool adapt_retry(struct call *c);

/* A notification of a server of the older era that a client of the newer one is behind; true: dealt with. */
bool adapt_notification(struct channel *ch, struct call *call, struct msg *m, struct slice method,
                        struct arena *a);

/* Answers of the gate's own at FORWARD; always CALL_FAIL. `result` is JSON. */
enum call_next adapt_reply(struct call *c, struct slice result);
enum call_next adapt_unknown_method(struct call *c);
/* The client would have to declare more: an enum translate_capability. */
enum call_next adapt_lacks(struct call *c, uint32_t bit);

/* A request of the gate's own in the words of the link's era. `members`: of params, without `_meta`. */
struct slice channel_own_text(const struct channel *ch, uint64_t id, const char *method, struct slice members,
                              struct arena *a);
