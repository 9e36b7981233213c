#include "many/rename.h"

#include "call/answer.h"
#include "many/claim.h"
#include "mcp/names.h"
#include "server/task_owner.h"
#include "server/visible.h"

#define RELATED_TASK "io.modelcontextprotocol/related-task"

struct back {
    struct splice *text;
    const struct tape *t;
    struct slice prefix;
    struct arena *a;
    bool failed;
    struct slice asked; /* the client's own request, or empty */
};

/* A URI from the client's request that the server repeats is already in the session's form. Only the
 * request shows that: a server behind another gate has such URIs of its own. */
static bool is_repeated(const struct back *b, struct slice uri) {
    struct slice prefix, rest;
    return b->asked.len && names_split_uri(b->a, uri, &prefix, &rest) && slice_eq(prefix, b->prefix) &&
           memmem(b->asked.ptr, b->asked.len, uri.ptr, uri.len);
}

static void back_uri(struct back *b, uint32_t node) {
    if (!node || !tape_is(b->t, node, TAPE_STRING))
        return;
    struct slice uri = tape_text(b->t, node, b->a);
    if (is_repeated(b, uri))
        return;
    struct slice shown = names_show_uri(b->a, b->prefix, uri);
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

static void back_resources(struct back *b, uint32_t list) {
    if (list && tape_is(b->t, list, TAPE_ARRAY))
        TAPE_FOR_ELEM(b->t, list, i) {
            if (tape_is(b->t, i, TAPE_OBJECT))
                back_uri(b, tape_get_str(b->t, i, "uri"));
        }
}

static void back_result(struct back *b, uint32_t result) {
    if (!tape_is(b->t, result, TAPE_OBJECT))
        return;
    back_meta(b, result);
    back_contents(b, tape_get_str(b->t, result, "content"));
    back_task(b, tape_path(b->t, result, "task", "taskId", NULL));
    back_task(b, tape_get_str(b->t, result, "taskId"));
    uint32_t nested = tape_get_str(b->t, result, "result"); /* of a completed task */
    if (nested && tape_is(b->t, nested, TAPE_OBJECT))
        back_contents(b, tape_get_str(b->t, nested, "content"));
    back_resources(b, tape_get_str(b->t, result, "contents"));
    back_resources(b, tape_get_str(b->t, result, "resources")); /* of a directory */
    back_uri(b, tape_path(b->t, result, "skill", "uri", NULL));
    back_resources(b, tape_path(b->t, result, "skill", "resources", NULL));
    uint32_t messages = tape_get_str(b->t, result, "messages");
    if (messages && tape_is(b->t, messages, TAPE_ARRAY))
        TAPE_FOR_ELEM(b->t, messages, i) {
            if (tape_is(b->t, i, TAPE_OBJECT))
                back_contents(b, tape_get_str(b->t, i, "content"));
        }
}

/* A new task belongs to this principal. With a single server only its tool matters. */
static bool note_task(struct call *c, const struct msg *m) {
    const struct tape *t = &m->tape;
    if (c->kind != CALL_TOOLS_CALL || !tape_is(t, m->rpc.body, TAPE_OBJECT))
        return true;
    uint32_t id = tape_path(t, m->rpc.body, "task", "taskId", NULL);
    uint32_t type = tape_get_str(t, m->rpc.body, "resultType");
    if (!id && type && tape_eq(t, type, SLICE("task")))
        id = tape_get_str(t, m->rpc.body, "taskId");
    return !id || !tape_is(t, id, TAPE_STRING) || task_owner_add(c, tape_text(t, id, &c->arena)) ||
           !c->session->core->many_servers;
}

/* Arguments of prompts and tools may contain URIs; other references to resources are renamed when they are
 * forwarded. */
static struct slice asked_text(const struct call *c) {
    bool has_arguments = c->kind == CALL_TOOLS_CALL || slice_is(c->method, "prompts/get");
    return has_arguments ? c->request->bytes : (struct slice){0};
}

static bool rename_answer(struct call *c) {
    const struct msg *m = c->response;
    if (m->rpc.kind == RPC_RESULT && !note_task(c, m))
        return false;
    if (c->inner || !visible_renames(c->session))
        return true;
    struct back b = {c->answer, &m->tape, server_prefix(c->server), &c->arena, false, asked_text(c)};
    if (m->rpc.kind == RPC_RESULT)
        back_result(&b, m->rpc.body);
    else if (tape_is(&m->tape, m->rpc.body, TAPE_OBJECT))
        back_uri(&b, tape_path(&m->tape, m->rpc.body, "data", "uri", NULL));
    return !b.failed;
}

enum call_next rename_filter(struct call *c) {
    return rename_answer(c) ? CALL_NEXT
                            : answer_refuse(c, RPC_INTERNAL, 502,
                                            "the names in the server's answer could not be rewritten");
}

bool rename_message(struct channel *ch, struct splice *text, const struct msg *m, struct slice method,
                    struct arena *a) {
    uint32_t params = m->rpc.params;
    if (!params || !visible_renames(ch->session))
        return true;
    struct back b = {text, &m->tape, server_prefix(ch->server), a, false, {0}};
    back_meta(&b, params);
    if (slice_is(method, "notifications/resources/updated"))
        back_uri(&b, tape_get_str(&m->tape, params, "uri"));
    else if (slice_starts(method, SLICE("notifications/tasks")))
        back_task(&b, tape_get_str(&m->tape, params, "taskId"));
    return !b.failed;
}

/* ---- elements of lists ---- */

struct cut { /* a value of an element that is replaced */
    uint32_t start, end;
    struct slice text;
};

#define CUTS_MAX 4 /* beside the files of a skill */

struct cuts {
    const struct tape *t;
    struct cut *items;
    size_t count;
};

/* Sorted by position in the text. */
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
    {"skills", "uri", 'r'},    {"tasks", "taskId", 'k'},
};

