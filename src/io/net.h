/* Listening and connecting on TCP. */
#pragma once

#include "io/conn.h"

struct io_listener;

#define IO_ADDRESS_MAX 64 /* bytes of a numeric address as text */

/* Binds and listens on a numeric address. The real port (for port 0) goes to *ret_port. `incoming` owns the
 * descriptor of the connection; io_conn_socket() takes it. */
struct io_listener *io_listen(struct io_loop *loop, const char *address, uint16_t port,
                              void (*incoming)(struct io_listener *l, void *owner, int take_fd), void *owner,
                              uint16_t *ret_port, struct err *err);
/* The same in two steps: make a listening socket (or get one from elsewhere), then accept connections. */
int io_listen_open(const char *address, uint16_t port, struct err *err);
/* The same where each process of this user has a socket of its own at that address; the system deals
 * connections out. */
int io_listen_shared(const char *address, uint16_t port, struct err *err);
struct io_listener *io_listen_fd(struct io_loop *loop, int take_fd,
                                 void (*incoming)(struct io_listener *l, void *owner, int take_fd),
                                 void *owner);
/* Other processes accept connections from the same socket. If `may_accept` returns false, the connection
 * is left to them for a moment; if none took it, it is accepted here. */
void io_listener_share(struct io_listener *l, bool (*may_accept)(void *owner));
/* The port of an IP socket; 0 for any other. `ret_address` may be NULL. */
uint16_t io_bound_port(int fd, char ret_address[IO_ADDRESS_MAX]);
/* A unix socket that only this user can reach, DIR/NAME; its file is removed with the listener. */
struct io_listener *io_listen_unix(struct io_loop *loop, const char *dir, const char *name,
                                   void (*incoming)(struct io_listener *l, void *owner, int take_fd),
                                   void *owner, struct err *err);
/* Does not block. -1: no process of this user listens there. */
int io_dial_unix(const char *dir, const char *name);
/* Does the peer of a unix socket run as this user? */
bool io_same_user(int fd);
void io_listener_close(struct io_listener *l); /* NULL is fine */

struct io_dial;

/* Resolves the host and connects, one address after the other. `ready` is called exactly once, later, with
 * the connection or with NULL and a negative uv error, unless the dial is cancelled first. The connection
 * has the given handlers and owner. */
struct io_dial *io_connect(struct io_loop *loop, const char *host, uint16_t port, const struct io_handlers *h,
                           void *owner, void (*ready)(void *owner, struct io_conn *c, int status));
void io_dial_cancel(struct io_dial *d); /* NULL is fine */

struct io_lookup;

/* Only resolves, for callers that check addresses before they connect. `done` is called exactly once,
 * later, with at least one address or with none and a negative uv error, unless the lookup is cancelled
 * first. */
struct io_lookup *
io_resolve(struct io_loop *loop, const char *host,
           void (*done)(void *owner, const struct io_address *found, size_t count, int status), void *owner);
void io_resolve_cancel(struct io_lookup *l); /* NULL is fine */
/* Is this numeric address (or the name "localhost") on the loop-back? */
bool io_is_loopback(const char *address);
