#include "profiles/discover.h"

#include "base/mem.h"
#include "code/code_answer.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/code_tool.h"
#include "code/fault.h"
#include "code/listing.h"
#include "code/sdk.h"

#define WEAK_SHARE 0.3 /* of the best score: tools below it are not relevant */

static struct code_req *req_of(struct listing_wait *w) { return container_of(w, struct code_req, tools); }

static void ask(struct code_req *r, void (*done)(struct listing_wait *w, struct registry *c)) {
    listing_ask(&r->tools, r->conn, r->owner, done);
}

/* ---- entries ---- */

static struct slice first_sentence(struct slice text) {
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '.' && (text.ptr[i + 1] == ' ' || text.ptr[i + 1] == '\n'))
            return slice_upto(text, i + 1);
    return text;
}

static void put_member(struct emit *e, const struct tape *t, const char *key, const char *fallback) {
    uint32_t node = tape_get_str(t, 0, key);
    if (!node && !fallback)
        return;
    emit_key(e, key);
    emit_raw(e, node ? tape_raw(t, node) : slice_str(fallback));
}

static void put_full(struct emit *e, struct code_owner *o, const struct index_tool *tool) {
    emit_key(e, "functions");
    emit_array(e);
    emit_str(e, tool->name);
    emit_array_end(e);
    emit_key(e, "use_cases");
    emit_array(e);
    emit_str(e, first_sentence(tool->description));
    emit_array_end(e);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, tool->definition, NULL) != TAPE_OK)
        return;
    put_member(e, &t, "inputSchema", "{}");
    put_member(e, &t, "outputSchema", NULL);
    struct slice shape = sdk_shape(o, tool->server, tool->name);
    if (shape.len && !tape_get_str(&t, 0, "outputSchema")) {
        emit_key(e, "seen_output");
        emit_raw(e, shape);
    }
}

enum detail { DETAIL_NAME, DETAIL_SUMMARY, DETAIL_FULL };

static void put_entry(struct emit *e, struct code_owner *o, const struct index_tool *tool,
                      enum detail detail) {
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, tool->name);
    if (detail != DETAIL_NAME) {
        emit_key(e, "category");
        emit_str(e, tool->category);
        emit_key(e, "description");
        emit_str(e, detail == DETAIL_FULL ? tool->description : first_sentence(tool->description));
    }
    emit_key(e, "mcp_server");
    emit_str(e, tool->server);
    if (detail == DETAIL_FULL)
        put_full(e, o, tool);
    emit_object_end(e);
}

/* ---- search ---- */

struct search {
    struct slice category; /* or server; empty: any */
    struct index_hit hits[CODE_FOUND_MAX];
    size_t found, left_out;
};

static bool in_category(void *ctx, const struct index_tool *tool) {
    const struct search *s = ctx;
    return !s->category.len || slice_eq_nocase(tool->category, s->category) ||
           slice_eq_nocase(tool->server, s->category);
}

/* A query without words matches everything. */
static void find_all(struct registry *c, const struct index_view *view, struct search *s) {
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, view, &at))) {
        if (s->found < CODE_FOUND_MAX)
            s->hits[s->found++].tool = tool;
        else
            s->left_out++;
    }
}

static void find(struct registry *c, struct slice query, size_t limit, struct search *s) {
    const struct index_view view = {in_category, s};
    if (slice_trim(query).len) {
        size_t all, kept = 0;
        size_t found = index_search(c->index, slice_upto(query, CODE_QUERY_MAX), &view, limit, s->hits, &all);
        for (size_t i = 0; i < found; i++)
            if (s->hits[i].exact || s->hits[i].score >= s->hits[0].score * WEAK_SHARE)
                s->hits[kept++] = s->hits[i];
        s->found = kept;
        s->left_out = all - kept;
        return;
    }
    find_all(c, &view, s);
    if (s->found > limit) {
        s->left_out += s->found - limit;
        s->found = limit;
    }
}

static enum detail read_detail(struct slice level) {
    return slice_is(level, "name") ? DETAIL_NAME : slice_is(level, "summary") ? DETAIL_SUMMARY : DETAIL_FULL;
}

static void on_search(struct listing_wait *w, struct registry *c) {
    struct code_req *r = req_of(w);
    struct slice query = code_arg_text(r, "query", (struct slice){0});
    struct slice level = code_arg_text(r, "detail_level", SLICE("summary"));
    int64_t limit = code_arg_int(r, "limit", slice_trim(query).len ? CODE_FOUND : CODE_FOUND_MAX);
    struct search s = {.category = code_arg_text(r, "category", (struct slice){0})};
    find(c, query, limit < 1 ? 1 : limit > CODE_FOUND_MAX ? CODE_FOUND_MAX : (size_t)limit, &s);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "query");
    emit_str(&e, query);
    emit_key(&e, "category");
    if (s.category.len)
        emit_str(&e, s.category);
    else
        emit_null(&e);
    emit_key(&e, "detail_level");
    emit_str(&e, level);
    emit_key(&e, "count");
    emit_int(&e, (int64_t)s.found);
    if (s.left_out) {
        emit_key(&e, "left_out");
        emit_int(&e, (int64_t)s.left_out);
    }
    if (c->missing.len > 2) {
        emit_key(&e, "unavailable");
        emit_raw(&e, c->missing);
    }
    emit_key(&e, "tools");
    emit_array(&e);
    for (size_t i = 0; i < s.found; i++)
        put_entry(&e, r->owner, s.hits[i].tool, read_detail(level));
    emit_array_end(&e);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&out), false);
}

