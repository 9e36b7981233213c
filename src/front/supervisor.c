/* The process above the workers. It owns the listening socket, starts the workers, restarts those that die,
 * and passes signals on. It reads no input.
 *
 *   supervisor ── listening socket, shared memory ──▶ worker 0 … N-1      each one a whole gate, one home
 *
 * One socket for all, not one each (SO_REUSEPORT): connections that wait in the socket's queue outlive the
 * worker that would have accepted them, a socket from systemd can be used directly, and the workers balance
 * their load themselves (io_listener_share).
 *
 * SIGUSR2 replaces the program in place: the new image keeps the process number, the socket, and the old
 * workers as its children. The old workers exit when the new ones accept connections; until then nothing has
 * changed.
 */
#include "front/supervisor.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/trail.h"
#include "front/gate.h"
#include "front/gate_worker.h"
#include "front/limits.h"
#include "front/settings.h"
#include "io/file.h"
#include "io/net.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LISTEN_FD_FIRST 3 /* the first descriptor that systemd passes */

struct worker {
    pid_t pid;
    int ready_fd; /* -1 once the worker is ready */
    bool ready;
    bool again; /* is started for another time */
    uint64_t started_ms;
    uint64_t due_ms; /* time of the next start; 0: none is due */
    uint64_t wait_ms;
};

struct supervisor {
    struct gate_config config; /* of each worker */
    char bind[IO_ADDRESS_MAX];
    int listen_fd;
    struct gate_shared *shared;
    int trail_fd; /* -1: none was passed on by the previous program */
    struct trail_slot *trails;
    struct worker workers[GATE_WORKERS_MAX];
    unsigned count;
    pid_t old[GATE_OLD_MAX]; /* workers of the previous program */
    unsigned old_count;
    bool announced;
    bool stopping;
    uint64_t kill_ms; /* when workers that have not ended are killed; 0: never */
    int exit_status;
    sigset_t outside; /* the signal mask from before */
};

/* ---- number of workers ---- */

static unsigned processors(void) {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > GATE_WORKERS_MAX ? GATE_WORKERS_MAX : (unsigned)n;
}

int supervisor_count(const char *text, const char *bind, unsigned *ret_count, struct err *err) {
    uint64_t n = 0;
    *ret_count = 0;
    if (!text && (io_is_loopback(bind) && !getenv("LISTEN_FDS") && !getenv(SUPERVISOR_HANDOVER)))
        return 0;
    if (!text || strcmp(text, "auto") == 0) {
        *ret_count = processors();
        return 0;
    }
    if (!slice_to_u64(slice_str(text), &n) || n < 1 || n > GATE_WORKERS_MAX)
        return err_set(err, "workers: `%s`: a number from 1 to %d, or auto", text, GATE_WORKERS_MAX);
    *ret_count = (unsigned)n;
    return 0;
}

/* ---- the socket ---- */

static bool is_listening(int fd) {
    int on = 0;
    socklen_t len = sizeof(on);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 && on;
}

/* A socket that systemd or the previous program has opened. -1: none; -2: unusable. */
static int inherited_socket(struct supervisor *s, struct err *err) {
    const char *handover = getenv(SUPERVISOR_HANDOVER), *fds = getenv("LISTEN_FDS"),
               *pid = getenv("LISTEN_PID");
    struct slice rest, part;
    uint64_t n = 0;
    int fd = -1;
    if (handover) { /* SOCKET,TRAILS,PID,PID… */
        rest = slice_str(handover);
        slice_cut(&rest, ',', &part);
        fd = slice_to_u64(part, &n) && n < INT_MAX ? (int)n : -1;
        slice_cut(&rest, ',', &part);
        s->trail_fd = slice_to_u64(part, &n) && n < INT_MAX ? (int)n : -1;
        while (rest.len && s->old_count < GATE_OLD_MAX) {
            slice_cut(&rest, ',', &part);
            if (slice_to_u64(part, &n) && waitpid((pid_t)n, NULL, WNOHANG) == 0)
                s->old[s->old_count++] = (pid_t)n;
        }
    } else if (fds && pid && slice_to_u64(slice_str(pid), &n) && n == (uint64_t)getpid()) {
        if (strcmp(fds, "1") != 0) {
            err_set(err, "socket activation: exactly one socket is required, got %s", fds);
            return -2;
        }
        fd = LISTEN_FD_FIRST;
    }
    unsetenv(SUPERVISOR_HANDOVER);
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDNAMES");
    if (fd >= 0 && (!is_listening(fd) || !io_bound_port(fd, s->bind))) {
        err_set(err, "socket activation: descriptor %d is not a listening TCP socket", fd);
        return -2;
    }
    return fd;
}

