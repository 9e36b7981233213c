#include "code/catalogue.h"

#include "base/mem.h"
#include "code/server.h"

#include <ctype.h>

/* ---- life ---- */

void catalogue_free(struct catalogue *c) {
    if (!c)
        return;
    c->owner->catalogue = NULL;
    list_remove(&c->node);
    code_index_free(c->index);
    arena_free(&c->arena);
    free(c);
}

/* Those that were not looked at for longest make room. */
static struct catalogue *catalogue_new(struct code_owner *o) {
    struct code_server *s = o->server;
    catalogue_free(o->catalogue);
    size_t count = 0;
    LIST_FOR (n, &s->catalogues)
        count++;
    if (count >= CODE_CATALOGUES_MAX)
        catalogue_free(container_of(s->catalogues.next, struct catalogue, node));
    struct catalogue *c = mem_zalloc(sizeof(*c));
    c->owner = o;
    c->index = code_index_new();
    c->missing = SLICE("[]");
    arena_init(&c->arena);
    list_push(&s->catalogues, &c->node);
    o->catalogue = c;
    return c;
}

/* ---- filling ---- */

/* Of the server's own tools what they are for, of others whose they are. */
static const char *category_of(const struct code_server *s, struct slice server, struct slice name) {
    for (size_t i = 0; slice_is(server, s->config.name) && i < s->face->tool_count; i++)
        if (slice_is(name, s->face->tools[i].name) && s->face->tools[i].category)
            return s->face->tools[i].category;
    return NULL;
}

static void put(struct catalogue *c, struct slice server, const struct tape *t, uint32_t definition) {
    uint32_t name = tape_is(t, definition, TAPE_OBJECT) ? tape_get_str(t, definition, "name") : 0;
    if (!name || !tape_is(t, name, TAPE_STRING))
        return;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct err err;
    const char *category = category_of(c->owner->server, server, tape_text(t, name, &a));
    if (code_index_put(c->index, server, t, definition, category ? category : arena_dup(&a, server).ptr,
                       &err) < 0)
        return; /* there are too many: the rest is not found */
}

static void fill(struct catalogue *c, const struct tape *t) {
    cleanup_arena struct arena a;
    arena_init(&a);
    uint32_t tools = tape_get_str(t, 0, "tools"), missing = tape_get_str(t, 0, "missing");
    struct slice server = {0};
    bool named = false;
    if (tools && tape_is(t, tools, TAPE_ARRAY))
        TAPE_FOR_ELEM(t, tools, i) {
            if (named)
                put(c, server, t, i);
            else if (tape_is(t, i, TAPE_STRING))
                server = tape_text(t, i, &a);
            named = !named;
        }
    if (missing && tape_is(t, missing, TAPE_ARRAY))
        c->missing = arena_dup(&c->arena, tape_raw(t, missing));
}

/* Where nobody can say more: this server's own. */
static void fill_own(struct catalogue *c) {
    const struct code_server *s = c->owner->server;
    for (size_t i = 0; i < s->face->tool_count; i++) {
        cleanup_buf struct buf text;
        cleanup_tape struct tape t;
        tape_init(&t);
        buf_init(&text, CODE_TEXT_RESULT_MAX);
        struct emit e;
        emit_init(&e, &text);
        if (s->face->tools[i].hidden || !code_tool_usable(s, &s->face->tools[i]))
            continue;
        code_tool_write(s->face, &s->face->tools[i], false, &e);
        if (tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK)
            put(c, slice_str(s->config.name), &t, 0);
    }
}

/* ---- asking ---- */

static uint64_t stamp_of(const struct code_conn *conn) {
    return conn->ops->tools_stamp ? conn->ops->tools_stamp(conn->owner) : 0;
}

static bool is_fresh(const struct catalogue *c, const struct code_conn *conn) {
    uint64_t age = io_now_ms(conn->server->config.loop) - c->made_ms;
    return age < (c->missing.len > 2 ? CODE_LIST_AGAIN_MS : CODE_LIST_FRESH_MS) && c->stamp == stamp_of(conn);
}

/* Everybody who waits for the same list. */
static void answer_all(struct code_owner *o) {
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&o->catalogue_waits)))
        list_push(&due, n);
    while ((n = list_pop(&due))) {
        struct catalogue_wait *w = container_of(n, struct catalogue_wait, node);
        w->done(w, o->catalogue);
    }
}

