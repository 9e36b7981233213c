/* The interface of a store of counters: limits, reservations and the operations that each store
 * implements. The stores include this header; other rooms call them through state.h. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "state/limits.h"

#define STATE_MICRO 1000000
#define STATE_NO_MAX INT64_MAX /* counted, never refused */

enum state_kind {
    STATE_FIXED,      /* UTC calendar windows, see clock_window_start */
    STATE_SLIDING,    /* the last window_ms milliseconds, in steps of 1/31: may expire late, never early */
    STATE_BUCKET,     /* max = capacity; `refill` micro-units flow back each window_ms, continuously */
    STATE_CONCURRENT, /* calls in flight: whole calls, released by settle whatever the outcome, and when the
                         process that holds them dies */
    STATE_IDENTICAL,  /* the same `fingerprint` within window_ms of its first time; the STATE_RECENT distinct
                         fingerprints seen last under a key are remembered */
};

/* If the store fails: the store's fail mode applies, unless the limit has its own. */
enum state_fail { STATE_FAIL_AS_SET, STATE_FAIL_LIMIT_CLOSED, STATE_FAIL_LIMIT_OPEN };

struct state_limit {
    enum state_kind kind;
    enum state_fail fail;
    bool leasable;    /* counts whole calls, not money */
    bool shadow;      /* would have refused: noted in the answer, not enforced */
    struct slice key; /* with scope and identity; without kind and window */
    size_t scope_len; /* length of the prefix that names the scope: counters of one scope are kept together */
    uint64_t window_ms;   /* 0 only for STATE_CONCURRENT */
    int64_t max;          /* the value after this call must stay <= max */
    int64_t refill;       /* STATE_BUCKET */
    int64_t amount;       /* >= 0; 0 checks without counting */
    uint64_t fingerprint; /* STATE_IDENTICAL: first bytes of the canonical argument hash */
    struct slice owner;   /* the client that it is counted for; empty: no client with a share */
};

enum state_step { STATE_DONE, STATE_WAIT };
enum state_result {
    STATE_GRANTED,
    STATE_REFUSED, /* refused_index says by which limit */
    STATE_FAULT,   /* the store failed and the fail mode is closed, or a limit is invalid */
};
enum state_outcome { STATE_KEEP, STATE_ROLLBACK };

struct state_answer {
    enum state_result result;
    size_t refused_index;
    uint64_t retry_after_ms; /* 0: waiting does not help, or unknown */
    uint64_t shadow_refused; /* bit i: limits[i] (i < 64) is a shadow limit that would have refused */
    bool degraded;           /* granted although the store failed: fail mode open */
};

struct state_hold { /* one limit's part of a reservation: enough to take it back from the window it went into
                     */
    uint32_t index; /* of the limit */
    uint32_t counter;
    uint32_t generation;
    uint64_t start_ms;
    int64_t amount;
    uint64_t fingerprint;
};

struct state_store;

/* Caller-owned, part of the call; no need to zero it before state_reserve. */
struct state_ticket {
    struct state_answer answer;
    struct state_store *store;
    struct state_hold *holds; /* NULL if nothing is reserved */
    uint32_t count;
    void *wait; /* private to a network store */
    struct state_hold few[STATE_LIMITS_FEW];
};

typedef void state_done_fn(void *ctx, enum state_result result, size_t refused_index,
                           uint64_t retry_after_ms);

enum state_fail_mode { STATE_FAIL_CLOSED, STATE_FAIL_OPEN };

struct state_config {
    const char
        *dsn; /* NULL or "sqlite:": the database in dir; "sqlite:PATH"; "memory:"; redis://, postgres:// */
    const char *dir;    /* where "sqlite:" lives: state.sqlite and state.live; made (0700) when absent */
    const char *prefix; /* prefix of every key; NULL: none */
    enum state_fail_mode fail_mode;
    uint64_t timeout_ms; /* how long a reservation waits for a store on the network; 0: the default */
    int64_t lease_calls; /* Redis: calls of a large limit that are reserved together; 0: each by itself */
    const char
        *marks_dsn; /* Redis: PostgreSQL that has marks, to go on from after a loss of writes; NULL: none */
    bool read_only; /* for status: attach to an existing store, count nothing */
    struct io_loop
        *loop; /* the loop on which a network store waits for responses; NULL: only its health is queried */
};

