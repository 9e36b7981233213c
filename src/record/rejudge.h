/* Another policy over the recorded calls: what would change. Calls are judged in the order they came, with
 * their own times, and counters start empty. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct emit;
struct policy;
struct rejudge;

/* Everything between the two times (0: no bound). For a thread that may wait. */
int rejudge_log(const char *home, const struct policy *policy, uint64_t since_us, uint64_t until_us,
                struct rejudge **ret_replay, struct err *err);
void rejudge_free(struct rejudge *r); /* NULL is fine */
void rejudge_json(const struct rejudge *r, struct emit *e);
void rejudge_text(struct rejudge *r, struct buf *out); /* for people */
