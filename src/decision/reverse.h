/* Requests and notifications that servers send on their own are judged, counted and recorded like a call. */
#pragma once

#include "channel/channel.h"

/* NULL: the client may be asked; else why not (in the arena). */
const char *reverse_judge_request(struct channel *ch, struct slice method, const struct tape *t,
                                  uint32_t params, struct arena *a);
/* May this notification of a server be sent to the client? */
bool reverse_may_deliver(struct channel *ch, struct slice method, const struct msg *m, struct arena *a);
