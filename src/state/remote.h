/* What stores on the network share: the life of a reservation that is answered later.
 *
 *   reserve ──▶ carrier->send ──▶ state_remote_answered  counted: ticket->wait keeps it ──▶ settle ──▶ send
 * (undo) └──▶ state_remote_late      told as a fault; if it was counted after all it is taken back
 *
 * When a connection breaks it is unknown what was done: counters may stay too high until their windows end,
 * never too low. Calls in flight are leased: the gate renews them while it lives. Private to the state room.
 */
#pragma once

#include "base/arena.h"
#include "base/list.h"
#include "io/loop.h"
#include "state/meter.h"
#include "state/store.h"

struct remote;
struct leases;

/* Part of what waits for an answer. `answered` comes exactly once, with NULL when no answer can come any
 * more; `late` may come before it: the time that one waits is over, though the answer may still come. */
struct remote_want {
    struct list node;
    uint64_t due_ms;
    uint64_t sent_us;
    bool is_late;
    void (*late)(struct remote_want *w); /* may be NULL */
    void (*answered)(struct remote_want *w, const void *reply);
};

struct remote_link_health {
    bool up;
    uint64_t requests, timeouts, connects, unsent;
    uint64_t answer_us;
    uint64_t answers[STATE_ANSWER_BUCKETS + 1];
    char fault[256]; /* the last error */
};

enum remote_op { REMOTE_RESERVE, REMOTE_READ, REMOTE_UNDO };

/* What is known of a counter's mark in PostgreSQL (fleet_marks.h). */
enum remote_mark {
    REMOTE_MARK_UNKNOWN,
    REMOTE_MARK_KNOWN,
    REMOTE_MARK_VOID, /* it does not cover the window */
};

struct remote_held { /* one limit of a call */
    enum state_kind kind;
    bool shadow;
    bool counted; /* and `start` says where: what undo needs */
    bool leasable;
    bool local; /* taken from a slice: the server is not asked */
    uint8_t shard;
    int64_t slice; /* is counted instead of `amount`; 0: no slice */
    uint64_t window_ms;
    int64_t max;
    int64_t refill;
    int64_t amount;
    uint64_t fingerprint;
    uint64_t start;
    uint64_t client; /* hash of the owner; 0: no client with a share */
    int64_t value;   /* READ; RESERVE: with this call, where the server says it */
    int64_t lost_ms; /* the newest loss of writes that the server knew of; -1: it was not asked */
    enum remote_mark mark;
    struct state_mark known; /* REMOTE_MARK_KNOWN */
    struct slice key;        /* in the call's own memory */
};

struct remote_call {
    struct remote_want want;
    struct remote_want mark_want; /* for the carrier: what waits for marks */
    struct remote *store;
    enum remote_op op;
    bool opens;   /* allowed if it cannot be counted */
    bool retried; /* for the carrier, as are the next four */
    bool broken;  /* a part was counted and the next could not be sent */
    uint8_t part; /* the shard that is asked */
    uint8_t redirects;
    uint64_t shadow_refused;     /* of the parts before */
    uint64_t server_ms;          /* the server's clock when it answered */
    struct state_ticket *ticket; /* NULL: cancelled, or answered already */
    state_done_fn *done;
    void *ctx;
    struct state_fetch *fetch; /* of a read; NULL: cancelled, or answered already */
    uint64_t number;
    struct list renewing; /* linked while it holds calls in flight */
    size_t count;
    struct remote_held held[]; /* and behind them the bytes of their keys */
};

struct remote_carrier {
    const char *name;
    /* Sends call->op; false: it cannot, and will not answer. UNDO: of the limits that are `counted`. */
    bool (*send)(struct remote *r, struct remote_call *call);
    /* Reads the answer: for RESERVE into *answer and `counted` and `start` of each limit, for READ into
     * `value`. */
    bool (*read)(struct remote_call *call, const void *reply, struct state_answer *answer);
    /* Sends again, because the server lost the script or another server has the next part. True: sent. May
     * be NULL. */
    bool (*again)(struct remote_call *call, const void *reply);
    /* The call was counted. True: something else must be stored first; then state_remote_secured() follows,
     * or want.answered with NULL. May be NULL. */
    bool (*secure)(struct remote_call *call);
    void (*renew)(struct remote *r, const struct remote_call *call); /* its calls in flight */
    void (*health)(const struct remote *r, struct remote_link_health *ret_health);
    void (*close)(struct remote *r); /* the link; answers what waits with NULL */
};

#define REMOTE_OWNER_LEN 16

struct remote { /* first member of every store on the network */
    struct state_store store;
    uint32_t magic;
    const struct remote_carrier *carrier;
    struct io_loop *loop; /* NULL: only its health is queried */
    char *path;           /* as health shows it */
    char *prefix;
    unsigned shards;     /* parts that the counters have, by scope; 0: one */
    uint64_t timeout_ms; /* of a request */
    char owner[REMOTE_OWNER_LEN + 1];
    uint64_t number;
    struct list renewing;
    struct io_timer renew;
    struct leases *leases; /* NULL: none */
    struct io_timer lease_check;
    struct state_health health;
};

/* What the server is asked to count. */
static inline int64_t state_remote_amount(const struct remote_held *h) {
    return h->slice ? h->slice : h->amount;
}

void state_remote_init(struct remote *r, const struct remote_carrier *carrier,
                       const struct state_config *config);
/* A counted call may pass, now that what `secure` had to store is stored. */
void state_remote_secured(struct remote_call *call);
/* From now on leases are renewed. */
void state_remote_start(struct remote *r, struct io_loop *loop);
/* What all keys of a shard start with. */
struct slice state_remote_prefix(const struct remote *r, unsigned shard, struct arena *a);
struct slice state_remote_kind(enum state_kind kind); /* one letter */
/* Whose counter it is, for the bound of one client: "-" for one of no client. */
const char *state_remote_client(const struct remote_held *h, struct arena *a);
