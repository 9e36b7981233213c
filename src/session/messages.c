#include "session/messages.h"

#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/client_ask.h"
#include "channel/deliver.h"
#include "channel/outbox.h"
#include "decision/reverse.h"
#include "era/adapt.h"
#include "era/park.h"
#include "era/task.h"
#include "many/rename.h"
#include "server/server.h"

/* ---- from a server ---- */

static struct call *related_call(struct channel *ch, struct call *call, bool wants_reader) {
    struct session *s = ch->session;
    if (call)
        return call->sink ? call : NULL;
    if (ch->link->is_http && !s->stateless)
        return NULL;
    /* On a pipe a message does not name its request: it is known only while a single one is under way. */
    struct call *only = NULL;
    uint32_t found = 0;
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->sink && c->channel == ch && c->req.id) {
            only = c;
            found++;
        }
    }
    return found == 1 || (found && wants_reader && !s->stateless) ? only : NULL;
}

static void forward_request(struct channel *ch, struct call *call, struct msg *m, struct arena *a) {
    struct session *s = ch->session;
    struct slice server_id = tape_raw(&m->tape, m->rpc.id);
    struct client_ask *ask = s->version[0] ? client_ask_add(s, ch, server_id) : NULL;
    if (!ask) {
        channel_refuse(ch, server_id, RPC_INVALID_REQUEST, "the client cannot be asked here");
        return;
    }
    struct splice text;
    splice_init(&text, m->bytes, a);
    struct session_out out = {.text = &text, .msg = m, .is_request = true};
    splice_value(&text, &m->tape, m->rpc.id, arena_u64(a, ask->id));
    rename_message(ch, &text, m, (struct slice){0}, a);
    if (!deliver_message(ch, related_call(ch, call, true), &out)) {
        channel_refuse(ch, text_slice(ask->server_id), RPC_INTERNAL, "the client cannot be reached");
        client_ask_free(s, ask);
    }
}

static void on_request(struct channel *ch, struct call *call, struct msg *m, struct arena *a) {
    struct slice method = tape_text(&m->tape, m->rpc.method, a);
    if (slice_is(method, "ping")) {
        struct slice pong = arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                         SLICE_FMT(tape_raw(&m->tape, m->rpc.id)));
        channel_send(ch, pong, (struct slice){0}, NULL);
        return;
    }
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    const char *why = reverse_judge_request(ch, method, &m->tape, m->rpc.params, a);
    if (why)
        channel_refuse(ch, id, RPC_INVALID_REQUEST, why);
    else if (!ch->own_init.len)
        forward_request(ch, call, m, a);
    else if (!task_ask(ch, m, method))
        park_ask(ch, call, m, method);
}

/* The server cancels a request of its own, or ends a subscription. */
static void on_server_cancel(struct channel *ch, struct call *on, struct msg *m, struct splice *text,
                             struct arena *a) {
    struct session *s = ch->session;
    uint32_t node = rpc_param(&m->tape, &m->rpc, "requestId");
    struct session_out out = {.text = text, .msg = m};
    struct call *call = channel_call(ch, m, node);
    if (call && call->sink && call->modern) {
        splice_value(text, &m->tape, node, call->id_raw);
        deliver_message(ch, call, &out);
        return;
    }
    if (node && ch->own_init.len)
        park_take_back(ch, tape_raw(&m->tape, node));
    struct client_ask *ask = node ? client_ask_of_server(s, ch, tape_raw(&m->tape, node)) : NULL;
    if (!ask)
        return;
    splice_value(text, &m->tape, node, arena_u64(a, ask->id));
    deliver_message(ch, related_call(ch, on, true), &out); /* where the question was sent */
    client_ask_free(s, ask);
}

