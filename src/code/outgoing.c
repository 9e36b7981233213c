#include "code/outgoing.h"

#include "base/mem.h"
#include "code/code_arg.h"
#include "code/code_reply.h"
#include "code/fault.h"
#include "code/toolcall.h"
#include "code/unwrap.h"
#include "egress/egress.h"

struct waiting {
    struct list node; /* in owner->asks */
    struct outgoing *of;
    struct egress_ask *ask;
    struct code_inner inner;
    struct slice args; /* of the call */
    struct arena arena;
};

int outgoing_open(struct code_server *s, struct err *err) {
    const struct code_config *c = &s->config;
    if (!c->network_allow_count) {
        if (c->network_inject_count)
            return err_set(err, "code.network.inject: code.network.allow lists no host");
        return 0;
    }
    return egress_open(&(struct egress_config){.loop = c->loop,
                                               .allow = c->network_allow,
                                               .allow_count = c->network_allow_count,
                                               .inject = c->network_inject,
                                               .inject_count = c->network_inject_count},
                       &s->egress, err);
}

void outgoing_configure(const struct code_server *s, struct sandbox_config *config) {
    if (!s->egress)
        return;
    config->bundle = egress_bundle(s->egress);
}

static void waiting_free(struct waiting *w) {
    list_remove(&w->node);
    arena_free(&w->arena);
    free(w);
}

static void on_judged(struct code_inner *inner, bool ok, struct slice text) {
    struct waiting *w = container_of(inner, struct waiting, inner);
    struct egress_ask *ask = w->ask;
    struct slice value = {0};
    const bool allowed = ok && unwrap_result(text, &w->arena, &value);
    const struct slice why = allowed ? value : fault_words(text, &w->arena);
    egress_answer(ask, allowed, why);
    waiting_free(w);
}

static struct slice arguments(const struct egress_ask *ask, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "host");
    emit_str(&e, ask->host);
    emit_key(&e, "port");
    emit_int(&e, ask->port);
    if (ask->refused.len) {
        emit_key(&e, "refused");
        emit_str(&e, ask->refused);
    }
    emit_object_end(&e);
    return arena_dup(a, buf_slice(&out));
}

/* Destinations that are not on the list are also called, so that they are recorded. */
static void on_judge(void *owner, struct egress_ask *ask) {
    struct outgoing *o = owner;
    struct code_conn *conn = o->calls->conn;
    if (!conn) {
        egress_answer(ask, false, SLICE("the client that started this run is gone"));
        return;
    }
    struct waiting *w = mem_zalloc(sizeof(*w));
    *w = (struct waiting){.of = o, .ask = ask, .inner.done = on_judged};
    arena_init(&w->arena);
    list_push(&o->calls->owner->asks, &w->node);
    ask->handle = w;
    w->inner.about = arena_printf(&w->arena, "%.*s:%u%s%.*s%s%.*s", SLICE_FMT(ask->host), ask->port,
                                  ask->address.len ? " at " : "", SLICE_FMT(ask->address),
                                  ask->refused.len ? "; " : "", SLICE_FMT(ask->refused));
    w->args = arguments(ask, &w->arena);
    conn->ops->call_tool(conn->owner, slice_str(o->calls->owner->server->config.name), SLICE(OUTGOING_TOOL),
                         w->args, o->calls->record, &w->inner);
}

static void on_gone(void *owner, struct egress_ask *ask) {
    const struct outgoing *o = owner;
    struct waiting *w = ask->handle;
    if (w->inner.handle && o->calls->conn)
        o->calls->conn->ops->drop_tool(o->calls->conn->owner, &w->inner);
    waiting_free(w);
}

static const struct egress_ops egress_ops = {.judge = on_judge, .gone = on_gone};

void outgoing_start(struct outgoing *o, struct toolcalls *calls, int take_listener) {
    o->calls = calls;
    o->port = egress_listen(calls->owner->server->egress, take_listener, &egress_ops, o);
}

void outgoing_stop(struct outgoing *o) { egress_port_close(steal(o->port)); }

void outgoing_fail_all(struct outgoing *o) {
    LIST_FOR_SAFE (n, next, &o->calls->owner->asks) {
        struct egress_ask *ask = container_of(n, struct waiting, node)->ask;
        if (container_of(n, struct waiting, node)->of != o)
            continue;
        on_gone(o, ask);
        egress_answer(ask, false, SLICE("the client that started this run is gone"));
    }
}

/* Code and clients can call any tool by its name: such a call is not a connection and must not look like one.
 */
static bool is_waited_for(const struct code_owner *owner, struct slice args) {
    LIST_FOR (n, &owner->asks)
        if (slice_eq(container_of(n, struct waiting, node)->args, args))
            return true;
    return false;
}

void outgoing_reply(struct code_req *r) {
    if (!r->args || !is_waited_for(r->owner, tape_raw(&r->tape, r->args))) {
        code_reply_error(r, RPC_INVALID_PARAMS, "Unknown tool: " OUTGOING_TOOL);
        return;
    }
    const struct slice refused = code_arg_text(r, "refused", (struct slice){0});
    code_reply_text(r, refused.len ? refused : SLICE("allowed"), refused.len > 0);
}
