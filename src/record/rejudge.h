/* Another policy over the recorded calls: what would change. Calls are judged in the order they came, with
 * their own times, and counters start empty. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct emit;
struct policy;
struct rejudge;

/* Which of the recorded calls. */
struct rejudge_scope {
    uint64_t since_us, until_us; /* 0: no bound */
    struct slice server, grant;  /* as audit_filter matches them; empty: any */
};

/* For a thread that may wait. */
int rejudge_log(const char *home, const struct policy *policy, const struct rejudge_scope *scope,
                struct rejudge **ret_replay, struct err *err);
void rejudge_free(struct rejudge *r); /* NULL is fine */
void rejudge_json(const struct rejudge *r, struct emit *e);
void rejudge_text(struct rejudge *r, struct buf *out); /* for people */
