/* Part of sallyport-programs.so. A run has no network, but its code may start a server on loop-back and call
 * it: the functions here replace those of the C library for TCP sockets.
 *
 *   listening socket   one end of a socket pair; a byte arrives at it for each waiting connection
 *   connection         a socket pair: one end replaces the client's descriptor, accept() takes the other
 *
 * The kernel sees socket pairs only, which code may make anyway. A descriptor is recognised by the inode of
 * its socket, so copies of it are, too. */
#include "sandbox/loopback.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FD_MAX 256 /* descriptors that a sandbox may have */
#define ENDS_MAX 512
#define WAITING_MAX 128
#define HIDDEN_FD 64 /* descriptors that code does not see have higher numbers */
#define PORT_FIRST 32768
#define PORT_LAST 60999
#define RETRY_NS 1000000

enum state { END_FREE, END_FRESH, END_LISTENING, END_WAITING, END_CONNECTED };
enum option { OPTION_REUSE = 1, OPTION_SHARE = 2, OPTION_ALIVE = 4, OPTION_NODELAY = 8, OPTION_ONLY6 = 16 };

static struct end {
    enum state state;
    ino_t inode;   /* of the descriptor that code has */
    int other;     /* LISTENING: the hidden other end; WAITING: the end itself; else -1 */
    ino_t of;      /* WAITING: its listener */
    uint64_t turn; /* WAITING: the order of arrival */
    bool six;      /* IPv6 */
    bool mapped;   /* IPv6, but the other side is IPv4 */
    bool any;      /* bound to every address */
    in_port_t port, peer;
    unsigned options;
} ends[ENDS_MAX];
static bool opened, outwards;
static uint64_t turns;
static in_port_t last_port;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void loopback_open(bool outward) {
    struct timespec now;
    opened = true;
    outwards = outward;
    clock_gettime(CLOCK_MONOTONIC, &now);
    last_port = (in_port_t)(PORT_FIRST + now.tv_nsec / 1000 % (PORT_LAST - PORT_FIRST));
}

static int fail(int code) {
    errno = code;
    return -1;
}

/* ---- the table; under the lock ---- */

static ino_t inode_of(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

static struct end *find(int fd) {
    const ino_t inode = opened ? inode_of(fd) : 0;
    for (struct end *e = ends; inode && e < ends + ENDS_MAX; e++)
        if (e->state != END_FREE && e->inode == inode)
            return e;
    return NULL;
}

static void forget(struct end *e) {
    const struct end gone = *e;
    memset(e, 0, sizeof(*e));
    if (gone.other >= 0)
        close(gone.other);
    for (struct end *w = ends; gone.state == END_LISTENING && w < ends + ENDS_MAX; w++)
        if (w->state == END_WAITING && w->of == gone.inode)
            forget(w);
}

/* Has the code closed it? Of a listener the hidden other end hangs up then. */
static bool is_open(const struct end *e) {
    struct pollfd other = {.fd = e->other, .events = 0};
    if (e->state == END_LISTENING)
        return poll(&other, 1, 0) == 0;
    for (int fd = 0; fd < FD_MAX; fd++)
        if (inode_of(fd) == e->inode)
            return true;
    return false;
}

static void sweep(bool all) {
    for (struct end *e = ends; e < ends + ENDS_MAX; e++)
        if ((e->state == END_LISTENING || (all && e->state != END_FREE)) && !is_open(e))
            forget(e);
}

static struct end *take(enum state state, int fd, int other, bool six) {
    for (int tries = 0; tries < 2; tries++, sweep(true))
        for (struct end *e = ends; e < ends + ENDS_MAX; e++)
            if (e->state == END_FREE) {
                *e = (struct end){.state = state, .inode = inode_of(fd), .other = other, .six = six};
                return e;
            }
    errno = ENFILE;
    return NULL;
}

static int pair(int flags, int ret_ends[2]) { return socketpair(AF_UNIX, SOCK_STREAM | flags, 0, ret_ends); }

static int hide(int fd) {
    const int high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIDDEN_FD);
    const int code = errno;
    close(fd);
    errno = code;
    return high;
}

