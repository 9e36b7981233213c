#include "upstream/secret.h"

#include "base/mem.h"
#include "base/openssl.h"
#include "io/conn.h"
#include "upstream/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* ---- the values of one server ---- */

static struct up_secret *secret_of(struct list *n) { return container_of(n, struct up_secret, node); }

void up_secret_add(struct up_server *server, struct up_secret *s) {
    s->server = server;
    list_push(&server->secrets, &s->node);
}

static void value_drop(struct up_secret *s) {
    if (s->value)
        OPENSSL_cleanse(s->value, strlen(s->value));
    free(steal(s->value));
}

static bool needs_value(const struct up_secret *s) { return (!s->value && !s->none) || s->stale; }

bool up_secrets_ready(const struct up_server *s) {
    LIST_FOR (n, &s->secrets)
        if (needs_value(secret_of(n)))
            return false;
    return true;
}

static void notify_waiting(struct up_server *s, const char *fault) {
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&s->secret_waiters)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct up_wait *w = container_of(n, struct up_wait, node);
        w->done(w, fault);
    }
}

static void fetch(struct up_secret *s) {
    if (s->fetching)
        return;
    s->fetching = true;
    s->ops->fetch(s);
}

/* Also for a timer in the next turn: an immediate answer must not call back from inside the request. */
static void on_fetch(struct io_timer *timer) {
    struct up_server *s = container_of(timer, struct up_server, secret_timer);
    if (up_secrets_ready(s)) {
        notify_waiting(s, NULL);
        return;
    }
    LIST_FOR_SAFE (n, next, &s->secrets)
        if (needs_value(secret_of(n)))
            fetch(secret_of(n));
}

void up_secrets_wait(struct up_server *s, struct up_wait *w) {
    list_push(&s->secret_waiters, &w->node);
    io_timer_soon(s->core->loop, &s->secret_timer, on_fetch);
}

void up_secrets_unwait(struct up_wait *w) { list_remove(&w->node); }

bool up_secrets_replace(struct up_server *s) {
    bool any = false;
    LIST_FOR (n, &s->secrets) {
        struct up_secret *secret = secret_of(n);
        if (secret->ops->changed && secret->ops->changed(secret))
            any = secret->stale = true;
    }
    return any;
}

/* Rate-limited: a server that answers 401 to everything must not make the gate run programs all the time. */
bool up_secrets_renew(struct up_server *s) {
    uint64_t now_ms = io_now_ms(s->core->loop);
    bool any = false;
    LIST_FOR (n, &s->secrets)
        any |= secret_of(n)->fetching || secret_of(n)->stale;
    if (any)
        return true;
    if (s->renewed_ms && now_ms - s->renewed_ms < UP_RENEW_MS)
        return up_secrets_replace(s);
    s->renewed_ms = now_ms;
    LIST_FOR (n, &s->secrets)
        any = secret_of(n)->stale = true;
    return any;
}

void up_secrets_put(const struct up_server *s, struct buf *out) {
    LIST_FOR (n, &s->secrets) {
        const struct up_secret *secret = secret_of(n);
        if (secret->value)
            buf_printf(out, "%s: %s%s\r\n", secret->header, secret->prefix, secret->value);
    }
}

void up_secrets_free(struct up_server *s) {
    io_timer_stop(s->core->loop, &s->secret_timer);
    while (!list_empty(&s->secrets)) {
        struct up_secret *secret = secret_of(s->secrets.next);
        list_remove(&secret->node);
        value_drop(secret);
        secret->ops->free(secret);
    }
}

void up_secret_set(struct up_secret *s, struct slice value) {
    struct up_server *server = s->server;
    struct slice line;
    slice_cut(&value, '\n', &line);
    line = slice_trim(line);
    s->fetching = false;
    if (!line.len || line.len > UP_SECRET_MAX || !http_value_ok(line)) {
        up_secret_fail(s, "it is empty, too long or has forbidden bytes");
        return;
    }
    value_drop(s);
    s->value = mem_dup(line.ptr, line.len);
    server->secret_epoch++;
    s->stale = s->none = false;
    if (up_secrets_ready(server))
        notify_waiting(server, NULL);
}

void up_secret_none(struct up_secret *s) {
    s->fetching = s->stale = false;
    value_drop(s);
    s->none = true;
    if (up_secrets_ready(s->server))
        notify_waiting(s->server, NULL);
}

void up_secret_fail(struct up_secret *s, const char *why) {
    char text[UP_ERROR_TEXT_MAX + 512 + UP_COMMAND_MAX];
    s->fetching = false;
    snprintf(text, sizeof(text), "server `%s`: header `%s`: %s", s->server->name, s->header, why);
    notify_waiting(s->server, text);
}

/* ---- from a file ---- */

struct file_secret {
    struct up_secret base;
    const char *path;
    struct io_watch watch;
};

static void file_fetch(struct up_secret *s) {
    struct file_secret *f = container_of(s, struct file_secret, base);
    char bytes[UP_SECRET_MAX + 2], why[512];
    cleanup_fd int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
    if (got < 0) {
        snprintf(why, sizeof(why), "read `%s`: %s", f->path, strerror(errno));
        up_secret_fail(s, why);
        return;
    }
    up_secret_set(s, slice_of(bytes, (size_t)got));
    OPENSSL_cleanse(bytes, sizeof(bytes));
}

static void on_file_changed(struct io_watch *w) {
    struct file_secret *f = container_of(w, struct file_secret, watch);
    f->base.server->renewed_ms = 0; /* the value differs from the one that was rejected */
    file_fetch(&f->base);
}

