/* A fast echo MCP server: what the load generator calls, directly or through a proxy.
 *
 *   echo [--cpu N] http PORT     one epoll loop, keep-alive; prints the port when PORT is 0
 *   echo [--cpu N] stdio         one message a line
 *   echo … http PORT legacy|modern    knows that era only
 *
 * Otherwise it answers both eras: a request whose _meta names a protocol version gets a modern result, any
 * other a legacy one. The text of `tools/call` goes back as the same bytes, never copied over HTTP:
 *
 *   request buffer   ... "text":"████████" ...
 *                                 │
 *   writev      head + {"jsonrpc" │ ... "text":" + ████████ + "}]}} */
#include "frame.h"
#include "rpc.h"
#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ECHO_CONN_MAX 16384
#define ECHO_EVENTS_MAX 256
#define ECHO_BACKLOG 4096
#define ECHO_BUF_START 16384UL
#define ECHO_BUF_KEEP (256UL << 10) /* an idle connection gives back more than this */
#define ECHO_BUF_MAX (64UL << 20)
#define ECHO_HEAD_MAX 512
#define ECHO_PREFIX_MAX 2048
#define ECHO_ID_MAX 256
#define ECHO_STREAM_EVENTS 1000 /* in front of the result of the tool `stream` */
#define ECHO_TOOLS_MAX 100000
#define ECHO_TOOL_BYTES 256UL
#define ECHO_STREAM_BYTES (128UL << 10)
#define ECHO_OUT_MAX (512UL << 10)
#define ECHO_SERVER_INFO "{\"name\":\"bench-echo\",\"version\":\"1.0.0\"}"

static enum { BOTH_ERAS, LEGACY_ONLY, MODERN_ONLY } echo_era;

static const char *const ECHO_TOOLS =
    "\"tools\":[{\"name\":\"echo\",\"description\":\"Returns its "
    "text.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{\"text\":{\"type\":\"string\"},\"mode\":{\"type\":\"string\"},\"n\":{\"type\":"
    "\"integer\"}},"
    "\"required\":[\"text\"]}},{\"name\":\"forbidden\",\"description\":\"Returns its text; for policies that "
    "deny it.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}";
static const char *const LEGACY_VERSIONS[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

/* One answer: prefix + text + suffix. No prefix means there is nothing to say (a notification). */
struct reply {
    char prefix[ECHO_PREFIX_MAX];
    size_t prefix_len;
    struct slice text;
    const char *suffix;
    const char *status;
    bool session;
    struct slice events; /* not empty: the answer is a stream, and these come first */
};

struct conn {
    int fd;
    bool writing;
    char *buf;
    size_t cap;
    size_t len;
    struct frame frame;
    char head[ECHO_HEAD_MAX];
    struct reply reply;
    struct iovec iov[7];
    int iov_at;
    int iov_count;
};

static struct conn *conns[ECHO_CONN_MAX];
static uint64_t session_count;

static void serve_http(uint16_t port);
static void serve_stdio(void);

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    int at = 1;
    if (argc > at + 1 && strcmp(argv[at], "--cpu") == 0) {
        pin_cpu((int)parse_number("--cpu", argv[at + 1], 0, 1023));
        at += 2;
    }
    if (argc == at + 3 && strcmp(argv[at + 2], "legacy") == 0)
        echo_era = LEGACY_ONLY;
    else if (argc == at + 3 && strcmp(argv[at + 2], "modern") == 0)
        echo_era = MODERN_ONLY;
    if (argc == at + 1 && strcmp(argv[at], "stdio") == 0)
        serve_stdio();
    else if (argc == at + 2 + (echo_era != BOTH_ERAS) && strcmp(argv[at], "http") == 0)
        serve_http((uint16_t)parse_number("PORT", argv[at + 1], 0, 65535));
    else
        die("usage: echo [--cpu N] (http PORT [legacy|modern] | stdio)");
    return 0;
}

/* Answers, the same for both transports. */

