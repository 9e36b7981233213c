/* Which link a call travels on. The client's era and the server's are two things:
 *
 *   client     server      link
 *   legacy     legacy      the session's own; the client's initialize passes as it is
 *   modern     modern      the session's own (of all requests of a principal); nothing to set up
 *   legacy     modern      the session's own; the gate has asked server/discover and answers initialize
 * itself modern     legacy      a lane: initialised by the gate in the client's words
 *
 * Lanes. A server of the older era is told once what its client can do, so requests with other capabilities
 * have another lane. Over HTTP every message comes on the stream of its request, so requests share a lane.
 * Pipes and HTTP+SSE do not say to which request a question belongs: there a request that may be asked
 * something has a lane for itself until it is over. When all are taken, it waits. */
#include "session/lane.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/bridge.h"
#include "session/call.h"
#include "session/guard.h"
#include "session/health.h"
#include "session/listen.h"
#include "session/many.h"
#include "session/park.h"
#include "session/server.h"
#include "session/task.h"
#include "session/tools.h"
#include "session/translate.h"
#include "wire/emit.h"

#include <stdio.h>

static void on_init_answer(struct session_own *own, struct msg *m);
static void on_init_failed(struct session_own *own, const char *why);
static void on_probe_answer(struct session_own *own, struct msg *m);
static void on_probe_failed(struct session_own *own, const char *why);

static struct io_loop *lane_loop(const struct session_link *sl) { return sl->session->core->up.loop; }

/* ---- life ---- */

static struct session_link *lane_new(struct session *s, struct session_server *server) {
    struct session_link *sl = mem_zalloc(sizeof(*sl));
    *sl = (struct session_link){.magic = SESSION_LINK_MAGIC, .session = s, .server = server, .log_rank = -1};
    list_init(&sl->waiting);
    list_init(&sl->lanes);
    list_init(&sl->crowd);
    list_init(&sl->notes);
    map_init(&sl->subscribed);
    arena_init(&sl->tools_page);
    return sl;
}

static void take_text(struct slice *at, struct slice text) {
    free((char *)(uintptr_t)at->ptr);
    *at = text.len ? slice_of(mem_dup(text.ptr, text.len), text.len) : (struct slice){0};
}

static void lane_stop(struct session_link *sl) {
    io_timer_stop(lane_loop(sl), &sl->backoff);
    io_timer_stop(lane_loop(sl), &sl->probe_timer);
    io_timer_stop(lane_loop(sl), &sl->idle);
    io_timer_stop(lane_loop(sl), &sl->tools_timer);
    up_era_stop_waiting(&sl->era_wait);
}

static void link_drop(struct session_link *sl) {
    struct link *gone = sl->link;
    lane_stop(sl);
    sl->link = NULL;
    sl->state = SESSION_LINK_DOWN;
    sl->era = sl->own_init.len ? SESSION_ERA_LEGACY : SESSION_ERA_UNKNOWN;
    sl->log_rank = -1;
    take_text(&sl->hello, (struct slice){0});
    sl->server_info = (struct slice){0};
    sl->server_bits = 0;
    session_drop_asks(sl->session, sl);
    park_drop(sl);
    task_drop(sl);
    listen_link_over(sl);
    health_forget(sl);
    link_close(gone);
}

static void lane_free(struct session_link *sl) {
    link_drop(sl);
    lane_stop(sl); /* what was parked there has left, and leaving arms the timer */
    list_remove(&sl->lane_node);
    take_text(&sl->own_init, (struct slice){0});
    take_text(&sl->client_caps, (struct slice){0});
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&sl->subscribed, &at)))
        free(entry->value);
    map_free(&sl->subscribed);
    tools_abandon(sl);
    free(sl);
}

static void lanes_free(struct session_link *first) {
    first->session->links[first->server->slot] = NULL;
    LIST_FOR_SAFE (n, next, &first->lanes) {
        lane_free(container_of(n, struct session_link, lane_node));
    }
    lane_free(first);
}

void lane_close_all(struct session *s) {
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i])
            lanes_free(s->links[i]);
}

