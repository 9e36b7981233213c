#include "upstream/exchange.h"

#include "base/mem.h"

#include <stdio.h>

#define WHY_MAX 512

static struct exchange *exchange_of(struct up_ticket *t) { return container_of(t, struct exchange, ticket); }
static struct io_loop *exchange_loop(const struct exchange *x) { return x->ticket.server->core->loop; }

/* ---- the request ---- */

static void request_write(struct exchange *x, const struct exchange_request *r) {
    struct io_conn *io = up_pool_io(&x->ticket);
    io_conn_put(io, r->fixed);
    io_conn_put(io, r->own);
    if (r->body)
        io_conn_put_splice(io, r->body, r->block);
}

/* A request that cannot be written yet: large parts are referenced, the rest is copied together. */
struct keep {
    struct exchange *x;
    struct block *source; /* of what is borrowed, or NULL */
    size_t copied;        /* bytes */
    size_t pieces;
};

static bool keep_as_it_is(const struct keep *k, struct slice bytes, bool borrowed) {
    return borrowed && k->source && bytes.len > IO_COPY_MAX;
}

static bool keep_count(void *ctx, struct slice bytes, bool borrowed) {
    struct keep *k = ctx;
    k->pieces++;
    k->copied += keep_as_it_is(k, bytes, borrowed) ? 0 : bytes.len;
    return true;
}

static bool keep_piece(void *ctx, struct slice bytes, bool borrowed) {
    struct keep *k = ctx;
    struct io_piece *piece = &k->x->request[k->x->request_count++];
    if (keep_as_it_is(k, bytes, borrowed)) {
        *piece = (struct io_piece){block_ref(k->source), bytes.ptr, bytes.len};
        return true;
    }
    char *to = k->x->request_copies->data + k->copied;
    if (bytes.len)
        memcpy(to, bytes.ptr, bytes.len);
    k->copied += bytes.len;
    *piece = (struct io_piece){block_ref(k->x->request_copies), to, bytes.len};
    return true;
}

static void keep_each(struct keep *k, const struct exchange_request *r,
                      bool (*each)(void *ctx, struct slice bytes, bool borrowed)) {
    each(k, r->fixed, false);
    each(k, r->own, false);
    if (r->body)
        splice_pieces(r->body, each, k);
}

static void request_keep(struct exchange *x, const struct exchange_request *r) {
    struct keep k = {.x = x, .source = r->block};
    keep_each(&k, r, keep_count);
    x->request = mem_alloc(k.pieces * sizeof(*x->request));
    x->request_copies = block_new(&exchange_loop(x)->blocks, k.copied);
    k.copied = 0;
    keep_each(&k, r, keep_piece);
}

static void request_free(struct exchange *x) {
    for (uint32_t i = 0; i < x->request_count; i++)
        block_unref(x->request[i].block);
    block_unref(x->request_copies);
    free(x->request);
    x->request = NULL;
    x->request_copies = NULL;
    x->request_count = 0;
}

static void on_ready(struct up_ticket *t) {
    struct exchange *x = exchange_of(t);
    for (uint32_t i = 0; i < x->request_count; i++)
        io_conn_put_ref(up_pool_io(t), x->request[i].block, slice_of(x->request[i].ptr, x->request[i].len));
    request_free(x);
    if (x->paused)
        io_conn_read(up_pool_io(t), false);
}

/* ---- the end ---- */

static void exchange_clear(struct exchange *x) {
    io_timer_stop(exchange_loop(x), &x->timer);
    up_pool_drop(&x->ticket);
    request_free(x);
    block_unref(x->in);
    x->in = NULL;
}

static void exchange_fail(struct exchange *x, const struct exchange_fault *fault) {
    exchange_clear(x);
    x->ops->failed(x, fault);
}

/* A response that violates HTTP or our limits. */
static void exchange_refuse(struct exchange *x, const char *what) {
    char why[WHY_MAX];
    snprintf(why, sizeof(why), "server `%s`: unusable HTTP response: %s", x->ticket.server->name, what);
    exchange_fail(x, &(struct exchange_fault){.why = why});
}

