/* NOTE and RECORD: the audit records of a call. */
#include "record/record.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/principal.h"
#include "privacy/redact.h"
#include "record/metrics.h"
#include "record/span.h"
#include "risk/class.h"
#include "server/server.h"
#include "wire/emit.h"

struct recorder {
    struct list waiting; /* calls, until the log has room */
    struct io_timer timer;
};

void record_init(struct core *core) {
    core->recorder = mem_zalloc(sizeof(*core->recorder));
    list_init(&core->recorder->waiting);
}

void record_free(struct core *core) {
    io_timer_stop(core->up.loop, &core->recorder->timer);
    free(steal(core->recorder));
}

/* ["path","mode"]: the names of the arguments, without their values. */
static struct slice argument_keys(const struct tape *t, uint32_t args, struct buf *out) {
    buf_reset(out);
    buf_put_char(out, '[');
    if (args) {
        TAPE_FOR_MEMBER(t, args, key) {
            if (out->len > 1)
                buf_put_char(out, ',');
            buf_put_slice(out, tape_raw(t, key));
        }
    }
    buf_put_char(out, ']');
    return buf_slice(out);
}

struct slice record_arguments(struct session *s, struct server *server, const struct tape *t, uint32_t args,
                              struct arena *a) {
    const enum audit_args_mode mode = s->core->audit_args;
    if (mode == AUDIT_ARGS_KEYS || !args)
        return argument_keys(t, args, &s->core->scratch);
    if (mode == AUDIT_ARGS_FULL || !server)
        return tape_raw(t, args);
    return redact_arguments(s, server, t, args, a);
}

struct slice record_shadows(const struct policy_verdict *v, struct arena *a) {
    if (!v->shadow_count)
        return (struct slice){0};
    struct buf out;
    buf_init(&out, AUDIT_FIELD_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < v->shadow_count; i++) {
        emit_object(&e);
        emit_key(&e, "verdict");
        emit_cstr(&e, policy_outcome_name(v->shadows[i].outcome));
        emit_key(&e, "rule");
        emit_str(&e, v->shadows[i].rule);
        emit_key(&e, "pointer");
        emit_str(&e, v->shadows[i].pointer);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    struct slice kept = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return kept;
}

static struct slice decision_text(struct call *c) {
    const struct slice parts[] = {c->about, c->verdict.text, c->stands_for};
    struct slice text = {0};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].len)
            text = text.len ? arena_printf(&c->arena, "%.*s; %.*s", SLICE_FMT(text), SLICE_FMT(parts[i]))
                            : parts[i];
    return text;
}

/* Gives the call its number in the log. */
static enum audit_result record_decision(struct call *c, struct audit_wait *wait) {
    struct core *core = c->session->core;
    c->record = audit_next_call(core->audit);
    struct audit_decision d = {
        .call = c->record,
        .parent = c->parent,
        .identity = slice_str(c->session->principal->id),
        .grant = slice_str(c->session->principal->grant),
        .session = slice_str(c->session->name),
        .server = c->server ? slice_str(c->server->up.name) : (struct slice){0},
        .method = c->method,
        .tool = c->name,
        .verdict = slice_str(policy_outcome_name(c->verdict.outcome)),
        .reason = slice_str(policy_reason_name(c->verdict.reason)),
        .rule = c->verdict.rule,
        .pointer = c->verdict.pointer,
        .policy = policy_name(c->policy),
        .policy_hash = slice_of(policy_hash(c->policy), 64),
        .policy_version = policy_version(c->policy),
        .text = decision_text(c),
        .shadow = record_shadows(&c->verdict, &c->arena),
        .args_mode = core->audit_args,
        .args = record_arguments(c->session, c->server, &call_shown(c)->tape, call_shown_args(c), &c->arena),
        .args_hash = c->args_hash,
        .fingerprint = c->fingerprint,
        .class = c->class ? slice_str(risk_class_name((enum risk_class)c->class)) : (struct slice){0},
    };
    return audit_put_decision(core->audit, &d, wait);
}

