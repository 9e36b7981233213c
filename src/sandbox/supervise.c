/* Runs in the helper, with the privileges of the user who started the gate and none of its secrets. It never
 * runs a guest and reads nothing that a guest wrote: notes come from children that are not guests yet.
 *
 *   order ─▶ zygote ─▶ CLONED (pid, pidfd)  ┐
 *                 └──▶ READY  (workspace,   ├─▶ STARTED to the gate ─▶ … ─▶ EXITED
 *                              listener)    ┘          VIOLATION now and then */
#include "sandbox/supervise.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/packet.h"
#include "sandbox/cgroup.h"
#include "sandbox/ids.h"
#include "sandbox/launch.h"
#include "sandbox/syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ZYGOTE_FORKS 1000    /* children of one zygote: they share its address layout and hash seed */
#define ZYGOTE_AGE_MS 600000 /* a used zygote is replaced after this time */
#define ZYGOTE_FAILURES 3    /* consecutive starts that may fail */
#define VIOLATIONS_MAX 1000  /* denied calls after which a sandbox is killed */
#define TIER_NONE 4

enum source_kind { SOURCE_CONTROL, SOURCE_ZYGOTE, SOURCE_BOX_EXIT, SOURCE_BOX_NOTIFY };

struct source {
    enum source_kind kind;
    void *of;
};

struct zygote {
    struct list node;
    enum frame_runtime runtime;
    pid_t pid;
    int sock;
    struct source source;
    bool up;
    bool retiring;
    uint32_t forks;
    uint32_t open; /* boxes that have not started yet */
    uint64_t born_ms;
};

struct box {
    struct list node;
    uint64_t token;
    struct zygote *zygote; /* that creates it; NULL after the start, or if the zygote has ended */
    bool started;
    enum frame_runtime runtime;
    struct frame_order order;
    bool grouped; /* it has its own control group */
    int pidfd;
    int workspace;
    int network;  /* listener of its loop-back interface */
    int listener; /* of its filter */
    struct source exit_source;
    struct source notify_source;
    bool cloned;
    bool ready;
    uint32_t violations;
    char failure[FRAME_REASON_MAX];
};

struct runtime {
    struct launch_runtime found;
    struct launch_runtime other; /* tried if that one cannot be used */
    struct zygote *current;
    struct zygote *next; /* being started as its replacement */
    uint32_t failures;
    bool reported;
    char why[FRAME_REASON_MAX]; /* why it cannot be used */
};

struct supervisor {
    int poll;
    struct launch_config config;
    struct cgroup group;
    struct ids ids;
    bool bounded;       /* the number of processes can be limited, so profile PROC can be offered */
    uint32_t forks_max; /* of one zygote */
    struct runtime runtimes[FRAME_RUNTIMES];
    struct list zygotes;
    struct list boxes;
};

/* ---- reports to the gate ---- */

static void send_report(const struct frame_report *report) {
    packet_send(SUPERVISE_FD_CONTROL, report, sizeof(*report), NULL, 0, 0);
}

static void tell_runtime(enum frame_runtime runtime, int error, const char *text) {
    struct frame_report r = {.kind = FRAME_RUNTIME, .value = error, .runtime = runtime};
    snprintf(r.text, sizeof(r.text), "%s", text);
    send_report(&r);
}

static void tell_not_started(uint64_t token, enum frame_runtime runtime, int error, const char *text) {
    struct frame_report r = {
        .kind = FRAME_STARTED, .value = error ? error : EIO, .token = token, .runtime = runtime};
    snprintf(r.text, sizeof(r.text), "%s", text);
    send_report(&r);
}

/* ---- sources ---- */

static int watch(struct supervisor *s, int fd, struct source *source) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    return epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &event);
}

