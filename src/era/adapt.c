#include "era/adapt.h"

#include "approval/approve.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/client.h"
#include "channel/channel.h"
#include "channel/choice.h"
#include "channel/deliver.h"
#include "era/input.h"
#include "era/listen.h"
#include "era/park.h"
#include "era/task.h"
#include "guard/clean.h"
#include "mcp/translate.h"
#include "record/span.h"
#include "server/server.h"
#include "wire/emit.h"

#include <stdio.h>

static const char *const legacy_versions[] = {"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18",
                                              UP_LEGACY_VERSION};

/* ---- a legacy client, a modern server ---- */

/* The client's description from initialize, which every modern request repeats. */
static void read_client(struct session *s) {
    if (s->client_meta.len)
        return;
    cleanup_tape struct tape t;
    cleanup_arena struct arena a;
    tape_init(&t);
    arena_init(&a);
    /* Legacy servers send log messages by default. */
    struct translate_client client = {.capabilities = SLICE("{}"),
                                      .log_level = slice_str(s->log_level[0] ? s->log_level : "info")};
    struct translate_client with_tasks = client;
    uint32_t bits = s->client_bits;
    if (s->init_params.len && tape_parse(&t, text_slice(s->init_params), NULL) == TAPE_OK) {
        uint32_t caps = tape_get_str(&t, 0, "capabilities"), info = tape_get_str(&t, 0, "clientInfo");
        client.capabilities = translate_client(&t, caps, false, &a);
        with_tasks.capabilities = translate_client(&t, caps, true, &a);
        bits = translate_client_bits(&t, caps);
        if (info && tape_is(&t, info, TAPE_OBJECT))
            client.info = with_tasks.info = tape_raw(&t, info);
    }
    struct slice meta = translate_client_meta(&client, &a);
    struct slice task_meta = translate_client_meta(&with_tasks, &a);
    client_set_meta(s, meta, task_meta, bits);
}

static struct slice settle_version(const struct call *c) {
    const struct msg *m = c->request;
    uint32_t asked = rpc_param(&m->tape, &m->rpc, "protocolVersion");
    for (size_t i = 0; asked && i < ARRAY_LEN(legacy_versions); i++)
        if (tape_eq(&m->tape, asked, slice_str(legacy_versions[i])))
            return slice_str(legacy_versions[i]);
    return SLICE(UP_LEGACY_VERSION);
}

static enum call_next answer_initialize(struct call *c) {
    struct session *s = c->session;
    struct channel *ch = c->channel;
    if (!channel_describe(ch, c))
        return CALL_WAIT;
    struct slice version = settle_version(c), description;
    struct slice params =
        c->request->rpc.params ? tape_raw(&c->request->tape, c->request->rpc.params) : SLICE("{}");
    struct tape t;
    tape_init(&t);
    description = tape_parse(&t, text_slice(ch->description), NULL) == TAPE_OK
                      ? translate_description_down(&t, 0, version, &c->arena)
                      : (struct slice){0};
    tape_free(&t);
    if (!description.len || params.len > SESSION_INIT_MAX)
        return answer_refuse(c, RPC_INVALID_REQUEST, 0, "initialize is too large");
    client_set_version(s, version);
    client_keep_initialize(s, params);
    return answer_result(c, clean_description_text(c, description));
}

static enum call_next set_log_level(struct call *c) {
    const struct msg *m = c->request;
    struct slice text = rpc_param_text(&m->tape, &m->rpc, "level", &c->arena);
    if (translate_log_rank(text) < 0)
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, "params.level must be a log level");
    if (!(c->channel->server_bits & TRANSLATE_LOGGING) && c->channel->description.len)
        return answer_unknown_method(c);
    client_set_level(c->session, text);
    return answer_result(c, SLICE("{}"));
}

static enum call_next forward_up(struct call *c) {
    if (c->kind == CALL_INITIALIZE)
        return answer_initialize(c);
    if (c->kind == CALL_INITIALIZED) {
        listen_refresh(c->channel);
        return CALL_FAIL;
    }
    /* Legacy notifications have another form in the modern era, or none. */
    if (!c->request->rpc.id)
        return CALL_FAIL;
    if (slice_is(c->method, "logging/setLevel"))
        return set_log_level(c);
    bool on = slice_is(c->method, "resources/subscribe");
    if (on || slice_is(c->method, "resources/unsubscribe")) {
        if (!channel_describe(c->channel, c))
            return CALL_WAIT;
        if (!(c->channel->server_bits & TRANSLATE_SUBSCRIBE))
            return answer_unknown_method(c);
        enum call_next next = listen_subscribe(c, on);
        return next == CALL_NEXT ? answer_result(c, SLICE("{}")) : next;
    }
    if (translate_is_gone(c->method))
        return answer_unknown_method(c);
    return task_forward(c);
}