void discover_search(struct code_req *r) { ask(r, on_search); }

/* ---- one definition ---- */

/* null; if the result has a schema, which only objects have, an object with the error. */
static void reply_unknown(struct code_req *r, struct slice name) {
    struct code_answer answer;
    code_answer_init(&answer);
    code_answer_text(&answer, SLICE("null"));
    if (!r->inner) {
        buf_put_str(&answer.structured, "{\"error\":");
        emit_quote(&answer.structured,
                   arena_printf(&r->arena, "Tool not found: %.*s", SLICE_FMT(slice_upto(name, 128))));
        buf_put_char(&answer.structured, '}');
    }
    code_reply_answer(r, &answer);
    code_answer_free(&answer);
}

static void on_definition(struct listing_wait *w, struct registry *c) {
    struct code_req *r = req_of(w);
    struct slice name = code_arg_text(r, "tool_name", (struct slice){0});
    const struct index_tool *tool = registry_find(c, code_arg_text(r, "server", (struct slice){0}), name);
    if (!tool && slice_starts(name, SLICE("mcp_")))
        tool = registry_find_alias(c, name);
    if (!tool) {
        reply_unknown(r, name);
        return;
    }
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    put_entry(&e, r->owner, tool, DETAIL_FULL);
    code_reply_json(r, buf_slice(&out), false);
}

void discover_definition(struct code_req *r) { ask(r, on_definition); }

/* ---- categories and servers ---- */

struct group {
    struct slice name;
    const struct index_tool *first;
    int64_t count;
};

struct groups {
    struct group *items;
    size_t count;
};

/* In the order of their first tool. */
static struct groups group_tools(struct registry *c, bool by_server, struct arena *a) {
    struct groups g = {arena_array(a, struct group, index_count(c->index) + 1), 0};
    struct map seen;
    map_init(&seen);
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at))) {
        struct slice name = by_server ? tool->server : tool->category;
        struct group *group = map_get(&seen, name);
        if (!group) {
            group = &g.items[g.count++];
            *group = (struct group){.name = name, .first = tool};
            map_put(&seen, name, group);
        }
        group->count++;
    }
    map_free(&seen);
    return g;
}

static struct slice category_about(const struct code_server *s, const struct group *g, struct arena *a) {
    static const struct {
        struct slice name, about;
    } own[] = {
        {SLICE("execution"), SLICE("Running code, jobs and sessions")},
        {SLICE("discovery"), SLICE("Finding and calling tools")},
        {SLICE("skills"), SLICE("Code that is kept for later")},
        {SLICE("privacy"), SLICE("Personal data and secrets in text")},
        {SLICE("workspace"), SLICE("Files that stay between runs")},
    };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (slice_is(g->first->server, s->config.name) && slice_eq(own[i].name, g->name))
            return own[i].about;
    return arena_printf(a, "Tools of the server %.*s", SLICE_FMT(g->first->server));
}

static void on_categories(struct listing_wait *w, struct registry *c) {
    struct code_req *r = req_of(w);
    struct groups categories = group_tools(c, false, &r->arena), servers = group_tools(c, true, &r->arena);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "categories");
    emit_object(&e);
    for (size_t i = 0; i < categories.count; i++) {
        emit_key_slice(&e, categories.items[i].name);
        emit_object(&e);
        emit_key(&e, "description");
        emit_str(&e, category_about(r->conn->server, &categories.items[i], &r->arena));
        emit_key(&e, "tool_count");
        emit_int(&e, categories.items[i].count);
        emit_object_end(&e);
    }
    emit_object_end(&e);
    emit_key(&e, "total_tools");
    emit_int(&e, (int64_t)index_count(c->index));
    emit_key(&e, "core_mcps");
    emit_array(&e);
    for (size_t i = 0; i < servers.count; i++)
        emit_str(&e, servers.items[i].name);
    emit_array_end(&e);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&out), false);
}

void discover_categories(struct code_req *r) { ask(r, on_categories); }

/* ---- every server with its tools ---- */

static bool of_group(void *ctx, const struct index_tool *tool) {
    return slice_eq(tool->server, ((const struct group *)ctx)->name);
}

static void put_tool(struct emit *e, const struct index_tool *tool) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, tool->definition, NULL) != TAPE_OK)
        return;
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, tool->name);
    emit_key(e, "description");
    emit_str(e, tool->description);
    put_member(e, &t, "inputSchema", "{}");
    put_member(e, &t, "outputSchema", NULL);
    emit_object_end(e);
}

