#include "code/code_reply.h"

#include "code/code_req.h"

#define TTL_MS 5000 /* how long clients may cache a list: files and skills change */

static void begin(struct code_req *r, struct buf *out, const char *result_type) {
    const struct code_server *s = r->conn->server;
    buf_init(out, CODE_ANSWER_MAX);
    buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{", SLICE_FMT(r->id));
    if (!r->modern)
        return;
    buf_printf(out,
               "\"resultType\":\"%s\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"%s\"",
               result_type, s->face->server_name);
    buf_printf(out, ",\"version\":\"%s\"}}",
               s->face->server_version ? s->face->server_version : SALLYPORT_VERSION);
}

static void put_members(struct buf *out, struct slice members) {
    if (members.len && out->ptr[out->len - 1] != '{')
        buf_put_char(out, ',');
    buf_put_slice(out, members);
}

static void finish(struct code_req *r, struct buf *out) {
    buf_put_str(out, "}}");
    if (out->full) {
        buf_free(out);
        code_reply_error(r, RPC_INTERNAL, "the answer is too large");
        return;
    }
    code_req_send(r, buf_slice(out));
    buf_free(out);
    code_req_free(r);
}

void code_reply(struct code_req *r, struct slice members) {
    struct buf out;
    begin(r, &out, "complete");
    put_members(&out, members);
    finish(r, &out);
}

/* Lists: private to one principal. */
void code_reply_cached(struct code_req *r, struct slice members) {
    struct buf out;
    begin(r, &out, "complete");
    if (r->modern)
        buf_printf(&out, ",\"ttlMs\":%d,\"cacheScope\":\"private\"", TTL_MS);
    put_members(&out, members);
    finish(r, &out);
}

void code_reply_task(struct code_req *r, struct slice members) {
    struct buf out;
    begin(r, &out, "task");
    put_members(&out, members);
    finish(r, &out);
}

void code_reply_error(struct code_req *r, int code, const char *message) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%d,\"message\":", SLICE_FMT(r->id),
               code);
    emit_quote(&out, slice_str(message));
    buf_put_str(&out, "}}");
    code_req_send(r, buf_slice(&out));
    code_req_free(r);
}

void code_reply_error_as(struct code_req *r, struct slice error) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":%.*s}", SLICE_FMT(r->id), SLICE_FMT(error));
    code_req_send(r, buf_slice(&out));
    code_req_free(r);
}

void code_reply_answer(struct code_req *r, const struct code_answer *a) {
    struct buf out;
    begin(r, &out, "complete");
    if (r->modern)
        buf_put_char(&out, ',');
    code_answer_members(a, r->conn->server->face->structured, &out);
    finish(r, &out);
}

void code_reply_text(struct code_req *r, struct slice text, bool is_error) {
    struct code_answer a;
    code_answer_init(&a);
    code_answer_text(&a, text);
    a.is_error = is_error;
    code_reply_answer(r, &a);
    code_answer_free(&a);
}

void code_reply_json(struct code_req *r, struct slice json, bool is_error) {
    struct code_answer a;
    code_answer_init(&a);
    code_answer_json(&a, json);
    a.is_error = is_error && r->conn->server->face->structured;
    code_reply_answer(r, &a);
    code_answer_free(&a);
}
