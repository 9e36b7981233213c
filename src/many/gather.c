#include "many/gather.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "channel/channel.h"
#include "era/listen.h"
#include "many/claim.h"
#include "many/describe.h"
#include "many/limits.h"
#include "many/rename.h"
#include "many/seal.h"
#include "many/shortlist.h"
#include "mcp/names.h"
#include "mcp/translate.h"
#include "server/paging.h"
#include "server/visible.h"
#include "wire/emit.h"

#define CURSOR "list"
#define SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct part {
    struct call_sink sink;
    struct gather *gather;
    struct server *server; /* not used after the part is over */
    const char *name;      /* the server's */
    struct slice method;
    const char *list; /* member of its result that is merged; NULL for none */
    struct buf items; /* elements that the client gets, with commas between them */
    uint32_t count;   /* of them */
    struct server_pages pages;
    bool over;
    bool missing; /* it is incomplete */
};

struct gather {
    struct call *call;
    struct part **parts;
    size_t count;
    size_t cap;
    size_t pending;
    bool starting;
    bool over;
    bool quiet;                  /* there is no client: a search */
    struct shortlist_kept *kept; /* tools of a hybrid list */
    bool bare;                   /* names have no prefix: the first server with a name keeps it */
    struct buf left_out; /* names of servers that are not asked, JSON strings; only in a complete list */
    struct io_timer timer;
};

static const struct {
    struct slice method;
    const char *list;
    const char *capability;
} gather_lists[] = {
    {SLICE("tools/list"), "tools", "tools"},
    {SLICE("prompts/list"), "prompts", "prompts"},
    {SLICE("resources/list"), "resources", "resources"},
    {SLICE("resources/templates/list"), "resourceTemplates", "resources"},
    {SLICE("skills/list"), "skills", "io.modelcontextprotocol/skills"},
    {SLICE("tasks/list"), "tasks", "tasks"},
};

static const struct call_sink_ops part_ops;
static void finish(struct gather *g);

/* ---- parts ---- */

static struct part *part_of(struct call_sink *sink) { return container_of(sink, struct part, sink); }

static const char *list_of(struct slice method) {
    for (size_t i = 0; i < ARRAY_LEN(gather_lists); i++)
        if (slice_eq(method, gather_lists[i].method))
            return gather_lists[i].list;
    return NULL;
}

static struct part *part_add(struct gather *g, struct server *server, struct slice method) {
    struct arena *a = &g->call->arena;
    if (g->count == g->cap) {
        size_t cap = g->cap ? g->cap * 2 : 16;
        struct part **parts = arena_array(a, struct part *, cap);
        if (g->count)
            memcpy(parts, g->parts, g->count * sizeof(*parts));
        g->parts = parts;
        g->cap = cap;
    }
    struct part *p = arena_new(a, struct part);
    *p = (struct part){.sink = {.ops = &part_ops, .modern = g->call->modern},
                       .gather = g,
                       .server = server,
                       .method = method,
                       .list = list_of(method),
                       .name = arena_dup(a, slice_str(server->up.name)).ptr};
    buf_init(&p->items, GATHER_PART_BYTES);
    g->parts[g->count++] = p;
    g->pending++;
    return p;
}

/* `_meta` of the client's request without its progress token, which covers the gather as a whole. */
static void put_meta(const struct call *c, struct buf *out) {
    const struct tape *t = &c->request->tape;
    uint32_t meta = rpc_param(t, &c->request->rpc, "_meta");
    if (!meta || !tape_is(t, meta, TAPE_OBJECT))
        return;
    buf_put_str(out, "\"_meta\":{");
    bool any = false;
    TAPE_FOR_MEMBER(t, meta, key) {
        if (tape_eq(t, key, SLICE("progressToken")))
            continue;
        if (any)
            buf_put_char(out, ',');
        any = true;
        buf_put_slice(out, tape_raw(t, key));
        buf_put_char(out, ':');
        buf_put_slice(out, tape_raw(t, key + 1));
    }
    buf_put_char(out, '}');
}

/* `members`: of params, without `_meta`. */
static void part_ask(struct part *p, struct slice members) {
    struct call *c = p->gather->call;
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%.*s\",\"params\":{", SLICE_FMT(p->method));
    size_t before = text.len;
    if (c->modern)
        put_meta(c, &text);
    if (members.len && text.len > before)
        buf_put_char(&text, ',');
    buf_put_slice(&text, members);
    buf_put_str(&text, "}}");
    call_make(c->session, p->server, buf_slice(&text), &p->sink);
}

