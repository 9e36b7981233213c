#include "many/shortlist.h"

#include "call/principal.h"
#include "many/builtin.h"
#include "many/many.h"
#include "record/metrics.h"
#include "server/visible.h"

#include <stdlib.h>

struct shortlist_kept {
    const struct metrics_cell **cells; /* the most used first */
    size_t count;
};

static struct server *builtin_of(const struct session *s) {
    struct server *server;
    size_t at = 0;
    while ((server = visible_next(s, &at)))
        if (server->up.builtin)
            return server;
    return NULL;
}

/* Lists everything unless the settings say otherwise and the session sees the built-in code server. */
static enum many_discovery mode_of(const struct session *s) {
    return session_has_many(s) && builtin_of(s) ? s->core->many->discovery : MANY_DISCOVERY_ALL;
}

bool shortlist_asks(const struct session *s, const struct server *server) {
    return mode_of(s) != MANY_DISCOVERY_LAZY || server->up.builtin;
}

static uint64_t uses(const struct metrics_cell *cell) { return cell->verdicts[POLICY_ALLOW]; }

static int by_use(const void *a, const void *b) {
    uint64_t x = uses(*(const struct metrics_cell *const *)a),
             y = uses(*(const struct metrics_cell *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Only tools that the principal may call are counted. */
static bool counts(const struct session *s, const struct metrics_cell *cell) {
    const struct server *server = cell->tool.len && uses(cell) ? server_find(s->core, cell->server) : NULL;
    return server && !server->up.builtin && principal_may_call(s->principal, cell->server, cell->tool);
}

struct shortlist_kept *shortlist_keep(const struct session *s, struct arena *a) {
    const struct metrics *m = s->core->metrics;
    if (mode_of(s) != MANY_DISCOVERY_HYBRID)
        return NULL;
    struct shortlist_kept *kept = arena_new(a, struct shortlist_kept);
    kept->cells = arena_array(a, const struct metrics_cell *, m->count + 1);
    for (const struct metrics_cell *cell = m->first; cell; cell = cell->next)
        if (counts(s, cell))
            kept->cells[kept->count++] = cell;
    qsort(kept->cells, kept->count, sizeof(kept->cells[0]), by_use);
    if (kept->count > s->core->many->discovery_keep)
        kept->count = s->core->many->discovery_keep;
    return kept;
}

bool shortlist_shows(const struct session *s, const struct shortlist_kept *kept, const struct server *server,
                     struct slice tool) {
    if (mode_of(s) == MANY_DISCOVERY_ALL)
        return true;
    if (server->up.builtin)
        return builtin_shows(server, tool);
    for (size_t i = 0; kept && i < kept->count; i++)
        if (slice_is(kept->cells[i]->server, server->up.name) && slice_eq(kept->cells[i]->tool, tool))
            return true;
    return false;
}

void shortlist_instructions(const struct session *s, struct buf *out) {
    enum many_discovery mode = mode_of(s);
    if (mode == MANY_DISCOVERY_ALL)
        return;
    bool renames = visible_renames(s);
    struct slice prefix = renames ? server_prefix(builtin_of(s)) : (struct slice){0};
    const char *join = renames ? "__" : "";
    buf_printf(out, "\n%s The other tools of these servers are not listed but can be used:",
               mode == MANY_DISCOVERY_LAZY
                   ? "Listed are the tools that find and call others."
                   : "Listed are the tools that are used most, and those that find and call others.");
    struct server *server;
    size_t at = 0, n = 0;
    while ((server = visible_next(s, &at)))
        if (!server->up.builtin)
            buf_printf(out, "%s %s", n++ ? "," : "", server->up.name);
    buf_printf(
        out,
        ".\nWhen to use which: a tool that is listed and fits, call it. Else find one with "
        "%.*s%ssearch_tools (words "
        "for what you want to do) and call it with %.*s%scall_tool {server, tool, args}; "
        "%.*s%sget_tool_definition shows its arguments. For several calls in a row, large results, loops or "
        "computation write one program for %.*s%sexecute_code: results stay there but for what it returns. "
        "For "
        "one or two short calls a program is not worth it.\n",
        SLICE_FMT(prefix), join, SLICE_FMT(prefix), join, SLICE_FMT(prefix), join, SLICE_FMT(prefix), join);
}
