#include "code/sdk.h"

#include "base/mem.h"
#include "code/contents.h"
#include "code/listing.h"
#include "discovery/typed.h"

#define PATH SDK_ROOT "/"

/* The tools of one server with the names of their files. */
struct branch {
    const struct index_tool **tools;
    struct slice *names;
    size_t count;
};

static bool same_server(struct slice server, struct slice name, struct arena *a) {
    return slice_eq(server, name) || slice_eq(typed_identifier(server, TYPED_TYPESCRIPT, a), name);
}

static struct branch branch_of(struct registry *c, struct slice server, struct arena *a) {
    size_t all = index_count(c->index), at = 0;
    struct branch b = {arena_array(a, const struct index_tool *, all + 1),
                       arena_array(a, struct slice, all + 1), 0};
    const struct index_tool *tool;
    struct slice *raw = arena_array(a, struct slice, all + 1);
    while ((tool = index_next(c->index, NULL, &at))) {
        if (!same_server(tool->server, server, a))
            continue;
        raw[b.count] = tool->name;
        b.tools[b.count++] = tool;
    }
    typed_names(raw, b.count, TYPED_PYTHON, a, b.names);
    return b;
}

const struct index_tool *sdk_find(struct registry *c, struct slice server, struct slice name) {
    const struct index_tool *tool = index_find(c->index, server, name, NULL);
    if (tool)
        return tool;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct branch b = branch_of(c, server, &a);
    for (size_t i = 0; i < b.count && !tool; i++)
        if (slice_eq(b.tools[i]->name, name))
            tool = b.tools[i];
    for (size_t i = 0; i < b.count && !tool; i++)
        if (slice_eq(b.names[i], name))
            tool = b.tools[i];
    return tool;
}

/* ---- shapes of results ---- */

static struct slice shape_key(struct slice server, struct slice tool, struct arena *a) {
    return arena_printf(a, "%.*s\n%.*s", SLICE_FMT(server), SLICE_FMT(tool));
}

struct slice sdk_shape(struct code_owner *o, struct slice server, struct slice tool) {
    cleanup_arena struct arena a;
    arena_init(&a);
    const char *shape = map_get(&o->shapes, shape_key(server, tool, &a));
    return shape ? slice_str(shape) : (struct slice){0};
}

void sdk_learn(struct code_owner *o, struct slice server, struct slice tool, struct slice value) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice key = shape_key(server, tool, &a);
    if (o->shapes.count >= CODE_SHAPES_MAX || map_get(&o->shapes, key))
        return;
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_SHAPE_MAX);
    if (tape_parse(&t, value, NULL) != TAPE_OK || !typed_learn(&t, 0, &out))
        buf_reset(&out); /* too large to be sent: not tried again */
    map_put(&o->shapes, arena_dup(&o->shape_arena, key),
            (void *)(uintptr_t)arena_dup(&o->shape_arena, buf_slice(&out)).ptr);
}

/* ---- reading ---- */

static void put_link(struct emit *e, const char *key, struct slice uri) {
    emit_key(e, key);
    emit_str(e, uri);
}

static void read_root(struct code_req *r, struct registry *c, struct slice uri) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "servers");
    emit_array(&e);
    struct map seen;
    map_init(&seen);
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at))) {
        if (map_put(&seen, tool->server, r))
            continue;
        emit_object(&e);
        emit_key(&e, "server");
        emit_str(&e, tool->server);
        put_link(&e, "uri", arena_printf(&r->arena, PATH "%.*s", SLICE_FMT(tool->server)));
        emit_object_end(&e);
    }
    map_free(&seen);
    emit_array_end(&e);
    emit_key(&e, "unavailable");
    emit_raw(&e, c->missing);
    emit_object_end(&e);
    contents_reply(r, uri, "application/json", buf_slice(&out), true);
}