static void part_over(struct part *p) {
    struct gather *g = p->gather;
    if (p->over)
        return;
    p->over = true;
    g->pending--;
    if (!g->pending && !g->starting && !g->over && g->call->kind != CALL_LISTEN)
        finish(g);
}

/* For the status of the server: a health check does not cover its lists. */
static void note_list(const struct part *p, const char *why) {
    if (!p->server || !slice_ends(p->method, SLICE("/list")))
        return;
    char *fault = p->server->list_fault;
    fault[0] = '\0';
    if (why)
        snprintf(fault, sizeof(p->server->list_fault), "%.*s failed: %s", SLICE_FMT(p->method), why);
}

/* Omits this server's part; the client is notified when the server is back. */
static void part_missing(struct part *p, const char *why) {
    p->missing = true;
    note_list(p, why);
    if (p->server) {
        struct channel *ch = channel_of(p->gather->call->session, p->server);
        ch->missing = true;
        channel_doubt(ch);
        log_server(LOG_INFO, p->server->up.name, "%.*s without server `%s`: %s", SLICE_FMT(p->method),
                   p->server->up.name, why);
    }

    part_over(p);
}

/* The definition unchanged, with members of any name, and without another level of nesting: otherwise a
 * server could make the list too deep to be read. */
static void put_owned(struct part *p, const struct tape *t, uint32_t elem) {
    emit_quote(&p->items, slice_str(p->name));
    buf_put_char(&p->items, ',');
    buf_put_slice(&p->items, tape_raw(t, elem));
}

static bool stays_unlisted(const struct part *p, const struct tape *t, uint32_t elem) {
    struct call *c = p->gather->call;
    if (c->kind != CALL_TOOLS_LIST || c->list_all)
        return false;
    uint32_t name = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, "name") : 0;
    return name && tape_is(t, name, TAPE_STRING) &&
           !shortlist_shows(c->session, p->gather->kept, p->server, tape_text(t, name, &c->arena));
}

static void take_element(struct part *p, const struct tape *t, uint32_t elem) {
    if (stays_unlisted(p, t, elem))
        return;
    size_t before = p->items.len;
    if (before)
        buf_put_char(&p->items, ',');
    if (p->gather->call->list_all)
        put_owned(p, t, elem);
    /* Which server owns a bare name is decided when all parts are complete: see settle_names(). */
    else if (p->gather->bare)
        buf_put_slice(&p->items, tape_raw(t, elem));
    else if (!rename_element(p->gather->call, p->server, p->list, t, elem, &p->items)) {
        p->items.len = before;
        return;
    }
    p->count++;
}

/* Its elements, and the raw cursor if there is another page. */
static bool take_page(struct part *p, const struct tape *t, uint32_t result, struct slice *ret_cursor) {
    *ret_cursor = (struct slice){0};
    if (!p->list)
        return true;
    uint32_t list = tape_get_str(t, result, p->list);
    if (list && tape_is(t, list, TAPE_NULL))
        return true; /* how Go writes an empty list */
    if (!list || !tape_is(t, list, TAPE_ARRAY))
        return false;
    if (server_pages_take(&p->pages, t, result, list, ret_cursor))
        TAPE_FOR_ELEM(t, list, i) { take_element(p, t, i); }
    if (p->pages.count >= GATHER_PART_PAGES || p->items.full)
        *ret_cursor = (struct slice){0};
    return !p->items.full;
}

/* A refusal, by the policy or by a server that has no such list, counts as an answer. Tools are what a server
 * is for: any other error of its own, like a missing login, means that they could not be had. */
static bool is_failure(const struct part *p, const struct session_out *out, int64_t code) {
    bool by_server = out->msg != NULL;
    return code == RPC_INTERNAL ||
           (by_server && code != RPC_METHOD_NOT_FOUND && slice_is(p->method, "tools/list"));
}

