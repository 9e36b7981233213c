#include "sandbox/zygote.h"

#include "base/packet.h"

#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool zygote_next(struct frame_order *ret_order, int ret_stdio[3]) {
    for (;;) {
        ssize_t got = packet_receive(LOCK_FD_REPORT, ret_order, sizeof(*ret_order), ret_stdio);
        if (got <= 0)
            return false;
        if (got == (ssize_t)sizeof(*ret_order) && ret_stdio[2] >= 0 && ret_order->profile < FRAME_PROFILES)
            return true;
        for (int i = 0; i < 3; i++)
            if (ret_stdio[i] >= 0)
                close(ret_stdio[i]);
    }
}

/* The C library remembers its thread's id in a place the kernel knows; a raw clone has to refresh it. */
static int *tid_address(void) {
    int *at = NULL;
    return prctl(PR_GET_TID_ADDRESS, &at, 0, 0, 0) == 0 ? at : NULL;
}

/* CLONE_PARENT: the helper becomes the parent, so it can wait for the sandbox; this process never has to. */
static long clone_into(uint64_t flags, int *ret_pidfd) {
    int *tid = tid_address();
    struct clone_args args = {.flags = flags | CLONE_PARENT | CLONE_PIDFD | (tid ? CLONE_CHILD_SETTID : 0),
                              .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
                              .child_tid = (uint64_t)(uintptr_t)tid};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0 && errno == ENOSYS) /* container filters hide clone3 */
        pid = syscall(SYS_clone, (unsigned long)args.flags, NULL, ret_pidfd, tid, NULL);
    return pid;
}

long zygote_clone(const struct lock_setup *setup, const struct frame_order *order, const int stdio[3]) {
    uint64_t flags = 0;
    if (setup->tier == 1)
        flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    int fds[2] = {-1, -1};
    long pid = clone_into(flags, &fds[0]);
    if (pid == 0)
        return 0;
    struct lock_note note = {
        .kind = LOCK_NOTE_CLONED, .token = order->token, .pid = (int32_t)pid, .error = pid < 0 ? errno : 0};
    packet_send(LOCK_FD_REPORT, &note, sizeof(note), fds, 2, 0);
    if (fds[0] >= 0)
        close(fds[0]);
    for (int i = 0; i < 3; i++)
        close(stdio[i]);
    return pid;
}

void zygote_tell(enum lock_note_kind kind, const char *text) {
    struct lock_note note = {.kind = kind};
    snprintf(note.text, sizeof(note.text), "%s", text);
    packet_send(LOCK_FD_REPORT, &note, sizeof(note), NULL, 0, 0);
}
