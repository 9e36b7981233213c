/* The audit log: verify, query, show, tail, export. */
#include "audit/format.h"
#include "audit/verify.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/audit_fleet.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "cli/when.h"
#include "ship/fleet_log.h"
#include "wire/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#define AUDIT_OUT_MAX (64u << 20) /* one entry, printed */
#define AUDIT_OUT_FLUSH (64u << 10)
#define AUDIT_FOLLOW_MS 200

/* ---- shared ---- */

/* Before the first gate starts there is no log, which is not an error: prints that, and what to do. */
static bool never_used(bool printed) {
    char home[CLI_PATH_MAX];
    if (cli_home(home, NULL) < 0 || !cli_home_unused(home))
        return false;
    if (printed)
        return true;
    log_info("no audit log yet in `%s`: a gate writes it from its first call on. Start one with `sallyport "
             "init` or "
             "`sallyport serve`, or name another home with SALLYPORT_HOME",
             home);
    return true;
}

static int open_log(bool fleet, struct audit_log **ret_log, struct err *err) {
    char home[CLI_PATH_MAX];
    if (cli_home(home, err) < 0)
        return -1;
    return fleet ? ship_fleet_open(home, ret_log, err) : audit_log_open(home, ret_log, err);
}

struct print {
    struct buf out;
    void (*format)(struct buf *out, const struct audit_entry *e);
    size_t count;
    int status;
};

static void format_json_line(struct buf *out, const struct audit_entry *e) {
    audit_format_json(out, e);
    buf_put_char(out, '\n');
}

static void print_flush(struct print *p) {
    if (p->status == CLI_OK && p->out.len > 0)
        p->status = cli_print(&p->out);
    buf_reset(&p->out);
}

static bool print_entry(void *ctx, const struct audit_entry *e) {
    struct print *p = ctx;
    p->format(&p->out, e);
    p->count++;
    if (p->out.len >= AUDIT_OUT_FLUSH)
        print_flush(p);
    return p->status == CLI_OK;
}

/* ---- filters ---- */

struct filter_options {
    const char *since, *until;
    const char *tool, *server, *verdict, *rule, *identity, *session, *grant, *method, *text;
    uint64_t run;
    bool shadow;
    bool fleet;
    const char *gate;
};

#define FLEET_ROWS(type, fleet_member, gate_member)                                                          \
    {CLI_SWITCH(type, fleet_member), .name = "fleet",                                                        \
     .help = "of all gates that ship to the same database, instead of this home"},                           \
    {                                                                                                        \
        CLI_TEXT(type, gate_member), .name = "gate", .argument = "NAME",                                     \
                                     .help = "of this gate of the fleet; needs --fleet"                      \
    }

#define FILTER_ROWS(type)                                                                                    \
    FLEET_ROWS(type, filter.fleet, filter.gate),                                                             \
        {CLI_TEXT(type, filter.since), .name = "since", .argument = "TIME",                                  \
         .help = "from this time on: " CLI_WHEN_HELP},                                                       \
        {CLI_TEXT(type, filter.until), .name = "until", .argument = "TIME", .help = "before this time"},     \
        {CLI_TEXT(type, filter.tool), .name = "tool", .argument = "NAME",                                    \
         .help = "calls of this tool; a `*` at the end matches any ending, here and below"},                 \
        {CLI_TEXT(type, filter.server), .name = "server", .argument = "NAME",                                \
         .help = "calls to this server"},                                                                    \
        {CLI_TEXT(type, filter.verdict), .name = "verdict", .argument = "VERDICT",                           \
         .values = "allow deny approve", .help = "allow, deny or approve"},                                  \
        {CLI_SWITCH(type, filter.shadow), .name = "shadow",                                                  \
         .help = "only calls that a rule or limit in shadow mode would have refused"},                       \
        {CLI_TEXT(type, filter.rule), .name = "rule", .argument = "NAME", .help = "decided by this rule"},   \
        {CLI_TEXT(type, filter.identity), .name = "identity", .argument = "NAME",                            \
         .help = "of this identity; `agent1` finds `grant:agent1`"},                                         \
        {CLI_TEXT(type, filter.session), .name = "session", .argument = "ID", .help = "of this session"},    \
        {CLI_TEXT(type, filter.grant), .name = "grant", .argument = "NAME", .help = "under this grant"},     \
        {CLI_TEXT(type, filter.method), .name = "method", .argument = "NAME", .help = "of this method"},     \
        {CLI_NUMBER(type, filter.run),                                                                       \
         .name = "run",                                                                                      \
         .argument = "CALL",                                                                                 \
         .fallback = "0",                                                                                    \
         .max = INT64_MAX,                                                                                   \
         .help = "a run of code, by the number of its call, and the calls it made"},                         \
    {                                                                                                        \
        CLI_TEXT(type, filter.text), .name = "text", .argument = "WORDS",                                    \
                                     .help = "with all of these words somewhere in the record"               \
    }

