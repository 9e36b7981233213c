/* Assembles the parts of one run (policy, servers, front, signals), and takes them apart at the end. */
#include "front/gate.h"

#include "approval/approve.h"
#include "approval/webhook.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "channel/channel_types.h"
#include "decision/stop.h"
#include "era/request_state.h"
#include "front/auth.h"
#include "front/credentials.h"
#include "front/drain.h"
#include "front/env.h"
#include "front/fleet.h"
#include "front/gate_code.h"
#include "front/gate_stores.h"
#include "front/gate_worker.h"
#include "front/nodes.h"
#include "front/peers.h"
#include "front/reload.h"
#include "front/start_pages.h"
#include "guard/guard.h"
#include "guard/pins.h"
#include "io/tls.h"
#include "many/builtin.h"
#include "many/many.h"
#include "many/sweep.h"
#include "record/span.h"
#include "risk/supply.h"
#include "session/session.h"
#include "upstream/head.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GATE_SETTLED_MS                                                                                      \
    2000 /* after which the start counts as complete: the first checkpoint of the log is written by then */

struct gate {
    const struct gate_config *config;
    struct io_loop loop;
    struct core core;
    struct server *server;
    struct gate_code code;
    struct principal *local;
    struct front http;
    struct front_stdio *stdio;
    uv_signal_t signals[4];
    struct front_drain drain;
    struct io_timer settled;
    struct gate_stores stores;
    struct env_list env;
    struct front_policies *policies;
    struct front_reload reload;
    struct settings *settings; /* owned here until the fleet has them */
    struct fleet *fleet;       /* the running servers, if many */
    int exit_status;
    bool stopping;
    bool at_once;
};

/* ---- shutdown ---- */

static void gate_stop(struct gate *g) { io_loop_stop(&g->loop); }

static void on_stdio_ended(void *owner, int wait_status) {
    struct gate *g = owner;
    g->exit_status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    gate_stop(g);
}

static void on_drained(void *owner) { gate_stop(owner); }

