/* The walk of one message. A front receives and parses it (RECV, PARSE); from then on it stands in exactly
 * one of the steps below, each a function that says what comes next. Waiting happens only here. A denied or
 * failed call skips to SETTLE. Tools called from anywhere else inside the gate enter at IDENTIFY like
 * everybody: there is no second way in.
 *
 *   IDENTIFY → ROUTE → RESTORE → DECIDE → RESERVE → APPROVE → NOTE → FORWARD → AWAIT → FILTER → SETTLE →
 *   RECORD → REPLY
 */
#include "call/call.h"

#include "approval/approve.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/limits.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/health.h"
#include "era/input.h"
#include "era/listen.h"
#include "era/park.h"
#include "many/gather.h"
#include "many/route.h"
#include "privacy/restore.h"
#include "server/server.h"
#include "session/session.h"
#include "session/steps.h"
#include "wire/clash.h"

#define CALL_MAGIC 0xca11ca11

static enum call_next step_identify(struct call *c);
static enum call_next step_route(struct call *c);
static enum call_next step_restore(struct call *c);
static enum call_next step_reply(struct call *c);

enum {
    STEP_IDENTIFY,
    STEP_ROUTE,
    STEP_RESTORE,
    STEP_DECIDE,
    STEP_RESERVE,
    STEP_APPROVE,
    STEP_NOTE,
    STEP_FORWARD,
    STEP_AWAIT,
    STEP_FILTER,
    STEP_SETTLE,
    STEP_RECORD,
    STEP_REPLY,
    STEP_END,
};

static enum call_next (*const call_steps[])(struct call *) = {
    [STEP_IDENTIFY] = step_identify,     /* who asks */
    [STEP_ROUTE] = step_route,           /* what it is about, and which server it goes to */
    [STEP_RESTORE] = step_restore,       /* tokens in its arguments become values, so that they are judged */
    [STEP_DECIDE] = judge_step_decide,   /* the policy's verdict */
    [STEP_RESERVE] = judge_step_reserve, /* its limits: all of them or none */
    [STEP_APPROVE] = approve_step,       /* a person's, where the policy asks for one */
    [STEP_NOTE] = record_step_note,      /* the decision goes on record before anything is done */
    [STEP_FORWARD] = forward_step_send,  /* to the server, as soon as its link is ready */
    [STEP_AWAIT] = forward_step_await,   /* its answer */
    [STEP_FILTER] = result_step_filter,  /* what of the answer the client may see */
    [STEP_SETTLE] = judge_step_settle,   /* what its limits held is kept or given back */
    [STEP_RECORD] = record_step_outcome, /* what came of it */
    [STEP_REPLY] = step_reply,           /* to the client */
};

/* ---- life ---- */

static struct call *call_new(struct session *s) {
    struct core *core = s->core;
    struct call *c = core->free_calls;
    if (c) {
        core->free_calls = c->next_free;
        core->free_call_count--;
    } else {
        c = mem_zalloc(sizeof(*c));
        arena_init(&c->arena);
    }
    struct arena kept = c->arena;
    *c = (struct call){.magic = CALL_MAGIC, .session = s, .arena = kept};
    list_push(&s->calls, &c->node);
    s->call_count++;
    core->calls_under_way++;
    return c;
}

static void call_free(struct call *c) {
    struct session *s = c->session;
    struct core *core = s->core;
    gather_stop(c->gather);
    if (c->channel)
        c->channel->used_ms = io_now_ms(core->up.loop);
    io_timer_stop(core->up.loop, &c->timer);
    approve_end(c);
    link_end(&c->req);
    list_remove(&c->node);
    list_remove(&c->wait);
    input_forget(c);
    park_leave(c);
    listen_leave(c);
    channel_release(c);
    if (c->id_key.len)
        map_remove(&s->by_id, c->id_key);
    if (c->recording && !c->recorded)
        audit_cancel(core->audit, &c->audit_wait);
    s->call_count--;
    msg_unref(c->request);
    msg_unref(c->asked);
    msg_unref(c->response);
    policy_unref(c->policy);
    c->magic = 0;
    arena_reset(&c->arena);
    if (core->free_call_count < CALL_POOL_MAX) {
        c->next_free = core->free_calls;
        core->free_calls = c;
        core->free_call_count++;
    } else {
        arena_free(&c->arena);
        free(c);
    }
    if (--core->calls_under_way == 0 && core->draining && core->idle)
        core->idle(core);
}

