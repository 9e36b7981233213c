/* The checks of a new program before it takes over from a running gate (supervisor.h): can it read the
 * current policies and stores? Settings and the format of the home were checked before. */
#include "cli/handover.h"

#include "cli/policy_file.h"
#include "state/database.h"
#include "state/grants.h"
#include "state/state.h"

static int check_policy(const char *path, struct err *err) {
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    policy_problems_init(&problems);
    if (!path || cli_policy_load(path, &policy, &problems) == 0)
        return 0;
    cli_policy_fault(path, &problems, err);
    return -1;
}

static int check_policies(const struct gate_config *config, const struct settings *s, struct err *err) {
    if (check_policy(config->policy_path, err) < 0 || check_policy(s->policy, err) < 0 ||
        check_policy(s->code.policy, err) < 0)
        return -1;
    for (size_t i = 0; i < s->auth.rule_count; i++)
        if (check_policy(s->auth.rules[i].policy, err) < 0)
            return -1;
    for (size_t i = 0; i < s->server_count; i++)
        if (!s->servers[i].disabled && check_policy(s->servers[i].policy, err) < 0)
            return -1;
    return 0;
}

/* On the network, too: workers that start without a store would replace those that have one. */
static int check_stores(const struct gate_config *config, struct err *err) {
    struct state_grants *grants = NULL;
    struct state_store *counters = NULL;
    if (state_database_try(config->home, config->state_database, err) < 0)
        return err_wrap(err, "state.database");
    if (state_grants_open(config->home, true, &grants, err) < 0)
        return err_wrap(err, "grants");
    state_grants_close(grants);
    const struct state_config trial = {.dsn = config->state_dsn,
                                       .dir = config->state_dir,
                                       .prefix = config->state_prefix,
                                       .timeout_ms = config->state_timeout_ms,
                                       .read_only = true};
    if (state_open(&trial, &counters, err) < 0)
        return err_wrap(err, "counters");
    state_close(counters);
    return 0;
}

int cli_handover_check(const struct gate_config *config, const struct settings *s, struct err *err) {
    return check_policies(config, s, err) < 0 || check_stores(config, err) < 0 ? -1 : 0;
}
