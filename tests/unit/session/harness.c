#include "harness.h"

#include "audit/log_reader.h"
#include "base/clock.h"
#include "base/mem.h"
#include "decision/stop.h"
#include "io/tls.h"
#include "io/work.h"
#include "privacy/privacy.h"
#include "state/approvals.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SETTLE_MS 30000 /* of real time, after which a gate that does not come to rest fails the test */

/* ---- the clock: the linker leads every call of these functions here (-Wl,--wrap) ---- */

#define START_WALL_US 1781697600000000ull /* 2026-06-17T12:00:00Z */
#define START_MONO_US 5000000000ull

/* Of the thread that runs a harness; the audit writer keeps the real clock. */
static __thread bool is_faked;
static uint64_t passed_us;

uint64_t __real_clock_mono_ms(void);
uint64_t __real_clock_mono_us(void);
uint64_t __real_clock_wall_ms(void);
uint64_t __real_clock_wall_us(void);
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_clock_mono_ms(void);
uint64_t __wrap_clock_mono_us(void);
uint64_t __wrap_clock_wall_ms(void);
uint64_t __wrap_clock_wall_us(void);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t __wrap_clock_mono_us(void) { return is_faked ? START_MONO_US + passed_us : __real_clock_mono_us(); }
uint64_t __wrap_clock_wall_us(void) { return is_faked ? START_WALL_US + passed_us : __real_clock_wall_us(); }
uint64_t __wrap_clock_mono_ms(void) {
    return is_faked ? __wrap_clock_mono_us() / 1000 : __real_clock_mono_ms();
}
uint64_t __wrap_clock_wall_ms(void) {
    return is_faked ? __wrap_clock_wall_us() / 1000 : __real_clock_wall_ms();
}
uint64_t __wrap_uv_now(const uv_loop_t *loop) {
    return is_faked ? __wrap_clock_mono_us() / 1000 : __real_uv_now(loop);
}

uint64_t harness_now_ms(void) { return __wrap_clock_wall_ms(); }

/* ---- texts ---- */

const char *harness_json(struct arena *a, const char *text) {
    char *copy = arena_alloc(a, strlen(text) + 1);
    for (size_t i = 0; i <= strlen(text); i++)
        copy[i] = text[i] == '\'' ? '"' : text[i];
    return copy;
}

bool harness_contains(const char *text, const char *quoted) {
    cleanup_arena struct arena a;
    arena_init(&a);
    return text && strstr(text, harness_json(&a, quoted));
}

static const char *keep(struct harness *h, struct slice text) { return arena_dup(&h->arena, text).ptr; }

static const char *keep_splice(struct harness *h, const struct splice *text) {
    cleanup_buf struct buf out;
    buf_init(&out, MSG_BYTES_MAX);
    assert_true(splice_write(text, &out));
    return keep(h, buf_slice(&out));
}

const char *fake_member(struct harness *h, const char *text, const char *key) {
    const char *want = arena_printf(&h->arena, "\"%s\":\"", key).ptr;
    const char *at = text ? strstr(text, want) : NULL;
    if (!at)
        fail_msg("`%s` is not in: %s", key, text ? text : "(nothing)");
    at += strlen(want);
    return keep(h, slice_of(at, (size_t)(strchr(at, '"') - at)));
}

const char *fake_number(struct harness *h, const char *text, const char *key) {
    const char *want = arena_printf(&h->arena, "\"%s\":", key).ptr;
    const char *at = text ? strstr(text, want) : NULL;
    size_t digits = at ? strspn(at + strlen(want), "0123456789") : 0;
    if (!digits)
        fail_msg("`%s` is not in: %s", key, text ? text : "(nothing)");
    return keep(h, slice_of(at + strlen(want), digits));
}

/* ---- the fake link ---- */

struct fake_link {
    struct link base;
    struct fake_server *server;
};

/* Events of a link for its owner; never delivered within a send. */
struct act {
    struct list node;
    struct link *link; /* NULL: it was closed meanwhile */
    enum { ACT_UP, ACT_BYTES, ACT_FAIL, ACT_DOWN } kind;
    struct slice bytes;
    uint64_t about;
    bool retry;
};

