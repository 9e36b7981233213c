/* Metrics of calls: counted once, when the end of a call is recorded, in plain cells; readers do the rest
 * of the work. Names come from agents, so the number of cells is limited; calls without a cell are counted
 * together. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "record/limits.h"

struct call;

#define METRICS_VERDICTS 3  /* of enum policy_outcome */
#define METRICS_CLASSES 6   /* of enum policy_class */
#define METRICS_OUTCOMES 11 /* of metrics_outcomes[] */
#define METRICS_BUCKETS 14  /* and one for everything slower */

extern const char *const metrics_outcome_names[METRICS_OUTCOMES];
extern const uint32_t metrics_bucket_us[METRICS_BUCKETS];

struct metrics_cell {
    struct slice server, method, tool; /* in the arena; tool empty for other methods */
    uint64_t verdicts[METRICS_VERDICTS];
    uint64_t shadows[METRICS_VERDICTS]; /* shadow verdicts; each call counts once per verdict */
    uint64_t outcomes[METRICS_OUTCOMES];
    uint64_t latency[METRICS_BUCKETS + 1]; /* of calls that reached a server */
    uint64_t latency_us;                   /* their sum */
    uint64_t bytes_in, bytes_out;
    struct metrics_cell *next;
};

struct metrics {
    struct arena arena;
    struct map cells; /* by server, method and tool */
    struct metrics_cell *first, *last;
    size_t count;
    struct metrics_cell rest; /* calls without a cell of their own */
    uint64_t classes[METRICS_CLASSES]
                    [METRICS_VERDICTS]; /* calls of tools by their risk class; 0: not known */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* The call is over; `outcome` is the log's name for it. */
void metrics_count(struct metrics *m, const struct call *c, const char *outcome, uint64_t latency_us);
