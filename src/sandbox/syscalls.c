/* Allow-lists: calls that are not listed are denied. Each profile extends the previous one. Arguments are
 * checked only if they are plain numbers; nothing behind a pointer is checked, because a second thread could
 * change it. */
#include "sandbox/syscalls.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* libseccomp has no "notify the supervisor" as its default action, so these two are placeholders until the
 * program is written. */
#define MARK_DENIED 0xA01
#define MARK_HOSTILE 0xA02

static const char *const pure_calls[] = {
    "read",
    "write",
    "readv",
    "writev",
    "close",
    "fstat",
    "lseek",
    "munmap",
    "mremap",
    "madvise",
    "brk",
    "mprotect",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sigaltstack",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_ctl",
    "epoll_create1",
    "eventfd2",
    "pipe",
    "pipe2",
    "dup",
    "dup2",
    "dup3",
    "pause",
    "rt_sigtimedwait",
    "rt_sigpending",
    "sched_yield",
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "timerfd_create",
    "timerfd_settime",
    "getpid",
    "gettid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getrlimit",
    "exit",
    "exit_group",
    "futex",
    "rseq",
    "getrandom",
    "getrusage",
    "times",
    "restart_syscall",
    "set_robust_list",
    "sched_getaffinity",
    "sysinfo",
    "uname",
    "getcpu",
    "membarrier",
    "pkey_alloc",
    "pkey_mprotect",
    "pkey_free",
    "setitimer",
    "getitimer",
    "alarm",
    "mincore",
    "shutdown",
    "recvfrom",
    "getsockname",
    "getpeername",
    "close_range",
    "arch_prctl",
    "set_tid_address",
    "umask",
    "getcwd",
    "capget",
    NULL,
};

static const char *const files_calls[] = {
    "open",      "openat",    "stat",      "lstat",      "newfstatat", "statx",           "statfs",
    "fstatfs",   "access",    "faccessat", "faccessat2", "pread64",    "pwrite64",        "preadv",
    "pwritev",   "preadv2",   "pwritev2",  "getdents",   "getdents64", "chdir",           "fchdir",
    "rename",    "renameat",  "renameat2", "mkdir",      "mkdirat",    "rmdir",           "unlink",
    "unlinkat",  "symlink",   "symlinkat", "link",       "linkat",     "readlink",        "readlinkat",
    "ftruncate", "fallocate", "fsync",     "fdatasync",  "msync",      "copy_file_range", "sendfile",
    "fadvise64", "creat",     NULL,
};

/* Without a mount namespace the host's files are reachable, and Landlock does not restrict these calls: code
 * that runs as the owner of a file could change its mode and times, by name or through a read-only
 * descriptor. */
static const char *const ungoverned_calls[] = {
    "chmod", "fchmod", "fchmodat", "utimensat", "utime", "utimes", "futimesat", "truncate", NULL,
};

/* raise() and abort(): in a process namespace it reaches only the run's own threads. */
static const char *const raise_calls[] = {"tgkill", NULL};

static const char *const proc_calls[] = {
    "fork",
    "vfork",
    "execve",
    "wait4",
    "waitid",
    "kill",
    "tkill",
    "setsid",
    "setpgid",
    "getpgid",
    "getpgrp",
    "getsid",
    "getgroups",
    "getresuid",
    "getresgid",
    "pidfd_open",
    "pidfd_send_signal",
    "rt_sigsuspend",
    "sched_getparam",
    "sched_getscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "getpriority",
    "timer_create", /* of `timeout`; RLIMIT_SIGPENDING counts them */
    "timer_settime",
    "timer_gettime",
    "timer_getoverrun",
    "timer_delete",
    NULL,
};

/* Programs probe these and accept a denial, so they are not reported. The first few are allowed with some
 * arguments, so the filter asks the helper about the others; the filter denies the rest itself. */
static const char *const quiet_calls[] = {"ioctl",      "prctl",      "fcntl",       "prlimit64",
                                          "getsockopt", "setsockopt", "setpriority", NULL};

