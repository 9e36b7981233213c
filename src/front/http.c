/* HTTP connections of clients: one request at a time each, further ones wait in the buffer.
 *
 *   READING ──request──▶ ANSWERING ──reply──▶ READING …
 *                            └──first event──▶ STREAMING ──end──▶ READING …
 */
#include "front/auth.h"
#include "front/front.h"
#include "front/gate_config.h"
#include "front/gate_worker.h"
#include "front/nodes.h"
#include "front/peers.h"
#include "front/share.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "io/tls.h"
#include "session/session.h"
#include "wire/emit.h"
#include "wire/sse.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FRONT_CONN_MAGIC 0xf4047c04

static void conn_timer(struct io_timer *timer);

static struct io_loop *conn_loop(struct front_conn *c) { return c->front->loop; }

static void arm(struct front_conn *c, uint64_t ms) { io_timer_arm(conn_loop(c), &c->timer, ms, conn_timer); }

/* A connection from a process of this gate closes with its client's; another gate keeps some for later
 * requests. */
static void arm_idle(struct front_conn *c) {
    if (c->peer && !c->from_node)
        io_timer_stop(conn_loop(c), &c->timer);
    else
        arm(c, FRONT_IDLE_MS);
}

/* ---- life ---- */

static void conn_reset_request(struct front_conn *c) {
    block_unref(c->head_copy);
    block_unref(c->body);
    block_unref(c->held);
    c->head_copy = c->body = c->held = NULL;
    c->waited = c->cookie_waited = false;
    c->body_len = 0;
    front_share_bytes_end(c);
    c->sent_continue = c->got_bytes = false;
}

/* Publishes the number of connections for the other workers. */
static void publish_conn_count(const struct front *f) {
    if (f->worker)
        f->worker->shared->slots[f->worker->index].conns = f->conn_count - f->peer_count;
}

static void conn_free(struct front_conn *c, bool gracefully) {
    struct front *f = c->front;
    io_timer_stop(f->loop, &c->timer);
    conn_reset_request(c);
    front_share_leave(c);
    front_memo_clear(&c->memo);
    front_relay_free(c->relay);
    list_remove(&c->node);
    list_remove(&c->waiting);
    f->peer_count -= c->peer;
    f->conn_count--;
    publish_conn_count(f);
    if (gracefully)
        io_conn_finish(c->io);
    else
        io_conn_close(c->io);
    c->magic = 0;
    free(c);
}

/* The connection was closed while a response was being written. */
void front_conn_close(struct front_conn *c) {
    void (*gone)(void *) = c->gone;
    void *owner = c->owner;
    c->gone = NULL;
    conn_free(c, false);
    if (gone)
        gone(owner);
}

void front_conn_take(struct front_conn *c, void *owner, void (*gone)(void *), void (*drained)(void *),
                     void (*alive)(void *)) {
    c->owner = owner;
    c->gone = gone;
    c->drained = drained;
    c->alive = alive;
}

/* The response is sent: the connection is free for the next request. */
static void conn_done(struct front_conn *c) {
    front_conn_take(c, NULL, NULL, NULL, NULL);
    if (!c->keep_alive || c->front->draining || c->front->leaving) {
        conn_free(c, true);
        return;
    }
    c->state = FRONT_READING;
    conn_reset_request(c);
    arm_idle(c);
    io_conn_read(c->io, true);
    io_conn_again(c->io);
}

static void conn_timer(struct io_timer *timer) {
    struct front_conn *c = container_of(timer, struct front_conn, timer);
    CHECK_MAGIC(c, FRONT_CONN_MAGIC);
    if (c->state == FRONT_READING) {
        if (c->got_bytes) {
            c->keep_alive = false;
            front_answer_error(c, 408, RPC_INVALID_REQUEST, (struct slice){0},
                               "the request took too long to arrive");
        } else {
            conn_free(c, true);
        }
        return;
    }
    arm(c, FRONT_KEEPALIVE_MS);
    if (c->alive)
        c->alive(c->owner);
}

/* ---- requests ---- */

static void refuse(struct front_conn *c, int status, const char *why) {
    c->keep_alive = false;
    c->state = FRONT_ANSWERING;
    front_answer_error(c, status, RPC_INVALID_REQUEST, (struct slice){0}, why);
}

static void refuse_large(struct front_conn *c, const struct http_head *head) {
    c->keep_alive = false;
    c->state = FRONT_ANSWERING;
    struct front *f = c->front;
    front_refuse_large(c, head);
    arena_reset(&f->scratch);
}