struct session_link *session_link_of(struct session *s, struct session_server *server) {
    s = many_home(s, server);
    if (server->slot >= s->link_count) {
        size_t count = s->core->server_count;
        s->links = mem_realloc(s->links, count * sizeof(*s->links));
        memset(s->links + s->link_count, 0, (count - s->link_count) * sizeof(*s->links));
        s->link_count = count;
    }
    struct session_link *sl = s->links[server->slot];
    if (!sl) {
        sl = s->links[server->slot] = lane_new(s, server);
        sl->first = sl;
    }
    return sl;
}

/* ---- waiting ---- */

void session_wait(struct session_link *sl, struct call *call) { list_push(&sl->waiting, &call->wait); }

static void resume_all(struct list *waiting) {
    struct list due, *n; /* only those that wait now: a call may have to wait for something else next */
    list_init(&due);
    while ((n = list_pop(waiting)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        call_resume(container_of(n, struct call, wait));
}

void session_wake(struct session_link *sl) {
    if (sl->state == SESSION_LINK_READY)
        resume_all(&sl->waiting);
}

static void fail_waiting(struct session_link *sl, const char *why) {
    struct list *n;
    while ((n = list_pop(&sl->waiting)))
        call_fail(container_of(n, struct call, wait), why);
}

static struct call *call_to(struct session *s, const struct session_server *server) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->server == server)
            return c;
    }
    return NULL;
}

void session_fail_calls(struct session *s, const struct session_server *server) {
    char why[128];
    snprintf(why, sizeof(why), "server `%s` has been removed", server->up.name);
    struct call *c;
    while ((c = call_to(s, server))) /* ending one may end others, when it was part of them */
        call_fail(c, why);
}

void session_drop_link(struct session *s, struct session_server *server) {
    struct session_link *first = server->slot < s->link_count ? s->links[server->slot] : NULL;
    char why[128];
    snprintf(why, sizeof(why), "server `%s` has been removed", server->up.name);
    if (!first)
        return;
    fail_waiting(first, why);
    lanes_free(first);
}

static bool asked_over_http(const struct session_link *sl) {
    return sl->server->up.url && !sl->server->up.use_sse;
}

/* ---- opening ---- */

static void on_refused(struct io_timer *timer) {
    struct session_link *sl = container_of(timer, struct session_link, backoff);
    sl->state = SESSION_LINK_DOWN;
    fail_waiting(sl, sl->server->refused);
}

/* Some servers may not be spoken to at all. */
static bool may_open(struct session_link *sl) {
    sl->state = SESSION_LINK_OPENING;
    if (guard_may_open(sl->session->core, sl->server))
        return true;
    /* Not from here: the call that wants it is in the middle of a step. */
    io_timer_soon(lane_loop(sl), &sl->backoff, on_refused);
    return false;
}

static void on_looked(struct up_era_wait *w);

static void open_link(struct session_link *sl) {
    sl->opened_ms = io_now_ms(lane_loop(sl));
    sl->link = link_open(&sl->server->up, &session_link_events, sl);
}

/* Requests of the stateless era need no greeting, by which a server over HTTP would be found to be back. */
static bool must_look(const struct session_link *sl) {
    return sl->missing && sl->session->stateless && !sl->own_init.len && asked_over_http(sl);
}

static void open_now(struct session_link *sl) {
    if (!may_open(sl))
        return;
    if (must_look(sl)) {
        sl->era_wait.legacy = false;
        sl->era_wait.done = on_looked;
        up_era_ask(&sl->server->up, &sl->era_wait);
        return;
    }
    open_link(sl);
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
    io_timer_arm(lane_loop(sl), &sl->backoff, delay < SESSION_BACKOFF_MAX_MS ? delay : SESSION_BACKOFF_MAX_MS,
                 on_backoff);
}

void session_listen_again(struct session_link *sl) {
    /* Before initialize there is nothing to listen to. */
    if (sl->era == SESSION_ERA_MODERN)
        listen_refresh(sl);
    else if (sl->session->listening && sl->session->version[0])
        link_listen(sl->link);
}

