/* One entry of a log, and filters for entries. */
#pragma once

#include "audit/record.h"

#define AUDIT_ORDER_US 60000000 /* records of several processes are out of order by less than this */

/* Where each chain continues after a walk. The log of a home is chain 0. */
struct audit_mark {
    uint64_t chain, next_seq;
};
struct audit_marks {
    struct audit_mark *items;
    size_t count;
};
void audit_marks_free(struct audit_marks *m);
void audit_marks_set(struct audit_marks *m, uint64_t chain, uint64_t next_seq);

struct audit_filter {
    uint64_t since_us, until_us;    /* 0: no bound */
    uint64_t from_seq, to_seq;      /* inclusive; 0: no bound */
    uint32_t kinds;                 /* bits 1 << AUDIT_KIND_…; 0: all */
    struct slice text[AUDIT_TEXTS]; /* equal, or with `*` at the end a prefix; empty: any */
    uint64_t parent;                /* made by this call, or that call itself; 0: any */
    struct slice search;            /* every word of it occurs in some text; case does not matter */
    struct slice outcome;           /* outcome of a decision's call; newest-first only; empty: any */
    bool shadowed;                  /* only records with a shadow verdict */
    uint64_t chain;                 /* of a fleet: only this one; 0: any */
    struct slice gate;              /* of a fleet: chains of this gate; the same; empty: any */
    uint64_t limit;                 /* 0: none */
    struct audit_marks *marks; /* forwards, each chain begins at its mark, which advances; backwards, the mark
                                  becomes the record after its newest; NULL: none */
};
/* The first record of a chain that the filter needs; 0: no bound. */
uint64_t audit_filter_from(const struct audit_filter *f, uint64_t chain);

struct audit_entry {
    uint64_t seq;
    const struct audit_record *record;
    const struct audit_record *outcome; /* of a decision, newest-first only; NULL when there is none */
    uint64_t outcome_seq;
    uint64_t chain;    /* of a fleet; 0: the log of a home */
    struct slice gate; /* whose chain that is */
};

bool audit_filter_matches(const struct audit_filter *filter, uint64_t seq, const struct audit_record *r);
