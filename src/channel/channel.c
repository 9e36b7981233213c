/* Which channel a call uses depends on the client's era and on the server's:
 *
 *   client     server      channel
 *   legacy     legacy      the session's first; the client's initialize is forwarded as it is
 *   modern     modern      the session's first; nothing to set up
 *   legacy     modern      the session's first; the gate asks server/discover and answers initialize itself
 *   modern     legacy      one of several: initialised by the gate with the client's description
 *
 * Why several: a legacy server learns once, at initialize, what its client can do, so requests with different
 * capabilities need different channels. Over HTTP every message comes on the stream of its request, so
 * requests with the same capabilities share one. Pipes and HTTP+SSE do not say to which request a question
 * belongs: there a request whose server may ask a question has a channel of its own until it ends, and waits
 * when all are in use. */
#include "channel/channel.h"

#include "base/check.h"
#include "base/log.h"
#include "base/mem.h"
#include "call/answer.h"
#include "call/call.h"
#include "call/client_ask.h"
#include "channel/choice.h"
#include "channel/limits.h"
#include "channel/outbox.h"
#include "channel/process.h"
#include "guard/guard.h"
#include "mcp/translate.h"
#include "server/server.h"
#include "wire/emit.h"

#include <stdio.h>

static void on_init_answer(struct own_request *own, struct msg *m);
static void on_init_failed(struct own_request *own, const char *why);
static void on_probe_answer(struct own_request *own, struct msg *m);
static void on_probe_failed(struct own_request *own, const char *why);

/* ---- life ---- */

static struct channel *channel_new(struct session *s, struct server *server) {
    struct channel *ch = mem_zalloc(sizeof(*ch));
    *ch = (struct channel){.magic = CHANNEL_MAGIC, .session = s, .server = server, .log_rank = -1};
    list_init(&ch->waiting);
    list_init(&ch->others);
    list_init(&ch->waiting_exclusive);
    list_init(&ch->notes);
    map_init(&ch->subscribed);
    arena_init(&ch->tools_page);
    return ch;
}

static void channel_stop(struct channel *ch) {
    io_timer_stop(channel_loop(ch), &ch->backoff);
    io_timer_stop(channel_loop(ch), &ch->probe_timer);
    io_timer_stop(channel_loop(ch), &ch->idle);
    io_timer_stop(channel_loop(ch), &ch->tools_timer);
    up_era_stop_waiting(&ch->era_wait);
}

static void link_drop(struct channel *ch) {
    struct link *gone = ch->link;
    channel_stop(ch);
    ch->link = NULL;
    ch->state = CHANNEL_DOWN;
    ch->era = ch->own_init.len ? ERA_LEGACY : ERA_UNKNOWN;
    ch->log_rank = -1;
    ch->was_probed = false;
    text_free(&ch->description);
    ch->server_info = (struct slice){0};
    ch->server_bits = 0;
    client_ask_drop(ch->session, ch);
    channel_events_of(ch)->dropped(ch);
    link_close(gone);
}

static void channel_free(struct channel *ch) {
    link_drop(ch);
    channel_stop(ch); /* requests parked there have been released, which arms the timer */
    list_remove(&ch->other_node);
    text_free(&ch->own_init);
    text_free(&ch->client_caps);
    size_t at = 0;
    struct map_entry *entry;
    while ((entry = map_next(&ch->subscribed, &at)))
        free(entry->value);
    map_free(&ch->subscribed);
    channel_events_of(ch)->freed(ch);
    free(ch);
}

static void channels_free(struct channel *first) {
    first->session->channels[first->server->slot] = NULL;
    LIST_FOR_SAFE (n, next, &first->others) {
        channel_free(container_of(n, struct channel, other_node));
    }
    channel_free(first);
}

void channel_close_all(struct session *s) {
    for (size_t i = 0; i < s->channel_count; i++)
        if (s->channels[i])
            channels_free(s->channels[i]);
    free(steal(s->channels));
    s->channel_count = 0;
}

static bool has_lingering(const struct channel *first) {
    LIST_FOR (n, &first->session->calls) {
        const struct call *c = container_of(n, struct call, node);
        if (c->channel && c->channel->first == first)
            return true;
    }
    return false;
}

