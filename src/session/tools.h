/* What the gate knows of a server's tools: their risk class and tags, the
 * schema of their arguments, which arguments travel as headers too, and the fingerprint of the definition.
 * Learned from the server's own lists as they pass, or by asking for them when a call needs to know first. */
#pragma once

#include "policy/policy.h"
#include "session/server.h"
#include "wire/mirror.h"

struct call;
struct policy_schema;

struct tool {
    struct mirror_param *params; /* arguments that are mirrored as headers */
    size_t param_count;
    struct policy_traits traits;
    struct policy_schema *schema; /* NULL: none that could be compiled */
    char fingerprint[72];
};

void tools_init(struct session_tools *t);
void tools_free(struct session_tools *t);
/* Ready to answer tools_find()? Otherwise the call waits in the link's list and is resumed. */
bool tools_ready(struct session_link *sl, struct call *call);
const struct tool *tools_find(struct session_link *sl, struct slice name); /* NULL when not known */
/* A list passes by. The first page starts anew. */
void tools_learn(struct session_link *sl, const struct msg *m, bool first_page);
void tools_forget(struct session_server *server); /* the list has changed */
/* The header lines for these arguments, or an empty slice. */
struct slice tools_header_lines(struct session_link *sl, struct call *call);
/* Do the header lines that came with the call say what its arguments say? */
bool tools_headers_agree(struct session_link *sl, struct call *call);
