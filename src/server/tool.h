/* What the gate knows of a server's tools: their risk class and tags, the schema of their arguments, which
 * arguments are also sent as headers, and the fingerprint of the definition. channel/tools.c learns it
 * from lists. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sha.h"
#include "policy/policy.h"
#include "wire/mirror.h"

struct policy_schema;

struct tool {
    struct mirror_param *params; /* arguments that are also sent as headers */
    size_t param_count;
    bool bad_marks;                    /* they are invalid: the tool must not be used over HTTP */
    bool task_optional, task_required; /* its calls may or must be tasks, by the legacy definition */
    struct policy_traits traits;
    uint32_t tags;                /* 1 << risk tag, including tags that policies do not know */
    uint8_t confidence;           /* confidence in the class, percent */
    struct policy_schema *schema; /* NULL: absent, or could not be compiled */
    bool schema_unreadable;       /* it exists but could not be compiled */
    bool formats;                 /* its output schema has formats that tokens keep */
    char fingerprint[72];
    struct slice raw; /* the definition as listed; empty when larger than TOOLS_RAW_MAX */
    /* the findings of guard.c */
    const char *held;   /* why it differs from its pin; NULL when it does not, or nothing is pinned */
    const char *poison; /* attack patterns that were found; NULL: none */
    uint32_t findings;  /* 1 << enum risk_detector, including those that only flag */
    bool first_use;     /* held only until the complete list is in the lock */
    uint64_t serial;    /* serial of its list */
    uint32_t elem;      /* node in that list's message */
};

/* The tools of one server. */
struct tool_table {
    struct arena arena;
    struct map by_name;
    bool loaded;
    bool partial; /* the last request for it failed */
    bool printed; /* it came on one page, with this fingerprint: */
    char print[SHA_HEX];
    bool has_apps; /* some tools have a page (MCP Apps) that calls the others by their own names */
    uint64_t loaded_ms;
    uint64_t serial;        /* serial of the last list that was read */
    struct buf definitions; /* definitions of a first use, collected; the same for skills */
    struct buf skills;
};

void tool_table_init(struct tool_table *t);
void tool_table_free(struct tool_table *t);
/* The first use is complete. */
void tool_table_drop_definitions(struct tool_table *t);
/* NULL when unknown. */
static inline const struct tool *tool_find(const struct tool_table *t, struct slice name) {
    return map_get(&t->by_name, name);
}