static void unwatch(struct supervisor *s, int *fd) {
    if (*fd < 0)
        return;
    epoll_ctl(s->poll, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

static void drop_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- boxes ---- */

static struct box *box_find(struct supervisor *s, uint64_t token) {
    LIST_FOR (n, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->token == token)
            return b;
    }
    return NULL;
}

/* Removes the files and empty directories of a directory, and closes it. Returns an open descriptor of a
 * non-empty directory in it, or -1. */
static int remove_entries(int fd, size_t *removed) {
    DIR *dir = fdopendir(fd);
    int deeper = -1;
    for (struct dirent *e; dir && deeper < 0 && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0) == 0)
            (*removed)++;
        else if (e->d_type == DT_DIR &&
                 fchmodat(fd, e->d_name, 0700, 0) == 0) /* the guest may have changed its mode */
            deeper = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (dir)
        closedir(dir);
    else
        close(fd);
    return deeper;
}

/* The guest has ended, so nothing changes meanwhile. Starts at the top again for each non-empty directory, so
 * that any depth works; what cannot be removed stays. */
static void remove_tree(const char *dir, uint64_t token) {
    char path[FRAME_PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/%llu", dir, (unsigned long long)token);
    size_t removed = 1;
    while (removed && rmdir(path) < 0) {
        removed = 0;
        for (int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); fd >= 0;)
            fd = remove_entries(fd, &removed);
    }
}

static void box_free(struct supervisor *s, struct box *b) {
    if (b->zygote)
        b->zygote->open--;
    unwatch(s, &b->pidfd);
    unwatch(s, &b->listener);
    drop_fd(&b->workspace);
    drop_fd(&b->network);
    if (b->grouped)
        cgroup_end_box(&s->group, b->token);
    if (*s->config.scratch_dir)
        remove_tree(s->config.scratch_dir, b->token);
    list_remove(&b->node);
    free(b);
}

static void box_maybe_started(struct box *b) {
    if (!b->cloned || !b->ready || !b->zygote)
        return;
    b->zygote->open--;
    b->zygote = NULL;
    b->started = true;
    const struct frame_report r = {.kind = FRAME_STARTED, .token = b->token, .runtime = b->runtime};
    packet_send(SUPERVISE_FD_CONTROL, &r, sizeof(r), (int[]){b->pidfd, b->workspace, b->network}, 3, 0);
    drop_fd(&b->workspace);
    drop_fd(&b->network);
}

/* The box has ended; it is reaped here, because it is a child of this process. */
static void box_exited(struct supervisor *s, struct box *b) {
    siginfo_t info = {0};
    struct rusage used = {0};
    if (syscall(SYS_waitid, P_PIDFD, b->pidfd, &info, WEXITED | WNOHANG, &used) != 0 || info.si_pid == 0)
        return;
    if (!b->started) {
        const char *why = *b->failure ? b->failure : "the sandbox ended before it was locked";
        tell_not_started(b->token, b->runtime, EIO, why);
    } else {
        struct frame_report r = {.kind = FRAME_EXITED, .token = b->token, .runtime = b->runtime};
        r.value = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
        r.cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
        r.rss_kb = (uint64_t)used.ru_maxrss;
        if (b->grouped)
            r.out_of_memory = cgroup_end_box(&s->group, b->token);
        b->grouped = false;
        send_report(&r);
    }
    box_free(s, b);
}

static void box_kill(const struct box *b) { syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0); }

/* A denied system call blocks until it is answered here. A listener whose process has ended reports events
 * endlessly, so it is removed from the poll set. */
