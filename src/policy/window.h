/* Limits as data, and the arithmetic of their windows. The engine writes limits, a store counts them; both
 * use this code, so that simulate, the embedded store and a network store agree exactly. Amounts are
 * fixed-point micro-units: 1 call = 1,000,000. */
#pragma once

#include "base/slice.h"

#define POLICY_MICRO 1000000
#define POLICY_NO_MAX INT64_MAX /* counted, never refused */
#define POLICY_METER_SLOTS                                                                                   \
    32 /* slots of a sliding window: a call may count 1/31 of its length too long, never too short */

enum policy_limit_kind {
    POLICY_FIXED,      /* aligned to the Unix epoch: minute, hour and day fall on UTC calendar bounds */
    POLICY_SLIDING,    /* the last window_ms milliseconds */
    POLICY_BUCKET,     /* max = capacity; refills `max_per_window` each window_ms, continuously */
    POLICY_CONCURRENT, /* calls in flight; always given back when the call ends */
};

/* Which answers of the server refund a call. A call that was never sent is always refunded. */
enum policy_refund {
    POLICY_REFUND_ERRORS, /* every JSON-RPC error, but at most the maximum per window */
    POLICY_REFUND_PROVEN, /* errors that prove that the server did nothing: unknown method or tool, invalid
                             params */
    POLICY_REFUND_NEVER,
};

/* If the store of counters fails: the store's setting applies, or the limit's own. */
enum policy_fail { POLICY_FAIL_AS_SET, POLICY_FAIL_CLOSED, POLICY_FAIL_OPEN };

struct policy_limit {
    enum policy_limit_kind kind;
    enum policy_refund refund;
    struct slice
        key; /* unique within the store, scope and identity included; kind and window are not in it */
    size_t scope_len;   /* bytes of the prefix that names the scope; 0: none */
    struct slice label; /* SCOPE.COUNTER, for people and for simulate */
    uint64_t window_ms; /* 0 for POLICY_CONCURRENT */
    uint64_t start_ms;  /* POLICY_FIXED: start of the window that now_ms falls into; others: now_ms */
    int64_t max;        /* value after this call must stay <= max */
    int64_t refill;     /* POLICY_BUCKET: micro-units per window_ms */
    int64_t amount;     /* micro-units; 0 checks without counting */
    enum policy_fail fail;
    bool shadow;      /* refusing is only noted */
    bool whole_calls; /* it counts calls, not amounts from arguments */
    bool all_servers; /* scope global: one counter for every server; the others are kept per server */
    struct slice rule;
    struct slice pointer;
    struct slice text; /* when refused */
};

/* The complete state of one counter: a plain value that can be kept, copied or written to disk. All zero
 * is empty. */
struct policy_meter {
    uint64_t start_ms; /* FIXED: window start; SLIDING: start of the newest slot; BUCKET: time of `value` */
    int64_t value;     /* FIXED, CONCURRENT: used; SLIDING: sum of slots; BUCKET: used, refill lowers it */
    int64_t slots[POLICY_METER_SLOTS];
};

/* Start of the fixed window around now_ms. */
uint64_t policy_window_start(uint64_t now_ms, uint64_t window_ms);
/* Names minute, hour, day and week; 0 for anything else. */
uint64_t policy_window_from(struct slice name);

/* The current value at now_ms, in micro-units. */
int64_t policy_meter_read(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms);
/* Adds limit->amount if it fits. If refused: false, nothing changed, *ret_retry_ms is the time after which
 * the same call would fit (0: waiting does not help). */
bool policy_meter_reserve(struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms,
                          uint64_t *ret_retry_ms);
/* Takes a reservation back. It has its own start: a reservation of an earlier window changes nothing. */
void policy_meter_release(struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms);

/* Decimal text (sign, digits, fraction, exponent) to micro-units, rounded up so that no spending is free.
 * false: not a number, negative, or out of range. */
bool policy_amount_parse(struct slice text, int64_t *ret_micro);
/* "30m", "10s", "1h30m", "1d" or plain seconds. */
bool policy_duration_parse(struct slice text, uint64_t *ret_ms);