/* A socket that is not connected yet, with the flags of socket(). */
static int make_fresh(bool six, int flags) {
    int both[2];
    sweep(false);
    if (pair(flags, both) != 0)
        return -1;
    close(both[1]);
    if (take(END_FRESH, both[0], -1, six))
        return both[0];
    close(both[0]);
    return fail(ENFILE);
}

/* Puts a descriptor in the place of another one, with its flags. Takes `from`. */
static int put(int from, int fd) {
    const int flags = (int)syscall(SYS_fcntl, fd, F_GETFL, 0),
              closes = (int)syscall(SYS_fcntl, fd, F_GETFD, 0);
    const int done = syscall(SYS_fcntl, from, F_SETFL, flags & O_NONBLOCK) == 0
                         ? dup3(from, fd, closes & FD_CLOEXEC ? O_CLOEXEC : 0)
                         : -1;
    const int code = errno;
    close(from);
    errno = code;
    return done < 0 ? -1 : 0;
}

/* Where there are sockets of the kernel, one that turns out to be for this run becomes ours. */
static struct end *adopt(int fd) {
    struct end *e = find(fd);
    int domain = 0, type = 0;
    socklen_t len = sizeof(int);
    if (e || !opened || !outwards || syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 ||
        syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || domain != AF_INET ||
        type != SOCK_STREAM)
        return e;
    const int fresh = make_fresh(false, SOCK_CLOEXEC);
    return fresh >= 0 && put(fresh, fd) == 0 ? find(fd) : NULL;
}

/* ---- addresses ---- */

struct place {
    bool six, mapped, local, any;
    in_port_t port;
};

static bool is_local4(uint32_t address) { return address == INADDR_ANY || address >> 24 == IN_LOOPBACKNET; }

static bool read_place(const struct sockaddr *at, socklen_t len, struct place *ret_place) {
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)at;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)at;
    *ret_place = (struct place){0};
    if (at && len >= sizeof(*in) && at->sa_family == AF_INET) {
        const uint32_t address = ntohl(in->sin_addr.s_addr);
        *ret_place =
            (struct place){.local = is_local4(address), .any = !address, .port = ntohs(in->sin_port)};
    } else if (at && len >= sizeof(*in6) && at->sa_family == AF_INET6) {
        const struct in6_addr *a = &in6->sin6_addr;
        uint32_t four;
        memcpy(&four, a->s6_addr + 12, sizeof(four));
        *ret_place = (struct place){.six = true,
                                    .mapped = IN6_IS_ADDR_V4MAPPED(a),
                                    .any = IN6_IS_ADDR_UNSPECIFIED(a),
                                    .port = ntohs(in6->sin6_port)};
        ret_place->local =
            ret_place->any || IN6_IS_ADDR_LOOPBACK(a) || (ret_place->mapped && is_local4(ntohl(four)));
    } else {
        return false;
    }
    return true;
}

static int write_place(const struct place *place, struct sockaddr *ret_at, socklen_t *len) {
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } made = {.in = {.sin_family = AF_INET,
                     .sin_port = htons(place->port),
                     .sin_addr.s_addr = htonl(place->any ? INADDR_ANY : INADDR_LOOPBACK)}};
    if (place->six) {
        memset(&made, 0, sizeof(made));
        made.in6.sin6_family = AF_INET6;
        made.in6.sin6_port = htons(place->port);
        made.in6.sin6_addr = place->any ? in6addr_any : in6addr_loopback;
        if (place->mapped)
            inet_pton(AF_INET6, "::ffff:127.0.0.1", &made.in6.sin6_addr);
    }
    const socklen_t full = place->six ? sizeof(made.in6) : sizeof(made.in);
    if (ret_at && len)
        memcpy(ret_at, &made, *len < full ? *len : full);
    if (len)
        *len = full;
    return 0;
}

/* Serves this port for that family? */
static bool serves(const struct end *e, in_port_t port, bool six) {
    const bool both = e->six && e->any && !(e->options & OPTION_ONLY6);
    return (e->state == END_LISTENING || e->state == END_FRESH) && e->port == port && port &&
           (e->six == six || both) && is_open(e);
}

