/* The other processes of this gate: workers of one supervisor, and those that are leaving after a hand-over.
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

/* After the core has its tag. Creates the directory. */
int front_peers_open(struct front *f, const struct settings *settings, const char *home, struct err *err);
void front_peers_close(struct front *f);
/* Returns true if the request belongs to another process and was forwarded to it. False: this process
 * handles it. */
bool front_peers_route(struct front_conn *c, const struct http_head *head, struct block *b,
                       struct slice body);
/* Not for a request that another gate already forwarded to this process. */
static inline bool front_peers_may_send(const struct front_conn *c) {
    return c->front->peer_dir && (!c->peer || c->from_node);
}
/* The same for a request that names its owner in another way. */
bool front_peers_send(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body,
                      const char *tag);
/* For a modern request about a job or task of the gate that another process has. The id of the job ends
 * with a prefix of that process' tag. */
bool front_peers_route_id(struct front_conn *c, const struct http_head *head, struct block *b,
                          struct slice body, const struct msg *m);
/* Writes the connection's request unchanged for another process. */
void front_peers_put_request(const struct front_conn *c, struct io_conn *io, const struct http_head *head,
                             struct block *b, struct slice body);
void front_relay_free(struct front_relay *r); /* NULL is fine */
void front_relay_free_idle(struct front_node *node);
