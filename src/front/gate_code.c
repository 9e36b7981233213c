#include "front/gate_code.h"

#include "code/limits.h"
#include "many/builtin.h"
#include "packages/spec.h"
#include "profiles/profile.h"
#include "runner/limits.h"
#include "server/server.h"

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

int gate_code_taken(struct err *err) {
    return err_set(err, "a server is named `code`, which is the name of the built-in server: rename it, or "
                        "set `code: {enabled: false}`");
}

static int code_packages(const struct settings *s, struct buf *out, struct err *err) {
    buf_init(out, CODE_PACKAGES_TEXT_MAX);
    for (size_t i = 0; i < s->code.packages.allow.count; i++) {
        const char *entry = s->code.packages.allow.items[i];
        struct pack_spec spec;
        if (!pack_spec_preset(slice_str(entry)) &&
            pack_spec_parse(slice_str(entry), PACK_PIP, &spec, err) < 0)
            return err_wrap(err, "code.packages.allow");
        buf_printf(out, "%s\n", entry);
    }
    buf_put_char(out, '\0');
    return 0;
}

int gate_code_open(struct gate_code *code, struct follow *f, const struct settings *s, struct err *err) {
    if (!s->code.enabled)
        return 0;
    if (code_packages(s, &code->packages, err) < 0)
        return -1;
    struct code_config config = {.home = f->config->home,
                                 .uids = s->code.uids,
                                 .min_tier = (int)s->code.min_tier,
                                 .bash = s->code.bash,
                                 .packages = code->packages.ptr,
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
    if (server_find(f->core, SLICE("code")))
        return gate_code_taken(err);
    struct server *server = server_new(f->core);
    server->up.name = "code";
    if (s->code.policy &&
        front_policies_bind(f->policies, s->code.policy, &server->policy, &f->code_policy, err) < 0)
        return -1;
    return builtin_open(f->core, server, &config, &code->builtin, err);
}

void gate_code_close(struct gate_code *code) {
    builtin_close(code->builtin);
    buf_free(&code->packages);
    *code = (struct gate_code){0};
}
