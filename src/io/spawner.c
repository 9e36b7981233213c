/* Runs with the privileges of the user who started the gate, holds no secrets and reads nothing but the
 * gate's packets and the exits of its children.
 *
 * The gate cannot fork another one, since it has given up exec for itself and its children. So the spawner
 * keeps a successor: a fork of its own that does nothing but wait. When the spawner dies, the successor makes
 * a new socket, hands one end to the gate and forks a successor in turn; when the successor dies, the spawner
 * forks another one.
 *
 *   gate ══sock══ spawner ──fork──▶ successor      `alive`: a pipe whose write end only the spawner has
 *     └─────line────┴──────────────────┘           `line`: inherited by each successor
 */
#include "io/spawner.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PIPE_BYTES (256 * 1024)
#define GRACE_EOF_MS 700  /* after the gate has ended: how long children have to exit on end of input */
#define GRACE_TERM_MS 700 /* then, between SIGTERM and SIGKILL */

struct child {
    struct list node;
    uint64_t token;
    pid_t pid;
};

struct spawner {
    int sock;
    int line;
    int signals;
    int alive; /* closed by the death of this process, which notifies the successor; -1: there is none */
    pid_t successor; /* 0: there is none */
    struct list children;
    char packet[SPAWN_REQUEST_MAX];
};

/* A child that is to be started. */
struct start {
    char **argv;
    char **envp;
    const char *cwd;
    bool no_network;
    int extra; /* -1, or the descriptor that becomes number 3 */
};

static bool write_text(const char *path, const char *text) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* An empty network namespace. Without the privilege to create one, inside a user namespace that keeps the
 * user's id. */
static bool leave_network(void) {
    if (unshare(CLONE_NEWNET) == 0)
        return true;
    unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return false;
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "%u %u 1", uid, uid);
    snprintf(gids, sizeof gids, "%u %u 1", gid, gid);
    return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", uids) &&
           write_text("/proc/self/gid_map", gids);
}

/* Runs in the child: the spawner has one thread, so all functions remain usable after the fork. */
static _Noreturn void child_exec(const struct start *start, const int stdio[3], int failed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    for (int i = 0; i < 3; i++)
        if (dup2(stdio[i], i) < 0)
            goto fail;
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
    if (start->extra >= 0 && (dup2(start->extra, 3) < 0 || fcntl(3, F_SETFD, 0) < 0))
        goto fail;
    if (*start->cwd && chdir(start->cwd) != 0)
        goto fail;
    if (start->no_network && !leave_network())
        goto fail;
    execvpe(start->argv[0], start->argv, start->envp);
fail:;
    int code = errno;
    if (write(failed, &code, sizeof(code)) < 0)
        _exit(126);
    _exit(127);
}

struct pipes {
    int child[3]; /* stdin read end, stdout and stderr write ends */
    int gate[3];
    int failed[2];
};

