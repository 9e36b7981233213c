/* A way out for what runs in a sandbox without a network: an HTTP proxy on a listening socket that was made
 * inside and handed to the gate.
 *
 *   code ── CONNECT host:port, or GET http://host/ ──▶ port ─▶ list ─▶ resolve ─▶ addresses ─▶ judge() ─▶
 * connect
 *
 * A name is resolved once, by the gate, when the list has it; the addresses that were checked are the ones
 * that are connected to. Private addresses have to be on the list themselves. With headers to add, the gate
 * ends TLS on both sides: code sees a certificate of an authority that only this process has, and never the
 * headers. One request is made over each such connection, and over each plain one. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "io/loop.h"

struct egress;
struct egress_port;

struct egress_config {
    struct io_loop *loop;
    const char *const *allow; /* "host:port": a name, *.name, address or network; port * is any */
    size_t allow_count;
    const char *list_name; /* where that list is written, for people; NULL: code.network.allow */
    const char *const
        *inject; /* "host", a line feed, "Name: value": added to requests to that host over TLS */
    size_t inject_count;
};

int egress_open(const struct egress_config *config, struct egress **ret_egress, struct err *err);
/* All of its ports must be closed first. NULL is fine. */
void egress_close(struct egress *e);
/* Certificates that code in the sandbox must trust (PEM): the system's and the gate's. */
struct slice egress_bundle(const struct egress *e);

/* A request for a connection. */
struct egress_ask {
    struct slice host; /* in the form that rules compare */
    uint16_t port;
    struct slice address; /* the first that would be connected to; empty when it is not known */
    struct slice refused; /* why the list does not allow it; empty when it does */
    void *handle;         /* the judge's own */
};

struct egress_ops {
    /* Called also for refused connections, for the record. Calls egress_answer() once, now or later. */
    void (*judge)(void *owner, struct egress_ask *ask);
    /* The connection is gone: egress_answer() must not be called any more. */
    void (*gone)(void *owner, struct egress_ask *ask);
};

/* `why` is the reason when it is not allowed. */
void egress_answer(struct egress_ask *ask, bool allowed, struct slice why);

/* Serves the connections of a listening socket until the port is closed. */
struct egress_port *egress_listen(struct egress *e, int take_fd, const struct egress_ops *ops, void *owner);
/* Closes all of its connections. NULL is fine. */
void egress_port_close(struct egress_port *p);
