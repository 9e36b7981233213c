/* scan: classifies a server's tools. */
#include "cli/scan.h"

#include "base/mem.h"
#include "io/file.h"

static const char *const formats[] = {"auto",        "table", "json", "sarif", "intercept",
                                      "policylayer", "html",  "md",   NULL};

static const struct cli_option scan_rows[] = {
    CLI_ASK_ROWS(struct scan_options),
    {CLI_SWITCH(struct scan_options, ask.no_start), .name = "no-start",
     .help = "with --mcp-config: only show where the programs come from"},
    {CLI_TEXT(struct scan_options, output), .name = "output", .letter = 'o', .argument = "FILE",
     .help =
         "write there; without --format a policy for Intercept; with --mcp-config and policies a directory"},
    {CLI_TEXT(struct scan_options, save), .name = "save", .argument = "FILE",
     .help = "keep the server's answer, to be read again with --tools-json"},
    {CLI_CHOICE(struct scan_options, format), .name = "format", .choices = formats, .fallback = "auto",
     .help = "how to write it"},
    {CLI_LIST(struct scan_options, fail_on), .name = "fail-on", .argument = "WHAT",
     .values = "read write execute destructive financial low medium high critical drift poison",
     .help = "exit 1 on a class (read ... financial), a severity (low ... critical), drift or poison"},
    {CLI_TEXT(struct scan_options, lock), .name = "lock", .argument = "FILE", .fallback = RISK_LOCK_NAME,
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
                   "--fail-on %s: must be read, write, execute, destructive, financial, low, medium, high, "
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
        return s->poisoned > 0 || s->impostor.refuse;
    return class_fires(s, alarm);
}

static int check_alarms(const struct scan_options *opt, const struct risk_survey *s) {
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

/* ---- the work ---- */

static void add_names(struct map *names, struct cli_toollist *list) {
    TAPE_FOR_ELEM(&list->tape, list->tools, tool) {
        uint32_t name = tape_is(&list->tape, tool, TAPE_OBJECT) ? tape_get_str(&list->tape, tool, "name") : 0;
        if (name && tape_is(&list->tape, name, TAPE_STRING))
            map_put(names, tape_text(&list->tape, name, &list->arena), list);
    }
}

void cli_scan_survey(struct cli_asking *asking, const struct risk_lock *lock, struct risk_survey *surveys) {
    for (size_t i = 0; i < asking->count; i++) {
        struct cli_asked *a = &asking->asked[i];
        if (!a->listed)
            continue;
        struct map others;
        map_init(&others);
        for (size_t k = 0; k < asking->count; k++)
            if (k != i && asking->asked[k].listed)
                add_names(&others, &asking->asked[k].list);
        struct risk_survey_input in = {.t = &a->list.tape,
                                       .tools = a->list.tools,
                                       .skills = a->list.skills,
                                       .server = a->list.server,
                                       .registry = a->list.registry,
                                       .package = a->list.package,
                                       .version = a->list.version,
                                       .instructions = a->list.instructions,
                                       .lock = lock,
                                       .others = &others};
        risk_survey_run(&in, &a->list.arena, &surveys[i]);
        surveys[i].in.others = NULL;
        map_free(&others);
    }
}

/* The worst exit status of all: no, then failed, then ok. */
static int status_of(const struct scan_options *opt, const struct cli_asking *asking,
                     const struct risk_survey *surveys) {
    int status = CLI_OK;
    for (size_t i = 0; i < asking->count; i++) {
        const struct cli_asked *a = &asking->asked[i];
        if (a->server->impostor.refuse || (a->listed && check_alarms(opt, &surveys[i]) == CLI_NO))
            return CLI_NO;
        if (!a->listed && !opt->ask.no_start)
            status = CLI_FAILED;
    }
    return status;
}

static int save_answer(const struct scan_options *opt, const struct cli_asking *asking, struct err *err) {
    if (asking->many)
        return err_set(err, "--save works for one server only");
    return io_file_write(opt->save, buf_slice(&asking->asked[0].list.text), err);
}

static int scan_run(const void *options, const struct cli_rest *rest) {
    const struct scan_options *opt = options;
    struct err err = {0};
    int usage = check_alarms(opt, NULL);
    if (usage)
        return usage;
    cleanup_asking struct cli_asking asking;
    cli_asking_init(&asking);
    cleanup_lock struct risk_lock *lock = NULL;
    if (cli_lock_read(opt->lock, &lock, &err))
        return cli_fail(CLI_CONFIG, &err);
    enum cli_exit asked = cli_ask(&asking, &opt->ask, rest, &err);
    if (asked != CLI_OK)
        return cli_fail(asked, &err);
    if (opt->save && save_answer(opt, &asking, &err))
        return cli_fail(CLI_CONFIG, &err);
    struct risk_survey *surveys = arena_array(&asking.config.arena, struct risk_survey, asking.count + 1);
    cli_scan_survey(&asking, lock, surveys);
    int status = cli_scan_write(opt, &asking, surveys);
    return status ? status : status_of(opt, &asking, surveys);
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
    {"sallyport scan --no-network -- npx -y some-server@1.2.3",
     "the same, without network access for the server"},
    {"sallyport scan --mcp-config .mcp.json", "all servers of a client together"},
    {"sallyport scan --mcp-config .mcp.json --format intercept -o policies",
     "a policy for each of them, as policies/NAME.yaml"},
    {"sallyport scan --tools-json tools.json --format sarif --fail-on poison --fail-on drift",
     "for a CI job"},
    {0},
};

const struct cli_command cli_scan = {
    .name = "scan",
    .summary = "classify a server's tools and write a policy that fits",
    .detail =
        "Everything is decided on this machine, by rules that give their reason. Definitions that carry "
        "instructions are marked "
        "with `!` and left out of the policy, so that its default refuses them.",
    .synopses = scan_synopses,
    .options = scan_rows,
    .options_size = sizeof(struct scan_options),
    .takes_command = true,
    .examples = scan_examples,
    .run = scan_run,
};
