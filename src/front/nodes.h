/* The gates of one fleet, each on a machine of its own: `fleet` in the settings lists them. The first bytes
 * of a process' tag are made from its gate's address in that list, so a session id identifies its gate:
 *
 *   session id ──▶ tag ──▶ gate (first FRONT_NODE_ID bytes) and process (the rest)
 *
 * A request for another gate goes there over TLS. Both ends show a certificate of the fleet's own authority.
 * Only addresses in the list are ever contacted. Which process of that gate has the session is decided there.
 */
#pragma once

#include "front/front.h"
#include "front/settings.h"

struct front_node {
    const char *name; /* as the list spells it */
    char host[SETTINGS_HOST_MAX];
    uint16_t port;
    unsigned char id[FRONT_NODE_ID];
    bool failing;     /* the last attempt to connect failed */
    struct list idle; /* connections that wait for their next request; peers.c */
    unsigned idle_count;
};

/* Validates the settings. */
int front_nodes_check(const struct settings *s, struct err *err);
/* Called before the process publishes its tag. Does nothing without `fleet` in the settings. */
int front_nodes_open(struct front *f, const struct settings *s, struct err *err);
void front_nodes_hush(struct front *f); /* accepts no new connections from other gates */
/* `end_idle` closes the idle connections to one gate. */
void front_nodes_close(struct front *f, void (*end_idle)(struct front_node *node));
/* The other gate that a tag, or a prefix of one, belongs to. NULL: this gate, or an unknown one. */
struct front_node *front_nodes_find(const struct front *f, struct slice tag);
struct io_tls_ctx *front_nodes_tls(const struct front *f); /* for connections to the other gates */
/* Reports a connection without a certificate of the fleet. */
void front_nodes_refused(struct front *f, const char *why);
