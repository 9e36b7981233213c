/* TLS on top of a conn, by OpenSSL over memory buffers. Internal to the room: users of a conn see plain
 * bytes. Client side: certificates are verified against the system's authorities and the host name. Server
 * side: a client may present a certificate of the given authorities; any other ends the handshake. */
#pragma once

#include "base/buf.h"
#include "io/conn.h"

struct io_tls_ctx; /* process-wide settings, made once */

struct io_tls_ctx *io_tls_client_ctx(struct err *err);
/* PEM files; client_ca NULL: no client is asked for a certificate. */
struct io_tls_ctx *io_tls_server_ctx(const char *cert, const char *key, const char *client_ca,
                                     struct err *err);
/* The same from PEM texts: a certificate that this process made, and its key. */
struct io_tls_ctx *io_tls_server_ctx_of(struct slice cert, struct slice key, struct err *err);
/* For a server that requires certificates: a client without one is refused, too. */
void io_tls_require_client(struct io_tls_ctx *ctx);
/* A client that shows a certificate of its own and trusts these authorities alone; PEM files. No cert and
 * key: it shows none. No ca: it trusts the system's. */
struct io_tls_ctx *io_tls_member_ctx(const char *cert, const char *key, const char *ca, struct err *err);
void io_tls_ctx_free(struct io_tls_ctx *ctx);

/* Turns a connected conn into a TLS client for that host. `ready` is called once, with 0 or -1 and the
 * reason; bytes may be put only after 0. */
void io_tls_start_client(struct io_conn *c, struct io_tls_ctx *ctx, const char *host,
                         void (*ready)(void *owner, int status, const char *why));

/* The same for an accepted conn; output waits for the handshake. `early` was already read from the socket. */
void io_tls_start_server(struct io_conn *c, struct io_tls_ctx *ctx, struct slice early,
                         void (*ready)(void *owner, int status, const char *why));
/* The fields of the client's certificate: subject, common_name, and each email, dns and uri; then its
 * fingerprint. False when there is none. *ret_expires_s: when the certificate expires. */
bool io_tls_peer(const struct io_conn *c, void (*each)(void *ctx, const char *name, struct slice value),
                 void *ctx, uint64_t *ret_expires_s);
/* The peer's certificate, to pass to another process of ours; and the same fields from a certificate that
 * such a process checked. */
bool io_tls_peer_der(const struct io_conn *c, struct buf *out);
bool io_tls_cert(struct slice der, void (*each)(void *ctx, const char *name, struct slice value), void *ctx,
                 uint64_t *ret_expires_s);
