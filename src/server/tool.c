#include "server/tool.h"

#include "policy/schema.h"
#include "risk/lockfile.h"

void tool_table_init(struct tool_table *t) {
    *t = (struct tool_table){0};
    arena_init(&t->arena);
    map_init(&t->by_name);
    buf_init(&t->definitions, RISK_LOCK_BYTES_MAX);
    buf_init(&t->skills, RISK_LOCK_BYTES_MAX);
}

void tool_table_drop_definitions(struct tool_table *t) {
    buf_free(&t->definitions);
    buf_init(&t->definitions, RISK_LOCK_BYTES_MAX);
    buf_free(&t->skills);
    buf_init(&t->skills, RISK_LOCK_BYTES_MAX);
}

void tool_table_free(struct tool_table *t) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&t->by_name, &at)))
        policy_schema_free(((struct tool *)e->value)->schema);
    map_free(&t->by_name);
    arena_free(&t->arena);
    tool_table_drop_definitions(t);
    t->loaded = t->has_apps = t->partial = t->printed = false;
}