static void box_violated(struct supervisor *s, struct box *b, uint32_t events) {
    if (!(events & EPOLLIN)) {
        unwatch(s, &b->listener);
        return;
    }
    struct seccomp_notif asked;
    memset(&asked, 0, sizeof(asked));
    if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
        return; /* the caller has ended */
    const enum syscalls_verdict verdict = syscalls_judge(asked.data.nr);
    const bool end = verdict == SYSCALLS_END || ++b->violations > VIOLATIONS_MAX;
    if (verdict != SYSCALLS_QUIET || end) {
        struct frame_report r = {
            .kind = FRAME_VIOLATION, .token = b->token, .runtime = b->runtime, .value = end};
        syscalls_name(asked.data.nr, r.text, sizeof(r.text));
        send_report(&r);
    }
    if (end) {
        box_kill(b);
        return;
    }
    struct seccomp_notif_resp answer = {.id = asked.id, .error = -EPERM};
    ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* ---- zygotes ---- */

static void zygote_free(struct supervisor *s, struct zygote *z) {
    struct runtime *r = &s->runtimes[z->runtime];
    if (r->current == z)
        r->current = NULL;
    if (r->next == z)
        r->next = NULL;
    LIST_FOR_SAFE (n, next, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->zygote != z)
            continue;
        if (b->pidfd >= 0) { /* its exit will be reported */
            snprintf(b->failure, sizeof(b->failure), "the interpreter process that ran the code has exited");
            box_kill(b);
            b->zygote = NULL;
            continue;
        }
        tell_not_started(b->token, b->runtime, EIO,
                         "the interpreter process that was to run the code has exited");
        box_free(s, b);
    }
    unwatch(s, &z->sock);
    kill(z->pid, SIGKILL);
    waitpid(z->pid, NULL, 0);
    list_remove(&z->node);
    free(z);
}

static struct zygote *zygote_start(struct supervisor *s, enum frame_runtime runtime) {
    struct runtime *r = &s->runtimes[runtime];
    struct err err = {""};
    struct zygote *z = mem_zalloc(sizeof(*z));
    z->runtime = runtime;
    z->born_ms = clock_mono_ms();
    if (launch_zygote(&s->config, &r->found, &z->pid, &z->sock, &err) != 0) {
        snprintf(r->why, sizeof(r->why), "%.200s", err.text);
        free(z);
        return NULL;
    }
    z->source = (struct source){SOURCE_ZYGOTE, z};
    watch(s, z->sock, &z->source);
    list_push(&s->zygotes, &z->node);
    if (!cgroup_take_zygote(&s->group, z->pid)) {
        snprintf(r->why, sizeof(r->why), "its control group takes no interpreter: %s", strerror(errno));
        zygote_free(s, z);
        return NULL;
    }
    return z;
}

/* JavaScript has a second interpreter as a fallback. The error of the first is kept in case both fail. */
static bool try_other(struct supervisor *s, enum frame_runtime runtime) {
    struct runtime *r = &s->runtimes[runtime];
    if (!*r->other.binary)
        return false;
    r->found = r->other;
    *r->other.binary = '\0';
    r->failures = 0;
    r->current = zygote_start(s, runtime);
    return r->current != NULL;
}

/* The zygote ended, or reported that it cannot work. */
static void zygote_lost(struct supervisor *s, struct zygote *z, const char *why) {
    struct runtime *r = &s->runtimes[z->runtime];
    const enum frame_runtime runtime = z->runtime;
    const bool was_up = z->up;
    if (!was_up && !z->retiring) {
        r->failures++;
        snprintf(r->why, sizeof(r->why), "%.200s", why);
    }
    zygote_free(s, z);
    if (!was_up && !r->reported && try_other(s, runtime))
        return;
    if (!was_up && (!r->reported || r->failures >= ZYGOTE_FAILURES)) {
        tell_runtime(runtime, EIO, r->why);
        r->reported = true;
        r->failures = ZYGOTE_FAILURES;
    }
}

static void zygote_is_up(struct supervisor *s, struct zygote *z, const char *name) {
    struct runtime *r = &s->runtimes[z->runtime];
    z->up = true;
    r->failures = 0;
    if (r->next == z) {
        r->next = NULL;
        if (r->current)
            r->current->retiring = true;
        r->current = z;
    }
    if (!r->reported)
        tell_runtime(z->runtime, 0, name);
    r->reported = true;
    LIST_FOR_SAFE (n, next, &s->zygotes) {
        struct zygote *old = container_of(n, struct zygote, node);
        if (old->retiring && old->open == 0)
            zygote_free(s, old);
    }
}

/* The sandbox exists. With a profile that can fork, it gets limits for all its processes before it is used.
 */
