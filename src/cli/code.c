/* sallyport code: the built-in code server alone, on stdio, behind the same gate as any other server. */
#include "base/arena.h"
#include "cli/command.h"
#include "cli/hosts.h"
#include "front/gate.h"
#include "front/settings.h"
#include "profiles/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct code_options {
    const char *policy;
    int profile;
    uint64_t min_tier;
    uint64_t wait_ms;
    const char *packages;
    const char *network;
    struct cli_list client_files;
    const char *dir;
    bool bash;
};

static const struct cli_option code_rows[] = {
    {CLI_TEXT(struct code_options, policy), .name = "config", .letter = 'c', .argument = "POLICY",
     .help = "the policy file (YAML or JSON); without one every tool may be called"},
    {CLI_CHOICE(struct code_options, profile), .name = "profile", .choices = profile_names,
     .fallback = "native", .help = "which tools are shown, with whose schemas and result texts"},
    {CLI_NUMBER(struct code_options, min_tier), .name = "min-tier", .argument = "TIER", .fallback = "1",
     .min = 1, .max = 3, .help = "the weakest sandbox to run code in; see `sallyport doctor`"},
    {CLI_TEXT(struct code_options, packages), .name = "packages", .argument = "NAMES",
     .help = "packages that agents may install, separated by commas; none by default"},
    {CLI_LIST(struct code_options, client_files), .name = "mcp-config", .argument = "FILE",
     .help = "servers whose tools code may call, from a client's own file: .mcp.json and its like"},
    {CLI_TEXT(struct code_options, dir), .name = "dir", .argument = "PROJECT",
     .help =
         "a directory that is the workspace: code reads its files, and what code changes is written back"},
    {CLI_TEXT(struct code_options, network), .name = "network", .argument = "HOSTS",
     .help = "where code may connect to, HOST:PORT, separated by commas; nowhere by default"},
    {CLI_SWITCH(struct code_options, bash), .name = "bash",
     .help = "allow bash and programs of the system in the sandbox, too"},
    {CLI_DURATION(struct code_options, wait_ms), .name = "wait", .argument = "TIME", .fallback = "5s",
     .help = "how long a call waits for a background run before it returns the job id"},
    {0},
};

/* One line for each of the comma-separated names. */
static const char *split_packages(const char *text, struct arena *a) {
    char *lines = text ? (char *)(uintptr_t)arena_dup(a, slice_str(text)).ptr : NULL;
    for (char *comma = lines; comma && (comma = strchr(comma, ','));)
        *comma = '\n';
    return lines;
}

static int code_run_server(const void *options, const struct cli_rest *rest) {
    (void)rest;
    const struct code_options *opt = options;
    struct err err = {0};
    char home[CLI_PATH_MAX];
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    struct code_config code = {
        .home = home,
        .face = profile_find(slice_str(profile_names[opt->profile])),
        .common = &profile_native,
        .min_tier = (int)opt->min_tier,
        .wait_ms = opt->wait_ms,
        .bash = opt->bash,
    };
    const char *hosts[EGRESS_RULES_MAX];
    cleanup_arena struct arena a;
    arena_init(&a);
    code.packages = split_packages(opt->packages, &a);
    code.network_allow = hosts;
    if (hosts_split(opt->network, &a, hosts, &code.network_allow_count, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    struct gate_config config = {
        .policy_path = opt->policy,
        .transport = GATE_STDIO,
        .code = &code,
        .home = home,
        .state_dir = home,
    };
    char dir[PATH_MAX];
    if (opt->dir && !realpath(opt->dir, dir)) {
        err_set(&err, "--dir %s: %s", opt->dir, strerror(errno));
        return cli_fail(CLI_CONFIG, &err);
    }
    code.dir = opt->dir ? dir : NULL;
    if (opt->client_files.count &&
        settings_load(NULL, opt->client_files.items, opt->client_files.count, &config.settings, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    int status = CLI_CONFIG;
    if (gate_run(&config, &status, &err) < 0)
        return cli_fail((enum cli_exit)status, &err);
    return status;
}

static const char *const code_synopses[] = {"code [-c POLICY] [options]", NULL};

static const struct cli_example code_examples[] = {
    {"sallyport code", "tools to run code, for a client that starts servers on stdio"},
    {"sallyport code --profile code-execution-mcp", "the same engine with the tools of Code Execution MCP"},
    {"sallyport code --mcp-config .mcp.json --dir .",
     "code that calls the tools of a project's servers and works on its files"},
    {"sallyport code --network api.github.com:443", "code may connect to one host"},
    {0},
};

const struct cli_command cli_code = {
    .name = "code",
    .summary = "run the built-in code server on stdio",
    .detail =
        "An MCP server that runs Python, TypeScript and JavaScript in a sandbox of the operating system, "
        "keeps files, "
        "skills and background jobs, and lets code call tools. It runs behind the same gate as any other "
        "server: with -c, a policy decides each call.\n\nFiles and skills are kept below the home directory, "
        "in `code`.",
    .synopses = code_synopses,
    .options = code_rows,
    .options_size = sizeof(struct code_options),
    .examples = code_examples,
    .run = code_run_server,
};