static const struct {
    const char *name;
    uint32_t error;
} refused_calls[] = {
    {"clone3", ENOSYS},
    {"io_uring_setup", ENOSYS},
    {"sched_setaffinity", EPERM},
    {"mbind", EPERM},
    {"set_mempolicy", EPERM},
    {"get_mempolicy", EPERM},
    {"flock", EPERM},
    {"chown", EPERM},
    {"fchown", EPERM},
    {"fchownat", EPERM},
    {"lchown", EPERM},
    {"setxattr", ENOTSUP},
    {"getxattr", ENOTSUP},
    {"lgetxattr", ENOTSUP},
    {"fgetxattr", ENOTSUP},
    {"listxattr", ENOTSUP},
    {"llistxattr", ENOTSUP},
    {"lsetxattr", ENOTSUP},
    {"fsetxattr", ENOTSUP},
    {"flistxattr", ENOTSUP},
    {"removexattr", ENOTSUP},
    {"lremovexattr", ENOTSUP},
    {"fremovexattr", ENOTSUP},
    {"mlock", EPERM},
    {"munlock", EPERM},
    {"inotify_init", EPERM},
    {"inotify_init1", EPERM},
    {"sync", 0},
    {"syncfs", 0},
};

static const char *const hostile_calls[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "bpf",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "keyctl",
    "add_key",
    "request_key",
    "userfaultfd",
    "perf_event_open",
    "open_by_handle_at",
    "name_to_handle_at",
    "iopl",
    "ioperm",
    "swapon",
    "swapoff",
    "reboot",
    "acct",
    "mknod",
    "mknodat",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "pidfd_getfd",
    "kcmp",
    "process_madvise",
    "quotactl",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "sethostname",
    "setdomainname",
    "syslog",
    "vhangup",
    "nfsservctl",
    "lookup_dcookie",
    "uselib",
    "modify_ldt",
    "personality",
    "io_uring_enter",
    "io_uring_register",
    "fanotify_init",
    "fanotify_mark",
    NULL,
};

#define NAMESPACES                                                                                           \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |               \
     CLONE_NEWCGROUP)

static int rule(scmp_filter_ctx c, uint32_t action, const char *name, unsigned count,
                const struct scmp_arg_cmp *when) {
    int number = seccomp_syscall_resolve_name(name);
    if (number < 0)
        return 0; /* this architecture has no such call */
    int done = seccomp_rule_add_array(c, action, number, count, when);
    return done == -EACCES ? 0 : done; /* the same as the default action */
}

static int allow_all(scmp_filter_ctx c, const char *const *names) {
    for (; *names; names++)
        if (rule(c, SCMP_ACT_ALLOW, *names, 0, NULL) != 0)
            return -1;
    return 0;
}

static int allow_values(scmp_filter_ctx c, const char *name, unsigned argument, const uint64_t *values,
                        size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct scmp_arg_cmp when = SCMP_CMP64(argument, SCMP_CMP_EQ, values[i]);
        if (rule(c, SCMP_ACT_ALLOW, name, 1, &when) != 0)
            return -1;
    }
    return 0;
}

/* Calls that are allowed with some arguments. */
static int allow_some(scmp_filter_ctx c, enum frame_profile profile) {
    static const uint64_t ioctls[] = {FIONBIO, FIONREAD, FIOCLEX, FIONCLEX, TCGETS, TIOCGWINSZ};
    static const uint64_t fcntls[] = {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC};
    static const uint64_t prctls[] = {PR_SET_NAME,     PR_GET_NAME,         PR_GET_DUMPABLE,
                                      PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, 0x53564d41 /* PR_SET_VMA */};
    if (allow_values(c, "ioctl", 1, ioctls, ARRAY_LEN(ioctls)) != 0 ||
        allow_values(c, "fcntl", 1, fcntls, ARRAY_LEN(fcntls)) != 0 ||
        allow_values(c, "prctl", 0, prctls, ARRAY_LEN(prctls)) != 0)
        return -1;
    /* Its own limits: without privileges they can only be lowered. */
    const struct scmp_arg_cmp self = SCMP_A0_64(SCMP_CMP_EQ, 0);
    /* A connected socket pair; sending to an address is denied. */
    const struct scmp_arg_cmp pair[2] = {SCMP_A0_64(SCMP_CMP_EQ, AF_UNIX),
                                         SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)};
    const struct scmp_arg_cmp no_address = SCMP_A4_64(SCMP_CMP_EQ, 0);
    /* Until the sandbox is sealed: its report with descriptors, and the filter that denies further ones. */
    const struct scmp_arg_cmp report = SCMP_A0_64(SCMP_CMP_EQ, CONFINE_FD_REPORT);
    const struct scmp_arg_cmp filter = SCMP_A0_64(SCMP_CMP_EQ, SECCOMP_SET_MODE_FILTER);
    /* Not SO_PEERPIDFD and similar: they return descriptors of processes outside. */
    static const uint64_t options[] = {SO_ERROR, SO_TYPE, SO_SNDBUF, SO_RCVBUF, SO_DOMAIN, SO_PROTOCOL};
    if (rule(c, SCMP_ACT_ALLOW, "prlimit64", 1, &self) != 0 ||
        rule(c, SCMP_ACT_ALLOW, "socketpair", 2, pair) != 0 ||
        rule(c, SCMP_ACT_ALLOW, "sendto", 1, &no_address) != 0 ||
        rule(c, SCMP_ACT_ALLOW, "sendmsg", 1, &report) != 0 ||
        rule(c, SCMP_ACT_ALLOW, "seccomp", 1, &filter) != 0 ||
        allow_values(c, "getsockopt", 2, options, ARRAY_LEN(options)) != 0)
        return -1;
    /* Denies memory that no limit counts: shared anonymous mappings, and with PURE all mappings that are not
     * private. */
    const struct scmp_arg_cmp anonymous =
        SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS | MAP_SHARED, MAP_ANONYMOUS);
    const struct scmp_arg_cmp of_file = SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0);
    if (rule(c, SCMP_ACT_ALLOW, "mmap", 1, &anonymous) != 0 ||
        (profile != FRAME_PURE && rule(c, SCMP_ACT_ALLOW, "mmap", 1, &of_file) != 0))
        return -1;
    /* Threads always; processes with PROC; namespaces and tracing never. */
    const uint64_t never = NAMESPACES | CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT;
    const struct scmp_arg_cmp thread = SCMP_A0_64(SCMP_CMP_MASKED_EQ, never | CLONE_THREAD, CLONE_THREAD);
    const struct scmp_arg_cmp process = SCMP_A0_64(SCMP_CMP_MASKED_EQ, never, 0);
    /* `nice`: without privileges a process can only yield to others. */
    const struct scmp_arg_cmp oneself[2] = {SCMP_A0_64(SCMP_CMP_EQ, PRIO_PROCESS),
                                            SCMP_A1_64(SCMP_CMP_EQ, 0)};
    if (profile == FRAME_PROC && rule(c, SCMP_ACT_ALLOW, "setpriority", 2, oneself) != 0)
        return -1;
    return rule(c, SCMP_ACT_ALLOW, "clone", 1, profile == FRAME_PROC ? &process : &thread);
}

