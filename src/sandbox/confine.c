/* Runs in the fresh child of a zygote, before it becomes a guest. The child has the zygote's uid. In tier 1
 * it has all capabilities in its new user namespace and none outside. */
#include "sandbox/confine.h"

#include "base/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_MAX 256      /* descriptors a guest may have open */
#define PAGE_BYTES 4096 /* unit of statm */
#define CAPS_MAX 64     /* more than the kernel has; it returns EINVAL after its last */
#define WORKDIR "/workspace"
#define NOTIFY_WAIT_KILLABLE (1UL << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, newer than the headers */
#define TSYNC_ESRCH (1UL << 4) /* SECCOMP_FILTER_FLAG_TSYNC_ESRCH: required together with a listener */
#define PROC_ADDRESS_BYTES (64ull << 30) /* address space of a program, which is not memory */
#define STATM_MAX 128
#define PROXY_BACKLOG 64

/* Landlock ABI 6; older headers have only the first field. */
struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};
#define RULE_NET_PORT 2
#define NET_CONNECT (1ULL << 1)
struct net_port {
    uint64_t allowed;
    uint64_t port;
};
#define FS_TRUNCATE (1ULL << 14)
#define FS_IOCTL_DEV (1ULL << 15)
#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_WRITE                                                                                             \
    (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                               \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |            \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE)

enum stage { STAGE_WHOLE = 1, STAGE_BEFORE = 2, STAGE_LOADED = 4, STAGE_LAST = 8 };

struct confine {
    enum stage stage;
    const struct confine_setup *setup;
    const struct frame_order *order;
    const int *stdio;
    int workspace; /* descriptor of the workspace, for the helper */
    int scratch;   /* descriptor of /tmp if that is a separate directory; valid until step_descriptors() */
    int listener;
};

/* Usage of this process when it was locked down; limits are added to it. */
static struct {
    uint64_t size;
    uint64_t data;
    bool by_data; /* limit private memory instead of address space */
} baseline;

int confine_read_setup(int fd, struct confine_setup *ret_setup) {
    return pread(fd, ret_setup, sizeof(*ret_setup), 0) == (ssize_t)sizeof(*ret_setup) ? 0 : -1;
}

/* ---- the steps; 0 or -1 with errno ---- */

static int write_at(int dir, const char *path, const char *text) {
    int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t done = write(fd, text, strlen(text));
    int code = errno;
    close(fd);
    errno = code;
    return done < 0 ? -1 : 0;
}

/* When the helper ends for any reason, the kernel kills the sandbox. */
static int step_deathsig(struct confine *l) {
    (void)l;
    return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/* The helper has written the maps. The change of ids clears the death signal. */
static int take_own_ids(struct confine *l) {
    if (setresgid(CONFINE_GUEST_ID, CONFINE_GUEST_ID, CONFINE_GUEST_ID) != 0 ||
        setresuid(CONFINE_GUEST_ID, CONFINE_GUEST_ID, CONFINE_GUEST_ID) != 0)
        return -1;
    return step_deathsig(l);
}

static int step_idmap(struct confine *l) {
    if (l->setup->tier > 1)
        return 0;
    if (l->order->uid)
        return take_own_ids(l);
    char line[64];
    if (write_at(CONFINE_FD_PROC, "self/setgroups", "deny") != 0)
        return -1;
    snprintf(line, sizeof(line), "%d %u 1", CONFINE_GUEST_ID, l->setup->uid);
    if (write_at(CONFINE_FD_PROC, "self/uid_map", line) != 0)
        return -1;
    snprintf(line, sizeof(line), "%d %u 1", CONFINE_GUEST_ID, l->setup->gid);
    return write_at(CONFINE_FD_PROC, "self/gid_map", line);
}

bool confine_has_network(const struct confine_setup *setup, const struct frame_order *order) {
    return order->network && setup->tier == 1 && order->profile != FRAME_PURE;
}

bool confine_has_loopback(const struct confine_setup *setup, const struct frame_order *order) {
    return setup->tier == 1 && (order->profile == FRAME_PROC || confine_has_network(setup, order));
}

/* The new network namespace has only a loop-back interface, which is down. */
static int open_loopback(bool listens) {
    struct ifreq lo = {.ifr_name = "lo"};
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(FRAME_PROXY_PORT),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    lo.ifr_flags = IFF_UP;
    const bool up = ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    if (up && !listens)
        return fd;
    if (up && bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, PROXY_BACKLOG) == 0)
        return fd;
    const int code = errno;
    close(fd);
    errno = code;
    return -1;
}

