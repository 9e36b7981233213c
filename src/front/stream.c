/* Sessions over HTTP and their event streams. A stream keeps its last events, so that a client can resume
 * it after its connection broke. A client gets only events of that stream. */
#include "front/front.h"
#include "front/share.h"

#include "base/mem.h"
#include "base/rand.h"
#include "session/batch.h"
#include "session/session.h"
#include "wire/sse.h"

#include <stdio.h>

struct event {
    struct list node;
    uint64_t seq;
    size_t len;
    char data[];
};

/* ---- events ---- */

static void event_drop(struct front_stream *st, struct event *e) {
    list_remove(&e->node);
    st->event_count--;
    st->event_bytes -= e->len;
    free(e);
}

static void stream_clear(struct front_stream *st) {
    while (!list_empty(&st->events))
        event_drop(st, container_of(st->events.next, struct event, node));
}

static bool put_bytes(void *ctx, struct slice bytes, bool borrowed_src) {
    (void)borrowed_src;
    struct event *e = ctx;
    memcpy(e->data + e->len, bytes.ptr, bytes.len);
    e->len += bytes.len;
    return true;
}

/* The newest event is always kept, whatever its size: it may be an answer that the client has not read. */
static void event_store(struct front_stream *st, uint64_t seq, const struct session_out *out) {
    struct event *e = mem_alloc(sizeof(*e) + splice_len(out->text));
    e->seq = seq;
    e->len = 0;
    if (out->msg)
        msg_flatten(out->msg);
    splice_pieces(out->text, put_bytes, e);
    while (st->event_count &&
           (st->event_count >= FRONT_STREAM_EVENTS_MAX || st->event_bytes + e->len > FRONT_STREAM_BYTES_MAX))
        event_drop(st, container_of(st->events.next, struct event, node));
    list_push(&st->events, &e->node);
    st->event_count++;
    st->event_bytes += e->len;
}

#define EVENT_ID_MAX 40
static struct slice event_id(const struct front_stream *st, uint64_t seq, char text[EVENT_ID_MAX]) {
    int n = snprintf(text, EVENT_ID_MAX, "%u-%llu", st->number, (unsigned long long)seq);
    return slice_of(text, (size_t)n);
}

static void stream_pause(struct front_stream *st, bool on) {
    if (st->sink && st->sink->batch)
        batch_pause(st->sink->batch, on);
    else if (st->sink && st->sink->call)
        call_pause(st->sink->call, on);
    else if (st == &st->session->standing)
        session_pause(st->session->session, on);
}

bool front_stream_put(struct front_stream *st, const struct session_out *out) {
    char id[EVENT_ID_MAX];
    bool resumable = !st->session->sse;
    if (!st->conn && !resumable)
        return false;
    if (!st->conn && out->is_request && st->event_count >= FRONT_STREAM_EVENTS_MAX)
        return false;
    uint64_t seq = ++st->next_seq;
    if (resumable)
        event_store(st, seq, out);
    if (!st->conn)
        return true;
    front_events_put(st->conn, SLICE("message"), resumable ? event_id(st, seq, id) : (struct slice){0}, out);
    st->sent_seq = seq;
    if (io_conn_queued(st->conn->io) > FRONT_QUEUE_MAX)
        front_conn_close(st->conn);
    else if (io_conn_busy(st->conn->io))
        stream_pause(st, true);
    return true;
}

/* ---- connections of a stream ---- */

static void close_later(struct io_timer *timer) {
    front_session_close(container_of(timer, struct front_session, idle));
}

/* A slow reader is disconnected while a call's answer is written. Its session must outlive that. */
static void on_gone(void *owner) {
    struct front_stream *st = owner;
    st->conn = NULL;
    stream_pause(st, false);
    if (st->session->sse)
        io_timer_arm(st->session->front->loop, &st->session->idle, 0, close_later);
}

static void on_drained(void *owner) { stream_pause(owner, false); }

static void on_alive(void *owner) {
    struct front_stream *st = owner;
    front_events_text(st->conn, SLICE(": keepalive\n\n"));
    front_session_touch(st->session);
}

static void let_go(struct front_stream *st) {
    struct front_conn *c = st->conn;
    st->conn = NULL;
    if (c)
        front_events_end(c);
}

void front_stream_attach(struct front_stream *st, struct front_conn *c, uint64_t after_seq,
                         struct slice extra) {
    let_go(st);
    st->conn = c;
    front_conn_take(c, st, on_gone, on_drained, on_alive);
    front_events_begin(c, extra);
    LIST_FOR (n, &st->events) {
        struct event *e = container_of(n, struct event, node);
        if (e->seq <= after_seq)
            continue;
        char id[EVENT_ID_MAX];
        cleanup_buf struct buf text;
        buf_init(&text, e->len + 256);
        sse_write(&text, SLICE("message"), event_id(st, e->seq, id), slice_of(e->data, e->len));
        front_events_text(c, buf_slice(&text));
        st->sent_seq = e->seq;
    }
    if (st->done)
        let_go(st);
}

