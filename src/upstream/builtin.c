#include "upstream/builtin.h"

#include "base/check.h"
#include "base/mem.h"
#include "upstream/link.h"

struct builtin_msg {
    struct list node;
    struct block *block;
    size_t len;
    uint64_t about;
};

struct builtin {
    struct link base;
    void *peer;
    struct list queue;
    struct buf text; /* request of the current message */
    uv_idle_t later; /* runs while the queue is not empty, or the start must be reported */
    bool reported_up;
    bool paused;
};

static struct builtin *builtin_of(struct link *l) { return container_of(l, struct builtin, base); }

struct link *link_builtin_new(void) {
    struct builtin *b = mem_zalloc(sizeof(*b));
    b->base.ops = &link_builtin_ops;
    list_init(&b->queue);
    buf_init(&b->text, MSG_BYTES_MAX);
    return &b->base;
}

static void builtin_deliver(struct builtin *b, struct builtin_msg *m) {
    struct link_req *from = m->about ? link_find(&b->base, m->about) : NULL;
    link_received(&b->base, m->block, slice_of(m->block->data, m->len), from, 0);
    block_unref(m->block);
    free(m);
}

/* Only messages that are queued now: an answer may immediately cause the next message. */
static void on_later(uv_idle_t *idle) {
    struct builtin *b = idle->data;
    if (!b->reported_up) {
        b->reported_up = true;
        b->base.is_up = true;
        b->base.events->up(b->base.owner);
    }
    struct list due, *n;
    list_init(&due);
    while (!b->paused && (n = list_pop(&b->queue)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct builtin_msg *m = container_of(n, struct builtin_msg, node);
        if (!b->base.closed) {
            builtin_deliver(b, m);
            continue;
        }
        block_unref(m->block);
        free(m);
    }
    if (!b->base.closed && (list_empty(&b->queue) || b->paused))
        uv_idle_stop(&b->later);
}

static void builtin_later(struct builtin *b) { uv_idle_start(&b->later, on_later); }

static void builtin_start(struct link *l) {
    struct builtin *b = builtin_of(l);
    const struct up_builtin *server = l->server->builtin;
    uv_idle_init(&l->server->core->loop->uv, &b->later);
    b->later.data = b;
    b->peer = server->ops->open(server->ctx, l, l->owner);
    builtin_later(b);
}

static bool builtin_send(struct link *l, const struct link_out *out, struct link_req *req) {
    (void)req;
    struct builtin *b = builtin_of(l);
    buf_reset(&b->text);
    if (!splice_write(out->text, &b->text))
        return false;
    l->server->builtin->ops->receive(b->peer, buf_slice(&b->text), out);
    if (b->text.cap > BLOCK_BYTES)
        buf_free(&b->text);
    return true;
}

void up_builtin_send(struct link *l, uint64_t about, struct slice bytes) {
    CHECK_MAGIC(l, LINK_MAGIC);
    struct builtin *b = builtin_of(l);
    struct builtin_msg *m = mem_zalloc(sizeof(*m));
    m->block = block_new(&l->server->core->loop->blocks, bytes.len ? bytes.len : 1);
    m->len = bytes.len;
    m->about = about;
    if (bytes.len)
        memcpy(m->block->data, bytes.ptr, bytes.len);
    list_push(&b->queue, &m->node);
    builtin_later(b);
}

static void on_closed(uv_handle_t *handle) {
    struct builtin *b = handle->data;
    struct list *n;
    while ((n = list_pop(&b->queue))) {
        struct builtin_msg *m = container_of(n, struct builtin_msg, node);
        block_unref(m->block);
        free(m);
    }
    buf_free(&b->text);
    link_free_base(&b->base);
}

static void builtin_close(struct link *l) {
    struct builtin *b = builtin_of(l);
    l->server->builtin->ops->close(b->peer);
    uv_close((uv_handle_t *)&b->later, on_closed);
}

static void builtin_pause(struct link *l, struct link_req *req, bool on) {
    (void)req;
    struct builtin *b = builtin_of(l);
    b->paused = on;
    if (!on && !l->closed)
        builtin_later(b);
}

/* The caller sends a cancellation as a message. */
static void builtin_abandon(struct link *l, struct link_req *req) { (void)l, (void)req; }
static void builtin_listen(struct link *l) { (void)l; }
static bool builtin_busy(const struct link *l) { return (void)l, false; }

const struct link_ops link_builtin_ops = {
    .start = builtin_start,
    .send = builtin_send,
    .abandon = builtin_abandon,
    .listen = builtin_listen,
    .pause = builtin_pause,
    .busy = builtin_busy,
    .close = builtin_close,
};