static void link_ready(struct session_link *sl) {
    sl->state = SESSION_LINK_READY;
    session_listen_again(sl);
    if (sl->own_init.len)
        link_listen(sl->link); /* for what the server says outside requests */
    session_wake(sl);
    if (sl->state == SESSION_LINK_READY)
        many_link_ready(sl);
}

void session_revive(struct session_link *sl) {
    if (sl->state == SESSION_LINK_DOWN)
        link_start(sl);
}

void session_rest(struct session_link *sl) {
    sl->failures = 0;
    link_drop(sl);
}

void session_send_own(struct session_link *sl, struct slice text, struct slice method, struct link_req *req) {
    struct arena a;
    arena_init(&a);
    struct splice whole;
    splice_init(&whole, text, &a);
    bool opens = slice_is(method, "initialize");
    struct link_out out = {
        .text = &whole,
        .method = method,
        .modern = !opens && (sl->era == SESSION_ERA_MODERN || sl->state == SESSION_LINK_PROBE),
        .opens = opens,
    };
    if (!link_send(sl->link, &out, req) && req)
        link_end(req);
    arena_free(&a);
}

void session_cancel_own(struct session_link *sl, uint64_t id, struct slice reason) {
    cleanup_buf struct buf note;
    buf_init(&note, CALL_REASON_MAX * 6 + 256); /* every byte may need an escape */
    buf_printf(&note,
               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%llu,"
               "\"reason\":",
               (unsigned long long)id);
    emit_quote(&note, slice_upto(reason, CALL_REASON_MAX));
    buf_put_str(&note, "}}");
    session_send_own(sl, buf_slice(&note), SLICE("notifications/cancelled"), NULL);
}

static bool first_waiting_is_modern(const struct session_link *sl) {
    return !list_empty(&sl->waiting) && container_of(sl->waiting.next, struct call, wait)->modern;
}

/* ---- which era ---- */

/* By what is known of the server now. */
static enum session_era known_era(const struct session_link *sl, bool modern_client) {
    const struct up_server *up = &sl->server->up;
    if (up->use_sse)
        return SESSION_ERA_LEGACY; /* that transport belongs to it */
    if (!modern_client)            /* it can always be tried; who refuses initialize is met otherwise */
        return up->era.modern == UP_YES && (up->era.legacy == UP_NO || (up->url && up->era.legacy != UP_YES))
                   ? SESSION_ERA_MODERN
                   : SESSION_ERA_LEGACY;
    if (!up_era_fresh(up, false))
        return SESSION_ERA_UNKNOWN;
    return up->era.modern == UP_YES ? SESSION_ERA_MODERN : SESSION_ERA_LEGACY;
}

static void on_era(struct up_era_wait *w) {
    struct session_link *sl = container_of(w, struct session_link, era_wait);
    sl->state = SESSION_LINK_DOWN;
    if (!w->why) {
        resume_all(&sl->waiting);
    } else if (first_waiting_is_modern(sl)) {
        fail_waiting(sl, w->why);
    } else {
        /* Nothing was learned; initialize will tell. */
        sl->era = SESSION_ERA_LEGACY;
        link_start(sl);
    }
}

static void on_looked(struct up_era_wait *w) {
    struct session_link *sl = container_of(w, struct session_link, era_wait);
    sl->state = SESSION_LINK_DOWN;
    if (w->why) {
        sl->failures++;
        fail_waiting(sl, w->why);
        many_link_down(sl);
        return;
    }
    sl->era = known_era(sl, true);
    if (sl->era == SESSION_ERA_MODERN) {
        sl->state = SESSION_LINK_OPENING;
        open_link(sl);
        return;
    }
    many_back(sl); /* its lanes are greeted when they are needed */
    resume_all(&sl->waiting);
}

/* On a child it is asked on the link itself; one that takes it badly is started anew. */
static void on_probe_timer(struct io_timer *timer) {
    struct session_link *sl = container_of(timer, struct session_link, probe_timer);
    link_end(&sl->init);
    on_probe_failed(&sl->init_own, "silence");
}