static void dispatch(struct front_conn *c, struct http_head *head, struct block *b, struct slice body) {
    c->state = FRONT_ANSWERING;
    c->keep_alive = head->keep_alive;
    c->http10 = head->minor == 0;
    c->head_only = head->method == HTTP_HEAD;
    arm(c, FRONT_KEEPALIVE_MS);
    struct front *f = c->front;
    front_request(c, head, b, body);
    arena_reset(&f->scratch);
}

/* The request waits for something and is processed again later. Its bytes stay in place: no read may move
 * what is referred to. */
void front_conn_hold(struct front_conn *c, const struct http_head *head, struct block *b, struct slice body) {
    c->held = block_ref(b);
    c->held_body = body;
    c->held_head = c->head_copy ? slice_of(c->head_copy->data, c->head_len)
                                : slice_of(body.ptr - head->head_len, head->head_len);
}

void front_conn_release(struct front_conn *c) {
    const char *why;
    struct block *b = c->held;
    c->held = NULL;
    CHECK(http_parse_request(c->held_head, &c->front->head, &why) > 0);
    dispatch(c, &c->front->head, b, c->held_body);
    block_unref(b);
}

static void send_continue(struct front_conn *c, const struct http_head *head) {
    if (head->expect_continue && !c->sent_continue)
        io_conn_put(c->io, SLICE("HTTP/1.1 100 Continue\r\n\r\n"));
    c->sent_continue = true;
}

/* Large bodies share a ceiling, so that many concurrent ones cannot use up the memory. */
static bool count_body(struct front_conn *c, size_t len) {
    if ((c->known && len <= FRONT_BODY_SMALL) || front_share_bytes(c, len))
        return true;
    refuse(c, 503, "too many large requests at once");
    return false;
}

/* The sender is authenticated before a body is awaited. */
static bool admit_body(struct front_conn *c, const struct http_head *head, size_t len) {
    struct front *f = c->front;
    const bool keep_alive = c->keep_alive;
    c->keep_alive = false;
    c->state = FRONT_ANSWERING;
    const bool in = front_admit_body(c, head, len);
    arena_reset(&f->scratch);
    if (!in)
        return false;
    c->keep_alive = keep_alive;
    c->state = FRONT_READING;
    return count_body(c, len);
}

/* The head of the request whose chunks are being read. */
static struct http_head *head_again(struct front_conn *c) {
    const char *why;
    struct http_head *head = &c->front->head;
    CHECK(http_parse_request(slice_of(c->head_copy->data, c->head_len), head, &why) > 0);
    return head;
}

/* Moves bytes of a chunked body into a separate block. Returns the consumed bytes, or -1 if the body was
 * refused. */
static ptrdiff_t take_chunks(struct front_conn *c, char *ptr, size_t len) {
    size_t need = c->body_len + len;
    if (need > MSG_BYTES_MAX) {
        refuse_large(c, head_again(c));
        return -1;
    }
    if (!c->known && need > FRONT_STRANGER_BODY_MAX ? !admit_body(c, head_again(c), need)
                                                    : !count_body(c, need))
        return -1;
    if (!c->body || c->body->cap < need) {
        struct block *larger = block_new(&conn_loop(c)->blocks, need * 2);
        if (c->body_len)
            memcpy(larger->data, c->body->data, c->body_len);
        block_unref(c->body);
        c->body = larger;
    }
    size_t used, out;
    enum http_step step =
        http_chunked_decode(&c->chunked, ptr, len, c->body->data + c->body_len, &used, &out);
    c->body_len += out;
    if (step == HTTP_BAD) {
        refuse(c, 400, "malformed chunked body");
        return -1;
    }
    if (step == HTTP_DONE)
        dispatch(c, head_again(c), c->body, slice_of(c->body->data, c->body_len));
    return (ptrdiff_t)used;
}

static bool begin_chunks(struct front_conn *c, const struct http_head *head, const char *ptr) {
    if (!admit_body(c, head, 0))
        return false;
    c->head_len = head->head_len;
    c->head_copy = block_new(&conn_loop(c)->blocks, c->head_len);
    memcpy(c->head_copy->data, ptr, c->head_len);
    http_chunked_init(&c->chunked);
    send_continue(c, head);
    return true;
}

/* Takes one request from the start of the input. Returns the consumed bytes, 0 if more are needed, -1 if
 * the connection is in use. */
