/* Counters in Redis or Valkey, shared by every gate that names the same server and prefix. Private to the
 * state room. */
#pragma once

#include "state/address.h"
#include "state/store.h"

/* The server must respond now, or the store is not opened. Takes the address. */
int state_redis_open(const struct state_config *config, struct state_address *take_address,
                     struct state_store **ret_store, struct err *err);
