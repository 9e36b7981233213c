#include "stand.h"

#include "base/mem.h"
#include "io/tls.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>

#define STAND_WAIT_MS 8000

struct stand_conn {
    struct stand *stand;
    struct list node;
    struct io_conn *io;
    int number;
    char *later; /* what is still to be sent */
    size_t later_len;
    size_t later_at;
    size_t later_step;
    int later_turns;
    bool hang_up;
    bool deaf; /* nothing of what comes is read as a request any more */
};

/* ---- the server ---- */

static void conn_drop(struct stand_conn *c) {
    if (c->stand->held == c)
        c->stand->held = NULL;
    c->stand->conns_open--;
    list_remove(&c->node);
    io_conn_close(c->io);
    free(c->later);
    free(c);
}

static void fill(struct buf *out, const char *text, uint64_t id) {
    for (; *text; text++) {
        if (*text == '@')
            buf_put_u64(out, id);
        else
            buf_put_char(out, *text);
    }
}

static void build(struct buf *out, const struct stand_reply *r, uint64_t id) {
    struct buf body;
    buf_init(&body, 8u << 20);
    fill(&body, r->body ? r->body : "", id);
    if (r->mode == STAND_RAW) {
        buf_put_slice(out, buf_slice(&body));
        buf_free(&body);
        return;
    }
    buf_printf(out, "HTTP/1.1 %d %s\r\n%s", r->status, http_reason(r->status), r->headers ? r->headers : "");
    if (r->type)
        buf_printf(out, "Content-Type: %s\r\n", r->type);
    if (r->mode == STAND_LENGTH)
        buf_printf(out, "Content-Length: %zu\r\n\r\n", body.len);
    else if (r->mode == STAND_CHUNKED)
        buf_put_str(out, "Transfer-Encoding: chunked\r\n\r\n");
    else
        buf_put_str(out, "\r\n");
    size_t step = r->mode == STAND_CHUNKED ? (r->chunk ? r->chunk : 7) : body.len;
    for (struct slice rest = buf_slice(&body); rest.len; rest = slice_from(rest, step)) {
        struct slice part = slice_upto(rest, step);
        if (r->mode == STAND_CHUNKED)
            buf_printf(out, "%zx\r\n", part.len);
        buf_put_slice(out, part);
        if (r->mode == STAND_CHUNKED)
            buf_put_str(out, "\r\n");
    }
    if (r->mode == STAND_CHUNKED && !r->hold_open)
        buf_put_str(out, "0\r\n\r\n");
    if (r->tail)
        buf_put_str(out, r->tail);
    buf_free(&body);
}

static void push(struct stand *t, const struct stand_reply *r) {
    if (!t->held || !r->push)
        return;
    struct buf text, chunk;
    buf_init(&text, 1u << 20);
    buf_init(&chunk, 1u << 20);
    fill(&text, r->push, t->last_id);
    buf_printf(&chunk, "%zx\r\n%.*s\r\n", text.len, (int)text.len, text.ptr);
    io_conn_put(t->held->io, buf_slice(&chunk));
    buf_free(&text);
    buf_free(&chunk);
    if (!r->end_held)
        return;
    io_conn_finish(t->held->io);
    t->held->io = NULL;
    conn_drop(t->held);
}

/* False: the connection is gone. */
static bool answer(struct stand_conn *c, const struct stand_reply *r) {
    push(c->stand, r);
    if (r->hold_open)
        c->stand->held = c;
    if (r->mode == STAND_SILENT)
        return true;
    if (r->mode == STAND_HANG_UP) {
        conn_drop(c);
        return false;
    }
    struct buf text;
    buf_init(&text, 16u << 20);
    build(&text, r, c->stand->last_id);
    assert_false(text.full);
    struct slice all = buf_slice(&text);
    c->hang_up = r->hang_up || r->mode == STAND_CLOSE;
    if (r->split && r->split < all.len) {
        struct slice rest = slice_from(all, r->split);
        c->later = mem_dup(rest.ptr, rest.len);
        c->later_len = rest.len;
        c->later_at = 0;
        c->later_step = r->drip ? 1 : rest.len;
        c->later_turns = 2;
        all = slice_upto(all, r->split);
    }
    io_conn_put(c->io, all);
    buf_free(&text);
    if (!c->later && c->hang_up) {
        io_conn_finish(c->io);
        c->io = NULL;
        conn_drop(c);
        return false;
    }
    return true;
}