static void reply_text(struct reply *reply, const char *text) {
    reply->prefix_len = put_bytes(reply->prefix, sizeof reply->prefix, reply->prefix_len, text, strlen(text));
}

static void reply_start(struct reply *reply, const struct rpc *rpc, const char *member) {
    reply->prefix_len = 0;
    reply_text(reply, "{\"jsonrpc\":\"2.0\",\"id\":");
    reply->prefix_len =
        put_bytes(reply->prefix, sizeof reply->prefix, reply->prefix_len, rpc->id.base, rpc->id.len);
    reply_text(reply, member);
}

static void reply_error(struct reply *reply, const struct rpc *rpc, const char *status, const char *error) {
    reply->status = status;
    reply_start(reply, rpc, ",\"error\":");
    reply_text(reply, error);
    reply->suffix = "}";
}

static void reply_initialize(struct reply *reply, const struct rpc *rpc) {
    const char *version = LEGACY_VERSIONS[0];
    for (size_t i = 0; i < sizeof LEGACY_VERSIONS / sizeof *LEGACY_VERSIONS; i++)
        if (slice_is(rpc->version, LEGACY_VERSIONS[i]))
            version = LEGACY_VERSIONS[i];
    reply->session = true;
    reply_start(reply, rpc, ",\"result\":");
    reply_text(reply, "{\"protocolVersion\":\"");
    reply_text(reply, version);
    reply->suffix = "\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" ECHO_SERVER_INFO "}}";
}

/* Messages of a log, as events; made once. */
static struct slice stream_events(void) {
    static char text[ECHO_STREAM_BYTES];
    static size_t len;
    if (len)
        return (struct slice){text, len};
    for (int i = 0; i < ECHO_STREAM_EVENTS; i++)
        len = put_text(text, sizeof text, len,
                       "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                       "\"level\":\"info\",\"data\":\"row %d\"}}\n\n",
                       i);
    return (struct slice){text, len};
}

static void reply_call(struct reply *reply, const struct rpc *rpc) {
    if (slice_is(rpc->name, "stream")) {
        reply->events = stream_events();
    } else if (!slice_is(rpc->name, "echo") && !slice_is(rpc->name, "forbidden")) {
        reply_error(reply, rpc, "200 OK", "{\"code\":-32602,\"message\":\"Unknown tool\"}");
        return;
    }
    reply_start(reply, rpc, ",\"result\":");
    reply_text(reply, rpc->modern ? "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\""
                                  : "{\"content\":[{\"type\":\"text\",\"text\":\"");
    reply->text = rpc->text;
    reply->suffix = rpc->modern ? "\"}],\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" ECHO_SERVER_INFO
                                  "}}}"
                                : "\"}]}}";
}

/* Its own tools, and as many more as the environment asks for. */
static struct slice list_of_tools(void) {
    static struct slice list;
    const char *asked = getenv("ECHO_TOOLS");
    size_t more = asked ? parse_number("ECHO_TOOLS", asked, 0, ECHO_TOOLS_MAX) : 0,
           cap = 4096 + more * ECHO_TOOL_BYTES, len = 0;
    if (list.base)
        return list;
    char *text = must_alloc(cap);
    len = put_bytes(text, cap, len, ECHO_TOOLS, strlen(ECHO_TOOLS));
    for (size_t i = 0; i < more; i++)
        len = put_text(
            text, cap, len,
            ",{\"name\":\"tool_%zu\",\"description\":\"Reads a row of table %zu.\",\"inputSchema\":{\"type\":"
            "\"object\",\"properties\":{\"row\":{\"type\":\"integer\"}}}}",
            i, i);
    list = (struct slice){text, len};
    return list;
}

static void reply_list(struct reply *reply, const struct rpc *rpc) {
    reply_start(reply, rpc, ",\"result\":{");
    reply->text = list_of_tools();
    reply->suffix =
        rpc->modern ? "],\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\"}}" : "]}}";
}

