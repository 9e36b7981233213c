/* What servers send of their own accord, requests and notifications, is judged, counted and recorded like a
 * call. */
#pragma once

#include "channel/channel.h"

/* NULL: the client may be asked; else why not (in the arena). */
const char *reverse_judge_request(struct channel *ch, struct slice method, const struct tape *t,
                                  uint32_t params, struct arena *a);
/* May the client hear this notification of a server? */
bool reverse_may_deliver(struct channel *ch, struct slice method, const struct msg *m, struct arena *a);
