#include "io/net.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

struct io_listener {
    uv_tcp_t tcp;
    void (*incoming)(struct io_listener *l, void *owner, uv_stream_t *server);
    void *owner;
};

static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret_addr) {
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)ret_addr) == 0)
        return 0;
    return uv_ip6_addr(address, port, (struct sockaddr_in6 *)ret_addr);
}

static void on_listener_closed(uv_handle_t *handle) { free(handle->data); }

void io_listener_close(struct io_listener *l) {
    if (l)
        uv_close((uv_handle_t *)&l->tcp, on_listener_closed);
}

static void on_connection(uv_stream_t *server, int status) {
    struct io_listener *l = server->data;
    if (status == 0)
        l->incoming(l, l->owner, server);
}

static uint16_t bound_port(uv_tcp_t *tcp) {
    struct sockaddr_storage addr;
    int len = sizeof(addr);
    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    return ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
                                            : ((struct sockaddr_in *)&addr)->sin_port);
}

struct io_listener *io_listen(struct io_loop *loop, const char *address, uint16_t port,
                              void (*incoming)(struct io_listener *l, void *owner, uv_stream_t *server),
                              void *owner, uint16_t *ret_port, struct err *err) {
    struct sockaddr_storage addr;
    if (parse_address(strcmp(address, "localhost") == 0 ? "127.0.0.1" : address, port, &addr) != 0) {
        err_set(err, "listen on `%s`: not a numeric address; use one such as 127.0.0.1 or ::1", address);
        return NULL;
    }
    struct io_listener *l = mem_zalloc(sizeof(*l));
    uv_tcp_init(&loop->uv, &l->tcp);
    l->tcp.data = l;
    l->incoming = incoming;
    l->owner = owner;
    int rc = uv_tcp_bind(&l->tcp, (struct sockaddr *)&addr, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)&l->tcp, IO_BACKLOG, on_connection);
    if (rc != 0) {
        err_set(err, "listen on %s:%u: %s", address, port, uv_strerror(rc));
        io_listener_close(l);
        return NULL;
    }
    *ret_port = bound_port(&l->tcp);
    return l;
}

bool io_is_loopback(const char *address) {
    struct in_addr v4;
    struct in6_addr v6;
    if (strcmp(address, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

/* ---- connecting ---- */

struct io_dial {
    struct io_loop *loop;
    const struct io_handlers *handlers;
    void *owner;
    void (*ready)(void *owner, struct io_conn *c, int status);
    struct io_conn *conn; /* of the attempt under way */
    uv_getaddrinfo_t resolve;
    uv_connect_t connect;
    struct io_timer fail_later;
    int status;
    struct addrinfo *found;
    struct addrinfo *at;
    struct sockaddr_storage literal;
    bool pending; /* libuv holds one of the requests */
    bool cancelled;
};

static void dial_free(struct io_dial *d) {
    io_timer_stop(d->loop, &d->fail_later);
    uv_freeaddrinfo(d->found);
    free(d);
}

static void dial_answer(struct io_dial *d, int status) {
    struct io_conn *c = d->conn;
    if (status != 0 && c) {
        io_conn_close(c);
        c = NULL;
    }
    if (!d->cancelled)
        d->ready(d->owner, c, status);
    dial_free(d);
}

static void on_fail_later(struct io_timer *timer) {
    struct io_dial *d = container_of(timer, struct io_dial, fail_later);
    dial_answer(d, d->status);
}

static void dial_fail_later(struct io_dial *d, int status) {
    d->status = status;
    io_timer_soon(d->loop, &d->fail_later, on_fail_later);
}

static void dial_attempt(struct io_dial *d);

static void on_connected(uv_connect_t *req, int status) {
    struct io_dial *d = req->data;
    d->pending = false;
    if (status < 0 && !d->cancelled && d->at && d->at->ai_next) {
        io_conn_close(d->conn);
        d->at = d->at->ai_next;
        dial_attempt(d);
        return;
    }
    if (status == 0)
        uv_tcp_nodelay(&d->conn->uv.tcp, 1);
    dial_answer(d, status);
}

static void dial_attempt(struct io_dial *d) {
    const struct sockaddr *addr = d->at ? d->at->ai_addr : (struct sockaddr *)&d->literal;
    d->conn = io_conn_tcp(d->loop, d->handlers, d->owner);
    d->connect.data = d;
    int rc = uv_tcp_connect(&d->connect, &d->conn->uv.tcp, addr, on_connected);
    if (rc < 0)
        dial_fail_later(d, rc);
    else
        d->pending = true;
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found) {
    struct io_dial *d = req->data;
    d->pending = false;
    d->found = d->at = found;
    if (d->cancelled || status < 0)
        dial_answer(d, status < 0 ? status : UV_ECANCELED);
    else
        dial_attempt(d);
}

struct io_dial *io_connect(struct io_loop *loop, const char *host, uint16_t port, const struct io_handlers *h,
                           void *owner, void (*ready)(void *owner, struct io_conn *c, int status)) {
    struct io_dial *d = mem_zalloc(sizeof(*d));
    d->loop = loop;
    d->handlers = h;
    d->owner = owner;
    d->ready = ready;
    if (parse_address(host, port, &d->literal) == 0) {
        dial_attempt(d);
        return d;
    }
    char service[8];
    snprintf(service, sizeof(service), "%u", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    d->resolve.data = d;
    int rc = uv_getaddrinfo(&loop->uv, &d->resolve, on_resolved, host, service, &hints);
    if (rc < 0)
        dial_fail_later(d, rc);
    else
        d->pending = true;
    return d;
}

/* libuv still holds the request of a pending dial: it is freed when that comes back. */
void io_dial_cancel(struct io_dial *d) {
    if (!d)
        return;
    d->cancelled = true;
    io_conn_close(d->conn);
    d->conn = NULL;
    if (!d->pending)
        dial_free(d);
}
