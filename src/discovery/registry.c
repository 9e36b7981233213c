#include "discovery/registry.h"

#include "base/mem.h"

#include <ctype.h>

/* ---- life ---- */

struct registry *registry_new(void) {
    struct registry *c = mem_zalloc(sizeof(*c));
    c->index = index_new();
    c->missing = SLICE("[]");
    arena_init(&c->arena);
    return c;
}

void registry_free(struct registry *c) {
    if (!c)
        return;
    index_free(c->index);
    arena_free(&c->arena);
    free(c);
}

/* ---- filling ---- */

void registry_put(struct registry *c, struct slice server, const struct tape *t, uint32_t definition,
                  const char *category) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct err err;
    if (index_put(c->index, server, t, definition, category ? category : arena_dup(&a, server).ptr, &err) < 0)
        return; /* more than INDEX_TOOLS_MAX, or no name: not found by searches */
}

void registry_fill(struct registry *c, const struct tape *t, registry_category *category, void *ctx) {
    cleanup_arena struct arena a;
    arena_init(&a);
    uint32_t tools = tape_get_str(t, 0, "tools"), missing = tape_get_str(t, 0, "missing");
    struct slice server = {0};
    bool named = false;
    if (tools && tape_is(t, tools, TAPE_ARRAY))
        TAPE_FOR_ELEM(t, tools, i) {
            uint32_t name = tape_is(t, i, TAPE_OBJECT) ? tape_get_str(t, i, "name") : 0;
            if (!named && tape_is(t, i, TAPE_STRING))
                server = tape_text(t, i, &a);
            else if (named && name && tape_is(t, name, TAPE_STRING))
                registry_put(c, server, t, i, category(ctx, server, tape_text(t, name, &a)));
            named = !named;
        }
    if (missing && tape_is(t, missing, TAPE_ARRAY))
        c->missing = arena_dup(&c->arena, tape_raw(t, missing));
}

/* ---- finding ---- */

/* The part after the server's name and a separator; empty when the name does not start so. */
static struct slice behind(struct slice name, struct slice server) {
    if (!slice_starts(name, server) || name.len <= server.len)
        return (struct slice){0};
    struct slice rest = slice_from(name, server.len);
    size_t skip = slice_starts(rest, SLICE("__")) ? 2 : rest.ptr[0] == '.' || rest.ptr[0] == '/' ? 1 : 0;
    return skip ? slice_from(rest, skip) : (struct slice){0};
}

const struct index_tool *registry_find(struct registry *c, struct slice server, struct slice name) {
    const struct index_tool *tool = index_find(c->index, server, name, NULL);
    if (tool || server.len)
        return tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at)))
        if (slice_eq(tool->name, name) || slice_eq(behind(name, tool->server), tool->name))
            return tool;
    return NULL;
}

/* As the name of a function: invalid characters are underscores there. */
static bool same_name(struct slice alias, struct slice name) {
    bool same = alias.len == name.len;
    for (size_t i = 0; same && i < name.len; i++) {
        const unsigned char a = (unsigned char)alias.ptr[i], n = (unsigned char)name.ptr[i];
        same = tolower(a) == tolower(n) || (a == '_' && n < 0x80 && !isalnum(n));
    }
    return same;
}

const struct index_tool *registry_find_alias(struct registry *c, struct slice alias) {
    struct slice name = slice_starts(alias, SLICE("mcp_")) ? slice_from(alias, 4) : alias;
    const struct index_tool *tool;
    size_t at = 0;
    while ((tool = index_next(c->index, NULL, &at)))
        if (name.len == tool->server.len + 1 + tool->name.len && name.ptr[tool->server.len] == '_' &&
            same_name(slice_upto(name, tool->server.len), tool->server) &&
            same_name(slice_from(name, tool->server.len + 1), tool->name))
            return tool;
    return NULL;
}
