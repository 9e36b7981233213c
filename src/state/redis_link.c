#include "state/redis_link.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "io/net.h"
#include "io/tls.h"
#include "state/limits.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define LINK_MAGIC 0x7265646cu

struct redis_link {
    struct remote_link link;
    uint32_t magic;
    bool uses_tls;
    struct state_node node; /* no host: not known yet, or a path */
    char *path;
    void (*changed)(void *owner, struct redis_link *link);
    void *owner;
    struct buf hello; /* sent first on each connection */
    unsigned hello_answers;
    unsigned hello_left; /* responses to it that are still expected */
    struct io_dial *dial;
    struct io_conn *conn;
    struct io_tls_ctx *tls;
    char *ca, *cert, *key; /* files, as struct state_address has them */
    redisReader *reader;
    struct buf early; /* requests that wait for the connection */
};

/* ---- answers ---- */

/* The response to ROLE, the only command of a hello whose response is a list. */
static bool is_replica(const redisReply *reply) {
    return reply->type == REDIS_REPLY_ARRAY &&
           !(reply->elements && reply->element[0]->type == REDIS_REPLY_STRING &&
             slice_is(slice_of(reply->element[0]->str, reply->element[0]->len), "master"));
}

static void one_answer(struct redis_link *l, const redisReply *reply) {
    if (l->hello_left == 0) {
        if (!state_remote_link_answer(&l->link, reply))
            state_remote_link_lost(&l->link, "an unsolicited answer");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        state_remote_link_lost(&l->link, reply->str);
    } else if (is_replica(reply)) {
        state_remote_link_lost(&l->link, "the server is a replica");
    } else if (--l->hello_left == 0) {
        state_remote_link_good(&l->link);
        if (l->changed)
            l->changed(l->owner, l);
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
            state_remote_link_lost(&l->link, "the server is not a Redis server");
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
    if (l->changed)
        l->changed(l->owner, l);
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
        io_tls_start_client(c, l->tls, l->node.host, on_tls);
    else
        link_up(l);
}

/* A unix socket connects immediately, or no server listens. */
static void connect_path(struct redis_link *l) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = strlen(l->path);
    if (len >= sizeof(to.sun_path)) {
        state_remote_link_lost(&l->link, "the path of a unix socket has at most 107 bytes");
        return;
    }
    memcpy(to.sun_path, l->path, len);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        state_remote_link_lost(&l->link, errno == ENOENT   ? "there is no such unix socket"
                                         : errno == EACCES ? "this user may not use the unix socket"
                                                           : "no process listens on the unix socket");
        return;
    }
    l->conn = io_conn_fd(l->link.loop, steal_fd(fd), true, &link_handlers, l);
    link_up(l);
}

static void link_connect(struct remote_link *link) {
    struct redis_link *l = (struct redis_link *)link;
    struct err err = {0};
    if (!l->reader)
        l->reader = redisReaderCreate();
    if (l->ca || l->cert) { /* the files may have been replaced */
        io_tls_ctx_free(l->tls);
        l->tls = NULL;
    }
    if (l->uses_tls && !l->tls && !(l->tls = io_tls_member_ctx(l->cert, l->key, l->ca, &err)))
        state_remote_link_lost(link, err.text);
    else if (l->path)
        connect_path(l);
    else if (l->node.host) /* otherwise the server's address is not known yet */
        l->dial = io_connect(link->loop, l->node.host, l->node.port, &link_handlers, l, on_dialled);
}

static void add_hello(struct redis_link *l, int argc, const char **argv) {
    char *command = NULL;
    int len = redisFormatCommandArgv(&command, argc, argv, NULL);
    CHECK(len > 0);
    buf_put(&l->hello, command, (size_t)len);
    l->hello_answers++;
    redisFreeCommand(command);
}

static void make_hello(struct redis_link *l, const struct redis_link_config *config) {
    const struct state_address *a = config->address;
    char database[16];
    snprintf(database, sizeof(database), "%u", a->database);
    if (a->password && a->user)
        add_hello(l, 3, (const char *[]){"AUTH", a->user, a->password});
    else if (a->password)
        add_hello(l, 2, (const char *[]){"AUTH", a->password});
    add_hello(l, 3, (const char *[]){"CLIENT", "SETNAME", a->client_name ? a->client_name : "sallyport"});
    if (a->database)
        add_hello(l, 2, (const char *[]){"SELECT", database});
    if (config->masters_only)
        add_hello(l, 1, (const char *[]){"ROLE"});
    buf_put_slice(&l->hello, config->hello);
    l->hello_answers += config->hello.len > 0;
}

static void set_node(struct redis_link *l, const struct state_node *node) {
    free(l->node.host);
    l->node = (struct state_node){.host = mem_dup(node->host, strlen(node->host)), .port = node->port};
}

static char *copy_of(const char *path) { return path ? mem_dup(path, strlen(path)) : NULL; }

struct redis_link *state_redis_link_new(struct io_loop *loop, const struct redis_link_config *config) {
    struct redis_link *l = mem_zalloc(sizeof(*l));
    l->magic = LINK_MAGIC;
    l->link.connect = link_connect;
    l->link.drop = link_drop;
    l->uses_tls = config->address->tls;
    l->ca = copy_of(config->address->ca);
    l->cert = copy_of(config->address->cert);
    l->key = copy_of(config->address->key);
    if (config->node)
        set_node(l, config->node);
    else if (config->address->path)
        l->path = mem_dup(config->address->path, strlen(config->address->path));
    buf_init(&l->hello, STATE_REDIS_COMMAND_MAX);
    buf_init(&l->early, STATE_REDIS_EARLY_MAX);
    make_hello(l, config);
    state_remote_link_start(&l->link, loop, config->timeout_ms);
    l->changed = config->changed;
    l->owner = config->owner;
    return l;
}

void state_redis_link_free(struct redis_link *l) {
    if (!l)
        return;
    l->changed = NULL;
    state_remote_link_end(&l->link);
    io_tls_ctx_free(l->tls);
    free(l->node.host);
    free(l->path);
    free(l->ca);
    free(l->cert);
    free(l->key);
    buf_free(&l->hello);
    buf_free(&l->early);
    free(l);
}

bool state_redis_link_is_at(const struct redis_link *l, const struct state_node *node) {
    return l->node.host && strcmp(l->node.host, node->host) == 0 && l->node.port == node->port;
}

void state_redis_link_point(struct redis_link *l, const struct state_node *node) {
    CHECK_MAGIC(l, LINK_MAGIC);
    if (state_redis_link_is_at(l, node))
        return;
    bool was_known = l->node.host;
    set_node(l, node);
    if (was_known)
        state_remote_link_lost(&l->link, "the master is another server now");
    state_remote_link_retry(&l->link);
}

void state_redis_link_flush(struct redis_link *l) {
    if (l->conn)
        io_conn_flush(l->conn);
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
