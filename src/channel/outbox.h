/* Messages that the gate itself sends on a channel, and the requests under way by their numbers. */
#pragma once

#include "channel/channel_types.h"

void channel_send(struct channel *ch, struct slice text, struct slice method, struct link_req *req);
/* A request in the form of the channel's era. `members`: of params, without `_meta`. */
struct slice channel_own_text(const struct channel *ch, uint64_t id, const char *method, struct slice members,
                              struct arena *a);
/* Cancels this request at the server. */
void channel_cancel(struct channel *ch, uint64_t id, struct slice reason);
/* Refuses a request of the server. */
void channel_refuse(struct channel *ch, struct slice server_id, int code, const char *why);

/* The own request that is stored in place of a call, or NULL for a call. */
struct own_request *channel_as_own(void *call);
/* The request under way with the id in that node: an own request or a call; NULL for none. */
struct own_request *channel_own_request(const struct channel *ch, const struct msg *m, uint32_t node);
struct call *channel_call(const struct channel *ch, const struct msg *m, uint32_t node);