static void box_cloned(struct supervisor *s, struct box *b, pid_t pid, int take_pidfd, int go) {
    b->pidfd = take_pidfd;
    b->exit_source = (struct source){SOURCE_BOX_EXIT, b};
    watch(s, b->pidfd, &b->exit_source);
    b->grouped = b->order.profile == FRAME_PROC && s->group.version;
    if (b->grouped && !cgroup_take_box(&s->group, &b->order, pid)) {
        snprintf(b->failure, sizeof(b->failure), "its control group could not be made: %s", strerror(errno));
        box_kill(b);
        return;
    }
    if (b->order.uid && (ids_map(pid, b->order.uid) != 0 || write(go, "", 1) != 1)) {
        snprintf(b->failure, sizeof(b->failure), "it could not get uid %u: %s", b->order.uid,
                 strerror(errno));
        box_kill(b);
        return;
    }
    b->cloned = true;
    box_maybe_started(b);
}

static void zygote_note(struct supervisor *s, struct zygote *z) {
    struct confine_note note;
    int fds[3];
    if (packet_receive(z->sock, &note, sizeof(note), fds) != (ssize_t)sizeof(note)) {
        zygote_lost(s, z, "the interpreter ended while it started");
        return;
    }
    note.text[sizeof(note.text) - 1] = '\0';
    struct box *b = box_find(s, note.token);
    if (note.kind == CONFINE_NOTE_UP) {
        zygote_is_up(s, z, note.text);
    } else if (note.kind == CONFINE_NOTE_DOWN) {
        zygote_lost(s, z, note.text);
    } else if (b && note.kind == CONFINE_NOTE_CLONED && note.pid > 0 && fds[0] >= 0) {
        const int pidfd = fds[0];
        fds[0] = -1;
        box_cloned(s, b, note.pid, pidfd, fds[1]);
    } else if (b && note.kind == CONFINE_NOTE_CLONED) {
        tell_not_started(b->token, b->runtime, note.error, "the sandbox's process could not be made");
        box_free(s, b);
    } else if (b && note.kind == CONFINE_NOTE_READY) {
        b->ready = true;
        b->workspace = fds[0], fds[0] = -1;
        b->listener = fds[1], fds[1] = -1;
        b->notify_source = (struct source){SOURCE_BOX_NOTIFY, b};
        if (b->listener >= 0)
            watch(s, b->listener, &b->notify_source);
        box_maybe_started(b);
    } else if (b && note.kind == CONFINE_NOTE_NETWORK) {
        drop_fd(&b->network);
        b->network = fds[0], fds[0] = -1;
    } else if (b && note.kind == CONFINE_NOTE_FAILED) {
        snprintf(b->failure, sizeof(b->failure), "lock-down step `%s` failed: %s",
                 confine_step_name(note.step), strerror(note.error));
    }
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* The zygote for the next order of a runtime; starts or replaces it as needed. */
static struct zygote *zygote_for(struct supervisor *s, enum frame_runtime runtime) {
    struct runtime *r = &s->runtimes[runtime];
    if (!*r->found.binary || r->failures >= ZYGOTE_FAILURES)
        return NULL;
    if (!r->current)
        r->current = zygote_start(s, runtime);
    struct zygote *z = r->current;
    const bool old =
        z && z->forks && (z->forks >= s->forks_max || clock_mono_ms() - z->born_ms > ZYGOTE_AGE_MS);
    if (old && !r->next)
        r->next = zygote_start(s, runtime);
    return z;
}

/* ---- orders ---- */

/* A box is freed after its first process was reaped, and the kernel ends all others of its namespace before
 * that: no process has the uid any more. 0 if there is none. */
static uint32_t free_uid(struct supervisor *s) {
    for (uint32_t i = 0; i < s->ids.count; i++) {
        const uint32_t uid = s->ids.first + s->ids.next++ % s->ids.count;
        bool used = false;
        LIST_FOR (n, &s->boxes)
            used |= container_of(n, struct box, node)->order.uid == uid;
        if (!used)
            return uid;
    }
    return 0;
}

static void start_box(struct supervisor *s, const struct frame_order *order, const int fds[3]) {
    if (order->runtime >= FRAME_RUNTIMES || order->profile >= FRAME_PROFILES || fds[2] < 0)
        return;
    const enum frame_runtime runtime = (enum frame_runtime)order->runtime;
    const uint32_t tier = s->config.setup.tier;
    if ((order->profile == FRAME_PROC && tier > 1) || (order->profile != FRAME_PURE && tier > 2)) {
        tell_not_started(order->token, runtime, EPERM, "this machine cannot confine that profile");
        return;
    }
    if (order->profile == FRAME_PROC && !s->bounded && !s->group.version) {
        tell_not_started(order->token, runtime, EPERM,
                         "the number of processes cannot be limited for this user");
        return;
    }
    struct frame_order sent = *order;
    sent.uid = free_uid(s);
    if (s->ids.count && !sent.uid) {
        tell_not_started(order->token, runtime, EAGAIN, "all uids of `code.uids` are in use");
        return;
    }
    struct zygote *z = zygote_for(s, runtime);
    if (!z || packet_send(z->sock, &sent, sizeof(sent), fds, 3, MSG_DONTWAIT) != 0) {
        const char *why = z ? "the interpreter takes no more orders" : s->runtimes[runtime].why;
        tell_not_started(order->token, runtime, EAGAIN, why);
        return;
    }
    struct box *b = mem_zalloc(sizeof(*b));
    *b = (struct box){.token = order->token,
                      .zygote = z,
                      .runtime = runtime,
                      .order = sent,
                      .pidfd = -1,
                      .workspace = -1,
                      .network = -1,
                      .listener = -1};
    list_push(&s->boxes, &b->node);
    z->forks++;
    z->open++;
}

static void limit_box(struct supervisor *s, const struct frame_order *order) {
    struct box *b = box_find(s, order->token);
    if (!b || !b->grouped || order->memory_mb > b->order.memory_mb)
        return;
    b->order.memory_mb = order->memory_mb;
    cgroup_limit_box(&s->group, &b->order);
}

/* False if the gate has ended. */
static bool take_order(struct supervisor *s) {
    struct frame_order order;
    int fds[3];
    ssize_t got = packet_receive(SUPERVISE_FD_CONTROL, &order, sizeof(order), fds);
    if (got <= 0)
        return false;
    if (got == (ssize_t)sizeof(order) && order.kind == FRAME_START)
        start_box(s, &order, fds);
    if (got == (ssize_t)sizeof(order) && order.kind == FRAME_LIMIT)
        limit_box(s, &order);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return true;
}

/* The first packet has only the preludes and the certificates: limits are in the orders. */
static bool take_setup(struct supervisor *s) {
    struct frame_order order;
    int fds[3];
    ssize_t got = packet_receive(SUPERVISE_FD_CONTROL, &order, sizeof(order), fds);
    const int at = order.network && fds[1] < 0 ? 0 : 1; /* absent descriptors leave no gap */
    s->config.prelude_fd = at ? fds[0] : -1;
    s->config.bundle_fd = order.network ? fds[at] : -1;
    return got == (ssize_t)sizeof(order) && order.kind == FRAME_SETUP;
}

/* ---- start ---- */

static void find_self(const struct supervise_options *o, char ret_dir[FRAME_PATH_MAX]) {
    ssize_t n = -1;
    if (o->helper_dir)
        snprintf(ret_dir, FRAME_PATH_MAX, "%s", o->helper_dir);
    else
        n = readlink("/proc/self/exe", ret_dir, FRAME_PATH_MAX - 1);
    if (n > 0) {
        ret_dir[n] = '\0';
        if (strrchr(ret_dir, '/'))
            *strrchr(ret_dir, '/') = '\0';
    }
}

static void add_dir(struct confine_setup *setup, const char *dir) {
    if (setup->dir_count < CONFINE_DIRS_MAX && *dir)
        snprintf(setup->dirs[setup->dir_count++], FRAME_PATH_MAX, "%s", dir);
}

/* Directories that guests with a file profile may read: libraries and programs, by their paths in the
 * sandbox. */
static void add_dirs(struct supervisor *s) {
    static const char *const usual[] = {"/usr",
                                        "/bin",
                                        "/lib",
                                        "/lib64",
                                        "/etc/ld.so.cache",
                                        "/etc/alternatives",
                                        "/etc/localtime",
                                        "/etc/fonts",
                                        "/etc/mime.types",
                                        "/etc/matplotlibrc",
                                        FRAME_BUNDLE,
                                        NULL};
    struct confine_setup *setup = &s->config.setup;
    for (const char *const *dir = usual; *dir; dir++)
        add_dir(setup, *dir);
    if (*s->config.packages)
        add_dir(setup, setup->tier == 1 ? FRAME_PACKAGES : s->config.packages);
    const struct launch_runtime *python = &s->runtimes[FRAME_PYTHON].found;
    if (setup->tier == 1) {
        add_dir(setup, LAUNCH_PYTHON_DIR);
        add_dir(setup, LAUNCH_VENV);
        add_dir(setup, LAUNCH_MODULES "/" LAUNCH_PROGRAMS);
        return;
    }
    char library[FRAME_PATH_MAX + 8] = "";
    if (python->library)
        snprintf(library, sizeof(library), "%s/lib", python->prefix);
    if (strlen(library) < FRAME_PATH_MAX)
        add_dir(setup, library);
    add_dir(setup, python->venv);
}

static uint32_t step_of(const char *name) {
    for (uint32_t i = 1; name && i <= CONFINE_AWAKE; i++)
        if (strcmp(confine_step_name((enum confine_step)i), name) == 0)
            return i;
    return 0;
}

/* Without namespaces the workspaces are directories on disk, below one that only the sandboxes' uid may
 * enter. */
static int make_scratch(struct supervisor *s, struct err *err) {
    static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm"};
    char *dir = s->config.scratch_dir;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        snprintf(dir, FRAME_PATH_MAX, "%s/sallyport-box-XXXXXX", places[i]);
        if (!mkdtemp(dir)) {
            err_set(err, "make a directory for workspaces in /tmp, /var/tmp or /dev/shm: %s",
                    strerror(errno));
            *dir = '\0';
            continue;
        }
        if (geteuid() == 0 && chown(dir, LAUNCH_ROOT_ID, LAUNCH_ROOT_ID) != 0 && errno != EINVAL)
            return err_set(err, "give away %s: %s", dir, strerror(errno));
        return 0;
    }
    return -1;
}

