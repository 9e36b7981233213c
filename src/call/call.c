#include "call/call.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "call/limits.h"

#define CALL_MAGIC 0xca11ca11

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
    io_timer_stop(core->up.loop, &c->timer);
    link_end(&c->req);
    list_remove(&c->node);
    list_remove(&c->wait);
    for (void (*const *end)(struct call *) = core->walk->ends; *end; end++)
        (*end)(c);
    if (c->id_key.len)
        map_remove(&s->by_id, c->id_key);
    s->call_count--;
    if (c->lingers)
        core->calls_lingering--;
    else
        core->calls_under_way--;
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
    if (s->lingers && list_empty(&s->calls))
        core->session_over(s);
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

/* ---- the walk ---- */

static void forget_response(struct call *c) {
    msg_unref(c->response);
    c->response = NULL;
    c->answer = NULL;
    c->answer_msg = NULL;
}

static void forget_verdict(struct call *c) {
    policy_unref(c->policy);
    c->policy = NULL;
    c->fingerprint = (struct slice){0};
    c->checked_on = NULL;
}

/* Only this function lets a call change its step; the functions below do it for events from outside. */
static void call_run(struct call *c) {
    const struct call_walk *walk = c->session->core->walk;
    while (c->step < walk->count) {
        switch (walk->steps[c->step].run(c)) {
        case CALL_NEXT:
            c->step++;
            break;
        case CALL_WAIT:
            return;
        case CALL_FAIL:
            c->step = walk->fail;
            break;
        case CALL_DONE:
            c->step = walk->done;
            break;
        case CALL_JUDGE_AGAIN:
            forget_verdict(c);
            c->step = walk->judge;
            break;
        case CALL_GATHER:
            c->step = walk->gather;
            break;
        case CALL_ANSWERED:
            c->step = walk->answered;
            break;
        case CALL_RESEND:
            call_rewind(c);
            break;
        case CALL_WAIT_RESEND:
            call_rewind(c);
            return;
        }
    }
    call_free(c);
}

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
        c->about = arena_dup(&c->arena, sink->about);
        c->extra_headers = arena_dup(&c->arena, sink->extra_headers);
    }
    if (m->rpc.kind == RPC_REQUEST) {
        c->sink = sink;
        sink->call = c;
    }
    call_run(c);
}

void call_make(struct session *s, struct server *server, struct slice text, struct call_sink *sink) {
    struct msg *m = call_read_text(s->core, text);
    CHECK(m); /* a text of the gate itself */
    sink->to = server;
    sink->subcall = true;
    call_start(s, m, sink);
    msg_unref(m);
}

void call_resume(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    call_run(c);
}

void call_rewind(struct call *c) {
    forget_response(c);
    c->step = c->session->core->walk->resend;
}

void call_resend(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    call_rewind(c);
    call_run(c);
}

void call_conclude(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    list_remove(&c->wait);
    c->step = c->session->core->walk->fail;
    call_run(c);
}

void call_answer(struct call *c, struct msg *m) {
    CHECK_MAGIC(c, CALL_MAGIC);
    c->response = msg_ref(m);
    call_run(c);
}

void call_streaming(struct call *c, int64_t retry_ms, bool left) {
    CHECK_MAGIC(c, CALL_MAGIC);
    if (c->sink)
        c->sink->ops->streaming(c->sink, retry_ms, left);
}

void call_reply(struct call *c) {
    struct call_sink *sink = c->sink;
    if (!sink)
        return;
    c->sink = NULL;
    sink->call = NULL;
    if (c->answer) {
        struct session_out out = {
            .text = c->answer, .msg = c->answer_msg, .http_status = c->http_status, .record = c->record};
        sink->ops->reply(sink, &out);
    } else {
        sink->ops->none(sink);
    }
}

/* ---- an early end ---- */

void call_stop(struct call *c, const char *reason, struct splice *answer) {
    CHECK_MAGIC(c, CALL_MAGIC);
    c->session->core->walk->cancel(c, slice_str(reason));
    link_end(&c->req);
    c->answer = answer;
    c->outcome = "cancelled";
    call_conclude(c);
}

/* Does it hold a concurrency slot for work that the server may still do? The built-in server ends a run as
 * soon as its request is abandoned. */
static bool keeps_slot(const struct call *c) {
    bool concurrent = false, awaits = c->step == c->session->core->walk->gather;
    for (size_t i = 0; c->reserving && i < c->verdict.limit_count; i++)
        concurrent |= c->verdict.limits[i].kind == POLICY_CONCURRENT;
    bool builtin = c->req.id && c->req.link->server->builtin;
    return concurrent && awaits && c->sent && !builtin && !c->response && !c->outcome;
}

/* A concurrency slot is free only when the server has answered, died or timed out. Until then the call
 * stays, without a client and without its id. */
