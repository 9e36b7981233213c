/* The share of one grant, or of one unauthenticated address, in what all clients use: sessions,
 * connections, bytes of requests being received.
 *
 * base/portion.h has the rule. Where authentication is off, all clients count as one, and only the overall
 * ceilings apply. */
#pragma once

#include "base/portion.h"

struct front_conn;

/* The share of a connection's address, which holds the connection until a request is authenticated. Idle
 * connections of a trusted proxy belong to no share. */
void front_share_enter(struct front_conn *c);
/* A request on the connection belongs to c->principal. False: its grant has too many connections;
 * answered. */
bool front_share_claim(struct front_conn *c);
void front_share_leave(struct front_conn *c);
/* Counts bytes of a request that have arrived or are expected. False: too many; nothing was counted. */
bool front_share_bytes(struct front_conn *c, size_t total);
void front_share_bytes_end(struct front_conn *c);

/* For one more session of c->principal. NULL if the grant has too many. */
struct portion *front_share_session(struct front_conn *c);
void front_share_session_end(struct portion *share); /* NULL is fine */

/* Makes room for a new connection: closes the oldest idle one that is not authenticated, of the same
 * address if that has too many, or of any if all have. */
void front_share_make_room(struct front_conn *c);
