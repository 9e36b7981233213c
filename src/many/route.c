#include "many/route.h"

#include "base/mem.h"
#include "call/answer.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "many/gather.h"
#include "many/many.h"
#include "mcp/names.h"
#include "session/session.h"

#include <stdio.h>

#define LEGACY_NEWEST "2025-11-25"
#define RELATED_TASK "io.modelcontextprotocol/related-task"

static enum call_next no_such(struct call *c, const char *what) {
    int code =
        c->modern || !c->subject || strcmp(c->subject, "uri") != 0 ? RPC_INVALID_PARAMS : RPC_NO_RESOURCE;
    return call_refuse(c, code, 0, arena_printf(&c->arena, "%s: %.*s", what, SLICE_FMT(c->name)).ptr);
}

/* The message as its server knows it: policies, records and the server read the same. */
static enum call_next rename_in_request(struct call *c, uint32_t node, struct slice name) {
    struct msg *m = c->request;
    struct splice text;
    splice_init(&text, m->bytes, &c->arena);
    cleanup_buf struct buf bytes;
    buf_init(&bytes, MSG_BYTES_MAX);
    if (!splice_value(&text, &m->tape, node, answer_quoted(&c->arena, name)) || !splice_write(&text, &bytes))
        return call_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    struct msg *renamed = call_read_text(c->session->core, buf_slice(&bytes));
    if (!renamed)
        return call_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    c->method = arena_dup(&c->arena, c->method);
    c->name = arena_dup(&c->arena, name);
    c->request = renamed;
    msg_unref(m);
    return CALL_NEXT;
}

/* ---- tools ---- */

static bool find_short(struct call *c, struct server *server, struct slice shown, struct slice *ret_name) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&server->tools.by_name, &at))) {
        if (slice_eq(names_show(&c->arena, server_prefix(server), e->key), shown)) {
            *ret_name = arena_dup(&c->arena, e->key);
            return true;
        }
    }
    return false;
}

/* Pages of MCP Apps call the tools of their own server by the names they were written with. */
static struct server *app_server(struct call *c) {
    struct server *found = NULL, *server;
    size_t at = 0;
    while ((server = visible_next(c->session, &at))) {
        if (!server->tools.has_apps || !map_get(&server->tools.by_name, c->name))
            continue;
        if (found)
            return NULL; /* nobody can say which is meant */
        found = server;
    }
    return found;
}

static enum call_next find_prefixed_tool(struct call *c) {
    struct slice prefix, name, shown = c->name;
    struct server *server =
        names_split(shown, &prefix, &name) ? visible_by_prefix(c->session, prefix) : app_server(c);
    if (!server)
        return no_such(c, "Unknown tool");
    if (names_split(shown, &prefix, &name) && slice_eq(prefix, server_prefix(server))) {
        if (names_is_short(shown) && !map_get(&server->tools.by_name, name)) {
            struct channel *ch = channel_for(c->session, server, c);
            if (!ch || !tools_ready(ch, c))
                return CALL_WAIT;
            find_short(c, server, shown, &name);
        }
        c->name = name;
        c->renamed = true;
    }
    c->server = server;
    return CALL_NEXT;
}

/* ---- names without a prefix ---- */

static const char *const tool_lists[] = {"tools/list", NULL};
static const char *const prompt_lists[] = {"prompts/list", NULL};
static const char *const resource_lists[] = {"resources/list", "resources/templates/list", NULL};

static struct server *only_one(const struct session *s, const char *capability) {
    size_t at = 0;
    struct server *found = NULL, *server;
    while ((server = visible_next(s, &at))) {
        if (capability && !server_offers(server, capability))
            continue;
        if (found)
            return NULL;
        found = server;
    }
    return found;
}

static struct server *look_up(struct call *c, char kind, struct slice name) {
    const struct session *s = c->session;
    struct server *server = only_one(s, NULL);
    if (!server)
        server = claim_owner(s, kind, name);
    if (!server && kind == 'r')
        server = claim_owner(s, 'T', name);
    if (!server && kind == 'r')
        server = claim_template_owner(s, name);
    return server;
}

