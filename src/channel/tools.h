/* What the gate knows of a server's tools: their risk class and tags, the
 * schema of their arguments, which arguments travel as headers too, and the fingerprint of the definition.
 * Learned from the server's own lists as they pass, or by asking for them when a call needs to know first. */
#pragma once

#include "policy/policy.h"
#include "server/server.h"
#include "wire/mirror.h"

struct call;
struct policy_schema;

struct tool {
    struct mirror_param *params; /* arguments that are mirrored as headers */
    size_t param_count;
    bool bad_marks;                    /* they break the rules: it must not be used over HTTP */
    bool task_optional, task_required; /* its calls may or must be tasks, in the older era's words */
    struct policy_traits traits;
    uint32_t tags;                /* 1 << risk tag: those that policies know and the others */
    uint8_t confidence;           /* in the class, of 100 */
    struct policy_schema *schema; /* NULL: none that could be compiled */
    bool schema_unreadable;       /* there is one all the same */
    bool formats;                 /* its results have formats by their schema: tokens keep them */
    char fingerprint[72];
    /* what guard.c says of the definition */
    const char *held;   /* why it is not what was accepted; NULL when it is, or nothing is pinned */
    const char *poison; /* what of it only an attack needs; NULL when nothing */
    uint32_t findings;  /* 1 << enum risk_detector, those that only flag included */
    bool first_use;     /* held only until the whole list is in the lock */
    uint64_t serial;    /* of the list that it came with */
    uint32_t elem;      /* where it stood in that list's message */
};

void tools_init(struct tool_table *t);
void tools_free(struct tool_table *t);
/* Ready to answer tools_find()? Otherwise the call waits in the link's list and is resumed. */
bool tools_ready(struct channel *ch, struct call *call);
/* The same before a tool is called: what is pinned must be what was accepted at this moment. */
bool tools_checked(struct channel *ch, struct call *call);
const struct tool *tools_find(struct channel *ch, struct slice name); /* NULL when not known */
/* A list passes by. The first page starts anew. Its serial number; 0 when it was not learned. */
uint64_t tools_learn(struct channel *ch, const struct msg *m, bool first_page);
void tools_forget(struct server *server); /* the list has changed */
/* The link is going: so is what it was asking for. */
void tools_abandon(struct channel *ch);
/* The header lines for these arguments, or an empty slice. */
struct slice tools_header_lines(struct channel *ch, struct call *call);
/* Do the header lines that came with the call say what its arguments say? */
bool tools_headers_agree(struct channel *ch, struct call *call);
