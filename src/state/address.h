/* Where a store on the network is: redis://user:password@host:port/database?client_name=NAME. Private to the
 * state room. */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct state_address {
    bool tls;
    uint16_t port;
    uint32_t database;
    char *host; /* NULL: path is that of a unix socket */
    char *path;
    char *user; /* NULL: none */
    char *password;
    char *client_name;
};

/* redis: rediss: valkey: valkeys: with //, and unix: or redis+unix: with a path. Messages never show the
 * password. */
int state_address_parse(struct slice dsn, struct state_address *ret_address, struct err *err);
void state_address_free(struct state_address *a);
bool state_address_scheme(struct slice scheme);
