#include "many/presence.h"

#include "base/log.h"
#include "base/mem.h"
#include "call/client.h"
#include "channel/channel.h"
#include "channel/limits.h"
#include "channel/outbox.h"
#include "many/gather.h"
#include "many/limits.h"
#include "mcp/translate.h"
#include "server/server.h"
#include "wire/emit.h"

static void notify_list(struct session *s, const char *list) {
    struct arena a;
    arena_init(&a);
    struct splice text;
    splice_init(&text,
                arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"}", list),
                &a);
    struct session_out out = {.text = &text};
    s->front->deliver(s, &out);
    arena_free(&a);
}

static void notify_session(struct session *s, const char *list) {
    if (s->closed)
        return;
    if (!s->stateless && s->initialized)
        notify_list(s, list);
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && !c->subcall)
            gather_listen_notify(c, list);
    }
}

static bool promised(const struct session *s, const char *list);

void presence_lists_changed(struct session *s) {
    static const char *const lists[] = {"tools", "prompts", "resources"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (promised(s, lists[i]))
            notify_session(s, lists[i]);
}

void presence_tools_changed(struct core *core) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (!s->pool)
            notify_session(s, "tools");
    }
}

/* A request of the gate whose answer is ignored. */
static void forget_reply(struct call_sink *sink, const struct session_out *out) {
    (void)out;
    free(sink);
}
static void forget_event(struct call_sink *sink, const struct session_out *out) { (void)sink, (void)out; }
static void forget_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}
static void forget_none(struct call_sink *sink) { free(sink); }

static const struct call_sink_ops forget_ops = {
    .reply = forget_reply, .event = forget_event, .streaming = forget_streaming, .none = forget_none};

static void send_own(struct channel *ch, const char *method, const char *member, struct slice value) {
    struct buf text;
    struct emit e;
    buf_init(&text, MSG_BYTES_MAX);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", method);
    emit_init(&e, &text);
    emit_object(&e);
    emit_key(&e, member);
    emit_str(&e, value);
    emit_object_end(&e);
    buf_put_char(&text, '}');
    struct call_sink *sink = mem_zalloc(sizeof(*sink));
    sink->ops = &forget_ops;
    call_make(ch->session, ch->server, buf_slice(&text), sink);
    buf_free(&text);
}

/* Repeats the client's settings to the new process: its log level and its resource subscriptions. For
 * modern servers listen.c does it. */
static void renew(struct channel *ch) {
    struct session *s = ch->session;
    struct slice uris[CHANNEL_URIS_MAX];
    size_t count = 0, at = 0;
    struct map_entry *entry;
    if (s->stateless || ch->era != ERA_LEGACY)
        return;
    if (s->log_level[0] && server_offers(ch->server, "logging"))
        send_own(ch, "logging/setLevel", "level", slice_str(s->log_level));
    cleanup_arena struct arena a;
    arena_init(&a);
    while ((entry = map_next(&ch->subscribed, &at)) && count < CHANNEL_URIS_MAX)
        uris[count++] = arena_dup(&a, entry->key);
    for (size_t i = 0; i < count; i++)
        send_own(ch, "resources/subscribe", "uri", uris[i]);
}

/* With many servers the gate itself has declared listChanged; a single server declares it itself. */
static bool promised(const struct session *s, const char *list) {
    const struct server *server = s->only;
    cleanup_tape struct tape t;
    tape_init(&t);
    if (session_has_many(s))
        return true;
    if (!server->description.capabilities ||
        tape_parse(&t, slice_str(server->description.capabilities), NULL) != TAPE_OK)
        return false;
    uint32_t flag = tape_path(&t, 0, list, "listChanged", NULL);
    return flag && tape_is(&t, flag, TAPE_TRUE);
}

void presence_ready(struct channel *ch) {
    struct session *s = ch->session;
    ch->used_ms = io_now_ms(s->core->up.loop);
    bool first = ch == ch->first;
    ch = ch->first;
    LIST_FOR (n, &s->calls) { /* parts are appended */
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && c->gather)
            gather_listen_to(c, ch->server);
    }
    ch->server->list_fault[0] = '\0'; /* until it is requested again */
    ch->server->fault[0] = '\0';
    if (first)
        renew(ch);
    if (ch->missing)
        presence_back(ch);
}

void presence_back(struct channel *ch) {
    ch->missing = false;
    ch->server->fault[0] = '\0';
    log_server(LOG_INFO, ch->server->up.name, "server `%s` is back", ch->server->up.name);
    presence_lists_changed(ch->session);
}

void presence_down(struct channel *ch) {
    struct session *s = ch->session;
    if (s->closed || ch != ch->first || (!session_has_many(s) && (s->stateless || !s->initialized)))
        return;
    bool was_there = !ch->missing;
    ch->missing = true;
    if (was_there && session_has_many(s))
        presence_lists_changed(s);
    /* A single server is restarted by the next call, unless the client has subscriptions or health checks
     * are on. */
    bool watched = ch->server->health_ms;
    if (!session_has_many(s) && !ch->subscribed.count && !watched)
        return;
    /* Retrying an HTTP server is cheap, starting a process is not. */
    bool tries = ch->failures <= PRESENCE_TRIES_MAX || (watched && ch->server->up.url);
    if (tries && !s->core->draining)
        channel_revive(ch);
}

void presence_notify_servers(struct session *s, struct slice method) {
    struct arena a;
    arena_init(&a);
    struct slice text = arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"method\":\"%.*s\"}", SLICE_FMT(method));
    for (size_t i = 0; i < s->channel_count; i++)
        if (s->channels[i] && s->channels[i]->state == CHANNEL_READY && s->channels[i]->era == ERA_LEGACY)
            channel_send(s->channels[i], text, method, NULL);
    arena_free(&a);
}