/* Counters that are read later. `values` has room for all of them. */
struct state_fetch {
    int64_t *values;
    void (*done)(struct state_fetch *fetch, enum state_result result);
    enum state_result result;
    struct state_store *store;
    void *wait;
};

struct state_counter { /* one counter, as `status` shows it */
    enum state_kind kind;
    struct slice key;
    uint64_t window_ms;
    uint64_t start_ms;
    int64_t value;    /* at the requested time */
    int64_t max;      /* as last used */
    uint64_t used_ms; /* time of the last reservation */
};

/* Upper bounds of health.answers. */
#define STATE_ANSWER_BUCKETS 8
extern const uint32_t state_answer_us[STATE_ANSWER_BUCKETS];

struct state_health {
    const char *backend; /* "sqlite", "memory", "redis", "postgres" */
    const char *path;    /* "" for none */
    bool created;        /* by this process: there was none before */
    size_t counters;
    size_t processes;                      /* attached, this one included */
    uint64_t commits;                      /* durable marks written by this process */
    uint64_t faults;                       /* calls during which the store failed */
    uint64_t passed;                       /* of these, calls that were allowed uncounted: fail mode open */
    uint64_t leased;                       /* calls allowed from a slice, without a request */
    uint64_t losses;                       /* detected losses of writes */
    bool has_marks;                        /* windows go on from marks after a loss */
    bool down;                             /* it cannot be reached, or its files were deleted */
    uint64_t requests, timeouts, connects; /* of one on the network */
    uint64_t unsent;    /* requests that were refused immediately: no connection, or too many */
    uint64_t answer_us; /* total time of waiting for responses */
    uint64_t answers[STATE_ANSWER_BUCKETS + 1]; /* by duration, see state_answer_us; the last one: longer */
    char fault[256];                            /* its last error */
    char warning[256];                          /* about its settings; empty: none */
};

struct state_ops {
    enum state_step (*reserve)(struct state_store *store, const struct state_limit *limits, size_t count,
                               uint64_t now_ms, struct state_ticket *ticket, state_done_fn *done, void *ctx);
    void (*settle)(struct state_ticket *ticket, uint64_t give_back);
    enum state_result (*read)(struct state_store *store, const struct state_limit *limit, uint64_t now_ms,
                              int64_t *ret_micro);
    /* NULL for a store that answers synchronously. */
    enum state_step (*fetch)(struct state_store *store, const struct state_limit *limits, size_t count,
                             uint64_t now_ms, struct state_fetch *fetch);
    void (*unfetch)(struct state_fetch *fetch);
    int (*list)(struct state_store *store, uint64_t now_ms,
                void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err);
    void (*health)(struct state_store *store, struct state_health *ret_health);
    void (*close)(struct state_store *store);
};

struct state_store { /* first member of every store */
    const struct state_ops *ops;
    enum state_fail_mode fail_mode;
};

/* May a call pass that the store could not count? Yes, if none of its limits fails closed. */
static inline bool state_opens(const struct state_store *store, const struct state_limit *limits,
                               size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool opens = limits[i].fail == STATE_FAIL_AS_SET ? store->fail_mode == STATE_FAIL_OPEN
                                                         : limits[i].fail == STATE_FAIL_LIMIT_OPEN;
        if (!opens && !limits[i].shadow)
            return false;
    }
    return true;
}

/* Bit i of give_back; limits from 64 on only if all bits are set. */
static inline bool state_gives_back(uint64_t give_back, size_t i) {
    return i < 64 ? give_back >> i & 1 : give_back == UINT64_MAX;
}
