#include "code/code_answer.h"

#include "wire/base64.h"

void code_answer_init(struct code_answer *a) {
    *a = (struct code_answer){0};
    buf_init(&a->content, CODE_ANSWER_MAX);
    buf_init(&a->structured, CODE_ANSWER_MAX);
}

void code_answer_free(struct code_answer *a) {
    buf_free(&a->content);
    buf_free(&a->structured);
}

static void comma(struct buf *out) {
    if (out->len)
        buf_put_char(out, ',');
}

void code_answer_text(struct code_answer *a, struct slice text) {
    comma(&a->content);
    buf_put_str(&a->content, "{\"type\":\"text\",\"text\":");
    emit_quote(&a->content, text);
    buf_put_char(&a->content, '}');
}

void code_answer_json(struct code_answer *a, struct slice json) {
    code_answer_text(a, json);
    if (json.len && json.ptr[0] == '{')
        buf_put_slice(&a->structured, json);
}

void code_answer_image(struct code_answer *a, struct slice mime, struct slice bytes) {
    comma(&a->content);
    buf_put_str(&a->content, "{\"type\":\"image\",\"mimeType\":");
    emit_quote(&a->content, mime);
    buf_put_str(&a->content, ",\"data\":\"");
    base64_put(&a->content, bytes, BASE64_PADDED);
    buf_put_str(&a->content, "\"}");
}

void code_answer_page(struct code_answer *a, size_t number, struct slice html) {
    comma(&a->content);
    buf_printf(
        &a->content,
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"preview:///%zu.html\",\"mimeType\":\"text/html\","
        "\"text\":",
        number);
    emit_quote(&a->content, html);
    buf_put_str(&a->content, "}}");
}

void code_answer_link(struct code_answer *a, struct slice uri, struct slice name, const char *mime,
                      uint64_t size) {
    comma(&a->content);
    buf_put_str(&a->content, "{\"type\":\"resource_link\",\"uri\":");
    emit_quote(&a->content, uri);
    buf_put_str(&a->content, ",\"name\":");
    emit_quote(&a->content, name);
    buf_printf(&a->content, ",\"mimeType\":\"%s\",\"size\":%llu}", mime, (unsigned long long)size);
}

void code_answer_members(const struct code_answer *a, bool structured, struct buf *out) {
    buf_put_str(out, "\"content\":[");
    buf_put_slice(out, buf_slice(&a->content));
    buf_put_char(out, ']');
    if (structured && a->structured.len) {
        buf_put_str(out, ",\"structuredContent\":");
        buf_put_slice(out, buf_slice(&a->structured));
    }
    if (a->is_error)
        buf_put_str(out, ",\"isError\":true");
}
