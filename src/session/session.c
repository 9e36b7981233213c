#include "session/session.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/approve.h"
#include "session/call.h"
#include "session/digest.h"
#include "session/guard.h"
#include "session/pii.h"
#include "session/principal.h"
#include "session/server.h"
#include "session/tools.h"
#include "wire/emit.h"

#include <stdio.h>

#define SESSION_MAGIC 0x5e5510a1
#define SESSION_LINK_MAGIC 0x5e5511c4

/* A request of a server that waits for the client's answer. */
struct ask {
    uint64_t id;               /* under which the client knows it */
    struct session_link *from; /* NULL for a question of our own */
    struct slice server_id;    /* raw, owned */
    struct call *call;         /* that waits for the answer to a question of our own */
};

static const struct link_events session_link_events;

void session_core_init(struct session_core *core, struct io_loop *loop, struct spawn *spawn) {
    *core = (struct session_core){.up = {.loop = loop, .spawn = spawn}};
    msg_pool_init(&core->up.msgs);
    buf_init(&core->scratch, MSG_BYTES_MAX);
    core->digest = digest_new();
    list_init(&core->sessions);
    list_init(&core->log_waiting);
}

void session_core_free(struct session_core *core) {
    LIST_FOR_SAFE (n, next, &core->sessions) {
        session_close(container_of(n, struct session, node));
    }
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            session_server_free(core, core->servers[i]);
    free(core->servers);
    io_timer_stop(core->up.loop, &core->log_timer);
    session_guard_close(core);
    call_pool_free(core);
    msg_pool_free(&core->up.msgs);
    session_approvals_free(core);
    policy_unref(core->policy);
    policy_unref(core->no_policy);
    buf_free(&core->scratch);
    digest_free(core->digest);
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
    slots_init(&s->asks);
    snprintf(s->name, sizeof(s->name), "%s", stateless ? "stateless" : "stdio");
    list_push(&core->sessions, &s->node);
    core->session_count++;
    return s;
}

static void ask_free(struct session *s, struct ask *ask) {
    slots_remove(&s->asks, ask->id);
    free((char *)(uintptr_t)ask->server_id.ptr);
    free(ask);
}

static void asks_drop(struct session *s, const struct session_link *from) {
    uint32_t at = 0;
    struct ask *ask;
    while ((ask = slots_next(&s->asks, &at)))
        if (!from || ask->from == from)
            ask_free(s, ask);
}

static void link_free(struct session_link *sl) {
    struct session *s = sl->session;
    s->links[sl->server->slot] = NULL;
    io_timer_stop(s->core->up.loop, &sl->backoff);
    link_close(sl->link);
    tools_abandon(sl);
    free(sl);
}

void session_close(struct session *s) {
    if (!s || s->closed)
        return;
    CHECK_MAGIC(s, SESSION_MAGIC);
    s->closed = true;
    LIST_FOR_SAFE (n, next, &s->calls) {
        call_cancel(container_of(n, struct call, node), "session closed");
    }
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i])
            link_free(s->links[i]);
    asks_drop(s, NULL);
    slots_free(&s->asks);
    session_vault_free(s->vault);
    map_free(&s->by_id);
    free(s->links);
    free((char *)(uintptr_t)s->init_params.ptr);
    principal_unref(s->principal);
    list_remove(&s->node);
    s->core->session_count--;
    s->magic = 0;
    free(s);
}

struct slice session_id_key(const struct tape *t, uint32_t id, struct arena *a) {
    if (!tape_is(t, id, TAPE_STRING))
        return arena_dup(a, tape_raw(t, id));
    struct slice text = tape_text(t, id, a);
    return arena_printf(a, "\"%.*s", SLICE_FMT(text));
}

/* ---- links ---- */

static void link_up(struct session_link *sl);
static void fail_waiting(struct session_link *sl, const char *why);
static void on_init_answer(struct session_own *own, struct msg *m);
static void on_init_failed(struct session_own *own, const char *why);

static void on_refused(struct io_timer *timer) {
    struct session_link *sl = container_of(timer, struct session_link, backoff);
    sl->state = SESSION_LINK_DOWN;
    fail_waiting(sl, sl->server->refused);
}