/* link_open() says nothing to the transport but this: the harness of the thread. */
static struct harness *current;

static struct fake_link *fake_of(struct link *l) { return container_of(l, struct fake_link, base); }

static void act_add(struct link *l, int kind, struct slice bytes, uint64_t about, bool retry) {
    struct harness *h = fake_of(l)->server->h;
    struct act *act = arena_new(&h->arena, struct act);
    act->link = l;
    act->kind = (typeof(act->kind))kind;
    act->bytes = arena_dup(&h->arena, bytes);
    act->about = about;
    act->retry = retry;
    list_push(&h->acts, &act->node);
}

static struct fake_server *server_of(struct link *l) {
    for (size_t i = 0; i < current->server_count; i++)
        if (&current->servers[i]->server->up == l->server)
            return current->servers[i];
    fail_msg("a link to a server that the harness does not know");
    return NULL;
}

static void on_start(struct link *l) {
    struct fake_server *s = fake_of(l)->server = server_of(l);
    l->is_http = s->speaks >= FAKE_LEGACY_HTTP;
    s->link = l;
    s->opened++;
    s->open_count++;
    if (s->refuses_links)
        act_add(l, ACT_DOWN, SLICE("the server cannot be started"), 0, false);
    else
        act_add(l, ACT_UP, (struct slice){0}, 0, false);
}

static bool answers_itself(struct fake_server *s, struct fake_heard *m);

static bool on_send(struct link *l, const struct link_out *out, struct link_req *req) {
    struct fake_server *s = fake_of(l)->server;
    struct harness *h = s->h;
    assert_true(s->heard_count < FAKE_HEARD_MAX);
    struct fake_heard *m = arena_new(&h->arena, struct fake_heard);
    *m = (struct fake_heard){.server = s,
                             .link = l,
                             .id = req ? req->id : 0,
                             .method = keep(h, out->method),
                             .text = keep_splice(h, out->text),
                             .headers = keep(h, out->extra_headers),
                             .record = out->record};
    s->heard[s->heard_count++] = m;
    m->taken = answers_itself(s, m);
    return true;
}

static void on_abandon(struct link *l, struct link_req *req) {
    struct fake_server *s = fake_of(l)->server;
    for (size_t i = s->heard_count; i-- > 0;)
        if (s->heard[i]->link == l && s->heard[i]->id && !link_find(l, s->heard[i]->id))
            s->heard[i]->abandoned = true;
    (void)req;
}

static void on_listen(struct link *l) { (void)l; }
static void on_pause(struct link *l, struct link_req *req, bool on) {
    (void)req;
    fake_of(l)->server->paused = on;
}
static bool on_busy(const struct link *l) { return fake_of((struct link *)(uintptr_t)l)->server->busy; }

static void on_close(struct link *l) {
    struct fake_server *s = fake_of(l)->server;
    LIST_FOR (n, &s->h->acts) {
        struct act *act = container_of(n, struct act, node);
        if (act->link == l)
            act->link = NULL;
    }
    for (size_t i = 0; i < s->heard_count; i++)
        if (s->heard[i]->link == l)
            s->heard[i]->link = NULL;
    if (s->link == l)
        s->link = NULL;
    s->open_count--;
    link_free_base(l);
}

static const struct link_ops fake_ops = {.start = on_start,
                                         .send = on_send,
                                         .abandon = on_abandon,
                                         .listen = on_listen,
                                         .pause = on_pause,
                                         .busy = on_busy,
                                         .close = on_close};

static struct link *fake_link_new(void) {
    struct fake_link *l = mem_zalloc(sizeof(*l));
    l->base.ops = &fake_ops;
    return &l->base;
}

static void act_bytes(struct harness *h, struct link *l, const struct act *act) {
    struct block *b = block_new(&h->loop.blocks, act->bytes.len);
    memcpy(b->data, act->bytes.ptr, act->bytes.len);
    struct link_req *from = act->about && l->is_http ? link_find(l, act->about) : NULL;
    link_received(l, b, slice_of(b->data, act->bytes.len), from, l->is_http ? 200 : 0);
    block_unref(b);
}