static void part_reply(struct call_sink *sink, const struct session_out *out) {
    struct part *p = part_of(sink);
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (p->gather->over)
        return;
    if (!splice_write(out->text, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK) {
        part_missing(p, "the answer cannot be read");
        return;
    }
    uint32_t result = tape_get_str(&t, 0, "result"), error = tape_get_str(&t, 0, "error");
    struct slice cursor;
    if (!result) {
        uint32_t why = error ? tape_get_str(&t, error, "message") : 0;
        int64_t code = 0;
        uint32_t number = error ? tape_get_str(&t, error, "code") : 0;
        if (number)
            tape_int(&t, number, &code);
        if (is_failure(p, out, code) || !why)
            part_missing(
                p, why ? arena_dup(&p->gather->call->arena, tape_text(&t, why, &p->gather->call->arena)).ptr
                       : "no answer");
        else
            part_over(p);
        return;
    }
    if (!take_page(p, &t, result, &cursor))
        part_missing(p, "the list cannot be read");
    else if (cursor.len)
        part_ask(p, arena_printf(&p->gather->call->arena, "\"cursor\":%.*s", SLICE_FMT(cursor)));
    else {
        note_list(p, NULL);
        part_over(p);
    }
}

static void part_none(struct call_sink *sink) { part_over(part_of(sink)); }

static void part_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

/* ---- subscriptions ---- */

static void to_client(struct call *c, struct slice text) {
    if (!c->sink)
        return;
    struct session_out out = {.text = answer_text(c, text)};
    c->sink->ops->event(c->sink, &out);
}

/* Forwards a server's messages for its part of a subscription under the client's own id. */
static void part_event(struct call_sink *sink, const struct session_out *out) {
    struct part *p = part_of(sink);
    struct call *c = p->gather->call;
    if (!c->sink)
        return;
    if (c->kind != CALL_LISTEN) {
        /* In the modern era changes of lists are only sent to subscribers. */
        if (!c->modern)
            c->sink->ops->event(c->sink, out);
        return;
    }
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!splice_write(out->text, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK)
        return;
    uint32_t method = tape_get_str(&t, 0, "method");
    if (!method || tape_eq(&t, method, SLICE("notifications/subscriptions/acknowledged")))
        return; /* the gate has already acknowledged it */
    cleanup_arena struct arena a;
    arena_init(&a);
    struct splice edited;
    splice_init(&edited, buf_slice(&text), &a);
    uint32_t sub = tape_path(&t, 0, "params", "_meta", SUBSCRIPTION, NULL);
    if (!sub || !splice_value(&edited, &t, sub, c->id_raw))
        return;
    struct session_out on = {.text = &edited};
    c->sink->ops->event(c->sink, &on);
}

static const struct call_sink_ops part_ops = {
    .reply = part_reply, .event = part_event, .streaming = part_streaming, .none = part_none};

static bool wants(const struct call *c, const char *member) {
    uint32_t node = c->request->rpc.params
                        ? tape_path(&c->request->tape, c->request->rpc.params, "notifications", member, NULL)
                        : 0;
    return node && tape_is(&c->request->tape, node, TAPE_TRUE);
}

static uint32_t wanted_uris(const struct call *c) {
    const struct tape *t = &c->request->tape;
    uint32_t list = c->request->rpc.params
                        ? tape_path(t, c->request->rpc.params, "notifications", "resourceSubscriptions", NULL)
                        : 0;
    return list && tape_is(t, list, TAPE_ARRAY) ? list : 0;
}

/* The filter for that server; false when it has nothing to subscribe to. */
static bool put_filter(struct call *c, struct server *server, struct buf *out) {
    static const char *const flags[] = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"};
    const struct tape *t = &c->request->tape;
    uint32_t uris = wanted_uris(c);
    bool any = false, renames = visible_renames(c->session);
    buf_put_str(out, "\"notifications\":{");
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (!wants(c, flags[i]))
            continue;
        buf_printf(out, "%s\"%s\":true", any ? "," : "", flags[i]);
        any = true;
    }
    bool some = false;
    if (uris)
        TAPE_FOR_ELEM(t, uris, i) {
            struct slice prefix, uri;
            if (!tape_is(t, i, TAPE_STRING))
                continue;
            uri = tape_text(t, i, &c->arena);
            bool its = renames ? names_split_uri(&c->arena, uri, &prefix, &uri) &&
                                     slice_eq(prefix, server_prefix(server))
                               : claim_owner(c->session, 'r', uri) == server;
            if (!its)
                continue;
            buf_put_str(out, some  ? ","
                             : any ? ",\"resourceSubscriptions\":["
                                   : "\"resourceSubscriptions\":[");
            emit_quote(out, uri);
            some = true;
        }
    buf_put_str(out, some ? "]}" : "}");
    return any || some;
}