static int filter_make(const struct filter_options *o, struct audit_filter *f, struct err *err) {
    const struct {
        enum audit_text text;
        const char *value;
    } rows[] = {
        {AUDIT_TOOL, o->tool},   {AUDIT_SERVER, o->server},     {AUDIT_VERDICT, o->verdict},
        {AUDIT_RULE, o->rule},   {AUDIT_IDENTITY, o->identity}, {AUDIT_SESSION, o->session},
        {AUDIT_GRANT, o->grant}, {AUDIT_METHOD, o->method},
    };
    *f = (struct audit_filter){
        .search = slice_str(o->text), .parent = o->run, .shadowed = o->shadow, .gate = slice_str(o->gate)};
    if (o->gate && !o->fleet)
        return err_set(err, "--gate `%s`: a home has the records of one gate; add --fleet", o->gate);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        f->text[rows[i].text] = slice_str(rows[i].value);
    if (o->verdict && strcmp(o->verdict, "allow") != 0 && strcmp(o->verdict, "deny") != 0 &&
        strcmp(o->verdict, "approve") != 0)
        return err_set(err, "--verdict `%s`: must be one of allow, deny, approve", o->verdict);
    if (cli_when("since", o->since, &f->since_us, err) < 0)
        return -1;
    return cli_when("until", o->until, &f->until_us, err);
}

/* ---- query ---- */

struct query_options {
    struct filter_options filter;
    uint64_t limit;
    bool json;
};

static const struct cli_option query_rows[] = {
    FILTER_ROWS(struct query_options),
    {CLI_NUMBER(struct query_options, limit), .name = "limit", .argument = "N", .fallback = "100",
     .max = 10000000, .help = "at most so many, the newest; 0 for all"},
    {CLI_SWITCH(struct query_options, json), .name = "json", .help = "print JSON, one object a line"},
    {0},
};

