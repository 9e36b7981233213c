/* scan: what can a server's tools do? */
#include "cli/scan.h"
#include "cli/toollist.h"

#include "base/mem.h"
#include "risk/glyph.h"

#include <signal.h>
#include <stdio.h>

static const char *const formats[] = {"auto", "table", "json", "sarif", "intercept", "policylayer", NULL};

static const struct cli_option scan_rows[] = {
    {CLI_TEXT(struct scan_options, tools_json), .name = "tools-json", .argument = "FILE",
     .help = "a tools/list result or an array of tools; - for stdin"},
    {CLI_TEXT(struct scan_options, upstream), .name = "upstream", .argument = "URL",
     .help = "a server that speaks HTTP"},
    {CLI_LIST(struct scan_options, headers), .name = "header", .argument = "H",
     .help = "for --upstream, repeatable"},
    {CLI_TEXT(struct scan_options, mcp_config), .name = "mcp-config", .argument = "FILE",
     .help = "every server of a client's configuration"},
    {CLI_SWITCH(struct scan_options, no_start), .name = "no-start",
     .help = "with --mcp-config: only say where the programs come from"},
    {CLI_TEXT(struct scan_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help = "write there; without --format a policy for Intercept"},
    {CLI_CHOICE(struct scan_options, format), .name = "format", .choices = formats, .fallback = "auto",
     .help = "how to write it"},
    {CLI_DURATION(struct scan_options, timeout_ms), .name = "timeout", .argument = "TIME", .fallback = "30s",
     .help = "for a server to answer"},
    {CLI_LIST(struct scan_options, fail_on), .name = "fail-on", .argument = "WHAT",
     .help = "exit 1 on a class (read ... financial), a severity (low ... critical), drift or poison; "
             "repeatable"},
    {CLI_TEXT(struct scan_options, lock), .name = "lock", .argument = "FILE", .fallback = "sallyport.lock",
     .help = "accepted definitions to compare with, if it exists"},
    {0},
};

/* ---- --fail-on ---- */

struct alarm {
    enum risk_class cls; /* RISK_NONE: by severity */
    enum risk_severity severity;
    bool drift, poison;
};

static int read_alarm(const char *word, struct alarm *ret_alarm, struct err *err) {
    *ret_alarm = (struct alarm){.cls = risk_class_from(slice_str(word))};
    if (ret_alarm->cls != RISK_NONE) {
        ret_alarm->severity = risk_class_severity(ret_alarm->cls);
        return 0;
    }
    ret_alarm->drift = strcmp(word, "drift") == 0;
    ret_alarm->poison = strcmp(word, "poison") == 0;
    if (ret_alarm->drift || ret_alarm->poison)
        return 0;
    for (int s = RISK_LOW; s <= RISK_CRITICAL; s++) {
        if (strcmp(word, risk_severity_name((enum risk_severity)s)) != 0)
            continue;
        ret_alarm->severity = (enum risk_severity)s;
        return 0;
    }
    return err_set(err,
                   "--fail-on %s: want read, write, execute, destructive, financial, low, medium, high, "
                   "critical, drift or poison",
                   word);
}

/* That class itself, or anything more severe. */
static bool class_fires(const struct risk_survey *s, const struct alarm *alarm) {
    for (size_t i = 0; i < s->count; i++) {
        const struct risk_report *r = &s->tools[i].entry.report;
        if (alarm->cls != RISK_NONE ? r->cls == alarm->cls || r->severity > alarm->severity
                                    : r->severity >= alarm->severity)
            return true;
    }
    return false;
}

static bool alarm_fires(const struct risk_survey *s, const struct alarm *alarm) {
    if (alarm->drift)
        return s->drifted > 0;
    if (alarm->poison)
        return s->poisoned > 0 || s->impostor.len;
    return class_fires(s, alarm);
}

/* ---- the table ---- */

static const char *colour_of(enum risk_severity severity) {
    static const char *const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[31m"};
    return colours[severity];
}

static void table_row(const struct risk_surveyed *tool, int width, bool colour, struct arena *a,
                      struct buf *out) {
    const struct risk_report *r = &tool->entry.report;
    struct slice name = risk_printable(tool->entry.name, 48, a);
    buf_printf(out, "%-*.*s  ", width, SLICE_FMT(name));
    buf_printf(out, "%s%-11s%s  %-8s  %3u%%  %6u  ", colour ? colour_of(r->severity) : "",
               risk_class_name(r->cls), colour ? "\x1b[0m" : "", risk_severity_name(r->severity),
               r->confidence, tool->entry.tokens);
    bool any = false;
    for (unsigned i = 0; i < RISK_TAGS; i++) {
        if (!(r->tags & 1u << i))
            continue;
        buf_printf(out, "%s%s", any ? "," : "", risk_tag_name(i));
        any = true;
    }
    for (size_t i = 0; i < tool->findings.count; i++)
        buf_printf(out, " %s%s", tool->entry.refuse ? "!" : "",
                   risk_detector_id(tool->findings.items[i].detector));
    if (r->hint_mismatch)
        buf_put_str(out, " hint-mismatch");
    if (tool->pin.pin != RISK_PIN_OK || tool->differs)
        buf_put_str(out, " drift");
    buf_put_char(out, '\n');
}

static void table_findings(const struct risk_survey *s, struct buf *out) {
    for (size_t i = 0; i < s->instructions.count; i++)
        buf_printf(out, "instructions: %s %s: %.*s\n", risk_detector_id(s->instructions.items[i].detector),
                   risk_detector_name(s->instructions.items[i].detector),
                   SLICE_FMT(s->instructions.items[i].text));
    for (size_t i = 0; i < s->count; i++) {
        const struct risk_surveyed *tool = &s->tools[i];
        for (size_t k = 0; tool->entry.refuse && k < tool->findings.count; k++)
            buf_printf(out, "%.*s: %s %s in %.*s: %.*s\n", SLICE_FMT(tool->entry.name),
                       risk_detector_id(tool->findings.items[k].detector),
                       risk_detector_name(tool->findings.items[k].detector),
                       SLICE_FMT(tool->findings.items[k].where), SLICE_FMT(tool->findings.items[k].text));
        if (tool->pin.pin != RISK_PIN_OK)
            buf_printf(out, "%.*s\n", SLICE_FMT(tool->pin.reason));
    }
    if (s->impostor.len)
        buf_printf(out, "The package name is close to the known package %.*s: an impostor?\n",
                   SLICE_FMT(s->impostor));
}

void cli_scan_table(const struct risk_survey *s, bool colour, struct arena *a, struct buf *out) {
    size_t width = 4;
    for (size_t i = 0; i < s->count; i++)
        width = s->tools[i].entry.name.len > width ? s->tools[i].entry.name.len : width;
    width = width < 48 ? width : 48;
    buf_printf(out, "%-*s  %-11s  %-8s  %4s  %6s  %s\n", (int)width, "TOOL", "CLASS", "SEVERITY", "SURE",
               "TOKENS", "TAGS, FINDINGS");
    for (int cls = RISK_CLASSES - 1; cls >= RISK_READ; cls--)
        for (size_t i = 0; i < s->count; i++)
            if (s->tools[i].entry.report.cls == (enum risk_class)cls)
                table_row(&s->tools[i], (int)width, colour, a, out);
    size_t changing = s->count - s->by_class[RISK_READ];
    buf_printf(out, "\n%zu tool%s. %zu can modify or destroy data.\n", s->count, s->count == 1 ? "" : "s",
               changing);
    buf_printf(out, "Read (%zu)  Write / Execute (%zu)  Destructive / Financial (%zu)\n",
               s->by_class[RISK_READ], s->by_class[RISK_WRITE] + s->by_class[RISK_EXECUTE],
               s->by_class[RISK_DESTRUCTIVE] + s->by_class[RISK_FINANCIAL]);
    buf_printf(out, "The definitions cost about %llu tokens in every conversation.\n",
               (unsigned long long)s->tokens);
    table_findings(s, out);
}

/* ---- the work ---- */

static void write_survey(const struct risk_survey *s, const struct scan_options *opt, enum scan_format format,
                         struct arena *a, struct buf *out) {
    switch (format) {
    case FORMAT_JSON:
        risk_survey_json(s, a, out);
        return;
    case FORMAT_SARIF:
        risk_survey_sarif(s, SALLYPORT_VERSION, slice_str(opt->tools_json ? opt->tools_json : "tools/list"),
                          a, out);
        return;
    case FORMAT_INTERCEPT:
        risk_survey_policy(s, RISK_DIALECT_INTERCEPT, a, out);
        return;
    case FORMAT_POLICYLAYER:
        risk_survey_policy(s, RISK_DIALECT_POLICYLAYER, a, out);
        return;
    case FORMAT_AUTO:
    case FORMAT_TABLE:
        cli_scan_table(s, !opt->output && cli_colour(STDOUT_FILENO), a, out);
        return;
    }
}

int cli_scan_lock(const char *path, struct risk_lock **ret_lock, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    bool missing;
    if (cli_file_read(path, &text, &missing, err) && !missing)
        return -1;
    return risk_lock_load(missing ? (struct slice){0} : buf_slice(&text), ret_lock, err)
               ? err_wrap(err, "read `%s`", path)
               : 0;
}

int cli_scan_alarms(const struct scan_options *opt, const struct risk_survey *s) {
    struct err err = {0};
    bool fires = false;
    for (size_t i = 0; i < opt->fail_on.count; i++) {
        struct alarm alarm;
        if (read_alarm(opt->fail_on.items[i], &alarm, &err))
            return cli_fail(CLI_USAGE, &err);
        fires |= s && alarm_fires(s, &alarm);
    }
    return fires ? CLI_NO : CLI_OK;
}

int cli_scan_deliver(const struct scan_options *opt, const struct buf *out) {
    struct err err = {0};
    if (out->full) {
        err_set(&err, "the result is larger than %zu bytes", out->max);
        return cli_fail(CLI_FAILED, &err);
    }
    if (!opt->output)
        return out->len ? cli_print(out) : CLI_OK;
    return cli_file_write(opt->output, buf_slice(out), &err) ? cli_fail(CLI_FAILED, &err) : CLI_OK;
}

static int scan_list(const struct scan_options *opt, struct cli_toollist *list, struct err *err) {
    cleanup_lock struct risk_lock *lock = NULL;
    if (cli_scan_lock(opt->lock, &lock, err))
        return cli_fail(CLI_CONFIG, err);
    struct risk_survey_input in = {.t = &list->tape,
                                   .tools = list->tools,
                                   .server = list->server,
                                   .package = list->package,
                                   .version = list->version,
                                   .instructions = list->instructions,
                                   .lock = lock};
    struct risk_survey survey;
    risk_survey_run(&in, &list->arena, &survey);
    enum scan_format format = (enum scan_format)opt->format;
    if (format == FORMAT_AUTO)
        format = opt->output ? FORMAT_INTERCEPT : FORMAT_TABLE;
    cleanup_buf struct buf out;
    buf_init(&out, RISK_POLICY_BYTES_MAX);
    write_survey(&survey, opt, format, &list->arena, &out);
    int status = cli_scan_deliver(opt, &out);
    return status ? status : cli_scan_alarms(opt, &survey);
}

static int scan_run(const void *options, const struct cli_rest *rest) {
    const struct scan_options *opt = options;
    struct err err = {0};
    int usage = cli_scan_alarms(opt, NULL);
    if (usage)
        return usage;
    int sources = !!opt->tools_json + !!opt->upstream + !!opt->mcp_config + !!rest->command;
    if (sources != 1) {
        err_set(&err, "give one of --tools-json FILE, --upstream URL, --mcp-config FILE or -- COMMAND");
        return cli_fail(CLI_USAGE, &err);
    }
    if (opt->mcp_config)
        return cli_scan_config(opt);
    cleanup_toollist struct cli_toollist list;
    cli_toollist_init(&list);
    if (opt->tools_json) {
        if (cli_toollist_read(&list, opt->tools_json, &err))
            return cli_fail(CLI_CONFIG, &err);
        return scan_list(opt, &list, &err);
    }
    struct cli_target target = {.command = rest->command,
                                .url = opt->upstream,
                                .headers = opt->headers.items,
                                .header_count = opt->headers.count,
                                .timeout_ms = opt->timeout_ms};
    const char *name = rest->command ? rest->command[0] : opt->upstream;
    if (cli_toollist_ask(&list, &target, &err) || cli_toollist_parse(&list, name, &err))
        return cli_fail(CLI_FAILED, &err);
    return scan_list(opt, &list, &err);
}

static const char *const scan_synopses[] = {
    "scan [options] --tools-json FILE",
    "scan [options] --upstream URL",
    "scan [options] --mcp-config FILE",
    "scan [options] -- CMD ARG...",
    NULL,
};

static const struct cli_example scan_examples[] = {
    {"sallyport scan --tools-json tools.json", "a table of what each tool can do"},
    {"sallyport scan --tools-json tools.json -o policy.yaml", "a policy to begin with"},
    {"sallyport scan -- npx -y some-server@1.2.3", "ask a server that is started for it"},
    {"sallyport scan --mcp-config .mcp.json", "all servers of a client at once"},
    {"sallyport scan --tools-json tools.json --format sarif --fail-on poison --fail-on drift",
     "for a CI job"},
    {0},
};

const struct cli_command cli_scan = {
    .name = "scan",
    .summary = "classify a server's tools and write a policy that fits",
    .detail = "Everything is decided on this machine, by rules that say why. Definitions that carry "
              "instructions are marked "
              "with `!` and left out of the policy, so that its default refuses them.",
    .synopses = scan_synopses,
    .options = scan_rows,
    .options_size = sizeof(struct scan_options),
    .takes_command = true,
    .examples = scan_examples,
    .run = scan_run,
};
