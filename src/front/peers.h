/* The other processes of this gate: workers of one supervisor, and those that still leave after a hand-over.
 * Each listens on a unix socket named after its tag, in a directory of the home that only its user can enter:
 *
 *   HOME/peers/ADDRESS_PORT/TAG
 *
 * A session's id ends with the tag of the process that has it. A request for a session that another one has
 * is authenticated here, sent there as it came, and authenticated there once more: it enters at that process'
 * own front, and its answer comes back byte by byte, streams included. Nothing is forwarded twice on one
 * machine. Between the gates of a fleet the same bytes go over TLS (nodes.h):
 *
 *   client ─▶ any process ─unix socket─▶ process of the same gate
 *                         ─TLS─▶ any process of another gate ─unix socket─▶ the one that has the session */
#pragma once

#include "front/front.h"

struct front_node;

#define FRONT_FORWARDED "Sallyport-Forwarded"
#define FRONT_FORWARDED_CERT "Sallyport-Forwarded-Cert"

/* When the core has its tag. The directory is made. */
int front_peers_open(struct front *f, const struct settings *settings, const char *home, struct err *err);
void front_peers_close(struct front *f);
/* The request belongs to another process and has been sent there. False: it is for this one. */
bool front_peers_route(struct front_conn *c, const struct http_head *head, struct block *b,
                       struct slice body);
/* Not for a request that has reached its gate and was sent on there. */
static inline bool front_peers_may_send(const struct front_conn *c) {
    return c->front->peer_dir && (!c->peer || c->from_node);
}
/* The same for one that names its owner otherwise. */
bool front_peers_send(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body,
                      const char *tag);
/* A modern request about a job or task of the gate's own, which another process has: its id ends with the
 * beginning of that one's tag. */
bool front_peers_route_id(struct front_conn *c, const struct http_head *head, struct block *b,
                          struct slice body, const struct msg *m);
/* Writes the request of that connection, as it came, for another process. */
void front_peers_put_request(const struct front_conn *c, struct io_conn *io, const struct http_head *head,
                             struct block *b, struct slice body);
void front_relay_free(struct front_relay *r); /* NULL is fine */
void front_relay_free_idle(struct front_node *node);
