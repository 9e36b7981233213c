#include "session/record.h"

#include "base/clock.h"
#include "risk/class.h"
#include "session/pii.h"
#include "session/principal.h"
#include "session/redact.h"
#include "session/server.h"
#include "session/trace.h"
#include "wire/emit.h"

/* ["path","mode"]: which arguments there were, not what they said. */
static struct slice argument_keys(struct call *c) {
    const struct tape *t = &c->request->tape;
    struct buf *out = &c->session->core->scratch;
    buf_reset(out);
    buf_put_char(out, '[');
    if (c->args) {
        TAPE_FOR_MEMBER(t, c->args, key) {
            if (out->len > 1)
                buf_put_char(out, ',');
            buf_put_slice(out, tape_raw(t, key));
        }
    }
    buf_put_char(out, ']');
    return buf_slice(out);
}

static struct slice recorded_arguments(struct call *c) {
    const enum audit_args_mode mode = c->session->core->audit_args;
    if (mode == AUDIT_ARGS_KEYS || !c->args)
        return argument_keys(c);
    if (mode == AUDIT_ARGS_FULL || !c->server)
        return tape_raw(&c->request->tape, c->args);
    return session_pii_arguments(c->session, c->server, &c->request->tape, c->args, &c->arena);
}

static struct slice shadow_json(struct call *c) {
    const struct policy_verdict *v = &c->verdict;
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
    struct slice kept = arena_dup(&c->arena, buf_slice(&out));
    buf_free(&out);
    return kept;
}

enum audit_result call_record_decision(struct call *c, struct audit_wait *wait) {
    struct session_core *core = c->session->core;
    c->record = audit_next_call(core->audit);
    struct audit_decision d = {
        .call = c->record,
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
        .text = c->verdict.text,
        .shadow = shadow_json(c),
        .args_mode = core->audit_args,
        .args = recorded_arguments(c),
        .args_hash = c->args_hash,
        .fingerprint = c->fingerprint,
        .class = c->class ? slice_str(risk_class_name((enum risk_class)c->class)) : (struct slice){0},
    };
    return audit_put_decision(core->audit, &d, wait);
}

static const char *outcome_of(const struct call *c) {
    if (c->outcome)
        return c->outcome;
    if (c->denied) /* of those that wait for a person, the verdict is the policy's still */
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

/* What detectors found in the result: counts and names, never values. */
static struct slice outcome_text(struct call *c) {
    if (!c->pii)
        return c->findings;
    return arena_printf(&c->arena, "%.*s%s%.*s", SLICE_FMT(c->findings), c->findings.len ? "; " : "",
                        SLICE_FMT(call_pii_words(c)));
}

void call_count(struct call *c) {
    const char *outcome = outcome_of(c);
    session_metrics_count(&c->session->core->metrics, c, outcome, clock_mono_us() - c->received_us);
    call_trace_end(c, outcome);
}

void call_record_outcome(struct call *c) {
    struct audit_outcome o = {
        .call = c->record,
        .status = slice_str(outcome_of(c)),
        .text = outcome_text(c),
        .latency_us = clock_mono_us() - c->received_us,
        .bytes_in = c->request->bytes.len,
        .bytes_out = c->response ? c->response->bytes.len : 0,
    };
    audit_put_outcome(c->session->core->audit, &o);
}
