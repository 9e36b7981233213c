#include "io/spawn.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/packet.h"
#include "io/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct request {
    struct list node;
    uint64_t token;
    unsigned spawner; /* generation of the spawner that got the request */
    bool running;
    void (*started)(void *owner, struct spawn_child child);
    void (*exited)(void *owner, int status);
    void *owner;
};

struct spawn {
    int sock; /* -1: there is no spawner */
    int line; /* on which a successor announces itself */
    pid_t pid;
    unsigned spawner; /* generation: counts the spawners of this process */
    bool gone;        /* the spawner died and was not replaced */
    bool polling;     /* `poll` is in use */
    bool closing;     /* it is being closed, after the spawner's death */
    bool stopped;     /* spawn_stop was called meanwhile */
    spawn_lost_fn *lost;
    void *lost_owner;
    struct io_timer watch;
    unsigned unanswered; /* pings in a row */
    bool hung;           /* it was killed for that */
    uint64_t last_token;
    struct list requests;
    uint32_t count;
    uv_poll_t poll;
    struct io_loop *loop; /* NULL before it is attached */
};

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void widen(int sock) {
    int bytes = 4 * SPAWN_REQUEST_MAX;
    setsockopt(sock, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int fail_start(struct err *err) { return err_set(err, "start the spawner: %s", strerror(errno)); }

struct spawn *spawn_start(struct err *err) {
    int ends[2], line[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        fail_start(err);
        return NULL;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
        fail_start(err);
        close(ends[0]);
        close(ends[1]);
        return NULL;
    }
    pid_t gate = getpid();
    /* Orphans of a killed spawner become our children, its successor among them. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        close(line[0]);
        spawner_main(ends[1], line[1], gate);
    }
    close(ends[1]);
    close(line[1]);
    if (pid < 0) {
        fail_start(err);
        close(ends[0]);
        close(line[0]);
        return NULL;
    }
    widen(ends[0]);
    struct spawn *s = mem_zalloc(sizeof(*s));
    s->sock = ends[0];
    s->line = line[0];
    s->pid = pid;
    list_init(&s->requests);
    return s;
}

struct spawn *spawn_none(void) {
    struct spawn *s = mem_zalloc(sizeof(*s));
    s->sock = s->line = -1;
    list_init(&s->requests);
    return s;
}

void spawn_on_lost(struct spawn *s, spawn_lost_fn *lost, void *owner) {
    s->lost = lost;
    s->lost_owner = owner;
}

const char *spawn_error_text(int error) {
    return error == SPAWN_LOST ? "the process that starts programs was killed" : strerror(error);
}

/* From here on this process cannot execute programs, even if it is compromised. */
static int give_up_exec(struct err *err) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execve, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_execveat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog prog = {.len = ARRAY_LEN(code), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
        return err_set(err, "give up exec: %s", strerror(errno));
    return 0;
}

static struct request *find(struct spawn *s, uint64_t token) {
    LIST_FOR (n, &s->requests) {
        struct request *r = container_of(n, struct request, node);
        if (r->token == token)
            return r;
    }
    return NULL;
}

static void drop(struct spawn *s, struct request *r) {
    list_remove(&r->node);
    s->count--;
    free(r);
}

static void on_started(struct spawn *s, struct request *r, struct spawn_child child) {
    if (r)
        r->running = child.pid != 0;
    if (r && r->started) {
        r->started(r->owner, child);
    } else if (child.pid) { /* the request was abandoned: closing its pipes ends the child */
        close(child.in);
        close(child.out);
        close(child.errors);
        spawn_signal(s, r ? r->token : 0, SIGTERM);
    }
}

static void on_report(struct spawn *s, const struct spawner_report *report, const int fds[3]) {
    s->unanswered = 0;
    if (report->kind == SPAWNER_PONG)
        return;
    struct request *r = find(s, report->token);
    if (report->kind == SPAWNER_STARTED) {
        on_started(s, r, (struct spawn_child){report->pid, report->value, fds[0], fds[1], fds[2]});
        r = find(s, report->token);
        if (report->pid == 0 && r)
            drop(s, r);
        return;
    }
    if (!r)
        return;
    void (*exited)(void *, int) = r->exited;
    void *owner = r->owner;
    drop(s, r);
    if (exited)
        exited(owner, report->value);
}

static void on_readable(uv_poll_t *handle, int status, int events);

/* Counted in checks, not by the clock: the gate itself may have been stopped meanwhile. */
static void on_watch(struct io_timer *timer) {
    struct spawn *s = container_of(timer, struct spawn, watch);
    const struct spawner_order ping = {.kind = SPAWNER_PING};
    if (!s->polling)
        return;
    if (s->unanswered++ >= SPAWN_UNANSWERED_MAX) {
        s->hung = true;
        kill(s->pid, SIGKILL); /* the end of its socket is reported like that of any other */
    } else {
        /* A full socket counts as unanswered, too. */
        send(s->sock, &ping, sizeof(ping), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    io_timer_arm(s->loop, timer, SPAWN_WATCH_MS, on_watch);
}

static int listen_to(struct spawn *s) {
    if (fcntl(s->sock, F_SETFL, O_NONBLOCK) != 0 || uv_poll_init(&s->loop->uv, &s->poll, s->sock) != 0)
        return -1;
    s->poll.data = s;
    s->polling = true;
    s->unanswered = 0;
    io_timer_arm(s->loop, &s->watch, SPAWN_WATCH_MS, on_watch);
    uv_poll_start(&s->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&s->poll);
    return 0;
}

/* Requests of the dead spawner; later requests go to its successor. */
static void fail_requests(struct spawn *s, unsigned spawner) {
    for (struct request *r = NULL;; r = NULL) {
        LIST_FOR (n, &s->requests) {
            struct request *one = container_of(n, struct request, node);
            if (one->spawner == spawner) {
                r = one;
                break;
            }
        }
        if (!r)
            return;
        const struct request was = *r;
        drop(s, r);
        if (was.running && was.exited)
            was.exited(was.owner, SPAWN_LOST_STATUS);
        else if (!was.running && was.started)
            was.started(was.owner, (struct spawn_child){0, SPAWN_LOST, -1, -1, -1});
    }
}

/* Children of the dead spawner must not outlive it; only its successor is kept. */
static void end_orphans(pid_t successor) {
    for (int i = 0; i < SPAWN_ORPHAN_TRIES && spawner_signal_offspring(SIGKILL, successor) > 0; i++)
        poll(NULL, 0, 1);
}

/* The successor announces itself within a few milliseconds; otherwise there is none. */
static bool take_successor(struct spawn *s) {
    struct spawner_report report;
    int fds[PACKET_FDS] = {-1, -1, -1};
    struct pollfd line = {.fd = s->line, .events = POLLIN};
    if (poll(&line, 1, SPAWN_SUCCESSOR_MS) <= 0 ||
        packet_receive(s->line, &report, sizeof(report), fds) != (ssize_t)sizeof(report) ||
        report.kind != SPAWNER_SUCCESSOR || fds[0] < 0) {
        close_fd(&fds[0]);
        return false;
    }
    s->sock = fds[0];
    s->pid = report.pid;
    widen(s->sock);
    return listen_to(s) == 0;
}

static void on_lost_closed(uv_handle_t *handle) {
    struct spawn *s = handle->data;
    if (s->stopped) {
        free(s);
        return;
    }
    const unsigned dead = s->spawner++;
    int status = 0;
    s->closing = false;
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
    const bool replaced = take_successor(s);
    s->gone = !replaced;
    end_orphans(s->pid);
    const enum spawn_loss how = s->hung ? SPAWN_HUNG : SPAWN_DIED;
    s->hung = false;
    if (s->lost)
        s->lost(s->lost_owner, how, status, replaced);
    fail_requests(s, dead);
}

static void on_readable(uv_poll_t *handle, int status, int events) {
    (void)events;
    struct spawn *s = handle->data;
    for (;;) {
        struct spawner_report report;
        int fds[PACKET_FDS] = {-1, -1, -1};
        ssize_t got = packet_receive(s->sock, &report, sizeof(report), fds);
        /* A spawner that died with unread orders is reported as an error, and the poll has ended then. */
        if (got == 0 || (got < 0 && (status < 0 || errno != EAGAIN))) {
            uv_poll_stop(&s->poll);
            close_fd(&s->sock);
            s->polling = false;
            s->closing = true;
            uv_close((uv_handle_t *)&s->poll, on_lost_closed);
            return;
        }
        if (got < 0)
            return;
        if ((size_t)got == sizeof(report))
            on_report(s, &report, fds);
    }
}

int spawn_attach(struct spawn *s, struct io_loop *loop, struct err *err) {
    s->loop = s->sock < 0 ? NULL : loop;
    if (s->loop)
        CHECK(listen_to(s) == 0);
    return give_up_exec(err);
}

/* The request as one packet: header, then argv, envp and cwd as NUL-terminated texts. */
static int pack(struct buf *out, uint64_t token, const struct spawn_request *request) {
    struct spawner_order order = {.kind = SPAWNER_SPAWN, .token = token, .no_network = request->no_network};
    for (const char *const *p = request->argv; *p; p++)
        order.argc++;
    for (const char *const *p = request->envp; *p; p++)
        order.envc++;
    if (order.argc + order.envc > SPAWN_TEXT_MAX)
        return -1;
    buf_put(out, &order, sizeof(order));
    for (uint32_t i = 0; i < order.argc; i++)
        buf_put(out, request->argv[i], strlen(request->argv[i]) + 1);
    for (uint32_t i = 0; i < order.envc; i++)
        buf_put(out, request->envp[i], strlen(request->envp[i]) + 1);
    const char *cwd = request->cwd ? request->cwd : "";
    buf_put(out, cwd, strlen(cwd) + 1);
    return out->full ? -1 : 0;
}

uint64_t spawn_child(struct spawn *s, const struct spawn_request *request,
                     void (*started)(void *owner, struct spawn_child child),
                     void (*exited)(void *owner, int status), void *owner, struct err *err) {
    cleanup_buf struct buf packet;
    buf_init(&packet, SPAWN_REQUEST_MAX);
    uint64_t token = s->last_token + 1;
    if (s->sock < 0) {
        err_set(err, "start `%s`: %s", request->argv[0],
                s->gone ? "the process that starts programs was killed and nothing took its place: restart "
                          "the gate"
                : s->line >= 0 ? "the process that starts programs was killed; another one takes its place"
                               : "this gate starts no programs");
        return 0;
    }
    if (s->count >= SPAWN_CHILDREN_MAX) {
        err_set(err, "too many children");
        return 0;
    }
    if (pack(&packet, token, request) < 0) {
        err_set(err, "start `%s`: command line and environment are larger than %u bytes", request->argv[0],
                SPAWN_REQUEST_MAX);
        return 0;
    }
    if (packet_send(s->sock, packet.ptr, packet.len, request->fd, request->fd ? 1 : 0, 0) < 0) {
        err_set(err, "start `%s`: %s", request->argv[0],
                errno == EPIPE || errno == ECONNRESET ? spawn_error_text(SPAWN_LOST) : strerror(errno));
        return 0;
    }
    struct request *r = mem_zalloc(sizeof(*r));
    *r = (struct request){
        .token = token, .spawner = s->spawner, .started = started, .exited = exited, .owner = owner};
    list_push(&s->requests, &r->node);
    s->count++;
    s->last_token = token;
    return token;
}

void spawn_forget(struct spawn *s, uint64_t token) {
    struct request *r = find(s, token);
    if (r)
        r->started = NULL, r->exited = NULL;
}

void spawn_signal(struct spawn *s, uint64_t token, int signal) {
    struct spawner_order order = {.kind = SPAWNER_SIGNAL, .token = token, .signal = signal};
    if (send(s->sock, &order, sizeof(order), MSG_NOSIGNAL) < 0)
        return; /* the spawner died, and the child with it */
}

static void on_waited(struct io_timer *timer) { (void)timer; }

void spawn_await(struct spawn *s, uint64_t ms) {
    if (!s->loop)
        return;
    struct io_timer patience = {0};
    io_timer_arm(s->loop, &patience, ms, on_waited);
    while (s->count > 0 && patience.due_ms)
        uv_run(&s->loop->uv, UV_RUN_ONCE);
    io_timer_stop(s->loop, &patience);
}

static void on_poll_closed(uv_handle_t *handle) { free(handle->data); }

/* One that does not end, because it was stopped or hangs, is killed. */
static void end_spawner(struct spawn *s) {
    const int fd = s->pid ? (int)syscall(SYS_pidfd_open, s->pid, 0) : -1;
    struct pollfd over = {.fd = fd, .events = POLLIN};
    const uint64_t due_ms = clock_mono_ms() + SPAWN_STOP_MS;
    int rc = -1;
    for (bool again = fd >= 0; again; again = rc < 0 && errno == EINTR) {
        const uint64_t now_ms = clock_mono_ms();
        rc = poll(&over, 1, now_ms < due_ms ? (int)(due_ms - now_ms) : 0);
    }
    if (rc == 0) {
        kill(s->pid, SIGKILL);
        while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        s->pid = 0;
        end_orphans(0);
    }
    if (fd >= 0)
        close(fd);
    while (s->pid && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

void spawn_stop(struct spawn *s) {
    if (!s)
        return;
    if (s->loop)
        io_timer_stop(s->loop, &s->watch);
    if (s->polling)
        uv_poll_stop(&s->poll);
    close_fd(&s->sock);
    close_fd(&s->line);           /* ends a waiting successor, too */
    fail_requests(s, s->spawner); /* each owner frees what it kept until the exit */
    end_spawner(s);
    s->stopped = true;
    if (s->polling)
        uv_close((uv_handle_t *)&s->poll, on_poll_closed);
    else if (!s->closing)
        free(s);
}
