/* The tools of all servers as a tree of resources:
 *
 *   sallyport://servers                       the servers, and how many tools each has
 *   sallyport://servers/SERVER                its tools, and where their files are
 *   sallyport://servers/SERVER/TOOL.ts        a TypeScript declaration
 *   sallyport://servers/SERVER/TOOL.pyi       a Python stub
 *
 * TOOL is a name that both languages take; the tool's own name is understood too. What the principal may not
 * use is not there. */
#pragma once

#include "code/model.h"

#define SDK_ROOT "sallyport://servers"

/* False: the URI is not one of these. */
bool sdk_read(struct code_req *r, struct slice uri);
void sdk_put_root(struct emit *e);
void sdk_put_templates(struct emit *e);

/* Derives a shape from a tool's result, for tools without an output schema. */
void sdk_learn(struct code_owner *o, struct slice server, struct slice tool, struct slice value);
struct slice sdk_shape(struct code_owner *o, struct slice server, struct slice tool); /* empty: unknown */

/* The tool of that name on that server: its own name, or that of its file. NULL if there is none. */
const struct index_tool *sdk_find(struct registry *c, struct slice server, struct slice name);
