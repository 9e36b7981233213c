#include "io/conn.h"

#include "base/check.h"
#include "base/mem.h"
#include "wire/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CONN_MAGIC 0xc0447a11
#define CONN_READ_MIN 4096 /* less room than this in front of a read makes a new block worth it */

/* Callbacks of the loop for its lists of connections. */
static void flush_dirty(struct list *dirty) { io_conn_flush(container_of(dirty, struct io_conn, dirty)); }
static void close_one(struct list *all) { io_conn_close(container_of(all, struct io_conn, all)); }

static bool one_sends(const struct list *all) {
    const struct io_conn *c = container_of(all, struct io_conn, all);
    return c->finishing && c->queued > 0;
}

static struct io_conn *conn_new(struct io_loop *loop, const struct io_handlers *h, void *owner) {
    struct io_conn *c = mem_zalloc(sizeof(*c));
    c->magic = CONN_MAGIC;
    c->loop = loop;
    c->handlers = h;
    c->owner = owner;
    c->in_awaited = 1;
    list_init(&c->dirty);
    list_push(&loop->conns, &c->all);
    loop->flush = flush_dirty;
    loop->close = close_one;
    loop->sends = one_sends;
    return c;
}

struct io_conn *io_conn_tcp(struct io_loop *loop, const struct io_handlers *h, void *owner) {
    struct io_conn *c = conn_new(loop, h, owner);
    uv_tcp_init(&loop->uv, &c->uv.tcp);
    c->uv.stream.data = c;
    return c;
}

struct io_conn *io_conn_socket(struct io_loop *loop, int take_fd, const struct io_handlers *h, void *owner) {
    struct io_conn *c = io_conn_tcp(loop, h, owner);
    if (uv_tcp_open(&c->uv.tcp, take_fd) != 0) {
        close(take_fd);
        io_conn_close(c);
        return NULL;
    }
    uv_tcp_nodelay(&c->uv.tcp, 1);
    return c;
}

bool io_conn_address(const struct io_conn *c, struct io_address *ret_address) {
    struct sockaddr_storage peer;
    int len = sizeof(peer);
    return !c->is_pipe && uv_tcp_getpeername(&c->uv.tcp, (struct sockaddr *)&peer, &len) == 0 &&
           io_address_of((struct sockaddr *)&peer, ret_address);
}

