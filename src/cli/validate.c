#include "cli/policy_file.h"

#include "wire/emit.h"

#include <stdio.h>
#include <unistd.h>

struct validate_options {
    const char *config;
    bool json;
    bool lint;
};

static const struct cli_option validate_rows[] = {
    {CLI_TEXT(struct validate_options, config), .name = "config", .letter = 'c', .argument = "POLICY",
     .required = true, .help = "the policy file, YAML or JSON in either dialect; - for stdin"},
    {CLI_SWITCH(struct validate_options, lint), .name = "lint",
     .help = "also warn about rules that cannot fire or miss what they mean"},
    {CLI_SWITCH(struct validate_options, json), .name = "json", .help = "print JSON with positions"},
    {0},
};

static const struct cli_example validate_examples[] = {
    {"sallyport validate -c policy.yaml", "say whether the policy is valid"},
    {"sallyport validate -c policy.yaml --lint", "and what is odd about it"},
    {0},
};

static void put_problem(struct emit *e, const struct policy_problem *problem) {
    emit_object(e);
    emit_key(e, "severity");
    emit_cstr(e, problem->severity == POLICY_ERROR ? "error" : "warning");
    emit_key(e, "text");
    emit_str(e, problem->text);
    if (problem->line) {
        emit_key(e, "line");
        emit_int(e, problem->line);
        emit_key(e, "column");
        emit_int(e, problem->column);
    }
    if (problem->pointer.len) {
        emit_key(e, "pointer");
        emit_str(e, problem->pointer);
    }
    if (problem->hint.len) {
        emit_key(e, "hint");
        emit_str(e, problem->hint);
    }
    emit_object_end(e);
}

static int put_json(const char *file, bool valid, const struct policy_problems *problems) {
    cleanup_buf struct buf out;
    struct emit e;
    buf_init(&out, CLI_TEXT_MAX);
    emit_init(&e, &out);
    emit_object(&e);
    emit_key(&e, "file");
    emit_cstr(&e, file);
    emit_key(&e, "valid");
    emit_bool(&e, valid);
    emit_key(&e, "problems");
    emit_array(&e);
    for (size_t i = 0; i < problems->count; i++)
        put_problem(&e, &problems->items[i]);
    emit_array_end(&e);
    emit_object_end(&e);
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

/* stderr has it all: place, message and advice on one line. stdout has the bare message for programs, unless
 * both are the same person's terminal. */
static int put_text(const char *file, bool valid, const struct policy_problems *problems) {
    cleanup_buf struct buf line;
    const bool once = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    buf_init(&line, CLI_TEXT_MAX);
    buf_put_str(&line, "Policy file is valid.\n");
    int status = valid ? cli_print(&line) : CLI_OK;
    for (size_t i = 0; i < problems->count && status == CLI_OK; i++) {
        const struct policy_problem *problem = &problems->items[i];
        const char *severity = problem->severity == POLICY_ERROR ? "Error" : "Warning";
        buf_reset(&line);
        buf_printf(&line, "%s: %.*s\n", severity, SLICE_FMT(problem->text));
        status = once ? CLI_OK : cli_print(&line);
        fputs(file, stderr);
        if (problem->line)
            fprintf(stderr, ":%u:%u", problem->line, problem->column);
        fprintf(stderr, ": %s: %.*s%s%.*s\n", severity, SLICE_FMT(problem->text),
                problem->hint.len ? "; " : "", SLICE_FMT(problem->hint));
    }
    return status;
}

static int validate_run(const void *options, const struct cli_rest *rest) {
    const struct validate_options *opt = options;
    (void)rest;
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    policy_problems_init(&problems);
    bool valid = cli_policy_load(opt->config, &policy, &problems) == 0;
    if (valid && opt->lint)
        policy_lint(policy, &problems);
    int status =
        opt->json ? put_json(opt->config, valid, &problems) : put_text(opt->config, valid, &problems);
    return status != CLI_OK ? status : valid ? CLI_OK : CLI_NO;
}

const struct cli_command cli_validate = {
    .name = "validate",
    .summary = "check a policy file",
    .detail = "Prints `Policy file is valid.` and exits 0, or one `Error: TEXT` line for every mistake and "
              "exits 1. "
              "stderr has each with its place and what may be meant: `FILE:LINE:COLUMN: Error: TEXT; HINT`.",
    .options = validate_rows,
    .options_size = sizeof(struct validate_options),
    .examples = validate_examples,
    .run = validate_run,
};
