#include "front/gate_config.h"

#include "front/settings.h"

_Static_assert((int)SETTINGS_PII_REPORT == (int)FILTER_REPORT &&
                   (int)SETTINGS_PII_BLOCK == (int)FILTER_BLOCK &&
                   (int)SETTINGS_PII_ARGUMENTS_BLOCK == (int)PII_ARGUMENTS_BLOCK &&
                   (int)SETTINGS_PII_ORGANISATION == (int)VAULT_ORGANISATION &&
                   (int)SETTINGS_AUDIT_FULL == (int)AUDIT_ARGS_FULL,
               "both enums have the same order");

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
    config->state_marks = s->state.after_loss == SETTINGS_LOSS_DATABASE;
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