static struct end *bound(in_port_t port, bool six, const struct end *but) {
    for (struct end *e = ends; e < ends + ENDS_MAX; e++)
        if (e != but && serves(e, port, six))
            return e;
    return NULL;
}

static in_port_t free_port(void) {
    for (int tries = 0; tries < PORT_LAST - PORT_FIRST; tries++) {
        last_port = last_port >= PORT_LAST ? PORT_FIRST : (in_port_t)(last_port + 1);
        if (!bound(last_port, false, NULL) && !bound(last_port, true, NULL))
            break;
    }
    return last_port;
}

/* ---- calls; `e` is under the lock ---- */

static int bind_end(struct end *e, const struct sockaddr *at, socklen_t len) {
    struct place place;
    if (!read_place(at, len, &place) || place.six != e->six)
        return fail(EAFNOSUPPORT);
    if (e->state != END_FRESH || e->port)
        return fail(EINVAL);
    if (!place.local)
        return fail(EADDRNOTAVAIL);
    const bool both = place.six && place.any && !(e->options & OPTION_ONLY6);
    if (bound(place.port, place.six, e) || (both && bound(place.port, false, e)))
        return fail(EADDRINUSE);
    e->port = place.port ? place.port : free_port();
    e->any = place.any;
    e->mapped = place.mapped;
    return 0;
}

static int listen_end(struct end *e, int fd) {
    int both[2];
    if (e->state == END_LISTENING)
        return 0;
    if (e->state != END_FRESH)
        return fail(EINVAL);
    if (pair(SOCK_CLOEXEC, both) != 0)
        return -1;
    const int other = hide(both[1]);
    const ino_t inode = inode_of(both[0]);
    if (put(both[0], fd) != 0 || other < 0) {
        if (other >= 0)
            close(other);
        return fail(ENFILE);
    }
    if (!e->port)
        e->any = true;
    e->port = e->port ? e->port : free_port();
    e->state = END_LISTENING;
    e->inode = inode;
    e->other = other;
    return 0;
}

static int count_waiting(const struct end *listener) {
    int count = 0;
    for (const struct end *e = ends; e < ends + ENDS_MAX; e++)
        count += e->state == END_WAITING && e->of == listener->inode;
    return count;
}

/* The two ends of a connection; the client's takes the place of `fd`. */
static int join_ends(struct end *client, int fd, struct end *listener) {
    int both[2];
    if (pair(SOCK_CLOEXEC, both) != 0)
        return -1;
    const int served = hide(both[1]);
    struct end *server = served < 0 ? NULL : take(END_WAITING, served, served, listener->six);
    const ino_t inode = inode_of(both[0]);
    if (!server || put(both[0], fd) != 0) {
        const int code = errno;
        if (server)
            forget(server);
        else if (served >= 0)
            close(served);
        return fail(code);
    }
    *client = (struct end){.state = END_CONNECTED,
                           .inode = inode,
                           .other = -1,
                           .six = client->six,
                           .port = client->port ? client->port : free_port(),
                           .peer = listener->port,
                           .options = client->options};
    server->of = listener->inode;
    server->turn = ++turns;
    server->mapped = listener->six && !client->six;
    server->port = listener->port;
    server->peer = client->port;
    return write(listener->other, "", 1) == 1 ? 0 : fail(ECONNREFUSED);
}

/* 1: the listener has no room now, try again later. */
static int connect_end(struct end *e, int fd, const struct place *to) {
    sweep(false);
    struct end *listener = bound(to->port, to->six && !to->mapped, NULL);
    if (e->state != END_FRESH)
        return fail(e->state == END_CONNECTED ? EISCONN : EINVAL);
    if (!to->local)
        return fail(ENETUNREACH);
    if (!listener || listener->state != END_LISTENING || listener == e)
        return fail(ECONNREFUSED);
    if (count_waiting(listener) >= WAITING_MAX)
        return 1;
    return join_ends(e, fd, listener);
}

