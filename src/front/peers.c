#include "front/peers.h"

#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "code/code.h"
#include "front/nodes.h"
#include "io/tls.h"
#include "wire/base64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A connection to the process that has the client's session; kept for the client's next request. One to
 * another gate is kept for the next request of any client. */
struct front_relay {
    struct front *front;
    struct front_conn *conn; /* whose request is in flight, or NULL */
    struct front_conn *home; /* the client's connection; NULL: idle, in node->idle */
    struct front_node *node; /* NULL: a process of this machine */
    struct list idle;
    struct io_conn *io;
    struct io_dial *dial;  /* while it connects */
    struct io_timer timer; /* for connecting, and for being idle */
    bool ready;
    bool used; /* it had a request before: the other side may have closed it meanwhile */
    /* What is sent once connected: head and body. Of one that is used they are kept until the answer begins.
     */
    struct buf waiting;
    struct block *block;
    struct slice rest;
    char tag[FRONT_TAG + 1];
    enum http_method method;
    bool busy; /* a request has no response yet */
    bool in_body;
    bool last; /* the other side closes after this response */
    enum http_body body;
    uint64_t left;
    struct http_chunked chunked;
};

/* ---- the directory ---- */

/* Removes sockets of processes that were killed. A young one may belong to a process that is just
 * starting. */
static void sweep(const char *dir) {
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        int fd;
        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            time(NULL) - st.st_mtime < FRONT_PEER_YOUNG_S)
            continue;
        if ((fd = io_dial_unix(dir, e->d_name)) >= 0)
            close(fd);
        else
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

int front_peers_open(struct front *f, const struct settings *settings, const char *home, struct err *err) {
    char dir[4096];
    if (front_nodes_open(f, settings, err) < 0) /* needed before: it is part of the tag */
        return -1;
    hex_str(f->core->node, sizeof(f->core->node), f->tag);
    snprintf(dir, sizeof(dir), "%s/peers", home);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, "create `%s`: %s", dir, strerror(errno));
    snprintf(dir, sizeof(dir), "%s/peers/%s_%u", home, f->bind, f->port);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, "create `%s`: %s", dir, strerror(errno));
    sweep(dir);
    f->peer_listener = io_listen_unix(f->loop, dir, f->tag, front_conn_from_peer, f, err);
    if (!f->peer_listener)
        return -1;
    f->peer_dir = mem_dup(dir, strlen(dir));
    return 0;
}

void front_peers_close(struct front *f) {
    io_listener_close(f->peer_listener);
    f->peer_listener = NULL;
    free(f->peer_dir);
    f->peer_dir = NULL;
}

/* ---- the response ---- */

static void relay_idle(struct front_relay *r) {
    r->front->relay_count -= r->busy;
    r->busy = false;
}

static void relay_forget(struct front_relay *r) {
    buf_free(&r->waiting);
    block_unref(steal(r->block));
    r->rest = (struct slice){0};
}

static void relay_leave(struct front_relay *r) {
    if (r->home)
        r->home->relay = NULL;
    else
        r->node->idle_count--;
    list_remove(&r->idle);
}

void front_relay_free(struct front_relay *r) {
    if (!r)
        return;
    relay_idle(r);
    relay_leave(r);
    io_timer_stop(r->front->loop, &r->timer);
    io_dial_cancel(r->dial);
    io_conn_close(r->io);
    block_unref(r->block);
    buf_free(&r->waiting);
    free(r);
}

void front_relay_free_idle(struct front_node *node) {
    while (!list_empty(&node->idle))
        front_relay_free(container_of(node->idle.next, struct front_relay, idle));
}

static void on_idle_long(struct io_timer *timer) {
    front_relay_free(container_of(timer, struct front_relay, timer));
}