static void pipes_close(int *fds, int n) {
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* All descriptors are kept above 2, so that dup2 onto 0, 1 and 2 cannot overwrite one that is still
 * needed. */
static int pipe_high(int ends[2]) {
    int low[2];
    if (pipe2(low, O_CLOEXEC) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
        close(low[i]);
    }
    return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

static int pipes_open(struct pipes *p) {
    memset(p, -1, sizeof(*p));
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (pipe_high(ends) != 0)
            return -1;
        p->child[i] = ends[i == 0 ? 0 : 1];
        p->gate[i] = ends[i == 0 ? 1 : 0];
        fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* only an optimisation: failure is ignored */
    }
    return pipe_high(p->failed);
}

/* 0 and *ret_pid, or an errno. */
static int child_start(const struct start *start, struct pipes *p, pid_t *ret_pid) {
    if (pipes_open(p) != 0)
        return errno;
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        child_exec(start, p->child, p->failed[1]);
    close(p->failed[1]);
    p->failed[1] = -1;
    int code = 0;
    ssize_t got;
    struct pollfd begun = {.fd = p->failed[0], .events = POLLIN};
    if (poll(&begun, 1, SPAWN_EXEC_MS) == 0) { /* the other servers must not wait for its disk */
        kill(pid, SIGKILL);                    /* reap() takes it */
        return ETIMEDOUT;
    }
    while ((got = read(p->failed[0], &code, sizeof(code))) < 0 && errno == EINTR)
        ;
    if (got == (ssize_t)sizeof(code)) {
        waitpid(pid, NULL, 0);
        return code;
    }
    *ret_pid = pid;
    return 0;
}

/* Cuts the texts of a packet into pointers; false when the packet is not well-formed. */
static bool unpack(char *text, size_t len, uint32_t count, char **to) {
    for (uint32_t i = 0; i < count; i++) {
        char *end = len ? memchr(text, '\0', len) : NULL;
        if (!end)
            return false;
        to[i] = text;
        len -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return len == 0;
}

static void do_spawn(struct spawner *s, const struct spawner_order *order, size_t len, int extra) {
    struct spawner_report answer = {.kind = SPAWNER_STARTED, .token = order->token};
    uint32_t count = order->argc + order->envc + 1;
    if (order->argc == 0 || order->argc > SPAWN_TEXT_MAX || order->envc > SPAWN_TEXT_MAX)
        return;
    cleanup_free char **texts = mem_zalloc((count + 2) * sizeof(*texts));
    if (!unpack(s->packet + sizeof(*order), len - sizeof(*order), count, texts))
        return;
    /* argv and envp each need a terminating NULL: move the later texts up by one place each. */
    struct start start = {
        .argv = texts, .cwd = texts[count - 1], .no_network = order->no_network != 0, .extra = extra};
    memmove(texts + order->argc + 1, texts + order->argc, order->envc * sizeof(*texts));
    texts[order->argc] = NULL;
    texts[order->argc + 1 + order->envc] = NULL;
    start.envp = texts + order->argc + 1;
    struct pipes p;
    pid_t pid = 0;
    answer.value = child_start(&start, &p, &pid);
    answer.pid = pid;
    if (pid) {
        struct child *c = mem_zalloc(sizeof(*c));
        c->token = order->token;
        c->pid = pid;
        list_push(&s->children, &c->node);
    }
    packet_send(s->sock, &answer, sizeof(answer), p.gate, pid ? 3 : 0, 0);
    pipes_close(p.child, 3);
    pipes_close(p.gate, 3);
    pipes_close(p.failed, 2);
}

static void do_signal(struct spawner *s, const struct spawner_order *order) {
    LIST_FOR (n, &s->children) {
        struct child *c = container_of(n, struct child, node);
        if (c->token == order->token)
            kill(-c->pid, order->signal);
    }
}

static void do_ping(struct spawner *s) {
    struct spawner_report pong = {.kind = SPAWNER_PONG};
    packet_send(s->sock, &pong, sizeof(pong), NULL, 0, 0);
}

/* False when the gate has ended. */
static bool take_order(struct spawner *s) {
    int fds[PACKET_FDS];
    ssize_t got = packet_receive(s->sock, s->packet, sizeof(s->packet), fds);
    if (got < 0)
        return errno == EAGAIN;
    if (got == 0)
        return false;
    struct spawner_order order;
    if ((size_t)got >= sizeof(order)) {
        memcpy(&order, s->packet, sizeof(order));
        if (order.kind == SPAWNER_SPAWN)
            do_spawn(s, &order, (size_t)got, fds[0]);
        else if (order.kind == SPAWNER_SIGNAL)
            do_signal(s, &order);
        else if (order.kind == SPAWNER_PING)
            do_ping(s);
    }
    pipes_close(fds, PACKET_FDS);
    return true;
}

/* In the successor. Returns when the spawner is dead and this process takes over; the new socket tells the
 * gate. */
static void successor_wait(struct spawner *s, int spawner_alive) {
    struct pollfd fds[2] = {{.fd = spawner_alive, .events = POLLIN}, {.fd = s->line, .events = POLLIN}};
    prctl(PR_SET_NAME, "sallyport-spare");
    close(s->sock);
    close(s->signals);
    LIST_FOR_SAFE (n, next, &s->children) {
        list_remove(n);
        free(container_of(n, struct child, node));
    }
    while (!fds[0].revents) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents) /* the gate has ended: so does the spawner */
            _exit(0);
    }
    close(spawner_alive);
    int ends[2];
    struct spawner_report r = {.kind = SPAWNER_SUCCESSOR, .pid = getpid()};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
        packet_send(s->line, &r, sizeof(r), ends, 1, 0) < 0)
        _exit(1);
    close(ends[0]);
    s->sock = ends[1];
}

