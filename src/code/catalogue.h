/* The tools that one principal may call, on whatever server: asked of the conn's owner, indexed, and kept
 * until something changes. Search, definitions, categories, typed files and the code-mode endpoints all look
 * here. */
#pragma once

#include "base/list.h"
#include "code/code.h"
#include "code/index.h"

struct code_owner;

struct catalogue {
    struct code_owner *owner;
    struct list node; /* in server->catalogues, the one that was used last at the end */
    struct code_index *index;
    struct slice missing; /* JSON array: servers that did not answer */
    struct arena arena;
    uint64_t stamp;
    uint64_t made_ms; /* on the loop's clock */
};

/* Somebody who needs it; lives in that one. */
struct catalogue_wait {
    struct code_conn *conn;
    struct code_owner *owner;
    struct list node; /* in owner->catalogue_waits */
    struct code_inner inner;
    /* Once, perhaps before catalogue_ask() returns. `c` is valid during the call only. */
    void (*done)(struct catalogue_wait *w, struct catalogue *c);
};

void catalogue_ask(struct catalogue_wait *w, struct code_conn *conn, struct code_owner *owner,
                   void (*done)(struct catalogue_wait *w, struct catalogue *c));
/* No longer interested; fine when it has been answered, or never asked. */
void catalogue_leave(struct catalogue_wait *w);
/* What is known without asking, or NULL. It may be old. */
struct catalogue *catalogue_known(struct code_owner *owner);
void catalogue_free(struct catalogue *c); /* NULL is fine */

/* The tool that a name means: by its own name, or as SERVER.TOOL, SERVER__TOOL or SERVER/TOOL. With a server,
 * that one's. NULL when there is none. */
const struct code_indexed *catalogue_find(struct catalogue *c, struct slice server, struct slice name);
/* mcp_SERVER_TOOL, whatever underscores those have themselves; case does not matter in SERVER. */
const struct code_indexed *catalogue_find_alias(struct catalogue *c, struct slice alias);