static void open_now(struct session_link *sl) {
    sl->state = SESSION_LINK_OPENING;
    if (!guard_may_open(sl->session->core, sl->server)) {
        /* Not from here: the call that wants it is in the middle of a step. */
        io_timer_arm(sl->session->core->up.loop, &sl->backoff, 0, on_refused);
        return;
    }
    sl->opened_ms = io_now_ms(sl->session->core->up.loop);
    sl->link = link_open(&sl->server->up, &session_link_events, sl);
}

static void on_backoff(struct io_timer *timer) {
    open_now(container_of(timer, struct session_link, backoff));
}

static void link_start(struct session_link *sl) {
    if (!sl->failures) {
        open_now(sl);
        return;
    }
    sl->state = SESSION_LINK_OPENING;
    uint64_t delay = (uint64_t)SESSION_BACKOFF_MS << (sl->failures < 8 ? sl->failures - 1 : 7);
    io_timer_arm(sl->session->core->up.loop, &sl->backoff,
                 delay < SESSION_BACKOFF_MAX_MS ? delay : SESSION_BACKOFF_MAX_MS, on_backoff);
}

struct session_link *session_link_of(struct session *s, struct session_server *server) {
    if (server->slot >= s->link_count) {
        size_t count = s->core->server_count;
        s->links = mem_realloc(s->links, count * sizeof(*s->links));
        memset(s->links + s->link_count, 0, (count - s->link_count) * sizeof(*s->links));
        s->link_count = count;
    }
    struct session_link *sl = s->links[server->slot];
    if (sl)
        return sl;
    sl = s->links[server->slot] = mem_zalloc(sizeof(*sl));
    *sl = (struct session_link){.magic = SESSION_LINK_MAGIC, .session = s, .server = server};
    list_init(&sl->waiting);
    arena_init(&sl->tools_page);
    return sl;
}

struct session_link *session_link_for(struct session *s, struct session_server *server, struct call *call) {
    struct session_link *sl = session_link_of(s, server);
    if (sl->state == SESSION_LINK_READY)
        return sl;
    list_push(&sl->waiting, &call->wait);
    if (sl->state == SESSION_LINK_DOWN)
        link_start(sl);
    return NULL;
}

void session_wait(struct session_link *sl, struct call *call) { list_push(&sl->waiting, &call->wait); }

