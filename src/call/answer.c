#include "call/answer.h"

struct splice *answer_text(struct call *c, struct slice text) {
    struct splice *s = arena_alloc(&c->arena, sizeof(*s));
    splice_init(s, text, &c->arena);
    return s;
}

struct slice answer_error_text(struct arena *a, struct slice id_raw, int code, const char *message) {
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "jsonrpc");
    emit_cstr(&e, "2.0");
    emit_key(&e, "id");
    emit_raw(&e, id_raw.len ? id_raw : SLICE("null"));
    emit_key(&e, "error");
    emit_object(&e);
    emit_key(&e, "code");
    emit_int(&e, code);
    emit_key(&e, "message");
    emit_cstr(&e, message);
    emit_object_end(&e);
    emit_object_end(&e);
    struct slice text = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return text;
}

void answer_set(struct call *c, struct slice text) {
    c->answer = answer_text(c, text);
    c->answer_msg = NULL;
    c->http_status = 0;
}

void answer_set_response(struct call *c, int http_status) {
    c->answer = answer_text(c, c->response->bytes);
    c->answer_msg = c->response;
    c->http_status = http_status;
}

void answer_error_data(struct call *c, int code, const char *message, struct slice data) {
    struct slice text = answer_error_text(&c->arena, c->id_raw, code, message);
    /* before the two closing braces */
    answer_set(c,
               arena_printf(&c->arena, "%.*s,\"data\":%.*s}}", (int)text.len - 2, text.ptr, SLICE_FMT(data)));
}

void answer_error(struct call *c, int code, int http_status, const char *message) {
    answer_set(c, answer_error_text(&c->arena, c->id_raw, code, message));
    c->fault = arena_dup(&c->arena, slice_str(message));
    c->http_status = http_status;
}

enum call_next answer_refuse(struct call *c, int code, int http_status, const char *message) {
    answer_error(c, code, http_status, message);
    return CALL_FAIL;
}

enum call_next answer_unknown_method(struct call *c) {
    return answer_refuse(c, RPC_METHOD_NOT_FOUND, c->modern ? 404 : 0, "Method not found");
}

enum call_next answer_lacks(struct call *c, const char *capabilities) {
    answer_error_data(c, RPC_CAPABILITY_MISSING, "Missing required client capability",
                      arena_printf(&c->arena, "{\"requiredCapabilities\":%s}", capabilities));
    c->http_status = 400;
    return CALL_FAIL;
}

enum call_next answer_result(struct call *c, struct slice result) {
    answer_set(c, arena_printf(&c->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%.*s}",
                               SLICE_FMT(c->id_raw), SLICE_FMT(result)));
    call_set_outcome(c, "ok");
    return CALL_FAIL;
}

void answer_fail(struct call *c, const char *why) {
    answer_error(c, RPC_INTERNAL, 502, why);
    call_conclude(c);
}

void answer_emit(const struct call *c, struct emit *e, struct buf *out) {
    emit_init(e, out);
    emit_object(e);
    emit_key(e, "jsonrpc");
    emit_cstr(e, "2.0");
    emit_key(e, "id");
    emit_raw(e, c->id_raw);
    emit_key(e, "result");
    emit_object(e);
}

/* The machine-readable part of a denial. */
static void put_denial(struct buf *out, const struct call *c) {
    const struct policy_verdict *v = &c->verdict;
    buf_put_slice(out, SLICE("{\"sallyport/denial\":{\"rule\":"));
    emit_quote(out, v->rule);
    buf_put_slice(out, SLICE(",\"policy\":"));
    emit_quote(out, policy_name(c->policy));
    buf_put_slice(out, SLICE(",\"reason\":"));
    emit_quote(out, slice_str(policy_reason_name(v->reason)));
    if (v->retry_after_ms) {
        buf_put_slice(out, SLICE(",\"retry_after_ms\":"));
        buf_put_u64(out, v->retry_after_ms);
    }
    if (v->detail.len) {
        buf_put_slice(out, SLICE(",\"detail\":"));
        emit_quote(out, v->detail);
    }
    if (v->path.len) {
        buf_put_slice(out, SLICE(",\"path\":"));
        emit_quote(out, v->path);
    }
    buf_put_slice(out, SLICE("}}"));
}

/* A denied tool call is answered with a result, so that the agent reads the reason. Denials can be frequent,
 * so their constant parts are stored here as they are sent. */
static struct slice denial_text(struct call *c, struct slice text) {
    struct buf *out = &c->session->core->scratch;
    buf_reset(out);
    buf_put_slice(out, SLICE("{\"jsonrpc\":\"2.0\",\"id\":"));
    buf_put_slice(out, c->id_raw);
    buf_put_slice(out, SLICE(",\"result\":{"));
    if (c->modern)
        buf_put_slice(out, SLICE("\"resultType\":\"complete\","));
    buf_put_slice(out, SLICE("\"content\":[{\"type\":\"text\",\"text\":"));
    emit_quote(out, text);
    buf_put_slice(out, SLICE("}],\"isError\":true,\"_meta\":"));
    put_denial(out, c);
    buf_put_slice(out, SLICE("}}"));
    return arena_dup(&c->arena, buf_slice(out));
}

/* The answer for the call's verdict. */
static void denied(struct call *c) {
    c->denied = true;
    if (!c->id_raw.len)
        return;
    bool is_call = c->kind == CALL_TOOLS_CALL;
    /* A hidden tool is answered like one that does not exist; Intercept's dialect has its own text for it. */
    bool hidden =
        is_call && c->verdict.reason == POLICY_BY_HIDE && policy_dialect(c->policy) != POLICY_INTERCEPT;
    const struct policy_verdict verdict = c->verdict;
    const bool unlisted = hidden && policy_verdict_unlisted(c->policy, c->name, &c->arena, &c->verdict);
    struct slice text = policy_verdict_text(c->policy, &c->verdict, &c->arena);
    if (hidden && !unlisted)
        answer_error(c, RPC_INVALID_PARAMS, 0,
                     arena_printf(&c->arena, "Unknown tool: %.*s", SLICE_FMT(c->name)).ptr);
    else if (!is_call) {
        struct buf *data = &c->session->core->scratch;
        buf_reset(data);
        put_denial(data, c);
        answer_error_data(c, RPC_INVALID_REQUEST, text.ptr, buf_slice(data));
    } else
        answer_set(c, denial_text(c, text));
    c->verdict = verdict; /* the audit record has the real verdict */
}

enum call_next answer_deny(struct call *c) {
    denied(c);
    return CALL_FAIL;
}

void answer_withheld(struct call *c, const char *outcome) {
    struct slice why = policy_verdict_text(c->policy, &c->verdict, &c->arena);
    if (c->kind == CALL_TOOLS_CALL)
        answer_set(c, denial_text(c, why));
    else
        answer_error(c, RPC_INVALID_REQUEST, 0, why.ptr);
    call_set_outcome(c, outcome);
}

struct slice answer_quoted(struct arena *a, struct slice text) {
    struct buf out;
    buf_init(&out, text.len * 6 + 2);
    emit_quote(&out, text);
    struct slice kept = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return kept;
}
