/* The tools that one principal may call, on any server, with an index over them. Search, definitions,
 * categories, typed files and the code-mode endpoints read it. Tools that the principal may not call are
 * not in its source list. */
#pragma once

#include "base/arena.h"
#include "discovery/index.h"

struct registry {
    struct index *index;
    struct slice missing; /* JSON array: servers that did not answer */
    struct arena arena;
};

/* The category of a tool, or NULL: then it is the name of its server. */
typedef const char *registry_category(void *ctx, struct slice server, struct slice name);

struct registry *registry_new(void);
void registry_free(struct registry *c); /* NULL is fine */
/* Adds one definition, an object in the tape. */
void registry_put(struct registry *c, struct slice server, const struct tape *t, uint32_t definition,
                  const char *category);
/* Adds everything of {"tools":[SERVER,DEFINITION,SERVER,DEFINITION,...],"missing":[SERVER,...]}. */
void registry_fill(struct registry *c, const struct tape *t, registry_category *category, void *ctx);

/* Finds a tool by its own name, or as SERVER.TOOL, SERVER__TOOL or SERVER/TOOL. With a server, a tool of
 * that one. NULL when there is none. */
const struct index_tool *registry_find(struct registry *c, struct slice server, struct slice name);
/* mcp_SERVER_TOOL, with any underscores in the names; case does not matter in SERVER. */
const struct index_tool *registry_find_alias(struct registry *c, struct slice alias);