/* TLS handshakes are expensive: a connection to another gate is kept for the next request of any client. */
static void relay_keep(struct front_relay *r) {
    struct front_node *node = r->node;
    if (node->idle_count >= FRONT_NODE_IDLE_MAX || r->front->draining) {
        front_relay_free(r);
        return;
    }
    r->home->relay = NULL;
    r->home = NULL;
    node->idle_count++;
    list_push(&node->idle, &r->idle);
    io_timer_arm(r->front->loop, &r->timer, FRONT_NODE_IDLE_MS, on_idle_long);
}

/* The response was sent. The connection may take its next request immediately, or be closed. */
static void relay_done(struct front_relay *r) {
    struct front_conn *c = r->conn;
    r->conn = NULL;
    relay_idle(r);
    if (r->last)
        front_relay_free(r);
    else if (r->node)
        relay_keep(r);
    front_relay_end(c);
}

static void answer_gone(struct front_conn *c) {
    front_answer_error(c, 404, -32001, (struct slice){0},
                       "the process of this session has exited; initialize again");
}

static void relay_lost(struct front_relay *r) {
    struct front_conn *c = r->conn;
    const bool answered = r->in_body;
    front_relay_free(r);
    if (c && answered)
        front_conn_close(c);
    else if (c)
        answer_gone(c);
}

/* The other side closed the connection before it read the request: part of it cannot be sent, or a unix
 * socket was closed with bytes in it. A gate that ends TLS in order answers first what it has read. */
static bool is_unread(const struct front_relay *r, const struct io_conn *io, int status) {
    return status == UV_EPIPE || (r->node ? io->tls_ended : status == UV_ECONNRESET);
}

static void relay_again(struct front_relay *r);

/* Returns the consumed bytes; 0 if more are needed or the response is complete. */
static size_t take_head(struct front_relay *r, const char *ptr, size_t len) {
    struct http_head *head = &r->conn->front->peer_head;
    const char *why;
    int n = http_parse_response(slice_of(ptr, len), r->method, head, &why);
    if (n < 0) {
        relay_lost(r);
        return 0;
    }
    if (n == 0 || head->status < 200)
        return (size_t)n;
    r->in_body = true;
    r->body = head->body;
    r->left = head->body_len;
    r->last = !head->keep_alive;
    http_chunked_init(&r->chunked);
    front_relay_begin(r->conn, head);
    return (size_t)n;
}

static size_t take_body(struct front_relay *r, char *ptr, size_t len) {
    size_t used = len, out = len;
    bool over = false;
    if (r->body == HTTP_BODY_CHUNKED) {
        enum http_step step = http_chunked_decode(&r->chunked, ptr, len, ptr, &used, &out);
        if (step == HTTP_BAD) {
            relay_lost(r);
            return 0;
        }
        over = step == HTTP_DONE;
    } else {
        used = out = r->left < len ? (size_t)r->left : len;
        r->left -= used;
        over = r->left == 0;
    }
    front_relay_body(r->conn, slice_of(ptr, out));
    if (!over && io_conn_busy(r->conn->io))
        io_conn_read(r->io, false);
    if (over)
        relay_done(r);
    return used;
}

static size_t on_data(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)b;
    struct front_relay *r = owner;
    size_t used = 0;
    if (r->used)
        relay_forget(r);
    /* The end of the response may free the relay; the handle detects that. */
    while (!io->closing && r->conn && !r->in_body && used < len) {
        size_t n = take_head(r, ptr + used, len - used);
        if (n == 0)
            break;
        used += n;
    }
    if (!io->closing && r->conn && r->in_body && r->body != HTTP_BODY_CHUNKED && r->left == 0)
        relay_done(r);
    else if (!io->closing && r->conn && r->in_body && used < len)
        used += take_body(r, ptr + used, len - used);
    return used;
}

static void on_end(struct io_conn *io, void *owner, int status) {
    struct front_relay *r = owner;
    if (r->conn && r->waiting.len && is_unread(r, io, status))
        relay_again(r);
    else
        relay_lost(r);
}

static const struct io_handlers relay_handlers = {.data = on_data, .end = on_end};

/* ---- the request ---- */

static void on_drained(void *owner) {
    struct front_relay *r = owner;
    io_conn_read(r->io, true);
}

