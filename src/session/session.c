#include "session/session.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "session/approve.h"
#include "session/bridge.h"
#include "session/call.h"
#include "session/guard.h"
#include "session/keep.h"
#include "session/lane.h"
#include "session/many.h"
#include "session/park.h"
#include "session/pii.h"
#include "session/principal.h"
#include "session/rounds.h"
#include "session/route.h"
#include "session/server.h"
#include "session/task.h"
#include "session/tools.h"
#include "session/trace.h"
#include "wire/emit.h"

#include <stdio.h>

#define SESSION_MAGIC 0x5e5510a1
#define SESSION_NAME_LEN 32 /* as long as the id of a session over HTTP */

/* A request of a server that waits for the client's answer. */
struct ask {
    uint64_t id;               /* under which the client knows it */
    struct session_link *from; /* NULL for a question of our own */
    struct slice server_id;    /* raw, owned */
    struct call *call;         /* that waits for the answer to a question of our own */
};

void session_core_init(struct session_core *core, struct io_loop *loop, struct spawn *spawn) {
    *core = (struct session_core){.up = {.loop = loop, .spawn = spawn}};
    msg_pool_init(&core->up.msgs);
    buf_init(&core->scratch, MSG_BYTES_MAX);
    slots_init(&core->parks);
    list_init(&core->sessions);
    list_init(&core->log_waiting);
    list_init(&core->hash_waiting);
    session_metrics_init(&core->metrics);
    list_init(&core->task_list);
    list_init(&core->pools);
    map_init(&core->tasks);
    map_init(&core->claims);
    arena_init(&core->claims_arena);
    rand_bytes(core->seal_key, sizeof(core->seal_key));
    session_keep_init(core, &(struct session_keep_config){0}, NULL); /* for this run, unless more is known */
}

void session_core_free(struct session_core *core) {
    LIST_FOR_SAFE (n, next, &core->sessions) {
        session_close(container_of(n, struct session, node));
    }
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            session_server_free(core, core->servers[i]);
    free(core->servers);
    many_free(core);
    io_timer_stop(core->up.loop, &core->log_timer);
    io_timer_stop(core->up.loop, &core->hash_timer);
    session_guard_close(core);
    call_pool_free(core);
    msg_pool_free(&core->up.msgs);
    session_approvals_free(core);
    session_trace_stop(core);
    session_keep_free(core);
    session_metrics_free(&core->metrics);
    policy_unref(core->policy);
    policy_unref(core->no_policy);
    slots_free(&core->parks);
    buf_free(&core->scratch);
    free(core->for_start);
    free(core->settings_fault);
}

/* Limits of scope `session` are counted under the name, in a store that other gates share and that outlives
 * this one: no two sessions have the same. That of a stateless client is all that its principal does at one
 * endpoint, so its name comes from these two and stays. */
#define SESSION_NAME_LEN 32

static void name_session(struct session *s) {
    if (!s->stateless) {
        rand_token(s->name, SESSION_NAME_LEN);
        return;
    }
    const struct slice parts[] = {slice_str(s->principal->id), SLICE("\n"),
                                  slice_str(s->only ? s->only->up.name : "")};
    unsigned char sum[SHA_BYTES];
    sha_256(parts, ARRAY_LEN(parts), sum);
    for (size_t at = 0; at < SESSION_NAME_LEN / 2; at++)
        snprintf(s->name + 2 * at, 3, "%02x", sum[at]);
}

const char *session_fault(const struct session *s) {
    if (s->core->look_at_principals)
        s->core->look_at_principals(s->core->principals_owner);
    return principal_fault(s->principal, s->principal->expires_ms ? clock_wall_ms() : 0);
}

struct session *session_new(struct session_core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct session_server *only, bool stateless) {
    struct session *s = mem_zalloc(sizeof(*s));
    *s = (struct session){
        .magic = SESSION_MAGIC,
        .core = core,
        .front = front,
        .owner = owner,
        .principal = principal_ref(principal),
        .only = only,
        .stateless = stateless,
    };
    list_init(&s->calls);
    map_init(&s->by_id);
    list_init(&s->tasks);
    slots_init(&s->asks);
    name_session(s);
    list_push(&core->sessions, &s->node);
    core->session_count++;
    return s;
}

static void ask_free(struct session *s, struct ask *ask) {
    slots_remove(&s->asks, ask->id);
    free((char *)(uintptr_t)ask->server_id.ptr);
    free(ask);
}

