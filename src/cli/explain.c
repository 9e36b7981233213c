#include "cli/policy_file.h"

#include "base/clock.h"
#include "base/log.h"
#include "decision/files.h"
#include "policy/memory.h"
#include "policy/trace.h"
#include "privacy/sent.h"
#include "risk/classify.h"
#include "wire/emit.h"

#include <string.h>

struct explain_options {
    const char *config;
    const char *tool;
    const char *args;
    const char *grant;
    const char *class;
    bool json;
};

static const struct cli_option explain_rows[] = {
    {CLI_TEXT(struct explain_options, config), .name = "config", .letter = 'c', .argument = "POLICY",
     .required = true, .help = "the policy file"},
    {CLI_TEXT(struct explain_options, tool), .name = "tool", .argument = "NAME", .required = true,
     .help = "the tool to call"},
    {CLI_TEXT(struct explain_options, args), .name = "args", .argument = "JSON", .fallback = "{}",
     .help = "its arguments, a JSON object"},
    {CLI_TEXT(struct explain_options, grant), .name = "grant", .argument = "NAME",
     .help = "the grant that calls"},
    {CLI_TEXT(struct explain_options, class), .name = "class", .argument = "CLASS",
     .values = "Read Write Execute Destructive Financial",
     .help = "risk class of the tool, for rules that select by it; by default what its name says"},
    {CLI_SWITCH(struct explain_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static const struct cli_example explain_examples[] = {
    {"sallyport explain -c policy.yaml --tool create_charge --args '{\"amount\": 700}'",
     "which rule decides, and why"},
    {0},
};

static void put_line(struct buf *out, const struct policy_trace_line *line) {
    for (uint32_t i = 0; i <= line->depth; i++)
        buf_put_str(out, "  ");
    switch (line->kind) {
    case POLICY_TRACE_NOTE:
        buf_printf(out, "tool is %.*s: %s\n", SLICE_FMT(line->what), line->answer);
        break;
    case POLICY_TRACE_CHECK:
        buf_printf(out, "%.*s \"%.*s\" (%.*s): %s\n", SLICE_FMT(line->op), SLICE_FMT(line->what),
                   SLICE_FMT(line->pointer), line->answer);
        break;
    case POLICY_TRACE_GROUP:
        buf_printf(out, "%.*s: %s\n", SLICE_FMT(line->what), line->answer);
        break;
    case POLICY_TRACE_LEAF:
        buf_printf(out, "%.*s %.*s %.*s: %s, it is %.*s\n", SLICE_FMT(line->path), SLICE_FMT(line->op),
                   SLICE_FMT(line->want), line->answer,
                   SLICE_FMT(line->got.len ? line->got : SLICE("absent")));
        break;
    case POLICY_TRACE_LIMIT:
        buf_printf(out, "limit \"%.*s\" (%.*s): counts %.*s towards %.*s of %.*s\n", SLICE_FMT(line->what),
                   SLICE_FMT(line->pointer), SLICE_FMT(line->got), SLICE_FMT(line->want),
                   SLICE_FMT(line->path));
        break;
    }
}

static void put_json(struct buf *out, const struct policy_trace *trace, const struct policy_verdict *v,
                     struct slice text) {
    struct emit e;
    emit_init(&e, out);
    policy_trace_json(&e, trace, v, text);
    buf_put_char(out, '\n');
}

static void put_tree(struct buf *out, const struct explain_options *opt, const struct policy_trace *trace,
                     const struct policy_verdict *v, struct slice text) {
    buf_printf(out, "%s %s: %s", opt->tool, opt->args, policy_outcome_name(v->outcome));
    if (v->rule.len)
        buf_printf(out, " by %.*s", SLICE_FMT(v->rule));
    buf_put_char(out, '\n');
    if (text.len)
        buf_printf(out, "  the agent reads: %.*s\n", SLICE_FMT(text));
    if (v->detail.len)
        buf_printf(out, "  because: %.*s\n", SLICE_FMT(v->detail));
    for (size_t i = 0; i < trace->count; i++)
        put_line(out, &trace->lines[i]);
}

/* A server's definition is more precise than a name; but rules about classes should match without one. */
static enum policy_class class_by_name(const struct explain_options *opt, struct arena *a) {
    cleanup_buf struct buf list;
    cleanup_tape struct tape t;
    tape_init(&t);
    buf_init(&list, CLI_TEXT_MAX);
    buf_put_str(&list, "[{\"name\":");
    emit_quote(&list, slice_str(opt->tool));
    buf_put_str(&list, "}]");
    if (tape_parse(&t, buf_slice(&list), NULL) != TAPE_OK)
        return POLICY_CLASS_UNKNOWN;
    struct risk_toolset ctx;
    struct risk_report report;
    risk_toolset_read(&t, 0, (struct slice){0}, a, &ctx);
    risk_classify(&ctx, &t, 1, a, &report);
    log_info("`%s` counts as %s, judged by its name alone; set another class with --class", opt->tool,
             risk_class_name(report.cls));
    return (enum policy_class)report.cls;
}

static int explain_call(const struct explain_options *opt, const struct policy *policy,
                        const struct tape *args) {
    cleanup_arena struct arena arena;
    cleanup_memory struct policy_memory memory;
    cleanup_buf struct buf out;
    arena_init(&arena);
    policy_memory_init(&memory);
    buf_init(&out, CLI_TEXT_MAX);
    memory.now_ms = clock_wall_ms();
    struct policy_counters counters = policy_memory_counters(&memory);
    struct policy_facts facts = {
        .method = SLICE("tools/call"),
        .tool = slice_str(opt->tool),
        .grant = slice_str(opt->grant),
        .tape = args,
        .args = 1, /* the array around them is ours */
        .now_ms = memory.now_ms,
        .counters = &counters,
        .files = &files_system,
        .detector = sent_detector_alone(),
        .traits = {.class = opt->class                    ? policy_class_from(slice_str(opt->class))
                            : policy_wants_traits(policy) ? class_by_name(opt, &arena)
                                                          : POLICY_CLASS_UNKNOWN},
    };
    struct policy_trace trace = {.arena = &arena};
    struct policy_verdict verdict;
    policy_decide(policy, &facts, &arena, &trace, &verdict);
    uint64_t retry_ms = 0;
    const struct policy_limit *refused = NULL;
    if (verdict.outcome != POLICY_DENY)
        refused = policy_memory_reserve(&memory, &verdict, &arena, &retry_ms);
    if (refused)
        policy_refuse(refused, retry_ms, &arena, &verdict);
    struct slice text = policy_verdict_text(policy, &verdict, &arena);
    if (opt->json)
        put_json(&out, &trace, &verdict, text);
    else
        put_tree(&out, opt, &trace, &verdict, text);
    int status = cli_print(&out);
    return status != CLI_OK ? status : verdict.outcome == POLICY_ALLOW ? CLI_OK : CLI_NO;
}

static int explain_run(const void *options, const struct cli_rest *rest) {
    const struct explain_options *opt = options;
    (void)rest;
    cleanup_problems struct policy_problems problems;
    cleanup_policy struct policy *policy = NULL;
    cleanup_tape struct tape args;
    cleanup_buf struct buf text;
    policy_problems_init(&problems);
    tape_init(&args);
    buf_init(&text, CLI_TEXT_MAX);
    if (opt->class && policy_class_from(slice_str(opt->class)) == POLICY_CLASS_UNKNOWN) {
        struct err err;
        err_set(&err, "--class %s: must be Read, Write, Execute, Destructive or Financial", opt->class);
        return cli_fail(CLI_USAGE, &err);
    }
    if (cli_policy_load(opt->config, &policy, &problems) < 0) {
        struct err err;
        cli_policy_fault(opt->config, &problems, &err);
        return cli_fail(CLI_CONFIG, &err);
    }
    buf_printf(&text, "[%s]", opt->args);
    enum tape_fault fault = tape_parse(&args, buf_slice(&text), NULL);
    if (fault != TAPE_OK || tape_node(&args, 0)->count != 1 || !tape_is(&args, 1, TAPE_OBJECT)) {
        struct err err;
        err_set(&err, "--args: %s", fault != TAPE_OK ? tape_fault_text(fault) : "must be a JSON object");
        return cli_fail(CLI_USAGE, &err);
    }
    return explain_call(opt, policy, &args);
}

const struct cli_command cli_explain = {
    .name = "explain",
    .summary = "show how a policy decides one call",
    .detail = "Prints the evaluated rules, each condition with its value, and the verdict. "
              "Counters start at zero. Exits 0 when the call would be allowed, else 1.",
    .options = explain_rows,
    .options_size = sizeof(struct explain_options),
    .examples = explain_examples,
    .run = explain_run,
};