/* Tries the tiers and returns the best that works. `why` collects why the better ones do not. */
static uint32_t find_tier(struct supervisor *s, uint32_t best, struct err *why) {
    struct err first = {""};
    for (uint32_t tier = best; tier < TIER_NONE; tier++) {
        struct err err = {""};
        s->config.setup.tier = tier;
        const bool ready = tier == 1 || *s->config.scratch_dir || make_scratch(s, &err) == 0;
        if (ready && syscalls_compile(&s->config.setup, &err) == 0 &&
            launch_probe(&s->config, tier, &s->bounded, &err) == 0) {
            *why = first;
            return tier;
        }
        if (!*first.text)
            first = err;
        *why = err; /* no tier works: the failure of the weakest is the cause */
    }
    return TIER_NONE;
}

static void drop_scratch(struct supervisor *s) {
    if (!*s->config.scratch_dir)
        return;
    remove_tree(s->config.scratch_dir, 1); /* created by the probe */
    rmdir(s->config.scratch_dir);
    *s->config.scratch_dir = '\0';
}

/* Node before Bun, because its sandboxes are forked and start faster; unless only Bun was configured. */
static void find_runtimes(struct supervisor *s, const struct supervise_options *o) {
    for (int i = 0; i < FRAME_RUNTIMES; i++) {
        struct runtime *r = &s->runtimes[i];
        const char *given = o->given[i == FRAME_PYTHON_DATA ? LAUNCH_PYTHON : i];
        launch_find(&s->config, (enum launch_engine)i, given, &r->found);
        snprintf(r->why, FRAME_REASON_MAX, "%s", r->found.why);
    }
    struct runtime *r = &s->runtimes[FRAME_NODE];
    launch_find(&s->config, LAUNCH_BUN, o->given[LAUNCH_BUN], &r->other);
    const bool named = o->given[LAUNCH_BUN] && !o->given[LAUNCH_NODE];
    if (*r->other.binary && (named || !*r->found.binary)) {
        const struct launch_runtime first = r->other;
        r->other = r->found;
        r->found = first;
    } else if (!*r->found.binary) {
        snprintf(r->why, FRAME_REASON_MAX, "%.120s, and %.120s", r->found.why, r->other.why);
    }
}