void call_pool_free(struct core *core) {
    while (core->free_calls) {
        struct call *c = core->free_calls;
        core->free_calls = c->next_free;
        arena_free(&c->arena);
        free(c);
    }
    core->free_call_count = 0;
}

/* Policy, definition and limits may have changed while the call waited. */
static void judge_anew(struct call *c) {
    policy_unref(c->policy);
    c->policy = NULL;
    c->fingerprint = (struct slice){0};
    c->checked_on = NULL;
    c->step = STEP_DECIDE;
}

static void call_run(struct call *c) {
    while (c->step != STEP_END) {
        enum call_next next = call_steps[c->step](c);
        if (next == CALL_WAIT)
            return;
        if (next == CALL_FAIL)
            c->step = STEP_SETTLE;
        else if (next == CALL_AGAIN)
            judge_anew(c);
        else if (next == CALL_GATHER)
            c->step = STEP_AWAIT;
        else
            c->step++;
    }
    call_free(c);
}

/* ---- the steps ---- */

enum call_next call_refuse(struct call *c, int code, int http_status, const char *message) {
    answer_error(c, code, http_status, message);
    return CALL_FAIL;
}

enum call_next call_deny(struct call *c) {
    answer_denied(c);
    return CALL_FAIL;
}

static const struct {
    struct slice method;
    enum call_method kind;
    const char *subject;
    bool subject_required;
} call_methods[] = {
    {SLICE("tools/call"), CALL_TOOLS_CALL, "name", true},
    {SLICE("tools/list"), CALL_TOOLS_LIST, NULL, false},
    {SLICE("prompts/get"), CALL_OTHER, "name", true},
    {SLICE("resources/read"), CALL_OTHER, "uri", true},
    {SLICE("resources/subscribe"), CALL_OTHER, "uri", false},
    {SLICE("resources/unsubscribe"), CALL_OTHER, "uri", false},
    {SLICE("tasks/get"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/update"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/cancel"), CALL_OTHER, "taskId", false},
    {SLICE("tasks/result"), CALL_OTHER, "taskId", false},
    {SLICE("subscriptions/listen"), CALL_LISTEN, NULL, false},
    {SLICE("resources/list"), CALL_LIST, NULL, false},
    {SLICE("resources/templates/list"), CALL_LIST, NULL, false},
    {SLICE("prompts/list"), CALL_LIST, NULL, false},
    {SLICE("tasks/list"), CALL_LIST, NULL, false},
    {SLICE("server/discover"), CALL_DISCOVER, NULL, false},
    {SLICE("completion/complete"), CALL_COMPLETE, NULL, false},
    {SLICE("logging/setLevel"), CALL_SET_LEVEL, NULL, false},
    {SLICE("initialize"), CALL_INITIALIZE, NULL, false},
    {SLICE("ping"), CALL_PING, NULL, false},
    {SLICE("notifications/initialized"), CALL_INITIALIZED, NULL, false},
    {SLICE("notifications/cancelled"), CALL_CANCELLED, NULL, false},
};

static void read_method(struct call *c) {
    c->method = tape_text(&c->request->tape, c->request->rpc.method, &c->arena);
    for (size_t i = 0; i < ARRAY_LEN(call_methods); i++) {
        if (!slice_eq(c->method, call_methods[i].method))
            continue;
        c->kind = call_methods[i].kind;
        c->subject = call_methods[i].subject;
        c->subject_required = call_methods[i].subject_required;
        return;
    }
}

static enum call_next step_identify(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->request;
    read_method(c);
    const char *fault = session_fault(s);
    if (fault) {
        c->id_raw = m->rpc.id ? arena_dup(&c->arena, tape_raw(&m->tape, m->rpc.id)) : (struct slice){0};
        return call_refuse(c, RPC_INVALID_REQUEST, 401, fault);
    }
    if (!m->rpc.id)
        return CALL_NEXT;
    c->id_raw = arena_dup(&c->arena, tape_raw(&m->tape, m->rpc.id));
    if (s->call_count > SESSION_CALLS_MAX)
        return call_refuse(c, RPC_INTERNAL, 503, "too many requests under way in this session");
    if (s->stateless || c->inner)
        return CALL_NEXT;
    struct slice key = call_id_key(&m->tape, m->rpc.id, &c->arena);
    if (!map_add(&s->by_id, key, c))
        return call_refuse(c, RPC_INVALID_REQUEST, 400, "a request with this id is under way");
    c->id_key = key;
    return CALL_NEXT;
}

