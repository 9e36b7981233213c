#include "code/discover.h"

#include "base/mem.h"

#include <stdlib.h>

/* One tool of whatever server. */
struct entry {
    struct slice server, name, description, category;
    struct slice input, output; /* raw JSON, may be empty */
    struct slice use;
    int score;
    size_t order;
};

struct catalogue {
    struct entry *entries;
    size_t count;
};

/* ---- what there is ---- */

static struct slice text_member(const struct tape *t, uint32_t obj, const char *key, struct arena *a) {
    uint32_t node = tape_get_str(t, obj, key);
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(a, tape_text(t, node, a)) : (struct slice){0};
}

static struct slice raw_member(const struct tape *t, uint32_t obj, const char *key, struct arena *a) {
    uint32_t node = tape_get_str(t, obj, key);
    return node ? arena_dup(a, tape_raw(t, node)) : (struct slice){0};
}

static struct slice first_sentence(struct slice text) {
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '.' && (text.ptr[i + 1] == ' ' || text.ptr[i + 1] == '\n'))
            return slice_upto(text, i + 1);
    return text;
}

static void add_builtin(struct code_req *r, struct catalogue *c) {
    const struct code_server *s = r->conn->server;
    for (size_t i = 0; i < s->face->tool_count; i++) {
        const struct code_tool *tool = &s->face->tools[i];
        if (tool->hidden || !code_tool_usable(s, tool))
            continue;
        c->entries[c->count] = (struct entry){
            .server = slice_str(s->config.name),
            .name = slice_str(tool->name),
            .description = slice_str(tool->description),
            .category = slice_str(tool->category ? tool->category : s->config.name),
            .input = slice_str(tool->input),
            .output = s->face->structured ? slice_str(tool->output) : (struct slice){0},
            .use = first_sentence(slice_str(tool->description)),
            .order = c->count,
        };
        c->count++;
    }
}

static void add_others(struct code_req *r, struct catalogue *c, const struct tape *t) {
    struct arena *a = &r->arena;
    TAPE_FOR_ELEM(t, 0, i) {
        struct slice server = text_member(t, i, "server", a), name = text_member(t, i, "name", a);
        if (!tape_is(t, i, TAPE_OBJECT) || !server.len || !name.len)
            continue;
        struct slice description = text_member(t, i, "description", a);
        c->entries[c->count] = (struct entry){
            .server = server,
            .name = name,
            .description = description,
            .category = server,
            .input = raw_member(t, i, "inputSchema", a),
            .output = raw_member(t, i, "outputSchema", a),
            .use = first_sentence(description),
            .order = c->count,
        };
        c->count++;
    }
}

static void catalogue_make(struct code_req *r, struct slice others, struct catalogue *ret) {
    cleanup_tape struct tape t;
    tape_init(&t);
    bool more = others.len && tape_parse(&t, others, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_ARRAY);
    size_t max = r->conn->server->face->tool_count + (more ? tape_node(&t, 0)->count : 0);
    ret->entries = arena_array(&r->arena, struct entry, max + 1);
    ret->count = 0;
    add_builtin(r, ret);
    if (more)
        add_others(r, ret, &t);
}

/* ---- answering, once everything is known ---- */

static void (*const answers[])(struct code_req *r, const struct catalogue *c);
enum { USE_SEARCH, USE_DEFINITION, USE_CATEGORIES, USE_SERVERS, USE_ALIAS };

static void on_tools(struct code_inner *inner, bool ok, struct slice text) {
    struct code_req *r = container_of(inner, struct code_req, inner_call);
    struct catalogue c;
    catalogue_make(r, ok ? text : (struct slice){0}, &c);
    answers[r->inner_use](r, &c);
}

static void ask(struct code_req *r, uint32_t use) {
    const struct code_conn_ops *ops = r->conn->ops;
    r->inner_use = use;
    r->inner_call.done = on_tools;
    if (ops->list_tools)
        ops->list_tools(r->conn->owner, &r->inner_call);
    else
        on_tools(&r->inner_call, false, (struct slice){0});
}

void discover_search(struct code_req *r) { ask(r, USE_SEARCH); }
void discover_definition(struct code_req *r) { ask(r, USE_DEFINITION); }
void discover_categories(struct code_req *r) { ask(r, USE_CATEGORIES); }
void discover_servers(struct code_req *r) { ask(r, USE_SERVERS); }
void discover_alias(struct code_req *r) { ask(r, USE_ALIAS); }

/* ---- search ---- */

static bool has(struct slice text, struct slice part) {
    if (!part.len)
        return true;
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (slice_eq_nocase(slice_of(text.ptr + i, part.len), part))
            return true;
    return false;
}

/* Where it was found says how much it is worth; every word has to be somewhere. */
static int score_of(const struct entry *e, struct slice query) {
    int score = slice_eq_nocase(e->name, query) ? 100 : has(e->name, query) ? 40 : 0;
    struct slice rest = slice_trim(query), word;
    for (bool more = true; more;) {
        more = slice_cut(&rest, ' ', &word);
        if (!word.len)
            continue;
        int worth = (has(e->name, word) ? 12 : 0) + (has(e->server, word) ? 8 : 0) +
                    (has(e->category, word) ? 6 : 0) + (has(e->description, word) ? 5 : 0);
        if (!worth)
            return 0;
        score += worth;
    }
    return score + 1;
}

