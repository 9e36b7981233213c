/* Assembles the parts of one run (policy, servers, front, signals), and takes them apart at the end. */
#include "front/gate.h"
#include "front/auth.h"

#include "era/request_state.h"

#include "approval/approve.h"
#include "approval/webhook.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "channel/channel_types.h"
#include "code/limits.h"
#include "decision/stop.h"
#include "front/credentials.h"
#include "front/drain.h"
#include "front/env.h"
#include "front/fleet.h"
#include "front/follow.h"
#include "front/front.h"
#include "front/gate_worker.h"
#include "front/nodes.h"
#include "front/peers.h"
#include "front/settings.h"
#include "guard/guard.h"
#include "guard/pins.h"
#include "io/tls.h"
#include "io/watch.h"
#include "many/builtin.h"
#include "many/many.h"
#include "many/presence.h"
#include "many/sweep.h"
#include "packages/spec.h"
#include "profiles/profile.h"
#include "record/span.h"
#include "risk/supply.h"
#include "runner/limits.h"
#include "session/session.h"
#include "ship/ship.h"
#include "state/database.h"
#include "state/fleet_logins.h"
#include "state/home_format.h"
#include "state/stores.h"
#include "upstream/head.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GATE_LOST_TEXT_MAX 2048 /* bytes of the log line about lost stores */
#define GATE_SHIP_CHECK_MS 1000 /* delay until the log reports that shipping fails, or works again */
#define GATE_SETTLED_MS                                                                                      \
    2000 /* after which the start counts as complete: the first checkpoint of the log is written by then */

struct gate {
    const struct gate_config *config;
    struct io_loop loop;
    struct core core;
    struct server *server;
    struct builtin *builtin;
    struct buf code_packages; /* one per line */
    struct principal *local;
    struct front http;
    struct front_stdio *stdio;
    uv_signal_t signals[4];
    struct front_drain drain;
    struct io_timer settled;
    struct state_fleet_logins *logins; /* NULL: the home shares none */
    struct io_timer ship_look;
    struct ship_health ship_seen; /* at the last check */
    struct env_list env;
    struct front_policies *policies;
    struct follow follow;
    struct settings *settings; /* owned here until the fleet has them */
    struct fleet *fleet;       /* the running servers, if many */
    struct io_watch *watches;  /* watches the files of the settings */
    char **watched;            /* copies of their paths: the settings may be replaced */
    size_t watch_count;
    int exit_status;
    bool stopping;
    bool at_once;
};

/* ---- new settings ---- */

static void keep_fault(struct gate *g, const char *text) {
    free(g->core.settings_fault);
    g->core.settings_fault = text ? mem_dup(text, strlen(text)) : NULL;
}

static void reload_failed(struct gate *g, const char *path, const struct err *err) {
    keep_fault(g, err->text);
    log_error("%s; the old settings stay in force", err->text);
    audit_put_event(g->core.audit, SLICE("reload_failed"), slice_str(path), (struct slice){0},
                    slice_str(err->text));
}

/* Re-evaluating releases held tools, so it is done only when the settings for it have changed. */
static int reload_guard(struct gate *g, const struct settings *old, const struct settings *fresh,
                        struct err *err) {
    if (slice_same_str(old->pins.lock, fresh->pins.lock) && old->pins.first_use == fresh->pins.first_use &&
        old->pins.max_age_ms == fresh->pins.max_age_ms &&
        old->poison.definitions == fresh->poison.definitions && old->poison.results == fresh->poison.results)
        return 0;
    struct guard_config guard = {.lock = fresh->pins.lock,
                                 .home = g->config->home,
                                 .ask = fresh->pins.first_use == SETTINGS_FIRST_ASK,
                                 .max_age_ms = fresh->pins.max_age_ms,
                                 .definitions = (enum guard_mode)fresh->poison.definitions,
                                 .results = (enum guard_mode)fresh->poison.results};
    return guard_open(&g->core, &guard, err);
}

