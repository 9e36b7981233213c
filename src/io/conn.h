/* A stream of bytes: a TCP connection, TLS over one, or one end of a pipe. Input is read into blocks; the
 * handler returns how much it consumed and the rest is kept for the next read. Output is gathered until the
 * loop's turn is over. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "io/loop.h"
#include "io/netmask.h"

struct io_conn;
struct splice;
struct io_tls; /* see tls.h */

/* The layer between the socket and the bytes that users see: TLS, or none. */
struct io_layer {
    void (*in_space)(struct io_conn *c, uv_buf_t *buf);
    void (*received)(struct io_conn *c, const char *ptr, size_t len);
    /* Replaces the plain bytes of the queue by ciphertext; false when nothing can be sent yet. */
    bool (*encrypt)(struct io_conn *c);
    void (*close_notify)(struct io_conn *c);
    void (*free)(struct io_tls *tls);
};

struct io_handlers {
    /* All unconsumed bytes, at ptr inside block b (take a reference to keep them). Returns the number of
     * consumed bytes. After io_conn_close() inside, the return value is ignored. */
    size_t (*data)(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len);
    /* No more input: status 0 for an orderly end, else a negative uv error. Also reports failed writes.
     * Called once at most; the owner calls io_conn_close() now or later. */
    void (*end)(struct io_conn *c, void *owner, int status);
    /* The queue fell below IO_QUEUE_LOW after it had been over IO_QUEUE_HIGH. May be NULL. */
    void (*drained)(struct io_conn *c, void *owner);
};

struct io_piece {
    struct block *block;
    const char *ptr;
    size_t len;
};

struct io_conn {
    uint32_t magic;
    struct io_loop *loop;
    const struct io_handlers *handlers;
    void *owner;
    union {
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    const struct io_layer *layer; /* NULL: plain bytes */
    struct io_tls *tls;           /* of the layer */
    struct list dirty;
    struct list all; /* in the loop */
    /* in */
    struct block *in;
    uint32_t in_start;
    uint32_t in_end;
    size_t in_want;
    int in_awaited; /* a socket: so many unread bytes wake the loop */
    bool reading;
    bool is_pipe;
    bool is_wide; /* the pipe's capacity was set to IO_PIPE_BYTES */
    bool in_handler;
    bool ended;
    bool tls_ended; /* the peer said that it sends no more: not cut off */
    /* out */
    struct io_piece *queue; /* queue[q_head .. q_head + q_count) */
    uint32_t q_head;
    uint32_t q_count;
    uint32_t q_cap;
    size_t queued;
    struct block *out_tail; /* where small pieces are copied together */
    uint32_t out_used;
    uv_write_t write_req;
    uint32_t writing;  /* pieces that the current write covers */
    uint32_t q_cipher; /* leading pieces that are already ciphertext */
    bool over_high;
    bool finishing;
    bool closing;
    uv_shutdown_t shutdown_req;
    struct io_timer linger;
};

/* A connected IP socket. Takes the descriptor; NULL when it is not a socket. */
struct io_conn *io_conn_socket(struct io_loop *loop, int take_fd, const struct io_handlers *h, void *owner);
/* A descriptor to read from or to write to: pipe, socket, terminal, or (with the right for_reading) a file or
 * device that cannot be polled. Takes ownership of it. */
struct io_conn *io_conn_fd(struct io_loop *loop, int take_fd, bool for_reading, const struct io_handlers *h,
                           void *owner);
/* Not connected yet; for net.c. */
struct io_conn *io_conn_tcp(struct io_loop *loop, const struct io_handlers *h, void *owner);

void io_conn_read(struct io_conn *c, bool on);
/* Calls the handler again with the unconsumed bytes, if any. */
void io_conn_again(struct io_conn *c);
/* Bytes that the handler has left; valid until the next read. */
struct slice io_conn_unread(const struct io_conn *c);
/* The handler needs at least this many contiguous bytes from the first unconsumed byte on. */
void io_conn_want(struct io_conn *c, size_t total);
/* Copies. */
void io_conn_put(struct io_conn *c, struct slice bytes);
/* References bytes inside the block when they are large, else copies. */
void io_conn_put_ref(struct io_conn *c, struct block *b, struct slice bytes);
/* An edited text. The parts that it borrows lie in that block (NULL: everything is copied). */
void io_conn_put_splice(struct io_conn *c, const struct splice *text, struct block *b);
/* The same with a newline at the end. */
void io_conn_put_line(struct io_conn *c, const struct splice *text, struct block *b);
static inline size_t io_conn_queued(const struct io_conn *c) { return c->queued; }
static inline bool io_conn_busy(const struct io_conn *c) { return c->queued >= IO_QUEUE_HIGH; }
void io_conn_flush(struct io_conn *c);
/* No callback comes after this; NULL is fine. */
void io_conn_close(struct io_conn *c);
/* Sends queued output, shuts the sending side down, waits briefly for the peer, then closes. No callback
 * comes after this. */
void io_conn_finish(struct io_conn *c);

/* Has nothing arrived that the loop did not read yet, not even the end? For a connection that is kept for
 * another request. */
bool io_conn_is_quiet(const struct io_conn *c);

/* The address of a connection's peer; false when it has none. */
bool io_conn_address(const struct io_conn *c, struct io_address *ret_address);

/* Ends a TCP connection whose peer has not acknowledged anything for about that long, idle or not. */
void io_conn_notice_loss(struct io_conn *c, uint32_t ms);

/* For tls.c: passes decrypted bytes to the handler; queues ciphertext. */
char *io_conn_in_space(struct io_conn *c, size_t *ret_len);
bool io_conn_in_commit(struct io_conn *c, size_t len); /* false: the conn was closed meanwhile */
void io_conn_end(struct io_conn *c, int status);
void io_conn_queue(struct io_conn *c, struct block *b, const char *ptr, size_t len);
void io_conn_unqueue_last(struct io_conn *c);
