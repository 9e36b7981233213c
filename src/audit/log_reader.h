/* Reading the log: from any process, also while others write. */
#pragma once

#include "audit/record.h"
#include "base/err.h"

struct audit_log;

/* Waits a moment for the writers, so that what was put before is seen. */
int audit_log_open(const char *home, struct audit_log **ret_log, struct err *err);
void audit_log_close(struct audit_log *log);
static inline void audit_log_cleanup(struct audit_log **log) { audit_log_close(*log); }
#define cleanup_audit_log __attribute__((cleanup(audit_log_cleanup)))

struct audit_filter {
    uint64_t since_us, until_us;    /* 0: no bound */
    uint64_t from_seq, to_seq;      /* inclusive; 0: no bound */
    uint32_t kinds;                 /* bits 1 << AUDIT_KIND_…; 0: all */
    struct slice text[AUDIT_TEXTS]; /* equal, or with `*` at the end: begins so; empty: any */
    uint64_t parent;                /* made by this call, or that call itself; 0: any */
    struct slice search;            /* every word of it occurs in some text; case does not matter */
    struct slice outcome;           /* how a decision's call ended; newest-first only; empty: any */
    bool shadowed;                  /* only where a shadow verdict was noted */
    uint64_t limit;                 /* 0: none */
};

struct audit_entry {
    uint64_t seq;
    const struct audit_record *record;
    const struct audit_record *outcome; /* of a decision, newest-first only; NULL when there is none */
    uint64_t outcome_seq;
};

/* Everything is valid inside the call only. False ends the walk. */
typedef bool audit_entry_fn(void *ctx, const struct audit_entry *entry);

/* As written: decisions and outcomes each by itself. */
int audit_log_walk(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each, void *ctx,
                   struct err *err);
/* Newest first; a decision comes with its outcome, and outcomes do not come by themselves. */
int audit_log_walk_back(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each,
                        void *ctx, struct err *err);
/* The first record whose time is not before that, or one not long before; 1 for an empty log. */
int audit_log_seek(struct audit_log *log, uint64_t since_us, uint64_t *ret_seq, struct err *err);
#define AUDIT_HASH_TEXT 65
/* The chain's hash at that record, in hex: 1, 0 when there is no such record, or -1. */
int audit_log_hash(struct audit_log *log, uint64_t seq, char ret_hex[AUDIT_HASH_TEXT], struct err *err);
bool audit_filter_matches(const struct audit_filter *filter, uint64_t seq, const struct audit_record *r);