static int socket_open(struct supervisor *s, struct err *err) {
    int fd = inherited_socket(s, err);
    if (fd == -2)
        return -1;
    if (fd >= 0) {
        s->config.bind = s->bind; /* the address of the socket, not that of the settings */
    } else {
        fd = io_listen_open(s->config.bind, s->config.port, err);
        if (fd < 0)
            return -1;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    s->listen_fd = fd;
    s->config.port = io_bound_port(fd, NULL);
    return 0;
}

/* Flow labels survive a hand-over if the next program uses the same layout. */
static int trails_open(struct supervisor *s, struct err *err) {
    struct stat st;
    const size_t bytes = trail_shared_bytes();
    if (s->trail_fd >= 0 && (fstat(s->trail_fd, &st) < 0 || st.st_size != (off_t)bytes)) {
        close(s->trail_fd);
        s->trail_fd = -1;
    }
    if (s->trail_fd < 0) {
        s->trail_fd = memfd_create("sallyport-trails", MFD_CLOEXEC);
        if (s->trail_fd < 0 || ftruncate(s->trail_fd, (off_t)bytes) < 0)
            return err_set(err, "workers: %s", strerror(errno));
    }
    fcntl(s->trail_fd, F_SETFD, FD_CLOEXEC);
    s->trails = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->trail_fd, 0);
    return s->trails == MAP_FAILED ? err_set(err, "workers: %s", strerror(errno)) : 0;
}

/* ---- systemd ---- */

static void notify(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof(to.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, strlen(path));
    if (path[0] == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (fd < 0 || sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to, len) < 0)
        log_warn("notify systemd: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* ---- workers ---- */

_Noreturn static void worker_main(struct supervisor *s, unsigned index, int ready_fd, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    signal(SIGINT, SIG_IGN);    /* Ctrl-C reaches every process; the supervisor passes it on */
    sigset_t mask = s->outside; /* gate_run unblocks these when it has handlers */
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    struct gate_worker worker = {.shared = s->shared,
                                 .trails = s->trails,
                                 .index = index,
                                 .count = s->count,
                                 .again = s->workers[index].again,
                                 .listen_fd = s->listen_fd,
                                 .ready_fd = ready_fd};
    s->config.worker = &worker;
    struct err err = {0};
    int status = 3;
    if (gate_run(&s->config, &status, &err) < 0) {
        if (!s->shared->starting)
            log_error("%s", err.text);
        else if (!atomic_exchange(&s->shared->told, true))
            s->shared->fault = err;
        log_flush();
    }
    exit(status);
}

static void worker_start(struct supervisor *s, unsigned index) {
    struct worker *w = &s->workers[index];
    int ends[2];
    pid_t parent = getpid();
    w->due_ms = 0;
    w->ready = false;
    w->started_ms = clock_mono_ms();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
        w->due_ms = w->started_ms + GATE_RESTART_MAX_MS;
        return;
    }
    w->pid = fork();
    if (w->pid == 0) {
        close(ends[0]);
        worker_main(s, index, ends[1], parent);
    }
    close(ends[1]);
    if (w->pid < 0) {
        log_error("start worker %u: %s", index, strerror(errno));
        close(ends[0]);
        w->due_ms = w->started_ms + GATE_RESTART_MAX_MS;
        return;
    }
    w->ready_fd = ends[0];
    w->again = true;
}

static void signal_all(struct supervisor *s, int sig) {
    for (unsigned i = 0; i < s->count; i++)
        if (s->workers[i].pid > 0)
            kill(s->workers[i].pid, sig);
    for (unsigned i = 0; i < s->old_count; i++)
        kill(s->old[i], sig);
}

static unsigned running(const struct supervisor *s) {
    unsigned n = s->old_count;
    for (unsigned i = 0; i < s->count; i++)
        n += s->workers[i].pid > 0;
    return n;
}

static void worker_ended(struct supervisor *s, unsigned index, int status) {
    struct worker *w = &s->workers[index];
    const uint64_t now_ms = clock_mono_ms();
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const pid_t pid = w->pid;
    w->pid = 0;
    s->shared->slots[index].pid = 0;
    s->shared->slots[index].accepts = false;
    if (w->ready_fd >= 0)
        close(w->ready_fd);
    w->ready_fd = -1;
    if (s->stopping) { /* one that was not ready yet had no calls; without a handler our signal killed it */
        if (!s->exit_status && w->ready && (WIFEXITED(status) || WTERMSIG(status) != SIGTERM))
            s->exit_status = code;
        return;
    }
    if (!s->announced && !s->old_count) { /* at the first start: an error of one worker is an error of all */
        s->exit_status = code ? code : 1;
        s->stopping = true;
        s->kill_ms = now_ms + GATE_KILL_MS;
        signal_all(s, SIGTERM);
        return;
    }
    const bool lasted = w->ready && now_ms - w->started_ms >= GATE_RESTART_FORGET_MS;
    w->wait_ms = lasted || !w->wait_ms ? GATE_RESTART_MS : w->wait_ms * 2;
    if (w->wait_ms > GATE_RESTART_MAX_MS)
        w->wait_ms = GATE_RESTART_MAX_MS;
    w->due_ms = now_ms + (lasted ? 0 : w->wait_ms);
    log_warn("worker %u (pid %d) ended with %s %d; restart in %llu ms", index, (int)pid,
             WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? code : WTERMSIG(status),
             (unsigned long long)(w->due_ms - now_ms));
}

static void reap(struct supervisor *s) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        for (unsigned i = 0; i < s->count; i++)
            if (s->workers[i].pid == pid)
                worker_ended(s, i, status);
        for (unsigned i = 0; i < s->old_count; i++)
            if (s->old[i] == pid)
                s->old[i--] = s->old[--s->old_count];
    }
}