static void act_run(struct harness *h, const struct act *act) {
    struct link *l = act->link;
    struct link_req *req;
    switch (act->kind) {
    case ACT_UP:
        l->is_up = true;
        l->events->up(l->owner);
        break;
    case ACT_BYTES:
        act_bytes(h, l, act);
        break;
    case ACT_FAIL:
        if ((req = link_find(l, act->about)))
            link_fail_req(req, act->bytes.ptr, act->retry);
        break;
    case ACT_DOWN:
        l->is_up = false;
        link_fail_all(l, act->bytes.ptr);
        if (!l->closed)
            l->events->down(l->owner, act->bytes.ptr, LINK_FAILED);
        break;
    }
}

/* ---- running ---- */

static bool is_writing(const struct harness *h) {
    LIST_FOR (n, &h->core.sessions) {
        LIST_FOR (k, &container_of(n, struct session, node)->calls) {
            const struct call *c = container_of(k, struct call, node);
            if (c->recording && !c->recorded)
                return true;
        }
    }
    return false;
}

void harness_settle(struct harness *h) {
    uint64_t until = __real_clock_mono_ms() + SETTLE_MS;
    bool more = true;
    while (more) {
        struct list *n;
        more = false;
        while ((n = list_pop(&h->acts))) {
            const struct act *act = container_of(n, struct act, node);
            more = true;
            if (act->link)
                act_run(h, act);
        }
        more |= !list_empty(&h->loop.soon) || !list_empty(&h->loop.gathering);
        uv_run(&h->loop.uv, UV_RUN_NOWAIT);
        more |= io_work_finish(&h->loop);
        if (is_writing(h)) {
            more = true;
            sched_yield();
        }
        if (__real_clock_mono_ms() > until)
            fail_msg("the gate does not come to rest");
    }
}

/* The wheel turns when the test says so, not by the real time that has passed. */
static void turn_wheel(struct harness *h) {
    if (uv_is_active((uv_handle_t *)&h->loop.tick))
        h->loop.tick.timer_cb(&h->loop.tick);
    harness_settle(h);
}

void harness_advance(struct harness *h, uint64_t ms) {
    harness_settle(h);
    uint64_t step = ms > 100 * IO_TIMER_TICK_MS ? ms / 100 : IO_TIMER_TICK_MS;
    for (uint64_t left = ms; left;) {
        uint64_t by = left < step ? left : step;
        passed_us += by * 1000;
        left -= by;
        turn_wheel(h);
    }
    /* A timer fires up to one tick late, and none sooner than one tick from now. */
    for (int i = 0; i < 2; i++) {
        passed_us += IO_TIMER_TICK_MS * 1000;
        turn_wheel(h);
    }
}

/* ---- opening and closing ---- */

struct policy *harness_load_policy(const char *text) {
    cleanup_arena struct arena a;
    arena_init(&a);
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    struct policy *policy = NULL;
    if (policy_load(slice_str(harness_json(&a, text)), "test", &policy, &problems) < 0)
        fail_msg("the policy does not load: %.*s", SLICE_FMT(problems.items[0].text));
    return policy;
}

void harness_policy(struct harness *h, const char *text) {
    policy_unref(h->core.policy);
    h->core.policy = harness_load_policy(text);
}

static void open_stores(struct harness *h, const struct harness_config *config) {
    struct err err = {0};
    struct state_config state = {
        .dsn = config->dsn ? config->dsn : "memory:", .dir = h->home, .loop = &h->loop};
    struct audit_config audit = {.home = h->home, .durable = config->durable, .loop = &h->loop};
    struct privacy_config pii = {.home = h->home, .mode = config->pii};
    approve_init(&h->core, h->home,
                 &(struct approve_settings){config->mode, config->approval_ms, config->persons});
    if (state_open(&state, &h->core.state, &err) < 0 ||
        (!config->no_audit && audit_open(&audit, &h->core.audit, &err) < 0) ||
        (!config->no_audit && audit_flush(h->core.audit, &err) < 0) ||
        stop_open(&h->core, h->home, &err) < 0 ||
        (config->pii != FILTER_OFF && privacy_new(&pii, &h->privacy, &err) < 0))
        fail_msg("%s", err.text);
    h->core.privacy = h->privacy;
}

