#include "many/many.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/text.h"
#include "call/principal.h"
#include "channel/channel.h"
#include "channel/health.h"
#include "channel/limits.h"
#include "many/gather.h"
#include "many/limits.h"
#include "mcp/names.h"
#include "mcp/translate.h"
#include "risk/confusable.h"
#include "server/limits.h"
#include "session/session.h"
#include "wire/emit.h"

#include <stdio.h>

struct task {
    struct list node;
    struct text key;                                /* "server\nid" */
    char *principal;                                /* its id */
    char *tool;                                     /* that became it */
    uint64_t result_bytes_max, result_bytes_shadow; /* as the policy said of that call */
};

/* ---- which servers ---- */

bool visible_is(const struct session *s, const struct server *server) {
    return server && (!s->only || s->only == server) &&
           principal_may_use(s->principal, slice_str(server->up.name));
}

struct server *visible_next(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (visible_is(s, server))
            return server;
    }
    return NULL;
}

struct server *visible_next_any(const struct session *s, size_t *at) {
    while (*at < s->core->server_count) {
        struct server *server = s->core->servers[(*at)++];
        if (server && principal_may_use(s->principal, slice_str(server->up.name)))
            return server;
    }
    return NULL;
}

bool visible_renames(const struct session *s) {
    if (s->only || s->core->prefix == SESSION_PREFIX_NEVER)
        return false;
    if (s->core->prefix == SESSION_PREFIX_ALWAYS)
        return true;
    size_t at = 0;
    return visible_next(s, &at) && visible_next(s, &at);
}

struct slice server_prefix(const struct server *server) {
    return slice_str(server->prefix ? server->prefix : server->up.name);
}

struct server *visible_by_prefix(const struct session *s, struct slice prefix) {
    size_t at = 0;
    struct server *server;
    while ((server = visible_next(s, &at)))
        if (slice_eq(server_prefix(server), prefix))
            return server;
    return NULL;
}

/* ---- what they say of themselves ---- */

static void keep_raw(char **at, const struct tape *t, uint32_t node) {
    free(*at);
    struct slice raw = node ? tape_raw(t, node) : (struct slice){0};
    *at = raw.len ? mem_dup(raw.ptr, raw.len) : NULL;
}

void server_learn_description(struct server *server, const struct tape *t, uint32_t result) {
    uint32_t capabilities = tape_get_str(t, result, "capabilities");
    uint32_t instructions = tape_get_str(t, result, "instructions");
    if (!capabilities || !tape_is(t, capabilities, TAPE_OBJECT))
        return;
    keep_raw(&server->description.capabilities, t, capabilities);
    keep_raw(&server->description.instructions, t,
             instructions && tape_is(t, instructions, TAPE_STRING) ? instructions : 0);
}

void server_free_description(struct server *server) {
    free(server->description.capabilities);
    free(server->description.instructions);
    server->description = (struct server_description){0};
}

bool server_offers(const struct server *server, const char *capability) {
    if (!server->description.capabilities)
        return true;
    cleanup_tape struct tape t;
    tape_init(&t);
    return tape_parse(&t, slice_str(server->description.capabilities), NULL) != TAPE_OK ||
           tape_get_str(&t, 0, capability);
}

/* ---- names without a prefix ---- */

static struct slice claim_key(struct arena *a, char kind, struct slice name) {
    /* Resources are told apart by every byte; names by what people see. */
    struct slice seen = kind == 't' || kind == 'p' ? risk_skeleton(name, a) : name;
    return arena_printf(a, "%c%.*s", kind, SLICE_FMT(seen));
}

struct claim {
    struct server *server;
    struct slice name;
};

bool claim_name(struct server *server, char kind, struct slice name) {
    struct core *core = container_of(server->up.core, struct core, up);
    struct arena scratch;
    arena_init(&scratch);
    struct slice key = claim_key(&scratch, kind, name);
    struct claim *claim = map_get(&core->claims, key);
    /* One that stands earlier in the settings and was missing when a later one was listed has it back. */
    if (claim && claim->server->slot > server->slot)
        claim->server = server;
    bool mine = claim ? claim->server == server : core->claims.count < CLAIMS_MAX;
    if (mine && !claim) {
        claim = arena_new(&core->claims_arena, struct claim);
        *claim = (struct claim){server, arena_dup(&core->claims_arena, name)};
        map_put(&core->claims, arena_dup(&core->claims_arena, key), claim);
    } else if (!mine && claim && kind == 't') {
        log_warn("server `%s`: tool `%.*s` is not offered: `%s` has one that is called `%.*s`",
                 server->up.name, SLICE_FMT(name), claim->server->up.name, SLICE_FMT(claim->name));
    }
    arena_free(&scratch);
    return mine;
}

