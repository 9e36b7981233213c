/* A server that is a child process: one message a line on its standard input and output.
 *
 *   link_open ──▶ asked ──started──▶ up ──exit──▶ down
 *   link_close: end of input, then TERM, then KILL; the struct lives until the exit is reported. */
#include "base/check.h"
#include "base/mem.h"
#include "io/conn.h"
#include "upstream/link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct child {
    struct link base;
    uint64_t token;
    struct io_conn *in;  /* we write */
    struct io_conn *out; /* we read */
    struct io_conn *errors;
    size_t scanned; /* bytes of the unconsumed output that were already searched for a newline */
    bool in_busy;
    bool finishing; /* its input is closed, or will be as soon as it has started */
    bool termed;
    bool out_ended;
    bool exited;
    bool is_oversized; /* ended because of a message over the ceiling */
    bool in_callback;  /* an event handler runs and may close it: freed afterwards */
    int exit_status;
    int start_error;
    char start_text[128]; /* where no child was asked for: why */
    struct io_timer timer;
};

static struct child *child_of(struct link *l) { return container_of(l, struct child, base); }
static struct io_loop *child_loop(struct child *c) { return c->base.server->core->loop; }

struct link *link_child_new(void) {
    struct child *c = mem_zalloc(sizeof(*c));
    c->base.ops = &link_child_ops;
    return &c->base;
}

static void child_free(struct child *c) {
    io_timer_stop(child_loop(c), &c->timer);
    io_conn_close(c->in);
    io_conn_close(c->out);
    io_conn_close(c->errors);
    link_free_base(&c->base);
}

/* The exit codes of shells: not executable, or not found. */
static int start_status(int error) { return error == EACCES || error == ENOEXEC ? 126 : 127; }

/* The child has ended, and its output and errors are read to the end. */
static void child_over(struct child *c) {
    if (c->base.closed) {
        child_free(c);
        return;
    }
    c->base.server->ended_count += !c->finishing;
    char why[256];
    const char *name = c->base.server->name, *program = c->base.server->argv[0];
    if (*c->start_text)
        snprintf(why, sizeof(why), "server `%s`: %s", name, c->start_text);
    else if (c->is_oversized)
        snprintf(why, sizeof(why), "server `%s` sent a message of more than %u MB and was ended", name,
                 MSG_BYTES_MAX >> 20);
    else if (c->start_error == ENOENT && !strchr(program, '/'))
        snprintf(why, sizeof(why), "server `%s` could not be started: %s: is `%s` in its PATH?", name,
                 spawn_error_text(c->start_error), program);
    else if (c->start_error)
        snprintf(why, sizeof(why), "server `%s` could not be started: %s", name,
                 spawn_error_text(c->start_error));
    else if (c->exit_status == SPAWN_LOST_STATUS)
        snprintf(why, sizeof(why), "server `%s` ended: %s", name, spawn_error_text(SPAWN_LOST));
    else if (WIFSIGNALED(c->exit_status))
        snprintf(why, sizeof(why), "server `%s` was ended by signal %d", name, WTERMSIG(c->exit_status));
    else
        snprintf(why, sizeof(why), "server `%s` exited with status %d", name, WEXITSTATUS(c->exit_status));
    c->base.is_up = false;
    c->in_callback = true;
    link_fail_all(&c->base, why);
    if (!c->base.closed)
        c->base.events->down(c->base.owner, why,
                             c->start_error                        ? start_status(c->start_error) << 8
                             : c->exit_status == SPAWN_LOST_STATUS ? SIGKILL
                                                                   : c->exit_status);
    c->in_callback = false;
    if (c->base.closed)
        child_free(c);
}

/* ---- its output ---- */

static void child_close(struct link *l);