static enum call_next read_subject(struct call *c) {
    const struct msg *m = c->request;
    if (!c->subject)
        return CALL_NEXT;
    if (clash_alike(&m->tape, m->rpc.params, slice_str(c->subject)))
        return call_refuse(
            c, RPC_INVALID_PARAMS, 400,
            arena_printf(&c->arena, "a key differs only in case from params.%s", c->subject).ptr);
    uint32_t node = tape_get_str(&m->tape, m->rpc.params, c->subject);
    if (node && tape_is(&m->tape, node, TAPE_STRING) && tape_node(&m->tape, node)->len <= CALL_NAME_MAX)
        c->name = tape_text(&m->tape, node, &c->arena);
    else if (node || c->subject_required)
        return call_refuse(c, RPC_INVALID_PARAMS, 400,
                           arena_printf(&c->arena, "params.%s must be a string of at most %d bytes",
                                        c->subject, CALL_NAME_MAX)
                               .ptr);
    return CALL_NEXT;
}

static enum call_next read_arguments(struct call *c) {
    const struct msg *m = c->request;
    if (c->kind == CALL_TOOLS_CALL) {
        if (clash_alike(&m->tape, m->rpc.params, SLICE("arguments")))
            return call_refuse(c, RPC_INVALID_PARAMS, 400,
                               "a key differs only in case from params.arguments");
        c->args = tape_get_str(&m->tape, m->rpc.params, "arguments");
        if (c->args && !tape_is(&m->tape, c->args, TAPE_OBJECT))
            return call_refuse(c, RPC_INVALID_PARAMS, 400, "params.arguments must be an object");
    } else {
        c->args = m->rpc.params;
    }
    c->wants_log = c->modern && m->rpc.params &&
                   tape_path(&m->tape, m->rpc.params, "_meta", "io.modelcontextprotocol/logLevel", NULL);
    uint32_t token = m->rpc.params ? tape_path(&m->tape, m->rpc.params, "_meta", "progressToken", NULL) : 0;
    if (token && m->rpc.id) {
        if (!tape_is(&m->tape, token, TAPE_STRING) && !tape_is(&m->tape, token, TAPE_NUMBER))
            return call_refuse(c, RPC_INVALID_PARAMS, 400,
                               "params._meta.progressToken must be a string or a number");
        c->token_raw = arena_dup(&c->arena, tape_raw(&m->tape, token));
    }
    return CALL_NEXT;
}

static enum call_next step_route(struct call *c) {
    const struct msg *m = c->request;
    if (!c->inner)
        c->server = c->session->only;
    if (!m->rpc.id && c->kind == CALL_CANCELLED) {
        session_cancel(c->session, c->request);
        c->step = STEP_REPLY;
        return CALL_NEXT;
    }
    if (m->rpc.id && c->kind == CALL_PING && !c->modern) {
        c->answer = answer_text(c, arena_printf(&c->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                                SLICE_FMT(c->id_raw)));
        return CALL_FAIL;
    }
    /* A search that has been started below has come back. */
    if (!c->gather && read_subject(c) == CALL_FAIL)
        return CALL_FAIL;
    enum call_next found = c->server ? route_check_task(c) : route_find(c);
    if (found != CALL_NEXT)
        return found;
    if (c->kind == CALL_INITIALIZED)
        c->session->initialized = true;
    return read_arguments(c);
}

static enum call_next step_restore(struct call *c) {
    c->policy = policy_ref(session_policy(c->session, c->server)); /* a refusal is on record with it */
    return restore_arguments(c) ? CALL_NEXT : CALL_FAIL;
}

static enum call_next step_reply(struct call *c) {
    struct call_sink *sink = c->sink;
    if (!sink)
        return CALL_NEXT;
    c->sink = NULL;
    sink->call = NULL;
    if (c->answer) {
        struct session_out out = {.text = c->answer, .msg = c->answer_msg, .http_status = c->http_status};
        sink->ops->reply(sink, &out);
    } else {
        sink->ops->none(sink);
    }
    return CALL_NEXT;
}

/* ---- from outside ---- */