struct server *claim_owner(const struct session *s, char kind, struct slice name) {
    struct arena scratch;
    arena_init(&scratch);
    const struct claim *claim = map_get(&s->core->claims, claim_key(&scratch, kind, name));
    arena_free(&scratch);
    return claim && visible_is(s, claim->server) ? claim->server : NULL;
}

struct server *claim_template_owner(const struct session *s, struct slice uri) {
    size_t at = 0;
    struct map_entry *e;
    while ((e = map_next(&s->core->claims, &at))) {
        const struct claim *claim = e->value;
        if (e->key.ptr[0] == 'T' && visible_is(s, claim->server) && names_fit_template(claim->name, uri))
            return claim->server;
    }
    return NULL;
}

/* What is left of the others is learned again from their next lists. */
void claim_drop(struct core *core, const struct server *server) {
    size_t at = 0;
    struct map_entry *e;
    bool any = false;
    while (!any && (e = map_next(&core->claims, &at)))
        any = ((const struct claim *)e->value)->server == server;
    if (!any)
        return;
    map_free(&core->claims);
    map_init(&core->claims);
    arena_free(&core->claims_arena);
}

/* ---- tasks ---- */

static void task_free(struct core *core, struct task *task) {
    map_remove(&core->tasks, text_slice(task->key));
    list_remove(&task->node);
    text_free(&task->key);
    free(task->principal);
    free(task->tool);
    free(task);
}

static struct slice task_key(struct arena *a, const struct server *server, struct slice id) {
    return arena_printf(a, "%s\n%.*s", server->up.name, SLICE_FMT(id));
}

static void task_cap(struct task *task, const struct policy_verdict *v) {
    policy_tighten(&task->result_bytes_max, v->result_bytes_max);
    policy_tighten(&task->result_bytes_shadow, v->result_bytes_shadow);
}

bool task_owner_add(struct call *c, struct slice id) {
    struct core *core = c->session->core;
    const char *principal = c->session->principal->id;
    struct slice key = task_key(&c->arena, c->server, id);
    struct task *known = map_get(&core->tasks, key);
    if (known) {
        task_cap(known, &c->verdict);
        if (!slice_is(c->name, known->tool)) /* one id for the work of two: neither's rules hold */
            known->tool[0] = '\0';
        return strcmp(known->principal, principal) == 0;
    }
    if (core->tasks.count >= TASK_OWNERS_MAX)
        task_free(core, container_of(core->task_list.next, struct task, node));
    struct task *task = mem_zalloc(sizeof(*task));
    task->key = text_dup(key);
    task->principal = mem_dup(principal, strlen(principal));
    task->tool = mem_dup(c->name.ptr, c->name.len);
    task_cap(task, &c->verdict);
    map_put(&core->tasks, text_slice(task->key), task);
    list_push(&core->task_list, &task->node);
    return true;
}

static const struct task *task_find(const struct session *s, const struct server *server, struct slice id) {
    struct arena scratch;
    arena_init(&scratch);
    const struct task *task = map_get(&s->core->tasks, task_key(&scratch, server, id));
    arena_free(&scratch);
    return task && strcmp(task->principal, s->principal->id) == 0 ? task : NULL;
}

bool task_owner_is(const struct session *s, const struct server *server, struct slice id) {
    return task_find(s, server, id) != NULL;
}

struct slice task_owner_tool(const struct session *s, const struct server *server, struct slice id) {
    const struct task *task = task_find(s, server, id);
    return task ? slice_str(task->tool) : (struct slice){0};
}