static void file_free(struct up_secret *s) {
    struct file_secret *f = container_of(s, struct file_secret, base);
    io_watch_stop(&f->watch);
    free(f);
}

static const struct up_secret_ops file_ops = {.fetch = file_fetch, .free = file_free};

struct up_secret *up_secret_file(struct up_server *server, const char *header, const char *prefix,
                                 const char *path) {
    struct file_secret *f = mem_zalloc(sizeof(*f));
    f->base = (struct up_secret){.ops = &file_ops, .header = header, .prefix = prefix};
    f->path = path;
    up_secret_add(server, &f->base);
    io_watch_start(&f->watch, server->core->loop, path, on_file_changed);
    return &f->base;
}

/* ---- from a program ---- */

struct command_secret {
    struct up_secret base;
    const char *const *argv;
    const char *const *envp;
    uint64_t ttl_ms;
    uint64_t token; /* of the run under way */
    struct io_conn *out;
    struct io_conn *errors; /* read and ignored: a program must not block on stderr */
    struct buf output;
    bool ended; /* its output has */
    bool exited;
    int status;
    struct io_timer timer; /* time-out of the run, then the time of the next fetch */
};

static struct io_loop *command_loop(const struct command_secret *c) { return c->base.server->core->loop; }

static void command_fetch(struct up_secret *s);

static void on_ttl(struct io_timer *timer) {
    struct command_secret *c = container_of(timer, struct command_secret, timer);
    c->base.fetching = true;
    command_fetch(&c->base);
}

static void command_clear(struct command_secret *c) {
    io_timer_stop(command_loop(c), &c->timer);
    io_conn_close(c->out);
    io_conn_close(c->errors);
    c->out = c->errors = NULL;
    if (c->token)
        spawn_forget(c->base.server->core->spawn, c->token);
    c->token = 0;
}

static void command_over(struct command_secret *c, const char *fault) {
    command_clear(c);
    if (fault)
        up_secret_fail(&c->base, fault);
    else
        up_secret_set(&c->base, buf_slice(&c->output));
    if (c->output.ptr)
        OPENSSL_cleanse(c->output.ptr, c->output.cap);
    buf_reset(&c->output);
    if (c->ttl_ms && !fault)
        io_timer_arm(command_loop(c), &c->timer, c->ttl_ms, on_ttl);
}

static void command_check(struct command_secret *c) {
    if (!c->ended || !c->exited)
        return;
    bool fine = WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0 && !c->output.full;
    command_over(c, fine ? NULL : "the program failed");
}

static size_t on_output(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)b;
    struct command_secret *c = owner;
    buf_put(&c->output, ptr, len);
    return len;
}

static void on_output_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    struct command_secret *c = owner;
    c->ended = true;
    command_check(c);
}

static const struct io_handlers output_handlers = {.data = on_output, .end = on_output_end};

static size_t on_error_text(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)owner, (void)b, (void)ptr;
    return len;
}

static void on_errors_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)owner, (void)status;
}

static const struct io_handlers error_handlers = {.data = on_error_text, .end = on_errors_end};

static void on_started(void *owner, struct spawn_child child) {
    struct command_secret *c = owner;
    if (!child.pid) {
        c->token = 0;
        command_over(c, child.error == SPAWN_LOST ? spawn_error_text(SPAWN_LOST)
                                                  : "the program could not be started");
        return;
    }
    close(child.in);
    c->errors = io_conn_fd(command_loop(c), child.errors, true, &error_handlers, c);
    io_conn_read(c->errors, true);
    c->out = io_conn_fd(command_loop(c), child.out, true, &output_handlers, c);
    io_conn_read(c->out, true);
}

static void on_exited(void *owner, int status) {
    struct command_secret *c = owner;
    c->token = 0;
    c->exited = true;
    c->status = status;
    command_check(c);
}

static void on_slow(struct io_timer *timer) {
    struct command_secret *c = container_of(timer, struct command_secret, timer);
    if (c->token)
        spawn_signal(c->base.server->core->spawn, c->token, SIGKILL);
    command_over(c, "the program took too long");
}

static void command_fetch(struct up_secret *s) {
    struct command_secret *c = container_of(s, struct command_secret, base);
    struct spawn_request r = {.argv = c->argv, .envp = c->envp};
    struct err err;
    c->ended = c->exited = false;
    c->token = spawn_child(s->server->core->spawn, &r, on_started, on_exited, c, &err);
    if (!c->token) {
        command_over(c, err.text);
        return;
    }
    io_timer_arm(command_loop(c), &c->timer, UP_COMMAND_MS, on_slow);
}

static void command_free(struct up_secret *s) {
    struct command_secret *c = container_of(s, struct command_secret, base);
    if (c->token)
        spawn_signal(s->server->core->spawn, c->token, SIGKILL);
    command_clear(c);
    buf_free(&c->output);
    free(c);
}

static const struct up_secret_ops command_ops = {.fetch = command_fetch, .free = command_free};

struct up_secret *up_secret_command(struct up_server *server, const char *header, const char *prefix,
                                    const char *const *argv, const char *const *envp, uint64_t ttl_ms) {
    struct command_secret *c = mem_zalloc(sizeof(*c));
    c->base = (struct up_secret){.ops = &command_ops, .header = header, .prefix = prefix};
    c->argv = argv;
    c->envp = envp;
    c->ttl_ms = ttl_ms;
    buf_init(&c->output, UP_SECRET_MAX + 2);
    up_secret_add(server, &c->base);
    return &c->base;
}
