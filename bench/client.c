#include "frame.h"
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_BUF_SIZE 65536
#define CLIENT_WAIT_MS 10000

const char *const INITIALIZE_BODY =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"" LEGACY_VERSION
    "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench-load\",\"version\":\"1.0.0\"}}}";
const char *const INITIALIZED_BODY = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

int client_connect(const struct options *options) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options->port)};
    if (inet_pton(AF_INET, options->host, &address.sin_addr) != 1)
        die("--url: want an IPv4 address, got `%s`", options->host);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd < 0)
        die("socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static bool write_whole(int fd, const char *base, size_t len) {
    while (len) {
        ssize_t n = write(fd, base, len);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            base += n;
            len -= (size_t)n;
        }
    }
    return true;
}

/* One read, or -1 after CLIENT_WAIT_MS of silence. */
static ssize_t read_some(int fd, char *buf, size_t cap) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int n = poll(&ready, 1, CLIENT_WAIT_MS);
    return n == 1 ? read(fd, buf, cap) : -1;
}

/* Posts one message and reads the whole answer. Returns the HTTP status, 0 when it failed. */
static unsigned exchange(int fd, const struct options *options, const char *session, const char *body,
                         char *buf, struct frame *ret_frame) {
    size_t at = put_text(buf, CLIENT_BUF_SIZE, 0,
                         "POST %s HTTP/1.1\r\nHost: %s:%u\r\nContent-Type: application/json\r\n"
                         "Accept: application/json, text/event-stream\r\nContent-Length: %zu\r\n%.*s",
                         options->path, options->host, options->port, strlen(body), (int)options->headers_len,
                         options->headers);
    if (session)
        at = put_text(buf, CLIENT_BUF_SIZE, at, "MCP-Protocol-Version: " LEGACY_VERSION "\r\n");
    if (session && *session)
        at = put_text(buf, CLIENT_BUF_SIZE, at, "Mcp-Session-Id: %s\r\n", session);
    at = put_text(buf, CLIENT_BUF_SIZE, at, "\r\n%s", body);
    if (!write_whole(fd, buf, at))
        return 0;
    struct frame frame = {0};
    enum frame_state state = FRAME_MORE;
    for (size_t len = 0; state == FRAME_MORE && len < CLIENT_BUF_SIZE;) {
        ssize_t n = read_some(fd, buf + len, CLIENT_BUF_SIZE - len);
        if (n <= 0)
            return 0;
        len += (size_t)n;
        state = frame_step(&frame, buf, len);
    }
    *ret_frame = frame;
    if (state != FRAME_DONE || frame.head_len < 12)
        return 0;
    return (unsigned)((buf[9] - '0') * 100 + (buf[10] - '0') * 10 + (buf[11] - '0'));
}

bool client_handshake(int fd, const struct options *options, char *ret_session) {
    char buf[CLIENT_BUF_SIZE];
    struct frame frame;
    ret_session[0] = '\0';
    if (exchange(fd, options, NULL, INITIALIZE_BODY, buf, &frame) != 200 ||
        !find_bytes(frame.body, frame.body_len, "\"protocolVersion\""))
        return false;
    struct slice id = frame_header(buf, frame.head_len, "mcp-session-id");
    put_text(ret_session, LOAD_SESSION_ID_MAX, 0, "%.*s", (int)id.len, id.base ? id.base : "");
    unsigned status = exchange(fd, options, ret_session, INITIALIZED_BODY, buf, &frame);
    return status == 202 || status == 200 || status == 204;
}

static bool read_line_answer(int fd, char *buf) {
    for (size_t len = 0; len < CLIENT_BUF_SIZE;) {
        ssize_t n = read_some(fd, buf + len, CLIENT_BUF_SIZE - len);
        if (n <= 0)
            return false;
        len += (size_t)n;
        if (buf[len - 1] == '\n')
            return find_bytes(buf, len, "\"protocolVersion\"") != NULL;
    }
    return false;
}

bool client_stdio_handshake(const struct proc_child *child, bool notify) {
    char buf[CLIENT_BUF_SIZE];
    size_t len = put_text(buf, sizeof buf, 0, "%s\n", INITIALIZE_BODY);
    if (!write_whole(child->in, buf, len) || !read_line_answer(child->out, buf))
        return false;
    len = put_text(buf, sizeof buf, 0, "%s\n", INITIALIZED_BODY);
    return !notify || write_whole(child->in, buf, len);
}
