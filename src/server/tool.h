/* What the gate knows of a server's tools: their risk class and tags, the schema of their arguments, which
 * arguments travel as headers too, and the fingerprint of the definition. channel/tools.c learns it from
 * lists. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sha.h"
#include "policy/policy.h"
#include "wire/mirror.h"

struct policy_schema;

struct tool {
    struct mirror_param *params; /* arguments that are mirrored as headers */
    size_t param_count;
    bool bad_marks;                    /* they break the rules: it must not be used over HTTP */
    bool task_optional, task_required; /* its calls may or must be tasks, in the legacy era's words */
    struct policy_traits traits;
    uint32_t tags;                /* 1 << risk tag: those that policies know and the others */
    uint8_t confidence;           /* in the class, of 100 */
    struct policy_schema *schema; /* NULL: none that could be compiled */
    bool schema_unreadable;       /* there is one all the same */
    bool formats;                 /* its results have formats by their schema: tokens keep them */
    char fingerprint[72];
    struct slice raw; /* the definition as it was listed; empty when it is over TOOLS_RAW_MAX */
    /* what guard.c says of the definition */
    const char *held;   /* why it is not what was accepted; NULL when it is, or nothing is pinned */
    const char *poison; /* what of it only an attack needs; NULL when nothing */
    uint32_t findings;  /* 1 << enum risk_detector, those that only flag included */
    bool first_use;     /* held only until the whole list is in the lock */
    uint64_t serial;    /* of the list that it came with */
    uint32_t elem;      /* where it stood in that list's message */
};

/* The tools of one server. */
struct tool_table {
    struct arena arena;
    struct map by_name;
    bool loaded;
    bool partial; /* the last of it could not be had */
    bool printed; /* all of it came on one page, and this is its fingerprint: */
    char print[SHA_HEX];
    bool has_apps; /* some come with a page (MCP Apps) that calls the others by their own names */
    uint64_t loaded_ms;
    uint64_t serial;        /* of the list that was learned last */
    struct buf definitions; /* of a first use, as they come; the same for skills */
    struct buf skills;
};

void tool_table_init(struct tool_table *t);
void tool_table_free(struct tool_table *t);
/* The first use is over. */
void tool_table_drop_definitions(struct tool_table *t);
/* NULL when it is not known. */
static inline const struct tool *tool_find(const struct tool_table *t, struct slice name) {
    return map_get(&t->by_name, name);
}