void session_drop_asks(struct session *s, const struct session_link *from) {
    uint32_t at = 0;
    struct ask *ask;
    while ((ask = slots_next(&s->asks, &at)))
        if (!from || ask->from == from)
            ask_free(s, ask);
}

static void forget_client_meta(struct session *s) {
    free((char *)(uintptr_t)s->client_meta.ptr);
    free((char *)(uintptr_t)s->client_task_meta.ptr);
    s->client_meta = s->client_task_meta = (struct slice){0};
}

void session_close(struct session *s) {
    if (!s || s->closed)
        return;
    CHECK_MAGIC(s, SESSION_MAGIC);
    s->closed = true;
    while (!list_empty(&s->calls)) /* ending one may end others, its parts */
        call_cancel(container_of(s->calls.next, struct call, node), "session closed");
    lane_close_all(s);
    task_close_all(s);
    session_drop_asks(s, NULL);
    slots_free(&s->asks);
    session_vault_free(s->vault);
    free(s->pii_most);
    map_free(&s->by_id);
    free(s->links);
    free((char *)(uintptr_t)s->init_params.ptr);
    forget_client_meta(s);
    principal_unref(s->principal);
    list_remove(&s->node);
    list_remove(&s->pool_node);
    s->core->session_count--;
    s->magic = 0;
    free(s);
}

void session_keep_initialize(struct session *s, struct slice params) {
    if (params.len > SESSION_INIT_MAX)
        return; /* such a session works, but a restart of its server ends it */
    free((char *)(uintptr_t)s->init_params.ptr);
    s->init_params = slice_of(mem_dup(params.ptr, params.len), params.len);
    s->init_done = true;
    forget_client_meta(s);
}

void session_set_level(struct session *s, struct slice level) {
    snprintf(s->log_level, sizeof(s->log_level), "%.*s", SLICE_FMT(level));
    forget_client_meta(s);
}

struct slice session_id_key(const struct tape *t, uint32_t id, struct arena *a) {
    if (!tape_is(t, id, TAPE_STRING))
        return arena_dup(a, tape_raw(t, id));
    struct slice text = tape_text(t, id, a);
    return arena_printf(a, "\"%.*s", SLICE_FMT(text));
}

/* Where no policy says anything, nothing passes but the greeting. */
static const char no_policy[] =
    "{\"version\":\"1\",\"default\":\"deny\",\"prune\":true,\"tools\":{},\"methods\":{\"*\":{\"rules\":[{"
    "\"name\":\"(no policy)\",\"conditions\":[{\"path\":\"call.method\",\"op\":\"regex\",\"value\":"
    "\"^(initialize|ping|server/discover|tools/list|notifications/.*)$\"}],"
    "\"on_deny\":\"No policy allows this\"}]}}}";

static struct policy *policy_of_none(struct session_core *core) {
    if (!core->no_policy) {
        cleanup_problems struct policy_problems problems;
        policy_problems_init(&problems);
        CHECK(policy_load(SLICE(no_policy), "none", &core->no_policy, &problems) == 0);
    }
    return core->no_policy;
}

struct policy *session_policy(const struct session *s, const struct session_server *server) {
    if (s->principal->policy)
        return s->principal->policy;
    if (server && server->policy)
        return server->policy;
    return s->core->policy ? s->core->policy : policy_of_none(s->core);
}

/* ---- what links report ---- */

static struct session_own *own_request(void *call) {
    struct session_own *own = call;
    return own->magic == SESSION_OWN_MAGIC ? own : NULL;
}

static void on_answer(void *call, struct msg *m) {
    struct session_own *own = own_request(call);
    if (own)
        own->answer(own, m);
    else
        call_answer(call, m);
}

static void on_failed(void *call, const char *why, bool retry) {
    struct session_own *own = own_request(call);
    if (own)
        own->failed(own, why);
    else
        call_failed(call, why, retry);
}

static void on_streaming(void *call, int64_t retry_ms, bool left) {
    if (!own_request(call))
        call_streaming(call, retry_ms, left);
}

static void on_drained(void *owner) {
    struct session_link *sl = owner;
    if (sl->session->front->hold && !sl->link->relates)
        sl->session->front->hold(sl->session, false);
    session_wake(sl);
}

