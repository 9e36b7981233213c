/* Shared by the connections to stores on the network: requests in the order of their responses, time-outs,
 * and reconnecting with back-off. Without a connection requests are refused immediately, so that no call
 * waits for an unreachable server. Private to the state room. */
#pragma once

#include "state/remote.h"

enum remote_phase {
    REMOTE_WAITING,    /* for the next try */
    REMOTE_CONNECTING, /* requests are kept */
    REMOTE_UP,
};

struct remote_link { /* first member of a connection */
    struct io_loop *loop;
    void (*connect)(struct remote_link *l);
    void (*drop)(struct remote_link *l); /* frees the rest of a connection */
    enum remote_phase phase;
    struct list wants;
    size_t want_count;
    uint64_t timeout_ms; /* of a request */
    unsigned misses;     /* consecutive time-outs */
    uint64_t backoff_ms;
    struct io_timer retry;
    struct io_timer watch; /* for the oldest request */
    bool looked;           /* the socket was read since the oldest request is due */
    struct remote_link_health health;
};

/* Connects for the first time. */
void state_remote_link_start(struct remote_link *l, struct io_loop *loop, uint64_t timeout_ms);
/* The server is usable: resets the back-off. */
void state_remote_link_good(struct remote_link *l);
void state_remote_link_lost(struct remote_link *l, const char *why);
/* Connects now, ignoring the back-off. */
void state_remote_link_retry(struct remote_link *l);
void state_remote_link_note(struct remote_link *l, const char *why);
/* May a request be sent now? state_remote_link_queue() then waits for its response. */
bool state_remote_link_takes(struct remote_link *l);
void state_remote_link_queue(struct remote_link *l, struct remote_want *want);
/* Passes the next response to its request; false if none waits. */
bool state_remote_link_answer(struct remote_link *l, const void *reply);
/* Permanently. Every request is answered with NULL. */
void state_remote_link_end(struct remote_link *l);
