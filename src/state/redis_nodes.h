/* Which connection leads to a part of the counters: to the one server, to the master that Sentinels name, or
 * to that node of a Cluster which has the part. Private to the state room.
 *
 *   Sentinel   asked every second who the master is; the connection goes there, and leaves a replica
 *   Cluster    no query: a wrong node answers MOVED, which is remembered. While a node is gone any
 * other one is tried, and its MOVED names the successor */
#pragma once

#include "state/redis_link.h"

struct redis_nodes;

struct redis_nodes_config {
    const struct state_address *address; /* copied */
    size_t first;                        /* of its hosts: where to begin */
    uint64_t timeout_ms;                 /* of a request */
    struct slice hello;                  /* as redis_link_config has it */
    void (*changed)(void *owner);        /* a server can be used, or no longer; may be NULL */
    void (*unknown_master)(void *owner); /* every Sentinel was asked, and none knows it; may be NULL */
    void *owner;
};

struct redis_nodes *state_redis_nodes_new(struct io_loop *loop, const struct redis_nodes_config *config);
void state_redis_nodes_free(struct redis_nodes *nodes); /* NULL is fine */
/* Never NULL. */
struct redis_link *state_redis_nodes_link(struct redis_nodes *nodes, unsigned shard);
/* The node that an error `MOVED SLOT HOST:PORT` or `ASK SLOT HOST:PORT` names, NULL if it names none. MOVED
 * is remembered for the shard. */
struct redis_link *state_redis_nodes_redirect(struct redis_nodes *nodes, unsigned shard, struct slice error);
/* Up when every server that has a shard is. */
void state_redis_nodes_health(const struct redis_nodes *nodes, struct remote_link_health *ret_health);
void state_redis_nodes_flush(struct redis_nodes *nodes);