void channel_close_unused(struct session *s) {
    for (size_t i = 0; i < s->channel_count; i++) {
        struct channel *first = s->channels[i];
        if (!first)
            continue;
        if (!has_lingering(first)) {
            channels_free(first);
            continue;
        }
        link_finish(first->link);
        LIST_FOR (n, &first->others)
            link_finish(container_of(n, struct channel, other_node)->link);
    }
}

/* Stateless requests already share the session of their principal. */
static struct session *home_of(struct session *s, const struct server *server) {
    return server->shared && !s->stateless && !s->pool ? s->core->channels->events->pool(s) : s;
}

struct channel *channel_find(struct session *s, const struct server *server) {
    s = home_of(s, server);
    return server->slot < s->channel_count ? s->channels[server->slot] : NULL;
}

struct channel *channel_of(struct session *s, struct server *server) {
    s = home_of(s, server);
    if (server->slot >= s->channel_count) {
        size_t count = s->core->server_count;
        s->channels = mem_realloc(s->channels, count * sizeof(*s->channels));
        memset(s->channels + s->channel_count, 0, (count - s->channel_count) * sizeof(*s->channels));
        s->channel_count = count;
    }
    struct channel *ch = s->channels[server->slot];
    if (!ch) {
        ch = s->channels[server->slot] = channel_new(s, server);
        ch->first = ch;
    }
    return ch;
}

/* ---- waiting ---- */

void channel_wait(struct channel *ch, struct call *call) { list_push(&ch->waiting, &call->wait); }

static void resume_all(struct list *waiting) {
    struct list due, *n; /* only calls that wait now: a resumed call may wait again */
    list_init(&due);
    while ((n = list_pop(waiting)))
        list_push(&due, n);
    while ((n = list_pop(&due)))
        call_resume(container_of(n, struct call, wait));
}

void channel_wake(struct channel *ch) {
    if (ch->state == CHANNEL_READY)
        resume_all(&ch->waiting);
}

/* Why it is down, for the status of the server; cleared when one of its connections is ready. */
static void note_fault(struct channel *ch, const char *why) {
    if (!ch->session->closed)
        snprintf(ch->server->fault, sizeof(ch->server->fault), "%s", why);
}

static void fail_waiting(struct channel *ch, const char *why) {
    struct list *n;
    while ((n = list_pop(&ch->waiting)))
        answer_fail(container_of(n, struct call, wait), why);
}

static struct call *call_to(struct session *s, const struct server *server) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->server == server)
            return c;
    }
    return NULL;
}

void channel_fail_calls(struct session *s, const struct server *server) {
    char why[128];
    snprintf(why, sizeof(why), "server `%s` has been removed", server->up.name);
    struct call *c;
    while ((c = call_to(s, server))) /* ending one may end others that it is a part of */
        answer_fail(c, why);
}

void channel_drop(struct session *s, struct server *server) {
    struct channel *first = server->slot < s->channel_count ? s->channels[server->slot] : NULL;
    char why[128];
    snprintf(why, sizeof(why), "server `%s` has been removed", server->up.name);
    if (!first)
        return;
    fail_waiting(first, why);
    channels_free(first);
}

/* ---- opening ---- */

static void on_refused(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, backoff);
    cleanup_arena struct arena a;
    arena_init(&a);
    ch->state = CHANNEL_DOWN;
    fail_waiting(ch, ch->no_process ? channel_process_refusal(ch, &a).ptr : ch->server->refused);
}

/* Not started: a pinned server whose program has changed, and one more process than a grant may have. */
static bool may_open(struct channel *ch) {
    ch->state = CHANNEL_OPENING;
    ch->no_process = !channel_process_fits(ch);
    if (!ch->no_process && guard_may_open(ch->session->core, ch->server))
        return true;
    /* In the next turn: the call that needs it is in the middle of a step. */
    io_timer_soon(channel_loop(ch), &ch->backoff, on_refused);
    return false;
}

static void on_era_checked(struct up_era_wait *w);

static void open_link(struct channel *ch) {
    ch->opened_ms = io_now_ms(channel_loop(ch));
    ch->link = link_open(&ch->server->up, ch->session->core->channels->link_events, ch);
    channel_process_count(ch);
}