static void on_ticker(uv_idle_t *handle) {
    struct stand *t = handle->data;
    LIST_FOR_SAFE (n, next, &t->conns) {
        struct stand_conn *c = container_of(n, struct stand_conn, node);
        if (!c->later || --c->later_turns > 0)
            continue;
        /* Two turns apart, so that the other side reads each part alone. */
        c->later_turns = 2;
        io_conn_put(c->io, slice_of(c->later + c->later_at, c->later_step));
        c->later_at += c->later_step;
        if (c->later_at < c->later_len)
            continue;
        free(c->later);
        c->later = NULL;
        if (c->hang_up) {
            io_conn_finish(c->io);
            c->io = NULL;
            conn_drop(c);
        }
    }
}

static uint64_t find_id(const char *body) {
    const char *at = strstr(body, "\"id\":");
    return at ? strtoull(at + 5, NULL, 10) : 0;
}

static size_t on_data(struct io_conn *io, void *owner, struct block *b, char *ptr, size_t len) {
    (void)io, (void)b;
    struct stand_conn *c = owner;
    struct stand *t = c->stand;
    struct http_head h;
    const char *why;
    size_t used = 0;
    if (c->deaf)
        return len;
    for (;;) {
        int n = http_parse_request(slice_of(ptr + used, len - used), &h, &why);
        if (n < 0)
            fail_msg("the client sent a bad head: %s", why);
        const struct stand_reply *next = t->script_at < t->script_len ? &t->script[t->script_at] : NULL;
        if (n > 0 && next && next->early) {
            t->script_at++;
            c->deaf = true;
            io_conn_read(c->io, false);
            answer(c, next);
            return len;
        }
        size_t whole = n > 0 ? (size_t)n + (h.body == HTTP_BODY_LENGTH ? (size_t)h.body_len : 0) : 0;
        if (n == 0 || len - used < whole)
            return used;
        assert_true(t->request_count < STAND_REQUESTS_MAX);
        struct stand_request *r = &t->requests[t->request_count++];
        r->head = mem_dup(ptr + used, (size_t)n);
        r->body = mem_dup(ptr + used + n, whole - (size_t)n);
        r->conn = c->number;
        r->at_ms = io_now_ms(&t->loop);
        used += whole;
        if (find_id(r->body))
            t->last_id = find_id(r->body);
        if (t->script_at == t->script_len)
            fail_msg("request %zu has no reply in the script: %s", t->request_count, r->head);
        const struct stand_reply *reply = &t->script[t->script_at++];
        if (reply->method && !slice_is(h.method_text, reply->method))
            fail_msg("request %zu should be a %s: %s", t->request_count, reply->method, r->head);
        if (!answer(c, reply))
            return len;
    }
}

static void on_end(struct io_conn *io, void *owner, int status) {
    (void)io, (void)status;
    conn_drop(owner);
}

static const struct io_handlers conn_handlers = {.data = on_data, .end = on_end};

static void on_incoming(struct io_listener *l, void *owner, int take_fd) {
    (void)l;
    struct stand *t = owner;
    struct stand_conn *c = mem_zalloc(sizeof(*c));
    c->stand = t;
    c->number = ++t->conns_made;
    c->io = io_conn_socket(&t->loop, take_fd, &conn_handlers, c);
    assert_non_null(c->io);
    t->conns_open++;
    list_push(&t->conns, &c->node);
    io_conn_read(c->io, true);
}

/* ---- the client ---- */

static void log_line(struct buf *log, struct slice text) {
    buf_put_slice(log, text);
    buf_put_char(log, '\n');
}

static void on_answer(void *call, struct msg *m) {
    struct stand_call *c = call;
    struct stand *t = c->stand;
    c->answers++;
    c->status = m->http_status;
    free(c->answer);
    c->answer = mem_dup(m->bytes.ptr, m->bytes.len);
    if (c->close_in_answer) {
        link_close(t->link);
        t->link = NULL;
    } else if (c->then) {
        stand_send(c->then, c->then_method);
    }
}

