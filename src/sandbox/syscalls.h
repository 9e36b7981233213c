/* The system-call filters of the three profiles; names of denied calls and how they are handled. */
#pragma once

#include "base/err.h"
#include "sandbox/confine.h"

/* Compiles all profiles into the setup, for its tier. With setup->notify a denied call is reported to the
 * helper, which answers it or kills the sandbox; without, it gets EPERM or the process is killed. */
int syscalls_compile(struct confine_setup *setup, struct err *err);
/* "socket"; "system call 600" if it has no name. */
void syscalls_name(int number, char *ret_name, size_t size);
enum syscalls_verdict {
    SYSCALLS_QUIET,  /* denied; programs expect this */
    SYSCALLS_REPORT, /* denied and reported */
    SYSCALLS_END,    /* never accidental: the sandbox is killed */
};
enum syscalls_verdict syscalls_judge(int number);