/* Modern requests need no initialize, so only this check shows that a server over HTTP answers again. */
static bool must_check_era(const struct channel *ch) {
    return ch->missing && ch->session->stateless && !ch->own_init.len && channel_is_streamable(ch);
}

static void open_now(struct channel *ch) {
    if (!may_open(ch))
        return;
    if (must_check_era(ch)) {
        ch->era_wait.legacy = false;
        ch->era_wait.done = on_era_checked;
        up_era_ask(&ch->server->up, &ch->era_wait);
        return;
    }
    open_link(ch);
}

static void on_backoff(struct io_timer *timer) { open_now(container_of(timer, struct channel, backoff)); }

static void link_start(struct channel *ch) {
    if (!ch->failures) {
        open_now(ch);
        return;
    }
    ch->state = CHANNEL_OPENING;
    uint64_t delay = (uint64_t)CHANNEL_BACKOFF_MS << (ch->failures < 8 ? ch->failures - 1 : 7);
    io_timer_arm(channel_loop(ch), &ch->backoff,
                 delay < CHANNEL_BACKOFF_MAX_MS ? delay : CHANNEL_BACKOFF_MAX_MS, on_backoff);
}

void channel_listen(struct channel *ch) {
    /* Before initialize there is nothing to listen to. */
    if (ch->era == ERA_MODERN)
        channel_events_of(ch)->listen(ch);
    else if (ch->session->listening && ch->session->version[0])
        link_listen(ch->link);
}

static void link_ready(struct channel *ch) {
    ch->state = CHANNEL_READY;
    channel_listen(ch);
    if (ch->own_init.len)
        link_listen(ch->link); /* for messages of the server outside of requests */
    channel_wake(ch);
    if (ch->state == CHANNEL_READY)
        channel_events_of(ch)->ready(ch);
}

void channel_revive(struct channel *ch) {
    if (ch->state == CHANNEL_DOWN)
        link_start(ch);
}

void channel_rest(struct channel *ch) {
    ch->failures = 0;
    link_drop(ch);
}

static bool first_waiting_is_modern(const struct channel *ch) {
    return !list_empty(&ch->waiting) && container_of(ch->waiting.next, struct call, wait)->modern;
}

/* ---- which era ---- */

/* By the current knowledge about the server. */
static enum era known_era(const struct channel *ch, bool modern_client) {
    const struct up_server *up = &ch->server->up;
    if (up->use_sse)
        return ERA_LEGACY; /* HTTP+SSE exists in the legacy era only */
    if (!modern_client)    /* legacy can always be tried; if the server refuses initialize, it is probed */
        return up->era.modern == UP_YES && (up->era.legacy == UP_NO || (up->url && up->era.legacy != UP_YES))
                   ? ERA_MODERN
                   : ERA_LEGACY;
    if (!up_era_fresh(up, false))
        return ERA_UNKNOWN;
    return up->era.modern == UP_YES ? ERA_MODERN : ERA_LEGACY;
}

static void on_era(struct up_era_wait *w) {
    struct channel *ch = container_of(w, struct channel, era_wait);
    ch->state = CHANNEL_DOWN;
    if (!w->why) {
        resume_all(&ch->waiting);
    } else if (first_waiting_is_modern(ch)) {
        fail_waiting(ch, w->why);
    } else {
        /* The probe failed: try initialize. */
        ch->era = ERA_LEGACY;
        link_start(ch);
    }
}

static void on_era_checked(struct up_era_wait *w) {
    struct channel *ch = container_of(w, struct channel, era_wait);
    ch->state = CHANNEL_DOWN;
    if (w->why) {
        ch->failures++;
        fail_waiting(ch, w->why);
        channel_events_of(ch)->down(ch);
        return;
    }
    ch->era = known_era(ch, true);
    if (ch->era == ERA_MODERN) {
        ch->state = CHANNEL_OPENING;
        open_link(ch);
        return;
    }
    channel_events_of(ch)->back(ch); /* its channels are initialised when they are needed */
    resume_all(&ch->waiting);
}

/* A child is probed on its link. One that fails the probe is restarted. */
static void on_probe_timer(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, probe_timer);
    link_end(&ch->init);
    on_probe_failed(&ch->init_own, "silence");
}

/* The client did not wait for the probe and begins in the legacy era: the same child continues in that
 * era. */