/* The connection that has waited longest, as a descriptor for the code. */
static int accept_end(const struct end *listener, int flags, struct place *ret_from) {
    struct end *first = NULL;
    for (struct end *e = ends; e < ends + ENDS_MAX; e++)
        if (e->state == END_WAITING && e->of == listener->inode && (!first || e->turn < first->turn))
            first = e;
    const int command = flags & SOCK_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
    const int fd = first ? (int)syscall(SYS_fcntl, first->other, command, 0) : fail(ECONNABORTED);
    if (fd < 0)
        return -1;
    close(first->other);
    first->other = -1;
    first->state = END_CONNECTED;
    if (flags & SOCK_NONBLOCK)
        syscall(SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
    *ret_from = (struct place){.six = first->six, .mapped = first->mapped, .port = first->peer};
    return fd;
}

static unsigned option_of(int level, int name) {
    if (level == SOL_SOCKET)
        return name == SO_REUSEADDR   ? OPTION_REUSE
               : name == SO_REUSEPORT ? OPTION_SHARE
               : name == SO_KEEPALIVE ? OPTION_ALIVE
                                      : 0;
    if (level == IPPROTO_TCP)
        return name == TCP_NODELAY ? OPTION_NODELAY : 0;
    return level == IPPROTO_IPV6 && name == IPV6_V6ONLY ? OPTION_ONLY6 : 0;
}

/* ---- replacements ---- */

#define REPLACES(name) __asm__(name) __attribute__((visibility("default")))
int loopback_socket(int domain, int type, int protocol) REPLACES("socket");
int loopback_bind(int fd, const struct sockaddr *at, socklen_t len) REPLACES("bind");
int loopback_listen(int fd, int backlog) REPLACES("listen");
int loopback_connect(int fd, const struct sockaddr *at, socklen_t len) REPLACES("connect");
int loopback_accept(int fd, struct sockaddr *ret_at, socklen_t *len) REPLACES("accept");
int loopback_accept4(int fd, struct sockaddr *ret_at, socklen_t *len, int flags) REPLACES("accept4");
int loopback_getsockname(int fd, struct sockaddr *ret_at, socklen_t *len) REPLACES("getsockname");
int loopback_getpeername(int fd, struct sockaddr *ret_at, socklen_t *len) REPLACES("getpeername");
int loopback_setsockopt(int fd, int level, int name, const void *value, socklen_t len) REPLACES("setsockopt");
int loopback_getsockopt(int fd, int level, int name, void *ret_value, socklen_t *len) REPLACES("getsockopt");
ssize_t loopback_send(int fd, const void *bytes, size_t len, int flags) REPLACES("send");
ssize_t loopback_recv(int fd, void *ret_bytes, size_t len, int flags) REPLACES("recv");
ssize_t loopback_sendmsg(int fd, const struct msghdr *message, int flags) REPLACES("sendmsg");
ssize_t loopback_recvmsg(int fd, struct msghdr *message, int flags) REPLACES("recvmsg");
int loopback_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                         struct addrinfo **ret_found) REPLACES("getaddrinfo");

/* Looks a descriptor up and runs what is to be done with its entry; else the kernel's call. */
#define WITH(e, found, ours, kernels)                                                                        \
    pthread_mutex_lock(&lock);                                                                               \
    struct end *e = found;                                                                                   \
    const bool is_ours = e;                                                                                  \
    const long done = is_ours ? (ours) : 0;                                                                  \
    const int code = errno;                                                                                  \
    pthread_mutex_unlock(&lock);                                                                             \
    errno = code;                                                                                            \
    if (!is_ours)                                                                                            \
        return (kernels);                                                                                    \
    return (__typeof__(kernels))done

int loopback_socket(int domain, int type, int protocol) {
    const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool is_tcp = kind == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP);
    if (!opened || !is_tcp || !(domain == AF_INET6 || (domain == AF_INET && !outwards)))
        return (int)syscall(SYS_socket, domain, type, protocol);
    pthread_mutex_lock(&lock);
    const int fd = make_fresh(domain == AF_INET6, type & ~SOCK_STREAM);
    const int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    return fd;
}

