/* The links of a session: opened at first use, in an era that the server speaks, one or several to a server.
 */
#pragma once

#include "session/session.h"

static inline bool lane_speaks_modern(const struct session_link *sl) { return sl->era == SESSION_ERA_MODERN; }

/* Events of links. */
void lane_up(void *owner);
void lane_down(void *owner, const char *why, int exit_status);
/* The server has not answered its greeting in time. */
void lane_hello_late(struct session_link *sl, const char *why);
/* The call is over, or wants another lane. */
void lane_release(struct call *c);
/* The server behind the link has said that it does not speak the older era (initialize was refused). True:
 * the call waits while the other is tried. */
bool lane_reconsider(struct session_link *sl, struct call *c);
/* Is it known what the server says about itself? Otherwise it is asked and the call waits. */
bool lane_hello(struct session_link *sl, struct call *c);
/* Reads what the client of the stateless era says about itself, once. */
void lane_read_client(struct call *c);
/* One user less. */
void lane_leave(struct session_link *sl);
void lane_close_all(struct session *s);
