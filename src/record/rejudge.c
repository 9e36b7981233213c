#include "record/rejudge.h"

#include "audit/log_reader.h"
#include "base/glyph.h"
#include "base/map.h"
#include "base/mem.h"
#include "policy/memory.h"
#include "policy/trace.h"
#include "wire/emit.h"

#include <inttypes.h>

#define REPLAY_CHANGES_MAX 100000 /* distinct changes: tool, rule and kind */
#define REPLAY_NAME_MAX 512       /* bytes of a name that are shown */

enum change_kind { CHANGE_DENIED, CHANGE_ALLOWED, CHANGE_APPROVE, CHANGE_UNJUDGED, CHANGE_KINDS };
static const char *const change_names[] = {"newly_denied", "newly_allowed", "newly_need_approval",
                                           "not_judged"};
static const char *const change_heads[] = {"Newly denied", "Newly allowed", "Newly in need of approval",
                                           "Not judged: the values that the rule reads were not recorded"};

struct change {
    enum change_kind kind;
    struct slice server, tool, rule;
    uint64_t count;
    uint64_t example; /* number of the first such record */
};

struct rejudge {
    const struct policy *policy;
    const struct rejudge_scope *scope; /* while the log is read */
    struct policy_memory memory;
    struct arena keep;
    struct map changes;
    struct change **order;
    size_t order_count;
    struct map failed; /* calls that ended in a JSON-RPC error: their reservations went back */
    uint64_t calls, same, totals[CHANGE_KINDS];
};

/* ---- reading the log ---- */

static bool replay_failed(void *ctx, const struct audit_entry *e) {
    struct rejudge *r = ctx;
    if (!slice_is(e->record->text[AUDIT_STATUS], "rpc_error"))
        return true;
    uint64_t call = e->record->number[AUDIT_CALL];
    struct slice key = arena_dup(&r->keep, slice_of((const char *)&call, sizeof(call)));
    map_put(&r->failed, key, r);
    return true;
}

static void replay_note(struct rejudge *r, enum change_kind kind, const struct audit_entry *e,
                        struct slice rule) {
    const struct slice *text = e->record->text;
    r->totals[kind]++;
    struct slice key = arena_printf(&r->keep, "%d/%.*s/%.*s/%.*s", kind, SLICE_FMT(text[AUDIT_SERVER]),
                                    SLICE_FMT(text[AUDIT_TOOL]), SLICE_FMT(rule));
    struct change *c = map_get(&r->changes, key);
    if (!c && r->order_count < REPLAY_CHANGES_MAX) {
        c = arena_new(&r->keep, struct change);
        struct slice tool = text[AUDIT_TOOL].len ? text[AUDIT_TOOL] : text[AUDIT_METHOD];
        *c = (struct change){kind,
                             arena_dup(&r->keep, text[AUDIT_SERVER]),
                             arena_dup(&r->keep, tool),
                             arena_dup(&r->keep, rule),
                             0,
                             e->seq};
        map_put(&r->changes, key, c);
        r->order[r->order_count++] = c;
    }
    if (c)
        c->count++;
}

/* The rule whose conditions read arguments, if any did. */
static bool replay_needs_args(const struct policy_trace *trace, struct slice *ret_rule) {
    struct slice rule = {0};
    for (size_t i = 0; i < trace->count; i++) {
        const struct policy_trace_line *line = &trace->lines[i];
        if (line->kind == POLICY_TRACE_CHECK)
            rule = line->what;
        if (line->kind == POLICY_TRACE_LEAF &&
            (slice_starts(line->path, SLICE("args")) || slice_starts(line->path, SLICE("params")))) {
            *ret_rule = rule;
            return true;
        }
    }
    return false;
}

static void replay_compare(struct rejudge *r, const struct audit_entry *e, const struct policy_verdict *v) {
    struct slice before = e->record->text[AUDIT_VERDICT];
    if (slice_is(before, policy_outcome_name(v->outcome))) {
        r->same++;
        return;
    }
    switch (v->outcome) {
    case POLICY_DENY:
        replay_note(r, CHANGE_DENIED, e, v->rule);
        break;
    case POLICY_ALLOW: /* because the rule that denied no longer exists */
        replay_note(r, CHANGE_ALLOWED, e, e->record->text[AUDIT_RULE]);
        break;
    case POLICY_APPROVE:
        replay_note(r, CHANGE_APPROVE, e, v->rule);
        break;
    }
}

