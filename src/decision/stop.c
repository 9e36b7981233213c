#include "decision/stop.h"

#include "base/mem.h"
#include "call/answer.h"
#include "call/call.h"
#include "call/principal.h"
#include "decision/limits.h"
#include "server/server.h"
#include "server/visible.h"
#include "state/stops.h"

struct stops {
    struct core *core;
    struct io_timer timer; /* checks whether another process has stopped something */
    size_t swept;          /* their number when calls were last ended */
};

static void on_check(struct io_timer *timer) {
    struct stops *s = container_of(timer, struct stops, timer);
    struct state_stops *store = s->core->stop_store;
    if (state_stops_refresh(store) || s->swept != state_stops_count(store)) {
        s->swept = state_stops_count(store);
        stop_sweep(s->core);
        if (s->core->tools_changed)
            s->core->tools_changed(s->core); /* an operator may have trusted a new server */
    }
    io_timer_arm(s->core->up.loop, timer, STOP_CHECK_MS, on_check);
}

int stop_open(struct core *core, const char *home, struct err *err) {
    struct stops *s = mem_zalloc(sizeof(*s));
    s->core = core;
    if (state_stops_open(home, &core->stop_store, err) < 0 || state_stops_follow(core->stop_store, err) < 0) {
        state_stops_close(steal(core->stop_store));
        free(s);
        return -1;
    }
    core->stops = s;
    io_timer_arm(core->up.loop, &s->timer, STOP_CHECK_MS, on_check);
    return 0;
}

void stop_close(struct core *core) {
    struct stops *s = steal(core->stops);
    if (!s)
        return;
    io_timer_stop(core->up.loop, &s->timer);
    state_stops_close(steal(core->stop_store));
    free(s);
}

struct state_stops *stop_store(const struct core *core) {
    return core->stop_store;
}

/* ---- verdicts ---- */

static const struct state_stop *stop_for(struct core *core, const struct server *server,
                                         const struct principal *who) {
    if (!core->stop_store)
        return NULL;
    return state_stops_match(core->stop_store, server ? slice_str(server->up.name) : (struct slice){0},
                             slice_str(who->grant));
}

static struct slice stop_text(const struct state_stop *stop, struct arena *a) {
    static const char *const what[] = {"Everything", "This server", "This grant"};
    return arena_printf(a, "%s has been stopped by an operator%s%.*s", what[stop->scope],
                        stop->reason.len ? ": " : "", SLICE_FMT(stop->reason));
}

/* Methods that act on a server. Handshakes and lists stay allowed, so that clients remain connected. */
static bool acts(const struct call *c) {
    return c->kind == CALL_TOOLS_CALL || c->kind == CALL_OTHER || c->kind == CALL_COMPLETE;
}

bool stop_judge(struct core *core, const struct server *server, const struct principal *who, struct arena *a,
                struct policy_verdict *v) {
    const struct state_stop *stop = stop_for(core, server, who);
    if (stop)
        *v = (struct policy_verdict){.outcome = POLICY_DENY,
                                     .reason = POLICY_BY_STOP,
                                     .rule = SLICE("(stopped)"),
                                     .text = stop_text(stop, a)};
    return stop;
}

/* Clients see nothing of a server that an operator has not trusted yet: its list or its description may be
 * poisoned. */
static bool sees_untrusted(const struct call *c) {
    return c->kind != CALL_PING && c->server && visible_distrusts(c->session, c->server);
}

bool stop_refuses(struct call *c) {
    return (acts(c) || sees_untrusted(c)) &&
           stop_judge(c->session->core, c->server, c->session->principal, &c->arena, &c->verdict);
}

/* ---- calls under way ---- */

void stop_call(struct call *c, const char *why) {
    call_stop(c, why, answer_text(c, answer_error_text(&c->arena, c->id_raw, RPC_INTERNAL, why)));
}

static bool is_stopped(const struct call *c) {
    const struct state_stop *stop =
        acts(c) && c->server ? stop_for(c->session->core, c->server, c->session->principal) : NULL;
    return stop && (stop->cancel || !c->sent);
}

/* Ending one call may end others: the iteration restarts after each. */
static bool end_one(struct session *s, bool (*which)(const struct call *c), const char *why) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (!which(c))
            continue;
        stop_call(c, why);
        return true;
    }
    return false;
}

static void end_each(struct core *core, bool (*which)(const struct call *c), const char *why) {
    for (uint32_t left = core->calls_under_way + core->calls_lingering; left-- > 0;) {
        bool any = false;
        LIST_FOR_SAFE (n, next, &core->sessions) {
            any |= end_one(container_of(n, struct session, node), which, why);
        }
        if (!any)
            return;
    }
}

void stop_sweep(struct core *core) { end_each(core, is_stopped, "stopped by an operator"); }

/* Subcalls end with their call. */
static bool is_whole(const struct call *c) { return !c->subcall && !c->inner; }

void stop_every_call(struct core *core, const char *why) { end_each(core, is_whole, why); }
