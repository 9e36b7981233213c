#include "session/session.h"

#include "approval/approve.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "call/call.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/tools.h"
#include "decision/reverse.h"
#include "era/adapt.h"
#include "era/input.h"
#include "era/park.h"
#include "era/request_state.h"
#include "era/task.h"
#include "guard/guard.h"
#include "many/many.h"
#include "many/route.h"
#include "privacy/privacy.h"
#include "record/record.h"
#include "record/span.h"
#include "server/server.h"
#include "wire/emit.h"

#include <stdio.h>

#define SESSION_MAGIC 0x5e5510a1
#define SESSION_NAME_LEN 32 /* as long as the id of a session over HTTP */

/* A request of a server that waits for the client's answer. */
struct ask {
    uint64_t id;           /* under which the client knows it */
    struct channel *from;  /* NULL for a question of our own */
    struct text server_id; /* raw */
    struct call *call;     /* that waits for the answer to a question of our own */
};

void session_core_init(struct core *core, struct io_loop *loop, struct spawn *spawn) {
    *core = (struct core){.up = {.loop = loop, .spawn = spawn}};
    msg_pool_init(&core->up.msgs);
    buf_init(&core->scratch, MSG_BYTES_MAX);
    slots_init(&core->parks);
    list_init(&core->sessions);
    list_init(&core->log_waiting);
    list_init(&core->hash_waiting);
    metrics_init(&core->metrics);
    list_init(&core->task_list);
    list_init(&core->pools);
    map_init(&core->tasks);
    map_init(&core->claims);
    arena_init(&core->claims_arena);
    rand_bytes(core->seal_key, sizeof(core->seal_key));
    request_state_init(core, &(struct request_state_config){0},
                       NULL); /* for this run, unless more is known */
}

void session_core_free(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->sessions) {
        session_close(container_of(n, struct session, node));
    }
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            server_free(core, core->servers[i]);
    free(core->servers);
    claim_free(core);
    io_timer_stop(core->up.loop, &core->log_timer);
    io_timer_stop(core->up.loop, &core->hash_timer);
    guard_close(core);
    call_pool_free(core);
    msg_pool_free(&core->up.msgs);
    approve_free(core);
    span_exporter_stop(core);
    request_state_free(core);
    metrics_free(&core->metrics);
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
    hex_str(sum, SESSION_NAME_LEN / 2, s->name);
}

const char *session_fault(const struct session *s) {
    if (s->core->refresh_principals)
        s->core->refresh_principals(s->core->principals_owner);
    return principal_fault(s->principal, s->principal->expires_ms ? clock_wall_ms() : 0);
}

struct session *session_new(struct core *core, const struct session_front *front, void *owner,
                            struct principal *principal, struct server *only, bool stateless) {
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
    text_free(&ask->server_id);
    free(ask);
}

void session_drop_asks(struct session *s, const struct channel *from) {
    uint32_t at = 0;
    struct ask *ask;
    while ((ask = slots_next(&s->asks, &at)))
        if (!from || ask->from == from)
            ask_free(s, ask);
}

static void forget_client_meta(struct session *s) {
    text_free(&s->client_meta);
    text_free(&s->client_task_meta);
}

void session_close(struct session *s) {
    if (!s || s->closed)
        return;
    CHECK_MAGIC(s, SESSION_MAGIC);
    s->closed = true;
    while (!list_empty(&s->calls)) /* ending one may end others, its parts */
        call_cancel(container_of(s->calls.next, struct call, node), "session closed");
    channel_close_all(s);
    task_close_all(s);
    session_drop_asks(s, NULL);
    slots_free(&s->asks);
    vault_free(s->vault);
    free(s->pii_most);
    map_free(&s->by_id);
    free(s->links);
    text_free(&s->init_params);
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
    text_set(&s->init_params, params);
    s->init_done = true;
    forget_client_meta(s);
}

