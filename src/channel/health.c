#include "channel/health.h"

#include "base/mem.h"
#include "call/call.h"
#include "channel/channel.h"
#include "channel/limits.h"
#include "channel/outbox.h"
#include "server/server.h"

#include <stdio.h>

/* A health check under way. */
struct health_check {
    struct own_request own;
    struct link_req req;
    struct channel *channel;
    uint64_t asked_ms;
};

static bool over_http(const struct channel *ch) { return ch->server->up.url != NULL; }

/* ---- is the server busy? ---- */

/* Many servers do one thing at a time and read nothing meanwhile, so a busy server is not checked: its calls
 * have time-outs of their own. Lists and initialize do not count as work. */
static bool is_work(const void *call) {
    const struct own_request *own = call;
    const struct call *c = call;
    return own->magic != OWN_REQUEST_MAGIC && (c->kind == CALL_TOOLS_CALL || c->kind == CALL_OTHER);
}

static bool link_works(const struct channel *ch) {
    uint32_t at = 0;
    const struct link_req *req;
    if (!ch->link)
        return false;
    if (ch->link->paused && !ch->link->is_http) /* reading from it is paused */
        return true;
    while ((req = slots_next(&ch->link->reqs, &at)))
        if (is_work(req->call))
            return true;
    return false;
}

static bool channels_work(const struct channel *first) {
    if (link_works(first))
        return true;
    LIST_FOR (n, &first->others) {
        if (link_works(container_of(n, struct channel, other_node)))
            return true;
    }
    return false;
}

static bool works(const struct channel *ch) {
    if (!over_http(ch))
        return link_works(ch);
    size_t slot = ch->server->slot;
    LIST_FOR (n, &ch->session->core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        if (slot < s->channel_count && s->channels[slot] && channels_work(s->channels[slot]))
            return true;
    }
    return false;
}

/* ---- the end ---- */

/* Not directly from the sweep: the callback may close the session. */
static void on_give_up(struct io_timer *timer) {
    struct channel *ch = container_of(timer, struct channel, backoff);
    char why[SERVER_FAULT_MAX];
    snprintf(why, sizeof(why), "%s", ch->server->fault);
    if (ch->state == CHANNEL_READY)
        link_give_up(ch->link, why);
    else if (ch->state == CHANNEL_INIT)
        channel_init_late(ch, why);
}

/* The back-off timer is unused while a link is up or being initialised. */
static void give_up(struct channel *ch) {
    io_timer_arm(ch->session->core->up.loop, &ch->backoff, 0, on_give_up);
}

static void missed(struct channel *ch, const char *why, uint64_t now) {
    struct server *server = ch->server;
    server->health_misses++;
    snprintf(server->fault, sizeof(server->fault), "%s", why);
    if (over_http(ch))
        server->gone_ms = now; /* counts for all its links: check_ready() */
    else
        give_up(ch);
}

static void silence_text(const struct channel *ch, uint64_t ms, char why[SERVER_FAULT_MAX]) {
    snprintf(why, SERVER_FAULT_MAX, "server `%s` did not answer a health check within %llu s",
             ch->server->up.name, (unsigned long long)(ms + 999) / 1000);
}

/* ---- sending a check ---- */

static void check_free(struct health_check *check) {
    check->channel->health.check = NULL;
    link_end(&check->req);
    free(check);
}

void health_forget(struct channel *ch) {
    if (ch->health.check)
        check_free(ch->health.check);
}

/* A list was sent without this server, though it never went down: notifies the client at growing
 * intervals, because a server that is up may keep failing. */
static void back_again(struct channel *ch) {
    struct channel_health *w = &ch->health;
    uint64_t now = io_now_ms(ch->session->core->up.loop);
    if (!ch->missing || ch->state != CHANNEL_READY || now < w->notify_ms)
        return;
    w->notify_ms = now + (ch->server->health_ms
                          << (w->notify_count < HEALTH_NOTIFY_MAX ? w->notify_count++ : w->notify_count));
    ch->session->core->channels->events->back(ch);
}

static void on_check_answer(struct own_request *own, struct msg *m) {
    (void)m;
    struct health_check *check = container_of(own, struct health_check, own);
    struct channel *ch = check->channel;
    check_free(check);
    back_again(ch->first);
}

static void on_check_failed(struct own_request *own, const char *why) {
    struct health_check *check = container_of(own, struct health_check, own);
    struct channel *ch = check->channel;
    int status = check->req.status;
    check_free(check);
    if (!ch->link->is_up)
        return; /* `down` follows */
    /* The server itself answers with this status; a proxy in front of it answers 502 to 504. */
    if (status && (status < 502 || status > 504))
        return;
    /* It may only have closed an idle connection. */
    bool once_more = !ch->health.again;
    ch->health.again = true;
    if (once_more) {
        ch->health.doubt = true;
        ch->server->asked_ms = 0;
    } else {
        missed(ch, why, ch->session->core->channels->health_clock_ms + 1);
    }
}