/* Named pipes on the private memory disks; no devices. */
static int allow_pipes(scmp_filter_ctx c) {
    const struct scmp_arg_cmp fifo = SCMP_A1_64(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFIFO);
    const struct scmp_arg_cmp fifo_at = SCMP_A2_64(SCMP_CMP_MASKED_EQ, S_IFMT, S_IFIFO);
    return rule(c, SCMP_ACT_ALLOW, "mknod", 1, &fifo) != 0 ? -1
                                                           : rule(c, SCMP_ACT_ALLOW, "mknodat", 1, &fifo_at);
}

/* The helper identifies them by name; only without it must the filter distinguish them. */
static int deny_some(scmp_filter_ctx c, bool notify) {
    for (size_t i = 0; i < ARRAY_LEN(refused_calls); i++)
        if (rule(c, SCMP_ACT_ERRNO(refused_calls[i].error), refused_calls[i].name, 0, NULL) != 0)
            return -1;
    for (const char *const *name = hostile_calls; *name && !notify; name++)
        if (rule(c, SCMP_ACT_ERRNO(MARK_HOSTILE), *name, 0, NULL) != 0)
            return -1;
    return 0;
}

/* Replaces the placeholders by the actions and checks the size of the program. */
static int take_program(int fd, struct confine_setup *setup, uint32_t filter, struct err *err) {
    struct sock_filter *code = setup->programs[filter];
    ssize_t got = pread(fd, code, sizeof(setup->programs[filter]), 0);
    if (got <= 0 || (size_t)got >= sizeof(setup->programs[filter]))
        return err_set(err, "filter %u has %zd bytes", filter, got);
    setup->program_len[filter] = (uint32_t)((size_t)got / sizeof(*code));
    for (uint32_t i = 0; i < setup->program_len[filter]; i++) {
        if (BPF_CLASS(code[i].code) != BPF_RET)
            continue;
        if (code[i].k == (SECCOMP_RET_ERRNO | MARK_DENIED))
            code[i].k = setup->notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
        else if (code[i].k == (SECCOMP_RET_ERRNO | MARK_HOSTILE))
            code[i].k = setup->notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_KILL_PROCESS;
    }
    return 0;
}

/* Connections over the loop-back interface of a private network namespace. No datagram or raw sockets; only
 * socket options for keep-alive and latency. */
