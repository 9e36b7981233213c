/* One HTTP request and the response to it, on a connection from the pool. The owner chooses how to get the
 * body when it has seen the head: nothing, the whole of it, or the events of a stream as they come.
 *
 *      start ──▶ wait for a connection ──▶ head ──▶ body ──▶ done
 *                     └──────────────────────┴────────┴────▶ failed
 *
 * Exactly one of done and failed ends an exchange, unless it is dropped. The owner may start the same struct
 * anew, or free it, inside them. */
#pragma once

#include "upstream/pool.h"
#include "wire/splice.h"
#include "wire/sse.h"

struct exchange;

enum exchange_want {
    EXCHANGE_SKIP,   /* nothing; if the body does not end soon, the connection is closed */
    EXCHANGE_BODY,   /* all of it, in one piece */
    EXCHANGE_EVENTS, /* each event of the stream */
    EXCHANGE_REFUSE, /* it is unusable: x->refusal has the reason */
};

struct exchange_fault {
    const char *why;
    bool unsent; /* the server cannot have acted on the request */
    bool stale;  /* a connection that was used before ended without one byte of response */
};

struct exchange_ops {
    enum exchange_want (*head)(struct exchange *x, const struct http_head *h);
    /* False: the exchange has been dropped meanwhile. The event's bytes lie in the block. */
    bool (*event)(struct exchange *x, struct block *b, const struct sse_event *e);
    /* The response is complete. body is empty unless the whole was wanted. */
    void (*done)(struct exchange *x, struct block *b, struct slice body);
    void (*failed)(struct exchange *x, const struct exchange_fault *fault);
};

struct exchange {
    const struct exchange_ops *ops;
    struct up_ticket ticket;
    struct io_piece *request; /* the request's bytes while there is no connection to write them to */
    uint32_t request_count;
    struct block *request_copies; /* the parts that were copied */
    enum http_method method;
    struct io_timer timer;
    bool paused;
    bool limit_stream;
    bool replied; /* at least one byte of a response has come */
    bool in_body;
    /* the response */
    int status; /* 0 before the head */
    bool keep_alive;
    uint64_t idle_ms;
    enum http_body body;
    enum exchange_want want;
    const char *refusal;
    uint64_t left;
    size_t body_max; /* of a whole body */
    size_t skipped;
    struct http_chunked chunked;
    struct sse_reader sse;
    struct block *in; /* decoded bytes not yet handed on: in->data[in_start .. in_end) */
    size_t in_start;
    size_t in_end;
};

struct exchange_request {
    enum http_method method;
    struct slice fixed; /* the head: two parts, the first may be empty */
    struct slice own;
    const struct splice *body; /* NULL for none */
    struct block *block;       /* holds body->src, or NULL when that must be copied */
    uint64_t limit_ms;         /* until the response's head, and for a body that is read completely */
    bool limit_stream;         /* an event stream has the same limit */
};

/* Answers come later, never inside. */
void up_exchange_start(struct exchange *x, struct up_server *s, const struct exchange_ops *ops,
                       const struct exchange_request *r);
void up_exchange_pause(struct exchange *x, bool on);
/* The rest of the response is not needed; if it ends soon the connection is kept. done or failed follows. */
void up_exchange_drain(struct exchange *x);
/* Ends it without a callback; fine on one that is over or was never started. */
void up_exchange_drop(struct exchange *x);
static inline bool up_exchange_waits(const struct exchange *x) { return x->request != NULL; }
