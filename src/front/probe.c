#include "front/probe.h"

#include "base/mem.h"
#include "call/answer.h"
#include "call/call.h"
#include "call/principal.h"
#include "front/credentials.h"
#include "front/env.h"
#include "front/limits.h"
#include "io/tls.h"
#include "server/paging.h"
#include "server/server.h"
#include "session/session.h"
#include "upstream/head.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>

#define PROBE_BYTES_MAX (64u << 20)
#define PROBE_PAGES_MAX 500

#define PROBE_META                                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/"       \
    "clientInfo\":"                                                                                          \
    "{\"name\":\"sallyport-scan\",\"version\":\"" SALLYPORT_VERSION "\"},"                                   \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

enum probe_stage { PROBE_INITIALIZE, PROBE_LIST, PROBE_DISCOVER };

struct prober {
    struct probe *probe;
    struct probe_all *all;
    struct core core;
    struct server *server;
    struct env_list env;
    struct session *session;
    struct call_sink sink;
    enum probe_stage stage;
    struct server_pages pages;
    uint32_t last_id;
    bool skills; /* the tools are known; the skills have been requested */
    bool over;
    struct buf tools; /* list elements, separated by commas */
    struct buf skill_list;
    struct buf about; /* members of the result before the tools */
    struct io_timer deadline;
    uint64_t started_ms;
};

struct probe_all {
    struct io_loop loop;
    struct prober *probers;
    size_t left;
    void (*done)(const struct probe *p);
};

static const struct call_sink_ops probe_sink;

/* ---- completion ---- */

static void finish(struct prober *p, const char *why) {
    if (p->over)
        return;
    p->over = true;
    struct probe *probe = p->probe;
    probe->took_ms = io_now_ms(&p->all->loop) - p->started_ms;
    io_timer_stop(&p->all->loop, &p->deadline);
    if (why) {
        probe->failed = true;
        err_set(&probe->err, "%s", why);
    } else {
        buf_put_char(&probe->text, '{');
        buf_put_slice(&probe->text, buf_slice(&p->about));
        buf_put_str(&probe->text, "\"tools\":[");
        buf_put_slice(&probe->text, buf_slice(&p->tools));
        buf_put_str(&probe->text, "],\"skills\":[");
        buf_put_slice(&probe->text, buf_slice(&p->skill_list));
        buf_put_str(&probe->text, "]}");
    }
    if (p->all->done)
        p->all->done(probe);
    if (--p->all->left == 0)
        io_loop_stop(&p->all->loop);
}

static void on_deadline(struct io_timer *timer) {
    finish(container_of(timer, struct prober, deadline), "no answer within the time allowed");
}

/* ---- requests ---- */

static void say(struct prober *p, struct slice text) {
    struct arena a;
    arena_init(&a);
    int code;
    const char *why;
    struct slice id;
    /* A call refers to its request until it is counted, after the caller's text has been freed. */
    struct block *b = block_copy(&p->all->loop.blocks, text.ptr, text.len);
    struct msg *m = msg_read(&p->core.up.msgs, b, slice_of(b->data, text.len), &a, &code, &why, &id);
    block_unref(b);
    arena_free(&a);
    if (!m)
        return;
    p->sink.modern = p->stage == PROBE_DISCOVER;
    session_receive(p->session, m, &p->sink);
    msg_unref(m);
}

static void ask_initialize(struct prober *p) {
    p->stage = PROBE_INITIALIZE;
    say(p, SLICE("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                 "\"2025-11-25\","
                 "\"capabilities\":{\"roots\":{}},\"clientInfo\":{\"name\":\"sallyport-scan\",\"version\":"
                 "\"" SALLYPORT_VERSION "\"}}}"));
}

static void ask_page(struct prober *p, struct slice cursor_raw) {
    cleanup_buf struct buf text;
    buf_init(&text, 65536);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s/list\",\"params\":{", ++p->last_id,
               p->skills ? "skills" : "tools");
    if (cursor_raw.len) {
        buf_put_str(&text, "\"cursor\":");
        buf_put_slice(&text, cursor_raw);
    }
    if (p->stage == PROBE_DISCOVER)
        buf_printf(&text, "%s%s", cursor_raw.len ? "," : "", PROBE_META);
    buf_put_str(&text, "}}");
    if (text.full)
        finish(p, "the server's cursor is too long");
    else
        say(p, buf_slice(&text));
}

/* ---- responses ---- */

