/* Where a store on the network is: redis://user:password@host:port/database?client_name=NAME. Private to the
 * state room.
 *
 *   redis+sentinel://user:password@host,host/MASTER/database?sentinel_user=NAME&sentinel_password=TEXT
 *   redis+cluster://user:password@host,host */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum state_topology { STATE_ONE_SERVER, STATE_SENTINEL, STATE_CLUSTER };

struct state_node {
    char *host;
    uint16_t port;
};

struct state_address {
    enum state_topology topology;
    bool tls;
    uint32_t database;
    struct state_node nodes[STATE_REDIS_NODES_MAX]; /* one, or the Sentinels, or some nodes of the Cluster */
    size_t node_count;                              /* 0: path is that of a unix socket */
    char *path;
    char *master; /* STATE_SENTINEL: the name of what the Sentinels watch */
    char *sentinel_user;
    char *sentinel_password;
    char *user; /* NULL: none */
    char *password;
    char *client_name;
    char *ca;         /* files, with TLS: the authorities of the server; NULL: the system's */
    char *cert, *key; /* of the gate; NULL: none */
};

/* redis: rediss: valkey: valkeys: with //, +sentinel or +cluster behind them, and unix: or redis+unix: with a
 * path. Messages never show a password. */
int state_address_parse(struct slice dsn, struct state_address *ret_address, struct err *err);
void state_address_free(struct state_address *a);
void state_address_copy(struct state_address *ret_to, const struct state_address *from);
bool state_address_scheme(struct slice scheme);
/* host, host:port or [ipv6]:port; `port` is taken when none is given. */
int state_address_node(struct slice text, uint16_t port, struct state_node *ret_node, struct err *err);