static bool listens_to(const struct gather *g, const struct server *server) {
    for (size_t i = 0; i < g->count; i++)
        if (g->parts[i]->server == server && !g->parts[i]->over)
            return true;
    return false;
}

void gather_listen_to(struct call *c, struct server *server) {
    cleanup_buf struct buf filter;
    buf_init(&filter, MSG_BYTES_MAX);
    if (c->gather->over || !visible_is(c->session, server) || listens_to(c->gather, server) ||
        !put_filter(c, server, &filter))
        return;
    part_ask(part_add(c->gather, server, c->method), buf_slice(&filter));
}

void gather_listen_notify(struct call *c, const char *list) {
    struct slice flag = arena_printf(&c->arena, "%sListChanged", list);
    if (!wants(c, flag.ptr))
        return;
    to_client(c, arena_printf(&c->arena,
                              "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\",\"params\":{"
                              "\"_meta\":{\"" SUBSCRIPTION "\":%.*s}}}",
                              list, SLICE_FMT(c->id_raw)));
}

/* The gate accepts the whole subscription itself. A server that is not running has no changes to report,
 * unless the subscription names one of its resources. */
static void start_listen(struct gather *g) {
    struct call *c = g->call;
    struct session *s = c->session;
    uint32_t filter = rpc_param(&c->request->tape, &c->request->rpc, "notifications");
    struct slice honoured = filter && tape_is(&c->request->tape, filter, TAPE_OBJECT)
                                ? tape_raw(&c->request->tape, filter)
                                : SLICE("{}");
    to_client(c,
              arena_printf(
                  &c->arena,
                  "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
                  "\"notifications\":%.*s,\"_meta\":{\"" SUBSCRIPTION "\":%.*s}}}",
                  SLICE_FMT(honoured), SLICE_FMT(c->id_raw)));
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at))) {
        const struct channel *ch = channel_find(s, server);
        if (wanted_uris(c) || (ch && ch->state == CHANNEL_READY))
            gather_listen_to(c, server);
    }
}

/* ---- the gather ---- */

static void on_deadline(struct io_timer *timer) {
    struct gather *g = container_of(timer, struct gather, timer);
    g->starting = true; /* ends all of them together */
    for (size_t i = 0; i < g->count; i++) {
        struct part *p = g->parts[i];
        if (p->over)
            continue;
        if (p->sink.call)
            call_cancel(p->sink.call, "too slow");
        part_missing(p, "it did not answer in time");
    }
    g->starting = false;
    finish(g);
}

static struct gather *gather_new(struct call *c) {
    struct gather *g = arena_new(&c->arena, struct gather);
    g->call = c;
    c->gather = g;
    c->gathering = true;
    g->bare = !c->list_all && !visible_renames(c->session);
    buf_init(&g->left_out, GATHER_PART_BYTES);
    return g;
}

/* Does not wait for a link in back-off, or for an HTTP server that is being retried. */
static bool resting(struct session *s, const struct server *server) {
    const struct channel *ch = channel_find(s, server);
    if (!ch || !ch->missing)
        return false;
    return (ch->state == CHANNEL_OPENING && !ch->link) || (ch->state == CHANNEL_INIT && server->up.url);
}

static const char *capability_of(struct slice method) {
    for (size_t i = 0; i < ARRAY_LEN(gather_lists); i++)
        if (slice_eq(method, gather_lists[i].method))
            return gather_lists[i].capability;
    return NULL;
}

static void ask_server(struct gather *g, struct server *server, struct slice method) {
    struct call *c = g->call;
    const char *capability = capability_of(method);
    if (capability && !server_offers(server, capability))
        return;
    if (resting(c->session, server)) {
        buf_put_str(&g->left_out, g->left_out.len ? "," : "");
        emit_quote(&g->left_out, slice_str(server->up.name));
        return;
    }
    struct part *p = part_add(g, server, method);
    struct slice members = {0};
    uint32_t level =
        c->kind == CALL_SET_LEVEL ? tape_get_str(&c->request->tape, c->request->rpc.params, "level") : 0;
    if (level)
        members = arena_printf(&c->arena, "\"level\":%.*s", SLICE_FMT(tape_raw(&c->request->tape, level)));
    part_ask(p, members);
}