/* The kernel shares one budget of TCP memory among all of the machine. Where /proc is read-only, the usual
 * sizes stay. */
static void bound_buffers(void) {
    static const char *const settings[][2] = {{"sys/net/ipv4/tcp_rmem", "4096 65536 131072"},
                                              {"sys/net/ipv4/tcp_wmem", "4096 65536 131072"},
                                              {"sys/net/core/somaxconn", "64"}};
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        write_at(CONFINE_FD_PROC, settings[i][0], settings[i][1]);
}

/* The only connection to the outside: the gate accepts, checks and records every connection to it. */
static int step_network(struct confine *l) {
    const bool listens = confine_has_network(l->setup, l->order);
    if (!confine_has_loopback(l->setup, l->order))
        return 0;
    const struct confine_note note = {.kind = CONFINE_NOTE_NETWORK, .token = l->order->token};
    const int fd = open_loopback(listens);
    if (fd < 0)
        return -1;
    bound_buffers();
    const int done = listens ? packet_send(CONFINE_FD_REPORT, &note, sizeof(note), &fd, 1, 0) : 0;
    const int code = errno;
    close(fd);
    errno = code;
    return done;
}

/* Private tmpfs mounts over the empty mount points of the root; their sizes are the quota. */
static int step_scratch(struct confine *l) {
    if (l->setup->tier > 1)
        return 0;
    char options[96];
    snprintf(options, sizeof(options), "size=%um,nr_inodes=%u,mode=700", l->order->workspace_mb,
             l->order->inodes);
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (mount("tmpfs", "/tmp", "tmpfs", flags, options) != 0)
        return -1;
    return mount("tmpfs", WORKDIR, "tmpfs", flags, options);
}

/* Without namespaces the two are separate directories beside those of other sandboxes. The language libraries
 * map paths below /workspace and /tmp to them. */
