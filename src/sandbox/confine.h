/* The lock-down of one sandbox: what a fresh child does to itself before it may see a byte of the guest's.
 *
 *   idmap ─▶ network ─▶ scratch ─▶ workdir ─▶ rlimits ─▶ landlock ─▶ caps ─▶ descriptors ─▶ privileges ─▶
 * seccomp ─▶ report ─▶ seal
 *
 * Compiled into the helper (which tries it out in a throw-away child to learn what the machine can do) and
 * into the modules that the interpreters load. A step that fails ends the child: nothing is skipped, nothing
 * goes on.
 *
 * An interpreter that cannot be copied is executed inside. Then the steps come in three parts, and still all
 * of them before a byte of the guest's: what needs privileges before the exec, Landlock in the new image
 * before it has threads, and the rest once it stands. */
#pragma once

#include "sandbox/frame.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/types.h>

/* Descriptors with fixed numbers. */
#define CONFINE_FD_BRIDGE 3 /* in the sandbox: the only one besides 0, 1 and 2 */
#define CONFINE_FD_REPORT                                                                                    \
    4                      /* until the lock-down is over: to the helper; in the zygote: its control socket */
#define CONFINE_FD_SETUP 5 /* zygote: the struct below */
#define CONFINE_FD_PRELUDE 6 /* zygote: preludes of the gate */
#define CONFINE_FD_NULL 7    /* zygote: /dev/null */
#define CONFINE_FD_PROC 8    /* zygote: /proc, for the id maps */
#define CONFINE_FD_SCRATCH 9 /* zygote, tier 2: directory for the sandboxes' workspaces */
#define CONFINE_FD_BUNDLE 10 /* zygote to be: the certificates that it copies into its tree */
#define CONFINE_FD_FREE 11   /* what is not listed starts here */

/* And in a child that executes its interpreter, from there to the last step; 5 is its workspace already. */
#define CONFINE_FD_KEPT 6  /* the setup */
#define CONFINE_FD_ORDER 7 /* the order it was made for */
#define CONFINE_FD_STATM 8 /* its own size */

#define CONFINE_PROGRAM_MAX 2048 /* BPF instructions of one filter */
#define CONFINE_DIRS_MAX 24
#define CONFINE_FAILED 125 /* exit status of a child whose lock-down did not succeed */
#define CONFINE_GUEST_ID 1000

/* A filter of each profile, and of each but PURE one that allows connections. */
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
    /* Not a step of the lock-down, but what can go wrong behind it: an interpreter with threads is copied
     * without them, and a lock that one of them held at that moment is never released. So the child reports
     * that it runs before it is given anything. */
    CONFINE_AWAKE = CONFINE_STEPS,
};

/* Made once by the helper, read by every zygote. */
struct confine_setup {
    uint32_t tier;
    uint32_t fail_step;  /* for tests: this step fails; 0 for none */
    uint32_t data_limit; /* V8 reserves address space by the gigabyte: bound its private memory, not its
                            addresses */
    uint32_t hold;   /* old descriptor numbers stay taken (by /dev/null): the event loop closes them itself */
    uint32_t notify; /* the filters report to the helper; else they end the process */
    uint32_t uid, gid; /* of the zygote, seen from its own user namespace */
    uint32_t dir_count;
    char dirs[CONFINE_DIRS_MAX][FRAME_PATH_MAX]; /* readable with profiles FILES and PROC */
    uint32_t program_len[CONFINE_FILTERS];
    struct sock_filter programs[CONFINE_FILTERS][CONFINE_PROGRAM_MAX];
};

/* Messages of the zygote and its children to the helper. */
enum confine_note_kind {
    CONFINE_NOTE_UP = 1,      /* the zygote can be used; text: the runtime's name and version */
    CONFINE_NOTE_DOWN = 2,    /* it cannot; text says why */
    CONFINE_NOTE_CLONED = 3,  /* pid, with a pidfd; or error */
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
int confine_read_setup(int fd, struct confine_setup *ret_setup);

/* In the fresh child; stdio are bridge, stdout and stderr. Returns only when the sandbox is locked down and
 * the helper knows; else the child reports the failed step to the helper and exits with CONFINE_FAILED. */
void confine_down(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]);
/* The same in three parts, with an exec after the first; the other two find setup and order where it left
 * them.
 */
void confine_before_exec(const struct confine_setup *setup, const struct frame_order *order,
                         const int stdio[3]);
void confine_after_exec(struct confine_setup *ret_setup);
/* May have threads by now: all of them are shut. */
void confine_last(struct confine_setup *ret_setup);
/* Of a process that still has CONFINE_FD_PROC: private memory that it may write to. A limit is counted from
 * there, so what an interpreter has mapped before it is not limited. */
uint32_t confine_data_mb(void);
/* After that, for one run: lowers the limits. 0, or -1 when the kernel refuses. */
int confine_limit(const struct confine_setup *setup, uint32_t memory_mb, uint32_t cpu_s);
