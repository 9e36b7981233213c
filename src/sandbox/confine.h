/* The lock-down of one sandbox: the steps of a fresh child before it reads input of the guest.
 *
 *   idmap ─▶ network ─▶ scratch ─▶ workdir ─▶ rlimits ─▶ landlock ─▶ caps ─▶ descriptors ─▶ privileges ─▶
 * seccomp ─▶ report ─▶ seal
 *
 * Compiled into the helper (which probes in a throw-away child what the machine supports) and into the
 * modules that the interpreters load. If a step fails, the child exits; no step is skipped.
 *
 * An interpreter that cannot be forked is executed inside the sandbox. Then the steps have three parts, all
 * before input of the guest is read: what needs privileges before the exec, Landlock in the new image before
 * it has threads, and the rest after its start. */
#pragma once

#include "sandbox/frame.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/types.h>

/* Descriptors with fixed numbers. */
#define CONFINE_FD_BRIDGE 3 /* in the sandbox: the only one besides 0, 1 and 2 */
#define CONFINE_FD_REPORT                                                                                    \
    4 /* until the lock-down is complete: to the helper; in the zygote: its control socket */
#define CONFINE_FD_SETUP 5   /* zygote: the struct below */
#define CONFINE_FD_PRELUDE 6 /* zygote: preludes of the gate */
#define CONFINE_FD_NULL 7    /* zygote: /dev/null */
#define CONFINE_FD_PROC 8    /* zygote: /proc, for the id maps */
#define CONFINE_FD_SCRATCH 9 /* zygote, tier 2: directory for the sandboxes' workspaces */
#define CONFINE_FD_BUNDLE 10 /* future zygote: the certificates that it copies into its tree */
#define CONFINE_FD_FREE 11   /* first free number */

/* In a child that executes its interpreter, until the last step; 5 is already its workspace. */
#define CONFINE_FD_KEPT 6  /* the setup */
#define CONFINE_FD_ORDER 7 /* the order of this sandbox */
#define CONFINE_FD_STATM 8 /* /proc/self/statm */

#define CONFINE_PROGRAM_MAX 2048 /* BPF instructions of one filter */
#define CONFINE_DIRS_MAX 24
#define CONFINE_FAILED 125 /* exit status of a child whose lock-down failed */
#define CONFINE_GUEST_ID 1000

/* One filter per profile, and for each except PURE a second one that allows connections. */
#define CONFINE_FILTERS (2 * FRAME_PROFILES - 1)

enum confine_step {
    CONFINE_DEATHSIG = 1,
    CONFINE_IDMAP,
    CONFINE_NETWORK,
    CONFINE_SCRATCH,
    CONFINE_WORKDIR,
    CONFINE_RLIMITS,
    CONFINE_LANDLOCK,
    CONFINE_CAPS,
    CONFINE_DESCRIPTORS,
    CONFINE_PRIVILEGES,
    CONFINE_SECCOMP,
    CONFINE_REPORT,
    CONFINE_SEAL,
    CONFINE_STEPS,
    /* Not a step of the lock-down, but a failure after it: a forked interpreter loses its other threads, and
       a lock that one of them held is never released. So the child reports that it runs before it gets work.
     */
    CONFINE_AWAKE = CONFINE_STEPS,
};

/* Created once by the helper, read by every zygote. */
struct confine_setup {
    uint32_t tier;
    uint32_t fail_step;  /* for tests: this step fails; 0: none */
    uint32_t data_limit; /* V8 reserves gigabytes of address space: limit its private memory instead */
    uint32_t
        hold; /* keep old descriptor numbers open (as /dev/null), because the event loop closes them itself */
    uint32_t notify;   /* the filters report to the helper; otherwise they kill the process */
    uint32_t uid, gid; /* of the zygote, in its own user namespace */
    uint32_t dir_count;
    char dirs[CONFINE_DIRS_MAX][FRAME_PATH_MAX]; /* readable with profiles FILES and PROC */
    uint32_t program_len[CONFINE_FILTERS];
    struct sock_filter programs[CONFINE_FILTERS][CONFINE_PROGRAM_MAX];
};

/* Messages of the zygote and its children to the helper. */
enum confine_note_kind {
    CONFINE_NOTE_UP = 1,      /* the zygote is ready; text: name and version of the runtime */
    CONFINE_NOTE_DOWN = 2,    /* it is not; text: the reason */
    CONFINE_NOTE_CLONED = 3,  /* pid, with a pidfd and, if it waits for its id maps, a pipe to it; or error */
    CONFINE_NOTE_READY = 4,   /* from the child: its /workspace and its listener (absent without notify) */
    CONFINE_NOTE_FAILED = 5,  /* from the child: step and error */
    CONFINE_NOTE_NETWORK = 6, /* from the child: the listener of its loop-back */
};

struct confine_note {
    uint32_t kind;
    int32_t error;
    uint64_t token;
    int32_t pid;
    uint32_t step;
    char text[FRAME_REASON_MAX];
};

const char *confine_step_name(enum confine_step step);
/* Does a sandbox of this order get a network? */
bool confine_has_network(const struct confine_setup *setup, const struct frame_order *order);
/* Its own loop-back interface: for the gate's proxy, or for the servers of programs that it starts. */
bool confine_has_loopback(const struct confine_setup *setup, const struct frame_order *order);
int confine_read_setup(int fd, struct confine_setup *ret_setup);

/* Runs in the fresh child; its stdio are bridge, stdout and stderr. Returns when the sandbox is locked down
 * and the helper is notified. On failure the child reports the step to the helper and exits with
 * CONFINE_FAILED. */
void confine_down(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]);
/* The same in three parts, with an exec after the first; the other two read setup and order from the
 * descriptors that the first left open. */
void confine_before_exec(const struct confine_setup *setup, const struct frame_order *order,
                         const int stdio[3]);
void confine_after_exec(struct confine_setup *ret_setup);
/* The process may have threads: the filter applies to all of them. */
void confine_last(struct confine_setup *ret_setup);
/* Writable private memory of a process that still has CONFINE_FD_PROC. Limits are added to it, so memory that
 * an interpreter mapped earlier is not limited. */
uint32_t confine_data_mb(void);
/* Lowers the limits for one run, after the lock-down. 0, or -1 if the kernel refuses. */
int confine_limit(uint32_t memory_mb, uint32_t cpu_s);
