#include "policy/simulate.h"

#include "policy/memory.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/tick.h"
#include "wire/emit.h"
#include "wire/rpc.h"

#include <stdlib.h>

#define SIMULATE_START_MS 1767225600000 /* 2026-01-01T00:00:00Z: the time when no step sets one */
#define SIMULATE_PII_MAX 128
#define SIMULATE_FACTS_MAX 64

struct simulation {
    struct tape tape;
    struct arena arena; /* the line */
    struct arena call;  /* one step */
    struct policy *policy;
    struct policy_memory memory;
    struct policy_fact facts[SIMULATE_FACTS_MAX];
    struct policy_facts base;
    struct policy_schema *schema; /* of the tool being called */
    uint64_t now_ms;
    uint32_t flow;
    struct policy_pii pii[SIMULATE_PII_MAX];
    size_t pii_count;
    struct emit e;
};

static struct slice text_at(struct simulation *s, uint32_t obj, const char *key) {
    return tape_text_of(&s->tape, obj, key, &s->arena);
}

static void put_id(struct simulation *s) {
    uint32_t id = s->tape.count ? tape_get_str(&s->tape, 0, "id") : 0;
    emit_key(&s->e, "id");
    if (id)
        emit_raw(&s->e, tape_raw(&s->tape, id));
    else
        emit_null(&s->e);
}

static void put_error(struct simulation *s, const char *text) {
    emit_object(&s->e);
    put_id(s);
    emit_key(&s->e, "error");
    emit_array(&s->e);
    emit_cstr(&s->e, text);
    emit_array_end(&s->e);
    emit_object_end(&s->e);
}

static void put_problems(struct simulation *s, const struct policy_problems *problems) {
    emit_object(&s->e);
    put_id(s);
    emit_key(&s->e, "error");
    emit_array(&s->e);
    for (size_t i = 0; i < problems->count; i++)
        emit_str(&s->e, problems->items[i].text);
    emit_array_end(&s->e);
    emit_object_end(&s->e);
}

/* ---- loading ---- */

static bool load_from(struct simulation *s, uint32_t obj, const char *object_key, const char *text_key,
                      struct policy_problems *problems) {
    uint32_t policy = tape_get_str(&s->tape, obj, object_key), text = tape_get_str(&s->tape, obj, text_key);
    struct slice source = {0};
    if (policy)
        source = tape_raw(&s->tape, policy);
    else if (text && tape_is(&s->tape, text, TAPE_STRING))
        source = tape_text(&s->tape, text, &s->arena);
    struct policy *loaded = NULL;
    if (policy_load(source, "policy", &loaded, problems) < 0)
        return false;
    policy_unref(s->policy);
    s->policy = loaded;
    return true;
}

static void load_facts(struct simulation *s) {
    uint32_t facts = tape_get_str(&s->tape, 0, "facts");
    s->base.grant = text_at(s, 0, "grant");
    s->base.identity = text_at(s, 0, "identity");
    s->base.session = text_at(s, 0, "session");
    s->base.server = text_at(s, 0, "server");
    s->base.more = s->facts;
    if (!facts || !tape_is(&s->tape, facts, TAPE_OBJECT))
        return;
    TAPE_FOR_MEMBER(&s->tape, facts, key) {
        if (s->base.more_count == SIMULATE_FACTS_MAX || !tape_is(&s->tape, key + 1, TAPE_STRING))
            continue;
        s->facts[s->base.more_count++] = (struct policy_fact){tape_text(&s->tape, key, &s->arena),
                                                              tape_text(&s->tape, key + 1, &s->arena)};
    }
}

static bool step_time(struct simulation *s, uint32_t step, uint64_t *ret_ms) {
    struct slice at = text_at(s, step, "at");
    if (!at.len)
        return true;
    return policy_time_parse(at, ret_ms);
}

/* Counter values as of the first step. */
static bool load_counters(struct simulation *s, uint32_t steps) {
    uint32_t counters = tape_get_str(&s->tape, 0, "counters");
    uint64_t start = SIMULATE_START_MS;
    if (steps && tape_node(&s->tape, steps)->count && !step_time(s, steps + 1, &start))
        return false;
    s->now_ms = start;
    if (!counters || !tape_is(&s->tape, counters, TAPE_OBJECT))
        return true;
    TAPE_FOR_MEMBER(&s->tape, counters, key) {
        int64_t micro;
        if (!tape_is(&s->tape, key + 1, TAPE_NUMBER) ||
            !policy_amount_parse(tape_raw(&s->tape, key + 1), &micro))
            return false;
        policy_memory_seed(&s->memory, tape_text(&s->tape, key, &s->arena), micro, start);
    }
    return true;
}