static bool is_between_neighbours(struct slice name) {
    static const char *const names[] = {"Connection",     "Keep-Alive",       "Transfer-Encoding",
                                        "Content-Length", "Expect",           FRONT_FORWARDED,
                                        "Upgrade",        "Proxy-Connection", FRONT_FORWARDED_CERT};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq_nocase(name, slice_str(names[i])))
            return true;
    return false;
}

/* The header about the client: address, TLS, whether it is local, and its certificate. Another gate of the
 * fleet determined these, or this process does. */
static void put_client(const struct front_conn *c, const struct http_head *head, bool abroad,
                       struct buf *out) {
    char client[2 * sizeof(c->client.bytes) + 1] = "-";
    if (c->has_client)
        hex_str(c->client.bytes, sizeof(c->client.bytes), client);
    buf_printf(out, FRONT_FORWARDED ": %s %d %d\r\n", client, (c->front->tls && !c->peer) || c->secure,
               abroad || !front_is_local(c));
    struct slice known = http_value_of(head, SLICE(FRONT_FORWARDED_CERT));
    cleanup_buf struct buf cert;
    buf_init(&cert, FRONT_CERT_MAX);
    if (c->peer ? known.len > 0 : io_tls_peer_der(c->io, &cert)) {
        buf_put_str(out, FRONT_FORWARDED_CERT ": ");
        if (c->peer)
            buf_put_slice(out, known);
        else
            base64_put(out, buf_slice(&cert), BASE64_PADDED);
        buf_put_str(out, "\r\n");
    }
}

static void put_head(const struct front_conn *c, const struct http_head *head, size_t body_len, bool abroad,
                     struct buf *out) {
    buf_printf(out, "%.*s %.*s HTTP/1.1\r\n", SLICE_FMT(head->method_text), SLICE_FMT(head->target));
    for (size_t i = 0; i < head->count; i++)
        if (!is_between_neighbours(head->headers[i].name))
            buf_printf(out, "%.*s: %.*s\r\n", SLICE_FMT(head->headers[i].name),
                       SLICE_FMT(head->headers[i].value));
    put_client(c, head, abroad, out);
    if (body_len || head->method == HTTP_POST)
        buf_printf(out, "Content-Length: %zu\r\n", body_len);
    buf_put_str(out, "\r\n");
}

void front_peers_put_request(const struct front_conn *c, struct io_conn *io, const struct http_head *head,
                             struct block *b, struct slice body) {
    cleanup_buf struct buf out;
    buf_init(&out, HTTP_HEAD_MAX + FRONT_CERT_MAX * 2);
    put_head(c, head, body.len, false, &out);
    io_conn_put(io, buf_slice(&out));
    if (body.len)
        io_conn_put_ref(io, b, body);
}

/* ---- connections ---- */

static struct front_relay *relay_new(struct front_conn *c, struct front_node *node) {
    struct front_relay *r = c->relay = mem_zalloc(sizeof(*r));
    r->front = c->front;
    r->home = c;
    r->node = node;
    list_init(&r->idle);
    buf_init(&r->waiting, HTTP_HEAD_MAX + FRONT_CERT_MAX * 2);
    return r;
}

static bool relay_to_worker(struct front_conn *c, const char *tag) {
    int fd = io_dial_unix(c->front->peer_dir, tag);
    if (fd < 0)
        return false;
    struct front_relay *r = relay_new(c, NULL);
    snprintf(r->tag, sizeof(r->tag), "%s", tag);
    r->io = io_conn_fd(c->front->loop, fd, true, &relay_handlers, r);
    r->ready = true;
    io_conn_read(r->io, true);
    return true;
}

/* The gate counts as unreachable: its clients must initialize again, elsewhere. */
static void relay_refused(struct front_relay *r, const char *why) {
    if (!r->node->failing)
        log_warn("fleet: gate %s cannot be reached: %s", r->node->name, why);
    r->node->failing = true;
    relay_lost(r);
}

static void on_connect_late(struct io_timer *timer) {
    relay_refused(container_of(timer, struct front_relay, timer), "no answer in time");
}

