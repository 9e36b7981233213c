#include "cli/command.h"

#include "base/mem.h"
#include "decision/files.h"
#include "policy/simulate.h"
#include "privacy/sent.h"

#include <errno.h>
#include <string.h>

static const struct cli_example simulate_examples[] = {
    {"sallyport simulate cases.jsonl", "the verdict on each call"},
    {0},
};

static int simulate_file(FILE *file, const char *name) {
    cleanup_free char *line = NULL;
    size_t cap = 0;
    ssize_t got;
    struct err err;
    cleanup_buf struct buf out;
    buf_init(&out, POLICY_SIMULATE_LINE_MAX);
    while ((got = getline(&line, &cap, file)) > 0) {
        struct slice text = slice_trim(slice_of(line, (size_t)got));
        if (!text.len)
            continue;
        if (text.len > POLICY_SIMULATE_LINE_MAX) {
            err_set(&err, "a line is longer than %u bytes", POLICY_SIMULATE_LINE_MAX);
            return cli_fail(CLI_USAGE, &err);
        }
        buf_reset(&out);
        policy_simulate_line(text, &files_system, sent_detector_alone(), &out);
        if (cli_print(&out) != CLI_OK)
            return CLI_FAILED;
    }
    if (!ferror(file))
        return CLI_OK;
    err_set(&err, "cannot read `%s`: %s", name, strerror(errno));
    return cli_fail(CLI_USAGE, &err);
}

static int simulate_run(const void *options, const struct cli_rest *rest) {
    (void)options;
    if (rest->operand_count == 0 || strcmp(rest->operands[0], "-") == 0)
        return simulate_file(stdin, "stdin");
    cleanup_file FILE *file = fopen(rest->operands[0], "re");
    if (file)
        return simulate_file(file, rest->operands[0]);
    struct err err;
    err_set(&err, "cannot read `%s`: %s", rest->operands[0], strerror(errno));
    return cli_fail(CLI_USAGE, &err);
}

const struct cli_command cli_simulate = {
    .name = "simulate",
    .summary = "run calls against a policy without a server",
    .detail =
        "Reads JSON lines {\"id\", \"policy\" or \"policy_text\", \"steps\": [{\"call\": {\"name\", "
        "\"arguments\"}}]} "
        "and prints a line of verdicts for each. Every line starts with its own counters; time stands still "
        "except for a step's \"at\". docs/policy.md has the whole format.",
    .operands = "[FILE]",
    .operands_max = 1,
    .examples = simulate_examples,
    .run = simulate_run,
};
