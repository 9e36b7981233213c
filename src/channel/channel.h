/* The channels of a session: its connections to servers, opened at first use, in an era that the server
 * supports, one or several to a server. */
#pragma once

#include "channel/channel_types.h"

void channel_init(struct core *core, const struct link_events *link_events,
                  const struct channel_events *events);
void channel_free_core(struct core *core); /* after the last session */

/* ---- of a session ---- */

/* The session's first channel to that server; created when there is none. */
struct channel *channel_of(struct session *s, struct server *server);
/* The same without creating it; NULL when there is none yet. */
struct channel *channel_find(struct session *s, const struct server *server);
/* The right channel for the call if it is ready; or NULL when the call must wait: call_resume() follows. */
struct channel *channel_for(struct session *s, struct server *server, struct call *call);
/* Starts the session's only server now instead of at the first message. */
void channel_start(struct session *s);
void channel_close_all(struct session *s);
/* The session is closed, but some of its calls still wait for their servers. Ends the child processes of
 * those calls, waits for other servers, and closes all other channels. */
void channel_close_unused(struct session *s);
/* The server is removed: first fails all calls of any session that wait for it or are under way there;
 * then closes its channels. */
void channel_fail_calls(struct session *s, const struct server *server);
void channel_drop(struct session *s, struct server *server);
/* Counts the ready channels of all sessions to it, and the sessions in which it is missing. */
void channel_count(const struct core *core, const struct server *server, size_t *ret_ready,
                   size_t *ret_missing);
/* "down", "ready" or "idle". */
const char *channel_state_name(size_t ready, size_t missing);

/* ---- of one call ---- */

/* Waits for the channel's current operation; call_resume() follows. */
void channel_wait(struct channel *ch, struct call *call);
/* The call uses this channel from now on. */
void channel_take(struct call *c, struct channel *ch);
/* The call takes over an existing place among the channel's users, for instance that of a parked request. */
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
/* Ends one use of the channel. */
void channel_leave(struct channel *ch);
/* Resumes waiting calls, if it is ready. */
void channel_wake(struct channel *ch);
/* The server did not answer initialize in time. */
void channel_init_late(struct channel *ch, const char *why);
/* Opens the server's standing stream, if the client listens and the server is initialised. */
void channel_listen(struct channel *ch);

/* Its link is up, or down. */
void channel_up(void *owner);
void channel_down(void *owner, const char *why, int exit_status);
/* The server has answered: resets the back-off. */
void channel_works(struct channel *ch);
/* Something failed that works with a healthy server: it is checked at the next sweep. */
void channel_doubt(struct channel *ch);
