#include "upstream/pool.h"

#include "base/check.h"
#include "base/mem.h"
#include "io/net.h"
#include "io/tls.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#define UP_CONN_MAGIC 0x0c0117ec
#define WHY_MAX 512

struct up_conn {
    uint32_t magic;
    struct up_server *server;
    struct up_ticket *ticket; /* NULL when unused */
    struct list node;         /* among the idle or the busy ones */
    struct io_dial *dial;
    struct io_conn *io;
    struct io_timer timer; /* for connecting, then for being unused */
    uint64_t idle_since_ms;
    bool ready;  /* connected, and secured where that is asked for */
    char *fault; /* found before the dial could start */
};

static struct io_loop *conn_loop(const struct up_conn *c) { return c->server->core->loop; }

static void conn_start(struct up_server *s, struct up_ticket *t);

/* The slot of a closed connection goes to the ticket that has waited longest. */
static void pool_next(struct up_server *s) {
    if (s->conn_count >= UP_CONNS_MAX)
        return;
    struct list *n = list_pop(&s->conn_waiters);
    if (!n)
        return;
    s->conn_waiting--;
    conn_start(s, container_of(n, struct up_ticket, waiting));
}

static void conn_detach(struct up_conn *c) {
    if (c->ticket)
        c->ticket->conn = NULL;
    c->ticket = NULL;
    list_remove(&c->node);
    io_timer_stop(conn_loop(c), &c->timer);
    io_dial_cancel(c->dial);
    c->dial = NULL;
}

static void conn_free(struct up_conn *c) {
    struct up_server *s = c->server;
    conn_detach(c);
    io_conn_close(c->io);
    c->magic = 0;
    free(c->fault);
    free(c);
    s->conn_count--;
    pool_next(s);
}

static void conn_lost(struct up_conn *c, int status, const char *why) {
    struct up_ticket *t = c->ticket;
    struct up_loss loss = {
        .why = why,
        .status = status,
        .unsent = !c->ready || io_conn_queued(c->io) > 0,
    };
    conn_free(c);
    if (t)
        t->ops->lost(t, &loss);
}

/* ---- a connection at work ---- */

static size_t on_data(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io;
    struct up_conn *c = owner;
    CHECK_MAGIC(c, UP_CONN_MAGIC);
    if (c->ticket)
        return c->ticket->ops->data(c->ticket, b, ptr, len);
    /* Unsolicited bytes: they must not be taken for the answer to the next request. */
    conn_free(c);
    return len;
}

static void on_end(struct io_conn *io, void *owner, int status) {
    (void)io;
    struct up_conn *c = owner;
    CHECK_MAGIC(c, UP_CONN_MAGIC);
    char why[WHY_MAX];
    if (!c->ready && c->server->at.tls)
        snprintf(why, sizeof(why), "server `%s` ended the connection during the TLS handshake",
                 c->server->name);
    else if (status == 0)
        snprintf(why, sizeof(why), "server `%s` closed the connection", c->server->name);
    else
        snprintf(why, sizeof(why), "connection to server `%s` failed: %s", c->server->name,
                 uv_strerror(status));
    conn_lost(c, status, why);
}

static const struct io_handlers conn_handlers = {.data = on_data, .end = on_end};

/* ---- connecting ---- */

static void conn_ready(struct up_conn *c) {
    io_timer_stop(conn_loop(c), &c->timer);
    c->ready = true;
    /* A response may take hours: a peer that disappeared without closing must be detected meanwhile. */
    uv_tcp_keepalive(&c->io->uv.tcp, 1, UP_KEEPALIVE_S);
    io_conn_read(c->io, true);
    c->ticket->ops->ready(c->ticket);
}

static void on_secured(void *owner, int status, const char *why) {
    struct up_conn *c = owner;
    CHECK_MAGIC(c, UP_CONN_MAGIC);
    if (status == 0) {
        conn_ready(c);
        return;
    }
    char text[WHY_MAX];
    snprintf(text, sizeof(text), "server `%s`: %s", c->server->name, why);
    conn_lost(c, UV_EPROTO, text);
}

static void host_text(const struct up_server *s, char text[HTTP_HOST_MAX + 1]) {
    snprintf(text, HTTP_HOST_MAX + 1, "%.*s", SLICE_FMT(s->at.host));
}

static void on_dialled(void *owner, struct io_conn *io, int status) {
    struct up_conn *c = owner;
    CHECK_MAGIC(c, UP_CONN_MAGIC);
    struct up_server *s = c->server;
    c->dial = NULL;
    char text[WHY_MAX], host[HTTP_HOST_MAX + 1];
    host_text(s, host);
    if (!io) {
        snprintf(text, sizeof(text), "server `%s`: connect to %s port %u: %s", s->name, host, s->at.port,
                 uv_strerror(status));
        conn_lost(c, status, text);
        return;
    }
    c->io = io;
    if (s->at.tls)
        io_tls_start_client(io, s->core->tls, host, on_secured);
    else
        conn_ready(c);
}