static ptrdiff_t take_request(struct front_conn *c, struct block *b, char *ptr, size_t len) {
    if (c->head_copy)
        return take_chunks(c, ptr, len);
    struct http_head *head = &c->front->head;
    const char *why;
    int got = http_parse_request(slice_of(ptr, len), head, &why);
    if (got < 0) {
        refuse(c, -got, why);
        return -1;
    }
    if (got == 0)
        return 0;
    front_proxy_request(c, head);
    if (head->body == HTTP_BODY_CHUNKED) {
        return begin_chunks(c, head, ptr) ? got : -1;
    }
    size_t body = head->body == HTTP_BODY_LENGTH ? (size_t)head->body_len : 0;
    if (head->body == HTTP_BODY_LENGTH && head->body_len > MSG_BYTES_MAX) {
        refuse_large(c, head);
        return -1;
    }
    if (len < (size_t)got + body) {
        if (!admit_body(c, head, body))
            return -1;
        send_continue(c, head);
        io_conn_want(c->io, (size_t)got + body);
        return 0;
    }
    dispatch(c, head, b, slice_of(ptr + got, body));
    return got + (ptrdiff_t)body;
}

/* Handling a request may free the struct; the handle detects that. */
static bool conn_is_open(struct io_conn *io) { return !io->closing && !io->finishing; }

static void on_secured(void *owner, int status, const char *why) {
    (void)why;
    struct front_conn *c = owner;
    CHECK_MAGIC(c, FRONT_CONN_MAGIC);
    if (status < 0)
        front_conn_close(c);
}

/* Reads the PROXY protocol header, which comes first. Returns the consumed bytes; more than `len` if the
 * connection is closed or needs more. */
static size_t read_proxy_v2(struct front_conn *c, const char *ptr, size_t len) {
    ptrdiff_t n = front_proxy_v2(c, ptr, len);
    if (n == -1)
        return len + 1;
    if (n < 0) {
        front_conn_close(c);
        return len + 1;
    }
    c->expect_proxy_v2 = false;
    if (!c->front->tls)
        return (size_t)n;
    io_tls_start_server(c->io, c->front->tls, slice_of(ptr + n, len - (size_t)n), on_secured);
    return len;
}

static size_t on_data(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    struct front_conn *c = owner;
    size_t used = c->expect_proxy_v2 ? read_proxy_v2(c, ptr, len) : 0;
    if (used > len)
        return 0;
    while (used < len && conn_is_open(io) && c->state == FRONT_READING) {
        if (!c->got_bytes) {
            c->got_bytes = true;
            arm(c, FRONT_REQUEST_MS);
        }
        ptrdiff_t n = take_request(c, b, ptr + used, len - used);
        if (n < 0)
            return len;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    if (conn_is_open(io) && c->state != FRONT_READING && len - used > FRONT_PIPELINE_MAX)
        io_conn_read(io, false);
    return used;
}

static void on_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    struct front_conn *c = owner;
    CHECK_MAGIC(c, FRONT_CONN_MAGIC);
    front_conn_close(c);
}

static void on_drained(struct io_conn *io, void *owner) {
    (void)io;
    struct front_conn *c = owner;
    if (c->drained)
        c->drained(c->owner);
}

static const struct io_handlers conn_handlers = {.data = on_data, .end = on_end, .drained = on_drained};

static struct front_conn *conn_enter(struct front *f) {
    struct front_conn *c = mem_zalloc(sizeof(*c));
    c->magic = FRONT_CONN_MAGIC;
    c->front = f;
    list_init(&c->node);
    return c;
}

static void conn_begin(struct front_conn *c) {
    struct front *f = c->front;
    list_push(&f->conns, &c->node);
    f->conn_count++;
    publish_conn_count(f);
    front_proxy_enter(c);
    if (c->peer)
        c->trusted = c->expect_proxy_v2 =
            false; /* peers send their client's address in a header of their own */
    front_share_enter(c);
    front_share_make_room(c);
}

void front_conn_from_peer(struct io_listener *l, void *owner, int take_fd) {
    (void)l;
    if (!io_same_user(take_fd)) {
        close(take_fd);
        return;
    }
    struct front_conn *c = conn_enter(owner);
    c->io = io_conn_fd(c->front->loop, take_fd, true, &conn_handlers, c);
    c->peer = true;
    c->front->peer_count++;
    conn_begin(c);
    io_conn_read(c->io, true);
}

