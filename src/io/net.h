/* Listening and connecting on TCP. */
#pragma once

#include "io/conn.h"

struct io_listener;

/* Binds and listens on a numeric address. The real port (for port 0) goes to *ret_port. */
struct io_listener *io_listen(struct io_loop *loop, const char *address, uint16_t port,
                              void (*incoming)(struct io_listener *l, void *owner, uv_stream_t *server),
                              void *owner, uint16_t *ret_port, struct err *err);
void io_listener_close(struct io_listener *l); /* NULL is fine */

struct io_dial;

/* Resolves the host and connects, one address after the other. `ready` is called exactly once, later, with
 * the connection or with NULL and a negative uv error, unless the dial is cancelled first. The connection
 * has the given handlers and owner. */
struct io_dial *io_connect(struct io_loop *loop, const char *host, uint16_t port, const struct io_handlers *h,
                           void *owner, void (*ready)(void *owner, struct io_conn *c, int status));
void io_dial_cancel(struct io_dial *d); /* NULL is fine */
/* Is this numeric address (or the name "localhost") on the loop-back? */
bool io_is_loopback(const char *address);