/* The server that a name belongs to; the lists are asked for when nobody has shown it yet. */
static enum call_next find_bare(struct call *c, char kind, struct slice name) {
    c->server = look_up(c, kind, name);
    if (!c->server && !c->gather) {
        gather_search(c, kind == 't' ? tool_lists : kind == 'p' ? prompt_lists : resource_lists);
        if (!gather_over(c->gather))
            return CALL_WAIT; /* and then here again */
        c->server = look_up(c, kind, name);
    }
    if (!c->server && kind == 'r')
        c->server = only_one(c->session, "resources");
    if (!c->server)
        return no_such(c, kind == 't'   ? "Unknown tool"
                          : kind == 'p' ? "Unknown prompt"
                                        : "Resource not found");
    return CALL_NEXT;
}

/* ---- everything else that is about one thing ---- */

static enum call_next find_prompt(struct call *c, uint32_t node) {
    struct slice prefix, name;
    if (!visible_renames(c->session))
        return find_bare(c, 'p', c->name);
    c->server = names_split(c->name, &prefix, &name) ? visible_by_prefix(c->session, prefix) : NULL;
    return c->server ? rename_in_request(c, node, name) : no_such(c, "Unknown prompt");
}

static enum call_next find_resource(struct call *c, uint32_t node) {
    struct slice prefix, uri;
    if (!visible_renames(c->session))
        return find_bare(c, 'r', c->name);
    bool ours = names_split_uri(&c->arena, c->name, &prefix, &uri);
    c->server = ours ? visible_by_prefix(c->session, prefix) : NULL;
    return c->server ? rename_in_request(c, node, uri) : no_such(c, "Resource not found");
}

static enum call_next find_task(struct call *c, uint32_t node) {
    struct session *s = c->session;
    struct slice prefix, id = c->name;
    if (visible_renames(s)) {
        c->server = names_split(c->name, &prefix, &id) ? visible_by_prefix(s, prefix) : NULL;
        if (!c->server || !task_owner_is(s, c->server, id))
            return no_such(c, "Task not found");
        return rename_in_request(c, node, id);
    }
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at)))
        if (task_owner_is(s, server, id))
            c->server = server;
    return c->server ? CALL_NEXT : no_such(c, "Task not found");
}

static enum call_next find_completion(struct call *c) {
    const struct tape *t = &c->request->tape;
    uint32_t ref = c->request->rpc.params ? tape_get_str(t, c->request->rpc.params, "ref") : 0;
    uint32_t name = ref ? tape_get_str(t, ref, "name") : 0, uri = ref ? tape_get_str(t, ref, "uri") : 0;
    uint32_t node = name ? name : uri;
    if (!node || !tape_is(t, node, TAPE_STRING))
        return call_refuse(c, RPC_INVALID_PARAMS, 400, "params.ref must name a prompt or a resource");
    c->name = arena_dup(&c->arena, tape_text(t, node, &c->arena));
    return name ? find_prompt(c, node) : find_resource(c, node);
}

static enum call_next find_by_subject(struct call *c) {
    uint32_t node = tape_get_str(&c->request->tape, c->request->rpc.params, c->subject);
    if (strcmp(c->subject, "uri") == 0)
        return node ? find_resource(c, node) : no_such(c, "Resource not found");
    if (strcmp(c->subject, "taskId") == 0)
        return node ? find_task(c, node) : no_such(c, "Task not found");
    return find_prompt(c, node);
}

/* ---- what the gate itself answers ---- */