static void ask(struct channel *ch, uint64_t now) {
    bool modern = channel_is_modern(ch);
    struct health_check *check = mem_zalloc(sizeof(*check));
    *check = (struct health_check){
        .own = {OWN_REQUEST_MAGIC, on_check_answer, on_check_failed, NULL}, .channel = ch, .asked_ms = now};
    ch->health.doubt = false;
    if (!link_begin(ch->link, &check->req, &check->own)) {
        free(check);
        return;
    }
    struct arena a;
    arena_init(&a);
    struct slice method = modern ? SLICE("server/discover") : SLICE("ping");
    struct slice text = arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%.*s\"%s}",
                                     (unsigned long long)check->req.id, SLICE_FMT(method),
                                     modern ? ",\"params\":{\"_meta\":" UP_META_OWN "}" : "");
    ch->health.check = check;
    ch->server->health_checks++;
    channel_send(ch, text, method, &check->req);
    if (ch->health.check == check && !check->req.id)
        check_free(check); /* it could not be sent: retry at the next sweep */
    arena_free(&a);
}

/* ---- sweep ---- */

/* Has the check timed out? Not while the server is busy, nor when another link has received something
 * since. */
static void check_overdue(struct channel *ch, uint64_t now) {
    const struct server *server = ch->server;
    char why[SERVER_FAULT_MAX];
    uint64_t asked_ms = ch->health.check->asked_ms;
    if (now - asked_ms < server->health_timeout_ms)
        return;
    health_forget(ch);
    if (works(ch) || (over_http(ch) && server->received_ms > asked_ms)) {
        ch->health.since_ms = now;
        return;
    }
    silence_text(ch, server->health_timeout_ms, why);
    missed(ch, why, now);
}

static void check_ready(struct channel *ch, uint64_t now) {
    struct channel_health *w = &ch->health;
    struct server *server = ch->server;
    bool http = over_http(ch);
    if (http && w->since_ms < server->gone_ms) {
        give_up(ch);
        return;
    }
    if (w->check) {
        check_overdue(ch, now);
        return;
    }
    uint64_t silent_ms = now - (http ? server->received_ms : w->since_ms);
    if ((!w->doubt && silent_ms < server->health_ms) || ch->era == ERA_UNKNOWN)
        return;
    if (http && now - server->asked_ms < server->health_timeout_ms)
        return; /* on another link */
    server->asked_ms = now;
    if (!works(ch))
        ask(ch, now);
}

/* npx may first have to download a program; a server over HTTP is already running. */
static void check_init(struct channel *ch, uint64_t now) {
    char why[SERVER_FAULT_MAX];
    uint64_t limit_ms = !over_http(ch) ? HEALTH_START_MS
                        : ch->missing || ch->server->health_timeout_ms > HEALTH_INIT_MS
                            ? ch->server->health_timeout_ms
                            : HEALTH_INIT_MS;
    if (now - ch->health.since_ms < limit_ms)
        return;
    silence_text(ch, limit_ms, why);
    ch->server->health_misses++;
    snprintf(ch->server->fault, sizeof(ch->server->fault), "%s", why);
    give_up(ch);
}

static void check_channel(struct channel *ch, uint64_t now) {
    struct channel_health *w = &ch->health;
    /* Other messages do not extend the time-out of initialize. */
    uint32_t received = ch->link && ch->state != CHANNEL_INIT ? ch->link->received : 0;
    if (w->state != (int)ch->state || w->received != received) {
        w->state = (int)ch->state;
        w->received = received;
        w->since_ms = now;
        w->again = false;
        if (ch->state == CHANNEL_READY)
            ch->server->received_ms = now;
    }
    if (ch->state == CHANNEL_READY)
        check_ready(ch, now);
    else if (ch->state == CHANNEL_INIT)
        check_init(ch, now);
    else if (ch->state == CHANNEL_DOWN && ch->missing && ch == ch->first &&
             now - w->since_ms >= (over_http(ch) ? ch->server->health_ms : HEALTH_RETRY_MS))
        channel_revive(ch); /* retries a server that was given up */
}

/* Time in which the gate itself was suspended does not count: answers may be waiting unread. */
static uint64_t awake_ms(struct core *core) {
    uint64_t now = io_now_ms(core->up.loop), passed = now - core->channels->health_seen_ms;
    core->channels->health_clock_ms += passed < 2 * SWEEP_MS ? passed : 2 * SWEEP_MS;
    core->channels->health_seen_ms = now;
    return core->channels->health_clock_ms;
}

void health_sweep(struct core *core) {
    uint64_t now = awake_ms(core);
    if (core->draining)
        return;
    LIST_FOR (n, &core->sessions) {
        const struct session *s = container_of(n, struct session, node);
        for (size_t i = 0; i < s->channel_count; i++) {
            struct channel *first = s->channels[i];
            if (!first || !first->server->health_ms)
                continue;
            check_channel(first, now);
            LIST_FOR (k, &first->others) {
                check_channel(container_of(k, struct channel, other_node), now);
            }
        }
    }
}

void health_start(struct core *core) {
    core->channels->health_seen_ms = core->channels->health_clock_ms = io_now_ms(core->up.loop);
}