void call_cancel(struct call *c, const char *reason) {
    CHECK_MAGIC(c, CALL_MAGIC);
    if (!keeps_slot(c)) {
        call_stop(c, reason, NULL);
        return;
    }
    struct core *core = c->session->core;
    core->walk->cancel(c, slice_str(reason));
    c->outcome = "cancelled";
    c->lingers = true;
    core->calls_under_way--;
    core->calls_lingering++;
    if (c->id_key.len)
        map_remove(&c->session->by_id, c->id_key);
    c->id_key = (struct slice){0};
    call_reply(c);
}

void call_cancel_named(struct session *s, const struct msg *m) {
    cleanup_arena struct arena a;
    arena_init(&a);
    uint32_t node = rpc_param(&m->tape, &m->rpc, "requestId");
    struct call *call = NULL;
    if (node && (tape_is(&m->tape, node, TAPE_STRING) || tape_is(&m->tape, node, TAPE_NUMBER)))
        call = map_get(&s->by_id, call_id_key(&m->tape, node, &a));
    if (!call || call->kind == CALL_INITIALIZE)
        return;
    uint32_t reason = tape_get_str(&m->tape, m->rpc.params, "reason");
    struct slice text = reason ? tape_text(&m->tape, reason, &a) : (struct slice){0};
    call_cancel(call, text.len ? arena_dup(&a, text).ptr : "cancelled by the client");
}

void call_orphan(struct call *c) {
    CHECK_MAGIC(c, CALL_MAGIC);
    if (c->sink)
        c->sink->call = NULL;
    c->sink = NULL;
    call_pause(c, false);
}

void call_pause(struct call *c, bool on) { c->session->core->walk->pause(c, on); }

/* ---- messages ---- */

struct msg *call_read_text(struct core *core, struct slice text) {
    cleanup_arena struct arena a;
    arena_init(&a);
    int code;
    const char *why;
    struct slice id;
    struct block *b = block_copy(&core->up.loop->blocks, text.ptr, text.len);
    struct msg *m = msg_read(&core->up.msgs, b, slice_of(b->data, text.len), &a, &code, &why, &id);
    block_unref(b);
    return m;
}

struct msg *call_reread(struct call *c, const struct splice *text) {
    struct core *core = c->session->core;
    struct buf *out = &core->scratch;
    buf_reset(out);
    return splice_write(text, out) && out->len ? call_read_text(core, buf_slice(out)) : NULL;
}

/* method and name may point into the message */
static void keep_names(struct call *c) {
    c->method = arena_dup(&c->arena, c->method);
    c->name = arena_dup(&c->arena, c->name);
}

void call_release_request(struct call *c) {
    keep_names(c);
    msg_release_bytes(c->request);
}

static void set_request(struct call *c, struct msg *take_m) {
    uint32_t params = take_m->rpc.params;
    c->request = take_m;
    if (c->args)
        c->args = c->kind == CALL_TOOLS_CALL ? tape_get_str(&take_m->tape, params, "arguments") : params;
}

void call_replace_request(struct call *c, struct msg *take_m) {
    keep_names(c);
    msg_unref(c->request);
    set_request(c, take_m);
}

void call_restore_request(struct call *c, struct msg *take_m) {
    c->asked = c->request; /* method and name point into it */
    c->asked_args = c->args;
    set_request(c, take_m);
}

void call_replace_response(struct call *c, struct msg *take_m) {
    msg_unref(c->response);
    c->response = take_m;
}

struct slice call_id_key(const struct tape *t, uint32_t id, struct arena *a) {
    if (!tape_is(t, id, TAPE_STRING))
        return arena_dup(a, tape_raw(t, id));
    struct slice text = tape_text(t, id, a);
    return arena_printf(a, "\"%.*s", SLICE_FMT(text));
}

/* ---- setters for other rooms ---- */

void call_set_verdict(struct call *c, const struct policy_verdict *verdict) { c->verdict = *verdict; }

void call_deny_as(struct call *c, enum policy_reason reason, struct slice rule, struct slice text) {
    c->verdict.outcome = POLICY_DENY;
    c->verdict.reason = reason;
    c->verdict.rule = rule;
    c->verdict.text = text;
}

void call_settle(struct call *c, uint64_t give_back) {
    if (!c->reserving)
        return;
    c->reserving = false;
    state_settle_each(&c->ticket, give_back);
}

void call_take_ticket(struct call *c, struct state_ticket *ret_ticket) {
    c->reserving = false;
    state_ticket_move(&c->ticket, ret_ticket);
}

void call_add_finding(struct call *c, struct slice text) {
    c->findings = c->findings.len
                      ? arena_printf(&c->arena, "%.*s; %.*s", SLICE_FMT(c->findings), SLICE_FMT(text))
                      : text;
}