/* What a sandbox without namespaces could not read is refused here with an error text; otherwise a child
 * would fail. Packages are exempt: only a run that requests them needs them, and it reports the error. */
static void check_reach(struct supervisor *s, struct err *ret_why) {
    struct confine_setup *setup = &s->config.setup;
    char script[FRAME_PATH_MAX + 32];
    snprintf(script, sizeof(script), "%s/sallyport-python.py", s->config.helper_dir);
    if (setup->tier < TIER_NONE && !launch_reaches(&s->config, script)) {
        err_set(ret_why, "%.150s is closed to the sandbox's user, uid %d", s->config.helper_dir,
                LAUNCH_ROOT_ID);
        setup->tier = TIER_NONE;
    }
    for (int i = 0; setup->tier < TIER_NONE && i < FRAME_RUNTIMES; i++) {
        struct launch_runtime *both[] = {&s->runtimes[i].found, &s->runtimes[i].other};
        for (size_t j = 0; j < ARRAY_LEN(both); j++)
            if (*both[j]->binary && !launch_reaches(&s->config, both[j]->binary)) {
                snprintf(s->runtimes[i].why, FRAME_REASON_MAX,
                         "%.150s is closed to the sandbox's user, uid %d", both[j]->binary, LAUNCH_ROOT_ID);
                *both[j]->binary = '\0';
            }
        if (!*both[0]->binary && *both[1]->binary) {
            *both[0] = *both[1];
            *both[1]->binary = '\0';
        }
    }
}