bool io_conn_is_quiet(const struct io_conn *c) {
    uv_os_fd_t fd;
    char byte;
    if (c->closing || c->ended || uv_fileno((const uv_handle_t *)&c->uv.stream, &fd) < 0)
        return false;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

void io_conn_notice_loss(struct io_conn *c, uint32_t ms) {
    uv_os_fd_t fd;
    const int on = 1, probes = 2;
    const int every_s = (int)(ms / 1000 / 3) + 1; /* idle, and two probes without an answer */
    if (c->is_pipe || uv_fileno((uv_handle_t *)&c->uv.stream, &fd) < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

/* ---- descriptors that epoll refuses (files, /dev/null) are read by a thread through a pipe ---- */

struct pump {
    int from;
    int to;
};

static void *pump_run(void *arg) {
    cleanup_free struct pump *p = arg;
    char bytes[16384];
    for (;;) {
        ssize_t got = read(p->from, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        for (ssize_t at = 0; at < got;) {
            ssize_t put = write(p->to, bytes + at, (size_t)(got - at));
            if (put < 0 && errno == EINTR)
                continue;
            if (put < 0)
                got = 0;
            else
                at += put;
        }
    }
    if (p->from > STDERR_FILENO) /* as libuv: what took such a place would never be closed */
        close(p->from);
    close(p->to);
    return NULL;
}

static int pollable(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
        (S_ISCHR(st.st_mode) && isatty(fd)))
        return fd;
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    struct pump *p = mem_alloc(sizeof(*p));
    *p = (struct pump){fd, ends[1]};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, pump_run, p) == 0);
    pthread_detach(thread);
    return ends[0];
}

struct io_conn *io_conn_fd(struct io_loop *loop, int take_fd, bool for_reading, const struct io_handlers *h,
                           void *owner) {
    struct io_conn *c = conn_new(loop, h, owner);
    c->is_pipe = true;
    uv_pipe_init(&loop->uv, &c->uv.pipe, 0);
    c->uv.stream.data = c;
    CHECK(uv_pipe_open(&c->uv.pipe, for_reading ? pollable(take_fd) : take_fd) == 0);
    return c;
}

/* Widens a pipe through which much data passes: a large message then takes a few steps instead of one per 64
 * KB. The result is not checked: a socket has no such size, and the system may have a limit. */
static bool widened(struct io_conn *c) {
    uv_os_fd_t fd;
    if (!c->is_pipe || c->is_wide || uv_fileno((uv_handle_t *)&c->uv.stream, &fd) != 0)
        return false;
    c->is_wide = true;
    return fcntl(fd, F_SETPIPE_SZ, IO_PIPE_BYTES) > 0;
}

/* ---- reading ---- */

void io_conn_want(struct io_conn *c, size_t total) { c->in_want = total; }

/* Makes room behind the unconsumed bytes, in this block or in a new one. */
static void in_make_room(struct io_conn *c) {
    size_t pending = c->in_end - c->in_start;
    size_t need = c->in_want > pending ? c->in_want : pending + CONN_READ_MIN;
    if (!c->in) {
        size_t usual = c->is_pipe ? BLOCK_BYTES : BLOCK_SMALL;
        c->in = block_new(&c->loop->blocks, need > usual ? need : usual);
        c->in_start = c->in_end = 0;
        return;
    }
    if (c->in->cap - c->in_start >= need && c->in->cap > c->in_end)
        return;
    if (c->in->refs == 1 && c->in->cap >= need) {
        memmove(c->in->data, c->in->data + c->in_start, pending);
    } else {
        /* Without a stated size the block doubles, so that a long message is copied O(log n) times. */
        size_t size = c->in_want > pending ? c->in_want : pending * 2 + CONN_READ_MIN;
        struct block *fresh = block_new(&c->loop->blocks, size);
        memcpy(fresh->data, c->in->data + c->in_start, pending);
        block_unref(c->in);
        c->in = fresh;
    }
    c->in_start = 0;
    c->in_end = (uint32_t)pending;
}

char *io_conn_in_space(struct io_conn *c, size_t *ret_len) {
    in_make_room(c);
    *ret_len = c->in->cap - c->in_end;
    return c->in->data + c->in_end;
}

void io_conn_again(struct io_conn *c) {
    if (!c->closing && !c->finishing && c->in && !c->in_handler)
        io_conn_in_commit(c, 0);
}

/* While a long message arrives, the kernel wakes the loop when as much has come as the last time, not for
 * each piece: awaiting more could stall a sender with a small buffer, which needs to hear that its bytes were
 * read. */
static void await_more(struct io_conn *c, size_t more) {
    uv_os_fd_t fd;
    const int bytes = more >= IO_AWAIT_BYTES && more <= INT32_MAX ? (int)more : 1;
    if (bytes == c->in_awaited || c->is_pipe || c->layer || uv_fileno((uv_handle_t *)&c->uv.stream, &fd) < 0)
        return;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) == 0)
        c->in_awaited = bytes;
}

bool io_conn_in_commit(struct io_conn *c, size_t len) {
    c->in_end += (uint32_t)len;
    size_t have = c->in_end - c->in_start;
    if (have < c->in_want) {
        await_more(c, len < c->in_want - have ? len : c->in_want - have);
        return true;
    }
    await_more(c, 0);
    c->in_want = 0;
    c->in_handler = true;
    size_t used = c->handlers->data(c, c->owner, c->in, c->in->data + c->in_start, have);
    c->in_handler = false;
    if (c->closing)
        return false;
    CHECK(used <= have);
    c->in_start += (uint32_t)used;
    if (c->in_start == c->in_end) {
        block_unref(c->in);
        c->in = NULL;
    }
    return true;
}

struct slice io_conn_unread(const struct io_conn *c) {
    return c->in ? slice_of(c->in->data + c->in_start, c->in_end - c->in_start) : (struct slice){0};
}

