/* The table of subcommands. To add one: write src/cli/NAME.c as the top of command.h shows, name it in
 * meson.build, declare its row here and put it in the list. Help, man page and completions are generated. */
#include "cli/command.h"

extern const struct cli_command cli_wrap;
extern const struct cli_command cli_init;
extern const struct cli_command cli_import;
extern const struct cli_command cli_export;
extern const struct cli_command cli_serve;
extern const struct cli_command cli_code;
extern const struct cli_command cli_validate;
extern const struct cli_command cli_explain;
extern const struct cli_command cli_simulate;
extern const struct cli_command cli_scan;
extern const struct cli_command cli_catalogue_show;
extern const struct cli_command cli_catalogue_search;
extern const struct cli_command cli_catalogue_stats;
extern const struct cli_command cli_catalogue_site;
extern const struct cli_command cli_catalogue_update;
extern const struct cli_command cli_catalogue_sign;
extern const struct cli_command cli_catalogue_trust;
extern const struct cli_command cli_pin_list;
extern const struct cli_command cli_pin_diff;
extern const struct cli_command cli_pin_accept;
extern const struct cli_command cli_pii_scan;
extern const struct cli_command cli_pii_tokenize;
extern const struct cli_command cli_pii_restore;
extern const struct cli_command cli_backup;
extern const struct cli_command cli_restore;
extern const struct cli_command cli_audit_query;
extern const struct cli_command cli_audit_show;
extern const struct cli_command cli_audit_tail;
extern const struct cli_command cli_audit_export;
extern const struct cli_command cli_audit_verify;
extern const struct cli_command cli_grants_create;
extern const struct cli_command cli_grants_list;
extern const struct cli_command cli_grants_show;
extern const struct cli_command cli_grants_rotate;
extern const struct cli_command cli_grants_revoke;
extern const struct cli_command cli_approvals_list;
extern const struct cli_command cli_approvals_show;
extern const struct cli_command cli_approvals_approve;
extern const struct cli_command cli_approvals_deny;
extern const struct cli_command cli_approvals_expire;
extern const struct cli_command cli_login;
extern const struct cli_command cli_code_run;
extern const struct cli_command cli_code_packages;
extern const struct cli_command cli_doctor;
extern const struct cli_command cli_replay;
extern const struct cli_command cli_resume;
extern const struct cli_command cli_status;
extern const struct cli_command cli_stop;
extern const struct cli_command cli_stop_all;
extern const struct cli_command cli_stop_grant;
extern const struct cli_command cli_ui;
extern const struct cli_command cli_allow;
extern const struct cli_command cli_approve_first;
extern const struct cli_command cli_deny;
extern const struct cli_command cli_hide;
extern const struct cli_command cli_limit;
extern const struct cli_command cli_version;
extern const struct cli_command cli_help;
extern const struct cli_command cli_completion;

static const struct cli_command *const commands[] = {
    &cli_init,
    &cli_import,
    &cli_export,
    &cli_serve,
    &cli_ui,
    &cli_login,
    &cli_validate,
    &cli_explain,
    &cli_allow,
    &cli_limit,
    &cli_approve_first,
    &cli_deny,
    &cli_hide,
    &cli_simulate,
    &cli_replay,
    &cli_scan,
    &cli_catalogue_show,
    &cli_catalogue_search,
    &cli_catalogue_stats,
    &cli_catalogue_site,
    &cli_catalogue_update,
    &cli_catalogue_sign,
    &cli_catalogue_trust,
    &cli_pin_list,
    &cli_pin_diff,
    &cli_pin_accept,
    &cli_pii_scan,
    &cli_pii_tokenize,
    &cli_pii_restore,
    &cli_grants_create,
    &cli_grants_list,
    &cli_grants_show,
    &cli_grants_rotate,
    &cli_grants_revoke,
    &cli_approvals_list,
    &cli_approvals_show,
    &cli_approvals_approve,
    &cli_approvals_deny,
    &cli_approvals_expire,
    &cli_stop_all,
    &cli_stop,
    &cli_stop_grant,
    &cli_resume,
    &cli_audit_tail,
    &cli_audit_query,
    &cli_audit_show,
    &cli_audit_verify,
    &cli_audit_export,
    &cli_status,
    &cli_code,
    &cli_code_run,
    &cli_code_packages,
    &cli_doctor,
    &cli_backup,
    &cli_restore,
    &cli_version,
    &cli_help,
    &cli_completion,
    NULL,
};

static const struct cli_heading headings[] = {
    {"Set up a gate", &cli_init},
    {"Write policies", &cli_validate},
    {"Judge servers and their tools", &cli_scan},
    {"Find personal data and secrets", &cli_pii_scan},
    {"Grants and approvals", &cli_grants_create},
    {"Stop and resume", &cli_stop_all},
    {"See what happened", &cli_audit_tail},
    {"Run code", &cli_code},
    {"Look after this machine", &cli_doctor},
    {0},
};

const struct cli_program cli_commands = {
    .name = "sallyport",
    .version = SALLYPORT_VERSION,
    .summary = "the guarded gate between AI agents and their MCP servers",
    .wrap = &cli_wrap,
    .commands = commands,
    .headings = headings,
};
