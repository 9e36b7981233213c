/* Limits of control groups, where a group was delegated to the gate: version 2 with delegation, or
 * version 1 whose directories we may write to.
 *
 *   OURS/sallyport-PID          all sandboxes together: memory and processes
 *     ├─ zygotes                interpreters and the children that cannot fork, each with limits of its own
 * process └─ box-TOKEN              one sandbox of profile `proc`: its processes together */
#pragma once

#include "sandbox/frame.h"

#include <stdbool.h>
#include <sys/types.h>

#define CGROUP_PLACES 3 /* memory, pids, cpu: one directory with version 2, three with version 1 */

struct cgroup {
    uint32_t version;           /* 0: there is none */
    char why[FRAME_REASON_MAX]; /* then: what is missing */
    char places[CGROUP_PLACES][FRAME_PATH_MAX];
};

/* Tries it: makes the group, sets its limits and puts them to the test of the kernel. */
void cgroup_open(struct cgroup *g);
void cgroup_close(struct cgroup *g);
/* An interpreter, and with it all that it will fork. False: it must not be used. */
bool cgroup_take_zygote(const struct cgroup *g, pid_t pid);
/* A sandbox of its own: all of its processes share these limits. False with errno. */
bool cgroup_take_box(const struct cgroup *g, const struct frame_order *order, pid_t pid);
/* Lowers the memory of such a sandbox to what its run may have. */
void cgroup_limit_box(const struct cgroup *g, const struct frame_order *order);
/* It is gone. True when the kernel ended something in it for want of memory. */
bool cgroup_end_box(const struct cgroup *g, uint64_t token);