void io_conn_end(struct io_conn *c, int status) {
    if (c->ended || c->closing)
        return;
    c->ended = true;
    io_conn_read(c, false);
    c->handlers->end(c, c->owner, status);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    (void)suggested;
    struct io_conn *c = handle->data;
    if (c->layer) {
        c->layer->in_space(c, buf);
        return;
    }
    buf->base = io_conn_in_space(c, &buf->len);
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf) {
    struct io_conn *c = stream->data;
    CHECK_MAGIC(c, CONN_MAGIC);
    struct io_loop *loop = c->loop;
    if (got == 0)
        return;
    loop->arrivals++;
    if (got >= BLOCK_BYTES)
        widened(c);
    if (got < 0)
        io_conn_end(c, got == UV_EOF ? 0 : (int)got);
    else if (c->layer)
        c->layer->received(c, buf->base, (size_t)got);
    else
        io_conn_in_commit(c, (size_t)got);
    io_loop_pace(loop, IO_LARGE_BYTES);
}

void io_conn_read(struct io_conn *c, bool on) {
    if (c->closing || on == c->reading || (on && c->ended))
        return;
    c->reading = on;
    if (on)
        uv_read_start(&c->uv.stream, on_alloc, on_read);
    else
        uv_read_stop(&c->uv.stream);
}

/* ---- writing ---- */

static void mark_dirty(struct io_conn *c) {
    if (!list_linked(&c->dirty))
        list_push(&c->loop->dirty, &c->dirty);
}

static void count_queued(struct io_conn *c, size_t len) {
    c->queued += len;
    c->loop->queued += len;
}

static void count_sent(struct io_conn *c, size_t len) {
    c->queued -= len;
    c->loop->queued -= len;
}

void io_conn_queue(struct io_conn *c, struct block *b, const char *ptr, size_t len) {
    if (c->q_head + c->q_count == c->q_cap) {
        if (c->q_head >= c->q_count && c->q_head) {
            memmove(c->queue, c->queue + c->q_head, c->q_count * sizeof(*c->queue));
            c->q_head = 0;
        } else {
            c->q_cap = c->q_cap ? c->q_cap * 2 : 4;
            c->queue = mem_realloc(c->queue, c->q_cap * sizeof(*c->queue));
        }
    }
    c->queue[c->q_head + c->q_count++] = (struct io_piece){block_ref(b), ptr, len};
    count_queued(c, len);
}

void io_conn_unqueue_last(struct io_conn *c) {
    struct io_piece *p = &c->queue[c->q_head + --c->q_count];
    count_sent(c, p->len);
    block_unref(p->block);
}

static void after_put(struct io_conn *c, size_t len) {
    c->loop->unsent += len;
    if (c->queued >= IO_QUEUE_HIGH)
        c->over_high = true;
    mark_dirty(c);
}

/* The number of bytes that fit after the copied small pieces; never 0. */
static size_t tail_room(struct io_conn *c) {
    if (!c->out_tail || c->out_used == c->out_tail->cap) {
        block_unref(c->out_tail);
        c->out_tail = block_new(&c->loop->blocks, c->is_pipe ? BLOCK_BYTES : BLOCK_SMALL);
        c->out_used = 0;
    }
    return c->out_tail->cap - c->out_used;
}

static char *tail_end(struct io_conn *c) { return c->out_tail->data + c->out_used; }

/* That many bytes were copied to the end. */
static void tail_add(struct io_conn *c, size_t len) {
    const char *from = tail_end(c);
    struct io_piece *last = c->q_count > c->writing ? &c->queue[c->q_head + c->q_count - 1] : NULL;
    c->out_used += (uint32_t)len;
    if (last && last->block == c->out_tail && last->ptr + last->len == from)
        last->len += len, count_queued(c, len);
    else
        io_conn_queue(c, c->out_tail, from, len);
}

