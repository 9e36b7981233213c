/* A server inside the gate: messages are passed by function calls. Rooms above treat it like any other
 * server, so its calls pass the same steps.
 *
 *   link_send ──▶ ops->receive(peer)          immediately
 *   up_builtin_send ──▶ queue ──▶ link_received   in the next turn of the loop, never within a send
 */
#pragma once

#include "base/block.h"
#include "base/slice.h"

struct link;
struct link_out;

struct up_builtin_ops {
    /* A link to it was opened by that owner (see link_events). Returns what receives its messages. */
    void *(*open)(void *ctx, struct link *link, void *owner);
    /* One complete message; the bytes are valid only during the call. */
    void (*receive)(void *peer, struct slice bytes, const struct link_out *out);
    /* The link is closed: no up_builtin_send() after this. */
    void (*close)(void *peer);
};

struct up_builtin {
    const struct up_builtin_ops *ops;
    void *ctx;
};

/* A message of the server; `about` is the id of the request it belongs to, or 0. Copies. */
void up_builtin_send(struct link *l, uint64_t about, struct slice bytes);
