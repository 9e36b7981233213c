/* Counts the counters that each client has created in this process. Clients influence keys that contain a
 * session or a hash of arguments, so one client could fill the table. It gets no more than are left for
 * the others. Private to the state room. */
#pragma once

#include "base/map.h"

struct state_quota {
    struct map owners;
    uint64_t swept_ms;
};

void state_quota_init(struct state_quota *s);
void state_quota_free(struct state_quota *s);
/* Registers a counter for this owner, in use until then; `left` is the free room of the table. False: its
 * share is used up. An empty owner is the gate's own user, who has no share. */
bool state_quota_take(struct state_quota *s, struct slice owner, uint64_t until_ms, uint64_t now_ms,
                      size_t left);