void io_conn_put(struct io_conn *c, struct slice bytes) {
    if (c->closing || c->finishing)
        return;
    size_t len = bytes.len;
    while (bytes.len) {
        size_t room = tail_room(c);
        size_t n = bytes.len < room ? bytes.len : room;
        memcpy(tail_end(c), bytes.ptr, n);
        tail_add(c, n);
        bytes = slice_from(bytes, n);
    }
    after_put(c, len);
}

void io_conn_put_ref(struct io_conn *c, struct block *b, struct slice bytes) {
    if (bytes.len <= IO_COPY_MAX || !b) {
        io_conn_put(c, bytes);
        return;
    }
    if (c->closing || c->finishing)
        return;
    io_conn_queue(c, b, bytes.ptr, bytes.len);
    after_put(c, bytes.len);
}

struct splice_to {
    struct io_conn *conn;
    struct block *block;
};

static bool put_piece(void *ctx, struct slice bytes, bool borrowed_src) {
    struct splice_to *to = ctx;
    io_conn_put_ref(to->conn, borrowed_src ? to->block : NULL, bytes);
    return true;
}

void io_conn_put_splice(struct io_conn *c, const struct splice *text, struct block *b) {
    struct splice_to to = {c, b};
    splice_pieces(text, put_piece, &to);
}

static bool copy_piece(void *ctx, struct slice bytes, bool borrowed_src) {
    (void)borrowed_src;
    char **to = ctx;
    memcpy(*to, bytes.ptr, bytes.len);
    *to += bytes.len;
    return true;
}

void io_conn_put_line(struct io_conn *c, const struct splice *text, struct block *b) {
    if (c->closing || c->finishing)
        return;
    size_t len = splice_len(text) + 1;
    if (len > IO_COPY_MAX || len > tail_room(c)) {
        io_conn_put_splice(c, text, b);
        io_conn_put(c, SLICE("\n"));
        return;
    }
    char *to = tail_end(c);
    splice_pieces(text, copy_piece, &to);
    *to = '\n';
    tail_add(c, len);
    after_put(c, len);
}

static void queue_drop(struct io_conn *c, size_t bytes) {
    count_sent(c, bytes);
    while (c->q_count && (bytes || c->queue[c->q_head].len == 0)) {
        struct io_piece *p = &c->queue[c->q_head];
        size_t n = bytes < p->len ? bytes : p->len;
        p->ptr += n;
        p->len -= n;
        bytes -= n;
        if (p->len)
            break;
        block_unref(p->block);
        c->q_head++;
        c->q_count--;
        if (c->q_cipher)
            c->q_cipher--;
    }
    if (!c->q_count) {
        c->q_head = 0;
        block_unref(c->out_tail);
        c->out_tail = NULL;
    }
}

static void conn_finish_step(struct io_conn *c);

static void after_progress(struct io_conn *c) {
    if (c->finishing) {
        conn_finish_step(c);
        return;
    }
    if (c->over_high && c->queued <= IO_QUEUE_LOW) {
        c->over_high = false;
        if (c->handlers->drained)
            c->handlers->drained(c, c->owner);
    }
}

static uint32_t queue_bufs(struct io_conn *c, uv_buf_t bufs[IO_WRITE_PIECES_MAX], size_t *ret_bytes) {
    uint32_t n = c->q_count < IO_WRITE_PIECES_MAX ? c->q_count : IO_WRITE_PIECES_MAX;
    *ret_bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct io_piece *p = &c->queue[c->q_head + i];
        bufs[i] = uv_buf_init((char *)(uintptr_t)p->ptr, (unsigned)p->len);
        *ret_bytes += p->len;
    }
    return n;
}

static void write_failed(struct io_conn *c, int status) {
    if (c->finishing)
        io_conn_close(c);
    else
        io_conn_end(c, status);
}

static void on_written(uv_write_t *req, int status) {
    struct io_conn *c = container_of(req, struct io_conn, write_req);
    CHECK_MAGIC(c, CONN_MAGIC);
    if (c->closing)
        return; /* the pieces are freed with the conn */
    size_t bytes = 0;
    for (uint32_t i = 0; i < c->writing; i++)
        bytes += c->queue[c->q_head + i].len;
    c->writing = 0;
    queue_drop(c, bytes);
    if (status < 0)
        write_failed(c, status);
    else
        io_conn_flush(c);
}

