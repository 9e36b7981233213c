#include "runner/sandbox_box.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/packet.h"
#include "runner/sandbox_share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define READ_BYTES 65536
#define READS_MAX 16 /* bytes read from one stream before other streams get their turn */

/* ---- streams ---- */

/* Reads available bytes. False at the end of the stream. */
static bool stream_read(struct box_stream *st, int reads) {
    char bytes[READ_BYTES];
    while (st->fd >= 0 && reads-- > 0) {
        const ssize_t n = read(st->fd, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        if (st->box->run)
            st->box->engine->events->output(st->box->run, st->which, slice_of(bytes, (size_t)n));
        if ((size_t)n < sizeof(bytes))
            return true;
    }
    return true;
}

static void on_stream(uv_poll_t *handle, int status, int events) {
    (void)events;
    struct box_stream *st = handle->data;
    if (status < 0 || !stream_read(st, READS_MAX))
        uv_poll_stop(handle);
}

static void on_report(struct sandbox *s, struct frame_report *r, int fds[PACKET_FDS]);
static void box_free(struct box *b);

/* The helper reports a system call before it returns, so before the code can finish. But the report uses
 * another socket, and the end may be read first. Other reports are left for later. */
static void take_violations(struct sandbox *s) {
    struct frame_report r;
    while (recv(s->control, &r, sizeof(r), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(r) &&
           r.kind == FRAME_VIOLATION && recv(s->control, &r, sizeof(r), MSG_DONTWAIT) == (ssize_t)sizeof(r))
        on_report(s, &r, NULL);
}

void sandbox_box_drain(struct box *b) {
    for (int i = 0; i < 2; i++)
        stream_read(&b->streams[i], INT_MAX);
    take_violations(b->engine);
}

static void stream_listen(struct box_stream *st, bool on) {
    if (!on) {
        if (st->polled)
            uv_poll_stop(&st->poll);
        return;
    }
    if (!st->polled) {
        uv_poll_init(&st->box->engine->loop->uv, &st->poll, st->fd);
        st->poll.data = st;
        st->polled = true;
        st->box->handles++;
    }
    uv_poll_start(&st->poll, UV_READABLE, on_stream);
}

static void on_listen(struct io_timer *timer) {
    struct box *b = container_of(timer, struct box, listen);
    for (int i = 0; i < 2; i++)
        stream_listen(&b->streams[i], true);
}

/* Most runs end before the timer fires; their output is read at the end. */
void sandbox_box_listen(struct box *b, bool on) {
    if (on) {
        io_timer_arm(b->engine->loop, &b->listen, 1, on_listen);
        return;
    }
    io_timer_stop(b->engine->loop, &b->listen);
    for (int i = 0; i < 2; i++)
        stream_listen(&b->streams[i], false);
}

/* ---- the bridge ---- */

static void box_idle(struct box *b) {
    struct sandbox *s = b->engine;
    io_timer_stop(s->loop, &b->wake);
    struct sandbox_kind *kind = &s->kinds[sandbox_kind_of(b->runtime, b->profile)];
    kind->failures = kind->missed = 0;
    b->state = BOX_IDLE;
    b->since_ms = io_now_ms(s->loop);
}

/* No code has run in it: another child replaces it. */
static void on_no_sign(struct io_timer *timer) {
    struct box *b = container_of(timer, struct box, wake);
    struct sandbox_kind *kind = &b->engine->kinds[sandbox_kind_of(b->runtime, b->profile)];
    if (kind->missed == SANDBOX_WAKE_DOUBLED_MAX) {
        kind->failures = SANDBOX_FAILURES_MAX;
        snprintf(kind->why, sizeof(kind->why), "the sandbox's interpreter does not start");
    } else {
        kind->missed++;
    }
    b->engine->stats.failed++;
    sandbox_box_kill(b);
    b->engine->events->changed(b->engine);
}

static void box_wait_for_sign(struct box *b) {
    const struct sandbox_kind *kind = &b->engine->kinds[sandbox_kind_of(b->runtime, b->profile)];
    b->state = BOX_WAKING;
    io_timer_arm(b->engine->loop, &b->wake, (uint64_t)b->engine->wake_ms << kind->missed, on_no_sign);
}

/* Length of the part of the ready signal that arrived; the rest may follow. */
static size_t box_take_sign(struct box *b, struct slice bytes) {
    static const struct frame_head sign = {.kind = FRAME_AWAKE};
    if (bytes.len > FRAME_HEAD_BYTES || memcmp(bytes.ptr, &sign, bytes.len) != 0) {
        sandbox_box_kill(b);
        return bytes.len;
    }
    if (bytes.len < FRAME_HEAD_BYTES)
        return 0;
    box_idle(b);
    b->engine->events->changed(b->engine);
    return FRAME_HEAD_BYTES;
}

static size_t on_bridge(struct io_conn *c, void *owner, struct block *block, char *ptr, size_t len) {
    (void)block;
    struct box *b = owner;
    if (b->state == BOX_WAKING)
        return box_take_sign(b, slice_of(ptr, len));
    if (!b->run) { /* unsolicited: a parked guest must not send anything */
        sandbox_box_kill(b);
        return len;
    }
    size_t want = 0;
    const size_t used = b->engine->events->frames(b->run, slice_of(ptr, len), &want);
    if (b->bridge == c && want)
        io_conn_want(c, want);
    return used;
}

static void on_bridge_end(struct io_conn *c, void *owner, int status) {
    (void)c, (void)status;
    struct box *b = owner;
    io_conn_close(b->bridge);
    b->bridge = NULL;
    sandbox_box_kill(b); /* useless without a bridge; its run ends when the helper reports the exit */
}

static const struct io_handlers bridge_handlers = {.data = on_bridge, .end = on_bridge_end};

static void box_attach(struct box *b) {
    b->bridge = io_conn_fd(b->engine->loop, steal_fd(b->bridge_fd), true, &bridge_handlers, b);
    io_conn_read(b->bridge, true);
}

/* ---- children ---- */

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Our ends do not block; the sandbox's ends do. */
static int open_ends(struct box *b, int theirs[3]) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    b->bridge_fd = ends[0];
    theirs[0] = ends[1];
    for (int i = 0; i < 2; i++) {
        if (pipe2(ends, O_CLOEXEC) != 0)
            return -1;
        b->streams[i].fd = ends[0];
        theirs[1 + i] = ends[1];
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    }
    return fcntl(b->bridge_fd, F_SETFL, O_NONBLOCK);
}

struct box *sandbox_box_start(struct sandbox *s, enum frame_runtime runtime, enum sandbox_profile profile,
                              bool urgent, struct err *err) {
    struct box *b = mem_zalloc(sizeof(*b));
    int theirs[3] = {-1, -1, -1};
    *b = (struct box){.engine = s,
                      .token = ++s->last_token,
                      .runtime = runtime,
                      .profile = profile,
                      .state = BOX_STARTING,
                      .bridge_fd = -1,
                      .pidfd = -1,
                      .workspace = -1,
                      .network = -1};
    for (int i = 0; i < 2; i++)
        b->streams[i] = (struct box_stream){.fd = -1, .box = b, .which = (enum sandbox_stream)i};
    const struct frame_order order = {.kind = FRAME_START,
                                      .token = b->token,
                                      .runtime = runtime,
                                      .profile = (uint32_t)profile,
                                      .memory_mb = s->memory_mb_max,
                                      .workspace_mb = s->workspace_mb,
                                      .inodes = SANDBOX_INODES,
                                      .processes = SANDBOX_PROCESSES,
                                      .network = s->bundle >= 0,
                                      .urgent = urgent};
    list_push(&s->boxes, &b->node);
    const bool failed =
        open_ends(b, theirs) != 0 || packet_send(s->control, &order, sizeof(order), theirs, 3, 0) != 0;
    if (failed)
        err_set(err, "start a sandbox: %s", strerror(errno));
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    if (!failed)
        return b;
    box_free(b);
    return NULL;
}

void sandbox_box_limit(struct box *b, uint32_t memory_mb) {
    const struct frame_order order = {.kind = FRAME_LIMIT, .token = b->token, .memory_mb = memory_mb};
    if (b->profile == SANDBOX_PROC && b->engine->group)
        packet_send(b->engine->control, &order, sizeof(order), NULL, 0, 0);
}

void sandbox_box_kill(struct box *b) {
    if (b->state == BOX_DYING)
        return;
    const bool started = b->state != BOX_STARTING;
    io_timer_stop(b->engine->loop, &b->wake);
    b->state = BOX_DYING;
    b->since_ms = io_now_ms(b->engine->loop);
    if (started && b->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
}

static void on_stream_closed(uv_handle_t *handle) {
    struct box_stream *st = handle->data;
    struct box *b = st->box;
    close_fd(&st->fd);
    if (--b->handles == 0 && b->gone)
        free(b);
}

/* Removed from every list immediately; the memory is freed when the loop has closed its handles. */
static void box_free(struct box *b) {
    if (b->gone)
        return;
    b->gone = true;
    b->run = NULL;
    list_remove(&b->node);
    io_timer_stop(b->engine->loop, &b->listen);
    io_timer_stop(b->engine->loop, &b->wake);
    io_conn_close(b->bridge);
    b->bridge = NULL;
    close_fd(&b->bridge_fd);
    close_fd(&b->pidfd);
    close_fd(&b->workspace);
    close_fd(&b->network);
    sandbox_share_forget(b);
    free(b->session);
    b->session = NULL;
    for (int i = 0; i < 2; i++) {
        if (b->streams[i].polled)
            uv_close((uv_handle_t *)&b->streams[i].poll, on_stream_closed);
        else
            close_fd(&b->streams[i].fd);
    }
    if (b->handles == 0)
        free(b);
}

/* ---- reports of the helper ---- */

static struct box *box_find(struct sandbox *s, uint64_t token) {
    LIST_FOR (n, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->token == token)
            return b;
    }
    return NULL;
}

static void on_started(struct sandbox *s, struct box *b, const struct frame_report *r, int fds[PACKET_FDS]) {
    struct sandbox_kind *kind = &s->kinds[sandbox_kind_of(b->runtime, b->profile)];
    if (r->value != 0) {
        kind->failures++;
        snprintf(kind->why, sizeof(kind->why), "%s", r->text);
        s->stats.failed++;
        box_free(b);
        return;
    }
    b->pidfd = steal_fd(fds[0]);
    b->workspace = steal_fd(fds[1]);
    b->network = steal_fd(fds[2]);
    if (b->state == BOX_DYING) { /* no longer needed */
        syscall(SYS_pidfd_send_signal, b->pidfd, SIGKILL, NULL, 0);
        return;
    }
    box_attach(b);
    if (b->runtime >= FRAME_NODE) /* whether it has threads: see CONFINE_AWAKE */
        box_wait_for_sign(b);
    else
        box_idle(b);
}

static void on_exited(struct box *b, const struct frame_report *r) {
    b->state = BOX_DYING;
    sandbox_share_exited(b, r->cpu_us);
    if (b->run)
        b->engine->events->exited(b->run, r);
    box_free(b);
}

static void on_runtime(struct sandbox *s, const struct frame_report *r) {
    if (r->runtime >= FRAME_RUNTIMES)
        return;
    struct sandbox_runtime *rt = &s->runtimes[r->runtime];
    struct slice rest = slice_str(r->text), name;
    slice_cut(&rest, '|', &name);
    rt->known = true;
    rt->usable = r->value == 0;
    snprintf(rt->name, sizeof(rt->name), "%.*s", SLICE_FMT(name));
    if (rt->usable)
        snprintf(rt->modules, sizeof(rt->modules), "%.*s", SLICE_FMT(rest));
    else if (r->value != ENOENT && *s->trouble)
        snprintf(rt->name, sizeof(rt->name), "%.100s: %.140s", r->text, s->trouble);
}

static void on_report(struct sandbox *s, struct frame_report *r, int fds[PACKET_FDS]) {
    r->text[sizeof(r->text) - 1] = '\0';
    struct box *b = box_find(s, r->token);
    if (r->kind == FRAME_HELLO) {
        s->said_hello = true;
        s->tier = (int)r->tier;
        snprintf(s->tier_why, sizeof(s->tier_why), "%s", r->text);
        snprintf(s->tier_refusal, sizeof(s->tier_refusal),
                 "this machine cannot confine code well enough (see `sallyport doctor`)%s%s",
                 *r->text ? ": " : "", r->text);
    } else if (r->kind == FRAME_IDS) {
        s->own_uids = r->value > 0;
        snprintf(s->uids_text, sizeof(s->uids_text), "%s", r->text);
    } else if (r->kind == FRAME_GROUP) {
        s->group = r->value;
        snprintf(s->group_why, sizeof(s->group_why), "%s", r->text);
    } else if (r->kind == FRAME_RUNTIME) {
        on_runtime(s, r);
    } else if (b && r->kind == FRAME_STARTED) {
        on_started(s, b, r, fds);
    } else if (b && r->kind == FRAME_VIOLATION) {
        s->stats.violations++;
        if (b->run)
            s->events->violation(b->run, r->text, r->value != 0);
    } else if (b && r->kind == FRAME_EXITED) {
        on_exited(b, r);
    }
}

static void helper_lost(struct sandbox *s);

static void on_control(uv_poll_t *handle, int status, int events) {
    (void)events;
    struct sandbox *s = handle->data;
    CHECK_MAGIC(s, SANDBOX_MAGIC);
    for (;;) {
        struct frame_report report;
        int fds[PACKET_FDS] = {-1, -1, -1};
        const ssize_t got = status < 0 ? 0 : packet_receive(s->control, &report, sizeof(report), fds);
        if (got < 0 && errno == EAGAIN)
            break;
        if (got != (ssize_t)sizeof(report)) {
            helper_lost(s);
            return;
        }
        on_report(s, &report, fds);
        for (size_t i = 0; i < PACKET_FDS; i++)
            close_fd(&fds[i]);
    }
    s->events->helper_known(s);
    s->events->changed(s);
}

/* ---- the helper itself ---- */

static size_t on_words(struct io_conn *c, void *owner, struct block *block, char *ptr, size_t len) {
    (void)c, (void)block;
    struct sandbox *s = owner;
    struct slice text = slice_trim(slice_of(ptr, len));
    for (struct slice rest = text, line; rest.len;) {
        slice_cut(&rest, '\n', &line);
        if (slice_trim(line).len)
            text = line;
    }
    snprintf(s->trouble, sizeof(s->trouble), "%.*s", SLICE_FMT(text));
    return len;
}

static void on_words_end(struct io_conn *c, void *owner, int status) {
    (void)status;
    struct sandbox *s = owner;
    if (s->errors == c)
        s->errors = NULL;
    io_conn_close(c);
}

static const struct io_handlers words_handlers = {.data = on_words, .end = on_words_end};

static void on_helper_started(void *owner, struct spawn_child child) {
    struct sandbox *s = owner;
    if (child.pid == 0) {
        snprintf(s->trouble, sizeof(s->trouble), "%s", spawn_error_text(child.error));
        helper_lost(s);
        return;
    }
    close(child.in);
    close(child.out);
    s->errors = io_conn_fd(s->loop, child.errors, true, &words_handlers, s);
    io_conn_read(s->errors, true);
}

static void on_helper_exited(void *owner, int status) {
    (void)status;
    struct sandbox *s = owner;
    s->spawn_token = 0;
    helper_lost(s);
}

static void on_poll_closed(uv_handle_t *handle) { free(handle); }

static void drop_control(struct sandbox *s) {
    if (s->control_poll)
        uv_close((uv_handle_t *)s->control_poll, on_poll_closed);
    s->control_poll = NULL;
    close_fd(&s->control);
    io_conn_close(s->errors);
    s->errors = NULL;
}

/* All its children die with it; the next run starts another helper. What it found out about the machine
 * stays valid, so runs are accepted. If the helper failed to start, a new one would fail too: the waiting
 * runs fail. */
static void helper_lost(struct sandbox *s) {
    if (s->control < 0)
        return;
    const bool came_up = s->said_hello;
    drop_control(s);
    if (s->spawn_token)
        spawn_forget(s->spawn, s->spawn_token);
    s->spawn_token = 0;
    s->starting = s->said_hello = false;
    for (size_t i = 0; i < FRAME_RUNTIMES; i++)
        s->runtimes[i].known = false;
    LIST_FOR_SAFE (n, next, &s->boxes) {
        struct box *b = container_of(n, struct box, node);
        if (b->run)
            s->events->abandoned(b->run, "the sandbox helper ended");
        box_free(b);
    }
    if (!came_up)
        s->events->helper_refused(s);
    s->events->changed(s);
}

static size_t helper_arguments(struct sandbox *s, char texts[][FRAME_PATH_MAX + 16], const char *argv[]) {
    static const char *const names[SANDBOX_GIVEN] = {"python", "node", "bun"};
    size_t n = 0, t = 0;
    snprintf(texts[t], FRAME_PATH_MAX + 16, "%.1000s/sallyport-sandbox", s->helper_dir);
    argv[n++] = texts[t++];
    argv[n++] = "serve";
    for (int i = 0; i < SANDBOX_GIVEN; i++)
        if (s->given[i]) {
            snprintf(texts[t], FRAME_PATH_MAX + 16, "%s=%.1000s", names[i], s->given[i]);
            argv[n++] = texts[t++];
        }
    if (s->uids) {
        snprintf(texts[t], FRAME_PATH_MAX + 16, "uids=%.100s", s->uids);
        argv[n++] = texts[t++];
    }
    if (s->packages) {
        snprintf(texts[t], FRAME_PATH_MAX + 16, "packages=%.1000s", s->packages);
        argv[n++] = texts[t++];
    }
    const char *const passed[][2] = {{"fail", "SALLYPORT_SANDBOX_FAIL"},
                                     {"tier", "SALLYPORT_SANDBOX_TIER"},
                                     {"forks", "SALLYPORT_SANDBOX_FORKS"}};
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (getenv(passed[i][1])) {
            snprintf(texts[t], FRAME_PATH_MAX + 16, "%s=%.100s", passed[i][0], getenv(passed[i][1]));
            argv[n++] = texts[t++];
        }
    if (s->languages) {
        const uint32_t scripts = 1u << SANDBOX_JAVASCRIPT | 1u << SANDBOX_TYPESCRIPT;
        const uint32_t python = s->languages & ~scripts ? 1u << FRAME_PYTHON | 1u << FRAME_PYTHON_DATA : 0;
        const uint32_t node = s->languages & scripts ? 1u << FRAME_NODE : 0;
        snprintf(texts[t], FRAME_PATH_MAX + 16, "runtimes=%u", python | node);
        argv[n++] = texts[t++];
    }
    argv[n] = NULL;
    return n;
}

int sandbox_box_helper_start(struct sandbox *s, struct err *err) {
    char texts[13][FRAME_PATH_MAX + 16], path[4096];
    /* Variables that an interpreter must not inherit. The helper reads them and passes none on. */
    static const char *const homes[] = {"HOME", "SALLYPORT_HOME", "XDG_STATE_HOME"};
    char home[ARRAY_LEN(homes)][FRAME_PATH_MAX];
    const char *argv[15], *envp[ARRAY_LEN(homes) + 2] = {path};
    int ends[2];
    for (size_t i = 0, n = 1; i < ARRAY_LEN(homes); i++)
        if (getenv(homes[i])) {
            snprintf(home[i], sizeof(home[i]), "%s=%s", homes[i], getenv(homes[i]));
            envp[n++] = home[i];
        }
    helper_arguments(s, texts, argv);
    snprintf(path, sizeof(path), "PATH=%.4000s",
             getenv("PATH") ? getenv("PATH") : "/usr/local/bin:/usr/bin:/bin");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set(err, "start the sandbox helper: %s", strerror(errno));
    const struct spawn_request request = {.argv = argv, .envp = envp, .fd = &ends[1]};
    *s->trouble = '\0';
    s->spawn_token = spawn_child(s->spawn, &request, on_helper_started, on_helper_exited, s, err);
    close(ends[1]);
    const struct frame_order setup = {.kind = FRAME_SETUP, .network = s->bundle >= 0};
    const int brought[2] = {s->preludes, s->bundle};
    if (!s->spawn_token || packet_send(ends[0], &setup, sizeof(setup), brought, 2, 0) != 0) {
        close(ends[0]);
        return s->spawn_token ? err_set(err, "start the sandbox helper: %s", strerror(errno)) : -1;
    }
    s->control = ends[0];
    s->starting = true;
    fcntl(s->control, F_SETFL, O_NONBLOCK);
    s->control_poll = mem_zalloc(sizeof(*s->control_poll));
    uv_poll_init(&s->loop->uv, s->control_poll, s->control);
    s->control_poll->data = s;
    uv_poll_start(s->control_poll, UV_READABLE, on_control);
    uv_unref((uv_handle_t *)s->control_poll);
    return 0;
}

void sandbox_box_helper_stop(struct sandbox *s) {
    if (s->spawn_token)
        spawn_forget(s->spawn, s->spawn_token);
    s->spawn_token = 0;
    drop_control(s);
    LIST_FOR_SAFE (n, next, &s->boxes) {
        box_free(container_of(n, struct box, node));
    }
}