static bool request_up(struct call *c, struct splice *text, struct slice token) {
    struct session *s = c->session;
    read_client(s);
    return translate_request_up(text, &c->request->tape, &c->request->rpc,
                                text_slice(c->task_turn == TASK_PLAIN ? s->client_meta : s->client_task_meta),
                                token, span_context(c),
                                c->task_turn == TASK_GET ? (struct slice){0} : input_members(c));
}

/* ---- a modern client, a legacy server ---- */

static enum call_next answer_discover(struct call *c) {
    struct tape t;
    tape_init(&t);
    struct slice description = tape_parse(&t, text_slice(c->channel->description), NULL) == TAPE_OK
                                   ? translate_description_up(&t, 0, &c->arena)
                                   : (struct slice){0};
    tape_free(&t);
    if (!description.len)
        return answer_refuse(c, RPC_INTERNAL, 502, "the server has not described itself");
    return answer_result(c, clean_description_text(c, description));
}

static enum call_next forward_down(struct call *c) {
    if (!c->request->rpc.id)
        return CALL_FAIL;
    if (slice_is(c->method, "server/discover"))
        return answer_discover(c);
    if (translate_is_gone(c->method))
        return answer_unknown_method(c);
    channel_choice_read(c);
    if (c->kind == CALL_LISTEN)
        return listen_start(c);
    enum call_next next = task_forward(c);
    if (next != CALL_NEXT)
        return next;
    uint32_t state =
        translate_may_ask(c->method) && rpc_param(&c->request->tape, &c->request->rpc, "requestState");
    if (state && !c->answers && !approve_has_state(c))
        return answer_refuse(c, RPC_INVALID_PARAMS, 0, "this requestState was not made here");
    return listen_log_level(c);
}

/* ---- both ---- */

enum call_next adapt_forward(struct call *c) { return c->modern ? forward_down(c) : forward_up(c); }

bool adapt_request_text(struct call *c, struct splice *text) {
    struct slice token = c->token_raw.len ? arena_u64(&c->arena, c->req.id) : (struct slice){0};
    struct slice method = task_method(c);
    if (!slice_eq(method, c->method) && !splice_value(text, &c->request->tape, c->request->rpc.method,
                                                      arena_printf(&c->arena, "\"%.*s\"", SLICE_FMT(method))))
        return false;
    if (!c->modern)
        return request_up(c, text, token);
    return translate_request_down(text, &c->request->tape, &c->request->rpc, token, span_context(c),
                                  task_members(c));
}

static enum call_next bad_answer(struct call *c) {
    return answer_refuse(c, RPC_INTERNAL, 502, "the server's answer could not be translated");
}

static enum call_next translate_error(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t node = tape_get_str(&m->tape, m->rpc.body, "code");
    int64_t code;
    if (!node || !tape_int(&m->tape, node, &code))
        return CALL_NEXT;
    int64_t other = c->modern ? translate_error_up(code, c->method)
                              : translate_error_down(code, c->method, &m->tape, m->rpc.body);
    if (other != code &&
        !splice_value(text, &m->tape, node, arena_printf(&c->arena, "%lld", (long long)other)))
        return bad_answer(c);
    return CALL_NEXT;
}

/* Many servers check the declared capabilities before they ask, and refuse with their own error texts. */
static uint32_t refused_bit(struct call *c) {
    const struct msg *m = c->response;
    uint32_t content = m->rpc.kind == RPC_RESULT ? tape_get_str(&m->tape, m->rpc.body, "content") : 0;
    bool one = content && tape_is(&m->tape, content, TAPE_ARRAY) && tape_node(&m->tape, content)->count == 1;
    uint32_t object = m->rpc.kind == RPC_ERROR ? m->rpc.body : one ? content + 1 : 0;
    uint32_t text = object && tape_is(&m->tape, object, TAPE_OBJECT)
                        ? tape_get_str(&m->tape, object, m->rpc.kind == RPC_ERROR ? "message" : "text")
                        : 0;
    if (!text || !tape_is(&m->tape, text, TAPE_STRING))
        return 0;
    return translate_lacking_bit(tape_text(&m->tape, text, &c->arena)) & ~c->client_bits;
}

