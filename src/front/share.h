/* What one grant, or one address that has not authenticated, may take of what all clients share: sessions,
 * connections, bytes of requests that are arriving.
 *
 * A grant gets no more than is left for the others. Alone it can take half of everything, a second one half
 * of the rest, and so on: the next client always finds room, and nothing has to be configured. Where
 * nobody authenticates there is one client for this purpose, and only the ceilings of all hold. */
#pragma once

#include "base/map.h"
#include "base/slice.h"

struct front_conn;

struct front_share {
    struct map *home;
    uint32_t refs;
    uint32_t sessions;
    uint32_t conns;
    size_t bytes;
    bool is_whole; /* authentication is off: it may use everything */
    size_t key_len;
    char key[];
};

/* The share of the address behind a connection, to which it belongs until a request is authenticated. Idle
 * connections of a trusted proxy belong to no share. */
void front_share_enter(struct front_conn *c);
/* A request of the connection is c->principal's. False: its grant has as many connections as it may have;
 * answered. */
bool front_share_claim(struct front_conn *c);
void front_share_leave(struct front_conn *c);
/* So many bytes of a request are here or expected. False: too many; nothing was counted. */
bool front_share_bytes(struct front_conn *c, size_t total);
void front_share_bytes_end(struct front_conn *c);

/* For one more session of c->principal; NULL when the grant has as many as it may have. */
struct front_share *front_share_session(struct front_conn *c);
void front_share_session_end(struct front_share *share); /* NULL is fine */

/* Makes room for a new connection by closing the oldest one that waits for a request and is not
 * authenticated: of the same address when that has too many, or of any when all have. */
void front_share_make_room(struct front_conn *c);