static int by_score(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void put_name(struct emit *e, const struct entry *entry) {
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, entry->name);
    emit_key(e, "mcp_server");
    emit_str(e, entry->server);
    emit_object_end(e);
}

static void put_entry(struct emit *e, const struct entry *entry, bool full) {
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, entry->name);
    emit_key(e, "category");
    emit_str(e, entry->category);
    emit_key(e, "description");
    emit_str(e, full ? entry->description : first_sentence(entry->description));
    emit_key(e, "mcp_server");
    emit_str(e, entry->server);
    if (full) {
        emit_key(e, "functions");
        emit_array(e);
        emit_str(e, entry->name);
        emit_array_end(e);
        emit_key(e, "use_cases");
        emit_array(e);
        emit_str(e, entry->use);
        emit_array_end(e);
        emit_key(e, "inputSchema");
        emit_raw(e, entry->input.len ? entry->input : SLICE("{}"));
    }
    if (full && entry->output.len) {
        emit_key(e, "outputSchema");
        emit_raw(e, entry->output);
    }
    emit_object_end(e);
}

static void answer_search(struct code_req *r, const struct catalogue *c) {
    struct slice query = code_arg_text(r, "query", (struct slice){0});
    struct slice category = code_arg_text(r, "category", (struct slice){0});
    struct slice level = code_arg_text(r, "detail_level", SLICE("summary"));
    size_t found = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = &c->entries[i];
        e->score =
            category.len && !slice_eq_nocase(e->category, category) && !slice_eq_nocase(e->server, category)
                ? 0
                : score_of(e, slice_upto(query, CODE_QUERY_MAX));
        found += e->score > 0;
    }
    qsort(c->entries, c->count, sizeof(*c->entries), by_score);
    size_t shown = found < CODE_FOUND_MAX ? found : CODE_FOUND_MAX;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "query");
    emit_str(&e, query);
    emit_key(&e, "category");
    if (category.len)
        emit_str(&e, category);
    else
        emit_null(&e);
    emit_key(&e, "detail_level");
    emit_str(&e, level);
    emit_key(&e, "count");
    emit_int(&e, (int64_t)shown);
    if (found > shown) {
        emit_key(&e, "left_out");
        emit_int(&e, (int64_t)(found - shown));
    }
    emit_key(&e, "tools");
    emit_array(&e);
    for (size_t i = 0; i < shown; i++) {
        if (slice_is(level, "name"))
            put_name(&e, &c->entries[i]);
        else
            put_entry(&e, &c->entries[i], !slice_is(level, "summary"));
    }
    emit_array_end(&e);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&out), false);
}

/* ---- one definition ---- */

/* By its name, or as server.tool, server__tool or server/tool. */
static bool names(const struct entry *e, struct slice name) {
    if (slice_eq(e->name, name))
        return true;
    if (!slice_starts(name, e->server) || name.len < e->server.len + e->name.len + 1)
        return false;
    struct slice rest = slice_from(name, e->server.len);
    size_t skip = slice_starts(rest, SLICE("__")) ? 2 : rest.ptr[0] == '.' || rest.ptr[0] == '/' ? 1 : 0;
    return skip && slice_eq(slice_from(rest, skip), e->name);
}

static void answer_definition(struct code_req *r, const struct catalogue *c) {
    struct slice name = code_arg_text(r, "tool_name", (struct slice){0});
    for (size_t i = 0; i < c->count; i++) {
        if (!names(&c->entries[i], name))
            continue;
        cleanup_buf struct buf out;
        buf_init(&out, CODE_ANSWER_MAX);
        struct emit e;
        emit_init(&e, &out);
        put_entry(&e, &c->entries[i], true);
        code_reply_json(r, buf_slice(&out), false);
        return;
    }
    code_reply_json(r, SLICE("null"), false);
}

/* ---- categories ---- */

static struct slice category_about(const struct code_server *s, const struct entry *e, struct arena *a) {
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
        if (slice_is(e->server, s->config.name) && slice_eq(own[i].name, e->category))
            return own[i].about;
    return arena_printf(a, "Tools of the server %.*s", SLICE_FMT(e->server));
}

static bool first_of(const struct catalogue *c, size_t i, bool by_server) {
    for (size_t k = 0; k < i; k++)
        if (by_server ? slice_eq(c->entries[k].server, c->entries[i].server)
                      : slice_eq(c->entries[k].category, c->entries[i].category))
            return false;
    return true;
}