/* Writes what the other side takes immediately; -EAGAIN for nothing. A socket is written to by send(2), which
 * is faster than write(2). */
static int write_now(struct io_conn *c, uv_buf_t *bufs, uint32_t n) {
    uv_os_fd_t fd;
    if (c->is_pipe || uv_fileno((uv_handle_t *)&c->uv.stream, &fd) != 0)
        return uv_try_write(&c->uv.stream, bufs, n);
    const struct msghdr msg = {.msg_iov = (struct iovec *)bufs, .msg_iovlen = n};
    ssize_t sent;
    do
        sent = n == 1 ? send(fd, bufs->base, bufs->len, MSG_NOSIGNAL) : sendmsg(fd, &msg, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : (int)sent;
}

void io_conn_flush(struct io_conn *c) {
    if (c->closing || c->writing)
        return;
    if (c->layer && !c->layer->encrypt(c))
        return;
    while (c->q_count) {
        uv_buf_t bufs[IO_WRITE_PIECES_MAX];
        size_t bytes;
        uint32_t n = queue_bufs(c, bufs, &bytes);
        int sent = write_now(c, bufs, n);
        if (sent == UV_EAGAIN)
            sent = 0;
        if (sent < 0) {
            write_failed(c, sent);
            return;
        }
        queue_drop(c, (size_t)sent);
        if ((size_t)sent == bytes || widened(c))
            continue;
        n = queue_bufs(c, bufs, &bytes);
        c->writing = n;
        int rc = uv_write(&c->write_req, &c->uv.stream, bufs, n, on_written);
        if (rc < 0) {
            c->writing = 0;
            write_failed(c, rc);
        }
        return;
    }
    after_progress(c);
}

/* ---- the end ---- */

static void on_handle_closed(uv_handle_t *handle) {
    struct io_conn *c = handle->data;
    count_sent(c, c->queued);
    for (uint32_t i = 0; i < c->q_count; i++)
        block_unref(c->queue[c->q_head + i].block);
    free(c->queue);
    block_unref(c->out_tail);
    block_unref(c->in);
    if (c->layer)
        c->layer->free(c->tls);
    c->magic = 0;
    free(c);
}

void io_conn_close(struct io_conn *c) {
    if (!c || c->closing)
        return;
    CHECK_MAGIC(c, CONN_MAGIC);
    c->closing = true;
    list_remove(&c->all);
    list_remove(&c->dirty);
    io_timer_stop(c->loop, &c->linger);
    uv_close((uv_handle_t *)&c->uv, on_handle_closed);
}

static size_t linger_data(struct io_conn *c, void *owner, struct block *b, char *ptr, size_t len) {
    (void)c, (void)owner, (void)b, (void)ptr;
    return len;
}

static void linger_end(struct io_conn *c, void *owner, int status) {
    (void)owner, (void)status;
    io_conn_close(c);
}

static const struct io_handlers linger_handlers = {.data = linger_data, .end = linger_end};

static void on_linger(struct io_timer *timer) { io_conn_close(container_of(timer, struct io_conn, linger)); }

static void on_shutdown(uv_shutdown_t *req, int status) {
    struct io_conn *c = container_of(req, struct io_conn, shutdown_req);
    if (c->closing)
        return;
    if (status < 0 || c->ended)
        io_conn_close(c);
}

static void conn_finish_step(struct io_conn *c) {
    if (c->q_count || c->shutdown_req.data)
        return;
    c->shutdown_req.data = c;
    if (uv_shutdown(&c->shutdown_req, &c->uv.stream, on_shutdown) < 0) {
        io_conn_close(c);
        return;
    }
    if (!c->ended)
        io_conn_read(c, true);
}

void io_conn_finish(struct io_conn *c) {
    if (!c || c->closing || c->finishing)
        return;
    c->handlers = &linger_handlers;
    if (c->layer)
        c->layer->close_notify(c);
    c->finishing = true;
    io_timer_arm(c->loop, &c->linger, IO_LINGER_MS, on_linger);
    mark_dirty(c);
}
