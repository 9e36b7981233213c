/* Reading the log: from any process, also while others write. */
#pragma once

#include "audit/entry.h"
#include "base/err.h"

struct audit_log;

/* Waits briefly for the writers, so that earlier records are visible. */
int audit_log_open(const char *home, struct audit_log **ret_log, struct err *err);
void audit_log_close(struct audit_log *log);
static inline void audit_log_cleanup(struct audit_log **log) { audit_log_close(*log); }
#define cleanup_audit_log __attribute__((cleanup(audit_log_cleanup)))

/* A log from another source, with several chains: entries come in the order of their times. */
struct audit_source;
struct audit_log_ops {
    /* One for each chain (cursor.h); the caller frees the array. */
    int (*open)(void *owner, const struct audit_filter *filter, bool back, struct audit_source ***ret_sources,
                size_t *ret_count, struct err *err);
    void (*close)(void *owner);
};
struct audit_log *audit_log_over(const struct audit_log_ops *ops, void *take_owner);

/* Data is valid only during the call. False ends the walk. */
typedef bool audit_entry_fn(void *ctx, const struct audit_entry *entry);

/* As written: decisions and outcomes each by itself. */
int audit_log_walk(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each, void *ctx,
                   struct err *err);
/* Newest first; a decision comes with its outcome, and outcomes do not come by themselves. */
int audit_log_walk_back(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each,
                        void *ctx, struct err *err);
/* The first record at or after that time, or one shortly before; 1 for an empty log. 0 for a log of
 * several chains, which are searched during the walk. */
int audit_log_seek(struct audit_log *log, uint64_t since_us, uint64_t *ret_seq, struct err *err);
#define AUDIT_HASH_TEXT 65
/* The chain's hash at that record, in hex: 1; 0 when there is no such record; or -1. */
int audit_log_hash(struct audit_log *log, uint64_t seq, char ret_hex[AUDIT_HASH_TEXT], struct err *err);