static int own_directory(struct confine *l, const char *which) {
    char name[64];
    snprintf(name, sizeof(name), "%llu", (unsigned long long)l->order->token);
    if (mkdirat(CONFINE_FD_SCRATCH, name, 0700) != 0 && errno != EEXIST)
        return -1;
    snprintf(name, sizeof(name), "%llu/%s", (unsigned long long)l->order->token, which);
    if (mkdirat(CONFINE_FD_SCRATCH, name, 0700) != 0)
        return -1;
    return openat(CONFINE_FD_SCRATCH, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static int step_workdir(struct confine *l) {
    const bool own = l->setup->tier > 1;
    l->scratch = own ? own_directory(l, "tmp") : -1;
    if (own && l->scratch < 0)
        return -1;
    l->workspace = own ? own_directory(l, "workspace") : open(WORKDIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return l->workspace < 0 ? -1 : fchdir(l->workspace);
}

static int limit(int what, uint64_t value) {
    struct rlimit now;
    if (getrlimit(what, &now) != 0)
        return -1;
    if (now.rlim_max < value) /* already lower; only a privileged process could raise it */
        value = now.rlim_max;
    struct rlimit want = {value, value};
    return setrlimit(what, &want);
}

/* statm: size resident shared text lib data dirty, in pages */
static int read_baseline(enum stage stage) {
    const bool later = stage == STAGE_LAST;
    int fd = later ? CONFINE_FD_STATM : openat(CONFINE_FD_PROC, "self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    char text[STATM_MAX] = "";
    ssize_t got = pread(fd, text, sizeof(text) - 1, 0);
    if (!later)
        close(fd);
    uint64_t fields[6] = {0};
    int at = 0;
    for (ssize_t i = 0; i < got && at < 6; i++) {
        if (text[i] >= '0' && text[i] <= '9')
            fields[at] = fields[at] * 10 + (uint64_t)(text[i] - '0');
        else
            at++;
    }
    baseline.size = fields[0] * PAGE_BYTES;
    baseline.data = fields[5] * PAGE_BYTES;
    return fields[0] ? 0 : (errno = EPROTO, -1);
}

uint32_t confine_data_mb(void) {
    return read_baseline(STAGE_WHOLE) == 0 ? (uint32_t)(baseline.data >> 20) : UINT32_MAX;
}

static int step_rlimits(struct confine *l) {
    const struct frame_order *o = l->order;
    const struct {
        int what;
        uint64_t value;
    } table[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_FSIZE, (uint64_t)o->workspace_mb << 20},
        {RLIMIT_MEMLOCK, 0},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_NICE, 0},
        {RLIMIT_SIGPENDING, FD_MAX},
    };
    for (size_t i = 0; l->stage != STAGE_LAST && i < sizeof(table) / sizeof(table[0]); i++)
        if (limit(table[i].what, table[i].value) != 0)
            return -1;
    /* Without a user namespace the kernel counts all processes of the uid; there the filter denies fork
     * instead. */
    if (l->setup->tier == 1 && limit(RLIMIT_NPROC, o->processes) != 0)
        return -1;
    if (l->stage == STAGE_BEFORE) /* memory is counted from the size of the started interpreter */
        return 0;
    if (read_baseline(l->stage) != 0)
        return -1;
    /* Some programs reserve much more address space than they use, Node for one. */
    baseline.by_data = l->setup->data_limit || o->profile == FRAME_PROC;
    if (o->profile == FRAME_PROC && limit(RLIMIT_AS, PROC_ADDRESS_BYTES) != 0)
        return -1;
    return confine_limit(o->memory_mb, 0);
}

int confine_limit(uint32_t memory_mb, uint32_t cpu_s) {
    const uint64_t memory = (uint64_t)memory_mb << 20;
    if (memory_mb && baseline.by_data && limit(RLIMIT_DATA, baseline.data + memory) != 0)
        return -1;
    if (memory_mb && !baseline.by_data && limit(RLIMIT_AS, baseline.size + memory) != 0)
        return -1;
    struct rusage used;
    if (cpu_s &&
        (getrusage(RUSAGE_SELF, &used) != 0 ||
         limit(RLIMIT_CPU, (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec + cpu_s) != 0))
        return -1;
    return 0;
}

static int allow_beneath(int rules, int fd, uint64_t access) {
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int allow_path(int rules, const char *path, uint64_t access) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1; /* an unreachable path needs no rule */
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
    int done = allow_beneath(rules, fd, access);
    int code = errno;
    close(fd);
    errno = code;
    return done;
}

static int add_rules(struct confine *l, int rules, uint64_t handled) {
    const struct confine_setup *s = l->setup;
    const bool proc = l->order->profile == FRAME_PROC;
    const uint64_t read = FS_READ | (proc ? LANDLOCK_ACCESS_FS_EXECUTE : 0);
    const uint64_t write = (FS_WRITE | (s->tier == 1 ? LANDLOCK_ACCESS_FS_MAKE_FIFO : 0)) & handled;
    if (l->order->profile == FRAME_PURE)
        return 0; /* no access at all */
    for (uint32_t i = 0; i < s->dir_count; i++)
        if (allow_path(rules, s->dirs[i], read) != 0)
            return -1;
    if (allow_path(rules, "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE) != 0 ||
        allow_path(rules, "/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE) != 0)
        return -1;
    if (s->tier == 1 &&
        (allow_path(rules, "/tmp", write) != 0 || allow_path(rules, "/", LANDLOCK_ACCESS_FS_READ_DIR) != 0))
        return -1;
    if (l->scratch >= 0 && allow_beneath(rules, l->scratch, write) != 0)
        return -1;
    return allow_beneath(rules, l->workspace, write);
}

/* Runs after the mounts: rules on directories that a later mount hides would have no effect. */
static int step_landlock(struct confine *l) {
    if (l->setup->tier > 2)
        return 0;
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1)
        return -1;
    struct ruleset want = {.fs = (1ULL << 13) - 1};
    size_t size = sizeof(want.fs);
    if (abi >= 2)
        want.fs |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        want.fs |= FS_TRUNCATE;
    if (abi >= 4) /* bind and connect; with PROC code may do both, in a network that is its own */
        want.net = l->order->profile == FRAME_PROC ? 0 : 3, size += sizeof(want.net);
    if (abi >= 5)
        want.fs |= FS_IOCTL_DEV;
    if (abi >= 6)
        want.scoped = 3, size += sizeof(want.scoped); /* abstract sockets and signals */
    int rules = (int)syscall(SYS_landlock_create_ruleset, &want, size, 0);
    if (rules < 0)
        return -1;
    const struct net_port proxy = {.allowed = NET_CONNECT, .port = FRAME_PROXY_PORT};
    int done = add_rules(l, rules, want.fs);
    if (done == 0 && want.net && confine_has_network(l->setup, l->order))
        done = (int)syscall(SYS_landlock_add_rule, rules, RULE_NET_PORT, &proxy, 0);
    if (done == 0)
        done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (done == 0)
        done = (int)syscall(SYS_landlock_restrict_self, rules, 0);
    int code = errno;
    close(rules);
    errno = code;
    return done;
}

static int step_caps(struct confine *l) {
    for (int i = 0; i < CAPS_MAX; i++)
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) {
            if (errno == EINVAL)
                break;
            if (l->setup->tier == 1) /* in tier 1 the process had all capabilities */
                return -1;
            break; /* an ordinary process has none */
        }
    const int bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
                     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return -1;
    if (l->setup->tier == 1 && prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0)
        return -1;
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    return (int)syscall(SYS_capset, &head, none);
}

/* Keeps the descriptors that the steps after the exec need; the last step closes them. */
static int open_for_later(const struct confine *l, int *ret_order, int *ret_statm) {
    *ret_statm = openat(CONFINE_FD_PROC, "self/statm", O_RDONLY | O_CLOEXEC);
    *ret_order = memfd_create("order", MFD_CLOEXEC);
    if (*ret_statm < 0 || *ret_order < 0)
        return -1;
    return write(*ret_order, l->order, sizeof(*l->order)) == (ssize_t)sizeof(*l->order) ? 0 : -1;
}

/* The interpreter may have opened others meanwhile. */
static int close_what_was_kept(void) {
    for (int fd = CONFINE_FD_KEPT; fd <= CONFINE_FD_STATM; fd++)
        if (close(fd) != 0)
            return -1;
    return fcntl(CONFINE_FD_BRIDGE, F_SETFD, FD_CLOEXEC);
}

/* 0 is /dev/null, 1 and 2 are the limited pipes, 3 is the bridge; 4 and 5 are closed after the report to the
 * helper. All are copied to higher numbers first, so that no dup2 overwrites a descriptor that a later one
 * needs. */
static int step_descriptors(struct confine *l) {
    if (l->stage == STAGE_LAST)
        return close_what_was_kept();
    const bool exec = l->stage == STAGE_BEFORE;
    const int count = exec ? CONFINE_FD_STATM + 1 : CONFINE_FD_SETUP + 1;
    int from[CONFINE_FD_STATM + 1] = {CONFINE_FD_NULL,   l->stdio[1],  l->stdio[2],     l->stdio[0],
                                      CONFINE_FD_REPORT, l->workspace, CONFINE_FD_SETUP};
    int high[CONFINE_FD_STATM + 1];
    if (exec && open_for_later(l, &from[CONFINE_FD_ORDER], &from[CONFINE_FD_STATM]) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64)) < 0)
            return -1;
    for (int i = 0; i < count; i++)
        if (dup3(high[i], i, exec || i < CONFINE_FD_BRIDGE ? 0 : O_CLOEXEC) < 0)
            return -1;
    l->workspace = CONFINE_FD_SETUP;
    for (int fd = count; l->setup->hold && fd < FD_MAX; fd++)
        if (fcntl(fd, F_GETFD) >= 0 && dup3(STDIN_FILENO, fd, O_CLOEXEC) < 0)
            return -1;
    return (int)syscall(SYS_close_range, l->setup->hold ? FD_MAX : count, ~0U, 0);
}

static int step_privileges(struct confine *l) {
    (void)l;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int step_seccomp(struct confine *l) {
    const uint32_t profile =
        l->order->profile + (confine_has_network(l->setup, l->order) ? FRAME_PROFILES - 1 : 0);
    /* Applies to all existing threads, or to none and the step fails. */
    const unsigned long all = l->stage == STAGE_LAST ? SECCOMP_FILTER_FLAG_TSYNC | TSYNC_ESRCH : 0;
    struct sock_fprog program = {.len = (unsigned short)l->setup->program_len[profile],
                                 .filter = (struct sock_filter *)(uintptr_t)l->setup->programs[profile]};
    if (!l->setup->notify)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, &program);
    const unsigned long listen = all | SECCOMP_FILTER_FLAG_NEW_LISTENER;
    l->listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen | NOTIFY_WAIT_KILLABLE, &program);
    if (l->listener < 0 && errno == EINVAL)
        l->listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listen, &program);
    return l->listener < 0 ? -1 : 0;
}

