#include "io/spawn.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "base/packet.h"
#include "io/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
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
    void (*started)(void *owner, struct spawn_child child);
    void (*exited)(void *owner, int status);
    void *owner;
};

struct spawn {
    int sock; /* -1: there is no spawner */
    pid_t pid;
    uint64_t last_token;
    struct list requests;
    uint32_t count;
    uv_poll_t poll;
    struct io_loop *loop; /* NULL before it is attached */
};

struct spawn *spawn_start(struct err *err) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        err_set(err, "start the spawner: %s", strerror(errno));
        return NULL;
    }
    pid_t gate = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        err_set(err, "start the spawner: %s", strerror(errno));
        return NULL;
    }
    if (pid == 0) {
        close(ends[0]);
        spawner_main(ends[1], gate);
    }
    close(ends[1]);
    int bytes = 4 * SPAWN_REQUEST_MAX;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    struct spawn *s = mem_zalloc(sizeof(*s));
    s->sock = ends[0];
    s->pid = pid;
    list_init(&s->requests);
    return s;
}

struct spawn *spawn_none(void) {
    struct spawn *s = mem_zalloc(sizeof(*s));
    s->sock = -1;
    list_init(&s->requests);
    return s;
}

/* From here on this process cannot execute programs, whatever else goes wrong in it. */
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
    if (r && r->started) {
        r->started(r->owner, child);
    } else if (child.pid) { /* forgotten meanwhile: closing its pipes lets it go */
        close(child.in);
        close(child.out);
        close(child.errors);
        spawn_signal(s, r ? r->token : 0, SIGTERM);
    }
}

static void on_report(struct spawn *s, const struct spawner_report *report, const int fds[3]) {
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

static void on_readable(uv_poll_t *handle, int status, int events) {
    (void)events;
    struct spawn *s = handle->data;
    for (;;) {
        struct spawner_report report;
        int fds[PACKET_FDS] = {-1, -1, -1};
        ssize_t got = status < 0 ? -1 : packet_receive(s->sock, &report, sizeof(report), fds);
        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            uv_poll_stop(&s->poll);
            return;
        }
        if (got < 0)
            return;
        if ((size_t)got == sizeof(report))
            on_report(s, &report, fds);
    }
}

int spawn_attach(struct spawn *s, struct io_loop *loop, struct err *err) {
    if (s->sock < 0)
        return give_up_exec(err);
    CHECK(fcntl(s->sock, F_SETFL, O_NONBLOCK) == 0);
    uv_poll_init(&loop->uv, &s->poll, s->sock);
    s->poll.data = s;
    s->loop = loop;
    uv_poll_start(&s->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)&s->poll);
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
        err_set(err, "start `%s`: this gate starts no programs", request->argv[0]);
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
        err_set(err, "start `%s`: spawner: %s", request->argv[0], strerror(errno));
        return 0;
    }
    struct request *r = mem_zalloc(sizeof(*r));
    *r = (struct request){.token = token, .started = started, .exited = exited, .owner = owner};
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
        return; /* the spawner is gone, and with it the child */
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

void spawn_stop(struct spawn *s) {
    if (!s)
        return;
    LIST_FOR_SAFE (n, next, &s->requests) {
        drop(s, container_of(n, struct request, node));
    }
    if (s->sock < 0) {
        free(s);
        return;
    }
    if (s->loop)
        uv_poll_stop(&s->poll);
    close(s->sock);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (s->loop)
        uv_close((uv_handle_t *)&s->poll, on_poll_closed);
    else
        free(s);
}