/* The files of a skill; 0 when it names none. */
static uint32_t skill_files(const struct tape *t, uint32_t skill) {
    uint32_t files = tape_get_str(t, skill, "resources");
    return files && tape_is(t, files, TAPE_ARRAY) ? files : 0;
}

/* False when another server already has one of its files. */
static bool rename_files(struct call *c, struct server *server, struct cuts *cuts, uint32_t files) {
    TAPE_FOR_ELEM(cuts->t, files, file) {
        uint32_t uri = tape_is(cuts->t, file, TAPE_OBJECT) ? tape_get_str(cuts->t, file, "uri") : 0;
        if (!uri || !tape_is(cuts->t, uri, TAPE_STRING))
            return false;
        if (visible_renames(c->session))
            cut_uri(c, cuts, server_prefix(server), uri);
        else if (!claim_name(server, 'r', tape_text(cuts->t, uri, &c->arena)))
            return false;
    }
    return true;
}

bool rename_element(struct call *c, struct server *server, const char *list, const struct tape *t,
                    uint32_t elem, struct buf *out) {
    size_t which = 0;
    while (strcmp(element_names[which].list, list) != 0)
        which++;
    char kind = element_names[which].kind;
    uint32_t node = tape_is(t, elem, TAPE_OBJECT) ? tape_get_str(t, elem, element_names[which].member) : 0;
    if (!node || !tape_is(t, node, TAPE_STRING))
        return false;
    struct slice name = tape_text(t, node, &c->arena), prefix = server_prefix(server);
    uint32_t files = strcmp(list, "skills") == 0 ? skill_files(t, elem) : 0;
    struct cuts cuts = {
        .t = t,
        .items = arena_array(&c->arena, struct cut, CUTS_MAX + (files ? tape_node(t, files)->count : 0))};
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
    if (files && !rename_files(c, server, &cuts, files))
        return false;
    cut_write(&cuts, elem, out);
    return true;
}