static int step_report(struct confine *l) {
    const struct confine_note note = {.kind = CONFINE_NOTE_READY, .token = l->order->token};
    const int fds[2] = {l->workspace, l->listener};
    if (packet_send(CONFINE_FD_REPORT, &note, sizeof(note), fds, 2, 0) != 0)
        return -1;
    close(l->workspace);
    if (l->listener >= 0)
        close(l->listener);
    return 0;
}

/* The report was the last message with descriptors. The kernel counts descriptors in transit for all
 * processes of a user together, against the sender's own limit of open files: a guest that could send some
 * would block all others, and a limit as low as a guest's would block the report itself. */
static int step_seal(struct confine *l) {
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    const unsigned long all = l->stage == STAGE_LAST ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    if (limit(RLIMIT_NOFILE, FD_MAX) != 0 || close(CONFINE_FD_REPORT) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, &program) == 0 ? 0 : -1;
}

static const struct {
    const char *name;
    int (*run)(struct confine *l);
    int stages;
} steps[CONFINE_STEPS] = {
    [CONFINE_DEATHSIG] = {"deathsig", step_deathsig, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_IDMAP] = {"idmap", step_idmap, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_NETWORK] = {"network", step_network, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_SCRATCH] = {"scratch", step_scratch, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_WORKDIR] = {"workdir", step_workdir, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_RLIMITS] = {"rlimits", step_rlimits, STAGE_WHOLE | STAGE_BEFORE | STAGE_LAST},
    [CONFINE_LANDLOCK] = {"landlock", step_landlock, STAGE_WHOLE | STAGE_LOADED},
    [CONFINE_CAPS] = {"caps", step_caps, STAGE_WHOLE | STAGE_BEFORE},
    [CONFINE_DESCRIPTORS] = {"descriptors", step_descriptors, STAGE_WHOLE | STAGE_BEFORE | STAGE_LAST},
    [CONFINE_PRIVILEGES] = {"privileges", step_privileges, STAGE_WHOLE | STAGE_LAST},
    [CONFINE_SECCOMP] = {"seccomp", step_seccomp, STAGE_WHOLE | STAGE_LAST},
    [CONFINE_REPORT] = {"report", step_report, STAGE_WHOLE | STAGE_LAST},
    [CONFINE_SEAL] = {"seal", step_seal, STAGE_WHOLE | STAGE_LAST},
};