static void refuse_gather(struct gather *g, const char *why) {
    answer_error(g->call, RPC_INVALID_PARAMS, 400, why);
    g->over = true;
    g->call->gathering = false;
}

/* The server with which the next page begins. False when it is not ours. */
static bool read_cursor(struct call *c, struct slice *ret_server) {
    const struct tape *t = &c->request->tape;
    uint32_t node = rpc_param(t, &c->request->rpc, "cursor");
    *ret_server = (struct slice){0};
    if (!node || tape_is(t, node, TAPE_NULL))
        return true;
    struct slice purpose = arena_printf(&c->arena, CURSOR " %.*s", SLICE_FMT(c->method));
    return tape_is(t, node, TAPE_STRING) &&
           seal_open(c->session, purpose.ptr, tape_text(t, node, &c->arena), ret_server);
}

static void start_list(struct gather *g) {
    struct call *c = g->call;
    struct slice from;
    if (!read_cursor(c, &from)) {
        refuse_gather(g, "params.cursor was not issued by this gate");
        return;
    }
    if (c->kind == CALL_TOOLS_LIST)
        g->kept = shortlist_keep(c->session, &c->arena);
    size_t at = 0;
    struct server *server;
    while ((server = c->list_all ? visible_next_any(c->session, &at) : visible_next(c->session, &at))) {
        if (from.len && !slice_is(from, server->up.name))
            continue; /* an earlier page contained it */
        from.len = 0;
        if (c->list_all || c->kind != CALL_TOOLS_LIST || shortlist_asks(c->session, server))
            ask_server(g, server, c->method);
    }
}

static void start_describe(struct gather *g) {
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(g->call->session, &at)))
        if (!server->description.capabilities)
            ask_server(g, server, g->call->method);
}

/* After the acknowledgement the client may expect every log message, so the gate also waits for servers
 * that have not been used yet. A server that is restarted gets the level then. */
static void start_level(struct gather *g) {
    struct session *s = g->call->session;
    const struct msg *m = g->call->request;
    uint32_t level = rpc_param(&m->tape, &m->rpc, "level");
    if (!level || !tape_is(&m->tape, level, TAPE_STRING) ||
        translate_log_rank(tape_text(&m->tape, level, &g->call->arena)) < 0) {
        refuse_gather(g, "params.level must be a log level");
        return;
    }
    listen_keep_level(g->call);
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at)))
        if (server_offers(server, "logging"))
            ask_server(g, server, g->call->method);
}

static void watch(struct gather *g) {
    struct core *core = g->call->session->core;
    if (!g->pending && !g->over)
        finish(g);
    else if (g->pending)
        io_timer_arm(core->up.loop, &g->timer, core->many->list_ms ? core->many->list_ms : GATHER_LIST_MS,
                     on_deadline);
}

void gather_start(struct call *c) {
    struct gather *g = gather_new(c);
    g->starting = true;
    if (c->kind == CALL_LISTEN)
        start_listen(g);
    else if (c->kind == CALL_INITIALIZE || c->kind == CALL_DISCOVER)
        start_describe(g);
    else if (c->kind == CALL_SET_LEVEL)
        start_level(g);
    else
        start_list(g);
    if (c->kind != CALL_LISTEN)
        watch(g);
    g->starting = false;
}

void gather_search(struct call *c, const char *const *methods) {
    struct gather *g = gather_new(c);
    g->quiet = true;
    g->starting = true;
    for (; *methods; methods++) {
        struct server *server;
        size_t at = 0;
        while ((server = visible_next(c->session, &at)))
            ask_server(g, server, slice_str(*methods));
    }
    watch(g);
    g->starting = false;
}

void gather_end(struct call *c) {
    struct gather *g = c->gather;
    if (!g)
        return;
    g->over = true;
    io_timer_stop(g->call->session->core->up.loop, &g->timer);
    for (size_t i = 0; i < g->count; i++) {
        if (g->parts[i]->sink.call)
            call_cancel(g->parts[i]->sink.call, "cancelled by the client");
        buf_free(&g->parts[i]->items);
    }
    buf_free(&g->left_out);
}

/* ---- the answer ---- */