static void on_probe_left(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, probe_timer);
    link_end(&ch->init);
    ch->era = ERA_LEGACY;
    link_ready(ch);
}

static void probe_start(struct channel *ch) {
    struct arena a;
    ch->state = CHANNEL_PROBE;
    ch->init_own = (struct own_request){OWN_REQUEST_MAGIC, on_probe_answer, on_probe_failed, NULL};
    if (!link_begin(ch->link, &ch->init, &ch->init_own))
        return;
    arena_init(&a);
    struct slice text = arena_printf(&a,
                                     "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"server/discover\","
                                     "\"params\":{\"_meta\":" UP_META_OWN "}}",
                                     (unsigned long long)ch->init.id);
    io_timer_arm(channel_loop(ch), &ch->probe_timer, UP_ERA_ASK_MS, on_probe_timer);
    channel_send(ch, text, SLICE("server/discover"), &ch->init);
    arena_free(&a);
}

static void learn_description(struct channel *ch, const struct tape *t, uint32_t result) {
    struct slice raw = tape_raw(t, result);
    uint32_t info = tape_path(t, result, "_meta", UP_META_SERVER, NULL);
    if (!info)
        info = tape_get_str(t, result, "serverInfo");
    if (raw.len > UP_DISCOVER_MAX)
        return;
    text_set(&ch->description, raw);
    ch->server_info = (struct slice){0};
    if (info && tape_is(t, info, TAPE_OBJECT)) {
        struct slice text = tape_raw(t, info);
        ch->server_info = slice_of(ch->description.ptr + (text.ptr - raw.ptr), text.len);
    }
    ch->server_bits = translate_server_bits(t, tape_get_str(t, result, "capabilities"));
    server_learn_description(ch->server, t, result);
}

/* The server has answered with an error. */
static void refused(struct channel *ch, bool legacy) {
    char why[160];
    snprintf(why, sizeof(why), "server `%s` refused %s", ch->server->up.name,
             legacy ? "to be initialised" : "to describe itself");
    link_drop(ch);
    ch->failures++;
    note_fault(ch, why);
    fail_waiting(ch, why);
    channel_events_of(ch)->down(ch);
}

/* A client that used the modern era first and now starts a legacy handshake: the server is restarted for
 * it. */
static void forget_client(struct channel *first) {
    text_free(&first->own_init);
    text_free(&first->client_caps);
    if (!first->link)
        first->era = ERA_UNKNOWN;
    else
        link_drop(first);
}

/* A child that answered the probe with an error still works: it is initialised, not restarted. A child
 * that was silent or ended is restarted. */
static void probe_over(struct channel *ch, bool modern, bool answered) {
    bool legacy_waits = !list_empty(&ch->waiting) && !first_waiting_is_modern(ch);
    io_timer_stop(channel_loop(ch), &ch->probe_timer);
    up_era_note(&ch->server->up, modern ? UP_YES : UP_NO, legacy_waits && modern ? UP_NO : UP_UNKNOWN);
    ch->era = modern ? ERA_MODERN : ERA_LEGACY;
    /* It was probed because it refused initialize: no request may be sent to it. */
    if (!modern && legacy_waits && ch->session->init_done) {
        refused(ch, true);
        return;
    }
    if (ch->link->is_up && (modern || legacy_waits)) {
        link_ready(ch);
        return;
    }
    if (ch->link->is_up && answered) {
        ch->era = ERA_UNKNOWN;
        ch->state = CHANNEL_READY;
        ch->was_probed = true;
    } else {
        link_drop(ch);
    }
    resume_all(&ch->waiting);
}

/* Initialize failed. Either the probe has confused the server: retry without a probe. Or it is remembered
 * as legacy and is not: retry with a probe. */
static bool restart_probed(struct channel *ch) {
    if (!ch->was_probed && !(ch->own_init.len && up_era_forget(&ch->server->up)))
        return false;
    if (!ch->was_probed && ch == ch->first)
        forget_client(ch);
    else
        link_drop(ch);
    resume_all(&ch->waiting);
    return true;
}