/* The connection is no longer needed; its data may still be on the way to the owner. */
static void exchange_let_go(struct exchange *x, bool clean) {
    io_timer_stop(exchange_loop(x), &x->timer);
    if (clean && x->keep_alive && x->ticket.conn)
        up_pool_return(&x->ticket, x->idle_ms);
    else
        up_pool_drop(&x->ticket);
}

/* The connection has been released. */
static void exchange_done(struct exchange *x, struct block *b, struct slice body) {
    if (b)
        block_ref(b);
    exchange_clear(x);
    x->ops->done(x, b, body);
    block_unref(b);
}

static void exchange_done_body(struct exchange *x) {
    bool whole = x->want == EXCHANGE_BODY && x->in;
    exchange_done(x, x->in,
                  whole ? slice_of(x->in->data + x->in_start, x->in_end - x->in_start) : (struct slice){0});
}

static void on_timer(struct io_timer *timer) {
    struct exchange *x = container_of(timer, struct exchange, timer);
    if (x->in_body && x->want == EXCHANGE_SKIP) {
        exchange_let_go(x, false);
        exchange_done_body(x);
        return;
    }
    char why[WHY_MAX];
    snprintf(why, sizeof(why), "server `%s` did not answer in time", x->ticket.server->name);
    exchange_fail(x, &(struct exchange_fault){.why = why, .unsent = x->request != NULL});
}

static void on_lost(struct up_ticket *t, const struct up_loss *loss) {
    struct exchange *x = exchange_of(t);
    if (x->in_body && x->body == HTTP_BODY_CLOSE && loss->status == 0) {
        exchange_let_go(x, false);
        exchange_done_body(x);
        return;
    }
    exchange_fail(x, &(struct exchange_fault){
                         .why = loss->why,
                         .unsent = loss->unsent && !x->replied,
                         .stale = t->reused && !x->replied,
                     });
}

/* ---- the head ---- */

static uint64_t keep_alive_ms(const struct http_head *h) {
    struct slice rest = http_value(h, HTTP_FIELD_KEEP_ALIVE), item;
    uint64_t seconds;
    do {
        slice_cut(&rest, ',', &item);
        item = slice_trim(item);
        if (!slice_starts(item, SLICE("timeout=")) || !slice_to_u64(slice_from(item, 8), &seconds))
            continue;
        /* One second early, so that the server's close does not cross our next request. */
        return seconds <= UP_IDLE_MS / 1000 ? (seconds ? seconds - 1 : 0) * 1000 : UP_IDLE_MS;
    } while (rest.len);
    return UP_IDLE_MS;
}

/* False: the exchange is over. */
static bool head_take(struct exchange *x, const struct http_head *h) {
    struct slice coding = http_value(h, HTTP_FIELD_ENCODING);
    x->status = h->status;
    x->keep_alive = h->keep_alive;
    x->idle_ms = keep_alive_ms(h);
    x->body = h->body;
    x->left = h->body_len;
    x->in_body = true;
    http_chunked_init(&x->chunked);
    sse_reader_init(&x->sse);
    x->want = x->ops->head(x, h);
    /* A stream may last; a body that is read completely shares the time-out of its head. */
    if (x->want == EXCHANGE_EVENTS && !x->limit_stream)
        io_timer_stop(exchange_loop(x), &x->timer);
    else if (x->want == EXCHANGE_SKIP)
        io_timer_arm(exchange_loop(x), &x->timer, UP_DRAIN_MS, on_timer);
    if (x->want != EXCHANGE_REFUSE && coding.len && !slice_eq_nocase(coding, SLICE("identity")) &&
        x->want != EXCHANGE_SKIP)
        x->want = EXCHANGE_REFUSE, x->refusal = "its content is encoded, which was not asked for";
    if (x->want == EXCHANGE_BODY && x->body == HTTP_BODY_LENGTH && x->left > x->body_max)
        x->want = EXCHANGE_REFUSE, x->refusal = "it exceeds the message limit";
    if (x->want != EXCHANGE_REFUSE)
        return true;
    exchange_refuse(x, x->refusal);
    return false;
}