static void reload(struct gate *g) {
    const struct settings *old = fleet_settings(g->fleet);
    const char *path = old->path ? old->path : old->client_files.items[0];
    struct settings *fresh = NULL;
    struct err err;
    if (settings_load(old->path, old->client_files.items, old->client_files.count, &fresh, &err) < 0) {
        reload_failed(g, path, &err);
        return;
    }
    if (follow_check(&g->follow, fresh, &err) < 0 || fleet_check(fresh, &err) < 0 ||
        reload_guard(g, old, fresh, &err) < 0) {
        settings_free(fresh);
        reload_failed(g, path, &err);
        return;
    }
    cleanup_free char *name = mem_dup(path, strlen(path));
    follow_apply(&g->follow, old, fresh);
    if (fleet_apply(g->fleet, fresh, &err) < 0) {
        reload_failed(g, name, &err);
        return;
    }
    front_auth_apply(&g->http, fleet_settings(g->fleet));
    keep_fault(g, NULL);
    char text[ERR_TEXT_MAX] = "";
    const char *late = follow_for_start(&g->follow, fleet_settings(g->fleet));
    if (late) {
        snprintf(text, sizeof(text), "needs a restart: %s", late);
        log_warn("these settings have changed and need a restart of the gate: %s", late);
    }
    log_info("settings reloaded");
    audit_put_event(g->core.audit, SLICE("reload"), slice_str(name), (struct slice){0}, slice_str(text));
}

static void on_settings_changed(struct io_watch *w) { reload(w->owner); }

/* ---- configuration files ---- */

static void each_policy(void *owner, void (*each)(void *ctx, const struct core_policy *one), void *ctx) {
    struct gate *g = owner;
    front_policies_each(g->policies, each, ctx);
}

static void policy_written(void *owner, const char *path) {
    struct gate *g = owner;
    front_policies_check(g->policies, path);
}

static const char *settings_path(void *owner) {
    struct gate *g = owner;
    return g->fleet ? fleet_settings(g->fleet)->path : NULL;
}

static void settings_written(void *owner) {
    struct gate *g = owner;
    for (size_t i = 0; i < g->watch_count; i++)
        io_watch_seen(&g->watches[i]);
    if (g->fleet)
        reload(g);
}

static int settings_try(void *owner, struct slice text, struct err *err) {
    struct gate *g = owner;
    struct settings *fresh = NULL;
    if (settings_load_text(settings_path(g), text, false, &fresh, err) < 0)
        return -1;
    int rc = follow_check(&g->follow, fresh, err) < 0 || fleet_check(fresh, err) < 0 ? -1 : 0;
    settings_free(fresh);
    return rc;
}

static void watch_settings(struct gate *g) {
    const struct settings *s = fleet_settings(g->fleet);
    g->watches = mem_zalloc((s->client_files.count + 1) * sizeof(*g->watches));
    g->watched = mem_zalloc((s->client_files.count + 1) * sizeof(*g->watched));
    for (size_t i = 0; i < s->client_files.count + (s->path != NULL); i++) {
        struct io_watch *w = &g->watches[g->watch_count];
        const char *path = i < s->client_files.count ? s->client_files.items[i] : s->path;
        char *own = g->watched[g->watch_count++] = mem_dup(path, strlen(path));
        io_watch_start(w, &g->loop, own, on_settings_changed);
        w->gone = on_settings_changed;
        w->owner = g;
    }
}

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
            reload(g);
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