static void probe_start(struct session_link *sl) {
    struct arena a;
    sl->state = SESSION_LINK_PROBE;
    sl->init_own = (struct session_own){SESSION_OWN_MAGIC, on_probe_answer, on_probe_failed, NULL};
    if (!link_begin(sl->link, &sl->init, &sl->init_own))
        return;
    arena_init(&a);
    struct slice text = arena_printf(&a,
                                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"server/discover\","
                                     "\"params\":{\"_meta\":" UP_META_OWN "}}",
                                     (unsigned long long)sl->init.id);
    io_timer_arm(lane_loop(sl), &sl->probe_timer, UP_ERA_ASK_MS, on_probe_timer);
    session_send_own(sl, text, SLICE("server/discover"), &sl->init);
    arena_free(&a);
}

static void hello_take(struct session_link *sl, const struct tape *t, uint32_t result) {
    struct slice raw = tape_raw(t, result);
    uint32_t info = tape_path(t, result, "_meta", UP_META_SERVER, NULL);
    if (!info)
        info = tape_get_str(t, result, "serverInfo");
    if (raw.len > UP_DISCOVER_MAX)
        return;
    take_text(&sl->hello, raw);
    sl->server_info = (struct slice){0};
    if (info && tape_is(t, info, TAPE_OBJECT)) {
        struct slice text = tape_raw(t, info);
        sl->server_info = slice_of(sl->hello.ptr + (text.ptr - raw.ptr), text.len);
    }
    sl->server_bits = translate_server_bits(t, tape_get_str(t, result, "capabilities"));
    many_learn_hello(sl->server, t, result);
}

static void probe_over(struct session_link *sl, bool modern) {
    bool legacy_waits = !list_empty(&sl->waiting) && !first_waiting_is_modern(sl);
    io_timer_stop(lane_loop(sl), &sl->probe_timer);
    up_era_note(&sl->server->up, modern ? UP_YES : UP_NO, legacy_waits && modern ? UP_NO : UP_UNKNOWN);
    sl->era = modern ? SESSION_ERA_MODERN : SESSION_ERA_LEGACY;
    if (sl->link->is_up && (modern || legacy_waits)) {
        link_ready(sl);
        return;
    }
    /* A server of the older era starts anew: who knows what it made of the question. */
    link_drop(sl);
    resume_all(&sl->waiting);
}

static void on_probe_answer(struct session_own *own, struct msg *m) {
    struct session_link *sl = container_of(own, struct session_link, init_own);
    bool again;
    enum up_answer modern = up_era_judge(m->http_status, &m->tape, &m->rpc, &again);
    if (modern == UP_YES && m->rpc.kind == RPC_RESULT) {
        up_era_note_discover(&sl->server->up, tape_raw(&m->tape, m->rpc.body));
        hello_take(sl, &m->tape, m->rpc.body);
    }
    probe_over(sl, modern == UP_YES);
}

static void on_probe_failed(struct session_own *own, const char *why) {
    (void)why;
    struct session_link *sl = container_of(own, struct session_link, init_own);
    if (sl->link && sl->link->is_up)
        probe_over(sl, false);
    /* else `down` follows */
}

/* ---- hello ---- */

static void ask_hello(struct session_link *sl, struct slice method, struct slice params) {
    struct buf text;
    sl->state = SESSION_LINK_INIT;
    sl->init_own = (struct session_own){SESSION_OWN_MAGIC, on_init_answer, on_init_failed, NULL};
    if (!link_begin(sl->link, &sl->init, &sl->init_own))
        return;
    buf_init(&text, SESSION_INIT_MAX + 256);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\",\"params\":",
               (unsigned long long)sl->init.id, SLICE_FMT(method));
    buf_put_slice(&text, params);
    buf_put_char(&text, '}');
    session_send_own(sl, buf_slice(&text), method, &sl->init);
    buf_free(&text);
}

bool lane_hello(struct session_link *sl, struct call *c) {
    const char *known = sl->server->up.era.discover;
    if (!sl->hello.len && known) {
        struct tape t;
        tape_init(&t);
        if (tape_parse(&t, slice_str(known), NULL) == TAPE_OK)
            hello_take(sl, &t, 0);
        tape_free(&t);
    }
    if (sl->hello.len)
        return true;
    session_wait(sl, c);
    ask_hello(sl, SLICE("server/discover"), SLICE("{\"_meta\":" UP_META_OWN "}"));
    return false;
}