static void on_connect_timer(struct io_timer *timer) {
    struct up_conn *c = container_of(timer, struct up_conn, timer);
    char text[WHY_MAX];
    snprintf(text, sizeof(text), "server `%s`: no connection within %d seconds", c->server->name,
             UP_CONNECT_MS / 1000);
    conn_lost(c, UV_ETIMEDOUT, c->fault ? c->fault : text);
}

static void conn_start(struct up_server *s, struct up_ticket *t) {
    struct up_conn *c = mem_zalloc(sizeof(*c));
    struct err err;
    c->magic = UP_CONN_MAGIC;
    c->server = s;
    c->ticket = t;
    t->conn = c;
    t->reused = false;
    list_push(&s->busy_conns, &c->node);
    s->conn_count++;
    if (s->at.tls && !s->core->tls)
        s->core->tls = io_tls_client_ctx(&err);
    if (s->at.tls && !s->core->tls) {
        err_wrap(&err, "server `%s`", s->name);
        c->fault = mem_dup(err.text, strlen(err.text));
        io_timer_soon(s->core->loop, &c->timer, on_connect_timer);
        return;
    }
    io_timer_arm(s->core->loop, &c->timer, UP_CONNECT_MS, on_connect_timer);
    char host[HTTP_HOST_MAX + 1];
    host_text(s, host);
    c->dial = io_connect(s->core->loop, host, s->at.port, &conn_handlers, c, on_dialled);
}

/* ---- tickets ---- */

static void on_idle_timer(struct io_timer *timer) { conn_free(container_of(timer, struct up_conn, timer)); }

/* The loop reads unused connections, so most closes are detected; this one may have closed since the last
 * poll. */
static bool conn_alive(const struct up_conn *c) {
    if (io_now_ms(conn_loop(c)) - c->idle_since_ms < UP_PEEK_MS)
        return true;
    uv_os_fd_t fd;
    char byte;
    if (uv_fileno((const uv_handle_t *)&c->io->uv, &fd) != 0)
        return false;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void conn_give(struct up_conn *c, struct up_ticket *t) {
    list_remove(&c->node);
    list_push(&c->server->busy_conns, &c->node);
    io_timer_stop(conn_loop(c), &c->timer);
    c->ticket = t;
    t->conn = c;
    t->reused = true;
}

bool up_pool_take(struct up_ticket *t) {
    struct up_server *s = t->server;
    while (!list_empty(&s->idle_conns)) {
        struct up_conn *c = container_of(s->idle_conns.prev, struct up_conn, node);
        if (conn_alive(c)) {
            conn_give(c, t);
            return true;
        }
        conn_free(c);
    }
    if (s->conn_count < UP_CONNS_MAX) {
        conn_start(s, t);
        return false;
    }
    list_push(&s->conn_waiters, &t->waiting);
    s->conn_waiting++;
    return false;
}

struct io_conn *up_pool_io(const struct up_ticket *t) {
    return t->conn && t->conn->ready ? t->conn->io : NULL;
}

void up_pool_return(struct up_ticket *t, uint64_t idle_ms) {
    struct up_conn *c = t->conn;
    struct up_server *s = c->server;
    if (idle_ms == 0 || io_conn_queued(c->io) > 0) {
        conn_free(c);
        return;
    }
    io_conn_read(c->io, true);
    t->conn = NULL;
    c->ticket = NULL;
    struct list *n = list_pop(&s->conn_waiters);
    if (n) {
        struct up_ticket *next = container_of(n, struct up_ticket, waiting);
        s->conn_waiting--;
        conn_give(c, next);
        next->ops->ready(next);
        return;
    }
    list_remove(&c->node);
    list_push(&s->idle_conns, &c->node);
    c->idle_since_ms = io_now_ms(conn_loop(c));
    io_timer_arm(conn_loop(c), &c->timer, idle_ms, on_idle_timer);
}

void up_pool_drop(struct up_ticket *t) {
    if (t->conn) {
        conn_free(t->conn);
    } else if (list_linked(&t->waiting)) {
        list_remove(&t->waiting);
        t->server->conn_waiting--;
    }
}

/* As drop, but pending output is still sent. */
static void finish(struct up_ticket *t) {
    if (up_pool_io(t)) {
        io_conn_finish(t->conn->io);
        t->conn->io = NULL;
    }
    up_pool_drop(t);
}

void up_pool_close(struct up_server *s) {
    struct up_loss loss = {.why = "the gateway is closing", .status = UV_ECANCELED, .unsent = true};
    struct list *n;
    while ((n = list_pop(&s->conn_waiters))) {
        struct up_ticket *t = container_of(n, struct up_ticket, waiting);
        s->conn_waiting--;
        t->ops->lost(t, &loss);
    }
    while (!list_empty(&s->idle_conns))
        conn_free(container_of(s->idle_conns.next, struct up_conn, node));
    while (!list_empty(&s->busy_conns)) {
        struct up_ticket *t = container_of(s->busy_conns.next, struct up_conn, node)->ticket;
        loss.unsent = !up_pool_io(t);
        finish(t);
        t->ops->lost(t, &loss);
    }
}