static int query_run(const void *options, const struct cli_rest *rest) {
    const struct query_options *opt = options;
    struct err err = {0};
    struct audit_filter filter;
    cleanup_audit_log struct audit_log *log = NULL;
    (void)rest;
    if (filter_make(&opt->filter, &filter, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    filter.limit = opt->limit;
    if (!opt->filter.fleet && never_used(false))
        return CLI_OK;
    if (open_log(opt->filter.fleet, &log, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    struct print p = {.format = opt->json ? format_json_line : audit_format_line};
    buf_init(&p.out, AUDIT_OUT_MAX);
    int rc = audit_log_walk_back(log, &filter, print_entry, &p, &err);
    if (rc == 0 && !p.count)
        log_info("no record matches");
    print_flush(&p);
    buf_free(&p.out);
    return rc < 0 ? cli_fail(CLI_FAILED, &err) : p.status;
}

static const struct cli_example query_examples[] = {
    {"sallyport audit query --verdict deny --since 2h", "what was refused in the last two hours"},
    {"sallyport audit query --shadow --since yesterday", "what rules in shadow mode would have refused"},
    {"sallyport audit query --text 'customer 4711' --json", "every record with both words in it"},
    {"sallyport audit query --fleet --verdict deny", "what any gate of the fleet refused"},
    {0},
};

const struct cli_command cli_audit_query = {
    .name = "audit query",
    .summary = "search the audit log, newest first",
    .detail = "Shows decisions with their outcomes, and events of the gate.",
    .options = query_rows,
    .options_size = sizeof(struct query_options),
    .examples = query_examples,
    .run = query_run,
};

/* ---- show ---- */

struct show_options {
    bool json;
};

static const struct cli_option show_rows[] = {
    {CLI_SWITCH(struct show_options, json), .name = "json", .help = "print JSON on one line"},
    {0},
};

/* Finds a decision with its outcome, which may be any later record. */
static bool show_keep(void *ctx, const struct audit_entry *e) {
    audit_format_json(ctx, e);
    return false;
}

static void show_fields(struct buf *out, struct slice json) {
    int depth = 0;
    bool quoted = false, escaped = false;
    for (size_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (c == '"' && !escaped)
            quoted = !quoted;
        escaped = c == '\\' && !escaped;
        bool opens = !quoted && (c == '{' || c == '['), closes = !quoted && (c == '}' || c == ']');
        depth += opens - closes;
        if (closes && i > 0 && json.ptr[i - 1] != '{' && json.ptr[i - 1] != '[')
            buf_printf(out, "\n%*s", depth * 2, "");
        buf_put_char(out, c);
        bool empty = opens && i + 1 < json.len && (json.ptr[i + 1] == '}' || json.ptr[i + 1] == ']');
        if ((opens && !empty) || (c == ',' && !quoted))
            buf_printf(out, "\n%*s", depth * 2, "");
        if (c == ':' && !quoted)
            buf_put_char(out, ' ');
    }
}

static int show_run(const void *options, const struct cli_rest *rest) {
    const struct show_options *opt = options;
    struct err err = {0};
    uint64_t seq;
    cleanup_audit_log struct audit_log *log = NULL;
    if (!slice_to_u64(slice_str(rest->operands[0]), &seq) || seq == 0) {
        err_set(&err, "`%s` is not the number of a record; `sallyport audit query` shows the numbers",
                rest->operands[0]);
        return cli_fail(CLI_USAGE, &err);
    }
    if (never_used(false))
        return CLI_NO;
    if (open_log(false, &log, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf json, out;
    buf_init(&json, AUDIT_OUT_MAX);
    buf_init(&out, AUDIT_OUT_MAX);
    struct audit_filter filter = {.from_seq = seq, .to_seq = seq};
    /* Backwards finds decisions with their outcomes, forwards the outcomes themselves. */
    if (audit_log_walk_back(log, &filter, show_keep, &json, &err) < 0 ||
        (json.len == 0 && audit_log_walk(log, &filter, show_keep, &json, &err) < 0))
        return cli_fail(CLI_FAILED, &err);
    if (json.len == 0) {
        err_set(&err, "there is no record %" PRIu64, seq);
        return cli_fail(CLI_NO, &err);
    }
    if (opt->json)
        buf_put_slice(&out, buf_slice(&json));
    else
        show_fields(&out, buf_slice(&json));
    buf_put_char(&out, '\n');
    return cli_print(&out);
}

static const struct cli_example show_examples[] = {
    {"sallyport audit show 4711", "one record of `audit query`, with all its fields"},
    {0},
};

const struct cli_command cli_audit_show = {
    .name = "audit show",
    .summary = "show one record with all its fields",
    .options = show_rows,
    .options_size = sizeof(struct show_options),
    .operands = "SEQ",
    .operands_min = 1,
    .operands_max = 1,
    .examples = show_examples,
    .run = show_run,
};

/* ---- tail ---- */

struct tail_options {
    bool fleet;
    const char *gate;
    bool follow;
    uint64_t lines;
    bool json;
};

static const struct cli_option tail_rows[] = {
    FLEET_ROWS(struct tail_options, fleet, gate),
    {CLI_SWITCH(struct tail_options, follow), .name = "follow", .letter = 'f',
     .help = "print new records as they arrive"},
    {CLI_NUMBER(struct tail_options, lines), .name = "lines", .letter = 'n', .argument = "N",
     .fallback = "10", .max = 1000000, .help = "begin with the last N records"},
    {CLI_SWITCH(struct tail_options, json), .name = "json", .help = "print JSON, one object a line"},
    {0},
};

/* Records of all chains after their marks, which advance. */
struct tail {
    const struct tail_options *options;
    struct audit_log *log;
    struct audit_marks marks;
    struct print print;
    uint64_t seen, skip; /* at the start: only the last ones are shown */
};

static bool tail_first(void *ctx, const struct audit_entry *e) {
    (void)ctx, (void)e;
    return false;
}

static bool tail_count(void *ctx, const struct audit_entry *e) {
    (void)e;
    ((struct tail *)ctx)->seen++;
    return true;
}

static bool tail_entry(void *ctx, const struct audit_entry *e) {
    struct tail *t = ctx;
    if (t->skip == 0)
        return print_entry(&t->print, e);
    t->skip--;
    return true;
}

/* A home may have new segments; a fleet is queried again at each walk. */
static int tail_reopen(struct tail *t, struct err *err) {
    if (t->log && t->options->fleet)
        return 0;
    audit_log_close(t->log);
    t->log = NULL;
    return open_log(t->options->fleet, &t->log, err);
}

static int tail_walk(struct tail *t, audit_entry_fn *each, struct audit_marks *marks, struct err *err) {
    const struct audit_filter filter = {.marks = marks, .gate = slice_str(t->options->gate)};
    if (tail_reopen(t, err) < 0)
        return -1;
    return audit_log_walk(t->log, &filter, each, t, err);
}

/* Starts N records before the end of each chain, and prints the last N of all. */
static int tail_begin(struct tail *t, struct err *err) {
    const struct audit_filter all = {.marks = &t->marks, .gate = slice_str(t->options->gate)};
    struct audit_marks counted = {0};
    const uint64_t lines = t->options->lines;
    if (tail_reopen(t, err) < 0 || audit_log_walk_back(t->log, &all, tail_first, t, err) < 0)
        return -1;
    for (size_t i = 0; i < t->marks.count; i++) {
        struct audit_mark *m = &t->marks.items[i];
        m->next_seq = m->next_seq > lines ? m->next_seq - lines : 1;
        audit_marks_set(&counted, m->chain, m->next_seq);
    }
    int rc = t->marks.count > 1 ? tail_walk(t, tail_count, &counted, err) : 0;
    t->skip = t->seen > lines ? t->seen - lines : 0;
    audit_marks_free(&counted);
    return rc;
}

static int tail_more(struct tail *t, struct err *err) {
    int rc = tail_walk(t, tail_entry, &t->marks, err);
    print_flush(&t->print);
    return rc;
}

static int tail_run(const void *options, const struct cli_rest *rest) {
    const struct tail_options *opt = options;
    struct err err = {0};
    struct tail t = {.options = opt, .print = {.format = opt->json ? format_json_line : audit_format_line}};
    (void)rest;
    if (opt->gate && !opt->fleet) {
        err_set(&err, "--gate `%s`: a home has the records of one gate; add --fleet", opt->gate);
        return cli_fail(CLI_USAGE, &err);
    }
    for (bool printed = false; !opt->fleet && never_used(printed); printed = true) {
        if (!opt->follow)
            return CLI_OK;
        nanosleep(&(struct timespec){.tv_nsec = AUDIT_FOLLOW_MS * 1000000}, NULL);
    }
    buf_init(&t.print.out, AUDIT_OUT_MAX);
    int rc = tail_begin(&t, &err);
    if (rc == 0)
        rc = tail_more(&t, &err);
    while (rc == 0 && opt->follow && t.print.status == CLI_OK) {
        nanosleep(&(struct timespec){.tv_nsec = AUDIT_FOLLOW_MS * 1000000}, NULL);
        rc = tail_more(&t, &err);
    }
    audit_log_close(t.log);
    audit_marks_free(&t.marks);
    buf_free(&t.print.out);
    return rc < 0 ? cli_fail(CLI_FAILED, &err) : t.print.status;
}

static const struct cli_example tail_examples[] = {
    {"sallyport audit tail -f", "follow what agents do"},
    {"sallyport audit tail -n 100 --json", "the last hundred for a program"},
    {"sallyport audit tail -f --fleet", "follow all gates of a fleet"},
    {0},
};

const struct cli_command cli_audit_tail = {
    .name = "audit tail",
    .summary = "show the newest records, and follow the log",
    .options = tail_rows,
    .options_size = sizeof(struct tail_options),
    .examples = tail_examples,
    .run = tail_run,
};

/* ---- export ---- */

enum export_format { EXPORT_JSONL, EXPORT_CSV, EXPORT_CEF };
static const char *const export_formats[] = {
    [EXPORT_JSONL] = "jsonl", [EXPORT_CSV] = "csv", [EXPORT_CEF] = "cef", NULL};

struct export_options {
    struct filter_options filter;
    int format;
};

static const struct cli_option export_rows[] = {
    {CLI_CHOICE(struct export_options, format), .name = "format", .choices = export_formats,
     .fallback = "jsonl", .help = "JSON lines, comma-separated values, or Common Event Format"},
    FILTER_ROWS(struct export_options),
    {0},
};

static int export_run(const void *options, const struct cli_rest *rest) {
    const struct export_options *opt = options;
    struct err err = {0};
    struct audit_filter filter;
    cleanup_audit_log struct audit_log *log = NULL;
    (void)rest;
    if (filter_make(&opt->filter, &filter, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    if (!opt->filter.fleet && never_used(false))
        return CLI_OK;
    if (open_log(opt->filter.fleet, &log, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    struct print p = {0};
    buf_init(&p.out, AUDIT_OUT_MAX);
    switch ((enum export_format)opt->format) {
    case EXPORT_JSONL:
        p.format = format_json_line;
        break;
    case EXPORT_CSV:
        p.format = audit_format_csv;
        audit_format_csv_head(&p.out);
        break;
    case EXPORT_CEF:
        p.format = audit_format_cef;
        break;
    }
    int rc = audit_log_walk(log, &filter, print_entry, &p, &err);
    print_flush(&p);
    buf_free(&p.out);
    return rc < 0 ? cli_fail(CLI_FAILED, &err) : p.status;
}

static const struct cli_example export_examples[] = {
    {"sallyport audit export --format csv --since 7d > week.csv", "a week for a spreadsheet"},
    {"sallyport audit export --fleet --gate 'paris-*' --since 1d", "a day of some gates of a fleet"},
    {0},
};

const struct cli_command cli_audit_export = {
    .name = "audit export",
    .summary = "write the audit log for other programs, oldest first",
    .detail = "Decisions and outcomes are records of their own and share a call number.",
    .options = export_rows,
    .options_size = sizeof(struct export_options),
    .examples = export_examples,
    .run = export_run,
};

/* ---- verify ---- */

struct verify_options {
    const char *key, *kept;
    bool fleet;
    bool json;
};

static const struct cli_option verify_rows[] = {
    {CLI_TEXT(struct verify_options, key), .name = "key", .argument = "FILE",
     .help = "the public key to trust, kept elsewhere; else the one beside the log. With --fleet also a "
             "directory of keys (*.pub)"},
    {CLI_SWITCH(struct verify_options, fleet), .name = "fleet",
     .help = "the logs of all gates that ship to the same database, and their records about each other"},
    {CLI_TEXT(struct verify_options, kept), .name = "kept", .argument = "SEQ:HASH",
     .help = "a hash that an earlier verify printed and that was kept elsewhere: that record must still have "
             "it"},
    {CLI_SWITCH(struct verify_options, json), .name = "json", .help = "print JSON"},
    {0},
};

static void verify_json(struct buf *out, const struct audit_report *r) {
    struct emit e;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"records", r->records},
        {"first_seq", r->first_seq},
        {"last_seq", r->last_seq},
        {"segments", r->segments},
        {"retired", r->retired},
        {"checkpoints", r->checkpoints},
        {"signed_seq", r->signed_seq},
        {"unrecorded", r->rings.unrecorded},
        {"gaps", r->gaps},
        {"first_gap", r->first_gap},
        {"gates_running", r->rings.running},
        {"gates_killed", r->rings.left},
        {"waiting_bytes", r->rings.waiting},
        {"rings_damaged", r->rings.damaged},
        {"rings_unread", r->rings.aside},
    };
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "ok");
    emit_bool(&e, r->sound);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        emit_key(&e, rows[i].name);
        emit_int(&e, (int64_t)rows[i].value);
    }
    emit_key(&e, "last_hash");
    emit_cstr(&e, r->last_hash);
    if (!r->sound) {
        emit_key(&e, "first_bad");
        if (r->first_bad)
            emit_int(&e, (int64_t)r->first_bad);
        else
            emit_null(&e);
        emit_key(&e, "error");
        emit_cstr(&e, r->text);
    }
    emit_object_end(&e);
    buf_put_char(out, '\n');
}

/* What the chain itself does not show: records that are missing. */
static void verify_rest(struct buf *out, const struct audit_report *r) {
    if (r->gaps)
        buf_printf(out,
                   "%" PRIu64 " gaps are on record, the first as record %" PRIu64
                   ": see sallyport audit show %" PRIu64 "\n",
                   r->gaps, r->first_gap, r->first_gap);
    if (r->rings.unrecorded)
        buf_printf(out, "%" PRIu64 " records could not be stored, and no gap record reports them yet\n",
                   r->rings.unrecorded);
    if (r->rings.left)
        buf_printf(out,
                   "%" PRIu64 " gates were killed; %" PRIu64
                   " bytes of their records are not in the log before the next gate starts\n",
                   r->rings.left, r->rings.waiting);
    if (r->rings.aside)
        buf_printf(out, "%" PRIu64 " rings could not be read and were set aside as unread-ring-*\n",
                   r->rings.aside);
    if (!r->gaps && !r->rings.unrecorded && !r->rings.left && !r->rings.aside)
        buf_put_str(out, "no gaps; no records are missing or waiting\n");
    if (r->rings.running)
        buf_printf(out, "gates that run: %" PRIu64 "; their newest records may not be in the log yet\n",
                   r->rings.running);
}

static void verify_text(struct buf *out, const struct audit_report *r) {
    if (!r->sound) {
        buf_printf(out, "NOT SOUND: %s\n", r->text);
        if (r->first_bad)
            buf_printf(out, "first bad record: %" PRIu64 "\n", r->first_bad);
        return;
    }
    buf_printf(out,
               "sound: %" PRIu64 " records (%" PRIu64 " to %" PRIu64 "); segments: %" PRIu64
               ", signed checkpoints: %" PRIu64 ", the last at record %" PRIu64 "\n",
               r->records, r->first_seq, r->last_seq, r->segments, r->checkpoints, r->signed_seq);
    if (r->retired)
        buf_printf(out, "%" PRIu64 " older segments were retired and recorded\n", r->retired);
    verify_rest(out, r);
    buf_printf(out, "hash of record %" PRIu64 ": %s\n", r->last_seq, r->last_hash);
}

static int kept_parse(const char *kept, uint64_t *ret_seq, const char **ret_hash, struct err *err) {
    char *end = NULL;
    errno = 0;
    *ret_seq = kept[0] >= '1' && kept[0] <= '9' ? strtoull(kept, &end, 10) : 0;
    if (!end || errno || *end != ':' || strspn(end + 1, "0123456789abcdef") != AUDIT_HASH_TEXT - 1 ||
        end[AUDIT_HASH_TEXT])
        return err_set(err, "--kept %.80s: give SEQ:HASH, as `audit verify` prints the hash of record SEQ",
                       kept);
    *ret_hash = end + 1;
    return 0;
}

/* The chain is consistent; it must also contain a hash that was known before. */
static int verify_kept(uint64_t seq, const char *kept, struct audit_report *report, struct err *err) {
    struct audit_log *log;
    char hash[AUDIT_HASH_TEXT];
    if (open_log(false, &log, err) < 0)
        return -1;
    int found = audit_log_hash(log, seq, hash, err);
    audit_log_close(log);
    if (found < 0)
        return -1;
    report->sound = found && strcmp(hash, kept) == 0;
    report->first_bad = found ? 0 : seq;
    if (!report->sound)
        snprintf(report->text, sizeof(report->text), "record %" PRIu64 "%s", seq,
                 found ? " has another hash than the one that was kept: the log was replaced"
                       : ", whose hash was kept, is not in the log");
    return 0;
}

static int verify_run(const void *options, const struct cli_rest *rest) {
    const struct verify_options *opt = options;
    struct err err = {0};
    struct audit_report report;
    char home[CLI_PATH_MAX];
    uint64_t seq = 0;
    const char *kept = NULL;
    (void)rest;
    if (opt->kept && kept_parse(opt->kept, &seq, &kept, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    if (cli_home(home, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    if (opt->fleet && opt->kept) {
        err_set(&err, "--kept is for the log of one home: leave out --fleet");
        return cli_fail(CLI_USAGE, &err);
    }
    if (opt->fleet)
        return cli_audit_verify_fleet(home, opt->key, opt->json);
    /* A user who has a public key expects a log here. */
    const bool unused = !opt->key && !opt->kept && never_used(false);
    if (unused)
        report = (struct audit_report){.sound = true};
    else
        audit_verify(home, opt->key, &report);
    if (unused && !opt->json)
        return CLI_OK;
    if (report.unreadable) {
        err_set(&err, "%s", report.text);
        return cli_fail(CLI_FAILED, &err);
    }
    if (kept && report.sound && verify_kept(seq, kept, &report, &err) < 0)
        return cli_fail(CLI_FAILED, &err);
    cleanup_buf struct buf out;
    buf_init(&out, CLI_TEXT_MAX);
    if (opt->json)
        verify_json(&out, &report);
    else
        verify_text(&out, &report);
    int status = cli_print(&out);
    return status == CLI_OK && !report.sound ? CLI_NO : status;
}

static const struct cli_example verify_examples[] = {
    {"sallyport audit verify", "was anything changed, left out or put in?"},
    {"sallyport audit verify --key audit.pub", "by a key that was kept elsewhere"},
    {"sallyport audit verify --fleet --key keys/", "all gates of a fleet, by their keys"},
    {"sallyport audit verify --kept 4711:c206c3ac845b36c5edbe9c21b9d1c1893e4b49cab242c788f9bb955dc1303ae5",
     "does the log still contain a hash that was kept elsewhere?"},
    {0},
};

const struct cli_command cli_audit_verify = {
    .name = "audit verify",
    .summary = "verify that the audit log is complete and unchanged",
    .detail =
        "Recomputes every hash and checks every signature. Any record that was edited, removed, moved or cut "
        "off is found, and the first bad one is named; the exit status is then 1.\n\n"
        "A user who can write to the log and read its key can also make a new one: keep a copy of audit.pub, "
        "and from time to time the last hash (for --kept), on another machine. A home that no gate has used "
        "yet is sound, unless --key or --kept is given.",
    .options = verify_rows,
    .options_size = sizeof(struct verify_options),
    .examples = verify_examples,
    .run = verify_run,
};