static void on_noise(void *owner, const char *what, struct slice text) {
    struct session_link *sl = owner;
    if (what)
        log_warn("server `%s`: %s: %.*s", sl->server->up.name, what, SLICE_FMT(text));
    else
        log_info("[%s] %.*s", sl->server->up.name, SLICE_FMT(text));
}

static void on_malformed(void *owner, const char *why, struct slice text) {
    struct session_link *sl = owner;
    on_noise(owner, why, text);
    session_record_refusal(sl->session->core, &(struct session_refusal){.kind = SESSION_SERVER_MALFORMED,
                                                                        .who = sl->session->principal,
                                                                        .session = sl->session,
                                                                        .server = sl->server,
                                                                        .why = slice_str(why)});
}

/* ---- what servers say on their own account ---- */

static struct call *related_call(struct session_link *sl, struct call *call, bool wants_reader) {
    struct session *s = sl->session;
    if (call)
        return call->sink ? call : NULL;
    if (sl->link->relates && !s->stateless)
        return NULL;
    /* Pipes do not say which request a message belongs to: with one under way there is no doubt. */
    struct call *only = NULL;
    uint32_t found = 0;
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->sink && c->link == sl && c->req.id) {
            only = c;
            found++;
        }
    }
    return found == 1 || (found && wants_reader && !s->stateless) ? only : NULL;
}

bool session_deliver(struct session_link *sl, struct call *call, const struct session_out *out) {
    struct session *s = sl->session;
    struct splice text = *out->text;
    struct session_out shown = *out;
    shown.text = &text;
    if (s->core->pii && !session_redact_message(s, sl->server, out->msg, &text))
        return false;
    if (call) {
        call_touch(call);
        call->sink->ops->event(call->sink, &shown);
        return true;
    }
    return !s->stateless && s->front->deliver(s, &shown);
}

void session_refuse_ask(struct session_link *sl, struct slice server_id, int code, const char *why) {
    if (sl->era == SESSION_ERA_MODERN && sl->link->relates) { /* over HTTP that era has no way to answer */
        log_warn("server `%s` sent a request, which its era does not know", sl->server->up.name);
        return;
    }
    struct arena a;
    arena_init(&a);
    session_send_own(sl, call_error_text(&a, server_id, code, why), (struct slice){0}, NULL);
    arena_free(&a);
}

static void ask_client(struct session_link *sl, struct call *call, struct msg *m, struct arena *a) {
    struct session *s = sl->session;
    struct slice server_id = tape_raw(&m->tape, m->rpc.id);
    if (s->asks.used >= SESSION_ASKS_MAX || !s->version[0]) {
        session_refuse_ask(sl, server_id, RPC_INVALID_REQUEST, "the client cannot be asked here");
        return;
    }
    struct ask *ask = mem_zalloc(sizeof(*ask));
    ask->from = sl;
    ask->server_id = slice_of(mem_dup(server_id.ptr, server_id.len), server_id.len);
    ask->id = slots_add(&s->asks, ask);
    struct splice text;
    splice_init(&text, m->bytes, a);
    struct session_out out = {.text = &text, .msg = m, .is_request = true};
    splice_value(&text, &m->tape, m->rpc.id, arena_u64(a, ask->id));
    route_back_message(sl, &text, m, (struct slice){0}, a);
    if (!session_deliver(sl, related_call(sl, call, true), &out)) {
        session_refuse_ask(sl, ask->server_id, RPC_INTERNAL, "the client cannot be reached");
        ask_free(s, ask);
    }
}

bool session_ask(struct call *c, struct slice method, struct slice params, uint64_t *ret_id) {
    struct session *s = c->session;
    if (!c->sink || s->asks.used >= SESSION_ASKS_MAX)
        return false;
    struct ask *ask = mem_zalloc(sizeof(*ask));
    ask->call = c;
    *ret_id = ask->id = slots_add(&s->asks, ask);
    struct slice text =
        arena_printf(&c->arena, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\",\"params\":%.*s}",
                     (unsigned long long)ask->id, SLICE_FMT(method), SLICE_FMT(params));
    struct splice whole;
    splice_init(&whole, text, &c->arena);
    struct session_out out = {.text = &whole, .is_request = true};
    c->sink->ops->event(c->sink, &out);
    return true;
}