static void on_notification(struct channel *ch, struct call *call, struct msg *m, struct arena *a) {
    struct splice text;
    splice_init(&text, m->bytes, a);
    struct session_out out = {.text = &text, .msg = m};
    struct slice method = tape_text(&m->tape, m->rpc.method, a);
    uint32_t params = m->rpc.params;
    if (slice_is(method, "notifications/cancelled")) {
        on_server_cancel(ch, call, m, &text, a);
        return;
    }
    if (slice_is(method, "notifications/tools/list_changed"))
        server_forget_tools(ch->server);
    if (!reverse_may_deliver(ch, method, m, a))
        return;
    if (slice_is(method, "notifications/progress")) {
        uint32_t token = params ? tape_get_str(&m->tape, params, "progressToken") : 0;
        struct call *owner = channel_call(ch, m, token);
        if (owner && owner->sink && owner->token_raw.len &&
            splice_value(&text, &m->tape, token, owner->token_raw))
            deliver_message(ch, owner, &out);
        return; /* progress of a call that is over, and unsolicited progress, is dropped */
    }
    if (ch->own_init.len) {
        adapt_notification(ch, call, m, method, a);
        return;
    }
    if (!rename_message(ch, &text, m, method, a))
        return;
    uint32_t sub =
        params ? tape_path(&m->tape, params, "_meta", "io.modelcontextprotocol/subscriptionId", NULL) : 0;
    if (sub) {
        struct own_request *own = channel_own_request(ch, m, sub);
        if (own && own->message) {
            own->message(own, m);
            return;
        }
        struct call *owner = channel_call(ch, m, sub);
        if (owner && owner->sink && splice_value(&text, &m->tape, sub, owner->id_raw))
            deliver_message(ch, owner, &out);
        return;
    }
    bool about_lists =
        slice_ends(method, SLICE("list_changed")) || slice_is(method, "notifications/resources/updated");
    struct call *to = call || !about_lists || ch->session->stateless ? related_call(ch, call, false) : NULL;
    /* No client gets another client's log messages: a guessed call gets them only if it requested them. */
    if (to && !call && ch->session->stateless && slice_is(method, "notifications/message") && !to->wants_log)
        to = NULL;
    if (!deliver_message(ch, to, &out))
        log_debug("server `%s`: %.*s: no client to deliver it to", ch->server->up.name, SLICE_FMT(method));
}

void messages_from_server(struct channel *ch, struct call *call, struct msg *m) {
    cleanup_arena struct arena a;
    arena_init(&a);
    if (m->rpc.kind == RPC_REQUEST)
        on_request(ch, call, m, &a);
    else
        on_notification(ch, call, m, &a);
}

/* ---- from the client ---- */

/* The client's answer to a server's request is sent back under the server's own id. */
static void answer_server(struct session *s, struct client_ask *ask, struct msg *m) {
    struct channel *ch = ask->from;
    if (ch->link && ch->state == CHANNEL_READY) {
        cleanup_arena struct arena a;
        arena_init(&a);
        struct splice text;
        splice_init(&text, m->bytes, &a);
        splice_value(&text, &m->tape, m->rpc.id, text_slice(ask->server_id));
        if (ch->link->ops == &link_child_ops)
            msg_flatten(m);
        struct link_out out = {.text = &text, .block = m->block};
        link_send(ch->link, &out, NULL);
    }
    client_ask_free(s, ask);
}

bool messages_refuse_answer(struct session *s, struct slice bytes, const char *why) {
    cleanup_arena struct arena a;
    struct slice id;
    arena_init(&a);
    if (!rpc_find_answered(bytes, &a, &id))
        return false;
    const char *text = arena_printf(&a, "the client's answer cannot be read: %s", why).ptr;
    struct msg *m = call_read_text(s->core, answer_error_text(&a, id, RPC_INTERNAL, text));
    bool known = m && client_ask_find(s, m);
    if (known)
        messages_answer_from_client(s, m);
    msg_unref(m);
    return known;
}

void messages_answer_from_client(struct session *s, struct msg *m) {
    struct client_ask *ask = client_ask_find(s, m);
    if (!ask) {
        log_debug("client's answer to no request under way");
        return;
    }
    if (!ask->call) {
        answer_server(s, ask, m);
        return;
    }
    struct client_ask taken = *ask;
    client_ask_free(s, ask);
    taken.answered(taken.call, taken.id, m);
}