static void on_failed(void *call, const char *why, bool retry) {
    struct stand_call *c = call;
    c->failures++;
    c->retry = retry;
    snprintf(c->why, sizeof(c->why), "%s", why);
    if (c->close_in_failed) {
        link_close(c->stand->link);
        c->stand->link = NULL;
    }
}

static void on_streaming(void *call, int64_t retry_ms, bool left) {
    struct stand_call *c = call;
    *(left ? &c->left : &c->primed) += 1;
    c->retry_ms = retry_ms;
}

static void keep(struct stand *t, struct msg *m) {
    if (t->kept_count == STAND_KEPT_MAX)
        return;
    t->kept_text[t->kept_count] = mem_dup(m->bytes.ptr, m->bytes.len);
    t->kept[t->kept_count++] = msg_ref(m);
}

static void check_kept(struct stand *t) {
    while (t->kept_count) {
        struct msg *m = t->kept[--t->kept_count];
        assert_memory_equal(m->bytes.ptr, t->kept_text[t->kept_count], m->bytes.len);
        free(t->kept_text[t->kept_count]);
        msg_unref(m);
    }
}

static void on_message(void *owner, void *call, struct msg *m) {
    struct stand *t = owner;
    struct stand_call *c = call;
    keep(t, m);
    log_line(c ? &c->log : &t->log, m->bytes);
    if (c ? c->close_in_message : t->close_in_message) {
        link_close(t->link);
        t->link = NULL;
    } else if (c && c->end_in_message) {
        link_end(&c->req);
    }
}

static void on_up(void *owner) { ((struct stand *)owner)->ups++; }

static void on_down(void *owner, const char *why, int exit_status) {
    struct stand *t = owner;
    t->downs++;
    t->down_status = exit_status;
    snprintf(t->down_why, sizeof(t->down_why), "%s", why);
    link_close(t->link);
    t->link = NULL;
}

static void on_drained(void *owner) { (void)owner; }

static void on_noise(void *owner, const char *what, struct slice text) {
    (void)what, (void)text;
    ((struct stand *)owner)->noises++;
}

static const struct link_events events = {
    .answer = on_answer,
    .failed = on_failed,
    .streaming = on_streaming,
    .message = on_message,
    .up = on_up,
    .down = on_down,
    .drained = on_drained,
    .noise = on_noise,
    .malformed = on_noise,
};

/* ---- the stand ---- */

void stand_open(struct stand *t, const char *path, const struct stand_reply *script, size_t len) {
    struct err err;
    memset(t, 0, sizeof(*t));
    signal(SIGPIPE, SIG_IGN);
    io_loop_init(&t->loop);
    list_init(&t->conns);
    buf_init(&t->log, 1u << 20);
    t->script = script;
    t->script_len = len;
    t->listener = io_listen(&t->loop, "127.0.0.1", 0, on_incoming, t, &t->port, &err);
    assert_non_null(t->listener);
    uv_idle_init(&t->loop.uv, &t->ticker);
    t->ticker.data = t;
    uv_idle_start(&t->ticker, on_ticker);
    t->core.loop = &t->loop;
    msg_pool_init(&t->core.msgs);
    up_server_init(&t->server, &t->core);
    t->server.name = "fake";
    snprintf(t->url, sizeof(t->url), "http://127.0.0.1:%u%s", t->port, path);
    assert_int_equal(up_server_set_url(&t->server, t->url, &err), 0);
}

static bool is_up_or_down(struct stand *t, void *arg) {
    (void)arg;
    return t->ups + t->downs > 0;
}

void stand_link(struct stand *t) {
    t->ups = t->downs = 0;
    t->link = link_open(&t->server, &events, t);
    assert_int_equal(t->ups + t->downs, 0);
    stand_until(t, "the link to come up", is_up_or_down, NULL);
}

static bool conns_gone(struct stand *t, void *arg) {
    (void)arg;
    return t->conns_open == 0;
}

void stand_close(struct stand *t) {
    check_kept(t);
    LIST_FOR (n, &t->conns)
        io_conn_read(container_of(n, struct stand_conn, node)->io, true);
    link_close(t->link);
    up_server_close(&t->server, NULL);
    assert_int_equal(t->server.conn_count, 0);
    stand_until(t, "the connections to end", conns_gone, NULL);
    io_listener_close(t->listener);
    uv_close((uv_handle_t *)&t->ticker, NULL);
    io_loop_run(&t->loop); /* until the last connection has been closed in peace */
    io_loop_free(&t->loop);
    msg_pool_free(&t->core.msgs);
    io_tls_ctx_free(t->core.tls);
    buf_free(&t->log);
    stand_again(t, NULL, 0);
}

