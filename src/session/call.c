/* The walk of one message. A front receives and parses it (RECV, PARSE); from then on it stands in exactly
 * one of the steps below, each a function that says what comes next. Waiting happens only here. A denied or
 * failed call skips to SETTLE. Tools called from anywhere else inside the gate enter at IDENTIFY like
 * everybody: there is no second way in.
 *
 *   IDENTIFY → ROUTE → DECIDE → RESERVE → APPROVE → NOTE → RESTORE → FORWARD → AWAIT → FILTER → SETTLE →
 *   RECORD → REPLY
 */
#include "session/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/answer.h"
#include "session/approve.h"
#include "session/bridge.h"
#include "session/digest.h"
#include "session/files.h"
#include "session/gather.h"
#include "session/lane.h"
#include "session/listen.h"
#include "session/many.h"
#include "session/park.h"
#include "session/poison.h"
#include "session/principal.h"
#include "session/record.h"
#include "session/redact.h"
#include "session/restore.h"
#include "session/rounds.h"
#include "session/route.h"
#include "session/server.h"
#include "session/tools.h"
#include "session/trace.h"
#include "session/translate.h"
#include "wire/canon.h"
#include "wire/emit.h"

#include <stdio.h>

#define CALL_MAGIC 0xca11ca11

static enum call_next step_identify(struct call *c);
static enum call_next step_route(struct call *c);
static enum call_next step_decide(struct call *c);
static enum call_next step_reserve(struct call *c);
static enum call_next step_note(struct call *c);
static enum call_next step_restore(struct call *c);
static enum call_next step_forward(struct call *c);
static enum call_next step_await(struct call *c);
static enum call_next step_filter(struct call *c);
static enum call_next step_settle(struct call *c);
static enum call_next step_record(struct call *c);
static enum call_next step_reply(struct call *c);

enum {
    STEP_IDENTIFY,
    STEP_ROUTE,
    STEP_DECIDE,
    STEP_RESERVE,
    STEP_APPROVE,
    STEP_NOTE,
    STEP_RESTORE,
    STEP_FORWARD,
    STEP_AWAIT,
    STEP_FILTER,
    STEP_SETTLE,
    STEP_RECORD,
    STEP_REPLY,
    STEP_END,
};

static enum call_next (*const call_steps[])(struct call *) = {
    [STEP_IDENTIFY] = step_identify, /* who asks */
    [STEP_ROUTE] = step_route,       /* what it is about, and which server it goes to */
    [STEP_DECIDE] = step_decide,     /* the policy's verdict */
    [STEP_RESERVE] = step_reserve,   /* its limits: all of them or none */
    [STEP_APPROVE] =
        call_step_approve,         /* a person's, where the policy asks for one; nothing is held meanwhile */
    [STEP_NOTE] = step_note,       /* the decision goes on record before anything is done */
    [STEP_RESTORE] = step_restore, /* tokens in its arguments become values again, by rule */
    [STEP_FORWARD] = step_forward, /* to the server, as soon as its link is ready */
    [STEP_AWAIT] = step_await,     /* its answer */
    [STEP_FILTER] = step_filter,   /* what of the answer the client may see */
    [STEP_SETTLE] = step_settle,   /* what its limits held is kept or given back */
    [STEP_RECORD] = step_record,   /* what came of it */
    [STEP_REPLY] = step_reply,     /* to the client */
};

/* ---- life ---- */

static struct io_loop *call_loop(struct call *c) { return c->session->core->up.loop; }

