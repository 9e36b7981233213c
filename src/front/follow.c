#include "front/follow.h"

#include "approval/approve.h"
#include "approval/webhook.h"
#include "base/mem.h"
#include "record/span.h"
#include "server/server.h"
#include "upstream/fetch.h"

#include <string.h>

/* A file does not override a value from the command line. */
static bool from_file(const char *value, const char *in_file) { return value == in_file; }

static const struct settings *at_start(const struct follow *f) { return f->config->settings; }

static bool follows_policy(const struct follow *f) {
    return from_file(f->config->policy_path, at_start(f)->policy);
}

/* ---- before ---- */

static int check_policy(const char *path, struct err *err) {
    cleanup_policy struct policy *policy = NULL;
    return path ? front_policy_load(path, &policy, err) : 0;
}

static struct webhook_config webhook_of(const struct settings *s) {
    return (struct webhook_config){s->approvals.webhook, s->approvals.secret,
                                   s->approvals.format == SETTINGS_WEBHOOK_SLACK};
}

int follow_check(const struct follow *f, const struct settings *fresh, struct err *err) {
    if ((follows_policy(f) && check_policy(fresh->policy, err) < 0) ||
        check_policy(fresh->code.policy, err) < 0)
        return -1;
    const struct webhook_config hook = webhook_of(fresh);
    if (webhook_check(&hook, err) < 0)
        return -1;
    if (fresh->traces.otlp && !up_url_is_safe(slice_str(fresh->traces.otlp)))
        return err_set(err, "trace collector `%s`: only https, or http on this machine", fresh->traces.otlp);
    if (privacy_check(fresh->pii.rules, err) < 0)
        return -1;
    for (size_t i = 0; at_start(f)->code.enabled && i < fresh->server_count; i++)
        if (strcmp(fresh->servers[i].name, "code") == 0)
            return err_set(err, "a server is named `code`, which is the name of the built-in server");
    return 0;
}

/* ---- after ---- */

/* It was read a moment ago. Only a race with an editor makes this fail, and then every call is denied. */
static void rebind(struct follow *f, const char *path, struct policy **at, struct front_policy_place *place) {
    struct err err = {0};
    front_policies_unbind(place);
    policy_unref(*at);
    *at = NULL;
    if (path && front_policies_bind(f->policies, path, at, place, &err) < 0)
        log_error("%s", err.text);
}

static void follow_policies(struct follow *f, const struct settings *old, const struct settings *fresh) {
    if (follows_policy(f) && !slice_same_str(old->policy, fresh->policy))
        rebind(f, fresh->policy, &f->core->policy, &f->policy);
    struct server *code = at_start(f)->code.enabled ? server_find(f->core, SLICE("code")) : NULL;
    if (code && !slice_same_str(old->code.policy, fresh->code.policy))
        rebind(f, fresh->code.policy, &code->policy, &f->code_policy);
}

static void follow_approvals(struct follow *f, const struct settings *old, const struct settings *fresh) {
    struct err err = {0};
    const struct approve_settings settings = {.mode = (enum approve_mode)fresh->approvals.mode,
                                              .timeout_ms = fresh->approvals.timeout_ms,
                                              .persons = fresh->approvals.elicitation ==
                                                         SETTINGS_ELICITATION_TRUSTED};
    approve_set(f->core, &settings);
    f->core->flow_window_ms = fresh->flows.window_ms ? fresh->flows.window_ms : TRAIL_WINDOW_MS;
    if (slice_same_str(old->approvals.webhook, fresh->approvals.webhook) &&
        slice_same_str(old->approvals.secret, fresh->approvals.secret) &&
        old->approvals.format == fresh->approvals.format)
        return;
    const struct webhook_config hook = webhook_of(fresh);
    if (webhook_start(f->core, &hook, &err) < 0)
        log_error("webhook: %s", err.text);
}

static void follow_traces(struct follow *f, const struct settings *old, const struct settings *fresh) {
    struct err err = {0};
    if (slice_same_str(old->traces.otlp, fresh->traces.otlp))
        return;
    span_exporter_stop(f->core);
    if (span_exporter_start(f->core, fresh->traces.otlp, &err) < 0)
        log_error("%s", err.text);
}

void follow_log(const struct follow *f, const struct settings *s) {
    f->core->up.noise_lines = (uint32_t)s->log.server_lines;
    log_set_level(s->log.level == SETTINGS_LOG_DEFAULT ? f->log_level
                                                       : (enum log_level)(s->log.level - SETTINGS_LOG_DEBUG));
}

static void follow_pii(struct follow *f, const struct settings *fresh) {
    struct err err = {0};
    const struct privacy_config config = {.mode = (enum filter_mode)fresh->pii.mode,
                                          .arguments = (enum pii_arguments)fresh->pii.arguments,
                                          .keep_ms = fresh->pii.keep_ms};
    privacy_set(f->core->privacy, &config);
    if (privacy_follow(f->core, fresh->pii.rules, &err) < 0)
        log_error("%s; the old rules stay in force", err.text);
}

void follow_apply(struct follow *f, const struct settings *old, const struct settings *fresh) {
    follow_policies(f, old, fresh);
    follow_approvals(f, old, fresh);
    follow_traces(f, old, fresh);
    follow_log(f, fresh);
    f->core->audit_args = (enum audit_args_mode)fresh->audit.arguments;
    f->core->audit_hash_needed = fresh->audit.hash == SETTINGS_HASH_NEEDED;
    follow_pii(f, fresh);
    if (f->config->site.follow)
        f->config->site.follow(f->config->site.ctx, fresh);
}

const char *follow_for_start(const struct follow *f, const struct settings *fresh) {
    struct settings running = *at_start(f);
    if (!from_file(f->config->bind, running.bind))
        running.listen = fresh->listen;
    cleanup_buf struct buf names;
    buf_init(&names, 4096);
    settings_for_start(&running, fresh, &names);
    free(f->core->restart_settings);
    f->core->restart_settings = names.len ? mem_dup(names.ptr, names.len) : NULL;
    return f->core->restart_settings;
}