static void reply_discover(struct reply *reply, const struct rpc *rpc) {
    reply_start(reply, rpc, ",\"result\":");
    reply->suffix =
        "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":"
        "{}},\"ttlMs\":60000,\"cacheScope\":\"public\",\"_meta\":{\"io.modelcontextprotocol/"
        "serverInfo\":" ECHO_SERVER_INFO "}}}";
}

/* Only prefix[0..prefix_len) is ever read, so the big arrays are not cleared per call. */
static void reply_reset(struct reply *reply) {
    reply->prefix_len = 0;
    reply->text = (struct slice){0};
    reply->suffix = "";
    reply->status = "200 OK";
    reply->session = false;
    reply->events = (struct slice){0};
}

static void reply_make(struct reply *reply, const char *message, size_t len) {
    static const struct rpc nobody = {.id = {"null", 4}};
    struct rpc rpc;
    reply_reset(reply);
    if (!rpc_scan(&rpc, message, len) || rpc.id.len > ECHO_ID_MAX) {
        reply_error(reply, &nobody, "400 Bad Request", "{\"code\":-32700,\"message\":\"Parse error\"}");
    } else if (!rpc.id.base || !rpc.method.base) {
        reply->status = "202 Accepted";
    } else if (echo_era != BOTH_ERAS && rpc.modern != (echo_era == MODERN_ONLY)) {
        reply_error(reply, &rpc, "400 Bad Request", "{\"code\":-32600,\"message\":\"another era\"}");
    } else if (slice_is(rpc.method, "tools/call")) {
        reply_call(reply, &rpc);
    } else if (slice_is(rpc.method, "tools/list")) {
        reply_list(reply, &rpc);
    } else if (slice_is(rpc.method, "initialize") && !rpc.modern) {
        reply_initialize(reply, &rpc);
    } else if (slice_is(rpc.method, "server/discover") && rpc.modern) {
        reply_discover(reply, &rpc);
    } else if (slice_is(rpc.method, "ping") && !rpc.modern) {
        reply_start(reply, &rpc, ",\"result\":");
        reply->suffix = "{}}";
    } else {
        reply_error(reply, &rpc, rpc.modern ? "404 Not Found" : "200 OK",
                    "{\"code\":-32601,\"message\":\"Method not found\"}");
    }
}

/* HTTP */