void lane_up(void *owner) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    struct session *s = sl->session;
    if (sl->own_init.len)
        ask_hello(sl, SLICE("initialize"), sl->own_init);
    else if (sl->era != SESSION_ERA_MODERN && s->init_done && !s->stateless)
        ask_hello(sl, SLICE("initialize"), s->init_params);
    else if (sl->era == SESSION_ERA_UNKNOWN && first_waiting_is_modern(sl))
        probe_start(sl);
    else
        link_ready(sl);
}

/* A session of the older era, and a server that turns out not to know it. */
static bool try_modern(struct session_link *sl) {
    struct up_server *up = &sl->server->up;
    if (up->era.pinned || up->use_sse || sl->own_init.len)
        return false;
    if (up->url && up->era.modern == UP_YES) {
        up_era_note(up, UP_YES, UP_NO);
        sl->era = SESSION_ERA_MODERN;
        return true;
    }
    if (up->url || (up->era.modern == UP_NO && up_era_fresh(up, false)))
        return false;
    probe_start(sl);
    return true;
}

bool lane_reconsider(struct session_link *sl, struct call *c) {
    if (sl->state != SESSION_LINK_READY || sl->era != SESSION_ERA_LEGACY)
        return false;
    session_wait(sl, c);
    if (!try_modern(sl)) {
        list_remove(&c->wait);
        return false;
    }
    if (sl->state == SESSION_LINK_READY)
        list_remove(&c->wait);
    return true;
}

