#include "front/peers.h"

#include "base/hex.h"
#include "base/mem.h"
#include "code/code.h"
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

/* A client's connection to the process that has its session; kept for its next request. */
struct front_relay {
    struct front_conn *conn; /* whose request is under way, or NULL */
    struct front_conn *home; /* that it belongs to */
    struct io_conn *io;
    char tag[FRONT_TAG + 1];
    enum http_method method;
    bool busy; /* a request has no answer yet */
    bool in_body;
    bool last; /* the other side closes after this answer */
    enum http_body body;
    uint64_t left;
    struct http_chunked chunked;
};

/* ---- the directory ---- */

/* Sockets of processes that had no time to remove them. A young one may be in the making. */
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

int front_peers_open(struct front *f, const char *home, struct err *err) {
    char dir[4096];
    hex_str(f->core->node, sizeof(f->core->node), f->tag);
    snprintf(dir, sizeof(dir), "%s/peers", home);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, "make `%s`: %s", dir, strerror(errno));
    snprintf(dir, sizeof(dir), "%s/peers/%s_%u", home, f->bind, f->port);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, "make `%s`: %s", dir, strerror(errno));
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

/* ---- the answer ---- */

static void relay_idle(struct front_relay *r) {
    r->home->front->relay_count -= r->busy;
    r->busy = false;
}

void front_relay_free(struct front_relay *r) {
    if (!r)
        return;
    relay_idle(r);
    r->home->relay = NULL;
    io_conn_close(r->io);
    free(r);
}

/* The answer is sent. The connection may take its next request immediately, or be closed. */
static void relay_done(struct front_relay *r) {
    struct front_conn *c = r->conn;
    r->conn = NULL;
    relay_idle(r);
    if (r->last)
        front_relay_free(r);
    front_relay_end(c);
}

static void relay_lost(struct front_relay *r) {
    struct front_conn *c = r->conn;
    const bool answered = r->in_body;
    front_relay_free(r);
    if (c && answered)
        front_conn_close(c);
    else if (c)
        front_answer_error(c, 404, -32001, (struct slice){0},
                           "the process of this session has exited; initialize again");
}

/* Consumed bytes; 0: more are needed, or it is over. */
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
    /* The end of the answer may free the relay; the handle shows it. */
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
    (void)io, (void)status;
    relay_lost(owner);
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

void front_peers_put_request(const struct front_conn *c, struct io_conn *io, const struct http_head *head,
                             struct block *b, struct slice body) {
    cleanup_buf struct buf out;
    buf_init(&out, HTTP_HEAD_MAX + FRONT_CERT_MAX * 2);
    buf_printf(&out, "%.*s %.*s HTTP/1.1\r\n", SLICE_FMT(head->method_text), SLICE_FMT(head->target));
    for (size_t i = 0; i < head->count; i++)
        if (!is_between_neighbours(head->headers[i].name))
            buf_printf(&out, "%.*s: %.*s\r\n", SLICE_FMT(head->headers[i].name),
                       SLICE_FMT(head->headers[i].value));
    char client[2 * sizeof(c->client.bytes) + 1] = "-";
    if (c->has_client)
        hex_str(c->client.bytes, sizeof(c->client.bytes), client);
    buf_printf(&out, FRONT_FORWARDED ": %s %d %d\r\n", client, c->front->tls || c->secure,
               !front_is_local(c));
    cleanup_buf struct buf cert;
    buf_init(&cert, FRONT_CERT_MAX);
    if (io_tls_peer_der(c->io, &cert)) {
        buf_put_str(&out, FRONT_FORWARDED_CERT ": ");
        base64_put(&out, buf_slice(&cert), BASE64_PADDED);
        buf_put_str(&out, "\r\n");
    }
    if (body.len || head->method == HTTP_POST)
        buf_printf(&out, "Content-Length: %zu\r\n", body.len);
    buf_put_str(&out, "\r\n");
    io_conn_put(io, buf_slice(&out));
    if (body.len)
        io_conn_put_ref(io, b, body);
}

bool front_peers_send(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body,
                      const char *tag) {
    struct front *f = c->front;
    if (c->peer || !f->peer_dir || strcmp(tag, f->tag) == 0)
        return false;
    if (c->relay && strcmp(c->relay->tag, tag) != 0)
        front_relay_free(c->relay);
    if (!c->relay) {
        int fd = io_dial_unix(f->peer_dir, tag);
        if (fd < 0)
            return false;
        struct front_relay *fresh = c->relay = mem_zalloc(sizeof(*fresh));
        fresh->home = c;
        snprintf(fresh->tag, sizeof(fresh->tag), "%s", tag);
        fresh->io = io_conn_fd(f->loop, fd, true, &relay_handlers, fresh);
        io_conn_read(fresh->io, true);
    }
    struct front_relay *r = c->relay;
    r->conn = c;
    r->method = head->method;
    r->in_body = r->last = false;
    r->busy = true;
    f->relay_count++;
    f->forwarded_count++;
    front_conn_take(c, r, NULL, on_drained, NULL); /* the connection frees the relay when it goes */
    front_peers_put_request(c, r->io, head, b, body);
    return true;
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

/* Of the task or the job that the message is about; 0: of none. */
static uint32_t find_id(const struct msg *m) {
    static const char *const arguments[] = {"job_id", "execution_uuid"};
    if (!m->rpc.params || !tape_is(&m->tape, m->rpc.params, TAPE_OBJECT))
        return 0;
    uint32_t id = tape_get_str(&m->tape, m->rpc.params, "taskId");
    for (size_t i = 0; !id && i < ARRAY_LEN(arguments); i++)
        id = tape_path(&m->tape, m->rpc.params, "arguments", arguments[i], NULL);
    return id && tape_is(&m->tape, id, TAPE_STRING) ? id : 0;
}

/* The process whose tag begins so. */
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
    const uint32_t node = f->peer_dir && !c->peer ? find_id(m) : 0;
    unsigned char ignored[CODE_NODE];
    char tag[FRONT_TAG + 1];
    if (!node)
        return false;
    struct slice id = tape_raw(&m->tape, node); /* what has escapes is no id of ours */
    if (id.len < 2 + 2 * CODE_NODE)
        return false;
    struct slice end = slice_of(id.ptr + id.len - 1 - 2 * CODE_NODE, 2 * CODE_NODE);
    return hex_get(end, ignored, sizeof(ignored)) && !slice_starts(slice_str(f->tag), end) &&
           find_peer(f, end, tag) && front_peers_send(c, head, b, body, tag);
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
