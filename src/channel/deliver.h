/* Messages of servers on their way to clients, outside of answers. */
#pragma once

#include "channel/channel.h"

/* Sends the message to that call's client, or outside calls (NULL), after redaction. False when the client
 * cannot be reached. */
bool deliver_message(struct channel *ch, struct call *call, const struct session_out *out);
