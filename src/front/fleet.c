#include "front/fleet.h"
#include "front/auth.h"

#include "base/log.h"
#include "base/mem.h"
#include "front/credentials.h"
#include "front/env.h"
#include "front/gate_worker.h"
#include "front/policies.h"
#include "guard/guard.h"
#include "guard/pins.h"
#include "many/many.h"
#include "many/presence.h"
#include "many/sweep.h"
#include "session/session.h"
#include "upstream/head.h"

#include <stdio.h>

struct fleet_entry {
    const char *name; /* owned by the settings */
    const struct settings_server *settings;
    const struct settings *made_from; /* its texts are referred to as long as the server exists */
    struct server *server;
    struct front_policy_place policy;
};

struct fleet {
    struct front *front;
    const char *home;
    struct settings *settings;
    struct settings *
        *kept; /* all settings that may still be referred to: the first, the current, those of servers */
    size_t kept_count;
    struct fleet_entry **entries; /* one per server that is not disabled */
    size_t count;
};

struct fleet *fleet_new(struct front *front, const char *home) {
    struct fleet *fleet = mem_zalloc(sizeof(*fleet));
    fleet->front = front;
    fleet->home = home;
    return fleet;
}

/* ---- one server ---- */

static const char *dup_text(struct arena *a, const char *text) {
    return text ? arena_dup(a, slice_str(text)).ptr : NULL;
}

/* What can change without a restart of the server. */
static void apply_settings(struct server *server, const struct settings_server *from) {
    server->prefix = dup_text(&server->arena, from->prefix);
    server->idle_ms = from->idle_ms;
    server->timeout_ms = from->timeout_ms;
    server->health_ms = from->health_ms;
    server->health_timeout_ms = from->health_timeout_ms;
    server->shared = from->share == SETTINGS_SHARED;
    server->pii_set = true;
    server->pii = (enum filter_mode)from->pii;
}

static int set_up(struct fleet *fleet, struct server *server, const struct settings_server *from,
                  struct err *err) {
    struct up_server *up = &server->up;
    struct arena *a = &server->arena; /* links may outlive the settings */
    up->name = dup_text(a, from->name);
    up->headers = arena_dup_list(a, from->headers.items, from->headers.count);
    up->header_count = from->headers.count;
    apply_settings(server, from);
    if (from->url) {
        if (up_server_set_url(up, dup_text(a, from->url), err) < 0)
            return -1;
        up->use_sse |= from->type == SETTINGS_SSE;
        front_credentials(up, from, fleet->home);
        server_set_origin(server, NULL, up->url);
        return up_head_check(up, err);
    }
    struct env_list env;
    env_select(&env, from->env.items, from->env.count, false);
    up->argv = arena_dup_list(a, from->argv.items, from->argv.count);
    up->envp = arena_dup_list(a, (const char *const *)env.items, env.count);
    up->cwd = dup_text(a, from->cwd);
    up->home = fleet->home;
    up_era_recall(up);
    env_free(&env);
    server_set_origin(server, (char *const *)(uintptr_t)up->argv, NULL);
    pins_warn_supply(server);
    return 0;
}

static void entry_stop(struct fleet *fleet, struct fleet_entry *entry) {
    front_forget_server(fleet->front, entry->server);
    front_policies_unbind(&entry->policy);
    session_remove_server(fleet->front->core, entry->server);
    free(entry);
}

static struct fleet_entry *entry_start(struct fleet *fleet, const struct settings_server *from,
                                       struct err *err) {
    struct fleet_entry *entry = mem_zalloc(sizeof(*entry));
    entry->server = server_new(fleet->front->core);
    if (set_up(fleet, entry->server, from, err) == 0 &&
        (!from->policy || front_policies_bind(fleet->front->policies, from->policy, &entry->server->policy,
                                              &entry->policy, err) == 0))
        return entry;
    entry_stop(fleet, entry);
    return NULL;
}

/* ---- all servers ---- */

static struct fleet_entry *find(const struct fleet *fleet, const char *name) {
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->entries[i] && strcmp(fleet->entries[i]->name, name) == 0)
            return fleet->entries[i];
    return NULL;
}

/* The running server with these settings, if it can be kept. */
static struct fleet_entry *stays(const struct fleet *fleet, const struct settings_server *to) {
    struct fleet_entry *entry = find(fleet, to->name);
    return entry && settings_same_program(entry->settings, to) ? entry : NULL;
}

/* Finds every error before anything is changed. */
int fleet_check(const struct settings *to, struct err *err) {
    for (size_t i = 0; i < to->server_count; i++) {
        const struct settings_server *s = &to->servers[i];
        if (s->disabled)
            continue;
        cleanup_policy struct policy *policy = NULL;
        struct up_server trial = {.headers = s->headers.items, .header_count = s->headers.count};
        if (s->policy && front_policy_load(s->policy, &policy, err) < 0)
            return err_wrap(err, "server `%s`", s->title);
        if (s->url && (up_server_set_url(&trial, s->url, err) < 0 || up_head_check(&trial, err) < 0))
            return err_wrap(err, "server `%s`", s->title);
    }
    return 0;
}

static int rebind_policy(struct fleet *fleet, struct fleet_entry *entry, const struct settings_server *to,
                         struct err *err) {
    if (slice_same_str(entry->settings->policy, to->policy))
        return 0;
    front_policies_unbind(&entry->policy);
    policy_unref(entry->server->policy);
    entry->server->policy = NULL;
    return to->policy ? front_policies_bind(fleet->front->policies, to->policy, &entry->server->policy,
                                            &entry->policy, err)
                      : 0;
}

