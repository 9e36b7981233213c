/* Puts the pieces together for one run: policy, server, front, signals; and takes them apart again. */
#include "front/gate.h"

#include "base/log.h"
#include "base/mem.h"
#include "front/env.h"
#include "front/file.h"
#include "front/front.h"
#include "io/tls.h"
#include "io/watch.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define POLICY_FILE_MAX (4u << 20)
#define GATE_SETTLED_MS                                                                                      \
    2000 /* after which the start is over: the first checkpoint of the log is written by then */

struct gate {
    const struct gate_config *config;
    struct io_loop loop;
    struct session_core core;
    struct session_server *server;
    struct principal *local;
    struct front http;
    struct front_stdio *stdio;
    uv_signal_t signals[3];
    struct io_timer drain;
    struct io_timer settled;
    struct env_list env;
    struct io_watch watch;
    int exit_status;
    bool stopping;
    bool at_once;
};

/* Every problem is worth a line; the error says how many there were. */
static int load_policy(const char *path, struct policy **ret_policy, struct err *err) {
    cleanup_buf struct buf text;
    if (front_read_file(path, POLICY_FILE_MAX, &text, err) < 0)
        return err_wrap(err, "load policy");
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    /* Agents read the name in denials: they need not know where files lie. */
    const char *slash = strrchr(path, '/');
    int rc = policy_load(buf_slice(&text), slash ? slash + 1 : path, ret_policy, &problems);
    size_t errors = 0;
    for (size_t i = 0; i < problems.count; i++) {
        const struct policy_problem *p = &problems.items[i];
        errors += p->severity == POLICY_ERROR;
        if (rc < 0 && p->severity == POLICY_ERROR)
            log_error("%s:%u:%u: %.*s%s%.*s", path, p->line, p->column, SLICE_FMT(p->text),
                      p->hint.len ? "; " : "", SLICE_FMT(p->hint));
    }
    return rc < 0 ? err_set(err, "load policy `%s`: %zu error(s)", path, errors) : 0;
}

/* A file that does not load changes nothing but the log. */
static void on_policy_changed(struct io_watch *w) {
    struct gate *g = container_of(w, struct gate, watch);
    struct policy *fresh = NULL;
    struct err err;
    if (load_policy(w->path, &fresh, &err) < 0) {
        log_error("%s; the old policy stays in force", err.text);
        audit_put_event(g->core.audit, SLICE("reload_failed"), slice_str(w->path), (struct slice){0},
                        slice_str(err.text));
        return;
    }
    if (strcmp(policy_hash(fresh), policy_hash(g->core.policy)) == 0) {
        policy_unref(fresh);
        return;
    }
    policy_unref(g->core.policy);
    g->core.policy = fresh;
    log_info("policy reloaded successfully");
    audit_put_event(g->core.audit, SLICE("reload"), slice_str(w->path), slice_of(policy_hash(fresh), 64),
                    (struct slice){0});
}

/* ---- the end ---- */

static void gate_stop(struct gate *g) { io_loop_stop(&g->loop); }

static void on_stdio_ended(void *owner, int wait_status) {
    struct gate *g = owner;
    g->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    gate_stop(g);
}

static void on_drained(struct io_timer *timer) { gate_stop(container_of(timer, struct gate, drain)); }

static void on_idle(struct session_core *core) {
    struct gate *g = container_of(core, struct gate, core);
    io_timer_arm(&g->loop, &g->drain, 0, on_drained);
}

static void on_signal(uv_signal_t *handle, int signal) {
    struct gate *g = handle->data;
    if (signal == SIGHUP && !g->stdio)
        return;
    if (g->stopping) { /* asked twice: at once */
        g->exit_status = 128 + signal;
        g->at_once = true;
        gate_stop(g);
        return;
    }
    g->stopping = true;
    g->exit_status = 0;
    if (g->stdio) {
        front_stdio_finish(g->stdio, signal);
        return;
    }
    log_info("stopping: %u call(s) under way", g->core.calls_under_way);
    g->core.draining = true;
    front_http_drain(&g->http);
    call_end_listens(&g->core);
    bool idle = g->core.calls_under_way == 0;
    g->core.idle = on_idle;
    io_timer_arm(&g->loop, &g->drain, idle ? 0 : FRONT_DRAIN_MS, on_drained);
}

static void signals_start(struct gate *g) {
    static const int which[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < ARRAY_LEN(which); i++) {
        uv_signal_init(&g->loop.uv, &g->signals[i]);
        g->signals[i].data = g;
        uv_signal_start(&g->signals[i], on_signal, which[i]);
        uv_unref((uv_handle_t *)&g->signals[i]);
    }
}

/* ---- the start ---- */

static int server_set_up(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    struct up_server *s = &g->server->up;
    s->headers = config->headers;
    s->header_count = config->header_count;
    if (config->upstream_url) {
        s->name = "upstream";
        if (up_server_set_url(s, config->upstream_url, err) < 0)
            return -1;
        return up_server_check_headers(s, err);
    }
    for (size_t i = 0; i < config->env_count; i++)
        if (config->env[i][0] == '=' || !config->env[i][0])
            return err_set(err, "--env `%s`: write it as NAME or NAME=VALUE", config->env[i]);
    const char *slash = strrchr(config->command[0], '/');
    s->name = slash ? slash + 1 : config->command[0];
    s->argv = (const char *const *)config->command;
    env_select(&g->env, config->env, config->env_count);
    s->envp = (const char *const *)g->env.items;
    return 0;
}