static void on_probe_answer(struct own_request *own, struct msg *m) {
    struct channel *ch = container_of(own, struct channel, init_own);
    bool again;
    enum up_answer modern = up_era_judge(m->http_status, &m->tape, &m->rpc, &again);
    if (modern == UP_YES && m->rpc.kind == RPC_RESULT) {
        up_era_note_discover(&ch->server->up, tape_raw(&m->tape, m->rpc.body));
        learn_description(ch, &m->tape, m->rpc.body);
    }
    probe_over(ch, modern == UP_YES, true);
}

static void on_probe_failed(struct own_request *own, const char *why) {
    (void)why;
    struct channel *ch = container_of(own, struct channel, init_own);
    if (ch->link && ch->link->is_up)
        probe_over(ch, false, false);
    /* else `down` follows */
}

/* ---- initialize and server/discover ---- */

static void ask_description(struct channel *ch, struct slice method, struct slice params) {
    struct buf text;
    ch->state = CHANNEL_INIT;
    ch->init_own = (struct own_request){OWN_REQUEST_MAGIC, on_init_answer, on_init_failed, NULL};
    if (!link_begin(ch->link, &ch->init, &ch->init_own))
        return;
    buf_init(&text, SESSION_INIT_MAX + 256);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\",\"params\":",
               (unsigned long long)ch->init.id, SLICE_FMT(method));
    buf_put_slice(&text, params);
    buf_put_char(&text, '}');
    channel_send(ch, buf_slice(&text), method, &ch->init);
    buf_free(&text);
}

bool channel_describe(struct channel *ch, struct call *c) {
    const char *known = ch->server->up.era.discover;
    if (!ch->description.len && known) {
        struct tape t;
        tape_init(&t);
        if (tape_parse(&t, slice_str(known), NULL) == TAPE_OK)
            learn_description(ch, &t, 0);
        tape_free(&t);
    }
    if (ch->description.len)
        return true;
    channel_wait(ch, c);
    ask_description(ch, SLICE("server/discover"), SLICE("{\"_meta\":" UP_META_OWN "}"));
    return false;
}

void channel_up(void *owner) {
    struct channel *ch = owner;
    CHECK_MAGIC(ch, CHANNEL_MAGIC);
    struct session *s = ch->session;
    if (ch->own_init.len)
        ask_description(ch, SLICE("initialize"), text_slice(ch->own_init));
    else if (ch->era != ERA_MODERN && s->init_done && !s->stateless)
        ask_description(ch, SLICE("initialize"), text_slice(s->init_params));
    else if (ch->era == ERA_UNKNOWN && first_waiting_is_modern(ch))
        probe_start(ch);
    else
        link_ready(ch);
}

/* A legacy session whose server turns out to be modern only. */
static bool try_modern(struct channel *ch) {
    struct up_server *up = &ch->server->up;
    if (up->era.pinned || up->use_sse || ch->own_init.len)
        return false;
    if (up->url && up->era.modern == UP_YES) {
        up_era_note(up, UP_YES, UP_NO);
        ch->era = ERA_MODERN;
        return true;
    }
    if (up->url || (up->era.modern == UP_NO && !up->era.recalled && up_era_fresh(up, false)))
        return false;
    probe_start(ch);
    return true;
}

bool channel_reconsider(struct channel *ch, struct call *c) {
    if (ch->state != CHANNEL_READY || ch->era != ERA_LEGACY)
        return false;
    channel_wait(ch, c);
    if (!try_modern(ch)) {
        list_remove(&c->wait);
        return false;
    }
    if (ch->state == CHANNEL_READY)
        list_remove(&c->wait);
    return true;
}

