/* Iterates over the entries of one chain in either direction. Blocks come from the segments of a home or
 * from a chain in the database of a fleet. Decodes, filters, and finds the outcome of each decision. */
#pragma once

#include "audit/entry.h"
#include "base/err.h"
#include "base/map.h"

struct audit_block {
    uint64_t first_seq, count;
    struct slice hash, body; /* valid until the next one */
};

/* Blocks in the order of the walk. */
struct audit_source {
    int (*next)(struct audit_source *s, struct audit_block *ret_block, struct err *err); /* 0: no more */
    void (*close)(struct audit_source *s);
    uint64_t chain;    /* 0: the log of a home */
    struct slice gate; /* whose chain it is; empty: this home's */
};

struct audit_cursor {
    struct audit_source *source; /* the cursor's own */
    const struct audit_filter *filter;
    bool back, ended;
    uint64_t from_seq; /* forwards: a block may begin before it */
    bool ready;        /* `entry` is the next entry to return */
    struct audit_entry entry;
    struct audit_record record;
    uint64_t passed;      /* number of the newest record that was read */
    char *room;           /* for blocks */
    struct slice *frames; /* of the block under way */
    size_t frame_count, frame_room, at;
    uint64_t first_seq;
    uint64_t bad_seq;        /* after the frames of this block comes unreadable data; 0: none */
    struct map outcomes;     /* backwards: call number → struct kept */
    struct audit_kept *held; /* the outcome of `entry` */
};

void audit_cursor_init(struct audit_cursor *c, struct audit_source *take_source,
                       const struct audit_filter *filter, bool back);
void audit_cursor_free(struct audit_cursor *c);
/* Advances to the next entry that matches the filter: 1, and c->entry is it; 0 at the end; -1. */
int audit_cursor_next(struct audit_cursor *c, struct err *err);