static void relay_put(struct front_relay *r) {
    io_conn_put(r->io, buf_slice(&r->waiting));
    if (r->rest.len)
        io_conn_put_ref(r->io, r->block, r->rest);
    if (!r->used)
        relay_forget(r);
}

static void on_secured(void *owner, int status, const char *why) {
    struct front_relay *r = owner;
    if (status < 0) {
        relay_refused(r, why);
        return;
    }
    if (r->node->failing)
        log_info("fleet: gate %s can be reached again", r->node->name);
    r->node->failing = false;
    r->ready = true;
    io_timer_stop(r->front->loop, &r->timer);
    io_conn_notice_loss(r->io, FRONT_NODE_LOST_MS);
    relay_put(r);
}

static void on_connected(void *owner, struct io_conn *io, int status) {
    struct front_relay *r = owner;
    r->dial = NULL;
    r->io = io;
    if (io)
        io_tls_start_client(io, front_nodes_tls(r->front), r->node->host, on_secured);
    else
        relay_refused(r, uv_strerror(status));
}

static void relay_to_node(struct front_conn *c, struct front_node *node) {
    struct front *f = c->front;
    struct front_relay *r = relay_new(c, node);
    io_timer_arm(f->loop, &r->timer, FRONT_NODE_CONNECT_MS, on_connect_late);
    r->dial = io_connect(f->loop, node->host, node->port, &relay_handlers, r, on_connected);
}

/* An idle connection to the gate, the most recently used one: the others may time out. */
static bool relay_reuse(struct front_conn *c, struct front_node *node) {
    while (!list_empty(&node->idle)) {
        struct front_relay *r = container_of(node->idle.prev, struct front_relay, idle);
        if (!io_conn_is_quiet(r->io)) { /* it is about to end */
            front_relay_free(r);
            continue;
        }
        relay_leave(r);
        io_timer_stop(c->front->loop, &r->timer);
        r->home = c;
        c->relay = r;
        return true;
    }
    return false;
}

static void relay_start(struct front_conn *c, enum http_method method) {
    struct front_relay *r = c->relay;
    r->conn = c;
    r->method = method;
    r->in_body = r->last = false;
    r->busy = true;
    c->front->relay_count++;
    front_conn_take(c, r, NULL, on_drained, NULL); /* the connection frees the relay when it closes */
}

/* Sends the request once more, over a new connection. */
static void relay_again(struct front_relay *r) {
    struct front_conn *c = r->conn;
    struct front_node *node = r->node;
    struct buf head = r->waiting;
    struct block *block = steal(r->block);
    const struct slice rest = r->rest;
    const enum http_method method = r->method;
    char tag[FRONT_TAG + 1];
    memcpy(tag, r->tag, sizeof(tag));
    buf_init(&r->waiting, 0);
    r->conn = NULL;
    front_relay_free(r);
    if (node) {
        relay_to_node(c, node);
    } else if (!relay_to_worker(c, tag)) {
        buf_free(&head);
        block_unref(block);
        answer_gone(c);
        return;
    }
    relay_start(c, method);
    r = c->relay;
    r->waiting = head;
    r->block = block;
    r->rest = rest;
    if (r->ready)
        relay_put(r);
}

/* Connects to another gate, or if that is NULL to the process with that tag. */
static bool send_to(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body,
                    struct front_node *node, const char *tag) {
    struct front *f = c->front;
    if (c->relay && (c->relay->node != node || (!node && strcmp(c->relay->tag, tag) != 0) ||
                     !io_conn_is_quiet(c->relay->io)))
        front_relay_free(c->relay);
    const bool used = c->relay || (node && relay_reuse(c, node));
    if (!used && node)
        relay_to_node(c, node);
    else if (!used && !relay_to_worker(c, tag))
        return false;
    f->forwarded_count++;
    relay_start(c, head->method);
    struct front_relay *r = c->relay;
    r->used = used;
    put_head(c, head, body.len, node, &r->waiting);
    r->block = body.len ? block_ref(b) : NULL;
    r->rest = body;
    if (r->ready)
        relay_put(r);
    return true;
}