static void on_signal(uv_signal_t *handle, int signal) {
    struct gate *g = handle->data;
    if (signal == SIGHUP && !g->stdio) {
        front_policies_reload(g->policies);
        if (g->fleet)
            front_reload_now(&g->reload);
        return;
    }
    if (signal == SIGUSR2) {
        if (g->config->worker)
            front_drain_leave(&g->drain);
        else
            log_warn("SIGUSR2: a hand-over needs a supervisor: start the gate with --workers 1 or more");
        return;
    }
    if (g->stopping) { /* the second signal: exit immediately */
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
    front_drain_stop(&g->drain);
}

/* What must not end a gate that has no handlers yet waits for them. */
static void signals_early(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(how, &set, NULL);
}

static void signals_start(struct gate *g) {
    static const int which[] = {SIGTERM, SIGHUP, SIGUSR2, SIGINT};
    /* A worker ignores Ctrl-C; its supervisor passes it on. */
    for (size_t i = 0; i < ARRAY_LEN(which) - (g->config->worker != NULL); i++) {
        uv_signal_init(&g->loop.uv, &g->signals[i]);
        g->signals[i].data = g;
        uv_signal_start(&g->signals[i], on_signal, which[i]);
        uv_unref((uv_handle_t *)&g->signals[i]);
    }
    signals_early(SIG_UNBLOCK);
}

/* ---- start ---- */

static size_t words_of(char *const *command, struct arena *a, struct slice **ret_words) {
    size_t count = 0;
    while (command[count])
        count++;
    *ret_words = arena_array(a, struct slice, count + 1);
    for (size_t i = 0; i < count; i++)
        (*ret_words)[i] = slice_str(command[i]);
    return count;
}

/* `@scope/package` becomes `scope-package`. A launcher such as npx does not name the server. */
static const char *server_name(const char *given, const char *source, struct arena *a) {
    return given ? given : settings_fit_name(slice_str(source[0] == '@' ? source + 1 : source), a);
}

static int guard_set_up(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    struct guard_config guard = {.lock = config->lock_path,
                                 .home = config->home,
                                 .ask = config->pins_ask,
                                 .max_age_ms = config->pins_max_age_ms,
                                 .definitions = (enum guard_mode)config->poison,
                                 .results = (enum guard_mode)config->poison_results};
    return guard_open(&g->core, &guard, err);
}

static int server_set_up(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    g->server = server_new(&g->core);
    struct up_server *s = &g->server->up;
    if (config->code) {
        s->name = "code";
        return builtin_open(&g->core, g->server, config->code, &g->code.builtin, err);
    }
    s->headers = config->headers;
    s->header_count = config->header_count;
    struct arena *a = &g->server->arena;
    if (config->upstream_url) {
        g->server->pin_name = risk_supply_url_name(slice_str(config->upstream_url), a).ptr;
        s->name = server_name(config->name, g->server->pin_name, a);
        if (up_server_set_url(s, config->upstream_url, err) < 0)
            return -1;
        front_credentials(s, NULL, config->home);
        return up_head_check(s, err);
    }
    for (size_t i = 0; i < config->env_count; i++)
        if (config->env[i][0] == '=' || !config->env[i][0])
            return err_set(err, "--env `%s`: write it as NAME or NAME=VALUE", config->env[i]);
    s->argv = (const char *const *)config->command;
    struct slice *words;
    const size_t count = words_of(config->command, a, &words);
    /* The server has no configured name: the lock identifies it by its command. */
    g->server->pin_name = risk_supply_name(words, count, a).ptr;
    s->name = server_name(config->name, risk_supply_project(words, count, a).ptr, a);
    pins_warn_supply(g->server);
    env_select(&g->env, config->env, config->env_count, true);
    s->envp = (const char *const *)g->env.items;
    s->home = config->home;
    up_era_recall(s);
    return 0;
}

static int pii_open(struct gate *g, struct err *err) {
    struct privacy_config config = g->config->pii;
    config.home = g->config->home;
    config.loop = &g->loop;
    if (g->server)
        server_set_origin(g->server, g->config->command, g->config->upstream_url);
    return privacy_new(&config, &g->core.privacy, err);
}

/* The address of the page where approvals are decided, for links. */
static void set_console(struct gate *g) {
    const struct gate_config *config = g->config;
    cleanup_buf struct buf url;
    buf_init(&url, 4096);
    if (!config->site.open || g->stdio || !config->bind)
        return;
    const struct settings *settings = config->settings;
    const char *own = !settings              ? NULL
                      : settings->public_url ? settings->public_url
                                             : settings->auth.resource;
    bool any = strcmp(config->bind, "0.0.0.0") == 0 || strcmp(config->bind, "::") == 0;
    const char *host = any ? "127.0.0.1" : config->bind;
    bool six = strchr(host, ':');
    if (own)
        buf_printf(&url, "%s%sui", own, own[0] && own[strlen(own) - 1] == '/' ? "" : "/");
    else
        buf_printf(&url, "%s://%s%s%s:%u/ui", settings && settings->tls.cert ? "https" : "http",
                   six ? "[" : "", host, six ? "]" : "", g->http.port);
    g->core.console = mem_dup(url.ptr, url.len);
}

static void approvals_init(struct gate *g) {
    const struct gate_config *config = g->config;
    const struct approve_settings approvals = {.mode = (enum approve_mode)config->approvals_mode,
                                               .timeout_ms = config->approvals_timeout_ms,
                                               .persons = config->approvals_persons};
    approve_init(&g->core, config->home, &approvals);
    if (config->flow_window_ms)
        g->core.flow_window_ms = config->flow_window_ms;
    set_console(g);
}

/* What needs the stores: traces, questions that clients answer later, webhooks that were not delivered. */
static int services_start(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    const struct request_state_config keep = {config->home, config->state_key, config->park_ms};
    const struct webhook_config hook = {config->approvals_webhook, config->approvals_secret,
                                        config->approvals_slack};
    return span_exporter_start(&g->core, config->trace_url, err) < 0 ||
                   request_state_init(&g->core, &keep, err) < 0
               ? -1
               : webhook_start(&g->core, &hook, err);
}

static void warn_plain(const struct gate_config *config) {
    const struct settings *s = config->settings;
    if (config->worker && config->worker->index) /* the first one says it */
        return;
    if (io_is_loopback(config->bind) || (s && (s->tls.cert || s->plain_http || s->trusted_proxies.count)))
        return;
    log_warn(
        "WITHOUT TLS ON %s: anyone on the network can read tokens and results. Set tls: {cert, key}; "
        "or trusted_proxies, where a proxy in front of the gate terminates TLS; or plain_http: true, where "
        "the network is safe",
        config->bind);
}

static int auth_set_up(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    bool loopback = io_is_loopback(config->bind);
    if (g->fleet && config->no_auth && config->settings->public_url)
        return err_set(
            err,
            "--no-auth is allowed on the loopback only, and public_url means that others reach the gate");
    if (g->fleet && config->no_auth && !loopback)
        return err_set(err, "--no-auth is allowed on the loopback only, not on %s", config->bind);
    if (!g->fleet && !config->token_file && !loopback)
        return err_set(
            err, "listening on %s needs --token-file FILE: everyone who can reach it could use the server",
            config->bind);
    struct front_auth_config auth = {.home = config->home,
                                     .token_file = config->token_file,
                                     .settings = g->fleet ? fleet_settings(g->fleet) : NULL,
                                     .open = g->fleet ? config->no_auth : !config->token_file};
    const struct settings *s = auth.settings;
    if (s && s->tls.cert && front_secure_new(&g->http, s->tls.cert, s->tls.key, s->tls.client_ca, err) < 0)
        return -1;
    return front_auth_new(&g->http, &auth, err);
}

static void ceilings_set(struct gate *g, const struct settings *s) {
    if (s->sessions.idle_ms)
        g->http.session_idle_ms = s->sessions.idle_ms;
    if (s->sessions.unsent_mb)
        g->http.unsent_max = (size_t)s->sessions.unsent_mb << 20;
    g->http.most.grant_sessions = (size_t)s->sessions.per_grant;
    g->http.most.grant_conns = (size_t)s->sessions.connections_per_grant;
    g->http.most.address_conns = (size_t)s->sessions.connections_per_address;
    g->core.channels->processes_max = (uint32_t)s->sessions.processes;
    g->core.channels->grant_processes_max = (uint32_t)s->sessions.processes_per_grant;
    g->drain.not_ready_ms = s->drain.not_ready_ms;
    g->drain.timeout_ms = s->drain.timeout_ms;
}

static int front_start(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    if (config->transport == GATE_STDIO) {
        g->stdio = front_stdio_start(&g->core, g->local, g->server, on_stdio_ended, g);
        return 0;
    }
    g->http.only = g->server;
    warn_plain(config);
    if (config->settings)
        front_public_set(&g->http, config->settings);
    if (auth_set_up(g, err) < 0 || front_http_start(&g->http, config, err) < 0)
        return -1;
    g->drain = (struct front_drain){
        .front = &g->http, .core = &g->core, .timeout_ms = FRONT_DRAIN_MS, .over = on_drained, .owner = g};
    if (config->settings)
        ceilings_set(g, config->settings);
    return 0;
}

/* Logged once requests are answered. The last line has no time stamp, because programs that start a gate
 * read the address from it. */
static void log_listening(const struct gate *g) {
    const struct gate_config *config = g->config;
    if (!g->stdio && !config->worker) { /* the supervisor logs it when all of its workers listen */
        bool v6 = strchr(config->bind, ':') != NULL;
        log_info("listening on %s://%s%s%s:%u%s", g->http.tls ? "https" : "http", v6 ? "[" : "", config->bind,
                 v6 ? "]" : "", g->http.port, config->transport == GATE_SSE ? "/sse" : "/mcp");
        if (config->settings)
            log_info("console: `sallyport ui` prints a link that signs you in");
    }
    log_set_timed(true);
}

static void on_settled(struct io_timer *timer) {
    (void)timer;
    openssl_load(false);
    front_start_pages_release();
}

static int fleet_set_up(struct gate *g, struct err *err) {
    g->core.many_servers = true;
    g->fleet = g->http.fleet = fleet_new(&g->http, g->config->home);
    if (fleet_apply(g->fleet, steal(g->settings), err) < 0)
        return -1;
    if (g->config->code) /* on stdio: it is the only server */
        return server_find(&g->core, SLICE("code")) ? gate_code_taken(err) : server_set_up(g, err);
    if (gate_code_open(&g->code, &g->reload.follow, fleet_settings(g->fleet), err) < 0)
        return -1;
    front_reload_watch(&g->reload);
    sweep_start(&g->core);
    return 0;
}

static int policy_set_up(struct gate *g, struct err *err) {
    if (g->config->policy_path)
        return front_policies_bind(g->policies, g->config->policy_path, &g->core.policy,
                                   &g->reload.follow.policy, err);
    if (!g->config->code)
        return 0; /* every server has its own policy */
    cleanup_problems struct policy_problems problems;
    policy_problems_init(&problems);
    static const char allow[] = "{\"version\":\"1\",\"default\":\"allow\"}";
    return policy_load(SLICE(allow), "built-in", &g->core.policy, &problems);
}

static void on_spawner_lost(void *owner, enum spawn_loss how, int status, bool replaced) {
    struct gate *g = owner;
    char text[160];
    snprintf(text, sizeof(text), "the process that starts programs %s %d; %s",
             how == SPAWN_HUNG     ? "did not answer, and was killed by signal"
             : WIFSIGNALED(status) ? "was killed by signal"
                                   : "ended with status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
             replaced ? "it was restarted, and servers are started again"
                      : "it could not be restarted: restart the gate to start servers again");
    log_error("%s", text);
    audit_put_event(g->core.audit, SLICE("spawner_lost"), (struct slice){0}, (struct slice){0},
                    slice_str(text));
}

static void on_policy_replaced(void *ctx, struct slice hash) { approve_outdate(ctx, hash); }

static void worker_ready(struct gate *g) {
    const struct gate_worker *w = g->config->worker;
    if (!w)
        return;
    memcpy(w->shared->slots[w->index].tag, g->http.tag, sizeof(g->http.tag));
    w->shared->slots[w->index].pid = getpid();
    w->shared->slots[w->index].accepts = true;
    if (write(w->ready_fd, "", 1) != 1)
        log_warn("notify the supervisor: %s", strerror(errno));
    close(w->ready_fd);
}

static bool config_is_old(const struct gate *g) { return g->config->worker && g->config->worker->again; }

static int gate_start(struct gate *g, struct spawn *spawn, struct err *err) {
    spawn_on_lost(spawn, on_spawner_lost, g);
    g->local = front_local_user();
    g->policies = front_policies_new(&g->loop);
    front_policies_on_replaced(g->policies, on_policy_replaced, &g->core);
    g->core.trail_slots = g->config->worker ? g->config->worker->trails : NULL;
    g->http.core = &g->core;
    g->http.loop = &g->loop;
    g->http.worker = g->config->worker;
    g->http.policies = g->policies;
    g->reload.front = &g->http;
    g->reload.follow = (struct follow){
        .core = &g->core, .config = g->config, .policies = g->policies, .log_level = log_get_level()};
    front_reload_serve(&g->reload);
    if (g->settings) {
        follow_log(&g->reload.follow, g->settings);
        io_watch_times(&g->loop, g->settings->reload.quiet_ms, g->settings->reload.longest_ms);
    }
    if (gate_stores_join(&g->stores, err) < 0 || policy_set_up(g, err) < 0)
        return -1;
    if ((g->settings ? fleet_set_up(g, err) : server_set_up(g, err)) < 0 || guard_set_up(g, err) < 0 ||
        pii_open(g, err) < 0)
        return -1;
    signals_start(g);
    /* The child starts while the stores are opened; no input is read before the loop runs. */
    if (front_start(g, err) < 0 || spawn_attach(spawn, &g->loop, err) < 0)
        return -1;
    approvals_init(g);
    if (gate_stores_open(&g->stores, err) < 0 || services_start(g, err) < 0)
        return -1;
    front_policies_set_audit(g->policies, g->core.audit);
    if (g->config->settings && !g->stdio &&
        front_peers_open(&g->http, g->config->settings, g->config->home, err) < 0)
        return -1;
    if (g->config->site.open && !g->stdio)
        g->http.site = g->config->site.open(g->config->site.ctx, &g->core, g->config, g->http.port);
    if (config_is_old(g) && front_reload_again(&g->reload, err) < 0)
        return -1;
    io_timer_arm(&g->loop, &g->settled, GATE_SETTLED_MS, on_settled);
    log_listening(g);
    worker_ready(g);
    return 0;
}

static void gate_free(struct gate *g, struct spawn *spawn) {
    g->stopping = true; /* a signal that arrives while waiting for children must not use the freed front */
    front_drain_free(&g->drain);
    io_timer_stop(&g->loop, &g->settled);
    io_timer_stop(&g->loop, &g->stores.ship_look);
    front_stdio_free(g->stdio);
    front_http_stop(&g->http);
    if (g->http.site)
        g->config->site.close(g->config->site.ctx);
    front_reload_stop(&g->reload);
    front_peers_close(&g->http);
    front_nodes_close(&g->http, front_relay_free_idle);
    front_auth_free(&g->http);
    front_secure_free(&g->http);
    front_public_free(&g->http);
    fleet_free(g->fleet);
    settings_free(g->settings);
    front_policies_free(g->policies);
    struct privacy *pii = g->core.privacy;
    session_core_free(&g->core);
    stop_close(&g->core);
    privacy_free(pii);
    gate_code_close(&g->code);
    gate_stores_close(&g->stores);
    principal_unref(g->local);
    if (!g->at_once) /* their input is closed: they may exit on their own */
        spawn_await(spawn, FRONT_CHILDREN_MS);
    spawn_stop(spawn);
    io_loop_free(&g->loop);
    io_tls_ctx_free(g->core.up.tls);
    env_free(&g->env);
}

/* One server over HTTP: no child process is ever started. */
static bool starts_programs(const struct gate_config *config) {
    return config->settings || config->code || !config->upstream_url;
}

/* Pages of a mapped file that was cut short are gone, and what they held with them: only a new start helps.
 */
static void on_bus_error(int sig) {
    static const char text[] =
        "sallyport: error: a file in the home was cut short while it was in use, or the "
        "disk cannot be read: the gate ends\n";
    (void)sig;
    _exit(write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ? 1 : GATE_STORE_FAILED);
}

int gate_run(const struct gate_config *config, int *ret_exit, struct err *err) {
    signals_early(SIG_BLOCK);
    struct spawn *spawn = starts_programs(config) ? spawn_start(err) : spawn_none();
    if (!spawn)
        return -1;
    struct gate *g = mem_zalloc(sizeof(*g));
    g->config = config;
    g->settings = config->settings;
    g->stores = (struct gate_stores){.core = &g->core, .config = config};
    signal(SIGBUS, on_bus_error);
    io_loop_init(&g->loop);
    session_core_init(&g->core, &g->loop, spawn);
    int rc = gate_start(g, spawn, err);
    if (rc == 0)
        io_loop_run(&g->loop);
    else if (g->stores.failed)
        g->exit_status = GATE_STORE_FAILED;
    if (rc == 0 || g->exit_status)
        *ret_exit = g->exit_status;
    gate_free(g, spawn);
    free(g);
    return rc;
}