/* ---- one step ---- */

/* If the line has no `tools`, the upstream is assumed to accept anything: an empty schema. */
static void step_schema(struct simulation *s, struct policy_facts *f) {
    struct slice source = SLICE("{}");
    uint32_t tools = tape_get_str(&s->tape, 0, "tools");
    if (!policy_wants_schema(s->policy, f->tool, &f->traits))
        return;
    for (uint32_t i = tools && tape_is(&s->tape, tools, TAPE_ARRAY) ? tools + 1 : 0;
         i && i < tape_node(&s->tape, tools)->next; i = tape_node(&s->tape, i)->next) {
        uint32_t name = tape_get_str(&s->tape, i, "name"), schema = tape_get_str(&s->tape, i, "inputSchema");
        if (name && schema && tape_eq(&s->tape, name, f->tool))
            source = tape_raw(&s->tape, schema);
    }
    policy_schema_free(s->schema);
    s->schema = NULL;
    struct err err;
    f->schema_unreadable = policy_schema_compile(source, &s->schema, &err) < 0;
    f->schema = s->schema;
}

static void step_traits(struct simulation *s, uint32_t step, struct policy_facts *f) {
    uint32_t tags = tape_get_str(&s->tape, step, "tags");
    f->traits.class = policy_class_from(text_at(s, step, "class"));
    if (!tags || !tape_is(&s->tape, tags, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(&s->tape, tags, i)
    f->traits.tags |=
        tape_is(&s->tape, i, TAPE_STRING) ? policy_flow_from(tape_text(&s->tape, i, &s->arena)) : 0;
}

/* false: no call may have such arguments. */
static bool step_facts(struct simulation *s, uint32_t step, struct policy_facts *f) {
    uint32_t call = tape_get_str(&s->tape, step, "call"), args;
    *f = s->base;
    f->now_ms = s->now_ms;
    f->flow = s->flow;
    f->pii = s->pii;
    f->pii_count = s->pii_count;
    step_traits(s, step, f);
    if (call) {
        f->method = SLICE("tools/call");
        f->tool = text_at(s, call, "name");
        args = tape_get_str(&s->tape, call, "arguments");
        step_schema(s, f);
    } else {
        f->method = text_at(s, step, "method");
        f->direction =
            slice_is(text_at(s, step, "direction"), "to_client") ? POLICY_TO_CLIENT : POLICY_TO_SERVER;
        args = tape_get_str(&s->tape, step, "params");
    }
    if (args && tape_is(&s->tape, args, TAPE_NULL))
        args = 0;
    if (args && !tape_is(&s->tape, args, TAPE_OBJECT))
        return false;
    f->tape = args ? &s->tape : NULL;
    f->args = args;
    return true;
}

static void note_pii(struct simulation *s, struct slice kind, uint32_t count) {
    size_t i = 0;
    while (i < s->pii_count && !slice_eq(s->pii[i].kind, kind))
        i++;
    if (i == SIMULATE_PII_MAX)
        return;
    if (i == s->pii_count)
        s->pii[s->pii_count++] = (struct policy_pii){kind, 0};
    s->pii[i].most = s->pii[i].most < count ? count : s->pii[i].most;
}

/* "pii": {"EMAIL": 2}: finds in the result of the step. */
static void step_pii(struct simulation *s, uint32_t step) {
    uint32_t pii = tape_get_str(&s->tape, step, "pii");
    int64_t count, all = 0;
    if (!pii || !tape_is(&s->tape, pii, TAPE_OBJECT))
        return;
    TAPE_FOR_MEMBER(&s->tape, pii, key) {
        if (!tape_int(&s->tape, key + 1, &count) || count < 0 || count > INT32_MAX)
            continue;
        note_pii(s, tape_text(&s->tape, key, &s->arena), (uint32_t)count);
        all += count;
    }
    note_pii(s, (struct slice){0}, all > INT32_MAX ? INT32_MAX : (uint32_t)all);
}

/* A word, or the JSON-RPC answer itself: only a non-null `error` counts as one. */
static enum policy_ending step_ending(struct simulation *s, uint32_t step) {
    uint32_t node = tape_get_str(&s->tape, step, "upstream");
    int64_t code = 0;
    if (!node)
        return POLICY_ENDED;
    if (tape_is(&s->tape, node, TAPE_STRING))
        return tape_eq(&s->tape, node, SLICE("error")) ? POLICY_FAILED : POLICY_ENDED;
    uint32_t error = tape_get_str(&s->tape, node, "error");
    if (!error || tape_is(&s->tape, error, TAPE_NULL))
        return POLICY_ENDED;
    uint32_t number = tape_get_str(&s->tape, error, "code");
    if (number)
        tape_int(&s->tape, number, &code);
    return code == RPC_METHOD_NOT_FOUND || code == RPC_INVALID_PARAMS ? POLICY_FAILED_PROVEN : POLICY_FAILED;
}

static void put_text_or_null(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    if (text.len)
        emit_str(e, text);
    else
        emit_null(e);
}

static void put_verdict(struct simulation *s, const struct policy_verdict *v) {
    struct emit *e = &s->e;
    emit_object(e);
    emit_key(e, "allowed");
    emit_bool(e, v->outcome == POLICY_ALLOW);
    emit_key(e, "verdict");
    emit_cstr(e, policy_outcome_name(v->outcome));
    put_text_or_null(e, "rule", v->rule);
    put_text_or_null(e, "text", policy_verdict_text(s->policy, v, &s->call));
    if (v->outcome != POLICY_ALLOW) {
        put_text_or_null(e, "pointer", v->pointer);
        emit_key(e, "reason");
        emit_cstr(e, policy_reason_name(v->reason));
        if (v->detail.len)
            put_text_or_null(e, "detail", v->detail);
        if (v->path.len)
            put_text_or_null(e, "path", v->path);
        if (v->retry_after_ms) {
            emit_key(e, "retry_after_ms");
            emit_int(e, (int64_t)v->retry_after_ms);
        }
    }
    if (v->shadow_count) {
        emit_key(e, "shadow");
        emit_array(e);
        for (size_t i = 0; i < v->shadow_count; i++) {
            emit_object(e);
            emit_key(e, "verdict");
            emit_cstr(e, policy_outcome_name(v->shadows[i].outcome));
            put_text_or_null(e, "rule", v->shadows[i].rule);
            put_text_or_null(e, "text", v->shadows[i].text);
            emit_object_end(e);
        }
        emit_array_end(e);
    }
    emit_object_end(e);
}

static void run_call(struct simulation *s, uint32_t step) {
    struct policy_facts f;
    struct policy_verdict v = {0};
    struct policy_counters counters = policy_memory_counters(&s->memory);
    s->memory.now_ms = s->now_ms;
    if (!step_facts(s, step, &f)) {
        v = (struct policy_verdict){.outcome = POLICY_DENY,
                                    .reason = POLICY_BY_FAULT,
                                    .rule = SLICE("(arguments)"),
                                    .text = SLICE("Arguments must be an object")};
        put_verdict(s, &v);
        return;
    }
    f.counters = &counters;
    policy_decide(s->policy, &f, &s->call, NULL, &v);
    if (v.outcome != POLICY_DENY) {
        uint64_t retry_ms = 0;
        const struct policy_limit *refused = policy_memory_reserve(&s->memory, &v, &s->call, &retry_ms);
        if (refused)
            policy_refuse(refused, retry_ms, &s->call, &v);
        else /* a call that waits for approval was not made */
            policy_memory_settle(&s->memory, &v,
                                 v.outcome == POLICY_APPROVE ? POLICY_NEVER_SENT : step_ending(s, step));
    }
    if (v.outcome == POLICY_ALLOW) {
        s->flow |= f.traits.tags;
        step_pii(s, step);
    }
    put_verdict(s, &v);
}

/* false: the line ends here with an error. */
static bool run_step(struct simulation *s, uint32_t step, const char **ret_error) {
    if (!step_time(s, step, &s->now_ms)) {
        *ret_error = "at must be an RFC 3339 time";
        return false;
    }
    arena_reset(&s->call);
    if (tape_get_str(&s->tape, step, "set_policy")) {
        cleanup_problems struct policy_problems problems;
        policy_problems_init(&problems);
        bool loaded = load_from(s, step, "set_policy", "set_policy_text", &problems);
        emit_object(&s->e);
        emit_key(&s->e, "policy");
        emit_cstr(&s->e, loaded ? "set" : "kept");
        emit_object_end(&s->e);
        return true;
    }
    if (!tape_get_str(&s->tape, step, "call") && !tape_get_str(&s->tape, step, "method")) {
        *ret_error = "a step needs a call";
        return false;
    }
    run_call(s, step);
    return true;
}

/* ---- the line ---- */

static int meter_cmp(const void *x, const void *y) {
    return slice_cmp((*(struct policy_memory_meter *const *)x)->label,
                     (*(struct policy_memory_meter *const *)y)->label);
}

/* Counters at the end, by label; meters that share one (several grants, several windows) are added up. */
static void put_counters(struct simulation *s) {
    struct policy_memory_meter **meters =
        arena_array(&s->arena, struct policy_memory_meter *, s->memory.meters.count + 1);
    size_t count = 0, at = 0;
    for (struct map_entry *entry; (entry = map_next(&s->memory.meters, &at));) {
        struct policy_memory_meter *meter = entry->value;
        if (meter->touched)
            meters[count++] = meter;
    }
    qsort(meters, count, sizeof(struct policy_memory_meter *), meter_cmp);
    emit_key(&s->e, "counters");
    emit_object(&s->e);
    for (size_t i = 0; i < count;) {
        int64_t sum = 0;
        struct slice label = meters[i]->label;
        for (; i < count && slice_eq(meters[i]->label, label); i++)
            sum += policy_meter_read(&meters[i]->meter, &meters[i]->limit, s->now_ms);
        emit_key_slice(&s->e, label);
        if (sum % POLICY_MICRO == 0)
            emit_int(&s->e, sum / POLICY_MICRO);
        else
            emit_double(&s->e, (double)sum / POLICY_MICRO);
    }
    emit_object_end(&s->e);
}

static void run_steps(struct simulation *s, uint32_t steps, struct buf *out) {
    const char *error = NULL;
    size_t before = out->len;
    emit_object(&s->e);
    put_id(s);
    emit_key(&s->e, "steps");
    emit_array(&s->e);
    for (uint32_t i = steps ? steps + 1 : 0; i && i < tape_node(&s->tape, steps)->next && !error;
         i = tape_node(&s->tape, i)->next)
        run_step(s, i, &error);
    emit_array_end(&s->e);
    if (!error) {
        put_counters(s);
        emit_object_end(&s->e);
        return;
    }
    out->len = before;
    emit_init(&s->e, out);
    put_error(s, error);
}

static void run_line(struct simulation *s, struct slice line, struct buf *out) {
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    enum tape_fault fault = tape_parse(&s->tape, line, NULL);
    if (fault != TAPE_OK || !tape_is(&s->tape, 0, TAPE_OBJECT)) {
        s->tape.count = 0;
        put_error(s, fault != TAPE_OK ? tape_fault_text(fault) : "a line must be an object");
        return;
    }
    uint32_t steps = tape_get_str(&s->tape, 0, "steps");
    if (steps && !tape_is(&s->tape, steps, TAPE_ARRAY)) {
        put_error(s, "steps must be an array");
        return;
    }
    if (!tape_get_str(&s->tape, 0, "policy") == !tape_get_str(&s->tape, 0, "policy_text")) {
        put_error(s, "a line needs one of policy and policy_text");
        return;
    }
    if (!load_from(s, 0, "policy", "policy_text", &problems)) {
        put_problems(s, &problems);
        return;
    }
    load_facts(s);
    if (!load_counters(s, steps)) {
        put_error(s, "counters must be numbers that are not negative, and at an RFC 3339 time");
        return;
    }
    run_steps(s, steps, out);
}

void policy_simulate_line(struct slice line, const struct policy_files *files,
                          const struct policy_detector *detector, struct buf *out) {
    struct simulation s = {.now_ms = SIMULATE_START_MS, .base.files = files, .base.detector = detector};
    tape_init(&s.tape);
    arena_init(&s.arena);
    arena_init(&s.call);
    policy_memory_init(&s.memory);
    emit_init(&s.e, out);
    run_line(&s, line, out);
    buf_put_char(out, '\n');
    policy_schema_free(s.schema);
    policy_unref(s.policy);
    policy_memory_free(&s.memory);
    arena_free(&s.call);
    arena_free(&s.arena);
    tape_free(&s.tape);
}