int loopback_bind(int fd, const struct sockaddr *at, socklen_t len) {
    WITH(e, adopt(fd), bind_end(e, at, len), (int)syscall(SYS_bind, fd, at, len));
}

int loopback_listen(int fd, int backlog) {
    WITH(e, adopt(fd), listen_end(e, fd), (int)syscall(SYS_listen, fd, backlog));
}

/* Of a socket of the kernel: ours when the run itself serves that port. */
static struct end *find_client(int fd, const struct place *to) {
    struct end *e = find(fd);
    return e || !to->local || !bound(to->port, to->six, NULL) ? e : adopt(fd);
}

int loopback_connect(int fd, const struct sockaddr *at, socklen_t len) {
    struct place to;
    const bool readable = read_place(at, len, &to);
    for (int busy = 1; busy == 1;) {
        pthread_mutex_lock(&lock);
        struct end *e = find_client(fd, &to);
        busy = !e ? 2 : readable ? connect_end(e, fd, &to) : fail(EAFNOSUPPORT);
        const int code = errno;
        pthread_mutex_unlock(&lock);
        errno = code;
        if (busy == 1 && (syscall(SYS_fcntl, fd, F_GETFL, 0) & O_NONBLOCK))
            return fail(ECONNREFUSED);
        if (busy == 1)
            nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
        else if (busy < 2)
            return busy;
    }
    return (int)syscall(SYS_connect, fd, at, len);
}

/* Only the byte is waited for, without the lock. */
static int wait_for_client(int fd) {
    char byte;
    const ssize_t got = read(fd, &byte, 1);
    return got == 1 ? 0 : got == 0 ? fail(EINVAL) : -1;
}

int loopback_accept4(int fd, struct sockaddr *ret_at, socklen_t *len, int flags) {
    struct place from;
    pthread_mutex_lock(&lock);
    const struct end *e = find(fd);
    const bool is_ours = e, listens = e && e->state == END_LISTENING;
    pthread_mutex_unlock(&lock);
    if (!is_ours)
        return (int)syscall(SYS_accept4, fd, ret_at, len, flags);
    if (!listens)
        return fail(EINVAL);
    if (wait_for_client(fd) != 0)
        return -1;
    pthread_mutex_lock(&lock);
    e = find(fd);
    const int got = e ? accept_end(e, flags, &from) : fail(EBADF);
    const int code = errno;
    pthread_mutex_unlock(&lock);
    errno = code;
    if (got >= 0 && ret_at)
        write_place(&from, ret_at, len);
    return got;
}

int loopback_accept(int fd, struct sockaddr *ret_at, socklen_t *len) {
    return loopback_accept4(fd, ret_at, len, 0);
}

int loopback_getsockname(int fd, struct sockaddr *ret_at, socklen_t *len) {
    WITH(e, find(fd),
         write_place(&(struct place){e->six, e->mapped, true, e->any || !e->port, e->port}, ret_at, len),
         (int)syscall(SYS_getsockname, fd, ret_at, len));
}

int loopback_getpeername(int fd, struct sockaddr *ret_at, socklen_t *len) {
    WITH(e, find(fd),
         e->state == END_CONNECTED
             ? write_place(&(struct place){e->six, e->mapped, true, false, e->peer}, ret_at, len)
             : fail(ENOTCONN),
         (int)syscall(SYS_getpeername, fd, ret_at, len));
}

static int set_option(struct end *e, int fd, int level, int name, const void *value, socklen_t len) {
    const unsigned option = option_of(level, name);
    int number = 0;
    if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
        return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
    if (value && len >= sizeof(number))
        memcpy(&number, value, sizeof(number));
    e->options = number ? e->options | option : e->options & ~option;
    return 0;
}

int loopback_setsockopt(int fd, int level, int name, const void *value, socklen_t len) {
    const bool of_server = option_of(level, name) & (OPTION_REUSE | OPTION_SHARE);
    WITH(e, of_server ? adopt(fd) : find(fd), set_option(e, fd, level, name, value, len),
         (int)syscall(SYS_setsockopt, fd, level, name, value, len));
}