static size_t on_output(struct io_conn *conn, void *owner, struct block *b, char *ptr, size_t len) {
    struct child *c = owner;
    size_t used = 0;
    c->in_callback = true;
    while (!c->base.closed) {
        size_t from = used > c->scanned ? used : c->scanned;
        char *end = from < len ? memchr(ptr + from, '\n', len - from) : NULL;
        if (!end)
            break;
        struct slice line = slice_trim(slice_of(ptr + used, (size_t)(end - (ptr + used))));
        used = (size_t)(end + 1 - ptr);
        c->scanned = used;
        if (line.len)
            link_received(&c->base, b, line, NULL, 0);
        io_loop_pace(conn->loop, IO_BURST_BYTES);
    }
    c->in_callback = false;
    if (c->base.closed) {
        c->scanned = 0;
        child_close(&c->base);
        return len;
    }
    c->scanned = len - used;
    if (c->scanned > MSG_BYTES_MAX) {
        c->base.events->malformed(c->base.owner, "line over the message limit; ending the server",
                                  (struct slice){0});
        c->is_oversized = true;
        spawn_signal(c->base.server->core->spawn, c->token, SIGKILL);
        c->scanned = 0;
        return len;
    }
    return used;
}

static void close_step(struct io_timer *timer);

/* The last lines of errors say why a server ended: they are read first. */
static bool is_read(const struct child *c) { return c->out_ended && !c->errors; }

/* A server that has closed its output may still be shutting down; it is killed if it does not exit. */
static void on_output_end(struct io_conn *conn, void *owner, int status) {
    (void)conn, (void)status;
    struct child *c = owner;
    c->out_ended = true;
    if (c->exited && is_read(c))
        child_over(c);
    else if (!c->exited && !c->finishing)
        io_timer_arm(child_loop(c), &c->timer, CHILD_CLOSE_MS, close_step);
}

static const struct io_handlers output_handlers = {.data = on_output, .end = on_output_end};

static size_t on_errors(struct io_conn *conn, void *owner, struct block *b, char *ptr, size_t len) {
    (void)conn, (void)b;
    struct child *c = owner;
    size_t used = 0;
    for (;;) {
        char *end = used < len ? memchr(ptr + used, '\n', len - used) : NULL;
        size_t stop = end ? (size_t)(end - ptr) : len;
        if (!end && len - used < CHILD_STDERR_LINE_MAX)
            return used;
        if (!c->base.closed)
            c->base.events->noise(c->base.owner, NULL, slice_of(ptr + used, stop - used));
        used = end ? stop + 1 : stop;
    }
}

static void on_errors_end(struct io_conn *conn, void *owner, int status) {
    (void)status;
    struct child *c = owner;
    struct slice unended = io_conn_unread(conn);
    if (unended.len && !c->base.closed)
        c->base.events->noise(c->base.owner, NULL, unended);
    io_conn_close(conn);
    c->errors = NULL;
    if (c->exited && is_read(c))
        child_over(c);
}

static const struct io_handlers errors_handlers = {.data = on_errors, .end = on_errors_end};

/* ---- its input ---- */

static size_t on_input_data(struct io_conn *conn, void *owner, struct block *b, char *ptr, size_t len) {
    (void)conn, (void)owner, (void)b, (void)ptr;
    return len;
}

/* A child that closed its input may still answer; its exit is reported separately. */
static void on_input_end(struct io_conn *conn, void *owner, int status) {
    (void)conn, (void)owner, (void)status;
}

static void on_input_drained(struct io_conn *conn, void *owner) {
    (void)conn;
    struct child *c = owner;
    if (c->in_busy && !c->base.closed) {
        c->in_busy = false;
        c->base.events->drained(c->base.owner);
    }
}

static const struct io_handlers input_handlers = {
    .data = on_input_data, .end = on_input_end, .drained = on_input_drained};

static bool child_send(struct link *l, const struct link_out *out, struct link_req *req) {
    (void)req;
    struct child *c = child_of(l);
    io_conn_put_line(c->in, out->text, out->block);
    if (io_conn_busy(c->in))
        c->in_busy = true;
    return true;
}

/* ---- life ---- */