void session_set_level(struct session *s, struct slice level) {
    snprintf(s->log_level, sizeof(s->log_level), "%.*s", SLICE_FMT(level));
    forget_client_meta(s);
}

struct slice call_id_key(const struct tape *t, uint32_t id, struct arena *a) {
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

static struct policy *policy_of_none(struct core *core) {
    if (!core->no_policy) {
        cleanup_problems struct policy_problems problems;
        policy_problems_init(&problems);
        CHECK(policy_load(SLICE(no_policy), "none", &core->no_policy, &problems) == 0);
    }
    return core->no_policy;
}

struct policy *session_policy(const struct session *s, const struct server *server) {
    if (s->principal->policy)
        return s->principal->policy;
    if (server && server->policy)
        return server->policy;
    return s->core->policy ? s->core->policy : policy_of_none(s->core);
}

/* ---- what links report ---- */

static struct own_request *as_own_request(void *call) {
    struct own_request *own = call;
    return own->magic == OWN_REQUEST_MAGIC ? own : NULL;
}

static void on_answer(void *call, struct msg *m) {
    struct own_request *own = as_own_request(call);
    if (own)
        own->answer(own, m);
    else
        call_answer(call, m);
}

static void on_failed(void *call, const char *why, bool retry) {
    struct own_request *own = as_own_request(call);
    if (own)
        own->failed(own, why);
    else
        call_failed(call, why, retry);
}

static void on_streaming(void *call, int64_t retry_ms, bool left) {
    if (!as_own_request(call))
        call_streaming(call, retry_ms, left);
}

static void on_drained(void *owner) {
    struct channel *ch = owner;
    if (ch->session->front->hold && !ch->link->is_http)
        ch->session->front->hold(ch->session, false);
    channel_wake(ch);
}

static void put_noise(const struct channel *ch, const char *what, struct slice text) {
    if (what)
        log_warn("server `%s`: %s: %.*s", ch->server->up.name, what, SLICE_FMT(text));
    else
        log_info("[%s] %.*s", ch->server->up.name, SLICE_FMT(text));
}

static void tell_missed(const struct up_server *s, const struct up_noise *n, const char *what) {
    log_warn("server `%s`: %llu more %s (%llu bytes) within a second were not written", s->name,
             (unsigned long long)n->missed_lines, what, (unsigned long long)n->missed_bytes);
}

static void tell_noise(struct up_noise *n) {
    tell_missed(container_of(n, struct up_server, noise), n, "lines of its own");
}

/* On record as one, with their number. */
static void tell_junk(struct up_noise *n) {
    static const struct principal itself = {.id = "server", .grant = ""};
    const struct up_server *s = container_of(n, struct up_server, junk);
    char why[128];
    tell_missed(s, n, "lines that are no messages");
    snprintf(why, sizeof(why), "%llu more that were not recorded one by one",
             (unsigned long long)n->missed_lines);
    record_refusal(container_of(s->core, struct core, up),
                   &(struct refusal){.kind = REFUSAL_SERVER_MALFORMED,
                                     .who = &itself,
                                     .server = container_of(s, const struct server, up),
                                     .why = slice_str(why)});
}

static void on_noise(void *owner, const char *what, struct slice text) {
    struct channel *ch = owner;
    struct up_server *s = &ch->server->up;
    if (up_noise_take(&s->noise, s->core->loop, text.len, tell_noise))
        put_noise(ch, what, text);
}

static void on_malformed(void *owner, const char *why, struct slice text) {
    struct channel *ch = owner;
    struct up_server *s = &ch->server->up;
    if (!up_noise_take(&s->junk, s->core->loop, text.len, tell_junk))
        return;
    put_noise(ch, why, text);
    record_refusal(ch->session->core, &(struct refusal){.kind = REFUSAL_SERVER_MALFORMED,
                                                        .who = ch->session->principal,
                                                        .session = ch->session,
                                                        .server = ch->server,
                                                        .why = slice_str(why)});
}

/* ---- what servers say on their own account ---- */

static struct call *related_call(struct channel *ch, struct call *call, bool wants_reader) {
    struct session *s = ch->session;
    if (call)
        return call->sink ? call : NULL;
    if (ch->link->is_http && !s->stateless)
        return NULL;
    /* Pipes do not say which request a message belongs to: with one under way there is no doubt. */
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

bool channel_deliver(struct channel *ch, struct call *call, const struct session_out *out) {
    struct session *s = ch->session;
    struct splice text = *out->text;
    struct session_out shown = *out;
    shown.text = &text;
    if (s->core->privacy && !redact_message(s, ch->server, out->msg, &text))
        return false;
    if (call) {
        call_touch(call);
        call->sink->ops->event(call->sink, &shown);
        return true;
    }
    return !s->stateless && s->front->deliver(s, &shown);
}

void channel_refuse(struct channel *ch, struct slice server_id, int code, const char *why) {
    if (ch->era == ERA_MODERN && ch->link->is_http) { /* over HTTP that era has no way to answer */
        log_warn("server `%s` sent a request, which its era does not know", ch->server->up.name);
        return;
    }
    struct arena a;
    arena_init(&a);
    channel_send(ch, answer_error_text(&a, server_id, code, why), (struct slice){0}, NULL);
    arena_free(&a);
}

static void ask_client(struct channel *ch, struct call *call, struct msg *m, struct arena *a) {
    struct session *s = ch->session;
    struct slice server_id = tape_raw(&m->tape, m->rpc.id);
    if (s->asks.used >= SESSION_ASKS_MAX || !s->version[0]) {
        channel_refuse(ch, server_id, RPC_INVALID_REQUEST, "the client cannot be asked here");
        return;
    }
    struct ask *ask = mem_zalloc(sizeof(*ask));
    ask->from = ch;
    ask->server_id = text_dup(server_id);
    ask->id = slots_add(&s->asks, ask);
    struct splice text;
    splice_init(&text, m->bytes, a);
    struct session_out out = {.text = &text, .msg = m, .is_request = true};
    splice_value(&text, &m->tape, m->rpc.id, arena_u64(a, ask->id));
    route_back_message(ch, &text, m, (struct slice){0}, a);
    if (!channel_deliver(ch, related_call(ch, call, true), &out)) {
        channel_refuse(ch, text_slice(ask->server_id), RPC_INTERNAL, "the client cannot be reached");
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
        ask_client(ch, call, m, a);
    else if (!task_ask(ch, m, method))
        park_ask(ch, call, m, method);
}

static struct own_request *own_by_number(struct channel *ch, const struct msg *m, uint32_t node) {
    int64_t id;
    struct link_req *req = tape_int(&m->tape, node, &id) && id > 0 ? link_find(ch->link, (uint64_t)id) : NULL;
    return req ? as_own_request(req->call) : NULL;
}

static struct call *call_by_number(struct channel *ch, const struct msg *m, uint32_t node) {
    int64_t id;
    if (!node || !tape_int(&m->tape, node, &id) || id <= 0)
        return NULL;
    struct link_req *req = link_find(ch->link, (uint64_t)id);
    return req && !as_own_request(req->call) ? req->call : NULL;
}

/* The server takes back a request of its own, or ends a subscription. */
static void on_server_cancel(struct channel *ch, struct call *on, struct msg *m, struct splice *text,
                             struct arena *a) {
    struct session *s = ch->session;
    uint32_t node = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "requestId") : 0;
    struct session_out out = {.text = text, .msg = m};
    struct call *call = call_by_number(ch, m, node);
    if (call && call->sink && call->modern) {
        splice_value(text, &m->tape, node, call->id_raw);
        channel_deliver(ch, call, &out);
        return;
    }
    if (node && ch->own_init.len)
        park_take_back(ch, tape_raw(&m->tape, node));
    uint32_t at = 0;
    struct ask *ask;
    while (node && (ask = slots_next(&s->asks, &at))) {
        if (ask->from != ch || !slice_eq(text_slice(ask->server_id), tape_raw(&m->tape, node)))
            continue;
        splice_value(text, &m->tape, node, arena_u64(a, ask->id));
        channel_deliver(ch, related_call(ch, on, true), &out); /* where the question went */
        ask_free(s, ask);
        return;
    }
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
        tools_forget(ch->server);
    if (!reverse_may_deliver(ch, method, m, a))
        return;
    if (slice_is(method, "notifications/progress")) {
        uint32_t token = params ? tape_get_str(&m->tape, params, "progressToken") : 0;
        struct call *owner = call_by_number(ch, m, token);
        if (owner && owner->sink && owner->token_raw.len &&
            splice_value(&text, &m->tape, token, owner->token_raw))
            channel_deliver(ch, owner, &out);
        return; /* progress of a call that is over, or that nobody asked for, is dropped */
    }
    if (ch->own_init.len && adapt_notification(ch, call, m, method, a))
        return;
    if (!route_back_message(ch, &text, m, method, a))
        return;
    uint32_t sub =
        params ? tape_path(&m->tape, params, "_meta", "io.modelcontextprotocol/subscriptionId", NULL) : 0;
    if (sub) {
        struct own_request *own = own_by_number(ch, m, sub);
        if (own && own->message) {
            own->message(own, m);
            return;
        }
        struct call *owner = call_by_number(ch, m, sub);
        if (owner && owner->sink && splice_value(&text, &m->tape, sub, owner->id_raw))
            channel_deliver(ch, owner, &out);
        return;
    }
    bool about_lists =
        slice_ends(method, SLICE("list_changed")) || slice_is(method, "notifications/resources/updated");
    struct call *to = call || !about_lists || ch->session->stateless ? related_call(ch, call, false) : NULL;
    /* Nobody gets another client's log lines: a guess is only good for one who asked for some. */
    if (to && !call && ch->session->stateless && slice_is(method, "notifications/message") && !to->wants_log)
        to = NULL;
    if (!channel_deliver(ch, to, &out))
        log_debug("server `%s`: %.*s has nobody to go to", ch->server->up.name, SLICE_FMT(method));
}

static void on_message(void *owner, void *call, struct msg *m) {
    struct channel *ch = owner;
    CHECK_MAGIC(ch, CHANNEL_MAGIC);
    struct own_request *own = call ? as_own_request(call) : NULL;
    struct call *about = own ? NULL : call;
    if (own && own->message && !tape_eq(&m->tape, m->rpc.method, SLICE("ping"))) {
        own->message(own, m);
        return;
    }
    struct arena a;
    arena_init(&a);
    if (m->rpc.kind == RPC_REQUEST)
        on_request(ch, about, m, &a);
    else
        on_notification(ch, about, m, &a);
    arena_free(&a);
}

const struct link_events session_channel_events = {
    .answer = on_answer,
    .failed = on_failed,
    .streaming = on_streaming,
    .message = on_message,
    .up = channel_up,
    .down = channel_down,
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
        if (waiting->input)
            input_answered(waiting, ask_id, m);
        else
            approve_answered(waiting, m);
        return;
    }
    struct channel *ch = ask->from;
    if (ch->link && ch->state == CHANNEL_READY) {
        struct arena a;
        arena_init(&a);
        struct splice text;
        splice_init(&text, m->bytes, &a);
        splice_value(&text, &m->tape, m->rpc.id, text_slice(ask->server_id));
        if (ch->link->ops == &link_child_ops)
            msg_flatten(m);
        struct link_out out = {.text = &text, .block = m->block};
        link_send(ch->link, &out, NULL);
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
        call = map_get(&s->by_id, call_id_key(&m->tape, node, &a));
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
        if (s->links[i] && s->links[i]->state == CHANNEL_READY)
            channel_listen(s->links[i]);
}

void session_pause(struct session *s, bool on) {
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i] && s->links[i]->link)
            link_pause(s->links[i]->link, NULL, on);
}
