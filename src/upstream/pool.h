/* The connections to one server. A request takes a ticket; the ticket gets a connection of its own, an unused
 * one or a new one, and brings it back when the response has been read to its end.
 *
 *      take ──▶ unused ─────────────▶ in use ── return ──▶ unused (closed after a while)
 *          ├──▶ dialling, securing ──▶   │ └──── drop ───▶ closed
 *          └──▶ queue (all are in use) ──┘
 */
#pragma once

#include "io/conn.h"
#include "upstream/server.h"

struct up_conn;
struct up_ticket;

struct up_loss {
    const char *why; /* names the server */
    int status;      /* 0 for an orderly end, else a negative uv error */
    bool unsent;     /* part of the request never left: the server cannot have acted on it */
};

struct up_ticket_ops {
    /* A connection is available: write. Only after up_pool_take() returned false. */
    void (*ready)(struct up_ticket *t);
    size_t (*data)(struct up_ticket *t, struct block *b, char *ptr, size_t len);
    /* The connection closed, or could not be made. The ticket is empty. */
    void (*lost)(struct up_ticket *t, const struct up_loss *loss);
};

struct up_ticket {
    const struct up_ticket_ops *ops;
    struct up_server *server;
    struct up_conn *conn; /* NULL in the queue, and when the ticket is not valid */
    struct list waiting;
    bool reused; /* the connection has carried a request before */
};

/* True: there is a connection already. False: `ready` or `lost` comes later. */
bool up_pool_take(struct up_ticket *t);
struct io_conn *up_pool_io(const struct up_ticket *t); /* NULL while there is none to write to */
/* The response is complete and the connection may carry another one within idle_ms. */
void up_pool_return(struct up_ticket *t, uint64_t idle_ms);
/* Closes the connection or leaves the queue; fine on a ticket that holds nothing. */
void up_pool_drop(struct up_ticket *t);
/* Ends every ticket and closes every connection. */
void up_pool_close(struct up_server *s);
