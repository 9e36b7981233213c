#include "front/reload.h"

#include "base/log.h"
#include "base/mem.h"
#include "front/auth.h"
#include "front/fleet.h"
#include "front/gate_worker.h"
#include "guard/guard.h"

#include <stdio.h>
#include <string.h>

static void keep_fault(struct front_reload *r, const char *text) {
    struct core *core = r->front->core;
    free(core->settings_fault);
    core->settings_fault = text ? mem_dup(text, strlen(text)) : NULL;
}

static void reload_failed(struct front_reload *r, const char *path, const struct err *err) {
    keep_fault(r, err->text);
    log_error("%s; the old settings stay in force", err->text);
    audit_put_event(r->front->core->audit, SLICE("reload_failed"), slice_str(path), (struct slice){0},
                    slice_str(err->text));
}

/* Re-evaluating releases held tools, so it is done only when the settings for it have changed. */
static int reload_guard(struct front_reload *r, const struct settings *old, const struct settings *fresh,
                        struct err *err) {
    if (slice_same_str(old->pins.lock, fresh->pins.lock) && old->pins.first_use == fresh->pins.first_use &&
        old->pins.max_age_ms == fresh->pins.max_age_ms &&
        old->poison.definitions == fresh->poison.definitions && old->poison.results == fresh->poison.results)
        return 0;
    struct guard_config guard = {.lock = fresh->pins.lock,
                                 .home = r->follow.config->home,
                                 .ask = fresh->pins.first_use == SETTINGS_FIRST_ASK,
                                 .max_age_ms = fresh->pins.max_age_ms,
                                 .definitions = (enum guard_mode)fresh->poison.definitions,
                                 .results = (enum guard_mode)fresh->poison.results};
    return guard_open(r->front->core, &guard, err);
}

void front_reload_now(struct front_reload *r) {
    const struct settings *old = fleet_settings(r->front->fleet);
    const char *path = old->path ? old->path : old->client_files.items[0];
    struct settings *fresh = NULL;
    struct err err;
    if (settings_load(old->path, old->client_files.items, old->client_files.count, &fresh, &err) < 0) {
        reload_failed(r, path, &err);
        return;
    }
    if (follow_check(&r->follow, fresh, &err) < 0 || fleet_check(fresh, &err) < 0 ||
        reload_guard(r, old, fresh, &err) < 0) {
        settings_free(fresh);
        reload_failed(r, path, &err);
        return;
    }
    cleanup_free char *name = mem_dup(path, strlen(path));
    follow_apply(&r->follow, old, fresh);
    if (fleet_apply(r->front->fleet, fresh, &err) < 0) {
        reload_failed(r, name, &err);
        return;
    }
    front_auth_apply(r->front, fleet_settings(r->front->fleet));
    keep_fault(r, NULL);
    if (r->front->worker)
        r->front->worker->shared->reloaded = true;
    char text[ERR_TEXT_MAX] = "";
    const char *late = follow_for_start(&r->follow, fleet_settings(r->front->fleet));
    if (late) {
        snprintf(text, sizeof(text), "needs a restart: %s", late);
        log_warn("these settings have changed and need a restart of the gate: %s", late);
    }
    log_info("settings reloaded");
    audit_put_event(r->front->core->audit, SLICE("reload"), slice_str(name), (struct slice){0},
                    slice_str(text));
}

int front_reload_again(struct front_reload *r, struct err *err) {
    front_reload_now(r);
    const char *fault = r->front->core->settings_fault;
    return fault && r->front->worker->shared->reloaded ? err_set(err, "%s", fault) : 0;
}

static void on_settings_changed(struct io_watch *w) { front_reload_now(w->owner); }

/* ---- configuration files ---- */

static void each_policy(void *owner, void (*each)(void *ctx, const struct core_policy *one), void *ctx) {
    struct front_reload *r = owner;
    front_policies_each(r->front->policies, each, ctx);
}

static void policy_written(void *owner, const char *path) {
    struct front_reload *r = owner;
    front_policies_check(r->front->policies, path);
}

static const char *settings_path(void *owner) {
    struct front_reload *r = owner;
    return r->front->fleet ? fleet_settings(r->front->fleet)->path : NULL;
}

static void settings_written(void *owner) {
    struct front_reload *r = owner;
    for (size_t i = 0; i < r->watch_count; i++)
        io_watch_seen(&r->watches[i]);
    if (r->front->fleet)
        front_reload_now(r);
}

static int settings_try(void *owner, struct slice text, struct err *err) {
    struct front_reload *r = owner;
    struct settings *fresh = NULL;
    if (settings_load_text(settings_path(r), text, false, &fresh, err) < 0)
        return -1;
    int rc = follow_check(&r->follow, fresh, err) < 0 || fleet_check(fresh, err) < 0 ? -1 : 0;
    settings_free(fresh);
    return rc;
}

void front_reload_watch(struct front_reload *r) {
    const struct settings *s = fleet_settings(r->front->fleet);
    r->watches = mem_zalloc((s->client_files.count + 1) * sizeof(*r->watches));
    r->watched = mem_zalloc((s->client_files.count + 1) * sizeof(*r->watched));
    for (size_t i = 0; i < s->client_files.count + (s->path != NULL); i++) {
        struct io_watch *w = &r->watches[r->watch_count];
        const char *path = i < s->client_files.count ? s->client_files.items[i] : s->path;
        char *own = r->watched[r->watch_count++] = mem_dup(path, strlen(path));
        io_watch_start(w, r->front->loop, own, on_settings_changed);
        w->gone = on_settings_changed;
        w->owner = r;
    }
}

void front_reload_serve(struct front_reload *r) {
    r->front->core->files = (struct core_files){.each_policy = each_policy,
                                                .policy_written = policy_written,
                                                .settings_path = settings_path,
                                                .settings_written = settings_written,
                                                .settings_try = settings_try,
                                                .owner = r};
}

void front_reload_stop(struct front_reload *r) {
    for (size_t i = 0; i < r->watch_count; i++) {
        io_watch_stop(&r->watches[i]);
        free(r->watched[i]);
    }
    free(r->watches);
    free(r->watched);
}
