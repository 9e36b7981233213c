/* Messages outside of calls: requests and notifications of servers, and clients' answers to such requests. */
#pragma once

#include "channel/channel.h"

/* `call`: it came on that call's stream, or NULL. */
void messages_from_server(struct channel *ch, struct call *call, struct msg *m);
void messages_answer_from_client(struct session *s, struct msg *m);
/* An answer of the client that was not admitted: its server gets an error instead, and need not wait. False
 * when it answers nothing that the client was asked. */
bool messages_refuse_answer(struct session *s, struct slice bytes, const char *why);