static void signals_start(struct gate *g) {
    static const int which[] = {SIGTERM, SIGHUP, SIGUSR2, SIGINT};
    /* A worker ignores Ctrl-C; its supervisor passes it on. */
    for (size_t i = 0; i < ARRAY_LEN(which) - (g->config->worker != NULL); i++) {
        uv_signal_init(&g->loop.uv, &g->signals[i]);
        g->signals[i].data = g;
        uv_signal_start(&g->signals[i], on_signal, which[i]);
        uv_unref((uv_handle_t *)&g->signals[i]);
    }
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
        return builtin_open(&g->core, g->server, config->code, &g->builtin, err);
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

_Static_assert((int)SETTINGS_PII_REPORT == (int)FILTER_REPORT &&
                   (int)SETTINGS_PII_BLOCK == (int)FILTER_BLOCK &&
                   (int)SETTINGS_PII_ARGUMENTS_BLOCK == (int)PII_ARGUMENTS_BLOCK &&
                   (int)SETTINGS_PII_ORGANISATION == (int)VAULT_ORGANISATION &&
                   (int)SETTINGS_AUDIT_FULL == (int)AUDIT_ARGS_FULL,
               "both enums have the same order");

static int pii_open(struct gate *g, struct err *err) {
    struct privacy_config config = g->config->pii;
    config.home = g->config->home;
    config.loop = &g->loop;
    if (g->server)
        server_set_origin(g->server, g->config->command, g->config->upstream_url);
    return privacy_new(&config, &g->core.privacy, err);
}

static void on_audit_changed(void *owner, const struct audit_health *health) {
    (void)owner;
    if (health->failed)
        log_error("the audit log cannot be written: %s; %s", health->fault,
                  health->passing ? "calls pass without a record" : "calls are refused");
    else if (health->refused || health->gaps)
        log_warn("the audit log can be written again; %llu calls were refused, %llu records are missing",
                 (unsigned long long)health->refused, (unsigned long long)health->gaps);
    if (health->finding[0])
        log_warn("audit log: %s; see sallyport audit verify", health->finding);
}

/* The shipper runs in a thread and does not log by itself. */
static void on_ship_look(struct io_timer *timer) {
    struct gate *g = container_of(timer, struct gate, ship_look);
    struct ship_health now;
    ship_health(g->core.ship, &now);
    if (now.failed && !g->ship_seen.failed)
        log_warn("the audit log is not shipped: %s; it is kept here and shipped later", now.fault);
    else if (!now.failed && g->ship_seen.failed)
        log_info("the audit log is shipped again");
    if (now.held && !g->ship_seen.held)
        log_error("calls are refused: %llu bytes of the audit log were not shipped, more than "
                  "audit.ship.backlog_mb",
                  (unsigned long long)now.backlog);
    g->ship_seen = now;
    io_timer_arm(&g->loop, timer, GATE_SHIP_CHECK_MS, on_ship_look);
}

static int ship_open(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    const struct ship_config ship = {.home = config->home,
                                     .dsn = config->ship.dsn,
                                     .gate = config->ship.gate,
                                     .keep_ms = config->ship.keep_ms,
                                     .backlog_max = config->ship.backlog_max,
                                     .audit = g->core.audit};
    if (!config->ship.dsn)
        return 0;
    if (ship_start(&ship, &g->core.ship, err) < 0) {
        g->exit_status = GATE_STORE_FAILED;
        return -1;
    }
    io_timer_arm(&g->loop, &g->ship_look, GATE_SHIP_CHECK_MS, on_ship_look);
    return 0;
}

/* A lost store is created empty, so the loss is logged first. */
static void note_lost_store(void *ctx, const char *name, const char *meaning) {
    struct buf *out = ctx;
    log_error("`%s` was deleted from the home, or is empty: %s", name, meaning);
    buf_printf(out, "%s%s was deleted: %s", out->len ? "; " : "", name, meaning);
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

/* Before anything is opened, so that the error names the directory. */
static int database_join(struct gate *g, struct err *err) {
    if (state_database_join(g->config->home, g->config->state_database, err) == 0 &&
        state_fleet_logins_start(g->config->home, &g->logins, err) == 0)
        return 0;
    g->exit_status = GATE_STORE_FAILED;
    return -1;
}

static void warn_counters(const struct gate *g) {
    struct state_health health;
    if (!state_is_remote(g->core.state) || (g->config->worker && g->config->worker->index))
        return;
    state_health(g->core.state, &health);
    if (health.warning[0])
        log_warn("%s", health.warning);
}

static int stores_open(struct gate *g, struct err *err) {
    const struct gate_config *config = g->config;
    struct state_config state = {
        .dsn = config->state_dsn,
        .dir = config->state_dir,
        .prefix = config->state_prefix,
        .fail_mode = config->state_fail_open ? STATE_FAIL_OPEN : STATE_FAIL_CLOSED,
        .timeout_ms = config->state_timeout_ms,
        .lease_calls = config->state_lease,
        .loop = &g->loop,
    };
    struct audit_config audit = {
        .home = config->home,
        .durable = config->audit_durable,
        .retain_ms = config->audit_keep_ms,
        .ships = config->ship.dsn != NULL,
        .segment_bytes = config->audit_segment_bytes,
        .on_full = config->audit_pass ? AUDIT_PASS : AUDIT_REFUSE,
        .changed = on_audit_changed,
        .loop = &g->loop,
    };
    const struct approve_settings approvals = {.mode = (enum approve_mode)config->approvals_mode,
                                               .timeout_ms = config->approvals_timeout_ms,
                                               .persons = config->approvals_persons};
    approve_init(&g->core, config->home, &approvals);
    if (config->flow_window_ms)
        g->core.flow_window_ms = config->flow_window_ms;
    g->core.audit_args = config->audit_args;
    g->core.audit_hash_needed = config->audit_hash_needed;
    struct state_dsn dsn;
    set_console(g);
    if (state_dsn_parse(config->state_dsn, &dsn, err) < 0)
        return -1;
    cleanup_buf struct buf lost;
    buf_init(&lost, GATE_LOST_TEXT_MAX);
    state_stores_missing(config->home, note_lost_store, &lost);
    if (config->state_dir && !slice_same_str(config->state_dir, config->home))
        state_stores_missing(config->state_dir, note_lost_store, &lost);
    if (state_home_format_open(config->home, err) < 0 || state_open(&state, &g->core.state, err) < 0 ||
        audit_open(&audit, &g->core.audit, err) < 0 || stop_open(&g->core, config->home, err) < 0) {
        g->exit_status = GATE_STORE_FAILED;
        return -1;
    }
    warn_counters(g);
    if (lost.len)
        audit_put_event(g->core.audit, SLICE("store_lost"), (struct slice){0}, (struct slice){0},
                        buf_slice(&lost));
    if (ship_open(g, err) < 0 || span_exporter_start(&g->core, config->trace_url, err) < 0)
        return -1;
    struct request_state_config keep = {config->home, config->state_key, config->park_ms};
    if (request_state_init(&g->core, &keep, err) < 0)
        return -1;
    const struct webhook_config hook = {config->approvals_webhook, config->approvals_secret,
                                        config->approvals_slack};
    return webhook_start(&g->core, &hook, err);
}

static void warn_plain(const struct gate_config *config) {
    const struct settings *s = config->settings;
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
    }
    log_set_timed(true);
}

/* One mapping of /proc/self/smaps: file-backed, and without private pages (relocated data has some).
 * Shared pages can be read from the file again. */
struct mapping {
    unsigned long from;
    unsigned long to;
    bool clean;
};

static void mapping_release(const struct mapping *m) {
    if (m->clean && m->to > m->from)
        madvise((void *)m->from, m->to - m->from, MADV_DONTNEED); /* failure is harmless */
}

/* Returns pages of programs and libraries that only the start needed to the system. The others are paged
 * in again at their next use. */
static void release_start_pages(void) {
    cleanup_file FILE *maps = fopen("/proc/self/smaps", "re");
    struct mapping m = {0};
    char line[512];
    while (maps && fgets(line, sizeof(line), maps)) {
        char *at = line;
        unsigned long from = strtoul(line, &at, 16);
        if (at > line && *at == '-') {
            mapping_release(&m);
            m = (struct mapping){.from = from, .to = strtoul(at + 1, &at, 16)};
            m.clean = (strncmp(at, " r-xp ", 6) == 0 || strncmp(at, " r--p ", 6) == 0 ||
                       strncmp(at, " rw-s ", 6) == 0) &&
                      strchr(at, '/');
        } else if (strncmp(line, "Anonymous:", 10) == 0 && strtoul(line + 10, NULL, 10) > 0) {
            m.clean = false;
        }
    }
    mapping_release(&m);
}

static void on_settled(struct io_timer *timer) {
    (void)timer;
    openssl_load(false);
    release_start_pages();
}

static int code_ceiling(const struct settings_ceiling *from, const char *name, struct sandbox_ceiling *ret,
                        struct err *err) {
    const struct {
        const char *key;
        int64_t value, max;
        uint32_t *to;
    } all[] = {
        {"concurrent", from->runs, SANDBOX_RUNS_SETTING_MAX, &ret->runs},
        {"memory_mb", from->memory_mb, INT32_MAX, &ret->memory_mb},
        {"cpu_seconds_per_minute", from->cpu_s, INT32_MAX, &ret->cpu_s},
        {"wall_seconds_per_minute", from->wall_s, INT32_MAX, &ret->wall_s},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i].value < 0 || all[i].value > all[i].max)
            return err_set(err, "code.limits.%s%s: a number from 1 to %lld", name, all[i].key,
                           (long long)all[i].max);
        *all[i].to = (uint32_t)all[i].value;
    }
    return 0;
}

