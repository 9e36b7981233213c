/* Evaluates another policy over the recorded calls and reports the differences. */
#include "record/rejudge.h"

#include "base/mem.h"
#include "cli/limits.h"
#include "cli/policy_file.h"
#include "cli/when.h"
#include "wire/emit.h"

#define REPLAY_OUT_MAX (64u << 20)

struct replay_options {
    const char *config;
    const char *since, *until, *server, *grant;
    bool json;
};

static const struct cli_option replay_rows[] = {
    {CLI_TEXT(struct replay_options, config), .name = "config", .letter = 'c', .argument = "POLICY",
     .required = true, .help = "the candidate policy"},
    {CLI_TEXT(struct replay_options, since), .name = "since", .argument = "TIME",
     .help = "calls from then on: " CLI_WHEN_HELP},
    {CLI_TEXT(struct replay_options, until), .name = "until", .argument = "TIME",
     .help = "calls before this time"},
    {CLI_TEXT(struct replay_options, server), .name = "server", .argument = "NAME",
     .help = "only calls to this server; a `*` at the end matches any ending"},
    {CLI_TEXT(struct replay_options, grant), .name = "grant", .argument = "NAME",
     .help = "only calls under this grant"},
    {CLI_SWITCH(struct replay_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static int replay_print(struct rejudge *r, bool json) {
    cleanup_buf struct buf out;
    buf_init(&out, REPLAY_OUT_MAX);
    if (json) {
        struct emit e;
        emit_init(&e, &out);
        rejudge_json(r, &e);
        buf_put_char(&out, '\n');
    } else {
        rejudge_text(r, &out);
    }
    return cli_print(&out);
}

static int replay_run(const void *options, const struct cli_rest *rest) {
    const struct replay_options *opt = options;
    struct err err = {0};
    char home[CLI_PATH_MAX];
    struct rejudge_scope scope = {.server = slice_str(opt->server), .grant = slice_str(opt->grant)};
    (void)rest;
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    policy_problems_init(&problems);
    if (cli_policy_load(opt->config, &policy, &problems) < 0) {
        cli_policy_fault(opt->config, &problems, &err);
        return cli_fail(CLI_CONFIG, &err);
    }
    if (cli_when("since", opt->since, &scope.since_us, &err) < 0 ||
        cli_when("until", opt->until, &scope.until_us, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    if (cli_home_unused(home)) {
        err_set(&err, "no audit log yet in `%s`: there are no calls to replay", home);
        return cli_fail(CLI_NO, &err);
    }
    struct rejudge *r = NULL;
    if (rejudge_log(home, policy, &scope, &r, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    int status = replay_print(r, opt->json);
    rejudge_free(r);
    return status;
}

static const struct cli_example replay_examples[] = {
    {"sallyport replay -c stricter.yaml --since 7d",
     "what a stricter policy would have done to the last week's calls"},
    {"sallyport replay -c files.yaml --server files --grant ci --since yesterday",
     "a policy for one server, over the calls of one grant"},
    {0},
};

const struct cli_command cli_replay = {
    .name = "replay",
    .summary = "run another policy over the recorded calls and show what would change",
    .detail =
        "Uses arguments where they were recorded (audit: arguments: full). Where they were not, calls that a "
        "rule would have to look into are counted as not judged, with that rule. Limits are replayed with "
        "the "
        "recorded times; concurrency is not.",
    .options = replay_rows,
    .options_size = sizeof(struct replay_options),
    .examples = replay_examples,
    .run = replay_run,
};