struct harness *harness_open(const struct harness_config *config) {
    static const struct harness_config defaults;
    static struct harness only;
    struct harness *h = &only;
    config = config ? config : &defaults;
    *h = (struct harness){0};
    is_faked = true;
    passed_us = 0;
    current = h;
    /* In memory where there is some: each test opens stores of its own, and a disk would take its time. */
    snprintf(h->home, sizeof(h->home), "%s/sallyport-harness-XXXXXX",
             access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(h->home));
    arena_init(&h->arena);
    list_init(&h->acts);
    io_loop_init(&h->loop);
    session_core_init(&h->core, &h->loop, NULL);
    h->core.many_servers = config->many;
    h->core.audit_args = config->args;
    h->local = principal_new(PRINCIPAL_LOCAL, "local");
    harness_policy(h, config->policy ? config->policy : "{'version':'1','default':'allow'}");
    open_stores(h, config);
    return h;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

int harness_teardown(void **state_) {
    (void)state_;
    struct harness *h = current;
    if (!h)
        return 0;
    struct state_store *state = h->core.state;
    struct audit *audit = h->core.audit;
    for (size_t i = 0; i < h->client_count; i++)
        fake_leave(h->clients[i]);
    session_core_free(&h->core);
    stop_close(&h->core);
    privacy_free(h->privacy);
    audit_close(audit);
    state_close(state);
    principal_unref(h->local);
    io_loop_free(&h->loop);
    nftw(h->home, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_free(&h->arena);
    is_faked = false;
    current = NULL;
    return 0;
}

/* ---- what the gate keeps ---- */

static void put_text(struct buf *out, struct slice text) {
    if (!text.len)
        return;
    buf_put_char(out, ' ');
    buf_put_slice(out, text);
}

static bool put_entry(void *ctx, const struct audit_entry *entry) {
    struct buf *out = ctx;
    const struct audit_record *r = entry->record;
    if (r->kind == AUDIT_KIND_EVENT &&
        (slice_is(r->text[AUDIT_EVENT], "start") || slice_is(r->text[AUDIT_EVENT], "stop")))
        return true;
    buf_put_str(out, audit_kind_name(r->kind));
    put_text(out, r->text[AUDIT_EVENT]);
    put_text(out, r->text[AUDIT_METHOD]);
    put_text(out, r->text[AUDIT_TOOL]);
    put_text(out, r->text[AUDIT_VERDICT]);
    put_text(out, r->text[AUDIT_RULE]);
    put_text(out, r->text[AUDIT_STATUS]);
    if (r->text[AUDIT_TEXT].len) {
        buf_put_str(out, " [");
        buf_put_slice(out, r->text[AUDIT_TEXT]);
        buf_put_char(out, ']');
    }
    buf_put_char(out, '\n');
    return true;
}

const char *harness_log(struct harness *h) {
    struct err err = {0};
    cleanup_audit_log struct audit_log *log = NULL;
    cleanup_buf struct buf out;
    buf_init(&out, 1u << 20);
    if (audit_flush(h->core.audit, &err) < 0 || audit_log_open(h->home, &log, &err) < 0 ||
        audit_log_walk(log, &(struct audit_filter){0}, put_entry, &out, &err) < 0)
        fail_msg("%s", err.text);
    return keep(h, buf_slice(&out));
}

struct approval_search {
    struct harness *h;
    struct slice id;
    size_t count;
};

static bool see_approval(void *ctx, const struct state_approval *r) {
    struct approval_search *search = ctx;
    search->id = arena_dup(&search->h->arena, r->id);
    search->count++;
    return true;
}

struct slice harness_pending(struct harness *h) {
    struct err err = {0};
    struct approval_search search = {.h = h};
    struct state_approval_filter filter = {.statuses = 1u << STATE_APPROVAL_PENDING};
    struct state_approvals *store = approve_store(&h->core, &err);
    if (!store || state_approvals_list(store, &filter, harness_now_ms(), see_approval, &search, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(search.count, 1);
    return search.id;
}

enum state_decide harness_decide(struct harness *h, struct slice id, bool approve) {
    struct err err = {0};
    struct state_decision decision = {
        .id = id, .approve = approve, .decider = SLICE("cli:alice"), .now_ms = harness_now_ms()};
    enum state_decide said =
        state_approvals_decide(approve_store(&h->core, &err), &decision, &h->arena, NULL, &err);
    approve_wake(&h->core);
    harness_settle(h);
    return said;
}

/* ---- servers ---- */

static void server_send(struct link *l, const char *text, uint64_t about) {
    act_add(l, ACT_BYTES, slice_str(text), about, false);
}

static void send_result(struct fake_heard *m, const char *result) {
    struct harness *h = m->server->h;
    server_send(m->link,
                arena_printf(&h->arena, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}",
                             (unsigned long long)m->id, harness_json(&h->arena, result))
                    .ptr,
                m->id);
}

static void send_error(struct fake_heard *m, int code, const char *message) {
    struct harness *h = m->server->h;
    server_send(m->link,
                arena_printf(&h->arena,
                             "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":%d,\"message\":\"%s\"}}",
                             (unsigned long long)m->id, code, message)
                    .ptr,
                m->id);
}

static bool is_modern(const struct fake_server *s) {
    return s->speaks == FAKE_MODERN || s->speaks == FAKE_MODERN_HTTP;
}

/* Behaviour that all servers share, so that each test states only what it checks. */
static bool answers_itself(struct fake_server *s, struct fake_heard *m) {
    struct arena *a = &s->h->arena;
    if (s->by_hand || !m->id)
        return false;
    if (strcmp(m->method, "initialize") == 0) {
        if (is_modern(s))
            send_error(m, RPC_METHOD_NOT_FOUND, "Method not found");
        else
            send_result(m, arena_printf(a,
                                        "{'protocolVersion':'2025-11-25','capabilities':%s,'serverInfo':{"
                                        "'name':'%s','version':'1'}}",
                                        s->capabilities, s->server->up.name)
                               .ptr);
        return true;
    }
    if (strcmp(m->method, "server/discover") == 0) {
        if (!is_modern(s))
            send_error(m, RPC_METHOD_NOT_FOUND, "Method not found");
        else
            send_result(m, arena_printf(a,
                                        "{'resultType':'complete','supportedVersions':['2026-07-28'],"
                                        "'capabilities':%s,'ttlMs':0,'cacheScope':'public','_meta':{"
                                        "'io.modelcontextprotocol/serverInfo':{'name':'%s','version':'1'}}}",
                                        s->capabilities, s->server->up.name)
                               .ptr);
        return true;
    }
    if (strcmp(m->method, "tools/list") == 0) {
        send_result(
            m, arena_printf(a, "{%s'tools':%s}",
                            is_modern(s) ? "'resultType':'complete','ttlMs':0,'cacheScope':'public'," : "",
                            s->tools)
                   .ptr);
        return true;
    }
    if (strcmp(m->method, "ping") == 0) {
        send_result(m, "{}");
        return true;
    }
    return false;
}

struct fake_server *harness_server(struct harness *h, const char *name, enum fake_speaks speaks) {
    assert_true(h->server_count < FAKE_SERVERS_MAX);
    struct fake_server *s = arena_new(&h->arena, struct fake_server);
    *s = (struct fake_server){
        .h = h,
        .server = server_new(&h->core),
        .speaks = speaks,
        .tools = "[{'name':'echo','description':'Says it again','inputSchema':{'type':'object'}},"
                 "{'name':'wipe','description':'Deletes a file','inputSchema':{'type':'object'}}]",
        .capabilities = "{'tools':{}}",
    };
    h->servers[h->server_count++] = s;
    s->server->up.name = arena_dup(&s->server->arena, slice_str(name)).ptr;
    s->server->up.transport = fake_link_new;
    static const char *const command[] = {"fake-mcp-server", "--stdio", NULL}; /* never started */
    if (speaks < FAKE_LEGACY_HTTP)
        s->server->up.argv = command;
    if (speaks >= FAKE_LEGACY_HTTP) {
        bool modern = speaks == FAKE_MODERN_HTTP;
        s->server->up.url = "http://fake.invalid/mcp";
        up_era_note(&s->server->up, modern ? UP_YES : UP_NO, modern ? UP_NO : UP_YES);
        s->server->up.era.pinned = true;
    }
    return s;
}

struct fake_heard *fake_peek(struct fake_server *s, const char *method) {
    harness_settle(s->h);
    for (size_t i = 0; i < s->heard_count; i++)
        if (!s->heard[i]->taken && strcmp(s->heard[i]->method, method) == 0)
            return s->heard[i];
    return NULL;
}

struct fake_heard *fake_take(struct fake_server *s, const char *method) {
    struct fake_heard *m = fake_peek(s, method);
    if (!m)
        fail_msg("server `%s` was not sent %s", s->server->up.name, method);
    m->taken = true;
    return m;
}

size_t fake_count(const struct fake_server *s, const char *method) {
    size_t count = 0;
    for (size_t i = 0; i < s->heard_count; i++)
        count += strcmp(s->heard[i]->method, method) == 0;
    return count;
}

static void need_link(const struct fake_heard *m) {
    if (!m->link)
        fail_msg("the link on which %s came is closed", m->method);
}

void fake_answer(struct fake_heard *m, const char *result) {
    need_link(m);
    send_result(m, result);
    harness_settle(m->server->h);
}

void fake_error(struct fake_heard *m, int code, const char *message) {
    need_link(m);
    send_error(m, code, message);
    harness_settle(m->server->h);
}

void fake_say(struct fake_server *s, struct fake_heard *about, const char *text) {
    struct link *l = about ? about->link : s->link;
    assert_non_null(l);
    server_send(l, harness_json(&s->h->arena, text), about ? about->id : 0);
    harness_settle(s->h);
}

void fake_fail(struct fake_heard *m, const char *why, bool retry) {
    need_link(m);
    act_add(m->link, ACT_FAIL, slice_str(why), m->id, retry);
    harness_settle(m->server->h);
}

void fake_die(struct fake_server *s, const char *why) {
    assert_non_null(s->link);
    act_add(s->link, ACT_DOWN, slice_str(why), 0, false);
    harness_settle(s->h);
}

/* ---- clients ---- */

static struct fake_reply *reply_of(struct call_sink *sink) {
    return container_of(sink, struct fake_reply, sink);
}

static void on_reply(struct call_sink *sink, const struct session_out *out) {
    struct fake_reply *r = reply_of(sink);
    assert_false(r->over);
    r->over = true;
    r->text = keep_splice(r->client->h, out->text);
    r->status = out->http_status;
}

static void on_event(struct call_sink *sink, const struct session_out *out) {
    struct fake_reply *r = reply_of(sink);
    assert_false(r->over);
    assert_true(r->event_count < FAKE_EVENTS_MAX);
    r->events[r->event_count++] = keep_splice(r->client->h, out->text);
}

static void on_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static void on_none(struct call_sink *sink) {
    struct fake_reply *r = reply_of(sink);
    assert_false(r->over);
    r->over = r->none = true;
}

static const struct call_sink_ops sink_ops = {
    .reply = on_reply, .event = on_event, .streaming = on_streaming, .none = on_none};

static bool on_deliver(struct session *s, const struct session_out *out) {
    struct fake_client *c = s->owner;
    if (c->unreachable)
        return false;
    assert_true(c->delivered_count < FAKE_EVENTS_MAX);
    c->delivered[c->delivered_count++] = keep_splice(c->h, out->text);
    return true;
}

static void on_server_ended(struct session *s, const char *why, int exit_status) {
    (void)why, (void)exit_status;
    struct fake_client *c = s->owner;
    c->ended = true;
}

static const struct session_front fake_front = {.deliver = on_deliver, .server_ended = on_server_ended};

static struct fake_reply *send_only(struct fake_client *c, const char *text) {
    struct harness *h = c->h;
    struct fake_reply *r = arena_new(&h->arena, struct fake_reply);
    r->client = c;
    r->sink = (struct call_sink){.ops = &sink_ops, .modern = c->modern};
    struct slice bytes = slice_str(harness_json(&h->arena, text));
    struct msg_refusal refusal = {0};
    struct block *b = block_new(&h->loop.blocks, bytes.len);
    memcpy(b->data, bytes.ptr, bytes.len);
    struct msg *m = msg_admit(&h->core.up.msgs, b, slice_of(b->data, bytes.len), &h->arena, &refusal);
    block_unref(b);
    if (!m)
        fail_msg("no message: %s: %s", refusal.why, text);
    session_receive(c->session, m, &r->sink);
    msg_unref(m);
    return r;
}

struct fake_reply *fake_send(struct fake_client *c, const char *text) {
    struct fake_reply *r = send_only(c, text);
    harness_settle(c->h);
    return r;
}

struct fake_reply *fake_request_only(struct fake_client *c, const char *id, const char *method,
                                     const char *params) {
    struct arena *a = &c->h->arena;
    const char *meta = "";
    if (c->modern)
        meta = arena_printf(a,
                            "%s'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                            "'io.modelcontextprotocol/clientInfo':{'name':'agent','version':'1'},"
                            "'io.modelcontextprotocol/clientCapabilities':%s%s%s}",
                            params[0] ? "," : "", c->capabilities, c->meta ? "," : "", c->meta ? c->meta : "")
                   .ptr;
    return send_only(c, arena_printf(a, "{'jsonrpc':'2.0','id':%s,'method':'%s','params':{%s%s}}", id, method,
                                     params, meta)
                            .ptr);
}

struct fake_reply *fake_request(struct fake_client *c, const char *id, const char *method,
                                const char *params) {
    struct fake_reply *r = fake_request_only(c, id, method, params);
    harness_settle(c->h);
    return r;
}

struct fake_reply *fake_call(struct fake_client *c, const char *id, const char *tool, const char *arguments) {
    return fake_request(c, id, "tools/call",
                        arena_printf(&c->h->arena, "'name':'%s','arguments':%s", tool, arguments).ptr);
}

const char *fake_text(struct fake_reply *r) {
    harness_settle(r->client->h);
    if (!r->text)
        fail_msg("there is no answer");
    return r->text;
}

struct fake_client *harness_client(struct harness *h, struct fake_server *only, bool modern,
                                   struct principal *who, const char *capabilities) {
    assert_true(h->client_count < FAKE_CLIENTS_MAX);
    struct fake_client *c = arena_new(&h->arena, struct fake_client);
    *c = (struct fake_client){.h = h, .modern = modern, .capabilities = capabilities ? capabilities : "{}"};
    c->session =
        session_new(&h->core, &fake_front, c, who ? who : h->local, only ? only->server : NULL, modern);
    h->clients[h->client_count++] = c;
    if (modern)
        return c;
    fake_request(c, "'hello'", "initialize",
                 arena_printf(&h->arena,
                              "'protocolVersion':'2025-11-25','capabilities':%s,'clientInfo':{'name':'agent',"
                              "'version':'1'}",
                              c->capabilities)
                     .ptr);
    fake_send(c, "{'jsonrpc':'2.0','method':'notifications/initialized'}");
    return c;
}

struct fake_client *harness_legacy(struct harness *h, struct fake_server *only) {
    return harness_client(h, only, false, NULL, NULL);
}

struct fake_client *harness_modern(struct harness *h, struct fake_server *only) {
    return harness_client(h, only, true, NULL, NULL);
}

void fake_leave(struct fake_client *c) {
    session_close(steal(c->session));
    harness_settle(c->h);
}
