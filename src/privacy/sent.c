#include "privacy/sent.h"

#include "base/rand.h"
#include "policy/path.h"
#include "privacy/privacy.h"

/* The server's own state is sent back unchanged; answers to its questions are not arguments. */
static bool is_protocol(const struct tape *t, uint32_t key) {
    static const char *const names[] = {"taskId", "requestState", "inputResponses", NULL};
    for (size_t i = 0; names[i]; i++)
        if (tape_eq(t, key, slice_str(names[i])))
            return true;
    return false;
}

static struct slice tool_of(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL ? c->name : (struct slice){0};
}

bool sent_wanted(const struct call *c, struct filter_rules *rules) {
    privacy_arguments(c->session, c->server, tool_of(c), rules);
    return (rules->plain_refused || rules->plain_noted) && c->request->rpc.params &&
           tape_is(&c->request->tape, c->request->rpc.params, TAPE_OBJECT);
}

bool sent_check(struct call *c, struct filter_scope *scope, const struct filter_rules *rules,
                struct filter_report *report) {
    const struct tape *t = &c->request->tape;
    struct privacy *pii = c->session->core->privacy;
    TAPE_FOR_MEMBER(t, c->request->rpc.params, key) {
        if (!is_protocol(t, key) && filter_restore_check(scope, rules, t, key + 1, report) == FILTER_FAILED)
            return false;
    }
    for (size_t i = 0; i < PII_KINDS_MAX; i++)
        pii->counts.sent[i] += report->counts[i] + report->refused[i];
    return true;
}

/* The innermost node that contains the value; for a key its object. */
static uint32_t node_at(const struct tape *t, uint32_t root, const struct filter_place *place) {
    uint32_t found = root;
    for (uint32_t i = root + 1; i < tape_node(t, root)->next && tape_node(t, i)->start <= place->start; i++)
        found = i;
    if (!place->in_key)
        return found;
    uint32_t object = root;
    for (uint32_t i = root; i < found; i++)
        if (tape_is(t, i, TAPE_OBJECT) && tape_node(t, i)->next > found)
            object = i;
    return object;
}

struct slice sent_place(struct call *c, const struct filter_place *place) {
    const struct tape *t = &c->request->tape;
    const uint32_t params = c->request->rpc.params;
    const struct tape_node *args = c->args ? tape_node(t, c->args) : NULL;
    const bool in_args = c->kind == CALL_TOOLS_CALL && args && args->start <= place->start &&
                         place->start < args->start + args->len;
    const uint32_t root = in_args ? c->args : params;
    const struct slice name = policy_path_name(t, root, node_at(t, root, place), &c->arena);
    return arena_printf(&c->arena, "%s%s%.*s", place->in_key ? "a key of " : "", in_args ? "args" : "params",
                        SLICE_FMT(slice_from(name, strlen("args"))));
}

/* ---- for policies ---- */

static uint64_t kinds_of(const struct pii_engine *e, const struct slice *kinds, size_t count) {
    uint64_t bits = count ? 0 : PII_DEFAULT;
    for (size_t i = 0; i < count; i++) {
        const int kind = pii_engine_kind_from(e, kinds[i]);
        if (kind < 0 || kind == PII_LITERAL)
            return 0;
        bits |= kind < PII_BUILTIN ? PII_BIT(kind) : PII_BIT_CUSTOM;
    }
    return bits;
}

/* Custom kinds share a bit: only the named ones count. */
static uint64_t count_of(const struct pii_engine *e, const struct filter_report *r, const struct slice *kinds,
                         size_t count) {
    uint64_t sum = count ? 0 : (uint64_t)r->found + r->refused_total;
    for (size_t i = 0; i < count; i++) {
        const int kind = pii_engine_kind_from(e, kinds[i]);
        sum += (uint64_t)r->counts[kind] + r->refused[kind];
    }
    return sum;
}

static bool find(void *ctx, const struct tape *t, uint32_t node, const struct slice *kinds, size_t kind_count,
                 struct arena *a, struct policy_finds *ret_finds) {
    const struct sent_detector *d = ctx;
    const struct pii_engine *e = filter_scope_engine(d->scope);
    struct filter_rules rules = d->rules;
    struct filter_report *report = arena_new(a, struct filter_report);
    rules.plain_refused = kinds_of(e, kinds, kind_count);
    if (!rules.plain_refused || filter_restore_check(d->scope, &rules, t, node, report) == FILTER_FAILED)
        return false;
    ret_finds->work = report->work;
    ret_finds->count = count_of(e, report, kinds, kind_count);
    if (report->kept_back.end) {
        ret_finds->kind = slice_str(pii_engine_kind_name(e, report->kept_back.kind));
        ret_finds->node = node_at(t, node, &report->kept_back);
    }
    return true;
}

const struct policy_detector *sent_detector_of(struct call *c, struct arena *a) {
    struct vault *v = policy_wants_detector(c->policy) ? privacy_vault(c->session) : NULL;
    if (!v)
        return NULL;
    struct sent_detector *d = arena_new(a, struct sent_detector);
    *d = (struct sent_detector){.detector = {find, d}, .scope = vault_scope(v)};
    d->rules = privacy_restore_rules(c->session, c->server, tool_of(c), a);
    return &d->detector;
}

const struct policy_detector *sent_detector_alone(void) {
    static struct sent_detector alone;
    struct pii_engine *engine;
    struct err err;
    uint8_t key[32];
    if (alone.scope)
        return &alone.detector;
    if (pii_engine_new(NULL, 0, &engine, &err) < 0)
        return NULL;
    rand_bytes(key, sizeof(key));
    alone = (struct sent_detector){
        .detector = {find, &alone},
        .scope = filter_scope_new(engine, key, filter_memory_vault(filter_memory_new()))};
    return &alone.detector;
}
