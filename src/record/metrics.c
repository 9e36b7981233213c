#include "record/metrics.h"

#include "base/mem.h"
#include "call/call.h"
#include "record/limits.h"
#include "server/server.h"

#define KEY_MAX (METRICS_NAME_MAX * 3 + 2)

const char *const metrics_outcome_names[METRICS_OUTCOMES] = {
    "ok",   "tool_error", "rpc_error",        "denied",   "refused", "timeout",
    "gone", "cancelled",  "result_too_large", "approval", "other"};

const uint32_t metrics_bucket_us[METRICS_BUCKETS] = {1000,    2500,    5000,     10000,   25000,
                                                     50000,   100000,  250000,   500000,  1000000,
                                                     2500000, 5000000, 10000000, 30000000};

/* Methods of the protocol; all others are counted together. */
static const char *const known_methods[] = {"tools/call",
                                            "tools/list",
                                            "initialize",
                                            "ping",
                                            "server/discover",
                                            "prompts/list",
                                            "prompts/get",
                                            "resources/list",
                                            "resources/templates/list",
                                            "resources/read",
                                            "resources/directory/read",
                                            "skills/list",
                                            "skills/get",
                                            "resources/subscribe",
                                            "resources/unsubscribe",
                                            "completion/complete",
                                            "logging/setLevel",
                                            "subscriptions/listen",
                                            "tasks/get",
                                            "tasks/list",
                                            "tasks/result",
                                            "tasks/update",
                                            "tasks/cancel",
                                            "notifications/initialized",
                                            "notifications/roots/list_changed",
                                            "notifications/progress"};

struct metrics *metrics_new(void) {
    struct metrics *m = mem_zalloc(sizeof(*m));
    arena_init(&m->arena);
    map_init(&m->cells);
    m->rest.server = m->rest.method = SLICE("(other)");
    return m;
}

void metrics_free(struct metrics *m) {
    map_free(&m->cells);
    arena_free(&m->arena);
    free(m);
}

static struct slice method_label(const struct call *c) {
    if (c->kind == CALL_TOOLS_CALL)
        return SLICE("tools/call");
    for (size_t i = 0; i < sizeof(known_methods) / sizeof(known_methods[0]); i++)
        if (slice_is(c->method, known_methods[i]))
            return c->method;
    return SLICE("(other)");
}

/* Names that the server does not have are not counted separately: clients could create cells at will. */
static struct slice tool_label(const struct call *c) {
    if (c->kind != CALL_TOOLS_CALL)
        return (struct slice){0};
    const struct tool_table *tools = c->server ? &c->server->tools : NULL;
    if (c->name.len > METRICS_NAME_MAX || (tools && tools->loaded && !map_get(&tools->by_name, c->name)))
        return SLICE("(unlisted)");
    return c->name;
}

static struct metrics_cell *find_cell(struct metrics *m, const struct call *c) {
    struct slice parts[] = {c->server ? slice_upto(slice_str(c->server->up.name), METRICS_NAME_MAX)
                                      : SLICE(""),
                            method_label(c), tool_label(c)};
    char key[KEY_MAX];
    size_t len = 0;
    for (size_t i = 0; i < 3; i++) {
        memcpy(key + len, parts[i].ptr ? parts[i].ptr : "", parts[i].len);
        len += parts[i].len;
        if (i < 2)
            key[len++] = '\n';
    }
    struct metrics_cell *cell = map_get(&m->cells, slice_of(key, len));
    if (cell)
        return cell;
    if (m->count >= METRICS_CELLS_MAX)
        return &m->rest;
    cell = arena_new(&m->arena, struct metrics_cell);
    cell->server = arena_dup(&m->arena, parts[0]);
    cell->method = arena_dup(&m->arena, parts[1]);
    cell->tool = arena_dup(&m->arena, parts[2]);
    map_put(&m->cells, arena_dup(&m->arena, slice_of(key, len)), cell);
    if (m->last)
        m->last->next = cell;
    else
        m->first = cell;
    m->last = cell;
    m->count++;
    return cell;
}

static size_t outcome_index(const char *outcome) {
    size_t i = 0;
    while (i < METRICS_OUTCOMES - 1 && strcmp(outcome, metrics_outcome_names[i]) != 0)
        i++;
    return i;
}

void metrics_count(struct metrics *m, const struct call *c, const char *outcome, uint64_t latency_us) {
    struct metrics_cell *cell = find_cell(m, c);
    cell->verdicts[c->verdict.outcome]++;
    bool shadows[METRICS_VERDICTS] = {false};
    for (size_t i = 0; i < c->verdict.shadow_count; i++)
        shadows[c->verdict.shadows[i].outcome] = true;
    for (size_t i = 0; i < METRICS_VERDICTS; i++)
        cell->shadows[i] += shadows[i];
    if (c->kind == CALL_TOOLS_CALL)
        m->classes[c->class][c->verdict.outcome]++;
    cell->outcomes[outcome_index(outcome)]++;
    cell->bytes_in += c->request->bytes.len;
    if (!c->response)
        return;
    cell->bytes_out += c->response->bytes.len;
    size_t bucket = 0;
    while (bucket < METRICS_BUCKETS && latency_us > metrics_bucket_us[bucket])
        bucket++;
    cell->latency[bucket]++;
    cell->latency_us += latency_us;
}
