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

enum link_phase {
    LINK_WAITING,    /* for the next try */
    LINK_CONNECTING, /* requests are kept */
    LINK_UP,
};

struct redis_link {
    uint32_t magic;
    struct io_loop *loop;
    struct state_address address;
    struct buf hello; /* what each connection starts with */
    unsigned hello_answers;
    enum link_phase phase;
    struct io_dial *dial;
    struct io_conn *conn;
    struct io_tls_ctx *tls;
    redisReader *reader;
    struct buf early;  /* requests that wait for the connection */
    struct list wants; /* in the order of their answers */
    size_t want_count;
    unsigned hello_left; /* answers to hello that are still to come */
    unsigned misses;     /* time-outs in a row */
    uint64_t backoff_ms;
    struct io_timer retry;
    struct io_timer watch; /* over the oldest want */
    struct redis_link_health health;
};

static void link_connect(struct redis_link *l);
static void on_watch(struct io_timer *timer);

/* ---- ending ---- */

/* What was sent may have been done or not: nobody knows, so nobody is told that it was. */
static void fail_wants(struct redis_link *l) {
    while (!list_empty(&l->wants)) {
        struct redis_want *w = container_of(list_pop(&l->wants), struct redis_want, node);
        l->want_count--;
        w->answered(w, NULL);
    }
}

static void drop_connection(struct redis_link *l) {
    io_dial_cancel(l->dial);
    l->dial = NULL;
    io_conn_close(l->conn);
    l->conn = NULL;
    if (l->reader)
        redisReaderFree(l->reader);
    l->reader = NULL;
    buf_reset(&l->early);
    io_timer_stop(l->loop, &l->watch);
}

static void on_retry(struct io_timer *timer) { link_connect(container_of(timer, struct redis_link, retry)); }

static void link_lost(struct redis_link *l, const char *why) {
    snprintf(l->health.fault, sizeof(l->health.fault), "%s", why);
    l->phase = LINK_WAITING;
    l->health.up = false;
    drop_connection(l);
    io_timer_arm(l->loop, &l->retry, l->backoff_ms, on_retry);
    l->backoff_ms =
        l->backoff_ms * 2 < STATE_REDIS_BACKOFF_MAX_MS ? l->backoff_ms * 2 : STATE_REDIS_BACKOFF_MAX_MS;
    fail_wants(l);
}

/* ---- waiting ---- */

static void arm_watch(struct redis_link *l) {
    LIST_FOR (n, &l->wants) {
        const struct redis_want *w = container_of(n, struct redis_want, node);
        if (w->is_late)
            continue;
        uint64_t now = io_now_ms(l->loop);
        io_timer_arm(l->loop, &l->watch, w->due_ms > now ? w->due_ms - now : 1, on_watch);
        return;
    }
}

static void on_watch(struct io_timer *timer) {
    struct redis_link *l = container_of(timer, struct redis_link, watch);
    uint64_t now = io_now_ms(l->loop);
    LIST_FOR_SAFE (n, next, &l->wants) {
        struct redis_want *w = container_of(n, struct redis_want, node);
        if (w->due_ms > now)
            break;
        if (w->is_late)
            continue;
        w->is_late = true;
        l->health.timeouts++;
        l->misses++;
        if (w->late)
            w->late(w);
    }
    if (l->misses >= STATE_REDIS_MISSES_MAX)
        link_lost(l, "no answer in time");
    else
        arm_watch(l);
}

/* ---- answers ---- */

static bool hello_passes(struct redis_link *l, const redisReply *reply) {
    if (reply->type != REDIS_REPLY_ERROR)
        return true;
    link_lost(l, reply->str);
    return false;
}

static void one_answer(struct redis_link *l, const redisReply *reply) {
    if (l->hello_left > 0) {
        if (!hello_passes(l, reply) || --l->hello_left > 0)
            return;
        l->health.up = true;
        l->backoff_ms = STATE_REDIS_BACKOFF_MS;
        return;
    }
    struct list *first = list_pop(&l->wants);
    if (!first) {
        link_lost(l, "an answer that nobody asked for");
        return;
    }
    l->want_count--;
    l->misses = 0;
    struct redis_want *w = container_of(first, struct redis_want, node);
    w->answered(w, reply);
}