static const char *outcome_of(const struct call *c) {
    if (c->outcome)
        return c->outcome;
    if (c->denied) /* for calls that wait for a person, the verdict is still the policy's */
        return c->verdict.outcome == POLICY_APPROVE ? "approval" : "denied";
    if (!c->request->rpc.id)
        return "ok";
    if (!c->response)
        return c->sent ? "gone" : "refused";
    if (c->response->rpc.kind == RPC_ERROR)
        return "rpc_error";
    uint32_t flag =
        c->kind == CALL_TOOLS_CALL ? tape_get_str(&c->response->tape, c->response->rpc.body, "isError") : 0;
    return flag && tape_is(&c->response->tape, flag, TAPE_TRUE) ? "tool_error" : "ok";
}

/* Finds of detectors in the result: counts and names, never values. */
static struct slice outcome_text(struct call *c) {
    if (!c->pii)
        return c->findings;
    return arena_printf(&c->arena, "%.*s%s%.*s", SLICE_FMT(c->findings), c->findings.len ? "; " : "",
                        SLICE_FMT(redact_summary(c)));
}

static void record_outcome(struct call *c, const char *outcome, uint64_t latency_us) {
    struct audit_outcome o = {
        .call = c->record,
        .status = slice_str(outcome),
        .text = outcome_text(c),
        .latency_us = latency_us,
        .bytes_in = call_shown(c)->bytes.len,
        .bytes_out = c->response ? c->response->bytes.len : 0,
    };
    audit_put_outcome(c->session->core->audit, &o);
}

static void on_recorded(struct audit_wait *wait, bool written) {
    struct call *c = container_of(wait, struct call, audit_wait);
    c->recorded = true;
    c->log_failed = !written;
    call_resume(c);
}

static void on_log_room(struct io_timer *timer) {
    struct recorder *recorder = container_of(timer, struct recorder, timer);
    struct list ready;
    list_init(&ready);
    struct list *n;
    while ((n = list_pop(&recorder->waiting)))
        list_push(&ready, n);
    while ((n = list_pop(&ready)))
        call_resume(container_of(n, struct call, wait));
}

/* A log that falls behind slows the gate down before calls are refused. */
static bool wait_for_log(struct call *c) {
    struct session *s = c->session;
    struct recorder *recorder = s->core->recorder;
    if (clock_mono_us() - c->received_us > CALL_LOG_MS * 1000ull)
        return false;
    list_push(&recorder->waiting, &c->wait);
    if (!recorder->timer.due_ms)
        io_timer_arm(s->core->up.loop, &recorder->timer, 0, on_log_room);
    if (s->front->hold && !c->holding)
        s->front->hold(s, true);
    c->holding = true;
    return true;
}

/* A call that cannot be recorded is not made. */
enum call_next record_step_note(struct call *c) {
    struct session *s = c->session;
    if (!s->core->audit)
        return CALL_NEXT;
    if (!c->recording) {
        c->audit_wait.done = on_recorded;
        enum audit_result result = record_decision(c, &c->audit_wait);
        if (result == AUDIT_FULL && wait_for_log(c))
            return CALL_WAIT;
        c->recording = true;
        if (c->holding && s->front->hold)
            s->front->hold(s, false);
        if (result == AUDIT_WAIT)
            return CALL_WAIT;
        c->recorded = true;
        c->log_failed = result != AUDIT_OK;
    }
    if (!c->log_failed)
        return CALL_NEXT;
    c->record = 0;
    struct audit_health health;
    audit_health(s->core->audit, &health);
    struct log_field about[RECORD_ABOUT];
    log_about(LOG_ERROR, record_about(c, about), RECORD_ABOUT, "refused %.*s: the audit log %s",
              SLICE_FMT(c->method), health.failed ? health.fault : "is full");
    return answer_refuse(c, RPC_INTERNAL, 503, "the audit log cannot take this call");
}