/* The call failed because the client could not be asked: the modern era has an error code for that. */
static uint32_t lacks_capability(struct call *c) {
    const struct msg *m = c->response;
    uint32_t flag = m->rpc.kind == RPC_RESULT ? tape_get_str(&m->tape, m->rpc.body, "isError") : 0;
    if (m->rpc.kind != RPC_ERROR && !(flag && tape_is(&m->tape, flag, TAPE_TRUE)))
        return 0;
    return c->missing ? c->missing : translate_may_ask(c->method) ? refused_bit(c) : 0;
}

static int64_t error_code(const struct msg *m) {
    int64_t code = 0;
    uint32_t node = m->rpc.kind == RPC_ERROR ? tape_get_str(&m->tape, m->rpc.body, "code") : 0;
    return node && tape_int(&m->tape, node, &code) ? code : 0;
}

/* Retries as a modern client does, once, after a refusal that is not about the call itself: the headers
 * came from an outdated list of tools, or the server supports another version. */
enum call_next adapt_retry(struct call *c) {
    const struct msg *m = c->response;
    int64_t code = error_code(m);
    bool headers = code == RPC_HEADER_MISMATCH && c->kind == CALL_TOOLS_CALL;
    if (c->again || c->mirrored || !channel_is_modern(c->channel) || !c->request->bytes.ptr ||
        !(headers || (code == RPC_VERSION_UNSUPPORTED && up_era_offers(&m->tape, m->rpc.body))))
        return CALL_NEXT;
    c->again = true;
    if (headers)
        server_forget_tools(c->server);
    return CALL_RESEND;
}

enum call_next adapt_answer(struct call *c) {
    const struct msg *m = c->response;
    if (!c->cross_era || c->translated)
        return CALL_NEXT;
    struct splice *text = c->answer;
    uint32_t lacking = c->modern ? lacks_capability(c) : 0;
    if (lacking)
        return answer_lacks(c, translate_ask_capability(lacking));
    if (m->rpc.kind == RPC_ERROR && c->modern && error_code(m) == RPC_URL_ELICITATION &&
        translate_may_ask(c->method)) {
        if (!(c->client_bits & TRANSLATE_URL))
            return answer_lacks(c, translate_ask_capability(TRANSLATE_URL));
        if (park_urls(c))
            return CALL_FAIL;
    }
    if (m->rpc.kind == RPC_ERROR)
        return translate_error(c, text);
    if (c->modern)
        return translate_result_up(text, &m->tape, m->rpc.body, c->method, c->channel->server_info)
                   ? CALL_NEXT
                   : bad_answer(c);
    enum call_next next = input_start(c);
    if (next != CALL_NEXT)
        return next;
    return translate_result_down(text, &m->tape, m->rpc.body, c->method) ? CALL_NEXT : bad_answer(c);
}

/* ---- messages that legacy servers send on their own ---- */

/* Log messages go to the call on whose stream they came; on pipes, to the only call under way. */
static struct call *log_reader(struct channel *ch, struct call *call) {
    if (call || ch->link->is_http)
        return call;
    struct call *only = NULL;
    LIST_FOR (n, &ch->session->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->channel != ch || !c->req.id)
            continue;
        if (only)
            return NULL;
        only = c;
    }
    return only;
}

void adapt_notification(struct channel *ch, struct call *call, struct msg *m, struct slice method,
                        struct arena *a) {
    if (slice_is(method, "notifications/message")) {
        struct call *to = log_reader(ch, call);
        uint32_t level = rpc_param(&m->tape, &m->rpc, "level");
        int rank = level && tape_is(&m->tape, level, TAPE_STRING)
                       ? translate_log_rank(tape_text(&m->tape, level, a))
                       : -1;
        struct splice text;
        splice_init(&text, m->bytes, a);
        struct session_out out = {.text = &text, .msg = m};
        if (to && to->sink && to->wants_log && rank >= to->log_rank)
            deliver_message(ch, to, &out);
    } else {
        listen_deliver(ch, m, method, a);
    }
}
