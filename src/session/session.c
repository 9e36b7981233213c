#include "session/session.h"

#include "approval/approve.h"
#include "approval/webhook.h"
#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "call/client.h"
#include "call/client_ask.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/health.h"
#include "channel/report.h"
#include "channel/tools.h"
#include "decision/judge.h"
#include "era/listen.h"
#include "era/park.h"
#include "era/request_state.h"
#include "era/task.h"
#include "guard/guard.h"
#include "many/claim.h"
#include "many/many.h"
#include "many/presence.h"
#include "many/shared.h"
#include "privacy/privacy.h"
#include "record/metrics.h"
#include "record/record.h"
#include "record/span.h"
#include "server/task_owner.h"
#include "session/messages.h"
#include "session/steps.h"

#define SESSION_MAGIC 0x5e5510a1
#define SESSION_NAME_LEN 32 /* as long as the id of a session over HTTP */

static void session_free(struct session *s);

static void on_over(struct io_timer *timer) { session_free(container_of(timer, struct session, over_timer)); }

/* In a later turn: the call may have ended inside a callback of its link. */
static void session_over(struct session *s) { io_timer_soon(s->core->up.loop, &s->over_timer, on_over); }

/* ---- the core ---- */

/* The link of a channel is about to close. */
static void on_dropped(struct channel *ch) {
    park_drop(ch);
    task_drop(ch);
    listen_link_over(ch);
    health_forget(ch);
}

static const struct channel_events channel_events = {
    .message = messages_from_server,
    .ready = presence_ready,
    .down = presence_down,
    .back = presence_back,
    .dropped = on_dropped,
    .freed = tools_abandon,
    .listen = listen_refresh,
    .bound = task_channel,
    .crowded = park_yield,
    .pool = shared_session_of,
};

static const struct many_sessions pool_sessions = {.open = session_new, .close = session_close};

void session_core_init(struct core *core, struct io_loop *loop, struct spawn *spawn) {
    *core = (struct core){.up = {.loop = loop, .spawn = spawn}};
    msg_pool_init(&core->up.msgs);
    buf_init(&core->scratch, MSG_BYTES_MAX);
    list_init(&core->sessions);
    map_init(&core->trails);
    core->flow_window_ms = TRAIL_WINDOW_MS;
    core->walk = &steps_walk;
    core->tools_changed = presence_tools_changed;
    core->session_over = session_over;
    core->metrics = metrics_new();
    task_owner_init(core);
    record_init(core);
    channel_init(core, &report_events, &channel_events);
    judge_init(core);
    park_init(core);
    many_init(core, &pool_sessions);
    /* For this run, unless the settings name a key. */
    request_state_init(core, &(struct request_state_config){0}, NULL);
}

void session_core_free(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->sessions) {
        session_close(container_of(n, struct session, node));
    }
    session_end_closed(core);
    for (size_t i = 0; i < core->server_count; i++)
        if (core->servers[i])
            session_remove_server(core, core->servers[i]);
    free(core->servers);
    many_free(core);
    request_state_free(core);
    park_free_all(core);
    webhook_stop(core);
    approve_free(core);
    judge_free(core);
    channel_free_core(core);
    span_exporter_stop(core);
    record_free(core);
    metrics_free(core->metrics);
    guard_close(core);
    task_owner_free(core);
    call_pool_free(core);
    trail_free_all(core);
    msg_pool_free(&core->up.msgs);
    policy_unref(core->policy);
    policy_unref(core->no_policy);
    buf_free(&core->scratch);
    free(core->restart_settings);
    free(core->settings_fault);
    free(core->console);
}

void session_restart_server(struct core *core, struct server *server) {
    LIST_FOR (n, &core->sessions) {
        channel_fail_calls(container_of(n, struct session, node), server);
    }
    LIST_FOR (n, &core->sessions) {
        channel_drop(container_of(n, struct session, node), server);
    }
    server_forget_tools(server);
}

void session_remove_server(struct core *core, struct server *server) {
    session_restart_server(core, server);
    LIST_FOR_SAFE (n, next, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (s->lingers && s->only == server) /* its calls have just failed */
            session_free(s);
    }
    claim_drop(core, server);
    server_release(core, server);
}

/* ---- life ---- */

/* Limits of scope `session` are counted under the name, in a store that other gates share and that
 * outlives this one, so the name is unique. The session of a stateless client covers everything that its
 * principal does at one endpoint, so its name is derived from these two and stays the same. */
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

static bool deliver_nothing(struct session *s, const struct session_out *out) {
    (void)s, (void)out;
    return false;
}

static const struct session_front no_front = {.deliver = deliver_nothing};

static struct call *call_to_end(struct session *s) {
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (!c->lingers)
            return c;
    }
    return NULL;
}

void session_close_then(struct session *s, void (*over)(void *arg), void *arg) {
    CHECK_MAGIC(s, SESSION_MAGIC);
    CHECK(!s->closed);
    s->closed = true;
    s->over = over;
    s->over_arg = arg;
    struct call *c;
    while ((c = call_to_end(s))) /* ending one may end others, its subcalls */
        call_cancel(c, "session closed");
    task_close_all(s);
    client_ask_drop(s, NULL);
    if (list_empty(&s->calls)) {
        session_free(s);
        return;
    }
    s->front = &no_front;
    s->owner = NULL;
    s->listening = false;
    channel_close_unused(s);
    s->lingers = true;
    if (list_empty(&s->calls))
        session_over(s);
}

void session_close(struct session *s) {
    if (s && !s->closed)
        session_close_then(s, NULL, NULL);
}

void session_end_closed(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (s->lingers)
            session_free(s);
    }
}

static void session_free(struct session *s) {
    s->lingers = false;
    while (!list_empty(&s->calls))
        call_stop(container_of(s->calls.next, struct call, node), "session closed", NULL);
    io_timer_stop(s->core->up.loop, &s->over_timer);
    channel_close_all(s);
    task_close_all(s);
    client_ask_drop(s, NULL);
    slots_free(&s->asks);
    privacy_forget(s);
    map_free(&s->by_id);
    client_free(s);
    principal_unref(s->principal);
    list_remove(&s->node);
    list_remove(&s->pool_node);
    s->core->session_count--;
    s->magic = 0;
    if (s->over)
        s->over(s->over_arg);
    free(s);
}

/* ---- messages and streams ---- */

void session_receive(struct session *s, struct msg *m, struct call_sink *sink) {
    CHECK_MAGIC(s, SESSION_MAGIC);
    if (m->rpc.kind == RPC_RESULT || m->rpc.kind == RPC_ERROR)
        messages_answer_from_client(s, m);
    else
        call_start(s, m, sink);
}

void session_listen(struct session *s) {
    s->listening = true;
    for (size_t i = 0; i < s->channel_count; i++)
        if (s->channels[i] && s->channels[i]->state == CHANNEL_READY)
            channel_listen(s->channels[i]);
}

void session_pause(struct session *s, bool on) {
    for (size_t i = 0; i < s->channel_count; i++)
        if (s->channels[i] && s->channels[i]->link)
            link_pause(s->channels[i]->link, NULL, on);
}
