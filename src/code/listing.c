#include "code/listing.h"

#include "base/mem.h"
#include "code/code_tool.h"
#include "code/package.h"

/* ---- life cycle ---- */

void listing_free(struct listing *l) {
    if (!l)
        return;
    l->owner->listing = NULL;
    list_remove(&l->node);
    registry_free(l->registry);
    free(l);
}

/* Evicts the least recently used one if the cache is full. */
static struct listing *listing_new(struct code_owner *o) {
    struct code_server *s = o->server;
    listing_free(o->listing);
    size_t count = 0;
    LIST_FOR (n, &s->listings)
        count++;
    if (count >= CODE_LISTINGS_MAX)
        listing_free(container_of(s->listings.next, struct listing, node));
    struct listing *l = mem_zalloc(sizeof(*l));
    l->owner = o;
    l->registry = registry_new();
    list_push(&s->listings, &l->node);
    o->listing = l;
    return l;
}

struct registry *listing_known(const struct code_owner *owner) {
    return owner->listing ? owner->listing->registry : NULL;
}

/* ---- filling ---- */

/* Built-in tools have categories; those of other servers are grouped by server. */
static const char *category_of(void *ctx, struct slice server, struct slice name) {
    const struct code_server *s = ctx;
    for (size_t i = 0; slice_is(server, s->config.name) && i < s->face->tool_count; i++)
        if (slice_is(name, s->face->tools[i].name) && s->face->tools[i].category)
            return s->face->tools[i].category;
    return NULL;
}

/* For a conn whose owner cannot list tools: only this server's own. */
static void fill_own(struct listing *l) {
    const struct code_server *s = l->owner->server;
    for (size_t i = 0; i < s->face->tool_count; i++) {
        const struct code_tool *tool = &s->face->tools[i];
        cleanup_buf struct buf text;
        cleanup_tape struct tape t;
        tape_init(&t);
        buf_init(&text, CODE_TEXT_RESULT_MAX);
        struct emit e;
        emit_init(&e, &text);
        if (tool->hidden || !code_tool_usable(s, tool))
            continue;
        code_tool_write(s->face, tool, false, package_offered(s), &e);
        if (tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK)
            registry_put(l->registry, slice_str(s->config.name), &t, 0, tool->category);
    }
}

/* ---- requests ---- */

static uint64_t stamp_of(const struct code_conn *conn) {
    return conn->ops->tools_stamp ? conn->ops->tools_stamp(conn->owner) : 0;
}

static bool is_fresh(const struct listing *l, const struct code_conn *conn) {
    uint64_t age = io_now_ms(conn->server->config.loop) - l->made_ms;
    return age < (l->registry->missing.len > 2 ? CODE_LIST_AGAIN_MS : CODE_LIST_FRESH_MS) &&
           l->stamp == stamp_of(conn);
}

/* Answers all requests that wait for the same list. */
static void answer_all(struct code_owner *o) {
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&o->listing_waits)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct listing_wait *w = container_of(n, struct listing_wait, node);
        w->done(w, o->listing->registry);
    }
}

static void on_list(struct code_inner *inner, bool ok, struct slice text) {
    struct listing_wait *w = container_of(inner, struct listing_wait, inner);
    struct code_owner *o = w->owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    struct listing *l = listing_new(o);
    l->made_ms = io_now_ms(o->server->config.loop);
    l->stamp = o->listing_stamp;
    if (!w->conn->ops->list_tools)
        fill_own(l);
    else if (ok && tape_parse(&t, text, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT))
        registry_fill(l->registry, &t, category_of, o->server);
    else
        l->stamp = ~l->stamp; /* the next request tries again */
    answer_all(o);
}

/* The first waiting request fetches for all; if it leaves, the next one does. */
static void fetch(struct listing_wait *w) {
    struct code_conn *conn = w->conn;
    w->inner.done = on_list;
    w->owner->listing_stamp = stamp_of(conn);
    if (conn->ops->list_tools)
        conn->ops->list_tools(conn->owner, &w->inner);
    else
        on_list(&w->inner, false, (struct slice){0});
}

void listing_ask(struct listing_wait *w, struct code_conn *conn, struct code_owner *owner,
                 void (*done)(struct listing_wait *w, struct registry *registry)) {
    *w = (struct listing_wait){.conn = conn, .owner = owner, .done = done};
    struct listing *l = owner->listing;
    if (l && is_fresh(l, conn)) {
        list_remove(&l->node);
        list_push(&owner->server->listings, &l->node);
        done(w, l->registry);
        return;
    }
    bool first = list_empty(&owner->listing_waits);
    list_push(&owner->listing_waits, &w->node);
    if (first)
        fetch(w);
}

void listing_leave(struct listing_wait *w) {
    if (!list_linked(&w->node))
        return;
    struct code_owner *o = w->owner;
    list_remove(&w->node);
    if (!w->inner.handle)
        return;
    w->conn->ops->drop_tool(w->conn->owner, &w->inner);
    if (!list_empty(&o->listing_waits))
        fetch(container_of(o->listing_waits.next, struct listing_wait, node));
}
