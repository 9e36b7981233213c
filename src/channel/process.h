/* How many server processes there may be, of all clients and of one grant. A process counts until it has
 * exited, also when its session has ended before: an agent that closes and opens sessions gains nothing. */
#pragma once

#include "channel/channel_types.h"

/* May the channel's server be started? Only servers that are programs count. */
bool channel_process_fits(const struct channel *ch);
/* The channel's link was opened. */
void channel_process_count(struct channel *ch);
/* The error for the client when it may not. */
struct slice channel_process_refusal(const struct channel *ch, struct arena *a);
