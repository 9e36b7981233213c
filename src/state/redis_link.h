/* One connection to Redis or Valkey: requests are sent as they come, answers arrive in the same order. Lost
 * connections are made again with back-off; meanwhile requests are refused immediately, so that no call waits
 * for an unreachable server. Private to the state room. */
#pragma once

#include "state/address.h"
#include "state/remote_link.h"

struct redis_link;

struct redis_link_config {
    const struct state_address *address; /* credentials; copied */
    const struct state_node *node;       /* NULL: the unix socket, or state_redis_link_point sets it later */
    uint64_t timeout_ms;                 /* of a request */
    bool masters_only;                   /* a replica is disconnected */
    struct slice hello; /* sent first on each new connection, after authentication: a whole command */
    void (*changed)(void *owner, struct redis_link *link); /* it became usable or unusable; may be NULL */
    void *owner;
};

struct redis_link *state_redis_link_new(struct io_loop *loop, const struct redis_link_config *config);
/* Every want is answered with NULL. NULL is fine. */
void state_redis_link_free(struct redis_link *link);
/* Sets the server's address; reconnects immediately if it has changed. */
void state_redis_link_point(struct redis_link *link, const struct state_node *node);
bool state_redis_link_is_at(const struct redis_link *link, const struct state_node *node);
/* False: not sent, and `answered` will not be called. `command` is a complete command in the wire format. */
bool state_redis_link_send(struct redis_link *link, struct slice command, struct remote_want *want);
/* Sends pending output now, because the link is about to close. */
void state_redis_link_flush(struct redis_link *link);
struct remote_link *state_redis_link_base(struct redis_link *link);