static void on_list(struct code_inner *inner, bool ok, struct slice text) {
    struct catalogue_wait *w = container_of(inner, struct catalogue_wait, inner);
    struct code_owner *o = w->owner;
    cleanup_tape struct tape t;
    tape_init(&t);
    struct catalogue *c = catalogue_new(o);
    c->made_ms = io_now_ms(o->server->config.loop);
    c->stamp = o->catalogue_stamp;
    if (!w->conn->ops->list_tools)
        fill_own(c);
    else if (ok && tape_parse(&t, text, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_OBJECT))
        fill(c, &t);
    else
        c->stamp = ~c->stamp; /* the next one tries again */
    answer_all(o);
}

/* The first who waits asks for all; when it leaves, the next one does. */
static void fetch(struct catalogue_wait *w) {
    struct code_conn *conn = w->conn;
    w->inner.done = on_list;
    w->owner->catalogue_stamp = stamp_of(conn);
    if (conn->ops->list_tools)
        conn->ops->list_tools(conn->owner, &w->inner);
    else
        on_list(&w->inner, false, (struct slice){0});
}

void catalogue_ask(struct catalogue_wait *w, struct code_conn *conn, struct code_owner *owner,
                   void (*done)(struct catalogue_wait *w, struct catalogue *c)) {
    *w = (struct catalogue_wait){.conn = conn, .owner = owner, .done = done};
    struct catalogue *c = owner->catalogue;
    if (c && is_fresh(c, conn)) {
        list_remove(&c->node);
        list_push(&owner->server->catalogues, &c->node);
        done(w, c);
        return;
    }
    bool first = list_empty(&owner->catalogue_waits);
    list_push(&owner->catalogue_waits, &w->node);
    if (first)
        fetch(w);
}

void catalogue_leave(struct catalogue_wait *w) {
    if (!list_linked(&w->node))
        return;
    struct code_owner *o = w->owner;
    list_remove(&w->node);
    if (!w->inner.handle)
        return;
    w->conn->ops->drop_tool(w->conn->owner, &w->inner);
    if (!list_empty(&o->catalogue_waits))
        fetch(container_of(o->catalogue_waits.next, struct catalogue_wait, node));
}

struct catalogue *catalogue_known(struct code_owner *owner) {
    return owner->catalogue;
}

/* ---- looking ---- */

/* What follows the server's name and a separator; empty when it does not start so. */
static struct slice behind(struct slice name, struct slice server) {
    if (!slice_starts(name, server) || name.len <= server.len)
        return (struct slice){0};
    struct slice rest = slice_from(name, server.len);
    size_t skip = slice_starts(rest, SLICE("__")) ? 2 : rest.ptr[0] == '.' || rest.ptr[0] == '/' ? 1 : 0;
    return skip ? slice_from(rest, skip) : (struct slice){0};
}

const struct code_indexed *catalogue_find(struct catalogue *c, struct slice server, struct slice name) {
    const struct code_indexed *tool = code_index_find(c->index, server, name, NULL);
    if (tool || server.len)
        return tool;
    size_t at = 0;
    while ((tool = code_index_next(c->index, NULL, &at)))
        if (slice_eq(tool->name, name) || slice_eq(behind(name, tool->server), tool->name))
            return tool;
    return NULL;
}

/* As the name of a function: what cannot stand in one is an underscore there. */
static bool same_name(struct slice alias, struct slice name) {
    bool same = alias.len == name.len;
    for (size_t i = 0; same && i < name.len; i++) {
        const unsigned char a = (unsigned char)alias.ptr[i], n = (unsigned char)name.ptr[i];
        same = tolower(a) == tolower(n) || (a == '_' && n < 0x80 && !isalnum(n));
    }
    return same;
}

const struct code_indexed *catalogue_find_alias(struct catalogue *c, struct slice alias) {
    struct slice name = slice_starts(alias, SLICE("mcp_")) ? slice_from(alias, 4) : alias;
    const struct code_indexed *tool;
    size_t at = 0;
    while ((tool = code_index_next(c->index, NULL, &at)))
        if (name.len == tool->server.len + 1 + tool->name.len && name.ptr[tool->server.len] == '_' &&
            same_name(slice_upto(name, tool->server.len), tool->server) &&
            same_name(slice_from(name, tool->server.len + 1), tool->name))
            return tool;
    return NULL;
}