static int get_option(const struct end *e, int fd, int level, int name, void *ret_value, socklen_t *len) {
    int number = option_of(level, name) & e->options ? 1 : 0;
    if (level == SOL_SOCKET &&
        (name == SO_ERROR || name == SO_TYPE || name == SO_SNDBUF || name == SO_RCVBUF))
        return (int)syscall(SYS_getsockopt, fd, level, name, ret_value, len);
    if (level == SOL_SOCKET && name == SO_DOMAIN)
        number = e->six ? AF_INET6 : AF_INET;
    else if (level == SOL_SOCKET && name == SO_PROTOCOL)
        number = IPPROTO_TCP;
    else if (level == SOL_SOCKET && name == SO_ACCEPTCONN)
        number = e->state == END_LISTENING;
    if (!ret_value || !len || *len < sizeof(number))
        return fail(EINVAL);
    memset(ret_value, 0, *len);
    memcpy(ret_value, &number, sizeof(number));
    return 0;
}

int loopback_getsockopt(int fd, int level, int name, void *ret_value, socklen_t *len) {
    WITH(e, find(fd), get_option(e, fd, level, name, ret_value, len),
         (int)syscall(SYS_getsockopt, fd, level, name, ret_value, len));
}

static bool is_ours(int fd) {
    pthread_mutex_lock(&lock);
    const bool found = find(fd);
    pthread_mutex_unlock(&lock);
    return found;
}

/* A socket pair would wait, and take what nobody reads. */
static bool is_unconnected(int fd) {
    pthread_mutex_lock(&lock);
    const struct end *e = find(fd);
    const bool alone = e && e->state != END_CONNECTED;
    pthread_mutex_unlock(&lock);
    return alone;
}

ssize_t loopback_send(int fd, const void *bytes, size_t len, int flags) {
    return is_unconnected(fd) ? fail(EPIPE) : syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

ssize_t loopback_recv(int fd, void *ret_bytes, size_t len, int flags) {
    return is_unconnected(fd) ? fail(ENOTCONN) : syscall(SYS_recvfrom, fd, ret_bytes, len, flags, NULL, NULL);
}

/* The kernel refuses these two, which could carry descriptors. */
ssize_t loopback_sendmsg(int fd, const struct msghdr *message, int flags) {
    if (!is_ours(fd) && (message->msg_controllen || message->msg_namelen))
        return syscall(SYS_sendmsg, fd, message, flags);
    return writev(fd, message->msg_iov, (int)message->msg_iovlen);
}

ssize_t loopback_recvmsg(int fd, struct msghdr *message, int flags) {
    if (!is_ours(fd) && (message->msg_controllen || message->msg_namelen))
        return syscall(SYS_recvmsg, fd, message, flags);
    message->msg_namelen = 0;
    message->msg_controllen = 0;
    message->msg_flags = 0;
    return readv(fd, message->msg_iov, (int)message->msg_iovlen);
}

/* There is no /etc/hosts. AI_ADDRCONFIG would ask the kernel for the interfaces. */
int loopback_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                         struct addrinfo **ret_found) {
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    const bool named = node && (strcmp(node, "localhost") == 0 || strcmp(node, "sandbox") == 0);
    struct addrinfo own = hints ? *hints : (struct addrinfo){0};
    own.ai_flags &= ~AI_ADDRCONFIG;
    if (node && !named)
        return next(node, service, hints, ret_found);
    if (named)
        return next(own.ai_family == AF_INET6 ? "::1" : "127.0.0.1", service, &own, ret_found);
    if (own.ai_family != AF_UNSPEC)
        return next(node, service, &own, ret_found);
    own.ai_family = AF_INET; /* each by itself: to sort them, the library would make sockets */
    int done = next(node, service, &own, ret_found);
    struct addrinfo **last = ret_found;
    while (done == 0 && *last)
        last = &(*last)->ai_next;
    own.ai_family = AF_INET6;
    if (done == 0)
        done = next(node, service, &own, last);
    return done;
}