static void on_init_answer(struct session_own *own, struct msg *m) {
    struct session_link *sl = container_of(own, struct session_link, init_own);
    bool legacy = sl->era != SESSION_ERA_MODERN;
    if (m->rpc.kind != RPC_RESULT && legacy && try_modern(sl)) {
        if (sl->era == SESSION_ERA_MODERN)
            link_ready(sl);
        return;
    }
    if (m->rpc.kind != RPC_RESULT) {
        char why[160];
        snprintf(why, sizeof(why), "server `%s` refused %s", sl->server->up.name,
                 legacy ? "to be initialised" : "to say what it is");
        link_drop(sl);
        sl->failures++;
        fail_waiting(sl, why);
        many_link_down(sl);
        return;
    }
    hello_take(sl, &m->tape, m->rpc.body);
    sl->era = legacy ? SESSION_ERA_LEGACY : SESSION_ERA_MODERN;
    if (legacy && (sl->own_init.len || sl->session->initialized))
        session_send_own(sl, SLICE("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                         SLICE("notifications/initialized"), NULL);
    link_ready(sl);
}

static void on_init_failed(struct session_own *own, const char *why) {
    struct session_link *sl = container_of(own, struct session_link, init_own);
    link_drop(sl);
    sl->failures++;
    fail_waiting(sl, why);
    many_link_down(sl);
}

void lane_hello_late(struct session_link *sl, const char *why) {
    log_warn("%s", why);
    link_end(&sl->init);
    on_init_failed(&sl->init_own, why);
}

void lane_down(void *owner, const char *why, int exit_status) {
    struct session_link *sl = owner;
    CHECK_MAGIC(sl, SESSION_LINK_MAGIC);
    struct session *s = sl->session;
    bool lost_session = exit_status == LINK_LOST; /* the server is there, what we had with it is not */
    if (sl->state == SESSION_LINK_PROBE) {
        /* It did not survive the question, so it does not know it. */
        probe_over(sl, false);
        return;
    }
    if (!lost_session) {
        bool steady = io_now_ms(lane_loop(sl)) - sl->opened_ms >= SESSION_STEADY_MS;
        sl->failures = steady ? 1 : sl->failures + 1;
        log_warn("%s", why);
    }
    link_drop(sl);
    if (lost_session) {
        resume_all(&sl->waiting);
        if (sl->subscribed.count && sl == sl->first)
            session_revive(sl);
        return;
    }
    fail_waiting(sl, why);
    many_link_down(sl);
    if (s->front->server_ended && sl == sl->first)
        s->front->server_ended(s, why, exit_status);
}

/* ---- lanes ---- */

void lane_read_client(struct call *c) {
    const struct msg *m = c->request;
    if (c->client_read)
        return;
    c->client_read = true;
    uint32_t meta = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "_meta") : 0;
    uint32_t caps = meta ? tape_get_str(&m->tape, meta, UP_META_CAPABILITIES) : 0;
    uint32_t info = meta ? tape_get_str(&m->tape, meta, UP_META_CLIENT) : 0;
    c->client_caps = caps && tape_is(&m->tape, caps, TAPE_OBJECT) ? tape_raw(&m->tape, caps) : SLICE("{}");
    c->client_bits = translate_client_bits(&m->tape, caps);
    if (info && tape_is(&m->tape, info, TAPE_OBJECT))
        c->client_info = tape_raw(&m->tape, info);
}

/* From now on this lane is for clients like this one. */
static void lane_adopt(struct session_link *sl, struct call *c) {
    struct arena a;
    arena_init(&a);
    uint32_t caps = c->request->rpc.params ? tape_path(&c->request->tape, c->request->rpc.params, "_meta",
                                                       UP_META_CAPABILITIES, NULL)
                                           : 0;
    struct slice told = caps ? translate_client(&c->request->tape, caps, false, &a) : SLICE("{}");
    struct slice info = c->client_info.len
                            ? c->client_info
                            : SLICE("{\"name\":\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"}");
    take_text(&sl->client_caps, c->client_caps);
    take_text(&sl->own_init, arena_printf(&a,
                                          "{\"protocolVersion\":\"" UP_LEGACY_VERSION
                                          "\",\"capabilities\":%.*s,\"clientInfo\":%.*s}",
                                          SLICE_FMT(told), SLICE_FMT(info)));
    sl->era = SESSION_ERA_LEGACY;
    arena_free(&a);
}

static bool wants_alone(const struct session_link *first, const struct call *c) {
    return c->forwarding && c->client_bits & TRANSLATE_ASKS && translate_may_ask(c->method) &&
           !asked_over_http(first);
}

static bool lane_fits(const struct session_link *sl, const struct call *c, bool alone) {
    return sl->own_init.len && slice_eq(sl->client_caps, c->client_caps) &&
           (!alone || (!sl->parked && (!sl->holder || sl->holder == c)));
}

static bool lane_is_free(const struct session_link *sl) {
    /* The first one may be about to serve a client of the older era. */
    return !sl->users && list_empty(&sl->waiting) && !(sl == sl->first && sl->session->init_done);
}

static struct session_link *find_lane(struct session_link *first, struct call *c, bool alone) {
    struct session_link *free_one = lane_is_free(first) ? first : NULL;
    if (lane_fits(first, c, alone))
        return first;
    LIST_FOR (n, &first->lanes) {
        struct session_link *sl = container_of(n, struct session_link, lane_node);
        if (lane_fits(sl, c, alone))
            return sl;
        if (!free_one && lane_is_free(sl))
            free_one = sl;
    }
    bool unused = free_one && (free_one->state == SESSION_LINK_DOWN || !free_one->own_init.len);
    if (!unused && first->lane_count < SESSION_LANES_MAX) {
        free_one = lane_new(first->session, first->server);
        free_one->first = first;
        list_push(&first->lanes, &free_one->lane_node);
        first->lane_count++;
    }
    if (!free_one)
        return NULL;
    /* A child that nobody has spoken to yet is as good as a new one. */
    bool untouched = free_one->state == SESSION_LINK_READY && free_one->era == SESSION_ERA_UNKNOWN;
    if (free_one->link && !untouched)
        link_drop(free_one);
    lane_adopt(free_one, c);
    if (untouched)
        lane_up(free_one);
    return free_one;
}

static void on_lane_idle(struct io_timer *timer) {
    struct session_link *sl = container_of(timer, struct session_link, idle);
    if (!sl->users && sl->state == SESSION_LINK_READY)
        link_drop(sl);
}

void lane_release(struct call *c) {
    struct session_link *sl = c->lane;
    if (!sl)
        return;
    c->lane = NULL;
    if (sl->holder == c)
        sl->holder = NULL;
    lane_leave(sl);
}

void lane_leave(struct session_link *sl) {
    sl->users--;
    if (!sl->users && sl != sl->first)
        io_timer_arm(lane_loop(sl), &sl->idle, SESSION_LANE_IDLE_MS, on_lane_idle);
    struct list *n = sl->holder || sl->parked ? NULL : list_pop(&sl->first->crowd);
    if (n)
        call_resume(container_of(n, struct call, wait));
}

/* NULL: it waits for one. */
static struct session_link *lane_for(struct session_link *first, struct call *c) {
    lane_read_client(c);
    bool alone = wants_alone(first, c);
    if (c->lane && !lane_fits(c->lane, c, alone))
        lane_release(c);
    if (!c->lane) {
        struct session_link *sl = find_lane(first, c, alone);
        if (!sl) {
            list_push(&first->crowd, &c->wait);
            return NULL;
        }
        c->lane = sl;
        sl->users++;
        io_timer_stop(lane_loop(sl), &sl->idle);
    }
    if (alone)
        c->lane->holder = c;
    return c->lane;
}

/* A client that first spoke the newer era and now starts the older one has the server to itself, anew. */
static void leave_lanes(struct session_link *first) {
    take_text(&first->own_init, (struct slice){0});
    take_text(&first->client_caps, (struct slice){0});
    if (!first->link)
        first->era = SESSION_ERA_UNKNOWN;
    else
        link_drop(first);
}

static struct session_link *choose(struct session_link *first, struct call *c) {
    if (!c->modern) {
        if (first->own_init.len)
            leave_lanes(first);
        return first;
    }
    struct session_link *of_task = task_lane(first, c);
    if (of_task)
        return of_task;
    bool settled = first->state == SESSION_LINK_READY && first->era != SESSION_ERA_UNKNOWN;
    enum session_era era = settled || first->own_init.len ? first->era : known_era(first, true);
    return era == SESSION_ERA_LEGACY ? lane_for(first, c) : first;
}

/* The link is not ready for the call, which waits. Nothing here may wake it at once. */
static void prepare(struct session_link *sl, const struct call *c) {
    bool legacy = !c->modern;
    if (sl->state == SESSION_LINK_READY)
        probe_start(sl);
    if (sl->state != SESSION_LINK_DOWN)
        return;
    if (sl->era == SESSION_ERA_UNKNOWN && asked_over_http(sl) && !up_era_fresh(&sl->server->up, legacy)) {
        if (!may_open(sl))
            return;
        sl->era_wait.legacy = legacy;
        sl->era_wait.done = on_era;
        up_era_ask(&sl->server->up, &sl->era_wait);
        return;
    }
    if (sl->era == SESSION_ERA_UNKNOWN)
        sl->era = known_era(sl, c->modern);
    link_start(sl);
}

struct session_link *session_link_for(struct session *s, struct session_server *server, struct call *call) {
    struct session_link *sl = session_link_of(s, server);
    enum session_era own = call->modern ? SESSION_ERA_MODERN : SESSION_ERA_LEGACY;
    bool same_era = sl->state == SESSION_LINK_READY && sl->era == own && !sl->own_init.len;
    if (same_era)
        return sl;
    sl = choose(sl, call);
    if (!sl)
        return NULL;
    if (sl->state == SESSION_LINK_READY && sl->era == SESSION_ERA_UNKNOWN)
        sl->era = known_era(sl, call->modern); /* a child that was started before anybody spoke */
    if (sl->state == SESSION_LINK_READY && sl->era != SESSION_ERA_UNKNOWN)
        return sl;
    list_push(&sl->waiting, &call->wait);
    prepare(sl, call);
    return NULL;
}

void session_start(struct session *s) {
    struct session_link *sl = s->only ? session_link_of(s, s->only) : NULL;
    if (sl && sl->state == SESSION_LINK_DOWN)
        link_start(sl);
}
