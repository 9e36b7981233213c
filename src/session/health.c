#include "session/health.h"

#include "base/mem.h"
#include "session/call.h"
#include "session/lane.h"
#include "session/many.h"
#include "session/server.h"

#include <stdio.h>

/* A question that is under way. */
struct session_life {
    struct session_own own;
    struct link_req req;
    struct session_link *link;
    uint64_t asked_ms;
};

static bool over_http(const struct session_link *sl) { return sl->server->up.url != NULL; }

/* ---- is it at work? ---- */

/* Many servers do one thing at a time and hear nothing meanwhile. Whether a call takes too long is for the
 * call to say. Lists and greetings are no work. */
static bool is_work(const void *call) {
    const struct session_own *own = call;
    const struct call *c = call;
    return own->magic != SESSION_OWN_MAGIC && (c->kind == CALL_TOOLS_CALL || c->kind == CALL_OTHER);
}

static bool link_works(const struct session_link *sl) {
    uint32_t at = 0;
    const struct link_req *req;
    if (!sl->link)
        return false;
    if (sl->link->paused && !sl->link->relates) /* what it says is not read at present */
        return true;
    while ((req = slots_next(&sl->link->reqs, &at)))
        if (is_work(req->call))
            return true;
    return false;
}

static bool lanes_work(const struct session_link *first) {
    if (link_works(first))
        return true;
    LIST_FOR (n, &first->lanes) {
        if (link_works(container_of(n, struct session_link, lane_node)))
            return true;
    }
    return false;
}

static bool works(const struct session_link *sl) {
    if (!over_http(sl))
        return link_works(sl);
    size_t slot = sl->server->slot;
    LIST_FOR (n, &sl->session->core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        if (slot < s->link_count && s->links[slot] && lanes_work(s->links[slot]))
            return true;
    }
    return false;
}

/* ---- the end ---- */

/* Not from the sweep itself: whoever is told may close the session. */
static void on_give_up(struct io_timer *timer) {
    struct session_link *sl = container_of(timer, struct session_link, backoff);
    char why[SERVER_FAULT_MAX];
    snprintf(why, sizeof(why), "%s", sl->server->fault);
    if (sl->state == SESSION_LINK_READY)
        link_give_up(sl->link, why);
    else if (sl->state == SESSION_LINK_INIT)
        lane_hello_late(sl, why);
}

/* While a link is up or being greeted its back-off does not run. */
static void give_up(struct session_link *sl) {
    io_timer_arm(sl->session->core->up.loop, &sl->backoff, 0, on_give_up);
}

static void missed(struct session_link *sl, const char *why, uint64_t now) {
    struct session_server *server = sl->server;
    server->life_misses++;
    snprintf(server->fault, sizeof(server->fault), "%s", why);
    if (over_http(sl))
        server->gone_ms = now; /* for all its links: look_ready() */
    else
        give_up(sl);
}

static void say_silent(const struct session_link *sl, uint64_t ms, char why[SERVER_FAULT_MAX]) {
    snprintf(why, SERVER_FAULT_MAX, "server `%s` gave no sign of life within %llu s", sl->server->up.name,
             (unsigned long long)(ms + 999) / 1000);
}

/* ---- asking ---- */

static void life_free(struct session_life *life) {
    life->link->watch.life = NULL;
    link_end(&life->req);
    free(life);
}

void health_forget(struct session_link *sl) {
    if (sl->watch.life)
        life_free(sl->watch.life);
}

/* A list went without it, and nobody saw it go: said again at ever longer intervals, for a server that is
 * there may go on failing. */
static void back_again(struct session_link *sl) {
    struct session_watch *w = &sl->watch;
    uint64_t now = io_now_ms(sl->session->core->up.loop);
    if (!sl->missing || sl->state != SESSION_LINK_READY || now < w->tell_ms)
        return;
    w->tell_ms = now + (sl->server->life_ms << (w->tells < HEALTH_TELLS_MAX ? w->tells++ : w->tells));
    many_back(sl);
}

static void on_life(struct session_own *own, struct msg *m) {
    (void)m;
    struct session_life *life = container_of(own, struct session_life, own);
    struct session_link *sl = life->link;
    life_free(life);
    back_again(sl->first);
}

static void on_no_life(struct session_own *own, const char *why) {
    struct session_life *life = container_of(own, struct session_life, own);
    struct session_link *sl = life->link;
    int status = life->req.status;
    life_free(life);
    if (!sl->link->is_up)
        return; /* `down` follows */
    /* Whoever refuses by a status of its own is there; these are said by others on its behalf. */
    if (status && (status < 502 || status > 504))
        return;
    /* It may just have closed a connection that it had not been using. */
    bool once_more = !sl->watch.again;
    sl->watch.again = true;
    if (once_more) {
        sl->watch.doubt = true;
        sl->server->asked_ms = 0;
    } else {
        missed(sl, why, sl->session->core->life_clock_ms + 1);
    }
}

