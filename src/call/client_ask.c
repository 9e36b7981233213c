#include "call/client_ask.h"

#include "base/mem.h"
#include "call/limits.h"

static bool is_full(const struct session *s) { return s->asks.used >= SESSION_ASKS_MAX; }

struct client_ask *client_ask_add(struct session *s, struct channel *from, struct slice server_id) {
    if (is_full(s))
        return NULL;
    struct client_ask *ask = mem_zalloc(sizeof(*ask));
    ask->from = from;
    ask->server_id = text_dup(server_id);
    ask->id = slots_add(&s->asks, ask);
    return ask;
}

void client_ask_free(struct session *s, struct client_ask *ask) {
    slots_remove(&s->asks, ask->id);
    text_free(&ask->server_id);
    free(ask);
}

void client_ask_drop(struct session *s, const struct channel *from) {
    uint32_t at = 0;
    struct client_ask *ask;
    while ((ask = slots_next(&s->asks, &at)))
        if (!from || ask->from == from)
            client_ask_free(s, ask);
}

struct client_ask *client_ask_find(struct session *s, const struct msg *answer) {
    int64_t id;
    bool numbered = answer->rpc.id && tape_int(&answer->tape, answer->rpc.id, &id) && id > 0;
    return numbered ? slots_get(&s->asks, (uint64_t)id) : NULL;
}

struct client_ask *client_ask_of_server(struct session *s, const struct channel *from,
                                        struct slice server_id) {
    uint32_t at = 0;
    struct client_ask *ask;
    while ((ask = slots_next(&s->asks, &at)))
        if (ask->from == from && slice_eq(text_slice(ask->server_id), server_id))
            return ask;
    return NULL;
}

/* ---- the gate's own questions ---- */

static void send_event(struct call *c, struct slice text, bool is_request) {
    struct splice unchanged;
    splice_init(&unchanged, text, &c->arena);
    struct session_out out = {.text = &unchanged, .is_request = is_request};
    c->sink->ops->event(c->sink, &out);
}

bool client_ask(struct call *c, struct slice method, struct slice params,
                void (*answered)(struct call *c, uint64_t id, struct msg *m), uint64_t *ret_id) {
    struct session *s = c->session;
    if (!c->sink || is_full(s))
        return false;
    struct client_ask *ask = mem_zalloc(sizeof(*ask));
    ask->call = c;
    ask->answered = answered;
    *ret_id = ask->id = slots_add(&s->asks, ask);
    send_event(c,
               arena_printf(&c->arena,
                            "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\",\"params\":%.*s}",
                            (unsigned long long)ask->id, SLICE_FMT(method), SLICE_FMT(params)),
               true);
    return true;
}

void client_ask_forget(struct session *s, uint64_t id) {
    struct client_ask *ask = slots_get(&s->asks, id);
    if (!ask)
        return;
    struct call *c = ask->call;
    client_ask_free(s, ask);
    if (!c->sink || s->closed)
        return;
    send_event(c,
               arena_printf(&c->arena,
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                            "\"requestId\":%llu,\"reason\":\"decided elsewhere\"}}",
                            (unsigned long long)id),
               false);
}
