/* `sallyport serve`: many servers behind one gate. */
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/handover.h"
#include "cli/site.h"
#include "front/gate.h"
#include "front/settings.h"
#include "front/supervisor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_CONFIG "sallyport.yaml"

struct serve_options {
    const char *config;
    struct cli_list client_files;
    const char *listen;
    const char *policy;
    const char *token_file;
    const char *workers;
    bool no_auth;
    bool schema;
};

static const struct cli_option serve_rows[] = {
    {CLI_TEXT(struct serve_options, config), .name = "config", .letter = 'c', .argument = "FILE",
     .help = "the settings; by default ./" DEFAULT_CONFIG ", else the one that `init` wrote"},
    {CLI_LIST(struct serve_options, client_files), .name = "mcp-config", .argument = "FILE",
     .help = "servers from a client's own file: .mcp.json, claude_desktop_config.json and their like"},
    {CLI_TEXT(struct serve_options, listen), .name = "listen", .argument = "ADDRESS:PORT",
     .help = "where clients reach the gate, instead of what the settings say; port 0 takes a free one"},
    {CLI_TEXT(struct serve_options, policy), .name = "policy", .argument = "FILE",
     .help = "the default policy, instead of what the settings say"},
    {CLI_TEXT(struct serve_options, token_file), .name = "token-file", .argument = "FILE",
     .help = "beside grants, clients may show the token in this file"},
    {CLI_TEXT(struct serve_options, workers), .name = "workers", .argument = "N|auto",
     .help = "processes that share the port and the home, under a supervisor that restarts them; auto: one "
             "per processor, which is the default where other machines reach the gate"},
    {CLI_SWITCH(struct serve_options, no_auth), .name = "no-auth",
     .help = "accept clients without a grant; refused when other machines can reach the gate"},
    {CLI_SWITCH(struct serve_options, schema), .name = "schema",
     .help = "print the JSON Schema of the settings and exit"},
    {0},
};

static int print_schema(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 1u << 20);
    settings_schema(&text);
    return cli_print(&text);
}

static int no_settings(void) {
    struct err err;
    err_set(&err, "there is no " DEFAULT_CONFIG
                  " here: `sallyport init` writes one, `--config FILE` names another, "
                  "`--mcp-config FILE` takes the servers of a client's own file");
    return cli_fail(CLI_CONFIG, &err);
}

static int serve_run(const void *options, const struct cli_rest *rest) {
    (void)rest;
    const struct serve_options *opt = options;
    struct err err = {0};
    char home[CLI_PATH_MAX], host[SETTINGS_HOST_MAX];
    if (opt->schema)
        return print_schema();
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    const char *path = opt->config;
    char found[CLI_PATH_MAX];
    /* Beside a client's file only the current directory counts. */
    if (!path && opt->client_files.count)
        path = access(DEFAULT_CONFIG, R_OK) == 0 ? DEFAULT_CONFIG : NULL;
    else if (!path && cli_home_settings(NULL, found))
        path = found;
    else if (!path)
        return no_settings();
    struct gate_config config = {.policy_path = opt->policy,
                                 .token_file = opt->token_file,
                                 .no_auth = opt->no_auth,
                                 .home = home,
                                 .state_dir = home};
    if (opt->listen) {
        if (settings_parse_listen(opt->listen, host, &config.port, &err) < 0)
            return cli_fail(CLI_USAGE, &err);
        config.bind = host;
    }
    struct settings *settings = NULL;
    if (settings_load(path, opt->client_files.items, opt->client_files.count, &settings, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    gate_config_from(&config, settings);
    struct cli_site site;
    cli_site_add(&site, &config);
    int status = CLI_CONFIG;
    unsigned workers;
    if (supervisor_count(opt->workers ? opt->workers : settings->workers, config.bind, &workers, &err) < 0) {
        settings_free(settings);
        return cli_fail(CLI_CONFIG, &err);
    }
    if (getenv(SUPERVISOR_TRIAL)) {
        const int fits = cli_handover_check(&config, settings, &err);
        settings_free(settings);
        return fits < 0 ? cli_fail(CLI_CONFIG, &err) : CLI_OK;
    }
    if ((workers ? supervisor_run(&config, workers, &status, &err) : gate_run(&config, &status, &err)) < 0) {
        cli_fail((enum cli_exit)status, &err);
        const char *fix = cli_start_fix(err.text);
        if (fix)
            fprintf(stderr, "fix: %s%s\n", fix,
                    slice_starts(slice_str(err.text), SLICE("listen on "))
                        ? "; for this start only: --listen ADDRESS:PORT"
                        : "");
        return status;
    }
    return status;
}

static const struct cli_example serve_examples[] = {
    {"sallyport serve", "the servers of ./sallyport.yaml on 127.0.0.1:8640"},
    {"sallyport serve --mcp-config .mcp.json --policy policy.yaml --no-auth",
     "the servers of a client's own file, for programs on this machine"},
    {"sallyport serve --listen 0.0.0.0:8640 --workers auto", "every processor of the machine"},
    {0},
};

const struct cli_command cli_serve = {
    .name = "serve",
    .summary = "put the gate in front of many MCP servers",
    .detail =
        "Clients reach all servers that their grant allows at /mcp, where tools are named SERVER__TOOL, and "
        "each server by itself at /mcp/SERVER. Servers start when they are first needed and end when they "
        "have been idle. The files are read again when they change: only what differs is started or ended, "
        "and a file with a mistake in it changes nothing.",
    .options = serve_rows,
    .options_size = sizeof(struct serve_options),
    .examples = serve_examples,
    .run = serve_run,
};