static size_t on_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    struct redis_link *l = owner;
    CHECK_MAGIC(l, LINK_MAGIC);
    (void)b;
    redisReaderFeed(l->reader, ptr, len);
    while (l->conn == c) {
        void *reply = NULL;
        if (redisReaderGetReply(l->reader, &reply) != REDIS_OK) {
            link_lost(l, "the server does not speak the protocol of Redis");
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
    link_lost(l, status < 0 ? uv_strerror(status) : "the server closed the connection");
}

static const struct io_handlers link_handlers = {.data = on_data, .end = on_end};

/* ---- connecting ---- */

static void link_up(struct redis_link *l) {
    l->phase = LINK_UP;
    l->health.connects++;
    l->hello_left = l->hello_answers;
    l->misses = 0;
    io_conn_read(l->conn, true);
    io_conn_put(l->conn, buf_slice(&l->hello));
    io_conn_put(l->conn, buf_slice(&l->early));
    buf_reset(&l->early);
}

static void on_tls(void *owner, int status, const char *why) {
    struct redis_link *l = owner;
    if (status < 0)
        link_lost(l, why);
    else
        link_up(l);
}

static void on_dialled(void *owner, struct io_conn *c, int status) {
    struct redis_link *l = owner;
    l->dial = NULL;
    if (!c) {
        link_lost(l, uv_strerror(status));
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
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = strlen(l->address.path);
    if (len < sizeof(to.sun_path))
        memcpy(to.sun_path, l->address.path, len);
    if (fd < 0 || len >= sizeof(to.sun_path) || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        if (fd >= 0)
            close(fd);
        link_lost(l, "nobody listens on the unix socket");
        return;
    }
    l->conn = io_conn_fd(l->loop, fd, true, &link_handlers, l);
    link_up(l);
}

static void link_connect(struct redis_link *l) {
    struct err err = {0};
    l->phase = LINK_CONNECTING;
    l->reader = redisReaderCreate();
    if (l->address.tls && !l->tls && !(l->tls = io_tls_client_ctx(&err)))
        link_lost(l, err.text);
    else if (l->address.path)
        connect_path(l);
    else
        l->dial = io_connect(l->loop, l->address.host, l->address.port, &link_handlers, l, on_dialled);
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
    l->loop = loop;
    l->address = *address;
    l->address.host = copy_of(address->host);
    l->address.path = copy_of(address->path);
    l->address.user = copy_of(address->user);
    l->address.password = copy_of(address->password);
    l->address.client_name = copy_of(address->client_name);
    l->backoff_ms = STATE_REDIS_BACKOFF_MS;
    list_init(&l->wants);
    buf_init(&l->hello, STATE_REDIS_COMMAND_MAX);
    buf_init(&l->early, STATE_REDIS_EARLY_MAX);
    make_hello(l, hello);
    link_connect(l);
    return l;
}

void state_redis_link_free(struct redis_link *l) {
    if (!l)
        return;
    io_timer_stop(l->loop, &l->retry);
    drop_connection(l);
    l->phase = LINK_WAITING;
    fail_wants(l);
    io_tls_ctx_free(l->tls);
    state_address_free(&l->address);
    buf_free(&l->hello);
    buf_free(&l->early);
    free(l);
}

bool state_redis_link_send(struct redis_link *l, struct slice command, struct redis_want *w) {
    CHECK_MAGIC(l, LINK_MAGIC);
    if (l->phase == LINK_WAITING || l->want_count >= STATE_REDIS_WANTS_MAX)
        return false;
    if (l->phase == LINK_UP)
        io_conn_put(l->conn, command);
    else if (!buf_put_slice(&l->early, command))
        return false;
    w->is_late = false;
    w->due_ms = io_now_ms(l->loop) + STATE_REDIS_TIMEOUT_MS;
    list_push(&l->wants, &w->node);
    l->want_count++;
    l->health.requests++;
    if (l->want_count == 1)
        arm_watch(l);
    return true;
}

void state_redis_link_health(const struct redis_link *l, struct redis_link_health *ret_health) {
    *ret_health = l->health;
}