static int code_limits(const struct settings *s, struct code_config *config, struct err *err) {
    const int64_t memory_mb = s->code.limits.run_memory_mb;
    const uint64_t timeout_ms = s->code.limits.run_timeout_ms;
    if (code_ceiling(&s->code.limits.all, "", &config->ceiling, err) < 0 ||
        code_ceiling(&s->code.limits.grant, "grant.", &config->grant_ceiling, err) < 0)
        return -1;
    if (memory_mb < 0 || memory_mb > SANDBOX_MEMORY_MB_MAX)
        return err_set(err, "code.limits.run_memory_mb: a number from 1 to %d", SANDBOX_MEMORY_MB_MAX);
    if (timeout_ms > SANDBOX_TIMEOUT_MS_MAX)
        return err_set(err, "code.limits.run_timeout: at most %d seconds", SANDBOX_TIMEOUT_MS_MAX / 1000);
    config->memory_mb_max = (uint32_t)memory_mb;
    config->timeout_ms_max = (uint32_t)timeout_ms;
    return 0;
}

static int code_is_taken(struct err *err) {
    return err_set(err, "a server is named `code`, which is the name of the built-in server: rename it, or "
                        "set `code: {enabled: false}`");
}

/* The built-in server is added to those of the settings under its own name. */
static int code_set_up(struct gate *g, struct err *err) {
    const struct settings *s = fleet_settings(g->fleet);
    if (!s->code.enabled)
        return 0;
    buf_init(&g->code_packages, CODE_PACKAGES_TEXT_MAX);
    for (size_t i = 0; i < s->code.packages.allow.count; i++) {
        const char *entry = s->code.packages.allow.items[i];
        struct pack_spec spec;
        if (!pack_spec_preset(slice_str(entry)) &&
            pack_spec_parse(slice_str(entry), PACK_PIP, &spec, err) < 0)
            return err_wrap(err, "code.packages.allow");
        buf_printf(&g->code_packages, "%s\n", entry);
    }
    buf_put_char(&g->code_packages, '\0');
    struct code_config config = {.home = g->config->home,
                                 .uids = s->code.uids,
                                 .min_tier = (int)s->code.min_tier,
                                 .bash = s->code.bash,
                                 .packages = g->code_packages.ptr,
                                 .network_allow = s->code.network.allow.items,
                                 .network_allow_count = s->code.network.allow.count,
                                 .network_inject = s->code.network.inject.items,
                                 .network_inject_count = s->code.network.inject.count};
    if (s->code.max_calls < 0 || s->code.max_calls > SANDBOX_CALLS_MAX)
        return err_set(err, "code.max_calls: a number from 1 to %d", SANDBOX_CALLS_MAX);
    config.calls_max = (uint32_t)s->code.max_calls;
    if (code_limits(s, &config, err) < 0)
        return -1;
    config.face = profile_find(slice_str(s->code.profile));
    config.common = &profile_native;
    if (!config.face)
        return err_set(
            err,
            "code.profile `%s`: must be native, code-execution-mcp, python-interpreter, codemode or datagen",
            s->code.profile);
    if (server_find(&g->core, SLICE("code")))
        return code_is_taken(err);
    struct server *server = server_new(&g->core);
    server->up.name = "code";
    if (s->code.policy &&
        front_policies_bind(g->policies, s->code.policy, &server->policy, &g->follow.code_policy, err) < 0)
        return -1;
    return builtin_open(&g->core, server, &config, &g->builtin, err);
}

