/* Reservations of calls that became tasks. The server still works on them, so they keep their places in
 * `concurrent` limits until an answer about the task shows that it is over, or until it has expired. */
#pragma once

#include "call/call.h"

struct task_holds {
    struct list list; /* the oldest first */
    size_t count;
};

void hold_init(struct task_holds *h);
void hold_free(struct task_holds *h); /* settles all of them */
/* At the end of a call: takes its reservation if the answer is a task that has not ended, to settle it with
 * `give_back` later; or ends the hold of the task that it asked about. */
void hold_note(struct task_holds *h, struct call *c, uint64_t give_back);
/* Settles those of tasks that have expired. */
void hold_expire(struct task_holds *h, uint64_t now_ms);