static void announce_changes(struct core *core) {
    LIST_FOR (n, &core->sessions) {
        struct session *s = container_of(n, struct session, node);
        if (session_has_many(s))
            presence_lists_changed(s);
    }
}

/* first, so that slots become free */
static size_t sink_others(struct fleet *fleet, const struct settings *to) {
    size_t ended = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        struct fleet_entry *entry = fleet->entries[i];
        bool keep = false;
        for (size_t k = 0; k < to->server_count; k++)
            keep |= !to->servers[k].disabled && stays(fleet, &to->servers[k]) == entry;
        if (keep)
            continue;
        log_server(LOG_INFO, entry->name, "server `%s` is stopped", entry->name);
        fleet->entries[i] = NULL;
        entry_stop(fleet, entry);
        ended++;
    }
    return ended;
}

static struct fleet_entry *entry_for(struct fleet *fleet, const struct settings_server *from,
                                     struct err *err) {
    struct fleet_entry *entry = stays(fleet, from);
    if (!entry)
        return entry_start(fleet, from, err);
    apply_settings(entry->server, from);
    /* It was valid a moment ago. Only a race with an editor makes this fail, and it fails closed. */
    if (rebind_policy(fleet, entry, from, err) < 0)
        log_server(LOG_ERROR, from->name, "server `%s`: %s", from->name, err->text);
    return entry;
}

static bool in_use(const struct fleet *fleet, const struct settings *s) {
    for (size_t i = 0; i < fleet->count; i++)
        if (fleet->entries[i]->made_from == s)
            return true;
    return s == fleet->settings || s == front_auth_settings(fleet->front) ||
           s == fleet->kept[0]; /* the first settings: paths of certificates */
}

static void keep(struct fleet *fleet, struct settings *fresh) {
    fleet->kept = mem_realloc(fleet->kept, (fleet->kept_count + 1) * sizeof(struct settings *));
    fleet->kept[fleet->kept_count++] = fresh;
    fleet->settings = fresh;
    size_t left = 0;
    for (size_t i = 0; i < fleet->kept_count; i++) {
        if (in_use(fleet, fleet->kept[i]))
            fleet->kept[left++] = fleet->kept[i];
        else
            settings_free(fleet->kept[i]);
    }
    fleet->kept_count = left;
}

static void say_unguarded(const struct fleet *fleet) {
    for (size_t i = 0; i < fleet->count && !fleet->front->core->policy; i++)
        if (!fleet->entries[i]->server->policy)
            log_info("server `%s` has no policy: every call to it is denied, except for grants with a policy "
                     "of their own",
                     fleet->entries[i]->name);
}

int fleet_apply(struct fleet *fleet, struct settings *take_settings, struct err *err) {
    const struct settings *to = take_settings;
    const struct gate_worker *worker = fleet->front->worker;
    const bool silent = !fleet->settings && worker && worker->index; /* at the start the first one says it */
    if (fleet_check(to, err) < 0) {
        settings_free(take_settings);
        return -1;
    }
    struct fleet_entry **entries = mem_zalloc((to->server_count + 1) * sizeof(*entries));
    size_t before = fleet->count, ended = sink_others(fleet, to), count = 0;
    int rc = 0;
    for (size_t i = 0; i < to->server_count; i++) {
        struct fleet_entry *entry = to->servers[i].disabled ? NULL : entry_for(fleet, &to->servers[i], err);
        if (!entry) {
            rc = to->servers[i].disabled ? rc : -1;
            continue;
        }
        if (!entry->made_from)
            entry->made_from = to;
        entry->name = to->servers[i].name;
        entry->settings = &to->servers[i];
        entries[count++] = entry;
    }
    free(fleet->entries);
    fleet->entries = entries;
    fleet->count = count;
    keep(fleet, take_settings);
    fleet->front->core->prefix = (enum server_prefix_mode)to->prefix;
    fleet->front->core->many->discovery = (enum many_discovery)to->discovery.mode;
    fleet->front->core->many->discovery_keep = (uint32_t)to->discovery.keep;
    fleet->front->core->many->list_ms = to->discovery.timeout_ms;
    if (!silent)
        say_unguarded(fleet);
    if (!silent)
        log_info("%zu server%s configured: %zu new or changed, %zu removed or replaced", count,
                 count == 1 ? "" : "s", count + ended - before, ended);
    announce_changes(fleet->front->core);
    return rc;
}

const struct settings *fleet_settings(const struct fleet *fleet) { return fleet->settings; }

void fleet_free(struct fleet *fleet) {
    if (!fleet)
        return;
    for (size_t i = 0; i < fleet->count; i++)
        entry_stop(fleet, fleet->entries[i]);
    free(fleet->entries);
    for (size_t i = 0; i < fleet->kept_count; i++)
        settings_free(fleet->kept[i]);
    free(fleet->kept);
    free(fleet);
}

/* ---- status ---- */

void fleet_write_status(const struct fleet *fleet, struct buf *out) {
    const struct core *core = fleet->front->core;
    for (size_t i = 0; i < fleet->count; i++) {
        size_t ready, missing;
        const struct server *server = fleet->entries[i]->server;
        channel_count(core, server, &ready, &missing);
        buf_printf(out, "%s: %s, %zu link(s)%s\n", fleet->entries[i]->name,
                   channel_state_name(ready, missing), ready, server->list_fault[0] ? ", a list failed" : "");
    }
}