static void read_branch(struct code_req *r, const struct branch *b, struct slice uri) {
    struct slice server = b->tools[0]->server;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "server");
    emit_str(&e, server);
    emit_key(&e, "tools");
    emit_array(&e);
    for (size_t i = 0; i < b->count; i++) {
        emit_object(&e);
        emit_key(&e, "name");
        emit_str(&e, b->tools[i]->name);
        put_link(&e, "typescript",
                 arena_printf(&r->arena, PATH "%.*s/%.*s.ts", SLICE_FMT(server), SLICE_FMT(b->names[i])));
        put_link(&e, "python",
                 arena_printf(&r->arena, PATH "%.*s/%.*s.pyi", SLICE_FMT(server), SLICE_FMT(b->names[i])));
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    contents_reply(r, uri, "application/json", buf_slice(&out), true);
}

static bool read_file(struct code_req *r, const struct branch *b, size_t i, enum typed_dialect dialect,
                      struct slice uri) {
    cleanup_tape struct tape t;
    tape_init(&t);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct slice shape = sdk_shape(r->owner, b->tools[i]->server, b->tools[i]->name);
    if (tape_parse(&t, b->tools[i]->definition, NULL) != TAPE_OK ||
        !typed_file(&t, 0, b->names[i], shape, dialect, &out))
        return false;
    contents_reply(r, uri, dialect == TYPED_PYTHON ? "text/x-python" : "text/typescript", buf_slice(&out),
                   true);
    return true;
}

static bool read_tool(struct code_req *r, const struct branch *b, struct slice file, struct slice uri) {
    static const struct {
        struct slice ending;
        enum typed_dialect dialect;
    } kinds[] = {{SLICE(".ts"), TYPED_TYPESCRIPT}, {SLICE(".pyi"), TYPED_PYTHON}};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        if (!slice_ends(file, kinds[k].ending))
            continue;
        struct slice name = slice_upto(file, file.len - kinds[k].ending.len);
        for (size_t i = 0; i < b->count; i++)
            if (slice_eq(b->names[i], name) || slice_eq(b->tools[i]->name, name))
                return read_file(r, b, i, kinds[k].dialect, uri);
    }
    return false;
}

static void on_tools(struct listing_wait *w, struct registry *c) {
    struct code_req *r = container_of(w, struct code_req, tools);
    struct slice uri = contents_uri(r), rest = slice_from(uri, sizeof(SDK_ROOT) - 1), server = {0};
    if (slice_starts(rest, SLICE("/")))
        rest = slice_from(rest, 1);
    rest = contents_decode(rest, &r->arena);
    if (!rest.len) {
        read_root(r, c, uri);
        return;
    }
    bool file = slice_cut(&rest, '/', &server) && rest.len;
    struct branch b = branch_of(c, server, &r->arena);
    if (b.count && !file)
        read_branch(r, &b, uri);
    else if (!b.count || !read_tool(r, &b, rest, uri))
        contents_not_found(r);
}

bool sdk_read(struct code_req *r, struct slice uri) {
    if (!slice_is(uri, SDK_ROOT) && !slice_starts(uri, SLICE(PATH)))
        return false;
    listing_ask(&r->tools, r->conn, r->owner, on_tools);
    return true;
}

void sdk_put_root(struct emit *e) {
    emit_raw(e, SLICE("{\"uri\":\"" SDK_ROOT
                      "\",\"name\":\"servers\",\"description\":\"The tools of every server, as "
                      "TypeScript and Python files\",\"mimeType\":\"application/json\"}"));
}

void sdk_put_templates(struct emit *e) {
    emit_raw(e, SLICE("{\"uriTemplate\":\"" PATH "{server}\",\"name\":\"tools of a server\",\"mimeType\":"
                      "\"application/json\"}"));
    emit_raw(e, SLICE("{\"uriTemplate\":\"" PATH
                      "{server}/{tool}.ts\",\"name\":\"tool as TypeScript\",\"mimeType\":"
                      "\"text/typescript\"}"));
    emit_raw(e, SLICE("{\"uriTemplate\":\"" PATH
                      "{server}/{tool}.pyi\",\"name\":\"tool as Python\",\"mimeType\":"
                      "\"text/x-python\"}"));
}