static _Noreturn void serve_gate(struct spawner *s);

/* If there is no successor, everything works until the spawner dies. */
static void successor_fork(struct spawner *s) {
    int ends[2];
    if (s->alive >= 0)
        close(s->alive);
    s->alive = -1;
    s->successor = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        successor_wait(s, ends[0]);
        serve_gate(s);
    }
    close(ends[0]);
    if (pid < 0)
        close(ends[1]);
    else
        s->alive = ends[1], s->successor = pid;
}

static void reap(struct spawner *s) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->successor)
            successor_fork(s);
        LIST_FOR_SAFE (n, next, &s->children) {
            struct child *c = container_of(n, struct child, node);
            if (c->pid != pid)
                continue;
            kill(-pid, SIGKILL); /* kills what is left of its process group */
            struct spawner_report r = {
                .kind = SPAWNER_EXITED, .pid = pid, .token = c->token, .value = status};
            packet_send(s->sock, &r, sizeof(r), NULL, 0, 0);
            list_remove(&c->node);
            free(c);
        }
    }
}

int spawner_signal_offspring(int sig, pid_t but) {
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    int found = 0;
    for (char *at = text, *end; *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        if (pid == but || waitpid((pid_t)pid, NULL, WNOHANG) == pid)
            continue;
        kill((pid_t)-pid, sig);
        kill((pid_t)pid, sig);
        found++;
    }
    return found;
}

static void wait_for_exits(struct spawner *s, int ms) {
    for (; ms > 0 && waitpid(-1, NULL, WNOHANG) >= 0; ms -= 10) {
        struct pollfd p = {.fd = s->signals, .events = POLLIN};
        poll(&p, 1, 10);
        struct signalfd_siginfo info;
        if (p.revents && read(s->signals, &info, sizeof(info)) < 0)
            break;
    }
}

static _Noreturn void end_all(struct spawner *s) {
    if (s->successor)
        kill(s->successor, SIGKILL);
    wait_for_exits(s, GRACE_EOF_MS);
    LIST_FOR (n, &s->children) {
        kill(-container_of(n, struct child, node)->pid, SIGTERM);
    }
    if (spawner_signal_offspring(SIGTERM, 0))
        wait_for_exits(s, GRACE_TERM_MS);
    LIST_FOR (n, &s->children) {
        kill(-container_of(n, struct child, node)->pid, SIGKILL);
    }
    for (int i = 0; i < 50 && spawner_signal_offspring(SIGKILL, 0); i++)
        wait_for_exits(s, 20);
    _exit(0);
}

static _Noreturn void serve_gate(struct spawner *s) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    prctl(PR_SET_NAME, "sallyport-spawn");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    s->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        _exit(1);
    s->alive = -1;
    successor_fork(s);
    struct pollfd fds[2] = {{.fd = s->sock, .events = POLLIN}, {.fd = s->signals, .events = POLLIN}};
    for (;;) {
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents) {
            struct signalfd_siginfo info;
            while (read(s->signals, &info, sizeof(info)) > 0)
                ;
            reap(s);
        }
        if (fds[0].revents && !take_order(s))
            end_all(s);
    }
}

/* Closes all other descriptors of the gate: they would keep the port of an ended gate open. */
static void keep_only(unsigned a, unsigned b) {
    const unsigned low = a < b ? a : b, high = a < b ? b : a;
    if (low > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, low - 1, 0);
    if (high > low + 1)
        syscall(SYS_close_range, low + 1, high - 1, 0);
    syscall(SYS_close_range, high + 1, ~0U, 0);
}

_Noreturn void spawner_main(int sock, int line, pid_t gate) {
    static struct spawner s;
    keep_only((unsigned)sock, (unsigned)line);
    s.sock = sock;
    s.line = line;
    list_init(&s.children);
    /* Signals meant for the gate (a Ctrl-C at the terminal) reach this process too; only the gate decides
     * what ends. */
    setsid();
    sigset_t mask;
    sigfillset(&mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    if (getppid() != gate)
        _exit(1);
    serve_gate(&s);
}
