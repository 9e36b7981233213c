/* Evaluates another policy over the recorded calls and reports what would change. Calls are judged in
 * their original order, with their own times; counters start empty. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct emit;
struct policy;
struct rejudge;

/* Which recorded calls are used. */
struct rejudge_scope {
    uint64_t since_us, until_us; /* 0: no bound */
    struct slice server, grant;  /* matched as by audit_filter; empty: any */
    const struct slice *servers; /* only calls to these, by their whole names */
    size_t server_count;         /* 0: any */
};

/* Blocks: not for the loop's thread. */
int rejudge_log(const char *home, const struct policy *policy, const struct rejudge_scope *scope,
                struct rejudge **ret_replay, struct err *err);
void rejudge_free(struct rejudge *r); /* NULL is fine */
void rejudge_json(const struct rejudge *r, struct emit *e);
void rejudge_text(struct rejudge *r, struct buf *out); /* as text */