void call_start(struct session *s, struct msg *m, struct call_sink *sink) {
    struct call *c = call_new(s);
    c->request = msg_ref(m);
    c->received_us = clock_mono_us();
    if (sink) {
        c->modern = sink->modern;
        c->mirrored = sink->mirrored;
        c->server = sink->to;
        c->inner = sink->to || sink->list_all;
        c->subcall = sink->subcall;
        c->list_all = sink->list_all;
        c->parent = sink->parent;
        c->extra_headers = arena_dup(&c->arena, sink->extra_headers);
    }
    if (m->rpc.kind == RPC_REQUEST) {
        c->sink = sink;
        sink->call = c;
    }
    c->step = STEP_IDENTIFY;
    call_run(c);
}

struct msg *call_read_text(struct core *core, struct slice text) {
    cleanup_arena struct arena a;
    arena_init(&a);
    int code;
    const char *why;
    struct slice id;
    struct block *b = block_new(&core->up.loop->blocks, text.len);
    memcpy(b->data, text.ptr, text.len);
    struct msg *m = msg_read(&core->up.msgs, b, slice_of(b->data, text.len), &a, &code, &why, &id);
    block_unref(b);
    return m;
}

void call_make(struct session *s, struct server *server, struct slice text, struct call_sink *sink) {
    struct msg *m = call_read_text(s->core, text);
    CHECK(m); /* the gate's own words */
    sink->to = server;
    sink->subcall = true;
    call_start(s, m, sink);
    msg_unref(m);
}

void call_conclude(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    c->step = STEP_SETTLE;
    call_run(c);
}

void call_rewind(struct call *c) {
    msg_unref(c->response);
    c->response = NULL;
    c->answer = NULL;
    c->answer_msg = NULL;
    c->step = STEP_FORWARD;
}

void call_resume(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    call_run(c);
}

void call_fail(struct call *c, const char *why) {
    CHECK_MAGIC(c, CALL_MAGIC);
    list_remove(&c->wait);
    answer_error(c, RPC_INTERNAL, 502, why);
    c->step = STEP_SETTLE;
    call_run(c);
}

void call_answer(void *call, struct msg *m) {
    struct call *c = call;
    CHECK_MAGIC(c, CALL_MAGIC);
    c->response = msg_ref(m);
    call_run(c);
}

void call_failed(void *call, const char *why, bool retry) {
    struct call *c = call;
    CHECK_MAGIC(c, CALL_MAGIC);
    if (!retry || c->tries >= CALL_TRIES_MAX) {
        health_doubt(c->channel);
        c->sent = !retry;
        call_fail(c, why);
        return;
    }
    /* The server has not seen it: once more. Where the link itself is over, `down` follows and opens another.
     */
    c->sent = false;
    c->step = STEP_FORWARD;
    if (c->channel->link->is_up)
        call_run(c);
    else
        channel_wait(c->channel, c);
}

void call_streaming(void *call, int64_t retry_ms, bool left) {
    struct call *c = call;
    CHECK_MAGIC(c, CALL_MAGIC);
    if (c->sink)
        c->sink->ops->streaming(c->sink, retry_ms, left);
}

/* The server need not go on; the client gets that answer, or none. */
static void call_stop(struct call *c, const char *reason, const struct splice *answer) {
    CHECK_MAGIC(c, CALL_MAGIC);
    forward_cancel(c, slice_str(reason));
    link_end(&c->req);
    list_remove(&c->wait);
    c->answer = answer;
    c->outcome = "cancelled";
    c->step = STEP_SETTLE;
    call_run(c);
}

void call_cancel(struct call *c, const char *reason) { call_stop(c, reason, NULL); }

void call_end_listen(struct call *c) {
    struct slice text =
        arena_printf(&c->arena,
                     "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                     "\"io.modelcontextprotocol/subscriptionId\":%.*s}}}",
                     SLICE_FMT(c->id_raw), SLICE_FMT(c->id_raw));
    call_stop(c, "shutting down", answer_text(c, text));
}

static struct call *find_listen(struct session *s) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && c->sink && !c->inner)
            return c;
    }
    return NULL;
}

void call_end_listens(struct core *core) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        struct call *c;
        while ((c = find_listen(s))) /* ending one may end others, its parts */
            call_end_listen(c);
    }
}

void call_orphan(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    if (c->sink)
        c->sink->call = NULL;
    c->sink = NULL;
    call_pause(c, false);
}

void call_pause(struct call *c, bool on) {
    struct link *link = c->channel ? c->channel->link : NULL;
    if (!link || !c->req.id)
        return;
    if (link->is_http)
        link_pause(link, &c->req, on);
    else if (!c->session->stateless && c->channel->session == c->session)
        link_pause(link, NULL, on);
}
