/* The system-call filters of the three profiles, and what a denied call is called and deserves. */
#pragma once

#include "base/err.h"
#include "sandbox/confine.h"

/* Compiles all profiles into the setup, for its tier. With setup->notify a denied call is reported to the
 * helper, which answers it or ends the sandbox; without, it gets EPERM or ends the process immediately. */
int syscalls_compile(struct confine_setup *setup, struct err *err);
/* "socket"; "system call 600" when it has no name. */
void syscalls_name(int number, char *ret_name, size_t size);
enum syscalls_verdict {
    SYSCALLS_QUIET,  /* denied, as programs are used to */
    SYSCALLS_REPORT, /* denied and reported */
    SYSCALLS_END,    /* no program does this by accident: the sandbox is ended for it */
};
enum syscalls_verdict syscalls_judge(int number);