static void put_server(struct emit *e, struct registry *c, struct group *g) {
    const struct index_view view = {of_group, g};
    const struct index_tool *tool;
    size_t at = 0;
    emit_object(e);
    emit_key(e, "server");
    emit_str(e, g->name);
    emit_key(e, "status");
    emit_cstr(e, "success");
    emit_key(e, "toolCount");
    emit_int(e, g->count);
    emit_key(e, "tools");
    emit_array(e);
    while ((tool = index_next(c->index, &view, &at)))
        put_tool(e, tool);
    emit_array_end(e);
    emit_object_end(e);
}

static void on_servers(struct listing_wait *w, struct registry *c) {
    struct code_req *r = req_of(w);
    struct groups servers = group_tools(c, true, &r->arena);
    cleanup_tape struct tape missing;
    tape_init(&missing);
    bool some = tape_parse(&missing, c->missing, NULL) == TAPE_OK;
    size_t all = servers.count + (some ? tape_node(&missing, 0)->count : 0);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    buf_printf(&out,
               "Output:\n{\"summary\":{\"totalServers\":%zu,\"successfulServers\":%zu,\"totalTools\":%zu},"
               "\"servers\":",
               all, servers.count, index_count(c->index));
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < servers.count; i++)
        put_server(&e, c, &servers.items[i]);
    if (some)
        TAPE_FOR_ELEM(&missing, 0, i) {
            emit_raw(&e, arena_printf(&r->arena,
                                      "{\"server\":%.*s,\"status\":\"error\",\"toolCount\":0,"
                                      "\"error\":\"the server does not answer\",\"tools\":[]}",
                                      SLICE_FMT(tape_raw(&missing, i))));
        }
    emit_array_end(&e);
    buf_put_str(&out, "}\n");
    code_reply_text(r, buf_slice(&out), false);
}

void discover_servers(struct code_req *r) { ask(r, on_servers); }

void discover_write_registry(struct code_req *r, struct emit *e) {
    const struct code_server *s = r->conn->server;
    struct map seen;
    int64_t tools = 0;
    map_init(&seen);
    emit_object(e);
    emit_key(e, "categories");
    emit_array(e);
    for (size_t i = 0; i < s->face->tool_count; i++) {
        const struct code_tool *tool = &s->face->tools[i];
        const char *category = tool->category ? tool->category : s->config.name;
        if (tool->hidden || !code_tool_usable(s, tool))
            continue;
        tools++;
        if (!map_put(&seen, slice_str(category), r))
            emit_cstr(e, category);
    }
    emit_array_end(e);
    emit_key(e, "total_tools");
    emit_int(e, tools);
    emit_object_end(e);
    map_free(&seen);
}

/* ---- calling a found tool ---- */

static void on_called(struct code_inner *inner, bool ok, struct slice text) {
    struct code_req *r = container_of(inner, struct code_req, inner_call);
    cleanup_tape struct tape t;
    tape_init(&t);
    /* The client may repeat the same call after the approval, as with its own calls. */
    if (!ok && fault_needs_approval(text)) {
        code_reply_error_as(r, text);
        return;
    }
    if (!ok || tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        code_reply_text(r, ok ? SLICE("the tool's answer cannot be read") : fault_words(text, &r->arena),
                        true);
        return;
    }
    /* Members that belong to the inner call are dropped. */
    static const char *const kept[] = {"content", "structuredContent", "isError"};
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        uint32_t node = tape_get_str(&t, 0, kept[i]);
        if (node)
            buf_printf(&out, "%s\"%s\":%.*s", out.len ? "," : "", kept[i], SLICE_FMT(tape_raw(&t, node)));
    }
    code_reply(r, buf_slice(&out));
}

static void call_found(struct code_req *r, struct slice server, struct slice tool, uint32_t args) {
    r->inner_call.done = on_called;
    r->conn->ops->call_tool(r->conn->owner, server, tool, args ? tape_raw(&r->tape, args) : SLICE("{}"),
                            r->record, &r->inner_call);
}

void discover_call(struct code_req *r) {
    call_found(r, code_arg_text(r, "server", slice_str(r->conn->server->config.name)),
               code_arg_text(r, "tool", (struct slice){0}), code_arg_node(r, "args"));
}

/* mcp_SERVER_TOOL, or any name that get_tool_definition accepts. */
static void on_alias(struct listing_wait *w, struct registry *c) {
    struct code_req *r = req_of(w);
    struct slice name = code_arg_text(r, "alias", (struct slice){0});
    const struct index_tool *tool = registry_find(c, (struct slice){0}, name);
    if (!tool)
        tool = registry_find_alias(c, name);
    if (tool)
        call_found(r, tool->server, tool->name, code_arg_node(r, "params"));
    else
        code_reply_text(r, arena_printf(&r->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(name, 128))),
                        true);
}

void discover_alias(struct code_req *r) { ask(r, on_alias); }
