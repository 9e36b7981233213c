/* The uids of sandboxes: as root, each sandbox has its own uid and gid outside of its namespace. The kernel
 * counts pipes, descriptors in transit, keys and epoll entries by uid, so sandboxes of different grants share
 * none of these budgets. */
#pragma once

#include "base/err.h"
#include "sandbox/frame.h"

#include <sys/types.h>

#define IDS_FIRST 1900000000u /* no tool assigns ids from here: above subuids and systemd's containers */
#define IDS_COUNT 65536u
#define IDS_MIN 1000u /* lower ids belong to the system */
#define IDS_COUNT_MIN 64u
#define IDS_COUNT_MAX (1u << 24)

struct ids {
    uint32_t first;
    uint32_t count; /* 0: all sandboxes have the zygote's uid */
    uint32_t next;
    char why[FRAME_REASON_MAX]; /* if count is 0 */
};

/* `given` is FIRST-LAST, `none`, or NULL for the default range. A default that cannot be used leaves count 0
 * with the reason. -1 if a configured range cannot be used. */
int ids_open(struct ids *ids, const char *given, uint32_t tier, struct err *err);
/* Writes the id maps of a process in a new user namespace, so that it can become CONFINE_GUEST_ID there and
 * `uid` outside. -1 with errno. */
int ids_map(pid_t pid, uint32_t uid);