void session_wake(struct session_link *sl) {
    if (sl->state != SESSION_LINK_READY)
        return;
    struct list due, *n; /* only those that wait now: a call may have to wait for something else next */
    list_init(&due);
    while ((n = list_pop(&sl->waiting)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        call_resume(container_of(n, struct call, wait));
}

static void fail_waiting(struct session_link *sl, const char *why) {
    struct list *n;
    while ((n = list_pop(&sl->waiting)))
        call_fail(container_of(n, struct call, wait), why);
}

void session_listen_again(struct session_link *sl) {
    if (sl->session->listening && sl->session->version[0]) /* before that there is nothing to listen to */
        link_listen(sl->link);
}

void session_drop_link(struct session *s, struct session_server *server) {
    struct session_link *sl = server->slot < s->link_count ? s->links[server->slot] : NULL;
    if (!sl)
        return;
    char why[128];
    snprintf(why, sizeof(why), "server `%s` has been removed", server->up.name);
    fail_waiting(sl, why);
    LIST_FOR_SAFE (n, next, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->link == sl)
            call_fail(c, why);
    }
    asks_drop(s, sl);
    link_free(sl);
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

static void link_ready(struct session_link *sl) {
    sl->state = SESSION_LINK_READY;
    session_listen_again(sl);
    session_wake(sl);
}

void session_send_own(struct session_link *sl, struct slice text, struct slice method, bool modern,
                      struct link_req *req) {
    struct arena a;
    arena_init(&a);
    struct splice whole;
    splice_init(&whole, text, &a);
    struct link_out out = {
        .text = &whole, .method = method, .modern = modern, .opens = slice_is(method, "initialize")};
    if (!link_send(sl->link, &out, req) && req)
        link_end(req);
    arena_free(&a);
}

/* A new link of a session that has been initialised before: the server is told again, in the same words. */
static void repeat_initialize(struct session_link *sl) {
    struct session *s = sl->session;
    sl->state = SESSION_LINK_INIT;
    sl->init_own = (struct session_own){SESSION_OWN_MAGIC, on_init_answer, on_init_failed};
    if (!link_begin(sl->link, &sl->init, &sl->init_own))
        return;
    struct buf text;
    buf_init(&text, SESSION_INIT_MAX + 256);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"initialize\",\"params\":",
               (unsigned long long)sl->init.id);
    buf_put_slice(&text, s->init_params);
    buf_put_char(&text, '}');
    session_send_own(sl, buf_slice(&text), SLICE("initialize"), false, &sl->init);
    buf_free(&text);
}

static void link_up(struct session_link *sl) {
    if (sl->session->init_done && !sl->session->stateless)
        repeat_initialize(sl);
    else
        link_ready(sl);
}

static void link_drop(struct session_link *sl) {
    struct link *gone = sl->link;
    sl->link = NULL;
    sl->state = SESSION_LINK_DOWN;
    asks_drop(sl->session, sl);
    link_close(gone);
}

static void on_init_answer(struct session_own *own, struct msg *m) {
    struct session_link *sl = container_of(own, struct session_link, init_own);
    if (m->rpc.kind != RPC_RESULT) {
        link_drop(sl);
        sl->failures++;
        fail_waiting(sl, "the server refused to be initialised again");
        return;
    }
    if (sl->session->initialized)
        session_send_own(sl, SLICE("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                         SLICE("notifications/initialized"), false, NULL);
    link_ready(sl);
}

static void on_up(void *owner) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    link_up(sl);
}

static void on_down(void *owner, const char *why, int exit_status) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    struct session *s = sl->session;
    bool lost_session = exit_status == LINK_LOST; /* the server is there, what we had with it is not */
    if (!lost_session) {
        bool steady = io_now_ms(s->core->up.loop) - sl->opened_ms >= SESSION_STEADY_MS;
        sl->failures = steady ? 1 : sl->failures + 1;
        log_warn("%s", why);
    }
    link_drop(sl);
    if (!lost_session) {
        fail_waiting(sl, why);
        if (s->front->server_ended)
            s->front->server_ended(s, why, exit_status);
    } else if (!list_empty(&sl->waiting)) {
        link_start(sl);
    }
}

static void on_init_failed(struct session_own *own, const char *why) {
    struct session_link *sl = container_of(own, struct session_link, init_own);
    link_drop(sl);
    sl->failures++;
    fail_waiting(sl, why);
}

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
    if (sl->session->front->hold)
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

static bool deliver(struct session_link *sl, struct call *call, const struct session_out *out) {
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

static void refuse_ask(struct session_link *sl, struct slice server_id, int code, const char *why) {
    if (!sl->session->version[0] &&
        sl->link->relates) { /* over HTTP the stateless era has no way to answer */
        log_warn("server `%s` sent a request, which its era does not know", sl->server->up.name);
        return;
    }
    struct arena a;
    arena_init(&a);
    session_send_own(sl, call_error_text(&a, server_id, code, why), (struct slice){0}, false, NULL);
    arena_free(&a);
}

static void ask_client(struct session_link *sl, struct call *call, struct msg *m, struct arena *a) {
    struct session *s = sl->session;
    struct slice server_id = tape_raw(&m->tape, m->rpc.id);
    if (s->asks.used >= SESSION_ASKS_MAX || !s->version[0]) {
        refuse_ask(sl, server_id, RPC_INVALID_REQUEST, "the client cannot be asked here");
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
    if (!deliver(sl, related_call(sl, call, true), &out)) {
        refuse_ask(sl, ask->server_id, RPC_INTERNAL, "the client cannot be reached");
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

/* What a server wants of a client is decided and recorded like a call. */
static bool record_ask(struct session_link *sl, const struct policy_facts *f, const struct policy *policy,
                       const struct policy_verdict *v) {
    struct session *s = sl->session;
    if (!s->core->audit)
        return true;
    struct audit_decision d = {
        .call = audit_next_call(s->core->audit),
        .identity = slice_str(s->principal->id),
        .grant = slice_str(s->principal->grant),
        .session = slice_str(s->name),
        .server = f->server,
        .method = f->method,
        .verdict = slice_str(policy_outcome_name(v->outcome)),
        .reason = slice_str(policy_reason_name(v->reason)),
        .rule = v->rule,
        .pointer = v->pointer,
        .policy = policy_name(policy),
        .policy_hash = slice_of(policy_hash(policy), 64),
        .text = v->text,
    };
    return audit_put_decision(s->core->audit, &d, NULL) == AUDIT_OK;
}

static void on_request(struct session_link *sl, struct call *call, struct msg *m, struct arena *a) {
    struct slice method = tape_text(&m->tape, m->rpc.method, a);
    if (slice_is(method, "ping")) {
        struct slice pong = arena_printf(a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                         SLICE_FMT(tape_raw(&m->tape, m->rpc.id)));
        session_send_own(sl, pong, (struct slice){0}, false, NULL);
        return;
    }
    struct policy_verdict verdict;
    struct policy_facts facts = {
        .method = method,
        .direction = POLICY_TO_CLIENT,
        .server = slice_str(sl->server->up.name),
        .tape = &m->tape,
        .args = m->rpc.params,
        .grant = slice_str(sl->session->principal->grant),
        .identity = slice_str(sl->session->principal->id),
        .more = sl->session->principal->facts,
        .more_count = sl->session->principal->fact_count,
        .session = slice_str(sl->session->name),
        .now_ms = clock_wall_ms(),
    };
    struct policy *policy = session_policy(sl->session, sl->server);
    policy_decide(policy, &facts, a, NULL, &verdict);
    struct slice id = tape_raw(&m->tape, m->rpc.id);
    if (!record_ask(sl, &facts, policy, &verdict)) {
        refuse_ask(sl, id, RPC_INTERNAL, "the audit log cannot take this request");
    } else if (verdict.outcome != POLICY_ALLOW) {
        struct slice why = policy_verdict_text(policy, &verdict, a);
        log_info("denied %.*s of server `%s`", SLICE_FMT(method), sl->server->up.name);
        refuse_ask(sl, id, RPC_INVALID_REQUEST, arena_dup(a, why).ptr);
    } else {
        ask_client(sl, call, m, a);
    }
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
        deliver(sl, call, &out);
        return;
    }
    uint32_t at = 0;
    struct ask *ask;
    while (node && (ask = slots_next(&s->asks, &at))) {
        if (ask->from != sl || !slice_eq(ask->server_id, tape_raw(&m->tape, node)))
            continue;
        splice_value(text, &m->tape, node, arena_u64(a, ask->id));
        deliver(sl, related_call(sl, on, true), &out); /* where the question went */
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
    if (slice_is(method, "notifications/progress")) {
        uint32_t token = params ? tape_get_str(&m->tape, params, "progressToken") : 0;
        struct call *owner = call_by_number(sl, m, token);
        if (owner && owner->sink && owner->token_raw.len &&
            splice_value(&text, &m->tape, token, owner->token_raw))
            deliver(sl, owner, &out);
        return; /* progress of a call that is over, or that nobody asked for, is dropped */
    }
    if (slice_is(method, "notifications/tools/list_changed"))
        tools_forget(sl->server);
    uint32_t sub =
        params ? tape_path(&m->tape, params, "_meta", "io.modelcontextprotocol/subscriptionId", NULL) : 0;
    if (sub) {
        struct call *owner = call_by_number(sl, m, sub);
        if (owner && owner->sink && splice_value(&text, &m->tape, sub, owner->id_raw))
            deliver(sl, owner, &out);
        return;
    }
    bool about_lists =
        slice_ends(method, SLICE("list_changed")) || slice_is(method, "notifications/resources/updated");
    struct call *to = call || !about_lists || sl->session->stateless ? related_call(sl, call, false) : NULL;
    /* Nobody gets another client's log lines: a guess is only good for one who asked for some. */
    if (to && !call && sl->session->stateless && slice_is(method, "notifications/message") && !to->wants_log)
        to = NULL;
    if (!deliver(sl, to, &out))
        log_debug("server `%s`: %.*s has nobody to go to", sl->server->up.name, SLICE_FMT(method));
}

static void on_message(void *owner, void *call, struct msg *m) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    struct arena a;
    arena_init(&a);
    struct call *about = call && !own_request(call) ? call : NULL;
    if (m->rpc.kind == RPC_REQUEST)
        on_request(sl, about, m, &a);
    else
        on_notification(sl, about, m, &a);
    arena_free(&a);
}

static const struct link_events session_link_events = {
    .answer = on_answer,
    .failed = on_failed,
    .streaming = on_streaming,
    .message = on_message,
    .up = on_up,
    .down = on_down,
    .drained = on_drained,
    .noise = on_noise,
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
        ask_free(s, ask);
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

void session_start(struct session *s) {
    struct session_link *sl = session_link_of(s, s->only);
    if (sl->state == SESSION_LINK_DOWN)
        link_start(sl);
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