/* Resolves links: links above it would point elsewhere after the root has changed. */
static void take_packages(struct supervisor *s, const char *given) {
    char real[PATH_MAX];
    const bool found = given && *given && realpath(given, real) && strlen(real) < FRAME_PATH_MAX;
    snprintf(s->config.packages, sizeof(s->config.packages), "%.*s", FRAME_PATH_MAX - 1,
             found   ? real
             : given ? given
                     : "");
}

static void prepare(struct supervisor *s, const struct supervise_options *o, struct err *ret_why) {
    struct confine_setup *setup = &s->config.setup;
    struct seccomp_notif_sizes sizes;
    s->config.prelude_fd = s->config.bundle_fd = -1;
    s->config.path = getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin";
    find_self(o, s->config.helper_dir);
    take_packages(s, o->packages);
    setup->notify = syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0 &&
                    sizes.seccomp_notif <= sizeof(struct seccomp_notif) &&
                    sizes.seccomp_notif_resp <= sizeof(struct seccomp_notif_resp);
    const uint32_t best = o->best_tier ? (uint32_t)(*o->best_tier - '0') : 1;
    setup->tier = find_tier(s, best < 1 ? 1 : best, ret_why);
    setup->fail_step = step_of(o->fail_step);
    s->forks_max = o->forks ? (uint32_t)strtoul(o->forks, NULL, 10) : ZYGOTE_FORKS;
    find_runtimes(s, o);
    check_reach(s, ret_why);
    if (ids_open(&s->ids, o->uids, setup->tier, ret_why) != 0)
        setup->tier = TIER_NONE;
    if (setup->tier == 1 || setup->tier == TIER_NONE)
        drop_scratch(s);
    add_dirs(s);
}

static void start_runtimes(struct supervisor *s, uint32_t wanted) {
    for (int i = 0; i < FRAME_RUNTIMES; i++) {
        struct runtime *r = &s->runtimes[i];
        if (!(wanted & 1u << i))
            snprintf(r->why, sizeof(r->why), "not requested"), *r->found.binary = '\0';
        if (!*r->found.binary) {
            tell_runtime((enum frame_runtime)i, ENOENT, r->why);
            r->reported = true;
        } else if (i != FRAME_PYTHON_DATA && !zygote_for(s, (enum frame_runtime)i)) {
            tell_runtime((enum frame_runtime)i, EIO, r->why);
            r->reported = true;
        }
    }
}

