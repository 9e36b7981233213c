/* The arithmetic of one counter: a plain value without pointers, so that it can live in memory that processes
 * share and be copied to disk as it is. Private to the state room. */
#pragma once

#include "state/store.h"

struct state_recent {
    uint64_t fingerprint;
    uint64_t first_ms;
    int64_t count;
};

struct state_meter {   /* all zero is empty */
    uint64_t start_ms; /* FIXED: window start; SLIDING: start of the newest slot; BUCKET: time of `value` */
    int64_t value; /* FIXED, CONCURRENT: used; SLIDING: sum of the slots; BUCKET: used, lowered by refill */
    union {
        int64_t slots[STATE_SLOTS];
        uint64_t rest; /* BUCKET: what refilled since start_ms below one micro-unit, times window_ms */
        uint16_t owners[STATE_PROCESSES_MAX]; /* CONCURRENT: calls in flight by process */
        struct state_recent recent[STATE_RECENT];
    };
};

/* Checks a limit: no negative amount, a window where one is needed, whole calls where calls are counted. */
bool state_limit_valid(const struct state_limit *limit);

int64_t state_meter_read(const struct state_meter *m, const struct state_limit *limit, uint64_t now_ms);
/* Counts limit->amount if it fits and fills *hold (except for the counter). If refused: false, nothing
 * changed, *ret_retry_ms is the time after which the same call would fit, 0 for never. */
bool state_meter_add(struct state_meter *m, const struct state_limit *limit, uint64_t now_ms, uint32_t owner,
                     struct state_hold *hold, uint64_t *ret_retry_ms);
/* Takes a hold back from the window that it was counted in. */
void state_meter_undo(struct state_meter *m, enum state_kind kind, uint64_t window_ms, uint32_t owner,
                      const struct state_hold *hold);
/* Is it empty, with nothing that could still matter? */
bool state_meter_idle(const struct state_meter *m, enum state_kind kind, uint64_t window_ms, int64_t refill,
                      uint64_t now_ms);

/* A mark is a bound on disk: "by the time start_ms no more than value was used". A counter that is rebuilt
 * from its mark can only be too high. */
struct state_mark {
    uint64_t start_ms;
    int64_t value;
};
bool state_kind_durable(enum state_kind kind);
bool state_meter_covered(const struct state_mark *mark, const struct state_meter *m,
                         const struct state_limit *limit, uint64_t now_ms);
/* A mark that covers the meter with room for the next calls. */
struct state_mark state_meter_mark(const struct state_meter *m, const struct state_limit *limit,
                                   uint64_t now_ms);
void state_meter_restore(const struct state_mark *mark, enum state_kind kind, uint64_t window_ms,
                         struct state_meter *ret_meter);