static void on_init_answer(struct own_request *own, struct msg *m) {
    struct channel *ch = container_of(own, struct channel, init_own);
    bool legacy = ch->era != ERA_MODERN;
    if (m->rpc.kind != RPC_RESULT && legacy && try_modern(ch)) {
        if (ch->era == ERA_MODERN)
            link_ready(ch);
        return;
    }
    if (m->rpc.kind != RPC_RESULT && restart_probed(ch))
        return;
    if (m->rpc.kind != RPC_RESULT) {
        refused(ch, legacy);
        return;
    }
    ch->was_probed = false;
    learn_description(ch, &m->tape, m->rpc.body);
    ch->era = legacy ? ERA_LEGACY : ERA_MODERN;
    if (legacy && (ch->own_init.len || ch->session->initialized))
        channel_send(ch, SLICE("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                     SLICE("notifications/initialized"), NULL);
    link_ready(ch);
}

static void on_init_failed(struct own_request *own, const char *why) {
    struct channel *ch = container_of(own, struct channel, init_own);
    if (restart_probed(ch))
        return;
    link_drop(ch);
    ch->failures++;
    note_fault(ch, why);
    fail_waiting(ch, why);
    channel_events_of(ch)->down(ch);
}

void channel_init_late(struct channel *ch, const char *why) {
    log_server(LOG_WARN, ch->server->up.name, "%s", why);
    link_end(&ch->init);
    on_init_failed(&ch->init_own, why);
}

void channel_down(void *owner, const char *why, int exit_status) {
    struct channel *ch = owner;
    CHECK_MAGIC(ch, CHANNEL_MAGIC);
    struct session *s = ch->session;
    bool lost_session = exit_status == LINK_LOST; /* the server is reachable, but it has lost our session */
    if (ch->state == CHANNEL_PROBE) {
        /* It ended during the probe, so it is not modern. */
        probe_over(ch, false, false);
        return;
    }
    if (ch->state == CHANNEL_INIT && restart_probed(ch))
        return;
    if (!lost_session) {
        bool steady = io_now_ms(channel_loop(ch)) - ch->opened_ms >= CHANNEL_STEADY_MS;
        ch->failures = steady ? 1 : ch->failures + 1;
        if (!s->closed)
            log_server(LOG_WARN, ch->server->up.name, "%s", why);
    }
    link_drop(ch);
    if (lost_session) {
        resume_all(&ch->waiting);
        if (ch->subscribed.count && ch == ch->first)
            channel_revive(ch);
        return;
    }
    note_fault(ch, why);
    fail_waiting(ch, why);
    channel_events_of(ch)->down(ch);
    if (s->front->server_ended && ch == ch->first)
        s->front->server_ended(s, why, exit_status);
}

/* ---- modern clients of legacy servers ---- */

static struct channel *channel_add(struct channel *first) {
    struct channel *ch = channel_new(first->session, first->server);
    ch->first = first;
    list_push(&first->others, &ch->other_node);
    first->other_count++;
    return ch;
}

/* A channel with the call's capabilities, if need be a new one; NULL when all are in use. */
static struct channel *find_channel(struct channel *first, struct call *c, bool exclusive) {
    struct channel *unused, *ch = channel_choice_find(first, c, exclusive, &unused);
    if (ch)
        return ch;
    bool is_fresh = unused && (unused->state == CHANNEL_DOWN || !unused->own_init.len);
    if (!is_fresh && first->other_count < CHANNEL_OTHERS_MAX)
        unused = channel_add(first);
    if (!unused)
        return NULL;
    /* A child that has received no message yet can be used like a new one. */
    bool untouched = unused->state == CHANNEL_READY && unused->era == ERA_UNKNOWN;
    if (unused->link && !untouched)
        link_drop(unused);
    channel_choice_adopt(unused, c);
    if (untouched)
        channel_up(unused);
    return unused;
}

static void on_channel_idle(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, idle);
    if (!ch->users && ch->state == CHANNEL_READY)
        link_drop(ch);
}

void channel_release(struct call *c) {
    struct channel *ch = c->chosen;
    if (c->channel)
        c->channel->used_ms = io_now_ms(channel_loop(c->channel));
    if (!ch)
        return;
    c->chosen = NULL;
    if (ch->holder == c)
        ch->holder = NULL;
    channel_leave(ch);
}

void channel_leave(struct channel *ch) {
    ch->users--;
    if (!ch->users && ch != ch->first)
        io_timer_arm(channel_loop(ch), &ch->idle, CHANNEL_IDLE_MS, on_channel_idle);
    struct list *n = ch->holder || ch->parked ? NULL : list_pop(&ch->first->waiting_exclusive);
    if (n)
        call_resume(container_of(n, struct call, wait));
}

/* NULL: the call waits for a channel. */
static struct channel *legacy_channel_for(struct channel *first, struct call *c) {
    channel_choice_read(c);
    bool exclusive = channel_choice_exclusive(first, c);
    if (c->chosen && !channel_choice_fits(c->chosen, c, exclusive))
        channel_release(c);
    if (!c->chosen) {
        struct channel *ch = find_channel(first, c, exclusive);
        if (!ch) {
            list_push(&first->waiting_exclusive, &c->wait);
            channel_events_of(first)->crowded(first);
            return NULL;
        }
        c->chosen = ch;
        ch->users++;
        io_timer_stop(channel_loop(ch), &ch->idle);
    }
    if (exclusive)
        c->chosen->holder = c;
    return c->chosen;
}

static struct channel *choose(struct channel *first, struct call *c) {
    if (!c->modern) {
        first->is_claimed = true;
        if (first->own_init.len)
            forget_client(first);
        return first;
    }
    struct channel *of_task = channel_events_of(first)->bound(first, c);
    if (of_task)
        return of_task;
    bool settled = first->state == CHANNEL_READY && first->era != ERA_UNKNOWN;
    enum era era = settled || first->own_init.len ? first->era : known_era(first, true);
    return era == ERA_LEGACY ? legacy_channel_for(first, c) : first;
}

/* The link is not ready, so the call waits. Nothing here may resume it synchronously. */
static void prepare(struct channel *ch, const struct call *c) {
    bool legacy = !c->modern;
    if (ch->state == CHANNEL_READY)
        probe_start(ch);
    else if (ch->state == CHANNEL_PROBE && c->kind == CALL_INITIALIZE)
        io_timer_soon(channel_loop(ch), &ch->probe_timer, on_probe_left);
    if (ch->state != CHANNEL_DOWN)
        return;
    if (ch->era == ERA_UNKNOWN && channel_is_streamable(ch) && !up_era_fresh(&ch->server->up, legacy)) {
        if (!may_open(ch))
            return;
        ch->era_wait.legacy = legacy;
        ch->era_wait.done = on_era;
        up_era_ask(&ch->server->up, &ch->era_wait);
        return;
    }
    if (ch->era == ERA_UNKNOWN)
        ch->era = known_era(ch, c->modern);
    link_start(ch);
}

struct channel *channel_for(struct session *s, struct server *server, struct call *call) {
    struct channel *ch = channel_of(s, server);
    enum era own = call->modern ? ERA_MODERN : ERA_LEGACY;
    bool same_era = ch->state == CHANNEL_READY && ch->era == own && !ch->own_init.len;
    if (same_era)
        return ch;
    ch = choose(ch, call);
    if (!ch)
        return NULL;
    if (ch->state == CHANNEL_READY && ch->era == ERA_UNKNOWN)
        ch->era = known_era(ch, call->modern); /* a child that was started before the first message */
    if (ch->state == CHANNEL_READY && ch->era != ERA_UNKNOWN)
        return ch;
    list_push(&ch->waiting, &call->wait);
    prepare(ch, call);
    return NULL;
}

void channel_start(struct session *s) {
    struct channel *ch = s->only ? channel_of(s, s->only) : NULL;
    /* Over HTTP there is nothing to start, and the era must be known before the link opens. */
    if (ch && ch->state == CHANNEL_DOWN && !channel_is_streamable(ch))
        link_start(ch);
}

void channel_count(const struct core *core, const struct server *server, size_t *ret_ready,
                   size_t *ret_missing) {
    *ret_ready = *ret_missing = 0;
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        const struct channel *ch = server->slot < s->channel_count ? s->channels[server->slot] : NULL;
        *ret_ready += ch && ch->state == CHANNEL_READY;
        *ret_missing += ch && ch->missing;
    }
}

const char *channel_state_name(size_t ready, size_t missing) {
    return missing ? "down" : ready ? "ready" : "idle";
}

void channel_init(struct core *core, const struct link_events *link_events,
                  const struct channel_events *events) {
    core->channels = mem_zalloc(sizeof(*core->channels));
    core->channels->link_events = link_events;
    core->channels->events = events;
}

void channel_free_core(struct core *core) { free(steal(core->channels)); }

void channel_works(struct channel *ch) { ch->failures = 0; }

void channel_take(struct call *c, struct channel *ch) { c->channel = ch; }

void channel_take_over(struct call *c, struct channel *ch) { c->channel = c->chosen = ch; }

void channel_doubt(struct channel *ch) {
    ch->first->health.doubt = true;
    ch->server->asked_ms = 0;
}
