/* Calls over keep-alive connections, one in flight on each, all from one epoll loop.
 *
 *   idle ──send──▶ in flight ──whole answer──▶ checked, recorded, next call immediately
 *                      └── closed, reset, wrong answer ──▶ error counted, connected anew */
#include "frame.h"
#include "load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define HTTP_HEAD_MAX (LOAD_OPEN_MAX + LOAD_HEADERS_MAX + LOAD_SESSION_ID_MAX + 512)
#define HTTP_EVENTS_MAX 256

struct conn {
    int fd;
    bool busy;
    bool blocked; /* the rest of a request waits for room */
    char head[HTTP_HEAD_MAX];
    size_t head_len;
    size_t json_at; /* where the JSON starts in head */
    uint64_t id;
    size_t sent;
    uint64_t sent_ns;
    char *buf;
    size_t cap;
    size_t len;
    struct frame frame;
};

struct http {
    const struct options *options;
    struct run *run;
    int loop;
    struct conn *conns;
    char (*sessions)[LOAD_SESSION_ID_MAX];
};

static void conn_send(struct http *http, struct conn *conn);

static void conn_watch(struct http *http, struct conn *conn, int op, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = conn};
    if (epoll_ctl(http->loop, op, conn->fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void conn_connect(struct http *http, struct conn *conn) {
    conn->fd = client_connect(http->options);
    if (conn->fd < 0)
        die("cannot connect to %s:%u: %s", http->options->host, http->options->port, strerror(errno));
    set_nonblocking(conn->fd);
    conn->len = 0;
    conn->blocked = false;
    conn->frame = (struct frame){0};
    conn_watch(http, conn, EPOLL_CTL_ADD, EPOLLIN);
}

static void conn_make_head(struct http *http, struct conn *conn, const char *session) {
    const struct options *options = http->options;
    const struct shape *shape = &http->run->shape;
    size_t cap = sizeof conn->head;
    size_t at = put_text(conn->head, cap, 0,
                         "POST %s HTTP/1.1\r\nHost: %s:%u\r\nContent-Type: application/json\r\n"
                         "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n%.*s",
                         options->path, options->host, options->port,
                         shape->open_len + shape->text_len + shape->tail_len, (int)options->headers_len,
                         options->headers);
    if (options->era == ERA_MODERN)
        at =
            put_text(conn->head, cap, at,
                     "MCP-Protocol-Version: " MODERN_VERSION "\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n",
                     options->tool);
    if (options->era == ERA_LEGACY)
        at = put_text(conn->head, cap, at, "MCP-Protocol-Version: " LEGACY_VERSION "\r\n");
    if (options->era == ERA_LEGACY && *session)
        at = put_text(conn->head, cap, at, "Mcp-Session-Id: %s\r\n", session);
    conn->json_at = put_text(conn->head, cap, at, "\r\n");
    conn->head_len = put_bytes(conn->head, cap, conn->json_at, shape->open, shape->open_len);
}

/* The connection is of no more use: connect anew and, while the run lasts, send again. */
static void conn_restart(struct http *http, struct conn *conn) {
    close(conn->fd);
    conn->fd = -1;
    if (conn->busy)
        http->run->in_flight--;
    conn->busy = false;
    if (http->run->phase >= PHASE_DRAIN)
        return;
    conn_connect(http, conn);
    conn_send(http, conn);
}

static void conn_fail(struct http *http, struct conn *conn, const char *what) {
    run_error(http->run, what);
    conn_restart(http, conn);
}

static void conn_write(struct http *http, struct conn *conn) {
    struct iovec iov[3];
    int parts;
    while ((parts = shape_iov(&http->run->shape, conn->head, conn->head_len, conn->sent, iov))) {
        ssize_t n = writev(conn->fd, iov, parts);
        if (n >= 0) {
            conn->sent += (size_t)n;
        } else if (errno == EAGAIN) {
            if (!conn->blocked)
                conn_watch(http, conn, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
            conn->blocked = true;
            return;
        } else if (errno != EINTR) {
            return; /* the read side reports it: one error, not two */
        }
    }
    if (conn->blocked)
        conn_watch(http, conn, EPOLL_CTL_MOD, EPOLLIN);
    conn->blocked = false;
}

static void conn_send(struct http *http, struct conn *conn) {
    if (http->run->phase >= PHASE_DRAIN)
        return;
    conn->id = run_next_id(http->run, (unsigned)(conn - http->conns));
    shape_put_id(&http->run->shape, conn->head + conn->json_at, conn->id);
    conn->sent = 0;
    conn->busy = true;
    http->run->in_flight++;
    conn->sent_ns = now_ns();
    conn_write(http, conn);
}

/* The JSON of an event stream: its last `data:` line that holds an object. */
static struct slice event_data(struct slice body) {
    struct slice found = {0};
    const char *end = body.base + body.len;
    const char *line = body.base;
    while (line && line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((next ? next : end) - line);
        if (len > 6 && memcmp(line, "data:", 5) == 0 && (line[5] == '{' || line[6] == '{'))
            found = (struct slice){line + 5, len - 5};
        line = next ? next + 1 : NULL;
    }
    return found.base ? found : body;
}

static const char *conn_check(struct http *http, struct conn *conn) {
    struct slice body = {conn->frame.body, conn->frame.body_len};
    if (conn->len > conn->frame.total_len)
        return "bytes after the answer";
    if (!conn->busy)
        return "an unsolicited answer";
    if (memcmp(conn->buf + 9, "200", 3) != 0)
        return "an HTTP status other than 200";
    if (body.len && body.base[0] != '{')
        body = event_data(body);
    if (answer_id(body.base, body.len) != conn->id)
        return "another id than was sent";
    return answer_check(&http->run->shape, body.base, body.len);
}

static void conn_answered(struct http *http, struct conn *conn) {
    const char *wrong = conn_check(http, conn);
    if (wrong) {
        conn_fail(http, conn, wrong);
        return;
    }
    run_record(http->run, conn->sent_ns, now_ns());
    if (conn->frame.close) {
        http->run->stats.reconnects++;
        conn_restart(http, conn);
        return;
    }
    conn->busy = false;
    http->run->in_flight--;
    conn->len = 0;
    conn->frame = (struct frame){0};
    conn_send(http, conn);
}

static void conn_read(struct http *http, struct conn *conn) {
    ssize_t n = read(conn->fd, conn->buf + conn->len, conn->cap - conn->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 && !conn->busy) {
        conn_restart(http, conn); /* idle connections exist only while draining */
        return;
    }
    if (n <= 0) {
        conn_fail(http, conn, n == 0 ? "closed by the peer" : "connection reset");
        return;
    }
    conn->len += (size_t)n;
    enum frame_state state = frame_step(&conn->frame, conn->buf, conn->len);
    if (state == FRAME_DONE)
        conn_answered(http, conn);
    else if (state == FRAME_BAD || conn->len == conn->cap)
        conn_fail(http, conn, "an answer that is not HTTP or is too long");
}

/* Enough sessions first, then all connections; a handshake's connection is not reused. */
static void open_sessions(struct http *http) {
    unsigned count = http->options->sessions;
    http->sessions = must_alloc(count * sizeof *http->sessions);
    for (unsigned i = 0; i < count && http->options->era == ERA_LEGACY; i++) {
        int fd = client_connect(http->options);
        if (fd < 0 || !client_handshake(fd, http->options, http->sessions[i]))
            die("initialize at %s:%u failed", http->options->host, http->options->port);
        close(fd);
    }
}

static void open_connections(struct http *http) {
    http->conns = must_alloc(http->options->slots * sizeof *http->conns);
    for (unsigned i = 0; i < http->options->slots; i++) {
        struct conn *conn = &http->conns[i];
        conn->cap = http->options->bytes + http->options->bytes / 4 + LOAD_SLACK;
        conn->buf = must_alloc(conn->cap);
        conn_make_head(http, conn, http->sessions[i % http->options->sessions]);
        conn_connect(http, conn);
    }
}

static void handle_events(struct http *http) {
    struct epoll_event events[HTTP_EVENTS_MAX];
    int count = epoll_wait(http->loop, events, HTTP_EVENTS_MAX, LOAD_TICK_MS);
    run_tick(http->run, now_ns());
    for (int i = 0; i < count; i++) {
        struct conn *conn = events[i].data.ptr;
        if (conn->fd >= 0 && events[i].events & EPOLLOUT)
            conn_write(http, conn);
        if (conn->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT)
            conn_read(http, conn);
    }
}

void load_http(const struct options *options, struct run *run) {
    struct http http = {.options = options, .run = run, .loop = epoll_create1(EPOLL_CLOEXEC)};
    open_sessions(&http);
    open_connections(&http);
    run_begin(run);
    for (unsigned i = 0; i < options->slots; i++)
        conn_send(&http, &http.conns[i]);
    while (run->phase != PHASE_DONE)
        handle_events(&http);
}
