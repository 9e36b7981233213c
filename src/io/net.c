#include "io/net.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The listening socket is polled, not handed to libuv: workers share it, and each of them decides whether to
 * take the next connection before it does. */
struct io_listener {
    struct io_loop *loop;
    uv_poll_t poll;
    int fd;
    char *path; /* of a unix socket: removed at the end */
    void (*incoming)(struct io_listener *l, void *owner, int take_fd);
    void *owner;
    bool (*may_accept)(void *owner); /* NULL: always */
    bool yielded;                    /* the waiting connection has already been left to other workers once */
    uv_timer_t again;                /* one turn of the loop's timers would take too long */
    unsigned open;                   /* handles */
};

static int parse_address(const char *address, uint16_t port, struct sockaddr_storage *ret_addr) {
    if (uv_ip4_addr(address, port, (struct sockaddr_in *)ret_addr) == 0)
        return 0;
    return uv_ip6_addr(address, port, (struct sockaddr_in6 *)ret_addr);
}

static void on_listener_closed(uv_handle_t *handle) {
    struct io_listener *l = handle->data;
    if (--l->open)
        return;
    free(l->path);
    free(l);
}

void io_listener_close(struct io_listener *l) {
    if (!l)
        return;
    if (l->path)
        unlink(l->path);
    uv_close((uv_handle_t *)&l->poll, on_listener_closed);
    uv_close((uv_handle_t *)&l->again, on_listener_closed);
    close(l->fd); /* refuses connections from now on */
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void on_again(uv_timer_t *timer) {
    struct io_listener *l = timer->data;
    uv_poll_start(&l->poll, UV_READABLE, on_readable);
}

static void rest(struct io_listener *l, uint64_t ms) {
    uv_poll_stop(&l->poll);
    uv_timer_start(&l->again, on_again, ms, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    struct io_listener *l = poll->data;
    if (l->may_accept && !l->yielded && !l->may_accept(l->owner)) {
        l->yielded = true;
        rest(l, IO_ACCEPT_YIELD_MS);
        return;
    }
    l->yielded = false;
    for (int i = 0; i < (l->may_accept ? 1 : IO_ACCEPT_BURST); i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            rest(l, IO_ACCEPT_FULL_MS);
            return;
        }
        if (fd < 0)
            return; /* another process accepted it, or its client closed it */
        l->incoming(l, l->owner, fd);
        if (uv_is_closing((uv_handle_t *)poll))
            return;
    }
}

struct io_listener *io_listen_fd(struct io_loop *loop, int take_fd,
                                 void (*incoming)(struct io_listener *l, void *owner, int take_fd),
                                 void *owner) {
    struct io_listener *l = mem_zalloc(sizeof(*l));
    l->loop = loop;
    l->fd = take_fd;
    l->incoming = incoming;
    l->owner = owner;
    uv_poll_init(&loop->uv, &l->poll, take_fd);
    uv_timer_init(&loop->uv, &l->again);
    l->poll.data = l->again.data = l;
    l->open = 2;
    uv_poll_start(&l->poll, UV_READABLE, on_readable);
    return l;
}

void io_listener_share(struct io_listener *l, bool (*may_accept)(void *owner)) { l->may_accept = may_accept; }

uint16_t io_bound_port(int fd, char ret_address[IO_ADDRESS_MAX]) {
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof(addr);
    if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
        return 0;
    const bool six = addr.ss_family == AF_INET6;
    const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;
    const struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;
    if (!six && addr.ss_family != AF_INET)
        return 0;
    if (ret_address && !inet_ntop(addr.ss_family, six ? (const void *)&v6->sin6_addr : &v4->sin_addr,
                                  ret_address, IO_ADDRESS_MAX))
        return 0;
    return ntohs(six ? v6->sin6_port : v4->sin_port);
}

static int listen_open(const char *address, uint16_t port, bool shared, struct err *err) {
    struct sockaddr_storage addr;
    if (parse_address(strcmp(address, "localhost") == 0 ? "127.0.0.1" : address, port, &addr) != 0)
        return err_set(err, "listen on `%s`: not a numeric address; use one such as 127.0.0.1 or ::1",
                       address);
    const int on = 1;
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const socklen_t len =
        addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (!shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0) &&
        bind(fd, (struct sockaddr *)&addr, len) == 0 && listen(fd, IO_BACKLOG) == 0)
        return fd;
    err_set(err, "listen on %s:%u: %s", address, port, uv_strerror(-errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

int io_listen_open(const char *address, uint16_t port, struct err *err) {
    return listen_open(address, port, false, err);
}

int io_listen_shared(const char *address, uint16_t port, struct err *err) {
    return listen_open(address, port, true, err);
}

struct io_listener *io_listen(struct io_loop *loop, const char *address, uint16_t port,
                              void (*incoming)(struct io_listener *l, void *owner, int take_fd), void *owner,
                              uint16_t *ret_port, struct err *err) {
    int fd = io_listen_open(address, port, err);
    if (fd < 0)
        return NULL;
    *ret_port = io_bound_port(fd, NULL);
    return io_listen_fd(loop, fd, incoming, owner);
}

/* ---- unix sockets ---- */

/* A path may be longer than the name of a socket: the directory is opened and addressed as
 * /proc/self/fd/N. */
static int unix_address(const char *dir, const char *name, struct sockaddr_un *ret_addr) {
    int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    *ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret_addr->sun_path, sizeof(ret_addr->sun_path), "/proc/self/fd/%d/%s", at, name);
    return at;
}

struct io_listener *io_listen_unix(struct io_loop *loop, const char *dir, const char *name,
                                   void (*incoming)(struct io_listener *l, void *owner, int take_fd),
                                   void *owner, struct err *err) {
    struct sockaddr_un addr;
    int at = unix_address(dir, name, &addr);
    int fd = at >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 &&
              chmod(addr.sun_path, 0600) == 0 && listen(fd, IO_BACKLOG) == 0;
    if (!ok)
        err_set(err, "listen on `%s/%s`: %s", dir, name, uv_strerror(-errno));
    if (at >= 0)
        close(at);
    if (!ok && fd >= 0)
        close(fd);
    if (!ok)
        return NULL;
    struct io_listener *l = io_listen_fd(loop, fd, incoming, owner);
    l->path = mem_alloc(strlen(dir) + strlen(name) + 2);
    snprintf(l->path, strlen(dir) + strlen(name) + 2, "%s/%s", dir, name);
    return l;
}

bool io_same_user(int fd) {
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int io_dial_unix(const char *dir, const char *name) {
    struct sockaddr_un addr;
    int at = unix_address(dir, name, &addr);
    int fd = at >= 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0 && io_same_user(fd);
    if (at >= 0)
        close(at);
    if (!ok && fd >= 0)
        close(fd);
    return ok ? fd : -1;
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

/* ---- resolving alone ---- */

struct io_lookup {
    uv_getaddrinfo_t request;
    struct io_loop *loop;
    void (*done)(void *owner, const struct io_address *found, size_t count, int status);
    void *owner;
    struct io_timer fail_later;
    int status;
    bool cancelled;
};

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *found) {
    struct io_lookup *l = request->data;
    struct io_address all[IO_ADDRESSES_MAX];
    size_t count = 0;
    for (const struct addrinfo *at = found; status == 0 && at && count < IO_ADDRESSES_MAX; at = at->ai_next)
        count += io_address_of(at->ai_addr, &all[count]);
    uv_freeaddrinfo(found);
    if (!l->cancelled)
        l->done(l->owner, all, count, count ? 0 : status < 0 ? status : UV_EAI_NONAME);
    free(l);
}

static void on_lookup_failed(struct io_timer *timer) {
    struct io_lookup *l = container_of(timer, struct io_lookup, fail_later);
    on_looked_up(&l->request, l->status, NULL);
}

struct io_lookup *
io_resolve(struct io_loop *loop, const char *host,
           void (*done)(void *owner, const struct io_address *found, size_t count, int status), void *owner) {
    struct io_lookup *l = mem_zalloc(sizeof(*l));
    *l = (struct io_lookup){.request.data = l, .loop = loop, .done = done, .owner = owner};
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    l->status = uv_getaddrinfo(&loop->uv, &l->request, on_looked_up, host, NULL, &hints);
    if (l->status < 0)
        io_timer_soon(loop, &l->fail_later, on_lookup_failed);
    return l;
}

/* libuv holds the request until its thread is done with it. */
void io_resolve_cancel(struct io_lookup *l) {
    if (!l)
        return;
    l->cancelled = true;
    if (l->status < 0) {
        io_timer_stop(l->loop, &l->fail_later);
        free(l);
    }
}