void session_ask_forget(struct session *s, uint64_t id) {
    struct ask *ask = slots_get(&s->asks, id);
    if (!ask)
        return;
    struct call *c = ask->call;
    ask_free(s, ask);
    if (!c->sink || s->closed)
        return;
    struct slice text = arena_printf(
        &c->arena,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%llu,"
        "\"reason\":\"decided elsewhere\"}}",
        (unsigned long long)id);
    struct splice whole;
    splice_init(&whole, text, &c->arena);
    struct session_out out = {.text = &whole};
    c->sink->ops->event(c->sink, &out);
}

static void on_request(struct session_link *sl, struct call *call, struct msg *m, struct arena *a) {
    struct slice method = tape_text(&m->tape, m->rpc.method, a);
    if (slice_is(method, "ping")) {
        struct slice pong = arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                         SLICE_FMT(tape_raw(&m->tape, m->rpc.id)));
        session_send_own(sl, pong, (struct slice){0}, NULL);
        return;
    }
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    const char *why = session_judge_ask(sl, method, &m->tape, m->rpc.params, a);
    if (why)
        session_refuse_ask(sl, id, RPC_INVALID_REQUEST, why);
    else if (!sl->own_init.len)
        ask_client(sl, call, m, a);
    else if (!task_ask(sl, m, method))
        park_ask(sl, call, m, method);
}

static struct session_own *own_by_number(struct session_link *sl, const struct msg *m, uint32_t node) {
    int64_t id;
    struct link_req *req = tape_int(&m->tape, node, &id) && id > 0 ? link_find(sl->link, (uint64_t)id) : NULL;
    return req ? own_request(req->call) : NULL;
}

static struct call *call_by_number(struct session_link *sl, const struct msg *m, uint32_t node) {
    int64_t id;
    if (!node || !tape_int(&m->tape, node, &id) || id <= 0)
        return NULL;
    struct link_req *req = link_find(sl->link, (uint64_t)id);
    return req && !own_request(req->call) ? req->call : NULL;
}

/* The server takes back a request of its own, or ends a subscription. */
static void on_server_cancel(struct session_link *sl, struct call *on, struct msg *m, struct splice *text,
                             struct arena *a) {
    struct session *s = sl->session;
    uint32_t node = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "requestId") : 0;
    struct session_out out = {.text = text, .msg = m};
    struct call *call = call_by_number(sl, m, node);
    if (call && call->sink && call->modern) {
        splice_value(text, &m->tape, node, call->id_raw);
        session_deliver(sl, call, &out);
        return;
    }
    if (node && sl->own_init.len)
        park_take_back(sl, tape_raw(&m->tape, node));
    uint32_t at = 0;
    struct ask *ask;
    while (node && (ask = slots_next(&s->asks, &at))) {
        if (ask->from != sl || !slice_eq(ask->server_id, tape_raw(&m->tape, node)))
            continue;
        splice_value(text, &m->tape, node, arena_u64(a, ask->id));
        session_deliver(sl, related_call(sl, on, true), &out); /* where the question went */
        ask_free(s, ask);
        return;
    }
}

static void on_notification(struct session_link *sl, struct call *call, struct msg *m, struct arena *a) {
    struct splice text;
    splice_init(&text, m->bytes, a);
    struct session_out out = {.text = &text, .msg = m};
    struct slice method = tape_text(&m->tape, m->rpc.method, a);
    uint32_t params = m->rpc.params;
    if (slice_is(method, "notifications/cancelled")) {
        on_server_cancel(sl, call, m, &text, a);
        return;
    }
    if (slice_is(method, "notifications/tools/list_changed"))
        tools_forget(sl->server);
    if (!session_may_hear(sl, method, m, a))
        return;
    if (slice_is(method, "notifications/progress")) {
        uint32_t token = params ? tape_get_str(&m->tape, params, "progressToken") : 0;
        struct call *owner = call_by_number(sl, m, token);
        if (owner && owner->sink && owner->token_raw.len &&
            splice_value(&text, &m->tape, token, owner->token_raw))
            session_deliver(sl, owner, &out);
        return; /* progress of a call that is over, or that nobody asked for, is dropped */
    }
    if (sl->own_init.len && bridge_notification(sl, call, m, method, a))
        return;
    if (!route_back_message(sl, &text, m, method, a))
        return;
    uint32_t sub =
        params ? tape_path(&m->tape, params, "_meta", "io.modelcontextprotocol/subscriptionId", NULL) : 0;
    if (sub) {
        struct session_own *own = own_by_number(sl, m, sub);
        if (own && own->message) {
            own->message(own, m);
            return;
        }
        struct call *owner = call_by_number(sl, m, sub);
        if (owner && owner->sink && splice_value(&text, &m->tape, sub, owner->id_raw))
            session_deliver(sl, owner, &out);
        return;
    }
    bool about_lists =
        slice_ends(method, SLICE("list_changed")) || slice_is(method, "notifications/resources/updated");
    struct call *to = call || !about_lists || sl->session->stateless ? related_call(sl, call, false) : NULL;
    /* Nobody gets another client's log lines: a guess is only good for one who asked for some. */
    if (to && !call && sl->session->stateless && slice_is(method, "notifications/message") && !to->wants_log)
        to = NULL;
    if (!session_deliver(sl, to, &out))
        log_debug("server `%s`: %.*s has nobody to go to", sl->server->up.name, SLICE_FMT(method));
}

