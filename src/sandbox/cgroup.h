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
    uint32_t version;           /* 0: none */
    char why[FRAME_REASON_MAX]; /* if there is none: what is missing */
    char places[CGROUP_PLACES][FRAME_PATH_MAX];
};

/* Creates the group, sets its limits and checks that the kernel accepts them. */
void cgroup_open(struct cgroup *g);
void cgroup_close(struct cgroup *g);
/* Adds an interpreter and all its future children. False: it must not be used. */
bool cgroup_take_zygote(const struct cgroup *g, pid_t pid);
/* Creates a group for one sandbox: all of its processes share these limits. False with errno. */
bool cgroup_take_box(const struct cgroup *g, const struct frame_order *order, pid_t pid);
/* Lowers the memory of such a sandbox to that of its run. */
void cgroup_limit_box(const struct cgroup *g, const struct frame_order *order);
/* Removes the group of an ended sandbox. True if the kernel killed a process in it because memory ran out. */
bool cgroup_end_box(const struct cgroup *g, uint64_t token);
