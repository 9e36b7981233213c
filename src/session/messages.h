/* Messages outside of calls: requests and notifications of servers, and clients' answers to such requests. */
#pragma once

#include "channel/channel.h"

/* `call`: it came on that call's stream, or NULL. */
void messages_from_server(struct channel *ch, struct call *call, struct msg *m);
void messages_answer_from_client(struct session *s, struct msg *m);