/* Methods that only servers call. */
static enum policy_direction direction_of(struct slice method) {
    bool asks = slice_starts(method, SLICE("sampling/")) || slice_starts(method, SLICE("elicitation/")) ||
                slice_starts(method, SLICE("roots/"));
    return asks ? POLICY_TO_CLIENT : POLICY_TO_SERVER;
}

/* False for calls that were refused before the policy or independently of it: by pins, by a poisoned
 * definition, by the grant. */
static bool judged_by_policy(const struct audit_record *r) {
    struct slice reason = r->text[AUDIT_REASON];
    return r->text[AUDIT_POLICY_HASH].len && !slice_is(reason, policy_reason_name(POLICY_BY_PIN)) &&
           !slice_is(reason, policy_reason_name(POLICY_BY_POISON)) &&
           !slice_is(r->text[AUDIT_RULE], "(grant)");
}

static void replay_decide(struct rejudge *r, const struct audit_entry *e, const struct tape *args,
                          struct arena *a) {
    const struct audit_record *rec = e->record;
    struct policy_counters counters = policy_memory_counters(&r->memory);
    struct policy_facts facts = {
        .method = rec->text[AUDIT_METHOD],
        .direction = direction_of(rec->text[AUDIT_METHOD]),
        .traits.class = policy_class_from(rec->text[AUDIT_CLASS]),
        .server = rec->text[AUDIT_SERVER],
        .tool = rec->text[AUDIT_TOOL],
        .tape = args,
        .args = args ? 1 : 0, /* the surrounding array is ours */
        .grant = rec->text[AUDIT_GRANT],
        .identity = rec->text[AUDIT_IDENTITY],
        .session = rec->text[AUDIT_SESSION],
        .args_hash = rec->text[AUDIT_ARGS_HASH],
        .now_ms = rec->number[AUDIT_TIME_US] / 1000,
        .counters = &counters,
    };
    struct policy_trace trace = {.arena = a};
    struct policy_verdict v;
    uint64_t retry_ms = 0, call = rec->number[AUDIT_CALL];
    struct slice rule = {0};
    r->memory.now_ms = facts.now_ms;
    policy_decide(r->policy, &facts, a, &trace, &v);
    bool faulty = v.reason == POLICY_BY_FAULT;
    if (!facts.traits.class && policy_wants_traits(r->policy) && slice_is(facts.method, "tools/call")) {
        replay_note(r, CHANGE_UNJUDGED, e, SLICE("(class)"));
        return;
    }
    if (v.outcome != POLICY_DENY && policy_has_flows(r->policy) &&
        slice_is(rec->text[AUDIT_REASON], policy_reason_name(POLICY_BY_FLOW))) {
        replay_note(r, CHANGE_UNJUDGED, e, rec->text[AUDIT_RULE]);
        return;
    }
    bool blind = args ? faulty && policy_wants_schema(r->policy, facts.tool, &facts.traits)
                      : faulty || replay_needs_args(&trace, &rule);
    if (blind) {
        replay_note(r, CHANGE_UNJUDGED, e, rule.len ? rule : v.rule);
        return;
    }
    if (v.outcome != POLICY_DENY) {
        const struct policy_limit *refused = policy_memory_reserve(&r->memory, &v, a, &retry_ms);
        if (refused)
            policy_refuse(refused, retry_ms, a, &v);
        else
            policy_memory_settle(&r->memory, &v,
                                 map_get(&r->failed, slice_of((const char *)&call, sizeof(call)))
                                     ? POLICY_FAILED
                                     : POLICY_ENDED);
    }
    replay_compare(r, e, &v);
}

static bool in_scope(const struct rejudge_scope *scope, const struct audit_record *r) {
    for (size_t i = 0; i < scope->server_count; i++)
        if (slice_eq(scope->servers[i], r->text[AUDIT_SERVER]))
            return true;
    return !scope->server_count;
}

static bool replay_entry(void *ctx, const struct audit_entry *e) {
    struct rejudge *r = ctx;
    struct slice mode = e->record->text[AUDIT_ARGS_MODE], text = e->record->text[AUDIT_ARGS];
    if (!judged_by_policy(e->record) || !in_scope(r->scope, e->record))
        return true;
    cleanup_tape struct tape args;
    cleanup_arena struct arena arena;
    tape_init(&args);
    arena_init(&arena);
    r->calls++;
    struct slice wrapped = arena_printf(&arena, "[%.*s]", SLICE_FMT(text));
    bool known = text.len && slice_is(mode, "full") && tape_parse(&args, wrapped, NULL) == TAPE_OK &&
                 tape_is(&args, 1, TAPE_OBJECT);
    replay_decide(r, e, known ? &args : NULL, &arena);
    return true;
}