/* An event with an id and no data: from here on the client can resume the stream. Clients of older
 * revisions fail on empty data. */
void front_stream_prime(struct front_stream *st) {
    if (!st->conn || strcmp(st->session->session->version, "2025-11-25") < 0)
        return;
    char id[EVENT_ID_MAX], text[EVENT_ID_MAX + 16];
    struct slice seq = event_id(st, st->next_seq, id);
    int n = snprintf(text, sizeof(text), "id: %.*s\ndata: \n\n", SLICE_FMT(seq));
    front_events_text(st->conn, slice_of(text, (size_t)n));
}

void front_stream_retry(struct front_stream *st, int64_t retry_ms, bool left) {
    if (!st->conn || strcmp(st->session->session->version, "2025-11-25") < 0)
        return;
    char text[64];
    int n = snprintf(text, sizeof(text), "retry: %lld\n\n", (long long)retry_ms);
    if (retry_ms >= 0)
        front_events_text(st->conn, slice_of(text, (size_t)n));
    if (left)
        let_go(st);
}

static void stream_free(struct front_stream *st) {
    let_go(st);
    stream_clear(st);
    list_remove(&st->node);
    st->session->stream_count--;
    free(st);
}

void front_stream_finish(struct front_stream *st) {
    st->sink = NULL;
    st->done = true;
    st->done_ms = io_now_ms(st->session->front->loop);
    let_go(st);
}

static void stream_init(struct front_stream *st, struct front_session *fs) {
    *st = (struct front_stream){.session = fs};
    list_init(&st->events);
}

/* Finished streams are dropped when they are old or too many. */
static void streams_trim(struct front_session *fs) {
    uint64_t now = io_now_ms(fs->front->loop);
    LIST_FOR_SAFE (n, next, &fs->streams) {
        struct front_stream *st = container_of(n, struct front_stream, node);
        if (st->done && (now - st->done_ms > FRONT_STREAM_KEEP_MS || fs->stream_count > FRONT_STREAMS_MAX))
            stream_free(st);
    }
}

struct front_stream *front_stream_new(struct front_session *fs) {
    streams_trim(fs);
    struct front_stream *st = mem_alloc(sizeof(*st));
    stream_init(st, fs);
    st->number = ++fs->last_number;
    list_push(&fs->streams, &st->node);
    fs->stream_count++;
    return st;
}

/* ---- sessions ---- */

static bool deliver(struct session *s, const struct session_out *out) {
    struct front_session *fs = s->owner;
    return front_stream_put(&fs->standing, out);
}

static const struct session_front http_front = {.deliver = deliver};

static void on_idle(struct io_timer *timer) {
    struct front_session *fs = container_of(timer, struct front_session, idle);
    if (fs->standing.conn || fs->session->call_count)
        front_session_touch(fs);
    else
        front_session_close(fs);
}

void front_session_touch(struct front_session *fs) {
    io_timer_arm(fs->front->loop, &fs->idle, fs->front->session_idle_ms, on_idle);
}

struct front_session *front_session_new(struct front_conn *c, bool sse) {
    struct front *f = c->front;
    struct portion *share = f->core->session_count < SESSION_MAX ? front_share_session(c) : NULL;
    if (!share)
        return NULL;
    struct front_session *fs = mem_zalloc(sizeof(*fs));
    fs->front = f;
    fs->share = share;
    fs->sse = sse;
    rand_token(fs->id, FRONT_SESSION_ID - FRONT_TAG);
    memcpy(fs->id + FRONT_SESSION_ID - FRONT_TAG, f->tag, FRONT_TAG + 1);
    stream_init(&fs->standing, fs);
    list_init(&fs->streams);
    fs->session = session_new(f->core, &http_front, fs, c->principal, c->only, false);
    snprintf(fs->session->name, sizeof(fs->session->name), "%s", fs->id);
    front_session_touch(fs);
    return fs;
}

static void on_session_over(void *share) { front_share_session_end(share); }

void front_session_close(struct front_session *fs) {
    struct front *f = fs->front;
    io_timer_stop(f->loop, &fs->idle);
    if (fs->known)
        map_remove(&f->sessions, slice_str(fs->id));
    session_close_then(fs->session, on_session_over, fs->share);
    fs->sse = false; /* its connection may close now without closing the session again */
    let_go(&fs->standing);
    stream_clear(&fs->standing);
    LIST_FOR_SAFE (n, next, &fs->streams) {
        stream_free(container_of(n, struct front_stream, node));
    }
    free(fs);
}

struct front_session *front_session_find(struct front_conn *c, struct slice id) {
    struct front_session *fs = map_get(&c->front->sessions, id);
    return fs && fs->session->principal == c->principal && fs->session->only == c->only ? fs : NULL;
}