static struct call *call_new(struct session *s) {
    struct session_core *core = s->core;
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
    struct session_core *core = s->core;
    gather_stop(c->gather);
    if (c->link)
        c->link->used_ms = io_now_ms(core->up.loop);
    io_timer_stop(core->up.loop, &c->timer);
    call_approve_end(c);
    link_end(&c->req);
    list_remove(&c->node);
    list_remove(&c->wait);
    rounds_forget(c);
    park_leave(c);
    listen_leave(c);
    lane_release(c);
    if (c->id_key.len)
        map_remove(&s->by_id, c->id_key);
    if (c->recording && !c->recorded)
        audit_cancel(core->audit, &c->audit_wait);
    s->call_count--;
    msg_unref(c->request);
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

void call_pool_free(struct session_core *core) {
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
    call_set_error(c, code, http_status, message);
    return CALL_FAIL;
}

static enum call_next deny(struct call *c) {
    call_set_denied(c);
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
    const char *fault = principal_fault(s->principal, clock_wall_ms());
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
    struct slice key = session_id_key(&m->tape, m->rpc.id, &c->arena);
    if (map_get(&s->by_id, key))
        return call_refuse(c, RPC_INVALID_REQUEST, 400, "a request with this id is under way");
    c->id_key = key;
    map_put(&s->by_id, key, c);
    return CALL_NEXT;
}

static enum call_next read_subject(struct call *c) {
    const struct msg *m = c->request;
    if (!c->subject)
        return CALL_NEXT;
    if (rpc_has_alike(&m->tape, m->rpc.params, slice_str(c->subject)))
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
        if (rpc_has_alike(&m->tape, m->rpc.params, SLICE("arguments")))
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
        c->answer = call_text(c, arena_printf(&c->arena, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
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

/* Intercept's counters belong to a tool of the one server it guards: with many they need the server's name.
 */
static struct slice counter_key(struct call *c, struct slice key) {
    if (!c->session->core->many || policy_dialect(c->policy) != POLICY_INTERCEPT)
        return key;
    return arena_printf(&c->arena, "%s/%.*s", c->server->up.name, SLICE_FMT(key));
}

static bool read_counter(void *ctx, const struct policy_limit *limit, int64_t *ret_micro) {
    struct call *c = ctx;
    struct state_limit want = {.kind = (enum state_kind)limit->kind,
                               .key = counter_key(c, limit->key),
                               .window_ms = limit->window_ms,
                               .max = limit->max,
                               .refill = limit->refill};
    return state_read(c->session->core->state, &want, clock_wall_ms(), ret_micro) == STATE_GRANTED;
}

/* The canonical arguments stand for the call in the log, in approvals and against repetition. */
static void hash_arguments(struct call *c) {
    struct buf *text = &c->session->core->scratch;
    buf_reset(text);
    struct slice whole = SLICE("{}");
    if (c->args) /* what has no canonical text within the ceiling stands for itself */
        whole = canon_write(&c->request->tape, c->args, &c->arena, text)
                    ? buf_slice(text)
                    : tape_raw(&c->request->tape, c->args);
    char *hex = arena_alloc(&c->arena, DIGEST_HEX_LEN);
    digest_hex(c->session->core->digest, whole, hex);
    c->args_hash = slice_of(hex, DIGEST_HEX_LEN);
}

/* In the words for a hidden tool: whether it exists is not the caller's to know. */
static enum call_next deny_ungranted(struct call *c) {
    c->verdict = (struct policy_verdict){
        .outcome = POLICY_DENY,
        .reason = POLICY_BY_HIDE,
        .rule = SLICE("(grant)"),
        .text = arena_printf(&c->arena, "Tool \"%.*s\" is hidden by policy", SLICE_FMT(c->name)),
    };
    return deny(c);
}

/* Rules about classes, flows and schemas, and pins, need the server's own definition: it is asked for first.
 * A list of pinned tools is compared with what is known before it passes. */
static bool wants_definition(const struct call *c) {
    bool pinned = guard_wants_definitions(c->session->core);
    if (c->kind != CALL_TOOLS_CALL)
        return c->kind == CALL_TOOLS_LIST && pinned;
    return pinned || policy_wants_traits(c->policy) ||
           policy_wants_schema(c->policy, c->name, &(struct policy_traits){0});
}

static enum call_next step_decide(struct call *c) {
    struct session *s = c->session;
    if (!c->policy) {
        call_trace_begin(c);
        c->policy = policy_ref(session_policy(s, c->server));
        if (c->kind == CALL_TOOLS_CALL)
            hash_arguments(c);
    }
    bool is_call = c->kind == CALL_TOOLS_CALL;
    if (is_call && !principal_may_call(s->principal, slice_str(c->server->up.name), c->name))
        return deny_ungranted(c);
    if (wants_definition(c)) {
        struct session_link *sl = session_link_for(s, c->server, c);
        if (!sl || !tools_ready(sl, c))
            return CALL_WAIT;
    }
    const struct tool *tool = is_call ? map_get(&c->server->tools.by_name, c->name) : NULL;
    /* The list may be learned anew while this call waits: only a copy stays. */
    if (tool) {
        c->fingerprint = arena_dup(&c->arena, slice_str(tool->fingerprint));
        c->class = tool->traits.class;
    }
    const struct policy_counters counters = {read_counter, c};
    struct policy_facts facts = {
        .method = c->method,
        .direction = POLICY_TO_SERVER,
        .server = slice_str(c->server->up.name),
        .tool = is_call ? c->name : (struct slice){0},
        .tape = &c->request->tape,
        .args = c->args,
        .grant = slice_str(s->principal->grant),
        .limits = slice_str(s->principal->limits),
        .identity = slice_str(s->principal->id),
        .more = s->principal->facts,
        .more_count = s->principal->fact_count,
        .session = slice_str(s->name),
        .flow = s->flow,
        .args_hash = c->args_hash,
        .now_ms = clock_wall_ms(),
        .counters = &counters,
        .files = &session_files,
    };
    if (tool) {
        facts.traits = tool->traits;
        facts.schema = tool->schema;
    }
    policy_decide(c->policy, &facts, &c->arena, NULL, &c->verdict);
    /* Neither classes nor flows can be judged for a tool that the server keeps to itself. */
    if (is_call && !tool && policy_wants_traits(c->policy) && c->verdict.outcome != POLICY_DENY) {
        policy_refuse_fault(&c->verdict);
        c->verdict.text = SLICE("The server does not list this tool, and the policy needs to know its class");
    }
    if (is_call && guard_refuses(c, tool))
        return deny(c);
    if (c->verdict.outcome == POLICY_DENY)
        return deny(c);
    c->tags = is_call ? facts.traits.tags : 0;
    if (c->verdict.outcome == POLICY_ALLOW)
        s->flow |= c->tags;
    return CALL_NEXT;
}

/* ---- limits ---- */

static enum call_next reserved(struct call *c) {
    const struct state_answer *answer = &c->ticket.answer;
    if (answer->result == STATE_FAULT) {
        policy_refuse_fault(&c->verdict);
        return deny(c);
    }
    if (answer->result == STATE_REFUSED) {
        policy_refuse(&c->verdict.limits[answer->refused_index], answer->retry_after_ms, &c->arena,
                      &c->verdict);
        return deny(c);
    }
    for (size_t i = 0; answer->shadow_refused && i < c->verdict.limit_count && i < 64; i++)
        if (answer->shadow_refused >> i & 1)
            policy_shadow(&c->verdict.limits[i], &c->arena, &c->verdict);
    return CALL_NEXT;
}

static void on_reserved(void *ctx, enum state_result result, size_t refused_index, uint64_t retry_after_ms) {
    struct call *c = ctx;
    CHECK_MAGIC(c, CALL_MAGIC);
    c->ticket.answer.result = result;
    c->ticket.answer.refused_index = refused_index;
    c->ticket.answer.retry_after_ms = retry_after_ms;
    call_run(c);
}

static enum call_next step_reserve(struct call *c) {
    size_t n = c->verdict.limit_count;
    if (!n)
        return CALL_NEXT;
    if (c->reserving)
        return reserved(c);
    struct state_limit *limits = arena_array(&c->arena, struct state_limit, n);
    for (size_t i = 0; i < n; i++) {
        const struct policy_limit *p = &c->verdict.limits[i];
        limits[i] = (struct state_limit){.kind = (enum state_kind)p->kind,
                                         .shadow = p->shadow,
                                         .key = counter_key(c, p->key),
                                         .window_ms = p->window_ms,
                                         .max = p->max,
                                         .refill = p->refill,
                                         .amount = p->amount};
    }
    c->reserving = true;
    enum state_step step =
        state_reserve(c->session->core->state, limits, n, clock_wall_ms(), &c->ticket, on_reserved, c);
    return step == STATE_WAIT ? CALL_WAIT : reserved(c);
}

/* Kept when the server may have done it: a JSON-RPC error says that it has not, and what was never sent
 * cannot have happened. A call that timed out or was cancelled counts. */
static enum call_next step_settle(struct call *c) {
    if (!c->reserving)
        return CALL_NEXT;
    c->reserving = false;
    bool refused = c->response && c->response->rpc.kind == RPC_ERROR;
    state_settle(&c->ticket, c->sent && !refused ? STATE_KEEP : STATE_ROLLBACK);
    return CALL_NEXT;
}

/* ---- the log ---- */

static void on_recorded(struct audit_wait *wait, bool written) {
    struct call *c = container_of(wait, struct call, audit_wait);
    CHECK_MAGIC(c, CALL_MAGIC);
    c->recorded = true;
    c->log_failed = !written;
    call_run(c);
}

static void on_log_room(struct io_timer *timer) {
    struct session_core *core = container_of(timer, struct session_core, log_timer);
    struct list ready;
    list_init(&ready);
    struct list *n;
    while ((n = list_pop(&core->log_waiting)))
        list_push(&ready, n);
    while ((n = list_pop(&ready)))
        call_run(container_of(n, struct call, wait));
}

/* A log that is behind slows the gate down before it stops it. */
static bool wait_for_log(struct call *c) {
    struct session *s = c->session;
    if (clock_mono_us() - c->received_us > CALL_LOG_MS * 1000ull)
        return false;
    list_push(&s->core->log_waiting, &c->wait);
    if (!s->core->log_timer.due_ms)
        io_timer_arm(s->core->up.loop, &s->core->log_timer, 0, on_log_room);
    if (s->front->hold && !c->holding)
        s->front->hold(s, true);
    c->holding = true;
    return true;
}

/* A call that cannot be recorded is not made. */
static enum call_next step_note(struct call *c) {
    struct session *s = c->session;
    if (!s->core->audit)
        return CALL_NEXT;
    if (!c->recording) {
        c->audit_wait.done = on_recorded;
        enum audit_result result = call_record_decision(c, &c->audit_wait);
        if (result == AUDIT_FULL && wait_for_log(c))
            return CALL_WAIT;
        c->recording = true;
        if (c->holding && s->front->hold)
            s->front->hold(s, false);
        if (result == AUDIT_WAIT)
            return CALL_WAIT;
        c->recorded = true;
        c->log_failed = result != AUDIT_OK;
    }
    if (!c->log_failed)
        return CALL_NEXT;
    c->record = 0;
    struct audit_health health;
    audit_health(s->core->audit, &health);
    log_error("refused %.*s: the audit log %s", SLICE_FMT(c->method),
              health.failed ? health.fault : "is full");
    return call_refuse(c, RPC_INTERNAL, 503, "the audit log cannot take this call");
}

static enum call_next step_restore(struct call *c) { return call_restore(c) ? CALL_NEXT : CALL_FAIL; }

static bool speaks_modern(const struct session_link *sl) { return sl->era == SESSION_ERA_MODERN; }

static void on_timeout(struct io_timer *timer) {
    struct call *c = container_of(timer, struct call, timer);
    CHECK_MAGIC(c, CALL_MAGIC);
    char why[128];
    snprintf(why, sizeof(why), "server `%s` did not answer in time", c->link->server->up.name);
    struct call_sink *sink = c->sink;
    c->sink = NULL; /* answered below, after the server has been told */
    c->outcome = "timeout";
    struct session_link *sl = c->link;
    if (sl->link && c->req.id) {
        struct slice note =
            arena_printf(&c->arena,
                         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                         "\"requestId\":%llu,\"reason\":\"timed out\"}}",
                         (unsigned long long)c->req.id);
        struct link_out out = {.text = call_text(c, note),
                               .method = SLICE("notifications/cancelled"),
                               .modern = speaks_modern(sl)};
        if (!(speaks_modern(sl) && sl->link->relates))
            link_send(sl->link, &out, NULL);
    }
    link_end(&c->req);
    c->sink = sink;
    call_fail(c, why);
}

/* Some answers come when they come. */
static bool waits_forever(const struct call *c) {
    return c->kind == CALL_LISTEN || slice_is(c->method, "tasks/result");
}

void call_touch(struct call *c) {
    if (waits_forever(c))
        return;
    uint64_t age = io_now_ms(call_loop(c)) - c->started_ms;
    uint64_t left = age < CALL_TOTAL_MS ? CALL_TOTAL_MS - age : 0;
    io_timer_arm(call_loop(c), &c->timer, left < CALL_IDLE_MS ? left : CALL_IDLE_MS, on_timeout);
}

/* The message as the server gets it: our id, our progress token, every other byte as it came. */
static bool forward_text(struct call *c, struct splice *text) {
    const struct msg *m = c->request;
    splice_init(text, m->bytes, &c->arena);
    if (!m->rpc.id)
        return true;
    struct slice id = arena_u64(&c->arena, c->req.id);
    if (!splice_value(text, &m->tape, m->rpc.id, id))
        return false;
    if (c->renamed) {
        struct buf name;
        buf_init(&name, CALL_NAME_MAX * 6 + 2);
        emit_quote(&name, c->name);
        struct slice json = arena_dup(&c->arena, buf_slice(&name));
        buf_free(&name);
        if (!splice_value(text, &m->tape, tape_get_str(&m->tape, m->rpc.params, "name"), json))
            return false;
    }
    if (c->bridged)
        return bridge_request_text(c, text);
    call_trace_forward(c, text);
    if (!call_approve_strip(c, text))
        return false;
    if (!c->token_raw.len)
        return true;
    uint32_t token = tape_path(&m->tape, m->rpc.params, "_meta", "progressToken", NULL);
    return splice_value(text, &m->tape, token, id);
}

/* Arguments that travel as headers too: made here for a client that sent none, checked here for a server
 * that sees none. Between two that both speak HTTP they pass as they are. */
static enum call_next mirror_arguments(struct call *c) {
    bool server_sees = speaks_modern(c->link) && c->link->link->relates;
    if ((!c->modern && !c->bridged) || c->kind != CALL_TOOLS_CALL || c->mirrored == server_sees)
        return CALL_NEXT;
    if (!tools_ready(c->link, c))
        return CALL_WAIT;
    const struct tool *tool = tools_find(c->link, c->name);
    if (server_sees && tool && tool->bad_marks)
        return call_refuse(c, RPC_INVALID_PARAMS, 0,
                           arena_printf(&c->arena, "Unknown tool: %.*s", SLICE_FMT(c->name)).ptr);
    if (server_sees)
        c->extra_headers = tools_header_lines(c->link, c);
    else if (!tools_headers_agree(c->link, c))
        return call_refuse(c, RPC_HEADER_MISMATCH, 400, "an Mcp-Param header does not equal its argument");
    return CALL_NEXT;
}

/* A large call that is on its way takes no memory here while it is being worked on. */
static void forget_bytes(struct call *c) {
    c->method = arena_dup(&c->arena, c->method);
    c->name = arena_dup(&c->arena, c->name);
    msg_release_bytes(c->request);
    c->tries = CALL_TRIES_MAX;
}

static enum call_next step_forward(struct call *c) {
    struct msg *m = c->request;
    c->forwarding = true;
    if (c->modern && m->rpc.id) {
        enum call_next next = CALL_NEXT;
        if (park_resume(c, &next))
            return next;
    }
    struct session_link *sl = session_link_for(c->session, c->server, c);
    if (!sl)
        return CALL_WAIT;
    c->link = sl;
    c->bridged = c->modern != speaks_modern(sl);
    struct link *link = sl->link;
    if (c->part && c->kind == CALL_INITIALIZE) {
        /* The gate greets the server itself; all that is wanted is to know what it says. */
        if (speaks_modern(sl) && !lane_hello(sl, c))
            return CALL_WAIT;
        c->answer = call_text(c, SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"));
        return CALL_FAIL;
    }
    if (c->bridged) {
        enum call_next next = bridge_forward(c);
        if (next != CALL_NEXT)
            return next;
    }
    /* A client that can be held back is; others wait here until the server takes more. */
    if (link_busy(link) && !c->session->front->hold) {
        session_wait(c->link, c);
        return CALL_WAIT;
    }
    enum call_next mirrored = mirror_arguments(c);
    if (mirrored != CALL_NEXT)
        return mirrored;
    if (m->rpc.id && !link_begin(link, &c->req, c))
        return call_refuse(c, RPC_INTERNAL, 503, "too many requests under way at this server");
    struct splice text;
    if (!forward_text(c, &text))
        return call_refuse(c, RPC_INTERNAL, 0, "message could not be rewritten");
    if (link->ops == &link_child_ops)
        msg_flatten(m);
    struct link_out out = {
        .text = &text,
        .block = m->block,
        .method = c->method,
        .name = c->name,
        .extra_headers = c->extra_headers,
        .modern = speaks_modern(sl),
        .opens = c->kind == CALL_INITIALIZE,
        .inner = c->inner && !c->part,
    };
    c->tries++;
    c->sent = link_send(link, &out, m->rpc.id ? &c->req : NULL);
    if (!c->sent && m->rpc.id) {
        link_end(&c->req);
        return call_refuse(
            c, RPC_INTERNAL, 502,
            arena_printf(&c->arena, "server `%s` cannot be reached", c->link->server->up.name).ptr);
    }
    if (c->kind == CALL_INITIALIZED)
        session_listen_again(c->link);
    if (link_busy(link) && c->session->front->hold)
        c->session->front->hold(c->session, true);
    if (c->sent && c->kind == CALL_TOOLS_CALL && m->bytes.len > CALL_KEEP_BYTES && !c->bridged)
        forget_bytes(c);
    return CALL_NEXT;
}

static enum call_next step_await(struct call *c) {
    if (c->gather && !c->server)
        return gather_over(c->gather) ? CALL_NEXT : CALL_WAIT;
    if (!c->request->rpc.id || c->response)
        return CALL_NEXT;
    if (!c->started_ms) {
        c->started_ms = io_now_ms(call_loop(c));
        call_touch(c);
    }
    return CALL_WAIT;
}

static bool hides_tool(void *ctx, const struct tape *t, uint32_t elem) {
    struct call *c = ctx;
    uint32_t name = tape_get_str(t, elem, "name");
    /* A tool without a usable name cannot be judged, so it is not shown. */
    if (!name || !tape_is(t, name, TAPE_STRING))
        return true;
    struct slice text = tape_text(t, name, &c->arena);
    if (!principal_may_call(c->session->principal, slice_str(c->link->server->up.name), text))
        return true;
    const struct tool *tool = tools_find(c->link, text);
    /* Where the gate itself is the client over HTTP, such tools are not for use. */
    if (tool && tool->bad_marks && !c->mirrored && speaks_modern(c->link) && c->link->link->relates)
        return true;
    return policy_hides(c->policy, text, tool ? &tool->traits : &(struct policy_traits){0}) ||
           guard_hides(c, tool, elem, c->list_serial);
}

static bool translate_tools(struct call *c, uint32_t tools, struct splice *text) {
    const struct tape *t = &c->response->tape;
    if (!c->bridged || c->modern)
        return true;
    TAPE_FOR_ELEM(t, tools, i) {
        if (!hides_tool(c, t, i) && !translate_tool_down(text, t, i))
            return false;
    }
    return true;
}

static enum call_next filter_tools(struct call *c, struct splice *text) {
    const struct msg *m = c->response;
    uint32_t tools = tape_get_str(&m->tape, m->rpc.body, "tools");
    if (!tools || !tape_is(&m->tape, tools, TAPE_ARRAY) ||
        !splice_drop_elems(text, &m->tape, tools, hides_tool, c) || !translate_tools(c, tools, text) ||
        !poison_strip_list(c, tools, c->list_serial, text))
        return call_refuse(c, RPC_INTERNAL, 502, "the server's list of tools could not be filtered");
    return CALL_NEXT;
}

/* initialize was answered: what was agreed holds for the session and for a restart of the server. */
static void note_initialized(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->response;
    uint32_t version = tape_get_str(&m->tape, m->rpc.body, "protocolVersion");
    if (version && tape_is(&m->tape, version, TAPE_STRING))
        snprintf(s->version, sizeof(s->version), "%.*s", SLICE_FMT(tape_text(&m->tape, version, &c->arena)));
    session_keep_initialize(s, c->request->rpc.params ? tape_raw(&c->request->tape, c->request->rpc.params)
                                                      : SLICE("{}"));
}

/* Content that a model reads, and that others may have written. */
static bool brings_content(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || slice_is(c->method, "resources/read") ||
           slice_is(c->method, "prompts/get");
}

/* The call was made and counts; only its result is kept back, for the reason that the verdict gives. */
static enum call_next withhold_result(struct call *c, const char *outcome) {
    struct slice why = policy_verdict_text(c->policy, &c->verdict, &c->arena);
    if (c->kind == CALL_TOOLS_CALL)
        c->answer = call_text(c, call_denial_text(c, why));
    else
        call_set_error(c, RPC_INVALID_REQUEST, 0, arena_dup(&c->arena, why).ptr);
    c->answer_msg = NULL;
    c->http_status = 0;
    c->outcome = outcome;
    return CALL_NEXT;
}

static enum call_next withhold_large(struct call *c) {
    struct policy_verdict *v = &c->verdict;
    v->outcome = POLICY_DENY;
    v->reason = POLICY_BY_RULE;
    v->rule = SLICE("max_result_bytes");
    v->text = arena_printf(&c->arena, "The result has %zu bytes; the policy lets %llu pass",
                           c->response->bytes.len, (unsigned long long)v->result_bytes_max);
    return withhold_result(c, "result_too_large");
}

/* initialize was refused: by a server of the stateless era? Then it is not sent again but answered here. */
static bool speaks_another(struct call *c) {
    if (!speaks_modern(c->link) && !lane_reconsider(c->link, c))
        return false;
    if (list_linked(&c->wait))
        return true;
    call_rewind(c);
    c->step--; /* it is the next one */
    return true;
}

/* What the answer says about the server and its link. */
static void note_answer(struct call *c) {
    if (c->kind == CALL_DISCOVER || c->kind == CALL_INITIALIZE)
        many_learn_hello(c->server, &c->response->tape, c->response->rpc.body);
    else if (slice_is(c->method, "resources/subscribe"))
        c->link->subscriptions++; /* what somebody has subscribed to is not idle */
    else if (slice_is(c->method, "resources/unsubscribe") && c->link->subscriptions)
        c->link->subscriptions--;
}

static enum call_next step_filter(struct call *c) {
    struct msg *m = c->response;
    if (!m)
        return CALL_NEXT;
    c->link->failures = 0;
    c->http_status = m->http_status;
    struct splice *text = call_text(c, m->bytes);
    c->answer_msg = m;
    c->answer = text;
    if (m->rpc.id ? !splice_value(text, &m->tape, m->rpc.id, c->id_raw)
                  : !splice_add_member(text, &m->tape, 0, SLICE("id"), c->id_raw))
        return call_refuse(c, RPC_INTERNAL, 502, "the server's answer could not be rewritten");
    if (c->kind == CALL_INITIALIZE && !c->modern && m->rpc.kind == RPC_ERROR && speaks_another(c))
        return list_linked(&c->wait) ? CALL_WAIT : CALL_NEXT;
    if (c->bridged) {
        enum call_next next = bridge_answer(c, text);
        if (next != CALL_NEXT || !c->response) /* or it is sent once more */
            return next;
    }
    if (c->modern && !c->bridged && !rounds_allowed(c))
        return withhold_result(c, "denied");
    if (!route_back(c, text, m))
        return call_refuse(c, RPC_INTERNAL, 502, "the names in the server's answer could not be rewritten");
    if (m->rpc.kind != RPC_RESULT) {
        call_redact(c, text);
        return CALL_NEXT;
    }
    note_answer(c);
    if (c->verdict.result_bytes_max && m->bytes.len > c->verdict.result_bytes_max)
        return withhold_large(c);
    if (c->kind == CALL_INITIALIZE)
        note_initialized(c);
    if (c->kind == CALL_INITIALIZE || slice_is(c->method, "server/discover"))
        poison_filter_hello(c, text);
    if (brings_content(c) && !poison_filter_result(c, text))
        return withhold_result(c, "poisoned");
    call_redact(c, text); /* last: it must see what the others have made of it */
    if (c->kind == CALL_TOOLS_LIST) {
        uint32_t params = c->request->rpc.params;
        c->list_serial =
            tools_learn(c->link, m, !params || !tape_get_str(&c->request->tape, params, "cursor"));
        return filter_tools(c, text);
    }
    if (c->kind == CALL_LISTEN) {
        uint32_t id =
            tape_path(&m->tape, m->rpc.body, "_meta", "io.modelcontextprotocol/subscriptionId", NULL);
        if (id)
            splice_value(text, &m->tape, id, c->id_raw);
    }
    return CALL_NEXT;
}

static enum call_next step_record(struct call *c) {
    struct session_core *core = c->session->core;
    if (c->denied && c->verdict.outcome == POLICY_DENY)
        log_info("denied %.*s %.*s: rule %.*s", SLICE_FMT(c->method), SLICE_FMT(c->name),
                 SLICE_FMT(c->verdict.rule));
    if (c->policy)
        call_count(c);
    if (!core->audit || !c->policy)
        return CALL_NEXT;
    /* A refusal stands whether or not the log has room for it, but not in silence. */
    if (!c->recording && call_record_decision(c, NULL) != AUDIT_OK)
        log_error("not in the audit log: %.*s %.*s was refused", SLICE_FMT(c->method), SLICE_FMT(c->name));
    if (c->record && !c->denied)
        call_record_outcome(c);
    return CALL_NEXT;
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
        c->inner = sink->to != NULL;
        c->part = sink->part;
        c->extra_headers = arena_dup(&c->arena, sink->extra_headers);
    }
    if (m->rpc.kind == RPC_REQUEST) {
        c->sink = sink;
        sink->call = c;
    }
    c->step = STEP_IDENTIFY;
    call_run(c);
}

struct msg *call_read_text(struct session_core *core, struct slice text) {
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

void call_make(struct session *s, struct session_server *server, struct slice text, struct call_sink *sink) {
    struct msg *m = call_read_text(s->core, text);
    CHECK(m); /* the gate's own words */
    sink->to = server;
    sink->part = true;
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
    call_set_error(c, RPC_INTERNAL, 502, why);
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
        c->sent = !retry;
        call_fail(c, why);
        return;
    }
    /* The server has not seen it: once more. Where the link itself is over, `down` follows and opens another.
     */
    c->sent = false;
    c->step = STEP_FORWARD;
    if (c->link->link->is_up)
        call_run(c);
    else
        session_wait(c->link, c);
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
    struct link *link = c->link ? c->link->link : NULL;
    /* Over HTTP the stateless era cancels by closing; everywhere else the server is told. */
    bool tell = link && c->req.id && !(speaks_modern(c->link) && link->relates) && c->kind != CALL_INITIALIZE;
    if (tell) {
        struct buf note;
        buf_init(&note, CALL_REASON_MAX * 6 + 256); /* every byte may need an escape */
        buf_printf(&note,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                   "cancelled\",\"params\":{\"requestId\":%llu,\"reason\":",
                   (unsigned long long)c->req.id);
        emit_quote(&note, slice_upto(slice_str(reason), CALL_REASON_MAX));
        buf_put_str(&note, "}}");
        struct link_out out = {.text = call_text(c, arena_dup(&c->arena, buf_slice(&note))),
                               .method = SLICE("notifications/cancelled"),
                               .modern = speaks_modern(c->link)};
        buf_free(&note);
        link_send(link, &out, NULL);
    }
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
    call_stop(c, "shutting down", call_text(c, text));
}

static struct call *find_listen(struct session *s) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && c->sink && !c->inner)
            return c;
    }
    return NULL;
}

void call_end_listens(struct session_core *core) {
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
    struct link *link = c->link ? c->link->link : NULL;
    if (!link || !c->req.id)
        return;
    if (link->relates)
        link_pause(link, &c->req, on);
    else if (!c->session->stateless && c->link->session == c->session)
        link_pause(link, NULL, on);
}