static void on_message(void *owner, void *call, struct msg *m) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    struct session_own *own = call ? own_request(call) : NULL;
    struct call *about = own ? NULL : call;
    if (own && own->message && !tape_eq(&m->tape, m->rpc.method, SLICE("ping"))) {
        own->message(own, m);
        return;
    }
    struct arena a;
    arena_init(&a);
    if (m->rpc.kind == RPC_REQUEST)
        on_request(sl, about, m, &a);
    else
        on_notification(sl, about, m, &a);
    arena_free(&a);
}

const struct link_events session_link_events = {
    .answer = on_answer,
    .failed = on_failed,
    .streaming = on_streaming,
    .message = on_message,
    .up = lane_up,
    .down = lane_down,
    .drained = on_drained,
    .noise = on_noise,
    .malformed = on_malformed,
};

/* ---- what the client says ---- */

/* The client's answer to a server's request goes back under the server's own id. */
static void on_client_answer(struct session *s, struct msg *m) {
    int64_t id;
    struct ask *ask = NULL;
    if (m->rpc.id && tape_int(&m->tape, m->rpc.id, &id) && id > 0)
        ask = slots_get(&s->asks, (uint64_t)id);
    if (!ask) {
        log_debug("client's answer to no request under way");
        return;
    }
    if (ask->call) {
        struct call *waiting = ask->call;
        uint64_t ask_id = ask->id;
        ask_free(s, ask);
        if (waiting->rounds)
            rounds_answered(waiting, ask_id, m);
        else
            call_asked(waiting, m);
        return;
    }
    struct session_link *sl = ask->from;
    if (sl->link && sl->state == SESSION_LINK_READY) {
        struct arena a;
        arena_init(&a);
        struct splice text;
        splice_init(&text, m->bytes, &a);
        splice_value(&text, &m->tape, m->rpc.id, ask->server_id);
        if (sl->link->ops == &link_child_ops)
            msg_flatten(m);
        struct link_out out = {.text = &text, .block = m->block};
        link_send(sl->link, &out, NULL);
        arena_free(&a);
    }
    ask_free(s, ask);
}

void session_receive(struct session *s, struct msg *m, struct call_sink *sink) {
    CHECK_MAGIC(s, SESSION_MAGIC);
    if (m->rpc.kind == RPC_RESULT || m->rpc.kind == RPC_ERROR)
        on_client_answer(s, m);
    else
        call_start(s, m, sink);
}

void session_cancel(struct session *s, struct msg *m) {
    struct arena a;
    arena_init(&a);
    uint32_t node = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "requestId") : 0;
    struct call *call = NULL;
    if (node && (tape_is(&m->tape, node, TAPE_STRING) || tape_is(&m->tape, node, TAPE_NUMBER)))
        call = map_get(&s->by_id, session_id_key(&m->tape, node, &a));
    if (call && call->kind != CALL_INITIALIZE) {
        uint32_t reason = tape_get_str(&m->tape, m->rpc.params, "reason");
        struct slice text = reason ? tape_text(&m->tape, reason, &a) : (struct slice){0};
        call_cancel(call, text.len ? arena_dup(&a, text).ptr : "cancelled by the client");
    }
    arena_free(&a);
}

void session_listen(struct session *s) {
    s->listening = true;
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i] && s->links[i]->state == SESSION_LINK_READY)
            session_listen_again(s->links[i]);
}

void session_pause(struct session *s, bool on) {
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i] && s->links[i]->link)
            link_pause(s->links[i]->link, NULL, on);
}
