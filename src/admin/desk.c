/* Calls that users make from the console. They take the same steps as an agent's calls, with the same
 * limits and records. Each principal has one session, which ends when it is idle. */
#include "admin/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "call/call.h"
#include "call/principal.h"
#include "policy/policy.h"
#include "policy/trace.h"
#include "privacy/sent.h"
#include "server/server.h"
#include "session/session.h"

#include <stdlib.h>

struct desk {
    struct list node;
    struct admin *admin;
    struct session *session;
    struct io_timer idle;
};

/* ---- sessions ---- */

static bool desk_deliver(struct session *s, const struct session_out *out) {
    (void)s, (void)out;
    return false; /* no stream exists outside of calls */
}

static const struct session_front desk_front = {.deliver = desk_deliver};

static void desk_close(struct desk *d) {
    io_timer_stop(d->admin->core->up.loop, &d->idle);
    list_remove(&d->node);
    session_close(d->session);
    free(d);
}

static void on_idle(struct io_timer *timer) {
    struct desk *d = container_of(timer, struct desk, idle);
    if (d->session->call_count)
        io_timer_arm(d->admin->core->up.loop, timer, ADMIN_DESK_IDLE_MS, on_idle);
    else
        desk_close(d);
}

static struct session *desk_for(struct admin *a, struct principal *who) {
    struct desk *found = NULL;
    size_t count = 0;
    LIST_FOR (n, &a->desks) {
        struct desk *d = container_of(n, struct desk, node);
        count++;
        if (d->session->principal == who)
            found = d;
    }
    if (!found && count < ADMIN_DESKS_MAX) {
        found = mem_zalloc(sizeof(*found));
        found->admin = a;
        found->session = session_new(a->core, &desk_front, found, who, NULL, true);
        found->session->console = true;
        list_push(&a->desks, &found->node);
    }
    if (found)
        io_timer_arm(a->core->up.loop, &found->idle, ADMIN_DESK_IDLE_MS, on_idle);
    return found ? found->session : NULL;
}

void api_desks_free(struct admin *a) {
    LIST_FOR_SAFE (n, next, &a->desks) {
        desk_close(container_of(n, struct desk, node));
    }
}

/* ---- one call ---- */

/* A request that waits for its answer. */
struct desk_call {
    struct call_sink sink;
    struct admin *admin;
    struct web_reply *reply; /* NULL when the client disconnected */
    uint64_t began_us;
    struct arena arena;
    char *server;         /* the server whose tools are listed at the end, or NULL */
    struct api_page page; /* parameters of the list; texts in the arena */
};

static void desk_call_free(struct desk_call *d) {
    arena_free(&d->arena);
    free(d->server);
    free(d);
}

static void answer(struct desk_call *d, int status, const struct buf *body) {
    struct slice head =
        arena_printf(&d->arena, "Cache-Control: no-store\r\n%.*s", SLICE_FMT(api_page_head(&d->page)));
    d->reply->ops->answer(d->reply, status, "application/json", head, buf_slice(body));
}

static void put_member(struct emit *e, const char *key, const struct tape *t, uint32_t node) {
    if (!node)
        return;
    emit_key(e, key);
    emit_raw(e, tape_raw(t, node));
}

/* The result of the call, from its response. */
static void put_answer(struct emit *e, const struct tape *t) {
    uint32_t result = tape_get_str(t, 0, "result"), error = tape_get_str(t, 0, "error");
    uint32_t denial = result ? tape_path(t, result, "_meta", "sallyport/denial", NULL) : 0;
    uint32_t approval = error ? tape_path(t, error, "data", "approval_id", NULL) : 0;
    emit_key(e, "verdict");
    emit_cstr(e, denial ? "deny" : approval ? "approve" : "allow");
    if (denial)
        put_member(e, "rule", t, tape_get_str(t, denial, "rule"));
    put_member(e, "approval_id", t, approval);
    put_member(e, "result", t, result);
    if (error)
        put_member(e, "error", t, tape_get_str(t, error, "message"));
}

static void desk_reply(struct call_sink *sink, const struct session_out *out) {
    struct desk_call *d = container_of(sink, struct desk_call, sink);
    cleanup_buf struct buf text, body;
    cleanup_tape struct tape t;
    buf_init(&text, MSG_BYTES_MAX + 1024);
    buf_init(&body, ADMIN_OUT_MAX);
    tape_init(&t);
    struct emit e;
    emit_init(&e, &body);
    emit_object(&e);
    if (splice_write(out->text, &text) && tape_parse(&t, buf_slice(&text), NULL) == TAPE_OK)
        put_answer(&e, &t);
    emit_key(&e, "latency_us");
    emit_int(&e, (int64_t)(clock_mono_us() - d->began_us));
    if (out->record) {
        emit_key(&e, "call");
        emit_int(&e, (int64_t)out->record);
    }
    emit_object_end(&e);
    if (d->reply)
        answer(d, 200, &body);
    desk_call_free(d);
}

static void desk_event(struct call_sink *sink, const struct session_out *out) { (void)sink, (void)out; }
static void desk_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static void desk_none(struct call_sink *sink) {
    struct desk_call *d = container_of(sink, struct desk_call, sink);
    cleanup_buf struct buf body;
    buf_init(&body, 256);
    buf_put_str(&body, "{\"error\":\"the call was cancelled\"}\n");
    if (d->reply)
        answer(d, 409, &body);
    desk_call_free(d);
}