/* Until here the peer was unauthenticated. From here on its requests carry their own clients. */
static void on_node_secured(void *owner, int status, const char *why) {
    struct front_conn *c = owner;
    CHECK_MAGIC(c, FRONT_CONN_MAGIC);
    if (status < 0) {
        front_nodes_refused(c->front, why);
        front_conn_close(c);
        return;
    }
    c->has_client = false;
    front_share_enter(c);
    io_conn_notice_loss(c->io, FRONT_NODE_LOST_MS);
    arm_idle(c);
}

void front_conn_from_node(struct front *f, int take_fd, struct io_tls_ctx *tls) {
    struct front_conn *c = conn_enter(f);
    c->io = io_conn_socket(f->loop, take_fd, &conn_handlers, c);
    if (!c->io) {
        free(c);
        return;
    }
    c->peer = c->from_node = true;
    f->peer_count++;
    conn_begin(c);
    if (f->conn_count > FRONT_CONNS_MAX) {
        front_conn_close(c);
        return;
    }
    arm(c, FRONT_NODE_CONNECT_MS);
    io_tls_start_server(c->io, tls, (struct slice){0}, on_node_secured);
}

static void on_incoming(struct io_listener *l, void *owner, int take_fd) {
    (void)l;
    struct front *f = owner;
    struct front_conn *c = conn_enter(f);
    c->io = io_conn_socket(f->loop, take_fd, &conn_handlers, c);
    if (!c->io) {
        free(c);
        return;
    }
    conn_begin(c);
    if (f->conn_count > FRONT_CONNS_MAX && f->tls) {
        front_conn_close(c); /* nothing can be sent before a TLS handshake */
        return;
    }
    if (f->conn_count > FRONT_CONNS_MAX) {
        refuse(c, 503, "too many connections");
        return;
    }
    arm_idle(c);
    if (f->tls && !c->expect_proxy_v2)
        io_tls_start_server(c->io, f->tls, (struct slice){0}, on_secured);
    else
        io_conn_read(c->io, true);
}

/* ---- responses ---- */