/* Skips interim responses and parses the head. Returns the bytes used; *ret_alive false when the exchange
 * is over. */
static size_t read_head(struct exchange *x, struct slice in, bool *ret_alive) {
    struct http_head h;
    const char *why;
    size_t used = 0;
    while (!x->in_body) {
        int n = http_parse_response(slice_from(in, used), x->method, &h, &why);
        if (n == 0)
            break;
        if (n < 0) {
            exchange_refuse(x, why);
            *ret_alive = false;
            break;
        }
        used += (size_t)n;
        if (h.status >= 200)
            *ret_alive = head_take(x, &h);
        if (!*ret_alive)
            break;
    }
    return used;
}

/* ---- the body ---- */

/* Room for `more` bytes after the current ones. Bytes that messages refer to stay at their address. */
static void in_make_room(struct exchange *x, size_t more) {
    size_t pending = x->in_end - x->in_start;
    if (x->in && x->in->cap - x->in_end >= more)
        return;
    if (x->in && x->in->refs == 1 && x->in->cap - pending >= more && pending <= x->in->cap / 2) {
        memmove(x->in->data, x->in->data + x->in_start, pending);
    } else {
        struct block *fresh = block_new(&exchange_loop(x)->blocks, pending * 2 + more);
        if (pending)
            memcpy(fresh->data, x->in->data + x->in_start, pending);
        block_unref(x->in);
        x->in = fresh;
    }
    x->in_start = 0;
    x->in_end = pending;
}

enum body_step { BODY_MORE, BODY_COMPLETE, BODY_BAD };

/* Takes body bytes off the front and writes them, decoded, to `to`. */
static enum body_step body_decode(struct exchange *x, const char *ptr, size_t len, char *to, size_t *ret_used,
                                  size_t *ret_made) {
    if (x->body == HTTP_BODY_CHUNKED) {
        enum http_step step = http_chunked_decode(&x->chunked, ptr, len, to, ret_used, ret_made);
        return step == HTTP_DONE ? BODY_COMPLETE : step == HTTP_MORE ? BODY_MORE : BODY_BAD;
    }
    size_t n = len;
    if (x->body != HTTP_BODY_CLOSE) {
        n = x->left < len ? (size_t)x->left : len;
        x->left -= n;
    }
    memmove(to, ptr, n);
    *ret_used = *ret_made = n;
    return x->body == HTTP_BODY_CLOSE || x->left ? BODY_MORE : BODY_COMPLETE;
}

/* False: the exchange was freed. */
static bool give_events(struct exchange *x) {
    while (x->want == EXCHANGE_EVENTS) {
        size_t used;
        struct sse_event e;
        enum sse_step step = sse_next(&x->sse, x->in->data + x->in_start, x->in_end - x->in_start, &used, &e);
        x->in_start += used;
        if (step == SSE_MORE)
            return true;
        if (step == SSE_BAD) {
            exchange_refuse(x, "a field of an event exceeds its limit");
            return false;
        }
        /* Keeps a reference: the owner may drop the exchange while it still reads the bytes. */
        struct block *b = block_ref(x->in);
        bool alive = x->ops->event(x, b, &e);
        block_unref(b);
        if (!alive)
            return false;
    }
    return true;
}

/* A body of known length: it is read in one piece where it arrives. */
static size_t read_body_in_place(struct exchange *x, struct block *b, char *ptr, size_t len) {
    if (len < x->left) {
        io_conn_want(up_pool_io(&x->ticket), (size_t)x->left);
        return 0;
    }
    size_t body = (size_t)x->left;
    /* Before the owner is called, so that the connection is available for its next request. */
    exchange_let_go(x, len == body);
    exchange_done(x, b, slice_of(ptr, body));
    return body;
}

