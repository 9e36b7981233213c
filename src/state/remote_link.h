/* What the connections to stores on the network share: wants in the order of their answers, time-outs, and
 * connecting again with back-off. While there is no connection requests are refused immediately, so that no
 * call waits for an unreachable server. Private to the state room. */
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
    void (*drop)(struct remote_link *l); /* whatever is left of a connection */
    enum remote_phase phase;
    struct list wants;
    size_t want_count;
    unsigned misses; /* time-outs in a row */
    uint64_t backoff_ms;
    struct io_timer retry;
    struct io_timer watch; /* over the oldest want */
    struct remote_link_health health;
};

/* Connects for the first time. */
void state_remote_link_start(struct remote_link *l, struct io_loop *loop);
/* The server can be used: from here on the next failure is tried again soon. */
void state_remote_link_good(struct remote_link *l);
void state_remote_link_lost(struct remote_link *l, const char *why);
/* Connects now, ignoring the back-off. */
void state_remote_link_retry(struct remote_link *l);
void state_remote_link_note(struct remote_link *l, const char *why);
/* Whether a request may be sent now; state_remote_link_queue then makes its want wait. */
bool state_remote_link_takes(struct remote_link *l);
void state_remote_link_queue(struct remote_link *l, struct remote_want *want);
/* Hands the next answer to the want it belongs to; false when none waits. */
bool state_remote_link_answer(struct remote_link *l, const void *reply);
/* For good. Every want is answered with NULL. */
void state_remote_link_end(struct remote_link *l);
