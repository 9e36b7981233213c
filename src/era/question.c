#include "era/question.h"

#include "base/mem.h"
#include "channel/channel.h"
#include "channel/outbox.h"
#include "mcp/translate.h"
#include "privacy/redact.h"

#include <stdio.h>

bool question_words(struct channel *ch, const struct tape *t, uint32_t params, struct arena *a,
                    struct slice *ret_text, struct slice *ret_shown) {
    struct slice original = params ? translate_ask(t, params, NULL, a) : SLICE("{}"), shown = original;
    if (!redact_params(ch->session, ch->server, &shown, a))
        return false;
    *ret_text = original;
    *ret_shown = shown;
    return true;
}

void question_init(struct server_question *q, uint32_t number, struct slice server_id, struct slice method,
                   struct slice params) {
    *q = (struct server_question){.number = number,
                                  .server_id = mem_dup(server_id.ptr, server_id.len),
                                  .method = mem_dup(method.ptr, method.len),
                                  .params = mem_dup(params.ptr, params.len)};
}

void question_clear(struct server_question *q) {
    list_remove(&q->node);
    free(q->server_id);
    free(q->method);
    free(q->params);
}

struct slice question_key(const struct server_question *q, char text[QUESTION_KEY_MAX]) {
    snprintf(text, QUESTION_KEY_MAX, "q%u", q->number);
    return slice_str(text);
}

void question_emit(const struct server_question *q, struct emit *e) {
    char key[QUESTION_KEY_MAX];
    emit_key(e, question_key(q, key).ptr);
    emit_object(e);
    emit_key(e, "method");
    emit_cstr(e, q->method);
    emit_key(e, "params");
    emit_raw(e, slice_str(q->params));
    emit_object_end(e);
}

void question_answer(const struct server_question *q, struct channel *ch, struct slice json) {
    cleanup_arena struct arena a;
    arena_init(&a);
    channel_send(
        ch,
        arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%.*s}", q->server_id, SLICE_FMT(json)),
        (struct slice){0}, NULL);
}