static size_t read_skipped(struct exchange *x, char *ptr, size_t len) {
    size_t used, made;
    enum body_step step = body_decode(x, ptr, len, ptr, &used, &made);
    x->skipped += used;
    if (step == BODY_MORE && x->skipped <= UP_DRAIN_BYTES_MAX)
        return used;
    exchange_let_go(x, step == BODY_COMPLETE && used == len);
    exchange_done_body(x);
    return used;
}

static size_t read_decoded(struct exchange *x, char *ptr, size_t len) {
    size_t used, made;
    in_make_room(x, len);
    enum body_step step = body_decode(x, ptr, len, x->in->data + x->in_end, &used, &made);
    x->in_end += made;
    if (step == BODY_BAD) {
        exchange_refuse(x, "malformed chunk");
        return used;
    }
    if (step == BODY_COMPLETE)
        exchange_let_go(x, used == len);
    if (x->want == EXCHANGE_EVENTS && !give_events(x))
        return used;
    if (step == BODY_COMPLETE) {
        exchange_done_body(x);
        return used;
    }
    size_t pending = x->in_end - x->in_start;
    if (pending == 0) {
        /* Streams are silent most of the time; a silent one should not occupy a block. */
        block_unref(x->in);
        x->in = NULL;
        x->in_start = x->in_end = 0;
    } else if (pending > (x->want == EXCHANGE_BODY ? x->body_max : MSG_BYTES_MAX)) {
        exchange_refuse(x, "it exceeds the message limit");
    }
    return used;
}

static size_t on_data(struct up_ticket *t, struct block *b, char *ptr, size_t len) {
    struct exchange *x = exchange_of(t);
    size_t used = 0;
    bool alive = true;
    x->replied = true;
    if (!x->in_body)
        used = read_head(x, slice_of(ptr, len), &alive);
    if (!alive || !x->in_body)
        return used;
    ptr += used;
    len -= used;
    if (x->body == HTTP_BODY_NONE)
        x->left = 0;
    if (x->want == EXCHANGE_SKIP)
        return used + read_skipped(x, ptr, len);
    if (x->want == EXCHANGE_BODY && (x->body == HTTP_BODY_LENGTH || x->body == HTTP_BODY_NONE))
        return used + read_body_in_place(x, b, ptr, len);
    return used + read_decoded(x, ptr, len);
}

static const struct up_ticket_ops ticket_ops = {.ready = on_ready, .data = on_data, .lost = on_lost};

/* ---- for the owner ---- */

void up_exchange_start(struct exchange *x, struct up_server *s, const struct exchange_ops *ops,
                       const struct exchange_request *r) {
    bool paused = x->paused;
    *x = (struct exchange){
        .ops = ops,
        .ticket = {.ops = &ticket_ops, .server = s},
        .method = r->method,
        .body_max = MSG_BYTES_MAX,
        .paused = paused,
        .limit_stream = r->limit_stream,
    };
    if (up_pool_take(&x->ticket)) {
        request_write(x, r);
        if (paused)
            io_conn_read(up_pool_io(&x->ticket), false);
    } else {
        request_keep(x, r);
    }
    io_timer_arm(s->core->loop, &x->timer, r->limit_ms, on_timer);
}

void up_exchange_pause(struct exchange *x, bool on) {
    x->paused = on;
    struct io_conn *io = up_pool_io(&x->ticket);
    if (io)
        io_conn_read(io, !on);
}

void up_exchange_drain(struct exchange *x) {
    x->want = EXCHANGE_SKIP;
    if (!x->ticket.conn)
        return;
    io_conn_read(up_pool_io(&x->ticket), true);
    io_timer_arm(exchange_loop(x), &x->timer, UP_DRAIN_MS, on_timer);
}

void up_exchange_drop(struct exchange *x) {
    if (x->ticket.server)
        exchange_clear(x);
}