void task_owner_limit(const struct call *c, struct policy_verdict *v) {
    const bool about_task = c->subject && strcmp(c->subject, "taskId") == 0;
    const struct task *task = about_task ? task_find(c->session, c->server, c->name) : NULL;
    if (!task)
        return;
    policy_tighten(&v->result_bytes_max, task->result_bytes_max);
    policy_tighten(&v->result_bytes_shadow, task->result_bytes_shadow);
}

void claim_free(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->task_list) {
        task_free(core, container_of(n, struct task, node));
    }
    map_free(&core->tasks);
    map_free(&core->claims);
    arena_free(&core->claims_arena);
    io_timer_stop(core->up.loop, &core->sweep);
}

/* ---- shared servers ---- */

/* Such a server hears of no client's abilities: nobody could say whom a question of its is for. */
static const char pool_init[] =
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":"
    "\"sallyport\",\"version\":\"" SALLYPORT_VERSION "\"}}";

/* What it says about its lists goes to all who use it; everything else would be somebody's guess. */
static bool pool_deliver(struct session *pool, const struct session_out *out) {
    bool lists =
        out->msg ? tape_path(&out->msg->tape, 0, "method", NULL) &&
                       slice_ends(tape_raw(&out->msg->tape, out->msg->rpc.method), SLICE("list_changed\""))
                 : true;
    if (!lists || out->is_request)
        return false;
    LIST_FOR (n, &pool->core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (s != pool && s->principal == pool->principal && !s->stateless && s->initialized)
            s->front->deliver(s, out);
    }
    return true;
}

static const struct session_front pool_front = {.deliver = pool_deliver};

static struct session *pool_of(struct session *s) {
    struct core *core = s->core;
    LIST_FOR (n, &core->pools) {
        struct session *pool = container_of(n, struct session, pool_node);
        if (pool->principal == s->principal)
            return pool;
    }
    struct session *pool = session_new(core, &pool_front, NULL, s->principal, NULL, false);
    pool->pool = pool->initialized = true;
    session_keep_initialize(pool, SLICE(pool_init));
    list_push(&core->pools, &pool->pool_node);
    return pool;
}

/* Clients of the stateless era share what their principal has anyway. */
struct session *pool_home(struct session *s, const struct server *server) {
    return server->shared && !s->stateless && !s->pool ? pool_of(s) : s;
}

struct channel *pool_channel(struct session *s, const struct server *server) {
    s = pool_home(s, server);
    return server->slot < s->link_count ? s->links[server->slot] : NULL;
}

/* A pool without links is made again when it is needed. */
static void sweep_pools(struct core *core) {
    LIST_FOR_SAFE (n, next, &core->pools) {
        struct session *pool = container_of(n, struct session, pool_node);
        bool used = false;
        for (size_t i = 0; i < pool->link_count; i++) {
            const struct channel *ch = pool->links[i];
            bool up = ch && ch->state != CHANNEL_DOWN;
            bool busy = ch && (ch->users || !list_empty(&ch->waiting) || (ch->link && ch->link->reqs.used));
            used |= busy || (up && !principal_fault(pool->principal, clock_wall_ms()));
        }
        if (!used)
            session_close(pool);
    }
}

/* ---- comings and goings ---- */

static void tell_list(struct session *s, const char *list) {
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

static void tell_session(struct session *s, const char *list) {
    if (s->closed)
        return;
    if (!s->stateless && s->initialized)
        tell_list(s, list);
    LIST_FOR (n, &s->calls) {
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && !c->subcall)
            gather_listen_tell(c, list);
    }
}

static bool promised(const struct session *s, const char *list);

void presence_lists_changed(struct session *s) {
    static const char *const lists[] = {"tools", "prompts", "resources"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (promised(s, lists[i]))
            tell_session(s, lists[i]);
}

void presence_tools_changed(struct core *core) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (!s->pool)
            tell_session(s, "tools");
    }
}

/* A request of the gate's own whose answer nobody waits for. */
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

void channel_keep_level(struct call *c) {
    struct session *s = c->session;
    const struct msg *m = c->request;
    uint32_t level = m->rpc.params ? tape_get_str(&m->tape, m->rpc.params, "level") : 0;
    struct slice text = level && tape_is(&m->tape, level, TAPE_STRING) ? tape_text(&m->tape, level, &c->arena)
                                                                       : (struct slice){0};
    if (translate_log_rank(text) >= 0)
        session_set_level(s, text);
}