static int stores_open(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    struct state_config state = {
        .dsn = config->state_dsn,
        .dir = config->state_dir,
        .prefix = config->state_prefix,
        .fail_mode = config->state_fail_open ? STATE_FAIL_OPEN : STATE_FAIL_CLOSED,
    };
    struct audit_config audit = {
        .home = config->home,
        .durable = config->audit_durable,
        .retain_ms = config->audit_keep_ms,
        .on_full = config->audit_pass ? AUDIT_PASS : AUDIT_REFUSE,
        .loop = &g->loop.uv,
    };
    g->core.audit_full = config->audit_full;
    if (state_open(&state, &g->core.state, err) < 0)
        return -1;
    return audit_open(&audit, &g->core.audit, err);
}

static int read_token(struct gate *g, struct err *err) {
    if (!g->config->token_file) {
        if (io_is_loopback(g->config->bind))
            return 0;
        return err_set(
            err, "listening on %s needs --token-file FILE: everyone who can reach it could use the server",
            g->config->bind);
    }
    cleanup_buf struct buf text;
    if (front_read_file(g->config->token_file, FRONT_TOKEN_MAX - 1, &text, err) < 0)
        return err_wrap(err, "--token-file");
    struct slice token = slice_trim(buf_slice(&text));
    if (token.len < 16)
        return err_set(err, "--token-file `%s`: the token must have at least 16 characters",
                       g->config->token_file);
    memcpy(g->http.token, token.ptr, token.len);
    return 0;
}

static int front_start(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    if (config->transport == GATE_STDIO) {
        g->stdio = front_stdio_start(&g->core, g->local, g->server, on_stdio_ended, g);
        return 0;
    }
    if (read_token(g, err) < 0)
        return -1;
    g->http.core = &g->core;
    g->http.loop = &g->loop;
    g->http.principal = g->local;
    g->http.only = g->server;
    if (front_http_start(&g->http, config->bind, config->port, err) < 0)
        return -1;
    bool v6 = strchr(config->bind, ':') != NULL;
    log_info("listening on http://%s%s%s:%u%s", v6 ? "[" : "", config->bind, v6 ? "]" : "", g->http.port,
             config->transport == GATE_SSE ? "/sse" : "/mcp");
    return 0;
}

/* One mapping of /proc/self/smaps: file-backed, readable only, and without a page of our own in it (relocated
 * data has some). */
struct mapping {
    unsigned long from;
    unsigned long to;
    bool clean;
};

static void mapping_release(const struct mapping *m) {
    if (m->clean && m->to > m->from)
        madvise((void *)m->from, m->to - m->from, MADV_DONTNEED); /* a refusal costs nothing */
}

/* Pages of programs and libraries that only the start needed go back to the system; the others return at
 * their next use. */
static void release_start_pages(struct io_timer *timer) {
    (void)timer;
    cleanup_file FILE *maps = fopen("/proc/self/smaps", "re");
    struct mapping m = {0};
    char line[512];
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = line;
        unsigned long from = strtoul(line, &at, 16);
        if (at > line && *at == '-') {
            mapping_release(&m);
            m = (struct mapping){.from = from, .to = strtoul(at + 1, &at, 16)};
            m.clean = (strncmp(at, " r-xp ", 6) == 0 || strncmp(at, " r--p ", 6) == 0) && strchr(at, '/');
        } else if (strncmp(line, "Anonymous:", 10) == 0 && strtoul(line + 10, NULL, 10) > 0) {
            m.clean = false;
        }
    }
    mapping_release(&m);
}

static int gate_start(struct gate *g, struct spawn *spawn, struct err *err) {
    g->server = session_server_new(&g->core);
    g->local = principal_new(PRINCIPAL_LOCAL, "local");
    if (load_policy(g->config->policy_path, &g->core.policy, err) < 0 || server_set_up(g, err) < 0)
        return -1;
    signals_start(g);
    /* The child starts while the stores are opened; nothing is read from anybody before the loop runs. */
    if (front_start(g, err) < 0 || stores_open(g, err) < 0)
        return -1;
    io_watch_start(&g->watch, &g->loop, g->config->policy_path, on_policy_changed);
    if (spawn_attach(spawn, &g->loop, err) < 0)
        return -1;
    io_timer_arm(&g->loop, &g->settled, GATE_SETTLED_MS, release_start_pages);
    return 0;
}

static void gate_free(struct gate *g, struct spawn *spawn) {
    io_timer_stop(&g->loop, &g->drain);
    io_timer_stop(&g->loop, &g->settled);
    front_stdio_free(g->stdio);
    if (g->http.loop)
        front_http_stop(&g->http);
    io_watch_stop(&g->watch);
    struct state_store *state = g->core.state;
    struct audit *audit = g->core.audit;
    session_core_free(&g->core);
    audit_close(audit);
    state_close(state);
    principal_unref(g->local);
    if (!g->at_once) /* their input has been closed: they may end by themselves */
        spawn_await(spawn, FRONT_CHILDREN_MS);
    spawn_stop(spawn);
    io_loop_free(&g->loop);
    io_tls_ctx_free(g->core.up.tls);
    env_free(&g->env);
}

int gate_run(const struct gate_config *config, int *ret_exit, struct err *err) {
    struct spawn *spawn = spawn_start(err);
    if (!spawn)
        return -1;
    struct gate *g = mem_zalloc(sizeof(*g));
    g->config = config;
    io_loop_init(&g->loop);
    session_core_init(&g->core, &g->loop, spawn);
    int rc = gate_start(g, spawn, err);
    if (rc == 0) {
        io_loop_run(&g->loop);
        *ret_exit = g->exit_status;
    }
    gate_free(g, spawn);
    free(g);
    return rc;
}