/* What is agreed with the client; its servers are greeted in the client's own words as they are needed. */
static enum call_next keep_initialize(struct call *c) {
    static const char *const known[] = {"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18",
                                        LEGACY_NEWEST};
    struct session *s = c->session;
    const struct tape *t = &c->request->tape;
    uint32_t params = c->request->rpc.params;
    uint32_t wanted = params ? tape_get_str(t, params, "protocolVersion") : 0;
    if (s->init_done)
        return call_refuse(c, RPC_INVALID_REQUEST, 400, "this session has been initialised");
    if (!wanted || !tape_is(t, wanted, TAPE_STRING))
        return call_refuse(c, RPC_INVALID_PARAMS, 400, "params.protocolVersion must be a string");
    struct slice raw = tape_raw(t, params);
    if (raw.len > SESSION_INIT_MAX)
        return call_refuse(c, RPC_INVALID_PARAMS, 400, "the params of initialize are too large");
    const char *version = LEGACY_NEWEST;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (tape_eq(t, wanted, slice_str(known[i])))
            version = known[i];
    snprintf(s->version, sizeof(s->version), "%s", version);
    session_keep_initialize(s, raw);
    return CALL_NEXT;
}

static enum call_next hear_notification(struct call *c) {
    struct session *s = c->session;
    if (c->kind == CALL_INITIALIZED)
        s->initialized = true;
    if (c->kind == CALL_INITIALIZED || slice_is(c->method, "notifications/roots/list_changed"))
        presence_notify_servers(s, c->method);
    return CALL_FAIL; /* there is nothing to answer */
}

enum call_next route_find(struct call *c) {
    struct session *s = c->session;
    bool gone = c->kind == CALL_INITIALIZE || c->kind == CALL_PING || c->kind == CALL_SET_LEVEL ||
                slice_ends(c->method, SLICE("/subscribe")) || slice_ends(c->method, SLICE("/unsubscribe")) ||
                slice_is(c->method, "tasks/list") || slice_is(c->method, "tasks/result");
    if (!c->request->rpc.id)
        return hear_notification(c);
    if (c->modern ? gone : c->kind == CALL_DISCOVER || c->kind == CALL_LISTEN)
        return call_refuse(c, RPC_METHOD_NOT_FOUND, c->modern ? 404 : 0, "Method not found");
    switch (c->kind) {
    case CALL_TOOLS_CALL:
        return visible_renames(s) ? find_prefixed_tool(c) : find_bare(c, 't', c->name);
    case CALL_COMPLETE:
        return find_completion(c);
    case CALL_INITIALIZE:
        if (keep_initialize(c) == CALL_FAIL)
            return CALL_FAIL;
        break;
    case CALL_TOOLS_LIST:
    case CALL_LIST:
    case CALL_DISCOVER:
    case CALL_SET_LEVEL:
    case CALL_LISTEN:
        break;
    default:
        if (c->subject)
            return find_by_subject(c);
        return call_refuse(c, RPC_METHOD_NOT_FOUND, c->modern ? 404 : 0, "Method not found");
    }
    gather_start(c);
    return CALL_GATHER;
}

enum call_next route_check_task(struct call *c) {
    bool about_task = c->subject && strcmp(c->subject, "taskId") == 0;
    if (!about_task || !c->session->core->many || task_owner_is(c->session, c->server, c->name))
        return CALL_NEXT;
    if (c->modern && slice_is(c->method, "tasks/result")) /* that era has no such method */
        return call_refuse(c, RPC_METHOD_NOT_FOUND, 404, "Method not found");
    return no_such(c, "Task not found");
}

/* ---- the way back ---- */

struct back {
    struct splice *text;
    const struct tape *t;
    struct slice prefix;
    struct arena *a;
    bool failed;
};

static void back_uri(struct back *b, uint32_t node) {
    if (!node || !tape_is(b->t, node, TAPE_STRING))
        return;
    struct slice shown = names_show_uri(b->a, b->prefix, tape_text(b->t, node, b->a));
    b->failed |= !splice_value(b->text, b->t, node, answer_quoted(b->a, shown));
}

static void back_task(struct back *b, uint32_t node) {
    if (!node || !tape_is(b->t, node, TAPE_STRING))
        return;
    struct slice shown = names_join(b->a, b->prefix, tape_text(b->t, node, b->a));
    b->failed |= !splice_value(b->text, b->t, node, answer_quoted(b->a, shown));
}

