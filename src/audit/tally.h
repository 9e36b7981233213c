/* Sums of the recent past: calls by verdict, latencies, the most frequent tools, rules and identities.
 * Computed from the log, so that calls pay nothing; sums are kept, and only new records are read the next
 * time.
 *
 *   │ cell │ cell │ … │ cell │ now        a cell is span / TALLY_CELLS long; old ones fall off
 *
 * Not for the loop's thread; one caller at a time (it locks). */
#pragma once

#include "base/err.h"
#include "base/slice.h"

#define AUDIT_TALLY_CELLS 96
#define AUDIT_TALLY_SHARES 53 /* buckets of latencies: each 1.4 times the previous one, starting at 10 µs */

struct audit_log;
struct audit_tally;

/* One reference. `ends_us`: later records do not count; 0: up to now. `open` opens the log: that of the
 * home, or of its fleet. */
typedef int audit_log_opener(const char *home, struct audit_log **ret_log, struct err *err);
struct audit_tally *audit_tally_new(const char *home, uint64_t span_s, uint64_t ends_us,
                                    audit_log_opener *open);
struct audit_tally *audit_tally_ref(struct audit_tally *t);
void audit_tally_unref(struct audit_tally *t); /* NULL is fine */

struct audit_counts {
    uint64_t allow, deny, approve, failed;
    uint32_t latency[AUDIT_TALLY_SHARES];
};
/* The latency below which that share of the calls was; 0 when there is none. */
uint64_t audit_counts_share(const struct audit_counts *c, double share);

enum audit_tally_kind { AUDIT_TALLY_TOOL, AUDIT_TALLY_DENIAL, AUDIT_TALLY_IDENTITY, AUDIT_TALLY_KINDS };

/* One of the most frequent; texts live as long as the answer. */
struct audit_tally_row {
    struct slice server, tool, rule, reason, identity;
    struct audit_counts counts;
    uint64_t last_seq, last_us, last_chain;
};

#define AUDIT_TALLY_ROWS 12

struct audit_tally_answer {
    uint64_t since_us, until_us, step_us;
    struct audit_counts cells[AUDIT_TALLY_CELLS];
    struct audit_counts total;
    struct audit_tally_row rows[AUDIT_TALLY_KINDS][AUDIT_TALLY_ROWS]; /* the largest first */
    size_t row_count[AUDIT_TALLY_KINDS];
};

/* Up to the newest record. The answer is valid until the next call. */
int audit_tally_read(struct audit_tally *t, uint64_t now_us, const struct audit_tally_answer **ret_answer,
                     struct err *err);
void audit_tally_lock(struct audit_tally *t); /* around read and the use of its answer */
void audit_tally_unlock(struct audit_tally *t);