/* ---- readiness ---- */

static void announce(struct supervisor *s) {
    const struct gate_config *c = &s->config;
    const bool six = strchr(c->bind, ':') != NULL;
    s->announced = true;
    s->shared->starting = false;
    log_info("listening on %s://%s%s%s:%u/mcp, %u worker(s)", c->settings->tls.cert ? "https" : "http",
             six ? "[" : "", c->bind, six ? "]" : "", c->port, s->count);
    log_info("console: `sallyport ui` prints a link that signs you in");
    log_set_timed(true);
    log_flush();
    notify("READY=1");
    for (unsigned i = 0; i < s->old_count; i++)
        kill(s->old[i], SIGUSR2);
}

static void check_ready(struct supervisor *s) {
    unsigned ready = 0;
    char byte;
    for (unsigned i = 0; i < s->count; i++) {
        struct worker *w = &s->workers[i];
        if (w->ready_fd >= 0 && read(w->ready_fd, &byte, 1) == 1) {
            w->ready = true;
            close(w->ready_fd);
            w->ready_fd = -1;
        }
        ready += w->ready && w->pid > 0;
    }
    if (ready == s->count && !s->announced && !s->stopping)
        announce(s);
}

/* ---- hand-over to a new program ---- */

/* The path that the program was started from: a package may have replaced the file since. */
static bool own_path(char path[PATH_MAX]) {
    static const char deleted[] = " (deleted)";
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    struct slice text = slice_of(path, (size_t)n);
    if (slice_ends(text, slice_str(deleted)))
        path[text.len - strlen(deleted)] = '\0';
    return true;
}

static bool own_words(struct buf *text, char *argv[GATE_WORDS_MAX + 1]) {
    struct err ignored;
    size_t n = 0;
    if (io_file_read("/proc/self/cmdline", text, NULL, &ignored) < 0 || !text->len)
        return false;
    buf_put_char(text, '\0');
    for (char *at = text->ptr; at < text->ptr + text->len - 1 && n < GATE_WORDS_MAX; at += strlen(at) + 1)
        argv[n++] = at;
    argv[n] = NULL;
    return n > 0 && n < GATE_WORDS_MAX;
}

/* Checks whether the new program would start with the files on disk. */
static bool trial_passes(const char *path, char *const *argv) {
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        alarm(GATE_TRIAL_S);
        setenv(SUPERVISOR_TRIAL, "1", 1);
        execv(path, argv);
        _exit(127);
    }
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void put_handover(struct supervisor *s) {
    char text[32 + 16 * (GATE_OLD_MAX + GATE_WORKERS_MAX)];
    int n = snprintf(text, sizeof(text), "%d,%d", s->listen_fd, s->trail_fd);
    for (unsigned i = 0; i < s->count; i++)
        if (s->workers[i].pid > 0)
            n += snprintf(text + n, sizeof(text) - (size_t)n, ",%d", (int)s->workers[i].pid);
    for (unsigned i = 0; i < s->old_count; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ",%d", (int)s->old[i]);
    setenv(SUPERVISOR_HANDOVER, text, 1);
}