static int fleet_set_up(struct gate *g, struct err *err) {
    g->core.many_servers = true;
    g->fleet = g->http.fleet = fleet_new(&g->http, g->config->home);
    if (fleet_apply(g->fleet, steal(g->settings), err) < 0)
        return -1;
    if (g->config->code) /* on stdio: it is the only server */
        return server_find(&g->core, SLICE("code")) ? code_is_taken(err) : server_set_up(g, err);
    if (code_set_up(g, err) < 0)
        return -1;
    watch_settings(g);
    sweep_start(&g->core);
    return 0;
}

static int policy_set_up(struct gate *g, struct err *err) {
    if (g->config->policy_path)
        return front_policies_bind(g->policies, g->config->policy_path, &g->core.policy, &g->follow.policy,
                                   err);
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

static int gate_start(struct gate *g, struct spawn *spawn, struct err *err) {
    spawn_on_lost(spawn, on_spawner_lost, g);
    g->local = front_local_user();
    g->policies = front_policies_new(&g->loop);
    front_policies_on_replaced(g->policies, on_policy_replaced, &g->core);
    g->core.trail_slots = g->config->worker ? g->config->worker->trails : NULL;
    g->http.core = &g->core;
    g->http.loop = &g->loop;
    g->http.policies = g->policies;
    g->core.files = (struct core_files){.each_policy = each_policy,
                                        .policy_written = policy_written,
                                        .settings_path = settings_path,
                                        .settings_written = settings_written,
                                        .settings_try = settings_try,
                                        .owner = g};
    g->follow = (struct follow){
        .core = &g->core, .config = g->config, .policies = g->policies, .log_level = log_get_level()};
    if (g->settings) {
        follow_log(&g->follow, g->settings);
        io_watch_times(&g->loop, g->settings->reload.quiet_ms, g->settings->reload.longest_ms);
    }
    if (database_join(g, err) < 0 || policy_set_up(g, err) < 0)
        return -1;
    if ((g->settings ? fleet_set_up(g, err) : server_set_up(g, err)) < 0 || guard_set_up(g, err) < 0 ||
        pii_open(g, err) < 0)
        return -1;
    signals_start(g);
    /* The child starts while the stores are opened; no input is read before the loop runs. */
    if (front_start(g, err) < 0 || spawn_attach(spawn, &g->loop, err) < 0 || stores_open(g, err) < 0)
        return -1;
    front_policies_set_audit(g->policies, g->core.audit);
    if (g->config->settings && !g->stdio &&
        front_peers_open(&g->http, g->config->settings, g->config->home, err) < 0)
        return -1;
    if (g->config->site.open && !g->stdio)
        g->http.site = g->config->site.open(g->config->site.ctx, &g->core, g->config, g->http.port);
    io_timer_arm(&g->loop, &g->settled, GATE_SETTLED_MS, on_settled);
    log_listening(g);
    worker_ready(g);
    return 0;
}

static void gate_free(struct gate *g, struct spawn *spawn) {
    g->stopping = true; /* a signal that arrives while waiting for children must not use the freed front */
    front_drain_free(&g->drain);
    io_timer_stop(&g->loop, &g->settled);
    io_timer_stop(&g->loop, &g->ship_look);
    front_stdio_free(g->stdio);
    front_http_stop(&g->http);
    if (g->http.site)
        g->config->site.close(g->config->site.ctx);
    for (size_t i = 0; i < g->watch_count; i++) {
        io_watch_stop(&g->watches[i]);
        free(g->watched[i]);
    }
    free(g->watches);
    free(g->watched);
    front_peers_close(&g->http);
    front_nodes_close(&g->http, front_relay_free_idle);
    front_auth_free(&g->http);
    front_secure_free(&g->http);
    front_public_free(&g->http);
    fleet_free(g->fleet);
    settings_free(g->settings);
    front_policies_free(g->policies);
    struct state_store *state = g->core.state;
    struct audit *audit = g->core.audit;
    struct ship *ship = g->core.ship;
    struct privacy *pii = g->core.privacy;
    session_core_free(&g->core);
    stop_close(&g->core);
    privacy_free(pii);
    builtin_close(g->builtin);
    buf_free(&g->code_packages);
    ship_settle(ship);
    audit_close(audit);
    ship_end(ship);
    state_fleet_logins_end(g->logins);
    state_close(state);
    principal_unref(g->local);
    if (!g->at_once) /* their input is closed: they may exit on their own */
        spawn_await(spawn, FRONT_CHILDREN_MS);
    spawn_stop(spawn);
    io_loop_free(&g->loop);
    io_tls_ctx_free(g->core.up.tls);
    env_free(&g->env);
}

void gate_config_from(struct gate_config *config, struct settings *take_settings) {
    const struct settings *s = config->settings = take_settings;
    config->transport = GATE_HTTP;
    if (!config->policy_path)
        config->policy_path = s->policy;
    if (!config->bind) {
        config->bind = s->bind;
        config->port = s->port;
    }
    if (s->state.dir)
        config->state_dir = s->state.dir;
    config->state_dsn = s->state.dsn;
    config->state_database = s->state.database;
    config->state_prefix = s->state.prefix;
    config->state_fail_open = s->state.fail_mode == SETTINGS_FAIL_OPEN;
    config->state_timeout_ms = s->state.timeout_ms;
    config->state_lease = s->state.lease;
    config->audit_args = (enum audit_args_mode)s->audit.arguments;
    config->audit_hash_needed = s->audit.hash == SETTINGS_HASH_NEEDED;
    config->pii = (struct privacy_config){.mode = (enum filter_mode)s->pii.mode,
                                          .arguments = (enum pii_arguments)s->pii.arguments,
                                          .scope = (enum vault_reach)s->pii.scope,
                                          .keep_ms = s->pii.keep_ms,
                                          .rules = s->pii.rules};
    config->audit_durable = s->audit.durable;
    config->audit_keep_ms = s->audit.keep_ms;
    config->audit_segment_bytes = (uint64_t)s->audit.segment_mb << 20;
    config->audit_pass = s->audit.on_full == SETTINGS_FULL_PASS;
    config->ship.dsn = s->audit.ship.dsn;
    config->ship.gate = s->audit.ship.gate;
    config->ship.keep_ms = s->audit.ship.keep_ms;
    config->ship.backlog_max = (uint64_t)s->audit.ship.backlog_mb << 20;
    config->lock_path = s->pins.lock;
    config->pins_ask = s->pins.first_use == SETTINGS_FIRST_ASK;
    config->pins_max_age_ms = s->pins.max_age_ms;
    config->poison = s->poison.definitions;
    config->poison_results = s->poison.results;
    config->flow_window_ms = s->flows.window_ms;
    config->approvals_mode = s->approvals.mode;
    config->approvals_timeout_ms = s->approvals.timeout_ms;
    config->approvals_persons = s->approvals.elicitation == SETTINGS_ELICITATION_TRUSTED;
    config->approvals_webhook = s->approvals.webhook;
    config->approvals_slack = s->approvals.format == SETTINGS_WEBHOOK_SLACK;
    config->approvals_secret = s->approvals.secret;
    config->trace_url = s->traces.otlp;
    config->state_key = s->request_state.key;
    config->park_ms = s->request_state.keep_ms;
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
    struct spawn *spawn = starts_programs(config) ? spawn_start(err) : spawn_none();
    if (!spawn)
        return -1;
    struct gate *g = mem_zalloc(sizeof(*g));
    g->config = config;
    g->settings = config->settings;
    signal(SIGBUS, on_bus_error);
    io_loop_init(&g->loop);
    session_core_init(&g->core, &g->loop, spawn);
    int rc = gate_start(g, spawn, err);
    if (rc == 0)
        io_loop_run(&g->loop);
    if (rc == 0 || g->exit_status)
        *ret_exit = g->exit_status;
    gate_free(g, spawn);
    free(g);
    return rc;
}
