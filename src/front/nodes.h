/* The gates of one fleet, each on a machine of its own: `fleet` in the settings lists them. The first bytes
 * of a process' tag are made from its gate's address in that list, so a session id says which gate has it:
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

/* Are these settings usable? */
int front_nodes_check(const struct settings *s, struct err *err);
/* Before the process tells anyone its tag. Nothing happens without `fleet` in the settings. */
int front_nodes_open(struct front *f, const struct settings *s, struct err *err);
void front_nodes_hush(struct front *f); /* no new connections from other gates */
/* `end_idle` closes the connections to one gate that wait for requests. */
void front_nodes_close(struct front *f, void (*end_idle)(struct front_node *node));
/* The other gate that a tag, or the beginning of one, belongs to; NULL: this one, or none that is known. */
struct front_node *front_nodes_find(const struct front *f, struct slice tag);
struct io_tls_ctx *front_nodes_tls(const struct front *f); /* of connections to them */
/* A connection that could not show a certificate of the fleet. */
void front_nodes_refused(struct front *f, const char *why);
