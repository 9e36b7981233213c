/* Messages of servers on their way to clients, outside of answers. */
#pragma once

#include "channel/channel.h"

/* To that call's client, or outside calls (NULL), without what the client must not see. False when it cannot
 * be reached. */
bool deliver_message(struct channel *ch, struct call *call, const struct session_out *out);