void channel_keep_subscription(struct call *c, bool on) {
    struct map *uris = &c->channel->subscribed;
    if (c->cross_era || c->session->stateless)
        return; /* listen.c has those */
    if (!on) {
        free(map_remove(uris, c->name));
    } else if (!map_get(uris, c->name) && uris->count < CHANNEL_URIS_MAX) {
        char *key = mem_dup(c->name.ptr, c->name.len);
        map_put(uris, slice_of(key, c->name.len), key);
    }
}

static void tell(struct channel *ch, const char *method, const char *member, struct slice value) {
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

/* What the client asked another process for: its log level, changes of resources. Servers of the newer era
 * are told by listen.c. */
static void renew(struct channel *ch) {
    struct session *s = ch->session;
    struct slice uris[CHANNEL_URIS_MAX];
    size_t count = 0, at = 0;
    struct map_entry *entry;
    if (s->stateless || ch->era != ERA_LEGACY)
        return;
    if (s->log_level[0] && server_offers(ch->server, "logging"))
        tell(ch, "logging/setLevel", "level", slice_str(s->log_level));
    cleanup_arena struct arena a;
    arena_init(&a);
    while ((entry = map_next(&ch->subscribed, &at)) && count < CHANNEL_URIS_MAX)
        uris[count++] = arena_dup(&a, entry->key);
    for (size_t i = 0; i < count; i++)
        tell(ch, "resources/subscribe", "uri", uris[i]);
}

/* Where the gate itself speaks for its servers it has promised to tell; a single one promises by itself. */
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
    LIST_FOR (n, &s->calls) { /* parts are added behind */
        struct call *c = container_of(n, struct call, node);
        if (c->kind == CALL_LISTEN && c->gather)
            gather_listen_to(c, ch->server);
    }
    if (first)
        renew(ch);
    if (ch->missing)
        presence_back(ch);
}

void presence_back(struct channel *ch) {
    ch->missing = false;
    ch->server->fault[0] = '\0';
    log_info("server `%s` is back", ch->server->up.name);
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
    /* A single one comes back with the next call, unless somebody listens or looks after it meanwhile. */
    bool watched = ch->server->health_ms;
    if (!session_has_many(s) && !ch->subscribed.count && !watched)
        return;
    /* A request costs little, a process much. */
    bool tries = ch->failures <= PRESENCE_TRIES_MAX || (watched && ch->server->up.url);
    if (tries && !s->core->draining)
        channel_revive(ch);
}

void presence_notify_servers(struct session *s, struct slice method) {
    struct arena a;
    arena_init(&a);
    struct slice text = arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"method\":\"%.*s\"}", SLICE_FMT(method));
    for (size_t i = 0; i < s->link_count; i++)
        if (s->links[i] && s->links[i]->state == CHANNEL_READY && s->links[i]->era == ERA_LEGACY)
            channel_send(s->links[i], text, method, NULL);
    arena_free(&a);
}

/* ---- idle servers ---- */

static void sweep_session(struct session *s, uint64_t now) {
    for (size_t i = 0; i < s->link_count; i++) {
        struct channel *ch = s->links[i];
        if (!ch || ch->state != CHANNEL_READY || !ch->server->idle_ms || ch->subscribed.count)
            continue;
        if (ch->users || ch->link->reqs.used || !list_empty(&ch->waiting) ||
            now - ch->used_ms < ch->server->idle_ms)
            continue;
        log_info("server `%s` is idle: ended until it is needed", ch->server->up.name);
        channel_rest(ch);
    }
}

static void on_sweep(struct io_timer *timer) {
    struct core *core = container_of(timer, struct core, sweep);
    uint64_t now = io_now_ms(core->up.loop);
    health_sweep(core);
    sweep_pools(core);
    LIST_FOR (n, &core->sessions) {
        sweep_session(container_of(n, struct session, node), now);
    }
    io_timer_arm(core->up.loop, timer, SWEEP_MS, on_sweep);
}

void sweep_start(struct core *core) {
    core->health_seen_ms = core->health_clock_ms = io_now_ms(core->up.loop);
    io_timer_arm(core->up.loop, &core->sweep, SWEEP_MS, on_sweep);
}