/* The tools are known now, or could not be listed. */
static void tools_reply(struct call_sink *sink, const struct session_out *out) {
    struct desk_call *d = container_of(sink, struct desk_call, sink);
    (void)out;
    cleanup_buf struct buf body;
    struct emit e;
    buf_init(&body, ADMIN_OUT_MAX);
    emit_init(&e, &body);
    const struct server *s = server_find(d->admin->core, slice_str(d->server));
    if (s)
        api_put_tools(d->admin, s, &d->page, &e);
    else
        buf_put_str(&body, "[]");
    if (d->page.skipping) {
        buf_reset(&body);
        buf_put_str(&body, "{\"error\":\"" API_PAGE_GONE "\"}\n");
    }
    if (d->reply)
        answer(d, d->page.skipping ? 400 : 200, &body);
    desk_call_free(d);
}

static const struct call_sink_ops desk_ops = {
    .reply = desk_reply, .event = desk_event, .streaming = desk_streaming, .none = desk_none};
static const struct call_sink_ops tools_ops = {
    .reply = tools_reply, .event = desk_event, .streaming = desk_streaming, .none = desk_none};

static void on_gone(void *owner) {
    struct desk_call *d = owner;
    d->reply = NULL; /* the call continues: it may already have had effects */
}

#define DESK_META                                                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"       \
    "clientCapabilities\":{},\"io.modelcontextprotocol/"                                                     \
    "clientInfo\":{\"name\":\"console\",\"version\":\"1\"}}"

static void desk_send(struct api_call *c, struct session *s, struct server *server, struct slice text,
                      const struct call_sink_ops *ops, const struct api_page *page) {
    struct desk_call *d = mem_zalloc(sizeof(*d));
    *d = (struct desk_call){.sink = {.ops = ops, .modern = true},
                            .admin = c->admin,
                            .reply = c->request->reply,
                            .began_us = clock_mono_us(),
                            .server = mem_dup(server->up.name, strlen(server->up.name))};
    arena_init(&d->arena);
    if (page)
        d->page = *page;
    d->page.arena = &d->arena;
    d->page.after = arena_dup(&d->arena, d->page.after);
    d->reply->ops->later(d->reply, d, on_gone);
    call_make(s, server, text, &d->sink);
}

bool api_desk_list(struct api_call *c, struct server *server, const struct api_page *page) {
    struct session *s = desk_for(c->admin, c->request->who);
    if (!s)
        return false;
    desk_send(c, s, server,
              SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" DESK_META "}}"),
              &tools_ops, page);
    return true;
}

/* ---- the playground ---- */

static void answer_dry(struct api_call *c, struct session *s, const struct server *server, uint32_t args) {
    struct policy *policy = server_policy(s, server);
    const struct principal *who = s->principal;
    const struct policy_facts facts = {.method = SLICE("tools/call"),
                                       .server = slice_str(server->up.name),
                                       .tool = api_member(c, "tool"),
                                       .tape = &c->body,
                                       .args = args,
                                       .traits = api_tool_traits(server, api_member(c, "tool")),
                                       .grant = slice_str(who->grant),
                                       .limits = slice_str(who->limits),
                                       .identity = slice_str(who->id),
                                       .more = who->facts,
                                       .more_count = who->fact_count,
                                       .now_ms = clock_wall_ms(),
                                       .detector = sent_detector_alone()};
    struct policy_trace trace = {.arena = &c->arena};
    struct policy_verdict v;
    policy_decide(policy, &facts, &c->arena, &trace, &v);
    policy_trace_json(&c->e, &trace, &v, policy_verdict_text(policy, &v, &c->arena));
    api_answer(c, 200);
}

void api_playground(struct api_call *c) {
    struct core *core = c->admin->core;
    struct server *server = server_find(core, api_member(c, "server"));
    struct slice tool = api_member(c, "tool"), grant = api_member(c, "grant");
    uint32_t args = tape_get_str(&c->body, 0, "arguments");
    if (!server || !tool.len || (args && !tape_is(&c->body, args, TAPE_OBJECT))) {
        api_error(c, server ? 400 : 404,
                  server ? "tool must be a string, arguments an object" : "no such server");
        return;
    }
    struct principal *who = c->request->who;
    if (grant.len && !(who->roles & PRINCIPAL_ADMIN)) {
        api_error(c, 403, "calling as a grant needs the role admin");
        return;
    }
    if (grant.len)
        who = core->principal_of ? core->principal_of(core->principals_owner, grant) : NULL;
    if (!who || !principal_may_use(who, slice_str(server->up.name))) {
        api_error(c, 404, who ? "this grant is for other servers" : "no active grant has this name");
        return;
    }
    struct session *s = desk_for(c->admin, who);
    if (!s) {
        api_error(c, 503, "too many users make calls from the console");
        return;
    }
    if (api_member_flag(c, "dry_run")) {
        answer_dry(c, s, server, args);
        return;
    }
    cleanup_buf struct buf text;
    buf_init(&text, MSG_BYTES_MAX);
    buf_put_str(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":");
    emit_quote(&text, tool);
    buf_put_str(&text, ",\"arguments\":");
    buf_put_slice(&text, args ? tape_raw(&c->body, args) : SLICE("{}"));
    buf_put_str(&text, "," DESK_META "}}");
    desk_send(c, s, server, buf_slice(&text), &desk_ops, NULL);
}