static void answer_categories(struct code_req *r, const struct catalogue *c) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "categories");
    emit_object(&e);
    for (size_t i = 0; i < c->count; i++) {
        if (!first_of(c, i, false))
            continue;
        int64_t count = 0;
        for (size_t k = i; k < c->count; k++)
            count += slice_eq(c->entries[k].category, c->entries[i].category);
        emit_key_slice(&e, c->entries[i].category);
        emit_object(&e);
        emit_key(&e, "description");
        emit_str(&e, category_about(r->conn->server, &c->entries[i], &r->arena));
        emit_key(&e, "tool_count");
        emit_int(&e, count);
        emit_object_end(&e);
    }
    emit_object_end(&e);
    emit_key(&e, "total_tools");
    emit_int(&e, (int64_t)c->count);
    emit_key(&e, "core_mcps");
    emit_array(&e);
    for (size_t i = 0; i < c->count; i++)
        if (first_of(c, i, true))
            emit_str(&e, c->entries[i].server);
    emit_array_end(&e);
    emit_object_end(&e);
    code_reply_json(r, buf_slice(&out), false);
}

/* ---- every server with its tools ---- */

static void put_server(struct emit *e, const struct catalogue *c, size_t first) {
    int64_t count = 0;
    for (size_t k = first; k < c->count; k++)
        count += slice_eq(c->entries[k].server, c->entries[first].server);
    emit_object(e);
    emit_key(e, "server");
    emit_str(e, c->entries[first].server);
    emit_key(e, "status");
    emit_cstr(e, "success");
    emit_key(e, "toolCount");
    emit_int(e, count);
    emit_key(e, "tools");
    emit_array(e);
    for (size_t k = first; k < c->count; k++) {
        if (!slice_eq(c->entries[k].server, c->entries[first].server))
            continue;
        emit_object(e);
        emit_key(e, "name");
        emit_str(e, c->entries[k].name);
        emit_key(e, "description");
        emit_str(e, c->entries[k].description);
        emit_key(e, "inputSchema");
        emit_raw(e, c->entries[k].input.len ? c->entries[k].input : SLICE("{}"));
        emit_object_end(e);
    }
    emit_array_end(e);
    emit_object_end(e);
}

static void answer_servers(struct code_req *r, const struct catalogue *c) {
    int64_t servers = 0;
    for (size_t i = 0; i < c->count; i++)
        servers += first_of(c, i, true);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    buf_printf(&out,
               "Output:\n{\"summary\":{\"totalServers\":%lld,\"successfulServers\":%lld,\"totalTools\":%zu},"
               "\"servers\":",
               (long long)servers, (long long)servers, c->count);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < c->count; i++)
        if (first_of(c, i, true))
            put_server(&e, c, i);
    emit_array_end(&e);
    buf_put_str(&out, "}\n");
    code_reply_text(r, buf_slice(&out), false);
}

static void call_found(struct code_req *r, struct slice server, struct slice tool, uint32_t args);

/* mcp_Server_tool, or any name that get_tool_definition takes. */
static void answer_alias(struct code_req *r, const struct catalogue *c) {
    struct slice name = code_arg_text(r, "alias", (struct slice){0});
    struct slice bare = slice_starts(name, SLICE("mcp_")) ? slice_from(name, 4) : name;
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *e = &c->entries[i];
        bool joined = bare.len == e->server.len + 1 + e->name.len && slice_starts(bare, e->server) &&
                      slice_ends(bare, e->name);
        if (names(e, name) || joined) {
            call_found(r, e->server, e->name, code_arg_node(r, "params"));
            return;
        }
    }
    code_reply_text(r, arena_printf(&r->arena, "Unknown tool: %.*s", SLICE_FMT(slice_upto(name, 128))), true);
}

static void (*const answers[])(struct code_req *r, const struct catalogue *c) = {
    [USE_SEARCH] = answer_search,         [USE_DEFINITION] = answer_definition,
    [USE_CATEGORIES] = answer_categories, [USE_SERVERS] = answer_servers,
    [USE_ALIAS] = answer_alias,
};

void discover_write_registry(struct code_req *r, struct emit *e) {
    struct catalogue c;
    catalogue_make(r, (struct slice){0}, &c);
    emit_object(e);
    emit_key(e, "categories");
    emit_array(e);
    for (size_t i = 0; i < c.count; i++)
        if (first_of(&c, i, false))
            emit_str(e, c.entries[i].category);
    emit_array_end(e);
    emit_key(e, "total_tools");
    emit_int(e, (int64_t)c.count);
    emit_object_end(e);
}

/* ---- calling what was found ---- */

static void on_called(struct code_inner *inner, bool ok, struct slice text) {
    struct code_req *r = container_of(inner, struct code_req, inner_call);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!ok || tape_parse(&t, text, NULL) != TAPE_OK || !tape_is(&t, 0, TAPE_OBJECT)) {
        code_reply_text(r, ok ? SLICE("the tool's answer cannot be read") : text, true);
        return;
    }
    /* What belongs to the other hop stays behind. */
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

void discover_call(struct code_req *r) {
    call_found(r, code_arg_text(r, "server", slice_str(r->conn->server->config.name)),
               code_arg_text(r, "tool", (struct slice){0}), code_arg_node(r, "args"));
}

static void call_found(struct code_req *r, struct slice server, struct slice tool, uint32_t args) {
    r->inner_call.done = on_called;
    r->conn->ops->call_tool(r->conn->owner, server, tool, args ? tape_raw(&r->tape, args) : SLICE("{}"),
                            &r->inner_call);
}
