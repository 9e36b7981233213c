/* One connection to Redis or Valkey: requests go out as they come, answers come back in the same order. Lost
 * connections are made again with back-off; meanwhile requests are refused at once, so that nobody waits for
 * a server that is known to be gone. Private to the state room. */
#pragma once

#include "base/list.h"
#include "io/loop.h"
#include "state/address.h"

struct redisReply;
struct redis_link;

/* Part of what asks. `answered` comes exactly once, when it cannot be answered any more with NULL; `late` may
 * come before it: the time that one waits is over, though the answer may still come. */
struct redis_want {
    struct list node;
    uint64_t due_ms;
    bool is_late;
    void (*late)(struct redis_want *w); /* may be NULL */
    void (*answered)(struct redis_want *w, const struct redisReply *reply);
};

struct redis_link_health {
    bool up;
    uint64_t requests, timeouts, connects;
    char fault[256]; /* what went wrong last */
};

/* `hello` is sent first on each new connection, after authentication: a command in the form of the protocol.
 */
struct redis_link *state_redis_link_new(struct io_loop *loop, const struct state_address *address,
                                        struct slice hello);
/* Every want is answered with NULL. NULL is fine. */
void state_redis_link_free(struct redis_link *link);
/* False: not taken, `answered` will not be called. `command` is a whole command in the form of the protocol.
 */
bool state_redis_link_send(struct redis_link *link, struct slice command, struct redis_want *want);
void state_redis_link_health(const struct redis_link *link, struct redis_link_health *ret_health);
