/* sallyport code: the built-in code server alone, on stdio, behind the same gate as any other server. */
#include "cli/command.h"
#include "front/gate.h"
#include "profiles/profile.h"

struct code_options {
    const char *policy;
    int profile;
    uint64_t min_tier;
    uint64_t wait_ms;
    const char *packages;
};

static const struct cli_option code_rows[] = {
    {CLI_TEXT(struct code_options, policy), .name = "config", .letter = 'c', .argument = "POLICY",
     .help = "the policy file (YAML or JSON); without one every tool may be called"},
    {CLI_CHOICE(struct code_options, profile), .name = "profile", .choices = profile_names,
     .fallback = "native", .help = "which tools are shown, with whose schemas and result texts"},
    {CLI_NUMBER(struct code_options, min_tier), .name = "min-tier", .argument = "TIER", .fallback = "1",
     .min = 1, .max = 3, .help = "the weakest sandbox to run code in; see `sallyport doctor`"},
    {CLI_TEXT(struct code_options, packages), .name = "packages", .argument = "NAMES",
     .help = "Python packages that install_package may install, separated by commas; none by default"},
    {CLI_DURATION(struct code_options, wait_ms), .name = "wait", .argument = "TIME", .fallback = "5s",
     .help = "how long a background run is waited for before its job id is answered"},
    {0},
};

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
        .packages = opt->packages,
    };
    struct gate_config config = {
        .policy_path = opt->policy,
        .transport = GATE_STDIO,
        .code = &code,
        .home = home,
        .state_dir = home,
    };
    int status = CLI_CONFIG;
    if (gate_run(&config, &status, &err) < 0)
        return cli_fail((enum cli_exit)status, &err);
    return status;
}

static const char *const code_synopses[] = {"code [-c POLICY] [--profile NAME] [--wait TIME]", NULL};

static const struct cli_example code_examples[] = {
    {"sallyport code", "tools to run code, for a client that starts servers on stdio"},
    {"sallyport code --profile code-execution-mcp", "the same engine with the tools of Code Execution MCP"},
    {0},
};

const struct cli_command cli_code = {
    .name = "code",
    .summary = "run the built-in code server on stdio",
    .detail =
        "An MCP server that runs Python, TypeScript and JavaScript in a sandbox of the operating system, "
        "keeps files, "
        "skills and background jobs, and lets code call tools. It stands behind the same gate as any other "
        "server: with "
        "-c, a policy decides each call.\n\nFiles and skills are kept below the home directory, in `code`.",
    .synopses = code_synopses,
    .options = code_rows,
    .options_size = sizeof(struct code_options),
    .examples = code_examples,
    .run = code_run_server,
};
