#include "cli/policy_file.h"

#include "base/mem.h"
#include "cli/ask.h"
#include "cli/toollist.h"
#include "policy/schema.h"
#include "privacy/privacy_rules.h"
#include "risk/lockfile.h"
#include "wire/emit.h"

#include <stdio.h>
#include <unistd.h>

struct validate_options {
    const char *config;
    const char *pii_rules;
    const char *tools_json;
    const char *lock;
    bool json;
    bool lint;
};

static const struct cli_option validate_rows[] = {
    {CLI_TEXT(struct validate_options, config), .name = "config", .letter = 'c', .argument = "POLICY",
     .required = true, .help = "the policy file, YAML or JSON in either dialect; - for stdin"},
    {CLI_SWITCH(struct validate_options, lint), .name = "lint",
     .help = "also warn about rules that cannot match or miss calls that they are meant for"},
    {CLI_TEXT(struct validate_options, tools_json), .name = "tools-json", .argument = "FILE",
     .help = "with --lint: compare conditions with the schemas of these tools, a tools/list result"},
    {CLI_TEXT(struct validate_options, lock), .name = "lock", .argument = "FILE", .fallback = RISK_LOCK_NAME,
     .help = "with --lint: the same with the accepted definitions of this lock file, if there is one"},
    {CLI_TEXT(struct validate_options, pii_rules), .name = "pii-rules", .argument = "FILE",
     .help = "rules with kinds of personal data of your own, as the gate has them"},
    {CLI_SWITCH(struct validate_options, json), .name = "json", .help = "print JSON with positions"},
    {0},
};

static const struct cli_example validate_examples[] = {
    {"sallyport validate -c policy.yaml", "say whether the policy is valid"},
    {"sallyport validate -c policy.yaml --lint", "and print warnings"},
    {"sallyport validate -c policy.yaml --lint --tools-json tools.json",
     "and which conditions do not fit the tools"},
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

/* stderr gets everything: place, message and advice on one line. stdout gets the bare message for
 * programs, unless both are the same terminal. */
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

static bool is_own_kind(const struct pii_rules *rules, struct slice name) {
    for (size_t i = 0; i < rules->custom_count; i++)
        if (slice_is(name, rules->custom[i].name))
            return true;
    return false;
}

/* A rule about an unknown kind would refuse every call, or none. */
static void check_kinds(const struct policy *p, const struct pii_rules *rules,
                        struct policy_problems *problems) {
    struct policy_problem place;
    for (size_t i = 0; policy_kind_at(p, i, &place); i++)
        if (pii_kind_from(place.text) < 0 && !is_own_kind(rules, place.text))
            policy_kind_unknown(
                &place, SLICE("see `sallyport help pii`; kinds of your own stand in a file for --pii-rules"),
                problems);
}

/* ---- the tools that the policy is for ---- */

struct tool_lint {
    const struct policy *policy;
    struct policy_problems *problems;
};

/* `scan` reports schemas that cannot be read. */
static void lint_schema(const struct tool_lint *l, struct slice server, struct slice name,
                        struct slice schema) {
    struct policy_schema *compiled = NULL;
    struct err err;
    if (policy_schema_compile(schema, &compiled, &err) < 0)
        return;
    policy_lint_types(l->policy, &(struct policy_lint_tool){name, server, compiled}, l->problems);
    policy_schema_free(compiled);
}

static void lint_pinned(void *ctx, const struct risk_pinned *pinned) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (pinned->kind != RISK_PIN_TOOL || tape_parse(&t, pinned->definition, NULL) != TAPE_OK)
        return;
    const uint32_t schema = tape_get_str(&t, 0, "inputSchema");
    if (schema)
        lint_schema(ctx, pinned->server, pinned->name, tape_raw(&t, schema));
}

static int lint_lock(struct tool_lint *l, const char *path, struct err *err) {
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_arena struct arena a;
    arena_init(&a);
    if (cli_lock_read(path, &lock, err) < 0)
        return -1;
    risk_lock_each(lock, &a, lint_pinned, l);
    return 0;
}

static int lint_list(struct tool_lint *l, const char *path, struct err *err) {
    cleanup_toollist struct cli_toollist list;
    cli_toollist_init(&list);
    if (cli_toollist_read(&list, path, err) < 0)
        return -1;
    TAPE_FOR_ELEM(&list.tape, list.tools, tool) {
        const uint32_t name = tape_get_str(&list.tape, tool, "name");
        const uint32_t schema = tape_get_str(&list.tape, tool, "inputSchema");
        if (name && schema)
            lint_schema(l, (struct slice){0}, tape_text(&list.tape, name, &list.arena),
                        tape_raw(&list.tape, schema));
    }
    return 0;
}

static int lint_tools(const struct validate_options *opt, const struct policy *policy,
                      struct policy_problems *problems, struct err *err) {
    struct tool_lint l = {policy, problems};
    return opt->tools_json ? lint_list(&l, opt->tools_json, err) : lint_lock(&l, opt->lock, err);
}

static int validate_run(const void *options, const struct cli_rest *rest) {
    const struct validate_options *opt = options;
    (void)rest;
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    policy_problems_init(&problems);
    cleanup_free struct pii_rules *rules = mem_zalloc(sizeof(*rules));
    struct err err = {0};
    arena_init(&rules->arena);
    if (opt->pii_rules && privacy_rules_load(opt->pii_rules, rules, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    bool valid = cli_policy_load(opt->config, &policy, &problems) == 0;
    if (valid) {
        const size_t before = problems.count;
        check_kinds(policy, rules, &problems);
        valid = problems.count == before;
    }
    arena_free(&rules->arena);
    if (valid && opt->lint)
        policy_lint(policy, &problems);
    if (valid && opt->lint && lint_tools(opt, policy, &problems, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
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
