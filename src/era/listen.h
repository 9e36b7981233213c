/* Changes of lists and resources across the eras. A modern client subscribes by a request that stays open;
 * the gate subscribes to the legacy server for it. The subscriptions of a legacy client are combined into one
 * such request to a modern server. Log levels are separate requests in the legacy era only. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"

/* subscriptions/listen for a legacy server. */
enum call_next listen_start(struct call *c);
/* A notification of such a server: forwarded to every subscriber. */
void listen_deliver(struct channel *ch, struct msg *m, struct slice method, struct arena *a);
void listen_leave(struct call *c); /* the call is over */

/* resources/subscribe and unsubscribe for a modern server. */
enum call_next listen_subscribe(struct call *c, bool on);
/* One request for all subscriptions of the session, if there are any and the link is ready. */
void listen_refresh(struct channel *ch);
void listen_link_over(struct channel *ch);

/* Sends the level that the call asks for to the server first. CALL_NEXT: it is set. */
enum call_next listen_log_level(struct call *c);

/* A legacy server has agreed: the request is repeated after a restart. */
void listen_keep_level(struct call *c);
void listen_keep_subscription(struct call *c, bool on);

/* The gate is about to end: ends all subscriptions. */
void listen_finish_all(struct core *core);