static void ask(struct session_link *sl, uint64_t now) {
    bool modern = lane_speaks_modern(sl);
    struct session_life *life = mem_zalloc(sizeof(*life));
    *life = (struct session_life){
        .own = {SESSION_OWN_MAGIC, on_life, on_no_life, NULL}, .link = sl, .asked_ms = now};
    sl->watch.doubt = false;
    if (!link_begin(sl->link, &life->req, &life->own)) {
        free(life);
        return;
    }
    struct arena a;
    arena_init(&a);
    struct slice method = modern ? SLICE("server/discover") : SLICE("ping");
    struct slice text = arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\"%s}",
                                     (unsigned long long)life->req.id, SLICE_FMT(method),
                                     modern ? ",\"params\":{\"_meta\":" UP_META_OWN "}" : "");
    sl->watch.life = life;
    sl->server->life_asks++;
    session_send_own(sl, text, method, &life->req);
    if (sl->watch.life == life && !life->req.id)
        life_free(life); /* it could not be sent: next time */
    arena_free(&a);
}

void health_doubt(struct session_link *sl) {
    sl->first->watch.doubt = true;
    sl->server->asked_ms = 0;
}

/* ---- looking ---- */

/* Asked in vain for long enough? Not while it works, nor when another link has heard of it since. */
static void look_asked(struct session_link *sl, uint64_t now) {
    const struct session_server *server = sl->server;
    char why[SERVER_FAULT_MAX];
    uint64_t asked_ms = sl->watch.life->asked_ms;
    if (now - asked_ms < server->life_timeout_ms)
        return;
    health_forget(sl);
    if (works(sl) || (over_http(sl) && server->heard_ms > asked_ms)) {
        sl->watch.since_ms = now;
        return;
    }
    say_silent(sl, server->life_timeout_ms, why);
    missed(sl, why, now);
}

static void look_ready(struct session_link *sl, uint64_t now) {
    struct session_watch *w = &sl->watch;
    struct session_server *server = sl->server;
    bool http = over_http(sl);
    if (http && w->since_ms < server->gone_ms) {
        give_up(sl);
        return;
    }
    if (w->life) {
        look_asked(sl, now);
        return;
    }
    uint64_t silent_ms = now - (http ? server->heard_ms : w->since_ms);
    if ((!w->doubt && silent_ms < server->life_ms) || sl->era == SESSION_ERA_UNKNOWN)
        return;
    if (http && now - server->asked_ms < server->life_timeout_ms)
        return; /* on another link */
    server->asked_ms = now;
    if (!works(sl))
        ask(sl, now);
}

/* A program may first have to be fetched; somebody who answers requests need not. */
static void look_hello(struct session_link *sl, uint64_t now) {
    char why[SERVER_FAULT_MAX];
    uint64_t limit_ms = !over_http(sl) ? HEALTH_START_MS
                        : sl->missing || sl->server->life_timeout_ms > HEALTH_HELLO_MS
                            ? sl->server->life_timeout_ms
                            : HEALTH_HELLO_MS;
    if (now - sl->watch.since_ms < limit_ms)
        return;
    say_silent(sl, limit_ms, why);
    sl->server->life_misses++;
    snprintf(sl->server->fault, sizeof(sl->server->fault), "%s", why);
    give_up(sl);
}

static void look(struct session_link *sl, uint64_t now) {
    struct session_watch *w = &sl->watch;
    uint32_t heard = sl->link ? sl->link->heard : 0;
    if (w->state != (int)sl->state || w->heard != heard) {
        w->state = (int)sl->state;
        w->heard = heard;
        w->since_ms = now;
        w->again = false;
        if (sl->state == SESSION_LINK_READY)
            sl->server->heard_ms = now;
    }
    if (sl->state == SESSION_LINK_READY)
        look_ready(sl, now);
    else if (sl->state == SESSION_LINK_INIT)
        look_hello(sl, now);
    else if (sl->state == SESSION_LINK_DOWN && sl->missing && sl == sl->first &&
             now - w->since_ms >= (over_http(sl) ? sl->server->life_ms : HEALTH_RETRY_MS))
        session_revive(sl); /* it was given up; once more */
}

/* Time in which the gate itself stood still does not count: answers may lie there unread. */
static uint64_t awake_ms(struct session_core *core) {
    uint64_t now = io_now_ms(core->up.loop), passed = now - core->life_seen_ms;
    core->life_clock_ms += passed < 2 * MANY_SWEEP_MS ? passed : 2 * MANY_SWEEP_MS;
    core->life_seen_ms = now;
    return core->life_clock_ms;
}

void health_sweep(struct session_core *core) {
    uint64_t now = awake_ms(core);
    if (core->draining)
        return;
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        for (size_t i = 0; i < s->link_count; i++) {
            struct session_link *first = s->links[i];
            if (!first || !first->server->life_ms)
                continue;
            look(first, now);
            LIST_FOR (k, &first->lanes) {
                look(container_of(k, struct session_link, lane_node), now);
            }
        }
    }
}