static const char *date_text(struct front *f) {
    uint64_t now = io_now_ms(f->loop);
    if (!f->date[0] || now - f->date_at_ms >= 1000) {
        time_t seconds = time(NULL);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(f->date, sizeof(f->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
        f->date_at_ms = now;
        f->usual_len = (size_t)snprintf(f->usual, sizeof(f->usual),
                                        "HTTP/1.1 200 OK\r\nDate: %s\r\nContent-Type: application/json\r\n"
                                        "Content-Length: ",
                                        f->date);
        CHECK(f->usual_len < sizeof(f->usual));
    }
    return f->date;
}

/* A gate that will close its connections says so with the last answers, not ready as it is: a proxy that
 * keeps them would send its next request into one that ends. */
static void put_head_end(struct front_conn *c, struct slice extra) {
    const struct front *f = c->front;
    struct buf *out = &c->front->out;
    c->keep_alive &= !f->draining && !f->leaving && !f->not_ready;
    buf_put_slice(out, SLICE("\r\n"));
    buf_put_slice(out, extra);
    if (!c->keep_alive)
        buf_put_str(out, "Connection: close\r\n");
    buf_put_slice(out, SLICE("\r\n"));
    io_conn_put(c->io, buf_slice(out));
}

static void put_head(struct front_conn *c, int status, const char *type, struct slice extra, bool sized,
                     size_t len) {
    struct buf *out = &c->front->out;
    buf_reset(out);
    buf_put_str(out, "HTTP/1.1 ");
    buf_put_u64(out, (uint64_t)status);
    buf_put_char(out, ' ');
    buf_put_str(out, http_reason(status));
    buf_put_str(out, "\r\nDate: ");
    buf_put_str(out, date_text(c->front));
    if (type) {
        buf_put_str(out, "\r\nContent-Type: ");
        buf_put_str(out, type);
    }
    if (sized && status != 204 && status != 304) {
        buf_put_str(out, "\r\nContent-Length: ");
        buf_put_u64(out, len);
    }
    put_head_end(c, extra);
}

static void put_usual_head(struct front_conn *c, struct slice extra, size_t len) {
    struct front *f = c->front;
    date_text(f);
    buf_reset(&f->out);
    buf_put(&f->out, f->usual, f->usual_len);
    buf_put_u64(&f->out, len);
    put_head_end(c, extra);
}

static struct front_conn *slowest_reader(const struct front *f) {
    struct front_conn *most = NULL;
    LIST_FOR (n, &f->conns) {
        struct front_conn *c = container_of(n, struct front_conn, node);
        if (!most || io_conn_queued(c->io) > io_conn_queued(most->io))
            most = c;
    }
    return most;
}

static void end_slow_readers(struct io_timer *timer) {
    struct front *f = container_of(timer, struct front, unsent_timer);
    size_t queued = f->loop->queued;
    while (queued > f->unsent_max) {
        struct front_conn *c = slowest_reader(f);
        size_t bytes = c ? io_conn_queued(c->io) : 0;
        if (!bytes)
            return;
        log_warn("a client that does not read its answers was disconnected: %zu MB of %zu MB unsent",
                 bytes >> 20, queued >> 20);
        queued -= bytes;
        front_conn_close(c);
    }
}

static void watch_unsent(struct front *f) {
    if (f->loop->queued > f->unsent_max)
        io_timer_soon(f->loop, &f->unsent_timer, end_slow_readers);
}

void front_answer(struct front_conn *c, int status, const char *type, struct slice extra, struct slice body) {
    put_head(c, status, type, extra, true, body.len);
    if (!c->head_only)
        io_conn_put(c->io, body);
    watch_unsent(c->front);
    conn_done(c);
}

void front_answer_error(struct front_conn *c, int status, int code, struct slice id_raw,
                        const char *message) {
    struct arena a;
    arena_init(&a);
    front_answer(c, status, "application/json", (struct slice){0},
                 answer_error_text(&a, id_raw, code, message));
    arena_free(&a);
}

void front_answer_fault(struct front_conn *c, int status, struct slice extra, const char *message) {
    cleanup_buf struct buf body;
    buf_init(&body, HTTP_HEAD_MAX);
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    emit_key(&e, "error");
    emit_cstr(&e, message);
    emit_object_end(&e);
    buf_put_char(&body, '\n');
    front_answer(c, status, "application/json", extra, buf_slice(&body));
}

static void put_message(struct front_conn *c, const struct session_out *out) {
    io_conn_put_splice(c->io, out->text, out->msg ? out->msg->block : NULL);
    watch_unsent(c->front);
}

void front_answer_message(struct front_conn *c, int status, struct slice extra,
                          const struct session_out *out) {
    if (status == 200)
        put_usual_head(c, extra, splice_len(out->text));
    else
        put_head(c, status, "application/json", extra, true, splice_len(out->text));
    if (!c->head_only)
        put_message(c, out);
    conn_done(c);
}

/* ---- event streams ---- */

void front_events_begin(struct front_conn *c, struct slice extra) {
    c->state = FRONT_STREAMING;
    c->chunked_on = !c->http10;
    if (c->http10)
        c->keep_alive = false;
    char lines[512];
    int n = snprintf(lines, sizeof(lines),
                     "Cache-Control: no-cache, no-transform\r\nX-Accel-Buffering: no\r\n%s%.*s",
                     c->chunked_on ? "Transfer-Encoding: chunked\r\n" : "", SLICE_FMT(extra));
    put_head(c, 200, "text/event-stream", slice_of(lines, (size_t)n), false, 0);
    arm(c, FRONT_KEEPALIVE_MS);
}

static void chunk_head(struct front_conn *c, size_t len) {
    char line[24];
    int n = snprintf(line, sizeof(line), "%zx\r\n", len);
    if (c->chunked_on)
        io_conn_put(c->io, slice_of(line, (size_t)n));
}

static void chunk_tail(struct front_conn *c) {
    if (c->chunked_on)
        io_conn_put(c->io, SLICE("\r\n"));
}

void front_events_text(struct front_conn *c, struct slice text) {
    if (!text.len)
        return;
    chunk_head(c, text.len);
    io_conn_put(c->io, text);
    chunk_tail(c);
}

void front_events_put(struct front_conn *c, struct slice type, struct slice id,
                      const struct session_out *out) {
    cleanup_buf struct buf head;
    buf_init(&head, 4096);
    sse_write_head(&head, type, id);
    if (out->msg)
        msg_flatten(out->msg);
    chunk_head(c, head.len + splice_len(out->text) + SSE_TAIL.len);
    io_conn_put(c->io, buf_slice(&head));
    put_message(c, out);
    io_conn_put(c->io, SSE_TAIL);
    chunk_tail(c);
}

void front_events_end(struct front_conn *c) {
    if (c->chunked_on)
        io_conn_put(c->io, SLICE("0\r\n\r\n"));
    c->chunked_on = false;
    conn_done(c);
}

/* ---- responses of other processes ---- */

static bool is_ours_to_say(struct slice name) {
    static const char *const names[] = {"Connection",     "Keep-Alive", "Transfer-Encoding",
                                        "Content-Length", "Date",       "Content-Type"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (slice_eq_nocase(name, slice_str(names[i])))
            return true;
    return false;
}

void front_relay_begin(struct front_conn *c, const struct http_head *answer) {
    struct arena *a = &c->front->scratch;
    cleanup_buf struct buf extra;
    buf_init(&extra, HTTP_HEAD_MAX);
    for (size_t i = 0; i < answer->count; i++)
        if (!is_ours_to_say(answer->headers[i].name))
            buf_printf(&extra, "%.*s: %.*s\r\n", SLICE_FMT(answer->headers[i].name),
                       SLICE_FMT(answer->headers[i].value));
    const bool stream = answer->body == HTTP_BODY_CHUNKED;
    struct slice type = http_value(answer, HTTP_FIELD_TYPE);
    if (stream) {
        c->state = FRONT_STREAMING;
        c->chunked_on = !c->http10;
        c->keep_alive &= !c->http10;
        if (c->chunked_on)
            buf_put_str(&extra, "Transfer-Encoding: chunked\r\n");
    }
    put_head(c, answer->status, type.len ? arena_dup(a, type).ptr : NULL, buf_slice(&extra), !stream,
             (size_t)answer->body_len);
    arena_reset(a);
    arm(c, FRONT_KEEPALIVE_MS);
}

void front_relay_body(struct front_conn *c, struct slice bytes) {
    if (c->state == FRONT_STREAMING)
        front_events_text(c, bytes);
    else if (bytes.len)
        io_conn_put(c->io, bytes);
}

void front_relay_end(struct front_conn *c) {
    if (c->state == FRONT_STREAMING)
        front_events_end(c);
    else
        conn_done(c);
}

/* ---- the listener ---- */

/* A worker with more connections than another one leaves the next connection to it. */
static bool may_accept(void *owner) {
    const struct front *f = owner;
    const struct gate_worker *w = f->worker;
    for (unsigned i = 0; i < w->count; i++) {
        const struct gate_slot *slot = &w->shared->slots[i];
        if (i != w->index && slot->accepts && slot->conns < f->conn_count - f->peer_count)
            return false;
    }
    return true;
}

int front_http_start(struct front *f, const struct gate_config *config, struct err *err) {
    list_init(&f->conns);
    map_init(&f->sessions);
    map_init(&f->stateless);
    map_init(&f->grants);
    map_init(&f->grant_sessions);
    map_init(&f->strangers);
    arena_init(&f->scratch);
    buf_init(&f->out, HTTP_HEAD_MAX);
    f->session_idle_ms = FRONT_SESSION_IDLE_MS;
    f->unsent_max = FRONT_UNSENT_MAX;
    f->bind = config->bind;
    f->loopback = io_is_loopback(f->bind);
    f->worker = config->worker;
    if (!f->worker) {
        f->listener = io_listen(f->loop, f->bind, config->port, on_incoming, f, &f->port, err);
        return f->listener ? 0 : -1;
    }
    f->port = config->port;
    f->listener = io_listen_fd(f->loop, f->worker->listen_fd, on_incoming, f);
    if (f->worker->count > 1)
        io_listener_share(f->listener, may_accept);
    return 0;
}

void front_http_hush(struct front *f) {
    if (f->worker)
        f->worker->shared->slots[f->worker->index].accepts = false;
    io_listener_close(f->listener);
    f->listener = NULL;
    front_nodes_hush(f);
}

void front_http_drain(struct front *f) {
    front_http_hush(f);
    front_peers_close(f);
    f->draining = true;
    LIST_FOR_SAFE (n, next, &f->conns) {
        struct front_conn *c = container_of(n, struct front_conn, node);
        if (c->state == FRONT_READING && !c->got_bytes)
            conn_free(c, true);
    }
}

void front_http_end(struct front *f) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&f->sessions, &at))) {
        front_session_close(e->value);
        at = 0;
    }
}

void front_http_stop(struct front *f) {
    if (!f->conns.next) /* was never started */
        return;
    io_timer_stop(f->loop, &f->unsent_timer);
    front_http_hush(f);
    front_http_end(f);
    while (!list_empty(&f->conns))
        front_conn_close(container_of(f->conns.next, struct front_conn, node));
    front_stateless_close(f);
    session_end_closed(f->core);
    map_free(&f->sessions);
    map_free(&f->grants);
    map_free(&f->grant_sessions);
    map_free(&f->strangers);
    arena_free(&f->scratch);
    buf_free(&f->out);
}