/* ---- the report ---- */

static int by_count(const void *a, const void *b) {
    const struct change *x = *(struct change *const *)a, *y = *(struct change *const *)b;
    return x->count > y->count ? -1 : x->count < y->count;
}

void rejudge_text(struct rejudge *r, struct buf *out) {
    buf_printf(out, "%" PRIu64 " calls, %" PRIu64 " decided as before\n", r->calls, r->same);
    for (int kind = 0; kind < CHANGE_KINDS; kind++) {
        if (!r->totals[kind])
            continue;
        buf_printf(out, "%s: %" PRIu64 "\n", change_heads[kind], r->totals[kind]);
        for (size_t i = 0; i < r->order_count; i++) {
            const struct change *c = r->order[i];
            if ((int)c->kind != kind)
                continue;
            buf_printf(out, "  %6" PRIu64 "  ", c->count);
            buf_put_slice(out, glyph_printable(c->tool, REPLAY_NAME_MAX, &r->keep));
            if (c->rule.len)
                buf_put_str(out, kind == CHANGE_ALLOWED ? "  was denied by " : "  by ");
            buf_put_slice(out, glyph_printable(c->rule, REPLAY_NAME_MAX, &r->keep));
            buf_printf(out, "  (first: record %" PRIu64 ")\n", c->example);
        }
    }
}

void rejudge_json(const struct rejudge *r, struct emit *e) {
    emit_object(e);
    emit_key(e, "calls");
    emit_int(e, (int64_t)r->calls);
    emit_key(e, "unchanged");
    emit_int(e, (int64_t)r->same);
    for (int kind = 0; kind < CHANGE_KINDS; kind++) {
        emit_key(e, change_names[kind]);
        emit_object(e);
        emit_key(e, "count");
        emit_int(e, (int64_t)r->totals[kind]);
        emit_key(e, "by");
        emit_array(e);
        for (size_t i = 0; i < r->order_count; i++) {
            const struct change *c = r->order[i];
            if ((int)c->kind != kind)
                continue;
            emit_object(e);
            emit_key(e, "server");
            emit_str(e, c->server);
            emit_key(e, "tool");
            emit_str(e, c->tool);
            emit_key(e, "rule");
            emit_str(e, c->rule);
            emit_key(e, "count");
            emit_int(e, (int64_t)c->count);
            emit_key(e, "first_seq");
            emit_int(e, (int64_t)c->example);
            emit_object_end(e);
        }
        emit_array_end(e);
        emit_object_end(e);
    }
    emit_object_end(e);
}

int rejudge_log(const char *home, const struct policy *policy, const struct rejudge_scope *scope,
                struct rejudge **ret_replay, struct err *err) {
    struct rejudge *r = mem_zalloc(sizeof(*r));
    const struct audit_filter outcomes = {.since_us = scope->since_us, .kinds = 1u << AUDIT_KIND_OUTCOME};
    struct audit_filter filter = {.since_us = scope->since_us,
                                  .until_us = scope->until_us,
                                  .kinds = 1u << AUDIT_KIND_DECISION,
                                  .text = {[AUDIT_SERVER] = scope->server, [AUDIT_GRANT] = scope->grant}};
    cleanup_audit_log struct audit_log *log = NULL;
    r->policy = policy;
    r->scope = scope;
    arena_init(&r->keep);
    map_init(&r->changes);
    map_init(&r->failed);
    policy_memory_init(&r->memory);
    r->order = mem_alloc(REPLAY_CHANGES_MAX * sizeof(*r->order));
    if (audit_log_open(home, &log, err) < 0 ||
        audit_log_seek(log, scope->since_us, &filter.from_seq, err) < 0 ||
        audit_log_walk(log, &outcomes, replay_failed, r, err) < 0 ||
        audit_log_walk(log, &filter, replay_entry, r, err) < 0) {
        rejudge_free(r);
        return -1;
    }
    qsort(r->order, r->order_count, sizeof(*r->order), by_count);
    *ret_replay = r;
    return 0;
}

void rejudge_free(struct rejudge *r) {
    if (!r)
        return;
    free(r->order);
    policy_memory_free(&r->memory);
    map_free(&r->failed);
    map_free(&r->changes);
    arena_free(&r->keep);
    free(r);
}