static void end_all(struct supervisor *s) {
    LIST_FOR_SAFE (n, next, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->pidfd >= 0) {
            siginfo_t info;
            box_kill(b);
            syscall(SYS_waitid, P_PIDFD, b->pidfd, &info, WEXITED, NULL);
        }
        box_free(s, b);
    }
    LIST_FOR_SAFE (n, next, &s->zygotes) {
        zygote_free(s, container_of(n, struct zygote, node));
    }
    drop_scratch(s);
    cgroup_close(&s->group);
}

/* Descriptors in transit count against this limit, here and in a child until it is sealed. */
static void raise_files(void) {
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < now.rlim_max) {
        now.rlim_cur = now.rlim_max;
        setrlimit(RLIMIT_NOFILE, &now);
    }
}

int supervise_serve(const struct supervise_options *o) {
    struct supervisor *s = mem_zalloc(sizeof(*s));
    struct err why = {""};
    list_init(&s->zygotes);
    list_init(&s->boxes);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    raise_files();
    struct frame_report hello = {.kind = FRAME_HELLO, .tier = TIER_NONE};
    prepare(s, o, &why);
    snprintf(hello.text, sizeof(hello.text), "%.200s", why.text);
    hello.tier = s->config.setup.tier;
    if (!take_setup(s))
        return 1;
    struct frame_report ids = {.kind = FRAME_IDS, .value = (int32_t)s->ids.count};
    snprintf(ids.text, sizeof(ids.text), "%s", s->ids.why);
    if (s->ids.count)
        snprintf(ids.text, sizeof(ids.text), "%u-%u", s->ids.first, s->ids.first + s->ids.count - 1);
    send_report(&ids);
    send_report(&hello);
    if (hello.tier < TIER_NONE)
        cgroup_open(&s->group);
    struct frame_report group = {.kind = FRAME_GROUP, .value = (int32_t)s->group.version};
    snprintf(group.text, sizeof(group.text), "%s", s->group.why);
    send_report(&group);
    s->poll = epoll_create1(EPOLL_CLOEXEC);
    struct source control = {SOURCE_CONTROL, NULL};
    if (s->poll < 0 || watch(s, SUPERVISE_FD_CONTROL, &control) != 0)
        return 1;
    start_runtimes(s, hello.tier < TIER_NONE ? o->runtimes : 0);
    for (;;) {
        struct epoll_event event; /* one at a time: handling it may free what another one points to */
        if (epoll_wait(s->poll, &event, 1, -1) < 1)
            continue;
        const struct source *source = event.data.ptr;
        if (source->kind == SOURCE_ZYGOTE)
            zygote_note(s, source->of);
        else if (source->kind == SOURCE_BOX_EXIT)
            box_exited(s, source->of);
        else if (source->kind == SOURCE_BOX_NOTIFY)
            box_violated(s, source->of, event.events);
        else if (!take_order(s))
            break;
    }
    end_all(s);
    return 0;
}

int supervise_probe(const struct supervise_options *o) {
    struct supervisor *s = mem_zalloc(sizeof(*s));
    struct err why = {""};
    prepare(s, o, &why);
    printf("tier=%u\nwhy=%s\nnotify=%u\nprocesses=%u\n", s->config.setup.tier, why.text,
           s->config.setup.notify, s->bounded);
    for (int i = 0; i < FRAME_RUNTIMES; i++)
        if (i != FRAME_PYTHON_DATA)
            printf("%s=%s%s\n", i == FRAME_PYTHON ? "python" : "javascript", s->runtimes[i].found.binary,
                   *s->runtimes[i].found.binary ? "" : s->runtimes[i].why);
    drop_scratch(s);
    cgroup_open(&s->group);
    printf("cgroup=%u\ncgroup_why=%s\n", s->group.version, s->group.why);
    cgroup_close(&s->group);
    return 0;
}
