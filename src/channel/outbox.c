#include "channel/outbox.h"

#include "base/log.h"
#include "call/answer.h"
#include "call/call.h"
#include "wire/emit.h"

void channel_send(struct channel *ch, struct slice text, struct slice method, struct link_req *req) {
    struct arena a;
    arena_init(&a);
    struct splice unchanged;
    splice_init(&unchanged, text, &a);
    bool opens = slice_is(method, "initialize");
    struct link_out out = {
        .text = &unchanged,
        .method = method,
        .modern = !opens && (ch->era == ERA_MODERN || ch->state == CHANNEL_PROBE),
        .opens = opens,
    };
    if (!link_send(ch->link, &out, req) && req)
        link_end(req);
    arena_free(&a);
}

void channel_cancel(struct channel *ch, uint64_t id, struct slice reason) {
    cleanup_buf struct buf note;
    buf_init(&note, CALL_REASON_MAX * 6 + 256); /* every byte may need an escape */
    buf_printf(&note,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%llu,"
               "\"reason\":",
               (unsigned long long)id);
    emit_quote(&note, slice_upto(reason, CALL_REASON_MAX));
    buf_put_str(&note, "}}");
    channel_send(ch, buf_slice(&note), SLICE("notifications/cancelled"), NULL);
}

struct slice channel_own_text(const struct channel *ch, uint64_t id, const char *method, struct slice members,
                              struct arena *a) {
    bool modern = ch->era == ERA_MODERN;
    return arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\",\"params\":{%.*s%s%s}}",
                        (unsigned long long)id, method, SLICE_FMT(members), members.len && modern ? "," : "",
                        modern ? "\"_meta\":" UP_META_OWN : "");
}

void channel_refuse(struct channel *ch, struct slice server_id, int code, const char *why) {
    if (ch->era == ERA_MODERN &&
        ch->link->is_http) { /* over HTTP the modern era has no requests from servers */
        log_server(LOG_WARN, ch->server->up.name, "server `%s` sent a request, which its era does not know",
                   ch->server->up.name);
        return;
    }
    struct arena a;
    arena_init(&a);
    channel_send(ch, answer_error_text(&a, server_id, code, why), (struct slice){0}, NULL);
    arena_free(&a);
}

struct own_request *channel_as_own(void *call) {
    struct own_request *own = call;
    return own->magic == OWN_REQUEST_MAGIC ? own : NULL;
}

static struct link_req *find_request(const struct channel *ch, const struct msg *m, uint32_t node) {
    int64_t id;
    return node && tape_int(&m->tape, node, &id) && id > 0 ? link_find(ch->link, (uint64_t)id) : NULL;
}

struct own_request *channel_own_request(const struct channel *ch, const struct msg *m, uint32_t node) {
    struct link_req *req = find_request(ch, m, node);
    return req ? channel_as_own(req->call) : NULL;
}

struct call *channel_call(const struct channel *ch, const struct msg *m, uint32_t node) {
    struct link_req *req = find_request(ch, m, node);
    return req && !channel_as_own(req->call) ? req->call : NULL;
}
