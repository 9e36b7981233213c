#include "risk/names.h"

#include "risk/glyph.h"

void risk_names_init(struct risk_names *n) {
    map_init(&n->by_skeleton);
    arena_init(&n->arena);
}

void risk_names_free(struct risk_names *n) {
    map_free(&n->by_skeleton);
    arena_free(&n->arena);
}

const struct risk_named *risk_names_add(struct risk_names *n, struct slice server, struct slice tool) {
    struct slice key = risk_skeleton(tool, &n->arena);
    const struct risk_named *first = map_get(&n->by_skeleton, key);
    if (first)
        return first;
    struct risk_named *named = arena_new(&n->arena, struct risk_named);
    named->server = arena_dup(&n->arena, server);
    named->tool = arena_dup(&n->arena, tool);
    map_put(&n->by_skeleton, key, named);
    return NULL;
}