static void back_meta(struct back *b, uint32_t obj) {
    if (!obj || !tape_is(b->t, obj, TAPE_OBJECT))
        return;
    back_task(b, tape_path(b->t, obj, "_meta", RELATED_TASK, "taskId", NULL));
    back_uri(b, tape_path(b->t, obj, "_meta", "ui", "resourceUri", NULL));
    back_uri(b, tape_path(b->t, obj, "_meta", "ui/resourceUri", NULL));
}

/* A resource in a message, or a link to one. */
static void back_content(struct back *b, uint32_t item) {
    if (!tape_is(b->t, item, TAPE_OBJECT))
        return;
    uint32_t type = tape_get_str(b->t, item, "type");
    if (type && tape_eq(b->t, type, SLICE("resource_link")))
        back_uri(b, tape_get_str(b->t, item, "uri"));
    else if (type && tape_eq(b->t, type, SLICE("resource")))
        back_uri(b, tape_path(b->t, item, "resource", "uri", NULL));
}

static void back_contents(struct back *b, uint32_t list) {
    if (list && tape_is(b->t, list, TAPE_OBJECT))
        back_content(b, list);
    if (!list || !tape_is(b->t, list, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(b->t, list, i) { back_content(b, i); }
}

static void back_result(struct back *b, uint32_t result) {
    if (!tape_is(b->t, result, TAPE_OBJECT))
        return;
    back_meta(b, result);
    back_contents(b, tape_get_str(b->t, result, "content"));
    back_task(b, tape_path(b->t, result, "task", "taskId", NULL));
    back_task(b, tape_get_str(b->t, result, "taskId"));
    uint32_t nested = tape_get_str(b->t, result, "result"); /* of a task that is done */
    if (nested && tape_is(b->t, nested, TAPE_OBJECT))
        back_contents(b, tape_get_str(b->t, nested, "content"));
    uint32_t contents = tape_get_str(b->t, result, "contents");
    if (contents && tape_is(b->t, contents, TAPE_ARRAY))
        TAPE_FOR_ELEM(b->t, contents, i) {
            if (tape_is(b->t, i, TAPE_OBJECT))
                back_uri(b, tape_get_str(b->t, i, "uri"));
        }
    uint32_t messages = tape_get_str(b->t, result, "messages");
    if (messages && tape_is(b->t, messages, TAPE_ARRAY))
        TAPE_FOR_ELEM(b->t, messages, i) {
            if (tape_is(b->t, i, TAPE_OBJECT))
                back_contents(b, tape_get_str(b->t, i, "content"));
        }
}

/* A task that began: from now on it is this principal's. With one server alone only its tool matters. */
static bool note_task(struct call *c, const struct msg *m) {
    const struct tape *t = &m->tape;
    if (c->kind != CALL_TOOLS_CALL || !tape_is(t, m->rpc.body, TAPE_OBJECT))
        return true;
    uint32_t id = tape_path(t, m->rpc.body, "task", "taskId", NULL);
    uint32_t type = tape_get_str(t, m->rpc.body, "resultType");
    if (!id && type && tape_eq(t, type, SLICE("task")))
        id = tape_get_str(t, m->rpc.body, "taskId");
    return !id || !tape_is(t, id, TAPE_STRING) || task_owner_add(c, tape_text(t, id, &c->arena)) ||
           !c->session->core->many;
}

bool route_back(struct call *c, struct splice *text, const struct msg *m) {
    if (m->rpc.kind == RPC_RESULT && !note_task(c, m))
        return false;
    if (c->inner || !visible_renames(c->session))
        return true;
    struct back b = {text, &m->tape, server_prefix(c->server), &c->arena, false};
    if (m->rpc.kind == RPC_RESULT)
        back_result(&b, m->rpc.body);
    else if (tape_is(&m->tape, m->rpc.body, TAPE_OBJECT))
        back_uri(&b, tape_path(&m->tape, m->rpc.body, "data", "uri", NULL));
    return !b.failed;
}

bool route_back_message(struct channel *ch, struct splice *text, const struct msg *m, struct slice method,
                        struct arena *a) {
    uint32_t params = m->rpc.params;
    if (!params || !visible_renames(ch->session))
        return true;
    struct back b = {text, &m->tape, server_prefix(ch->server), a, false};
    back_meta(&b, params);
    if (slice_is(method, "notifications/resources/updated"))
        back_uri(&b, tape_get_str(&m->tape, params, "uri"));
    else if (slice_starts(method, SLICE("notifications/tasks")))
        back_task(&b, tape_get_str(&m->tape, params, "taskId"));
    return !b.failed;
}

/* ---- elements of lists ---- */

struct cut { /* a value of an element that is written otherwise */
    uint32_t start, end;
    struct slice text;
};

#define CUTS_MAX 4

struct cuts {
    const struct tape *t;
    struct cut items[CUTS_MAX];
    size_t count;
};

/* Kept in the order of the text. */
static void cut_value(struct cuts *cuts, uint32_t node, struct slice json) {
    struct slice raw = tape_raw(cuts->t, node);
    uint32_t start = (uint32_t)(raw.ptr - cuts->t->src.ptr);
    size_t at = cuts->count;
    while (at && cuts->items[at - 1].start > start) {
        cuts->items[at] = cuts->items[at - 1];
        at--;
    }
    cuts->items[at] = (struct cut){start, start + (uint32_t)raw.len, json};
    cuts->count++;
}

static void cut_write(const struct cuts *cuts, uint32_t elem, struct buf *out) {
    struct slice raw = tape_raw(cuts->t, elem);
    uint32_t at = (uint32_t)(raw.ptr - cuts->t->src.ptr), end = at + (uint32_t)raw.len;
    for (size_t i = 0; i < cuts->count; i++) {
        buf_put(out, cuts->t->src.ptr + at, cuts->items[i].start - at);
        buf_put_slice(out, cuts->items[i].text);
        at = cuts->items[i].end;
    }
    buf_put(out, cuts->t->src.ptr + at, end - at);
}

static void cut_uri(struct call *c, struct cuts *cuts, struct slice prefix, uint32_t node) {
    if (!node || !tape_is(cuts->t, node, TAPE_STRING))
        return;
    struct slice shown = names_show_uri(&c->arena, prefix, tape_text(cuts->t, node, &c->arena));
    cut_value(cuts, node, answer_quoted(&c->arena, shown));
}

static const struct {
    const char *list;   /* member of the result */
    const char *member; /* that names an element */
    char kind;          /* see claim_name */
} element_names[] = {
    {"tools", "name", 't'},    {"prompts", "name", 'p'},
    {"resources", "uri", 'r'}, {"resourceTemplates", "uriTemplate", 'T'},
    {"tasks", "taskId", 'k'},
};

bool route_element(struct call *c, struct server *server, const char *list, const struct tape *t,
                   uint32_t elem, struct buf *out) {
    size_t which = 0;
    while (strcmp(element_names[which].list, list) != 0)
        which++;
    char kind = element_names[which].kind;
    uint32_t node = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, element_names[which].member) : 0;
    if (!node || !tape_is(t, node, TAPE_STRING))
        return false;
    struct slice name = tape_text(t, node, &c->arena), prefix = server_prefix(server);
    struct cuts cuts = {.t = t};
    if (kind == 'k' && !task_owner_is(c->session, server, name))
        return false;
    if (visible_renames(c->session)) {
        if (kind == 't')
            cut_value(&cuts, node, answer_quoted(&c->arena, names_show(&c->arena, prefix, name)));
        else if (kind == 'p' || kind == 'k')
            cut_value(&cuts, node, answer_quoted(&c->arena, names_join(&c->arena, prefix, name)));
        else
            cut_uri(c, &cuts, prefix, node);
        cut_uri(c, &cuts, prefix, tape_path(t, elem, "_meta", "ui", "resourceUri", NULL));
        cut_uri(c, &cuts, prefix, tape_path(t, elem, "_meta", "ui/resourceUri", NULL));
    } else if (kind != 'k' && !claim_name(server, kind, name)) {
        return false;
    }
    cut_write(&cuts, elem, out);
    return true;
}