static void note_about(struct prober *p, const struct tape *t, uint32_t body) {
    static const char *const members[] = {"serverInfo", "protocolVersion", "instructions"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        uint32_t node = tape_get_str(t, body, members[i]);
        if (!node)
            continue;
        buf_printf(&p->about, "\"%s\":", members[i]);
        buf_put_slice(&p->about, tape_raw(t, node));
        buf_put_char(&p->about, ',');
    }
}

/* A modern server was not asked for its capabilities, so it is asked for skills and may refuse. */
static void ask_skills(struct prober *p) {
    if (p->skills || !server_offers(p->server, "io.modelcontextprotocol/skills")) {
        finish(p, NULL);
        return;
    }
    p->skills = true;
    p->pages = (struct server_pages){0};
    ask_page(p, (struct slice){0});
}

static void take_page(struct prober *p, const struct tape *t, uint32_t body) {
    struct buf *out = p->skills ? &p->skill_list : &p->tools;
    uint32_t list = tape_get_str(t, body, p->skills ? "skills" : "tools");
    if (list && tape_is(t, list, TAPE_NULL)) { /* how Go writes an empty list */
        ask_skills(p);
        return;
    }
    if (!list || !tape_is(t, list, TAPE_ARRAY)) {
        finish(p, p->skills ? "the server's list of skills is not an array"
                            : "the server's list of tools is not an array");
        return;
    }
    struct slice cursor;
    if (server_pages_take(&p->pages, t, body, list, &cursor))
        TAPE_FOR_ELEM(t, list, i) {
            if (out->len)
                buf_put_char(out, ',');
            buf_put_slice(out, tape_raw(t, i));
        }
    if (out->full)
        finish(p, "the server's list of tools is too large");
    else if (!cursor.len)
        ask_skills(p);
    else if (p->pages.count >= PROBE_PAGES_MAX)
        finish(p, "the server's list of tools has too many pages");
    else
        ask_page(p, cursor);
}

static void fail_with(struct prober *p, const struct tape *t, uint32_t body) {
    struct arena a;
    arena_init(&a);
    uint32_t message = tape_get_str(t, body, "message");
    struct slice fault = message ? tape_text(t, message, &a) : SLICE("unknown");
    finish(p, arena_printf(&a, "%.*s", SLICE_FMT(slice_upto(fault, 300))).ptr);
    arena_free(&a);
}

/* Servers report the absence of tools in different ways. */
static bool means_no_tools(const struct tape *t, uint32_t body) {
    int64_t code;
    uint32_t node = tape_get_str(t, body, "code");
    return node && tape_int(t, node, &code) && code == RPC_METHOD_NOT_FOUND;
}