const struct log_field *record_about(const struct call *c, struct log_field about[RECORD_ABOUT]) {
    about[0] = (struct log_field){"identity", slice_str(c->session->principal->id)};
    about[1] = (struct log_field){"server", c->server ? slice_str(c->server->up.name) : (struct slice){0}};
    about[2] = (struct log_field){"tool", c->kind == CALL_TOOLS_CALL ? c->name : (struct slice){0}};
    about[3] = (struct log_field){"rule", c->verdict.rule};
    about[4] = (struct log_field){"policy", c->policy ? policy_name(c->policy) : (struct slice){0}};
    return about;
}

static void log_denial(struct call *c) {
    struct buf *out = &c->session->core->scratch;
    buf_reset(out);
    buf_put_slice(out, SLICE("denied "));
    buf_put_slice(out, c->method);
    buf_put_char(out, ' ');
    buf_put_slice(out, c->name);
    struct log_field about[RECORD_ABOUT];
    log_often_about(LOG_INFO, buf_slice(out), record_about(c, about), RECORD_ABOUT);
}

void record_refusal(struct core *core, const struct refusal *r) {
    static const struct {
        struct slice reason, rule;
    } kinds[] = {
        [REFUSAL_MALFORMED] = {SLICE("malformed"), SLICE("(malformed)")},
        [REFUSAL_SERVER_MALFORMED] = {SLICE("malformed"), SLICE("(malformed by the server)")},
        [REFUSAL_REFUSED] = {SLICE("refused"), SLICE("(refused)")},
    };
    if (!core->audit)
        return;
    const struct audit_decision d = {
        .call = audit_next_call(core->audit),
        .parent = r->parent,
        .identity = slice_str(r->who->id),
        .grant = slice_str(r->who->grant),
        .session = r->session ? slice_str(r->session->name) : (struct slice){0},
        .server = r->server ? slice_str(r->server->up.name) : (struct slice){0},
        .method = r->method,
        .tool = r->tool,
        .verdict = slice_str(policy_outcome_name(POLICY_DENY)),
        .reason = kinds[r->kind].reason,
        .rule = kinds[r->kind].rule,
        .text = r->why,
    };
    if (audit_put_decision(core->audit, &d, NULL) != AUDIT_OK)
        log_about(LOG_ERROR,
                  (const struct log_field[]){
                      {"identity", d.identity}, {"server", d.server}, {"tool", d.tool}, {"rule", d.rule}},
                  4, "not in the audit log: a message was refused: %.*s", SLICE_FMT(r->why));
}

static void record_refused_call(struct call *c) {
    if (!c->fault.len) /* the gate answered itself */
        return;
    record_refusal(c->session->core, &(struct refusal){.kind = REFUSAL_REFUSED,
                                                       .who = c->session->principal,
                                                       .session = c->session,
                                                       .server = c->server,
                                                       .method = c->method,
                                                       .tool = c->name,
                                                       .parent = c->parent,
                                                       .why = c->fault});
}

enum call_next record_step_outcome(struct call *c) {
    struct core *core = c->session->core;
    struct log_field about[RECORD_ABOUT];
    if (c->denied && c->verdict.outcome == POLICY_DENY)
        log_denial(c);
    if (!c->policy) {
        record_refused_call(c);
        return CALL_NEXT;
    }
    const char *outcome = outcome_of(c);
    const uint64_t latency_us = c->denied && !c->response ? 0 : clock_mono_us() - c->received_us;
    metrics_count(core->metrics, c, outcome, latency_us);
    span_end(c, outcome);
    if (!core->audit)
        return CALL_NEXT;
    /* A refusal is enforced even if the log has no room for it, but then a line is logged. */
    if (!c->recording && record_decision(c, NULL) != AUDIT_OK)
        log_about(LOG_ERROR, record_about(c, about), RECORD_ABOUT,
                  "not in the audit log: %.*s %.*s was refused", SLICE_FMT(c->method), SLICE_FMT(c->name));
    if (c->record && !c->denied)
        record_outcome(c, outcome, latency_us);
    return CALL_NEXT;
}

void record_end(struct call *c) {
    if (c->recording && !c->recorded)
        audit_cancel(c->session->core->audit, &c->audit_wait);
}