static int allow_network(scmp_filter_ctx c) {
    static const struct {
        int level, name;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
                   {IPPROTO_TCP, TCP_KEEPCNT}, {SOL_SOCKET, SO_KEEPALIVE},  {SOL_SOCKET, SO_RCVTIMEO},
                   {SOL_SOCKET, SO_SNDTIMEO}};
    static const uint64_t protocols[] = {0, IPPROTO_TCP};
    for (size_t i = 0; i < ARRAY_LEN(protocols); i++) {
        const struct scmp_arg_cmp tcp[3] = {SCMP_A0_64(SCMP_CMP_EQ, AF_INET),
                                            SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM),
                                            SCMP_A2_64(SCMP_CMP_EQ, protocols[i])};
        if (rule(c, SCMP_ACT_ALLOW, "socket", 3, tcp) != 0)
            return -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct scmp_arg_cmp option[2] = {SCMP_A1_64(SCMP_CMP_EQ, (uint64_t)options[i].level),
                                               SCMP_A2_64(SCMP_CMP_EQ, (uint64_t)options[i].name)};
        if (rule(c, SCMP_ACT_ALLOW, "setsockopt", 2, option) != 0)
            return -1;
    }
    return rule(c, SCMP_ACT_ALLOW, "connect", 0, NULL);
}

/* Servers of programs, in a network namespace that no other run has. */
static int allow_servers(scmp_filter_ctx c) {
    static const char *const calls[] = {"bind", "listen", "accept", "accept4", NULL};
    static const struct {
        int level, name;
    } options[] = {{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_REUSEPORT}, {IPPROTO_IPV6, IPV6_V6ONLY}};
    const struct scmp_arg_cmp six[2] = {SCMP_A0_64(SCMP_CMP_EQ, AF_INET6),
                                        SCMP_A1_64(SCMP_CMP_MASKED_EQ, 0xf, SOCK_STREAM)};
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const struct scmp_arg_cmp option[2] = {SCMP_A1_64(SCMP_CMP_EQ, (uint64_t)options[i].level),
                                               SCMP_A2_64(SCMP_CMP_EQ, (uint64_t)options[i].name)};
        if (rule(c, SCMP_ACT_ALLOW, "setsockopt", 2, option) != 0)
            return -1;
    }
    return rule(c, SCMP_ACT_ALLOW, "socket", 2, six) != 0 ? -1 : allow_all(c, calls);
}

static int compile_one(struct confine_setup *setup, uint32_t filter, struct err *err) {
    const bool network = filter >= FRAME_PROFILES;
    const enum frame_profile profile = (enum frame_profile)(network ? filter - FRAME_PROFILES + 1 : filter);
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(MARK_DENIED));
    if (!c)
        return err_set(err, "libseccomp could not be started");
    int done = seccomp_attr_set(c, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (done == 0)
        done = seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (done == 0)
        done = allow_all(c, pure_calls);
    if (done == 0 && profile >= FRAME_FILES)
        done = allow_all(c, files_calls);
    if (done == 0 && profile >= FRAME_FILES && setup->tier == 1)
        done = allow_all(c, ungoverned_calls) != 0 ? -1 : allow_pipes(c);
    if (done == 0 && setup->tier == 1)
        done = allow_all(c, raise_calls);
    if (done == 0 && profile >= FRAME_PROC)
        done = allow_all(c, proc_calls);
    if (done == 0)
        done = allow_some(c, profile);
    const bool serves = profile == FRAME_PROC && setup->tier == 1;
    if (done == 0 && (network || serves))
        done = allow_network(c);
    if (done == 0 && serves)
        done = allow_servers(c);
    if (done == 0)
        done = deny_some(c, setup->notify);
    cleanup_fd int fd = done == 0 ? memfd_create("filter", MFD_CLOEXEC) : -1;
    if (fd < 0 || seccomp_export_bpf(c, fd) != 0)
        done = err_set(err, "filter %u could not be made", filter);
    seccomp_release(c);
    return done == 0 ? take_program(fd, setup, filter, err) : -1;
}

int syscalls_compile(struct confine_setup *setup, struct err *err) {
    for (uint32_t i = 0; i < CONFINE_FILTERS; i++)
        if (compile_one(setup, i, err) != 0)
            return -1;
    return 0;
}

void syscalls_name(int number, char *ret_name, size_t size) {
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (name)
        snprintf(ret_name, size, "%s", name);
    else
        snprintf(ret_name, size, "system call %d", number);
    free(name);
}

static bool among(int number, const char *const *names) {
    for (; *names; names++)
        if (seccomp_syscall_resolve_name(*names) == number)
            return true;
    return false;
}

enum syscalls_verdict syscalls_judge(int number) {
    if (among(number, hostile_calls))
        return SYSCALLS_END;
    return among(number, quiet_calls) ? SYSCALLS_QUIET : SYSCALLS_REPORT;
}
