#include "state/redis_link.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "io/net.h"
#include "io/tls.h"
#include "state/limits.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LINK_MAGIC 0x7265646cu

struct redis_link {
    struct remote_link link;
    uint32_t magic;
    struct state_address address;
    struct buf hello; /* what each connection starts with */
    unsigned hello_answers;
    unsigned hello_left; /* of them still to come */
    struct io_dial *dial;
    struct io_conn *conn;
    struct io_tls_ctx *tls;
    redisReader *reader;
    struct buf early; /* requests that wait for the connection */
};

/* ---- answers ---- */

static void one_answer(struct redis_link *l, const redisReply *reply) {
    if (l->hello_left == 0) {
        if (!state_remote_link_answer(&l->link, reply))
            state_remote_link_lost(&l->link, "an answer that nobody asked for");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        state_remote_link_lost(&l->link, reply->str);
    } else if (--l->hello_left == 0) {
        state_remote_link_good(&l->link);
    }
}

static size_t on_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct redis_link *l = owner;
    CHECK_MAGIC(l, LINK_MAGIC);
    (void)b;
    redisReaderFeed(l->reader, ptr, len);
    while (l->conn == c) {
        void *reply = NULL;
        if (redisReaderGetReply(l->reader, &reply) != REDIS_OK) {
            state_remote_link_lost(&l->link, "the server does not speak the protocol of Redis");
            break;
        }
        if (!reply)
            break;
        one_answer(l, reply);
        freeReplyObject(reply);
    }
    return len;
}

static void on_end(struct io_conn *c, void *owner, int status) {
    struct redis_link *l = owner;
    (void)c;
    state_remote_link_lost(&l->link, status < 0 ? uv_strerror(status) : "the server closed the connection");
}

static const struct io_handlers link_handlers = {.data = on_data, .end = on_end};

/* ---- connecting ---- */

static void link_drop(struct remote_link *link) {
    struct redis_link *l = (struct redis_link *)link;
    io_dial_cancel(l->dial);
    l->dial = NULL;
    io_conn_close(l->conn);
    l->conn = NULL;
    if (l->reader)
        redisReaderFree(l->reader);
    l->reader = NULL;
    buf_reset(&l->early);
}

static void link_up(struct redis_link *l) {
    l->link.phase = REMOTE_UP;
    l->link.health.connects++;
    l->hello_left = l->hello_answers;
    io_conn_read(l->conn, true);
    io_conn_put(l->conn, buf_slice(&l->hello));
    io_conn_put(l->conn, buf_slice(&l->early));
    buf_reset(&l->early);
}

static void on_tls(void *owner, int status, const char *why) {
    struct redis_link *l = owner;
    if (status < 0)
        state_remote_link_lost(&l->link, why);
    else
        link_up(l);
}

static void on_dialled(void *owner, struct io_conn *c, int status) {
    struct redis_link *l = owner;
    l->dial = NULL;
    if (!c) {
        state_remote_link_lost(&l->link, uv_strerror(status));
        return;
    }
    l->conn = c;
    if (l->tls)
        io_tls_start_client(c, l->tls, l->address.host, on_tls);
    else
        link_up(l);
}

/* A unix socket answers at once, or there is nobody. */
static void connect_path(struct redis_link *l) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = strlen(l->address.path);
    if (len < sizeof(to.sun_path))
        memcpy(to.sun_path, l->address.path, len);
    if (fd < 0 || len >= sizeof(to.sun_path) || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        state_remote_link_lost(&l->link, "nobody listens on the unix socket");
        return;
    }
    l->conn = io_conn_fd(l->link.loop, steal_fd(fd), true, &link_handlers, l);
    link_up(l);
}

static void link_connect(struct remote_link *link) {
    struct redis_link *l = (struct redis_link *)link;
    struct err err = {0};
    l->reader = redisReaderCreate();
    if (l->address.tls && !l->tls && !(l->tls = io_tls_client_ctx(&err)))
        state_remote_link_lost(link, err.text);
    else if (l->address.path)
        connect_path(l);
    else
        l->dial = io_connect(link->loop, l->address.host, l->address.port, &link_handlers, l, on_dialled);
}

static void add_hello(struct redis_link *l, int argc, const char **argv) {
    char *command = NULL;
    int len = redisFormatCommandArgv(&command, argc, argv, NULL);
    CHECK(len > 0);
    buf_put(&l->hello, command, (size_t)len);
    l->hello_answers++;
    redisFreeCommand(command);
}

static void make_hello(struct redis_link *l, struct slice more) {
    const struct state_address *a = &l->address;
    char database[16];
    snprintf(database, sizeof(database), "%u", a->database);
    if (a->password && a->user)
        add_hello(l, 3, (const char *[]){"AUTH", a->user, a->password});
    else if (a->password)
        add_hello(l, 2, (const char *[]){"AUTH", a->password});
    add_hello(l, 3, (const char *[]){"CLIENT", "SETNAME", a->client_name ? a->client_name : "sallyport"});
    if (a->database)
        add_hello(l, 2, (const char *[]){"SELECT", database});
    buf_put_slice(&l->hello, more);
    l->hello_answers += more.len > 0;
}

static char *copy_of(const char *text) { return text ? mem_dup(text, strlen(text)) : NULL; }

struct redis_link *state_redis_link_new(struct io_loop *loop, const struct state_address *address,
                                        struct slice hello) {
    struct redis_link *l = mem_zalloc(sizeof(*l));
    l->magic = LINK_MAGIC;
    l->link.connect = link_connect;
    l->link.drop = link_drop;
    l->address = *address;
    l->address.host = copy_of(address->host);
    l->address.path = copy_of(address->path);
    l->address.user = copy_of(address->user);
    l->address.password = copy_of(address->password);
    l->address.client_name = copy_of(address->client_name);
    buf_init(&l->hello, STATE_REDIS_COMMAND_MAX);
    buf_init(&l->early, STATE_REDIS_EARLY_MAX);
    make_hello(l, hello);
    state_remote_link_start(&l->link, loop);
    return l;
}

void state_redis_link_free(struct redis_link *l) {
    if (!l)
        return;
    state_remote_link_end(&l->link);
    io_tls_ctx_free(l->tls);
    state_address_free(&l->address);
    buf_free(&l->hello);
    buf_free(&l->early);
    free(l);
}

bool state_redis_link_send(struct redis_link *l, struct slice command, struct remote_want *want) {
    CHECK_MAGIC(l, LINK_MAGIC);
    if (!state_remote_link_takes(&l->link))
        return false;
    if (l->link.phase == REMOTE_UP)
        io_conn_put(l->conn, command);
    else if (!buf_put_slice(&l->early, command))
        return false;
    state_remote_link_queue(&l->link, want);
    return true;
}

struct remote_link *state_redis_link_base(struct redis_link *l) {
    return &l->link;
}