static void hand_over(struct supervisor *s) {
    char path[PATH_MAX], *argv[GATE_WORDS_MAX + 1];
    cleanup_buf struct buf words;
    buf_init(&words, GATE_WORDS_BYTES_MAX);
    if (s->stopping || !s->announced || s->old_count + s->count > GATE_OLD_MAX) {
        log_warn("hand-over: refused; the previous one has not ended, or the gate is stopping");
        return;
    }
    if (!own_path(path) || !own_words(&words, argv)) {
        log_error("hand-over: cannot determine how this program was started; nothing has changed");
        return;
    }
    if (!trial_passes(path, argv)) {
        log_error("hand-over: `%s` does not start with the current settings, policies and stores; nothing "
                  "has changed",
                  path);
        return;
    }
    log_info("hand-over to `%s`", path);
    log_flush();
    put_handover(s);
    fcntl(s->listen_fd, F_SETFD, 0);
    fcntl(s->trail_fd, F_SETFD, 0);
    execv(path, argv);
    log_error("hand-over: start `%s`: %s; nothing has changed", path, strerror(errno));
    fcntl(s->listen_fd, F_SETFD, FD_CLOEXEC);
    fcntl(s->trail_fd, F_SETFD, FD_CLOEXEC);
    unsetenv(SUPERVISOR_HANDOVER);
}

/* ---- the loop ---- */

static void on_signal(struct supervisor *s, int sig) {
    if (sig == SIGHUP) {
        signal_all(s, SIGHUP);
    } else if (sig == SIGUSR2) {
        hand_over(s);
    } else if (sig == SIGTERM || sig == SIGINT) {
        if (!s->stopping)
            notify("STOPPING=1");
        const uint64_t drain_ms =
            s->config.settings->drain.not_ready_ms + s->config.settings->drain.timeout_ms;
        s->kill_ms = clock_mono_ms() + GATE_KILL_MS + (s->stopping ? 0 : drain_ms);
        s->stopping = true;
        signal_all(s, SIGTERM); /* the second signal ends them immediately */
    }
}

/* A worker that is stopped or hangs does not end by itself. */
static void kill_late(struct supervisor *s) {
    if (!s->kill_ms || clock_mono_ms() < s->kill_ms || !running(s))
        return;
    log_error("%u worker(s) did not end in time and are killed", running(s));
    s->kill_ms = 0;
    signal_all(s, SIGKILL);
}

static void start_due(struct supervisor *s) {
    const uint64_t now_ms = clock_mono_ms();
    for (unsigned i = 0; i < s->count; i++)
        if (s->workers[i].due_ms && s->workers[i].due_ms <= now_ms && !s->stopping)
            worker_start(s, i);
}

static void supervise(struct supervisor *s) {
    sigset_t wanted;
    sigemptyset(&wanted);
    static const int which[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < ARRAY_LEN(which); i++)
        sigaddset(&wanted, which[i]);
    const struct timespec tick = {.tv_nsec = GATE_TICK_MS * 1000000L};
    while (!s->stopping || running(s)) {
        int sig = sigtimedwait(&wanted, NULL, &tick);
        reap(s);
        if (sig > 0 && sig != SIGCHLD)
            on_signal(s, sig);
        check_ready(s);
        start_due(s);
        kill_late(s);
    }
}

static void block_signals(struct supervisor *s) {
    sigset_t mask;
    sigemptyset(&mask);
    static const int which[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD};
    for (size_t i = 0; i < ARRAY_LEN(which); i++)
        sigaddset(&mask, which[i]);
    sigprocmask(SIG_BLOCK, &mask, &s->outside);
    for (size_t i = 0; i < ARRAY_LEN(which); i++) /* the previous program may have had them blocked */
        sigdelset(&s->outside, which[i]);
}

static void supervisor_free(struct supervisor *s) {
    settings_free(s->config.settings);
    if (s->shared != MAP_FAILED)
        munmap(s->shared, sizeof(*s->shared));
    free(s);
}

int supervisor_run(const struct gate_config *config, unsigned count, int *ret_exit, struct err *err) {
    struct supervisor *s = mem_zalloc(sizeof(*s));
    s->config = *config;
    s->count = count;
    s->trail_fd = -1;
    signal(SIGPIPE, SIG_IGN); /* the reader of the log may be gone */
    block_signals(s);
    s->shared = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->shared == MAP_FAILED || socket_open(s, err) < 0 || trails_open(s, err) < 0) {
        if (s->shared == MAP_FAILED)
            err_set(err, "workers: %s", strerror(errno));
        supervisor_free(s);
        return -1;
    }
    s->shared->starting = !s->old_count;
    log_flush();
    for (unsigned i = 0; i < count; i++) {
        s->workers[i].ready_fd = -1;
        worker_start(s, i);
    }
    supervise(s);
    *ret_exit = s->exit_status;
    close(s->listen_fd);
    const bool told = s->shared->starting && s->shared->told;
    if (told)
        *err = s->shared->fault;
    supervisor_free(s);
    return told ? -1 : 0;
}