static int listen_on(uint16_t port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, ECHO_BACKLOG) < 0)
        die("listen on 127.0.0.1:%u: %s", port, strerror(errno));
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        die("getsockname: %s", strerror(errno));
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(int loop, int fd, int op, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(loop, op, fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void conn_open(int loop, int fd) {
    int one = 1;
    if (fd >= ECHO_CONN_MAX) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct conn *conn = must_alloc(sizeof *conn);
    conn->fd = fd;
    conn->cap = ECHO_BUF_START;
    conn->buf = must_alloc(conn->cap);
    conns[fd] = conn;
    watch(loop, fd, EPOLL_CTL_ADD, EPOLLIN);
}

static void conn_close(struct conn *conn) {
    conns[conn->fd] = NULL;
    close(conn->fd);
    free(conn->buf);
    free(conn);
}

static void accept_all(int loop, int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        conn_open(loop, fd);
}

static void conn_resize(struct conn *conn, size_t cap) {
    char *grown = realloc(conn->buf, cap);
    if (!grown)
        die("out of memory");
    conn->buf = grown;
    conn->cap = cap;
}

/* Room for more: for the whole body in one step when its length is known. */
static bool conn_grow(struct conn *conn) {
    size_t want = conn->cap * 2;
    if (conn->frame.head_len && !conn->frame.chunked && want < conn->frame.total_len)
        want = conn->frame.total_len;
    if (want > ECHO_BUF_MAX)
        return false;
    conn_resize(conn, want);
    conn->frame.body = conn->buf + conn->frame.head_len;
    return true;
}

static size_t head_text(struct conn *conn, size_t at, const char *text) {
    return put_bytes(conn->head, sizeof conn->head, at, text, strlen(text));
}

static size_t make_head(struct conn *conn, size_t body_len) {
    size_t at = head_text(conn, 0, "HTTP/1.1 ");
    at = head_text(conn, at, conn->reply.status);
    at = head_text(conn, at, "\r\nContent-Length: ");
    at = put_u64(conn->head, sizeof conn->head, at, body_len);
    if (conn->reply.session)
        at = put_text(conn->head, sizeof conn->head, at, "\r\nMcp-Session-Id: bench-%016llx",
                      (unsigned long long)++session_count);
    if (conn->reply.events.len)
        return head_text(conn, at, "\r\nContent-Type: text/event-stream\r\n\r\n");
    return head_text(conn, at, body_len ? "\r\nContent-Type: application/json\r\n\r\n" : "\r\n\r\n");
}

/* There is no stream for GET. A legacy client without a session id gets 400: it shows that sessions exist. */
static const char *status_without_body(const struct conn *conn) {
    if (memcmp(conn->buf, "DELETE ", 7) == 0)
        return "200 OK";
    bool missed =
        echo_era != MODERN_ONLY && !frame_header(conn->buf, conn->frame.head_len, "mcp-session-id").len;
    return missed ? "400 Bad Request" : "405 Method Not Allowed";
}

static void conn_answer(struct conn *conn) {
    struct reply *reply = &conn->reply;
    if (memcmp(conn->buf, "POST ", 5) == 0) {
        reply_make(reply, conn->frame.body, conn->frame.body_len);
    } else {
        reply_reset(reply);
        reply->status = status_without_body(conn);
    }
    static const char DATA[] = "data: ", END[] = "\n\n";
    const bool stream = reply->events.len > 0;
    const struct iovec parts[6] = {{(void *)reply->events.base, reply->events.len},
                                   {(void *)DATA, stream ? strlen(DATA) : 0},
                                   {reply->prefix, reply->prefix_len},
                                   {(void *)reply->text.base, reply->text.len},
                                   {(void *)reply->suffix, strlen(reply->suffix)},
                                   {(void *)END, stream ? strlen(END) : 0}};
    size_t body_len = 0;
    conn->iov_count = 1;
    for (int i = 0; i < 6; i++) {
        body_len += parts[i].iov_len;
        if (parts[i].iov_len)
            conn->iov[conn->iov_count++] = parts[i];
    }
    conn->iov[0] = (struct iovec){conn->head, make_head(conn, body_len)};
    conn->iov_at = 0;
}

static void iov_advance(struct conn *conn, size_t sent) {
    while (conn->iov_at < conn->iov_count && sent >= conn->iov[conn->iov_at].iov_len)
        sent -= conn->iov[conn->iov_at++].iov_len;
    if (sent) {
        struct iovec *part = &conn->iov[conn->iov_at];
        part->iov_base = (char *)part->iov_base + sent;
        part->iov_len -= sent;
    }
}

/* True when the answer is out. False: wait for room, or the connection is gone (conns[fd] is NULL). */
static bool conn_flush(int loop, struct conn *conn) {
    while (conn->iov_at < conn->iov_count) {
        ssize_t n = writev(conn->fd, conn->iov + conn->iov_at, conn->iov_count - conn->iov_at);
        if (n >= 0) {
            iov_advance(conn, (size_t)n);
        } else if (errno == EAGAIN) {
            if (!conn->writing)
                watch(loop, conn->fd, EPOLL_CTL_MOD, EPOLLOUT);
            conn->writing = true;
            return false;
        } else if (errno != EINTR) {
            conn_close(conn);
            return false;
        }
    }
    if (conn->writing)
        watch(loop, conn->fd, EPOLL_CTL_MOD, EPOLLIN);
    conn->writing = false;
    return true;
}

/* Drops the answered request from the buffer. False when the connection was closed. */
static bool conn_next(struct conn *conn) {
    size_t used = conn->frame.total_len;
    if (conn->frame.close) {
        conn_close(conn);
        return false;
    }
    conn->len -= used;
    if (conn->len)
        memmove(conn->buf, conn->buf + used, conn->len);
    else if (conn->cap > ECHO_BUF_KEEP && used < ECHO_BUF_KEEP)
        conn_resize(conn, ECHO_BUF_START);
    conn->frame = (struct frame){0};
    return true;
}

/* Answers all complete requests in the buffer, one at a time. */
static void conn_process(int loop, struct conn *conn) {
    while (conn->len) {
        enum frame_state state = frame_step(&conn->frame, conn->buf, conn->len);
        if (state == FRAME_MORE && (conn->len < conn->cap || conn_grow(conn)))
            return;
        if (state != FRAME_DONE) {
            conn_close(conn);
            return;
        }
        conn_answer(conn);
        if (!conn_flush(loop, conn) || !conn_next(conn))
            return;
    }
}

static void conn_read(int loop, struct conn *conn) {
    ssize_t n = read(conn->fd, conn->buf + conn->len, conn->cap - conn->len);
    if (n > 0) {
        conn->len += (size_t)n;
        conn_process(loop, conn);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        conn_close(conn);
    }
}

static void conn_event(int loop, struct conn *conn) {
    if (!conn->writing)
        conn_read(loop, conn);
    else if (conn_flush(loop, conn) && conn_next(conn))
        conn_process(loop, conn);
}

static void serve_http(uint16_t port) {
    raise_fd_limit();
    int listener = listen_on(port);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[ECHO_EVENTS_MAX];
    watch(loop, listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        int count = epoll_wait(loop, events, ECHO_EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accept_all(loop, listener);
            else if (conns[events[i].data.fd])
                conn_event(loop, conns[events[i].data.fd]);
        }
    }
}

/* stdio: answers are gathered until the input is drained, then leave in one write. */

struct out {
    char *base;
    size_t len;
};

static void write_all(const char *base, size_t len) {
    while (len) {
        ssize_t n = write(STDOUT_FILENO, base, len);
        if (n < 0 && errno != EINTR)
            exit(0); /* the client left */
        if (n > 0) {
            base += n;
            len -= (size_t)n;
        }
    }
}

static void out_flush(struct out *out) {
    write_all(out->base, out->len);
    out->len = 0;
}

static void out_put(struct out *out, const char *base, size_t len) {
    if (out->len + len > ECHO_OUT_MAX)
        out_flush(out);
    if (len > ECHO_OUT_MAX) {
        write_all(base, len);
        return;
    }
    if (len)
        memcpy(out->base + out->len, base, len);
    out->len += len;
}

static void answer_line(struct out *out, const char *line, size_t len) {
    static struct reply reply;
    reply_make(&reply, line, len);
    if (!reply.prefix_len)
        return;
    out_put(out, reply.prefix, reply.prefix_len);
    out_put(out, reply.text.base, reply.text.len);
    out_put(out, reply.suffix, strlen(reply.suffix));
    out_put(out, "\n", 1);
}

/* Answers the whole lines in buf; returns how many bytes they took. `from` skips what was searched. */
static size_t answer_lines(struct out *out, const char *buf, size_t len, size_t from) {
    size_t start = 0;
    const char *newline;
    while ((newline = memchr(buf + from, '\n', len - from))) {
        size_t end = (size_t)(newline - buf);
        if (end > start)
            answer_line(out, buf + start, end - start);
        start = from = end + 1;
    }
    return start;
}

static void serve_stdio(void) {
    struct out out = {.base = must_alloc(ECHO_OUT_MAX)};
    size_t cap = ECHO_BUF_KEEP;
    char *buf = must_alloc(cap);
    size_t len = 0;
    for (;;) {
        if (len == cap) {
            cap *= 2;
            if (cap > ECHO_BUF_MAX)
                die("a line over %lu bytes", ECHO_BUF_MAX);
            buf = realloc(buf, cap);
            if (!buf)
                die("out of memory");
        }
        ssize_t n = read(STDIN_FILENO, buf + len, cap - len);
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
        if (n < 0)
            continue;
        size_t searched = len;
        len += (size_t)n;
        size_t used = answer_lines(&out, buf, len, searched);
        len -= used;
        memmove(buf, buf + used, len);
        out_flush(&out);
    }
}