static bool is_any_missing(const struct gather *g) {
    for (size_t i = 0; i < g->count; i++)
        if (g->parts[i]->missing)
            return true;
    return g->left_out.len > 0;
}

/* Servers whose part is incomplete. */
static void emit_missing(const struct gather *g, struct emit *e, const char *key) {
    emit_key(e, key);
    emit_array(e);
    if (g->left_out.len)
        emit_raw(e, buf_slice(&g->left_out));
    for (size_t i = 0; i < g->count; i++)
        if (g->parts[i]->missing)
            emit_cstr(e, g->parts[i]->name);
    emit_array_end(e);
}

/* A page ends after a server's last element: the list of one server is not split. */
static void emit_items(struct gather *g, struct emit *e) {
    struct call *c = g->call;
    size_t items = 0, bytes = 0;
    const struct part *next = NULL;
    emit_key(e, list_of(c->method));
    emit_array(e);
    for (size_t i = 0; i < g->count && !next; i++) {
        const struct part *p = g->parts[i];
        items += p->count;
        bytes += p->items.len;
        if (i && !c->list_all && (items > GATHER_PAGE_ITEMS || bytes > GATHER_PAGE_BYTES))
            next = p;
        else if (p->count)
            emit_raw(e, buf_slice(&p->items));
    }
    emit_array_end(e);
    if (c->list_all) {
        emit_missing(g, e, "missing");
    } else if (is_any_missing(g)) {
        emit_key(e, "_meta");
        emit_object(e);
        emit_missing(g, e, "sallyport/missing");
        emit_object_end(e);
    }
    if (!next)
        return;
    struct slice purpose = arena_printf(&c->arena, CURSOR " %.*s", SLICE_FMT(c->method));
    emit_key(e, "nextCursor");
    emit_str(e, seal_make(c->session, &c->arena, purpose.ptr, slice_str(next->name)));
}

static struct slice list_text(struct gather *g) {
    struct call *c = g->call;
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    struct emit e;
    answer_emit(c, &e, &out);
    if (list_of(c->method))
        emit_items(g, &e);
    if (c->modern) {
        emit_key(&e, "resultType");
        emit_cstr(&e, "complete");
        emit_key(&e, "ttlMs");
        emit_int(&e, 0);
        emit_key(&e, "cacheScope");
        emit_cstr(&e, "private");
    }
    emit_object_end(&e);
    emit_object_end(&e);
    return out.full ? (struct slice){0} : arena_dup(&c->arena, buf_slice(&out));
}

/* In the order of the settings, not in that of the answers. */
static void settle_names(struct gather *g) {
    for (size_t i = 0; i < g->count; i++) {
        struct part *p = g->parts[i];
        struct server *server = server_find(g->call->session->core, slice_str(p->name));
        if (!p->list || !p->count)
            continue;
        cleanup_buf struct buf raw;
        buf_init(&raw, GATHER_PART_BYTES + 2);
        buf_put_char(&raw, '[');
        buf_put_slice(&raw, buf_slice(&p->items));
        buf_put_char(&raw, ']');
        cleanup_tape struct tape t;
        tape_init(&t);
        buf_reset(&p->items);
        p->count = 0;
        if (!server || tape_parse(&t, buf_slice(&raw), NULL) != TAPE_OK)
            continue;
        TAPE_FOR_ELEM(&t, 0, elem) {
            size_t before = p->items.len;
            if (before)
                buf_put_char(&p->items, ',');
            if (rename_element(g->call, server, p->list, &t, elem, &p->items))
                p->count++;
            else
                p->items.len = before;
        }
    }
}

static void finish(struct gather *g) {
    struct call *c = g->call;
    g->over = true;
    c->gathering = false;
    if (g->bare)
        settle_names(g);
    io_timer_stop(c->session->core->up.loop, &g->timer);
    if (!g->quiet) {
        bool description = c->kind == CALL_INITIALIZE || c->kind == CALL_DISCOVER;
        struct slice text = description ? describe_text(c) : list_text(g);
        if (text.len)
            answer_set(c, text);
        else
            answer_error(c, RPC_INTERNAL, 502, "the servers' lists are too large together");
    }
    for (size_t i = 0; i < g->count; i++)
        buf_free(&g->parts[i]->items);
    buf_free(&g->left_out);
    if (!g->starting)
        call_resume(c);
}
