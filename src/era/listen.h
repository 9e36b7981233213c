/* Changes of lists and resources across the eras. A modern client listens by a request that stays
 * open; a legacy server is subscribed to for it. A legacy client has its subscriptions
 * gathered in one such request to a modern server. Log levels, too, are wishes that travel by
 * themselves in the legacy era only. */
#pragma once

#include "call/call.h"
#include "channel/channel.h"

/* subscriptions/listen for a legacy server. */
enum call_next listen_start(struct call *c);
/* A notification of such a server: to everybody who listens for it. */
void listen_deliver(struct channel *ch, struct msg *m, struct slice method, struct arena *a);
void listen_leave(struct call *c); /* the call is over */

/* resources/subscribe and unsubscribe for a modern server. */
enum call_next listen_subscribe(struct call *c, bool on);
/* One request for all that the session wants to hear of, if there is anything and the link is ready. */
void listen_refresh(struct channel *ch);
void listen_link_over(struct channel *ch);

/* The level that the call asks for reaches the server first. CALL_NEXT: it has. */
enum call_next listen_log_level(struct call *c);

/* A legacy server has agreed: the process that takes its place is asked the same. */
void listen_keep_level(struct call *c);
void listen_keep_subscription(struct call *c, bool on);

/* A subscription gets its last answer. */
void listen_finish(struct call *c);
/* The gate is about to end: so do all of them. */
void listen_finish_all(struct core *core);