bool front_peers_send(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body,
                      const char *tag) {
    struct front *f = c->front;
    if (!front_peers_may_send(c) || strcmp(tag, f->tag) == 0)
        return false;
    struct front_node *node = front_nodes_find(f, slice_str(tag));
    return !(node && c->from_node) && send_to(c, head, b, body, node, tag);
}

static bool tag_of(struct slice id, char ret_tag[FRONT_TAG + 1]) {
    if (id.len != FRONT_SESSION_ID)
        return false;
    unsigned char ignored[FRONT_TAG / 2];
    struct slice tag = slice_from(id, FRONT_SESSION_ID - FRONT_TAG);
    if (!hex_get(tag, ignored, sizeof(ignored)))
        return false;
    memcpy(ret_tag, tag.ptr, FRONT_TAG);
    ret_tag[FRONT_TAG] = '\0';
    return true;
}

/* The tag in the id of the task or job that the message is about; 0 if there is none. */
static uint32_t find_id(const struct msg *m) {
    static const char *const arguments[] = {"job_id", "execution_uuid"};
    if (!m->rpc.params || !tape_is(&m->tape, m->rpc.params, TAPE_OBJECT))
        return 0;
    uint32_t id = tape_get_str(&m->tape, m->rpc.params, "taskId");
    for (size_t i = 0; !id && i < ARRAY_LEN(arguments); i++)
        id = tape_path(&m->tape, m->rpc.params, "arguments", arguments[i], NULL);
    return id && tape_is(&m->tape, id, TAPE_STRING) ? id : 0;
}

/* The process whose tag starts with this. */
static bool find_peer(const struct front *f, struct slice start, char ret_tag[FRONT_TAG + 1]) {
    bool found = false;
    DIR *d = opendir(f->peer_dir);
    for (const struct dirent *e; d && !found && (e = readdir(d));)
        if (strlen(e->d_name) == FRONT_TAG && slice_starts(slice_str(e->d_name), start)) {
            memcpy(ret_tag, e->d_name, FRONT_TAG + 1);
            found = true;
        }
    if (d)
        closedir(d);
    return found;
}

bool front_peers_route_id(struct front_conn *c, const struct http_head *head, struct block *b,
                          struct slice body, const struct msg *m) {
    const struct front *f = c->front;
    const uint32_t at = front_peers_may_send(c) ? find_id(m) : 0;
    unsigned char ignored[CODE_NODE];
    char tag[FRONT_TAG + 1];
    if (!at)
        return false;
    struct slice id = tape_raw(&m->tape, at); /* ids of the gate contain no escapes */
    if (id.len < 2 + 2 * CODE_NODE)
        return false;
    struct slice end = slice_of(id.ptr + id.len - 1 - 2 * CODE_NODE, 2 * CODE_NODE);
    if (!hex_get(end, ignored, sizeof(ignored)) || slice_starts(slice_str(f->tag), end))
        return false;
    struct front_node *node = front_nodes_find(f, end);
    if (node)
        return !c->from_node && send_to(c, head, b, body, node, NULL);
    return find_peer(f, end, tag) && front_peers_send(c, head, b, body, tag);
}

bool front_peers_route(struct front_conn *c, const struct http_head *head, struct block *b,
                       struct slice body) {
    char tag[FRONT_TAG + 1];
    cleanup_buf struct buf id;
    buf_init(&id, FRONT_SESSION_ID + 1);
    if (slice_starts(head->path, SLICE("/message")))
        http_query_get(head->query, SLICE("sessionId"), &id);
    else if (!front_is_modern_version(http_value(head, HTTP_FIELD_MCP_VERSION)))
        buf_put_slice(&id, http_value(head, HTTP_FIELD_MCP_SESSION_ID));
    return !id.full && tag_of(buf_slice(&id), tag) && front_peers_send(c, head, b, body, tag);
}