const char *confine_step_name(enum confine_step step) {
    return step == CONFINE_AWAKE ? "awake" : step > 0 && step < CONFINE_STEPS ? steps[step].name : "start";
}

static void run_steps(struct confine *l) {
    for (uint32_t i = 1; i < CONFINE_STEPS; i++) {
        errno = ECANCELED;
        if (!(steps[i].stages & (int)l->stage) || (i != l->setup->fail_step && steps[i].run(l) == 0))
            continue;
        const struct confine_note note = {
            .kind = CONFINE_NOTE_FAILED, .error = errno, .token = l->order->token, .step = i};
        packet_send(CONFINE_FD_REPORT, &note, sizeof(note), NULL, 0, 0);
        _exit(CONFINE_FAILED);
    }
}

static void run_fresh(enum stage stage, const struct confine_setup *setup, const struct frame_order *order,
                      const int stdio[3]) {
    run_steps(&(struct confine){.stage = stage,
                                .setup = setup,
                                .order = order,
                                .stdio = stdio,
                                .workspace = -1,
                                .scratch = -1,
                                .listener = -1});
}

void confine_down(const struct confine_setup *setup, const struct frame_order *order, const int stdio[3]) {
    run_fresh(STAGE_WHOLE, setup, order, stdio);
}

void confine_before_exec(const struct confine_setup *setup, const struct frame_order *order,
                         const int stdio[3]) {
    run_fresh(STAGE_BEFORE, setup, order, stdio);
}

static void run_stage(enum stage stage, struct confine_setup *ret_setup) {
    struct frame_order order;
    if (confine_read_setup(CONFINE_FD_KEPT, ret_setup) != 0 ||
        pread(CONFINE_FD_ORDER, &order, sizeof(order), 0) != (ssize_t)sizeof(order))
        _exit(CONFINE_FAILED);
    run_steps(&(struct confine){.stage = stage,
                                .setup = ret_setup,
                                .order = &order,
                                .workspace = CONFINE_FD_SETUP,
                                .scratch = -1,
                                .listener = -1});
}

void confine_after_exec(struct confine_setup *ret_setup) { run_stage(STAGE_LOADED, ret_setup); }
void confine_last(struct confine_setup *ret_setup) { run_stage(STAGE_LAST, ret_setup); }
