/* One connection to Redis or Valkey: requests go out as they come, answers come back in the same order. Lost
 * connections are made again with back-off; meanwhile requests are refused at once, so that nobody waits for
 * a server that is known to be gone. Private to the state room. */
#pragma once

#include "state/address.h"
#include "state/remote_link.h"

struct redis_link;

/* `hello` is sent first on each new connection, after authentication: a command in the form of the protocol.
 */
struct redis_link *state_redis_link_new(struct io_loop *loop, const struct state_address *address,
                                        struct slice hello);
/* Every want is answered with NULL. NULL is fine. */
void state_redis_link_free(struct redis_link *link);
/* False: not taken, `answered` will not be called. `command` is a whole command in the form of the protocol.
 */
bool state_redis_link_send(struct redis_link *link, struct slice command, struct remote_want *want);
struct remote_link *state_redis_link_base(struct redis_link *link);