void stand_again(struct stand *t, const struct stand_reply *script, size_t len) {
    for (size_t i = 0; i < t->request_count; i++) {
        free(t->requests[i].head);
        free(t->requests[i].body);
    }
    t->request_count = 0;
    t->script = script;
    t->script_len = len;
    t->script_at = 0;
}

void stand_until(struct stand *t, const char *what, bool (*done)(struct stand *t, void *arg), void *arg) {
    uint64_t end = uv_hrtime() / 1000000 + STAND_WAIT_MS;
    while (!done(t, arg)) {
        uv_run(&t->loop.uv, UV_RUN_ONCE);
        if (uv_hrtime() / 1000000 > end)
            fail_msg("this did not happen in time: %s", what);
    }
}

void stand_turn(struct stand *t, int turns) {
    while (turns-- > 0)
        uv_run(&t->loop.uv, UV_RUN_NOWAIT);
}

void stand_call_init(struct stand_call *c, struct stand *t) {
    memset(c, 0, sizeof(*c));
    c->stand = t;
    buf_init(&c->log, 1u << 20);
}

void stand_call_free(struct stand_call *c) {
    free(c->answer);
    buf_free(&c->log);
}

void stand_send_out(struct stand_call *c, struct link_out *out, const char *params) {
    struct buf text;
    struct arena a;
    struct splice s;
    assert_true(link_begin(c->stand->link, &c->req, c));
    buf_init(&text, 16u << 20);
    arena_init(&a);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\",\"params\":%s}",
               (unsigned long long)c->req.id, SLICE_FMT(out->method), params);
    splice_init(&s, buf_slice(&text), &a);
    out->text = &s;
    assert_true(link_send(c->stand->link, out, &c->req));
    arena_free(&a);
    buf_free(&text);
}

void stand_send(struct stand_call *c, const char *method) {
    bool modern = method[0] == '+';
    struct link_out out = {
        .method = slice_str(method + modern), .modern = modern, .opens = strcmp(method, "initialize") == 0};
    stand_send_out(c, &out, "{}");
}

void stand_note(struct stand *t, const char *method) {
    struct buf text;
    struct arena a;
    struct splice s;
    buf_init(&text, 4096);
    arena_init(&a);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\"}", method);
    splice_init(&s, buf_slice(&text), &a);
    struct link_out out = {.text = &s, .method = slice_str(method)};
    assert_true(link_send(t->link, &out, NULL));
    arena_free(&a);
    buf_free(&text);
}

static bool call_over(struct stand *t, void *arg) {
    (void)t;
    struct stand_call *c = arg;
    return c->answers + c->failures > 0;
}

void stand_wait(struct stand_call *c) { stand_until(c->stand, "an answer", call_over, c); }

static bool same_nocase(const char *a, const char *b, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

bool stand_has(const char *text, const char *part) {
    size_t len = strlen(part);
    for (; strlen(text) >= len; text++)
        if (same_nocase(text, part, len))
            return true;
    return false;
}

/* ---- one stand with a few calls ---- */

struct stand stand;
struct stand_call calls[STAND_CALLS];

void stand_prepare(const char *path, const struct stand_reply *script, size_t len) {
    stand_open(&stand, path, script, len);
    for (size_t i = 0; i < STAND_CALLS; i++)
        stand_call_init(&calls[i], &stand);
}

void stand_begin(const char *path, const struct stand_reply *script, size_t len) {
    stand_prepare(path, script, len);
    stand_link(&stand);
}

void stand_say(size_t call, const char *method) {
    stand_send(&calls[call], method);
    stand_wait(&calls[call]);
}

void stand_end(void) {
    stand_close(&stand);
    for (size_t i = 0; i < STAND_CALLS; i++)
        stand_call_free(&calls[i]);
}

bool stand_is_down(struct stand *t, void *arg) {
    (void)arg;
    return t->downs > 0;
}

bool stand_no_conns(struct stand *t, void *arg) {
    (void)arg;
    return t->server.conn_count == 0;
}