static void on_reply(struct call_sink *sink, const struct session_out *out) {
    struct prober *p = container_of(sink, struct prober, sink);
    cleanup_buf struct buf text;
    buf_init(&text, PROBE_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (p->over || !splice_write(out->text, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK)
        return;
    uint32_t result = tape_get_str(&t, 0, "result");
    uint32_t error = tape_get_str(&t, 0, "error");
    if (p->stage == PROBE_INITIALIZE && result) {
        note_about(p, &t, result);
        p->stage = PROBE_LIST;
        say(p, SLICE("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
        ask_page(p, (struct slice){0});
    } else if (p->stage == PROBE_INITIALIZE && means_no_tools(&t, error)) {
        p->stage = PROBE_DISCOVER; /* no such method: a modern-only server */
        ask_page(p, (struct slice){0});
    } else if (result) {
        take_page(p, &t, result);
    } else if (p->stage != PROBE_INITIALIZE && means_no_tools(&t, error)) {
        ask_skills(p);
    } else {
        fail_with(p, &t, error);
    }
}

static void on_event(struct call_sink *sink, const struct session_out *out);
static void on_none(struct call_sink *sink) {
    finish(container_of(sink, struct prober, sink), "the server closed the connection");
}
static void on_streaming(struct call_sink *sink, int64_t retry_ms, bool left) {
    (void)sink, (void)retry_ms, (void)left;
}

static const struct call_sink_ops probe_sink = {
    .reply = on_reply, .event = on_event, .streaming = on_streaming, .none = on_none};

/* A server may ask for roots before it lists its tools: it gets an empty list. Other requests are refused. */
static bool deliver(struct session *s, const struct session_out *out) {
    struct prober *p = s->owner;
    if (!out->is_request)
        return true;
    cleanup_buf struct buf text;
    buf_init(&text, PROBE_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    if (!splice_write(out->text, &text) || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK)
        return false;
    uint32_t method = tape_get_str(&t, 0, "method");
    bool roots = method && tape_eq(&t, method, SLICE("roots/list"));
    struct slice id = tape_raw(&t, tape_get_str(&t, 0, "id"));
    cleanup_arena struct arena a;
    arena_init(&a);
    say(p,
        roots ? arena_printf(&a, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"roots\":[]}}", SLICE_FMT(id))
              : answer_error_text(&a, id, RPC_METHOD_NOT_FOUND, "Method not found"));
    return true;
}

static void on_event(struct call_sink *sink, const struct session_out *out) {
    deliver(container_of(sink, struct prober, sink)->session, out);
}

static void on_server_ended(struct session *s, const char *why, int exit_status) {
    (void)exit_status;
    finish(s->owner, why);
}

static const struct session_front probe_front = {.deliver = deliver, .server_ended = on_server_ended};

/* ---- all probes ---- */

static int set_up_server(struct prober *p, struct err *err) {
    struct probe *probe = p->probe;
    p->server = server_new(&p->core);
    struct up_server *s = &p->server->up;
    s->name = probe->name;
    s->headers = probe->headers;
    s->header_count = probe->header_count;
    if (probe->url) {
        if (up_server_set_url(s, probe->url, err) < 0 || up_head_check(s, err) < 0)
            return -1;
        front_credentials(s, probe->settings, probe->home);
        return 0;
    }
    env_select(&p->env, probe->env, probe->env_count, true);
    s->argv = (const char *const *)probe->command;
    s->envp = (const char *const *)p->env.items;
    s->cwd = probe->cwd;
    s->no_network = probe->no_network;
    return 0;
}

/* The probe goes through the ordinary steps, under a policy that allows lists. */
static const char probe_policy[] = "{\"version\":\"1\",\"default\":\"allow\"}";

static void start(struct prober *p, struct spawn *spawn, struct policy *policy) {
    struct probe *probe = p->probe;
    buf_init(&probe->text, PROBE_BYTES_MAX);
    buf_init(&p->tools, PROBE_BYTES_MAX);
    buf_init(&p->skill_list, PROBE_BYTES_MAX);
    buf_init(&p->about, 1u << 20);
    session_core_init(&p->core, &p->all->loop, spawn);
    p->core.policy = policy_ref(policy);
    p->sink.ops = &probe_sink;
    p->started_ms = io_now_ms(&p->all->loop);
    struct err err;
    if (set_up_server(p, &err) < 0) {
        finish(p, err.text);
        return;
    }
    cleanup_principal struct principal *local = principal_new(PRINCIPAL_LOCAL, "local");
    p->session = session_new(&p->core, &probe_front, p, local, p->server, false);
    io_timer_arm(&p->all->loop, &p->deadline, probe->timeout_ms, on_deadline);
    ask_initialize(p);
}

static void stop(struct prober *p) {
    p->over = true;
    io_timer_stop(&p->all->loop, &p->deadline);
    session_core_free(&p->core);
    io_tls_ctx_free(p->core.up.tls);
    buf_free(&p->tools);
    buf_free(&p->skill_list);
    buf_free(&p->about);
    env_free(&p->env);
}

int probe_run(struct probe *probes, size_t count, void (*done)(const struct probe *p), struct err *err) {
    struct spawn *spawn = spawn_start(err);
    if (!spawn)
        return -1;
    struct probe_all *all = mem_zalloc(sizeof(*all));
    io_loop_init(&all->loop);
    all->probers = mem_zalloc(count * sizeof(*all->probers));
    all->left = count;
    all->done = done;
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    cleanup_policy struct policy *policy = NULL;
    int rc = policy_load(SLICE(probe_policy), "scan", &policy, &problems);
    if (rc == 0)
        rc = spawn_attach(spawn, &all->loop, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        all->probers[i].probe = &probes[i];
        all->probers[i].all = all;
        start(&all->probers[i], spawn, policy);
    }
    if (rc == 0 && all->left)
        io_loop_run(&all->loop);
    for (size_t i = 0; rc == 0 && i < count; i++)
        stop(&all->probers[i]);
    spawn_await(spawn, FRONT_CHILDREN_MS);
    spawn_stop(spawn);
    io_loop_free(&all->loop);
    free(all->probers);
    free(all);
    return rc;
}
