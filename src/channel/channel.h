/* The channels of a session: its connections to servers, opened at first use, in an era that the server
 * supports, one or several to a server. */
#pragma once

#include "channel/channel_types.h"

void channel_init(struct core *core, const struct link_events *link_events,
                  const struct channel_events *events);
void channel_free_core(struct core *core); /* after the last session */

/* ---- of a session ---- */

/* The session's first channel to that server; made when there is none. */
struct channel *channel_of(struct session *s, struct server *server);
/* The same as it is; NULL when there is none yet. */
struct channel *channel_find(struct session *s, const struct server *server);
/* The channel that is right for the call, ready, or NULL when the call must wait: call_resume() follows. */
struct channel *channel_for(struct session *s, struct server *server, struct call *call);
/* Starts the session's one server now instead of at the first message. */
void channel_start(struct session *s);
void channel_close_all(struct session *s);
/* The session is closed and some of its calls linger: their child processes are ended, other servers are
 * waited for, and the channels without such a call close. */
void channel_close_unused(struct session *s);
/* The server is removed: first all calls of any session that wait for it or are under way there fail; then
 * its channels close. */
void channel_fail_calls(struct session *s, const struct server *server);
void channel_drop(struct session *s, struct server *server);
/* Channels of all sessions to it that are ready, and those of sessions that miss it. */
void channel_count(const struct core *core, const struct server *server, size_t *ret_ready,
                   size_t *ret_missing);
/* "down", "ready" or "idle". */
const char *channel_state_name(size_t ready, size_t missing);

/* ---- of one call ---- */

/* Waits for what the channel is doing; call_resume() follows. */
void channel_wait(struct channel *ch, struct call *call);
/* The call travels on it from now on. */
void channel_take(struct call *c, struct channel *ch);
/* It takes over a place among the channel's users, for instance that of a parked request. */
void channel_take_over(struct call *c, struct channel *ch);
/* The call is over, or needs another channel. */
void channel_release(struct call *c);
/* The server does not support the legacy era (it refused initialize). True: the call waits while the modern
 * era is tried. */
bool channel_reconsider(struct channel *ch, struct call *c);
/* Is the server's description known? Otherwise it is requested and the call waits. */
bool channel_describe(struct channel *ch, struct call *c);

/* ---- one channel ---- */

/* Starts it (again) now, or after its back-off, without a call that waits for it. */
void channel_revive(struct channel *ch);
/* Closes an unused channel; the next call opens it again. */
void channel_rest(struct channel *ch);
/* One user less. */
void channel_leave(struct channel *ch);
/* Calls that wait for it go on, if it is ready. */
void channel_wake(struct channel *ch);
/* The server has not answered its initialize in time. */
void channel_init_late(struct channel *ch, const char *why);
/* The server's standing stream, if the client listens and it has been initialised. */
void channel_listen(struct channel *ch);

/* Its link is up, or over. */
void channel_up(void *owner);
void channel_down(void *owner, const char *why, int exit_status);
/* It has answered: the next restart starts from the first delay. */
void channel_works(struct channel *ch);
/* Something failed that a healthy server would have done: it is checked at the next sweep. */
void channel_doubt(struct channel *ch);