static void on_held(struct io_timer *timer) {
    struct child *c = container_of(timer, struct child, timer);
    if (c->out_ended || c->out->reading)
        child_over(c);
    else
        io_timer_arm(child_loop(c), &c->timer, CHILD_HELD_MS, on_held);
}

/* Normally output and errors end with the child; but a process that it left behind may hold them open. */
static void on_exited(void *owner, int status) {
    struct child *c = owner;
    c->exited = true;
    c->exit_status = status;
    if (is_read(c) || c->base.closed)
        child_over(c);
    else
        io_timer_arm(child_loop(c), &c->timer, CHILD_HELD_MS, on_held);
}

static void close_step(struct io_timer *timer) {
    struct child *c = container_of(timer, struct child, timer);
    spawn_signal(c->base.server->core->spawn, c->token, c->termed ? SIGKILL : SIGTERM);
    if (!c->termed)
        io_timer_arm(child_loop(c), &c->timer, CHILD_TERM_MS, close_step);
    c->termed = true;
}

static void child_finish(struct link *l);

static void on_started(void *owner, struct spawn_child child) {
    struct child *c = owner;
    struct io_loop *loop = child_loop(c);
    if (!child.pid) {
        c->exited = c->out_ended = true;
        c->start_error = child.error;
        c->token = 0;
        child_over(c);
        return;
    }
    c->base.pid = child.pid;
    c->in = io_conn_fd(loop, child.in, false, &input_handlers, c);
    c->out = io_conn_fd(loop, child.out, true, &output_handlers, c);
    c->errors = io_conn_fd(loop, child.errors, true, &errors_handlers, c);
    io_conn_read(c->out, true);
    io_conn_read(c->errors, true);
    if (c->finishing) {
        child_finish(&c->base);
        return;
    }
    c->base.is_up = true;
    c->base.events->up(c->base.owner);
}

static void fail_start(struct io_timer *timer) { child_over(container_of(timer, struct child, timer)); }

static void child_start(struct link *l) {
    struct child *c = child_of(l);
    struct up_server *s = l->server;
    struct spawn_request request = {
        .argv = s->argv, .envp = s->envp, .cwd = s->cwd, .no_network = s->no_network};
    struct err err;
    c->token = spawn_child(s->core->spawn, &request, on_started, on_exited, c, &err);
    if (!c->token) {
        c->exited = c->out_ended = true;
        c->start_error = EAGAIN;
        snprintf(c->start_text, sizeof(c->start_text), "%.*s", (int)sizeof(c->start_text) - 1, err.text);
        io_timer_soon(child_loop(c), &c->timer, fail_start);
    }
}

static void child_finish(struct link *l) {
    struct child *c = child_of(l);
    c->finishing = true;
    if (!c->in)
        return; /* not started yet (on_started handles it), or already finished */
    io_conn_finish(c->in);
    c->in = NULL;
    l->is_up = false;
    io_conn_read(c->out, true);
    io_timer_arm(child_loop(c), &c->timer, CHILD_CLOSE_MS, close_step);
}

static void child_signal(struct link *l, int signal) {
    spawn_signal(l->server->core->spawn, child_of(l)->token, signal);
}

static void child_close(struct link *l) {
    struct child *c = child_of(l);
    if (c->in_callback)
        return;
    if (!c->token || c->exited)
        child_free(c);
    else
        child_finish(l);
}

static void child_abandon(struct link *l, struct link_req *req) { (void)l, (void)req; }
static void child_listen(struct link *l) { (void)l; }

static void child_pause(struct link *l, struct link_req *req, bool on) {
    (void)req;
    if (child_of(l)->out)
        io_conn_read(child_of(l)->out, !on);
}

static bool child_busy(const struct link *l) { return container_of(l, struct child, base)->in_busy; }

const struct link_ops link_child_ops = {
    .start = child_start,
    .send = child_send,
    .abandon = child_abandon,
    .listen = child_listen,
    .pause = child_pause,
    .busy = child_busy,
    .finish = child_finish,
    .signal = child_signal,
    .close = child_close,
};
