#include "session/answer.h"

struct splice *call_text(struct call *c, struct slice text) {
    struct splice *s = arena_alloc(&c->arena, sizeof(*s));
    splice_init(s, text, &c->arena);
    return s;
}

struct slice call_error_text(struct arena *a, struct slice id_raw, int code, const char *message) {
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

void call_set_error_data(struct call *c, int code, const char *message, struct slice data) {
    struct slice text = call_error_text(&c->arena, c->id_raw, code, message);
    /* before the two closing braces */
    c->answer = call_text(
        c, arena_printf(&c->arena, "%.*s,\"data\":%.*s}}", (int)text.len - 2, text.ptr, SLICE_FMT(data)));
    c->answer_msg = NULL;
    c->http_status = 0;
}

void call_set_error(struct call *c, int code, int http_status, const char *message) {
    c->answer = call_text(c, call_error_text(&c->arena, c->id_raw, code, message));
    c->answer_msg = NULL;
    c->http_status = http_status;
}

static void emit_denial(struct emit *e, struct call *c) {
    const struct policy_verdict *v = &c->verdict;
    emit_key(e, "_meta");
    emit_object(e);
    emit_key(e, "sallyport/denial");
    emit_object(e);
    emit_key(e, "rule");
    emit_str(e, v->rule);
    emit_key(e, "policy");
    emit_str(e, policy_name(c->policy));
    emit_key(e, "reason");
    emit_cstr(e, policy_reason_name(v->reason));
    if (v->retry_after_ms) {
        emit_key(e, "retry_after_ms");
        emit_int(e, (int64_t)v->retry_after_ms);
    }
    if (v->detail.len) {
        emit_key(e, "detail");
        emit_str(e, v->detail);
    }
    emit_object_end(e);
    emit_object_end(e);
}

void call_emit_result(const struct call *c, struct emit *e, struct buf *out) {
    emit_init(e, out);
    emit_object(e);
    emit_key(e, "jsonrpc");
    emit_cstr(e, "2.0");
    emit_key(e, "id");
    emit_raw(e, c->id_raw);
    emit_key(e, "result");
    emit_object(e);
}

/* A denied tool call is answered with a result, so that the agent reads the reason. */
struct slice call_denial_text(struct call *c, struct slice text) {
    struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    struct emit e;
    call_emit_result(c, &e, &out);
    if (c->modern) {
        emit_key(&e, "resultType");
        emit_cstr(&e, "complete");
    }
    emit_key(&e, "content");
    emit_array(&e);
    emit_object(&e);
    emit_key(&e, "type");
    emit_cstr(&e, "text");
    emit_key(&e, "text");
    emit_str(&e, text);
    emit_object_end(&e);
    emit_array_end(&e);
    emit_key(&e, "isError");
    emit_bool(&e, true);
    emit_denial(&e, c);
    emit_object_end(&e);
    emit_object_end(&e);
    struct slice result = arena_dup(&c->arena, buf_slice(&out));
    buf_free(&out);
    return result;
}

void call_set_denied(struct call *c) {
    c->denied = true;
    if (!c->id_raw.len)
        return;
    struct slice text = arena_dup(&c->arena, policy_verdict_text(c->policy, &c->verdict, &c->arena));
    bool is_call = c->kind == CALL_TOOLS_CALL;
    bool hidden = is_call && c->verdict.reason == POLICY_BY_HIDE;
    /* What is hidden must look as if it were not there; Intercept's dialect says so in its own words. */
    if (hidden && policy_dialect(c->policy) != POLICY_INTERCEPT)
        call_set_error(c, RPC_INVALID_PARAMS, 0,
                       arena_printf(&c->arena, "Unknown tool: %.*s", SLICE_FMT(c->name)).ptr);
    else if (!is_call)
        call_set_error(c, RPC_INVALID_REQUEST, 0, text.ptr);
    else
        c->answer = call_text(c, call_denial_text(c, text));
}

struct slice call_quoted(struct arena *a, struct slice text) {
    struct buf out;
    buf_init(&out, text.len * 6 + 2);
    emit_quote(&out, text);
    struct slice kept = arena_dup(a, buf_slice(&out));
    buf_free(&out);
    return kept;
}
