/* The class of a verb depends on its object. */
#include "risk/facts.h"

#define KEPT_WORDS 60 /* words of a description that may say that the result is stored */

/* Raw statements of a query language that are not described as read-only. */
static bool asks_raw(const struct risk_facts *f, uint32_t object) {
    return !f->described_read_only && (f->params & RISK_PARAM_SQL || risk_contains(f->lower, "raw quer") ||
                                       ((object | f->first_nouns) & NOUN_STATEMENT &&
                                        (f->params & RISK_PARAM_QUESTION || !f->prop_count)));
}

bool risk_verb_states(const struct risk_facts *f) {
    return f->params & RISK_PARAM_SQL || risk_contains(f->lower, " sql ") ||
           (risk_contains(f->lower, "insert") && risk_contains(f->lower, "update") &&
            risk_contains(f->lower, "delete"));
}

static enum risk_class run_class(const struct risk_facts *f, const struct risk_word *verb, uint32_t object) {
    if (f->params & (RISK_PARAM_CODE | RISK_PARAM_COMMAND))
        return RISK_EXECUTE;
    if (f->described_read_only)
        return RISK_READ;
    if (risk_contains(f->lower, "insert") && risk_verb_states(f))
        return RISK_EXECUTE;
    if (f->params & RISK_PARAM_SQL || risk_contains(f->lower, "raw quer") ||
        (object | f->first_nouns) & NOUN_STATEMENT)
        return RISK_EXECUTE;
    bool starts = strcmp(verb->text, "start") == 0 || strcmp(verb->text, "begin") == 0;
    return object & NOUN_REPORT && !starts ? RISK_READ : RISK_EXECUTE;
}

static bool says_saved(const struct risk_facts *f) {
    static const char *const phrases[] = {"saved to",  "save to", "to disk", "local file",
                                          "to a file", "saves",   NULL};
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(f->lower, *p))
            return true;
    return false;
}

static bool lands_in_file(const struct risk_facts *f) {
    return says_saved(f) || (f->params & RISK_PARAM_PATH && !(f->params & RISK_PARAM_REMOTE));
}

static enum risk_class export_class(const struct risk_facts *f, enum risk_class base) {
    bool returned = risk_contains(f->lower, "base64") || risk_contains(f->lower, "embedded resource") ||
                    risk_contains(f->lower, "download url") || risk_contains(f->lower, "download link");
    if (says_saved(f) || (lands_in_file(f) && !returned))
        return RISK_WRITE;
    /* The only file is the one that is fetched: it goes to the caller. */
    return returned || f->params & RISK_PARAM_REMOTE ? RISK_READ : base;
}

/* Output for display that is not stored: "renders as a table". */
static bool is_drawn(const struct risk_facts *f) {
    return risk_contains(f->lower, "renders as") || risk_contains(f->lower, "for displaying") ||
           risk_contains(f->lower, "visualiz") || risk_contains(f->lower, "visualis");
}

/* Generated output is stored when the tool takes an id, makes something that others use, or says so. */
static bool is_kept(const struct risk_facts *f) {
    static const char *const used[] = {"key",  "keys",   "token",   "tokens", "link", "links",
                                       "file", "commit", "project", "short",  NULL};
    static const char *const kept[] = {"save",    "saves",   "saved",    "saving", "store",   "stores",
                                       "stored",  "writes",  "written",  "upload", "uploads", "publishes",
                                       "publish", "commits", "persists", NULL};
    if (f->params & (RISK_PARAM_ID | RISK_PARAM_OUTPUT))
        return true;
    if (f->count && slice_is_any(f->tokens[f->count - 1], used))
        return true;
    for (size_t i = 0; i < f->prose_count && i < KEPT_WORDS; i++)
        if (slice_is_any(f->prose[i].text, kept))
            return true;
    return false;
}

static enum risk_class generate_class(const struct risk_facts *f, uint32_t object) {
    static const char *const from[] = {"from", "via", "by", "with", "to", NULL};
    bool source = f->count > 2 && slice_is_any(f->tokens[f->count - 2], from); /* generate_audio_from_text */
    const struct risk_word *last = f->count > 2 && !source ? f->words[f->count - 1] : NULL;
    if (last && last->nouns & (NOUN_TEXT | NOUN_REPORT) && !(last->nouns & NOUN_MEDIA))
        object &= ~(uint32_t)NOUN_MEDIA; /* generate_video_script */
    for (size_t i = 0; i < f->count; i++)
        if (slice_is(f->tokens[i], "short"))
            return RISK_WRITE; /* generate_short_url makes one that works */
    if (f->name_nouns & NOUN_CHART || (is_drawn(f) && !(f->name_nouns & NOUN_MEDIA)))
        return f->params & RISK_PARAM_PATH ? RISK_WRITE : RISK_READ;
    if (object & NOUN_MEDIA)
        return RISK_EXECUTE;
    if (f->params & RISK_PARAM_PATH)
        return RISK_WRITE;
    if (object & (NOUN_REPORT | NOUN_TEXT | NOUN_CHART))
        return RISK_READ;
    return is_kept(f) ? RISK_WRITE : RISK_READ;
}

/* "track_event" reports something, "track_legislation" looks at it. */
static enum risk_class track_class(const struct risk_facts *f) {
    static const char *const reported[] = {"event", "events", "time", "conversion", "usage", "start", NULL};
    for (size_t i = 0; i < f->count; i++)
        for (const char *const *w = reported; *w; w++)
            if (slice_is(f->tokens[i], *w))
                return RISK_WRITE;
    return f->params & RISK_PARAM_ID && !risk_contains(f->lower, "status") &&
                   !risk_contains(f->lower, "progress")
               ? RISK_WRITE
               : RISK_READ;
}

static enum risk_class create_class(const struct risk_facts *f) {
    if (f->money)
        return RISK_FINANCIAL;
    const struct risk_word *last =
        f->count ? f->words[f->count - 1] : NULL; /* create_call, not create_call_log */
    return last && last->nouns & NOUN_PROC ? RISK_EXECUTE : RISK_WRITE;
}

/* "Add two numbers", or add(a, b) in any language */
static bool adds_up(const struct risk_facts *f, const struct risk_word *verb) {
    bool operands = f->prop_count == 2 && f->operand_count == 2;
    if (risk_contains(f->lower, "add/subtract") || risk_contains(f->lower, "add or subtract"))
        return strcmp(verb->text, "add") == 0;
    return strcmp(verb->text, "add") == 0 && (operands || f->first_nouns & NOUN_SUM) && f->count <= 2 &&
           f->prop_count <= 3 && !(f->params & RISK_PARAM_ID);
}

/* convert_pdf_to_markdown(file_path): the only file is the one that is read, and the text is the answer. */
static bool turns_to_text(const struct risk_facts *f) {
    static const char *const formats[] = {"markdown", "md", "text", "json", NULL};
    static const char *const many[] = {"directory", "folder", "files", "batch", NULL};
    for (size_t i = 0; i < f->count; i++)
        if (slice_is_any(f->tokens[i], many))
            return false;
    if (f->count < 2 || !slice_is(f->tokens[f->count - 2], "to") || says_saved(f) ||
        f->params & (RISK_PARAM_TARGET | RISK_PARAM_ID))
        return false;
    for (const char *const *format = formats; *format; format++)
        if (slice_is(f->tokens[f->count - 1], *format))
            return true;
    return false;
}

static enum risk_class cancel_class(const struct risk_facts *f) {
    if (f->money || f->name_nouns & NOUN_TRADE)
        return RISK_FINANCIAL;
    return f->name_nouns & NOUN_JOB || risk_contains(f->lower, "in progress") ||
                   risk_contains(f->lower, "a running ")
               ? RISK_EXECUTE
               : RISK_WRITE;
}

static enum risk_class go_class(const struct risk_facts *f, const struct risk_word *verb, uint32_t object) {
    bool wait = verb->text[0] == 'w';
    if (f->ui || (!wait && f->params & RISK_PARAM_URL))
        return RISK_EXECUTE;
    if (wait && !f->ui && (risk_contains(f->lower, "until") || risk_contains(f->lower, "reaches")))
        return RISK_READ; /* "Block until a request reaches a terminal state" */
    if (wait)
        return (object | f->first_nouns) & (NOUN_JOB | NOUN_PROC | NOUN_REPORT) ||
                       risk_contains(f->lower, "poll") || risk_contains(f->lower, "status") ||
                       risk_contains(f->lower, "to complete") || risk_contains(f->lower, "to finish")
                   ? RISK_READ
                   : RISK_EXECUTE;
    for (size_t i = 0; i < f->count; i++)
        if (f->words[i] == verb)
            return RISK_EXECUTE;
    return risk_contains(f->lower, "navigate to") ? RISK_EXECUTE : RISK_READ;
}

/* "Returns the source code. Does not write to disk." */
static bool only_returned(const struct risk_facts *f) {
    return risk_contains(f->lower, "does not write to disk") ||
           risk_contains(f->lower, "returns the source code");
}

/* approve_submission: "and release their payment" */
static bool releases_payment(const struct risk_facts *f) {
    return f->money || (risk_contains(f->lower, "release") && risk_contains(f->lower, " payment"));
}

/* truncate(text, max_length): a text is cut, not a table. */
static bool cuts_text(const struct risk_facts *f, const struct risk_word *verb) {
    return strcmp(verb->text, "truncate") == 0 && f->params & RISK_PARAM_CONTENT &&
           !(f->params & (RISK_PARAM_ID | RISK_PARAM_PATH | RISK_PARAM_SQL)) &&
           (risk_contains(f->lower, " text") || risk_contains(f->lower, " string"));
}

/* Not "Evaluate the quality of code". */
static bool evaluates_code(const struct risk_facts *f) {
    static const char *const words[] = {"javascript", "script", "expression", " js ", "python", "lisp", NULL};
    for (const char *const *w = words; *w; w++)
        if (risk_contains(f->lower, *w))
            return true;
    return f->params & RISK_PARAM_CODE && !risk_contains(f->lower, "quality");
}

/* musicxml_to_abc */
static bool named_a_to_b(const struct risk_facts *f) {
    return f->count > 1 && slice_is(f->tokens[f->count - 2], "to") && !(f->params & RISK_PARAM_TARGET);
}

/* build_report and build_dataset put data together. */
static enum risk_class build_class(const struct risk_facts *f, enum risk_class base) {
    static const char *const data[] = {"dataset", "index",    "graph",     "map",     "table",
                                       "list",    "query",    "filter",    "corpus",  "tree",
                                       "matrix",  "timeline", "embedding", "catalog", NULL};
    for (size_t i = 0; i < f->count; i++)
        if (slice_is(f->tokens[i], "and") || slice_is(f->tokens[i], "then"))
            return base;
    if (f->count < 2 || f->words[f->count - 1] == NULL ||
        f->words[f->count - 1]->nouns & (NOUN_DEED | NOUN_PROC))
        return f->count > 1 && slice_is_any(f->tokens[f->count - 1], data) ? RISK_WRITE : base;
    if (f->words[f->count - 1]->nouns & (NOUN_REPORT | NOUN_TEXT | NOUN_CHART))
        return f->params & RISK_PARAM_PATH || is_kept(f) ? RISK_WRITE : RISK_READ;
    return slice_is_any(f->tokens[f->count - 1], data) ? RISK_WRITE : base;
}

/* resolve_location and resolve_id look something up; resolve_issue closes it. */
static bool resolves_name(const struct risk_facts *f) {
    static const char *const settled[] = {
        "issue",  "issues",  "ticket",       "comment",   "comments", "case",      "alert",    "alerts",
        "thread", "threads", "incident",     "incidents", "conflict", "conflicts", "review",   "discussion",
        "report", "dispute", "conversation", "event",     "problem",  "task",      "todo",     "finding",
        "error",  "errors",  "annotation",   "market",    "request",  "blocker",   "question", NULL};
    if (f->name_nouns & NOUN_NAME)
        return true;
    for (size_t i = 0; i < f->count; i++)
        if (slice_is_any(f->tokens[i], settled))
            return false;
    return f->count > 1 && f->lower.len && !risk_contains(f->lower, "mark") &&
           !risk_contains(f->lower, "resolved") && !risk_contains(f->lower, "resolution") &&
           !risk_contains(f->lower, "close");
}

/* Not the voices of a song. */
static bool trades_coins(const struct risk_facts *f, uint32_t object) {
    static const char *const words[] = {"token", "coin",   "crypto",   "dex",   "liquidity", "slippage",
                                        "chain", "wallet", "exchange", "quote", NULL};
    for (const char *const *w = words; *w; w++)
        if (risk_contains(f->lower, *w))
            return true;
    return (object | f->first_nouns) & (NOUN_MONEY | NOUN_TRADE | NOUN_COIN) || !f->lower.len;
}

/* Not the size of a picture. */
static bool scales_machines(const struct risk_facts *f, uint32_t object) {
    static const char *const words[] = {"replica", "instance", "capacity",  " node", "service",
                                        "worker",  "deploy",   "container", "dyno",  " pod",
                                        "cluster", " app",     NULL};
    for (const char *const *w = words; *w; w++)
        if (risk_contains(f->lower, *w))
            return true;
    return object & (NOUN_INFRA | NOUN_MACHINE | NOUN_PROC | NOUN_JOB) || !f->lower.len;
}

/* "Convert a pull request to draft status" changes it, and so does whatever has a number. */
static enum risk_class convert_class(const struct risk_facts *f, const struct risk_word *verb,
                                     uint32_t object) {
    if (strcmp(verb->text, "format") == 0) /* a citation or code; cells of a sheet have no content */
        return f->params & (RISK_PARAM_CONTENT | RISK_PARAM_CODE) &&
                       !(f->params & (RISK_PARAM_ID | RISK_PARAM_PATH))
                   ? RISK_READ
                   : RISK_WRITE;
    if (turns_to_text(f) || (named_a_to_b(f) && !lands_in_file(f)))
        return RISK_READ;
    if (f->params & RISK_PARAM_INPUT && f->params & RISK_PARAM_RESULT)
        return RISK_WRITE;
    /* convert_spec(spec_path): the only file is the one that is read. A picture or a song becomes another
     * file. */
    static const char *const read[] = {"convert", "transform", "normalize", "categorize", NULL};
    bool named = false;
    for (size_t i = 0; i < f->count && !named_a_to_b(f); i++)
        named |= f->words[i] == verb;
    if (named && slice_is_any(slice_str(verb->text), read) && f->path_count == 1 && !says_saved(f) &&
        f->prop_count <= 2 && !((object | f->first_nouns) & (NOUN_MEDIA | NOUN_STATE)) &&
        !(f->params & (RISK_PARAM_TARGET | RISK_PARAM_RESULT | RISK_PARAM_ID)))
        return RISK_READ;
    const bool changes = f->params & RISK_PARAM_ID || (object | f->first_nouns) & NOUN_STATE;
    return changes || lands_in_file(f) ? RISK_WRITE : RISK_READ;
}

static enum risk_class make_class(const struct risk_facts *f, uint32_t object) {
    if (only_returned(f) || (object & NOUN_REQUEST && risk_contains(f->lower, " get request")))
        return RISK_READ;
    return object & NOUN_REQUEST ? RISK_EXECUTE : create_class(f);
}

static enum risk_class open_class(const struct risk_facts *f, uint32_t object) {
    if (f->ui)
        return RISK_EXECUTE;
    return object & (NOUN_PRIVATE | NOUN_MACHINE) ? RISK_READ : RISK_WRITE;
}

/* close_position: "by placing a sell order" */
static enum risk_class ui_class(const struct risk_facts *f, const struct risk_word *verb) {
    if (strcmp(verb->text, "close") == 0 && f->name_nouns & NOUN_TRADE &&
        (f->money || f->trades || risk_contains(f->lower, " order") || risk_contains(f->lower, "trad")))
        return RISK_FINANCIAL;
    return f->ui ? RISK_EXECUTE : RISK_WRITE;
}

static enum risk_class perform_class(const struct risk_facts *f, uint32_t object) {
    if (object & NOUN_REPORT)
        return RISK_READ;
    return f->ui && risk_contains(f->lower, "action") ? RISK_EXECUTE : RISK_NONE;
}

static enum risk_class capture_class(const struct risk_facts *f) {
    if (f->money)
        return RISK_FINANCIAL;
    if (f->params & (RISK_PARAM_CONTENT | RISK_PARAM_MESSAGE))
        return RISK_WRITE;
    return risk_contains(f->lower, " note") || risk_contains(f->lower, " entry") ? RISK_WRITE : RISK_READ;
}

static enum risk_class answer_class(const struct risk_facts *f) {
    const bool sends = f->params & (RISK_PARAM_CONTENT | RISK_PARAM_MESSAGE);
    return sends && f->params & RISK_PARAM_ID ? RISK_WRITE : RISK_READ;
}

/* start_timer, stop_time_entry: an entry in a list, no process. */
static bool keeps_time(const struct risk_facts *f) {
    for (size_t i = 0; i < f->count; i++)
        if (slice_is(f->tokens[i], "timer") || slice_is(f->tokens[i], "stopwatch") ||
            (slice_is(f->tokens[i], "time") && i + 1 < f->count && slice_is(f->tokens[i + 1], "entry")))
            return true;
    return false;
}

/* create_bar_chart(data): drawn and returned. With an id or a file it is a part of something. */
static bool draws_data(const struct risk_facts *f) {
    const struct risk_word *last = f->count ? f->words[f->count - 1] : NULL;
    return last && last->nouns & NOUN_CHART && f->params & RISK_PARAM_CONTENT &&
           !(f->params & (RISK_PARAM_ID | RISK_PARAM_PATH | RISK_PARAM_TARGET));
}

static enum risk_class class_by_rule(const struct risk_facts *f, const struct risk_word *verb,
                                     uint32_t object) {
    const enum risk_class base = (enum risk_class)verb->cls;
    switch ((enum word_rule)verb->rule) {
    case WORD_PICK:
        return f->ui || asks_raw(f, object) ? RISK_EXECUTE : RISK_READ;
    case WORD_QUERY:
        return asks_raw(f, object) ? RISK_EXECUTE : RISK_READ;
    case WORD_EVALUATE:
        return f->ui || evaluates_code(f) ? RISK_EXECUTE : RISK_READ;
    case WORD_ANSWER:
        return answer_class(f);
    case WORD_BUILD:
        return build_class(f, base);
    case WORD_RUN:
        return keeps_time(f) ? RISK_WRITE : run_class(f, verb, object);
    case WORD_TEST:
        return (object | f->first_nouns) & NOUN_LINK ? RISK_READ : RISK_EXECUTE;
    case WORD_STOP:
        if (keeps_time(f))
            return RISK_WRITE;
        return object & NOUN_MACHINE && verb->text[0] == 't' ? RISK_DESTRUCTIVE : RISK_EXECUTE;
    case WORD_CANCEL:
        return cancel_class(f);
    case WORD_MAKE:
        return make_class(f, object);
    case WORD_CREATE:
        return adds_up(f, verb) || only_returned(f) || draws_data(f) ? RISK_READ : create_class(f);
    case WORD_MONEY:
        return releases_payment(f) ? RISK_FINANCIAL : base;
    case WORD_BOOK:
        return f->money || object & (NOUN_PAID | NOUN_TRADE) ? RISK_FINANCIAL : RISK_WRITE;
    case WORD_RESTORE:
        return object & NOUN_WHOLE ? RISK_EXECUTE : RISK_WRITE;
    case WORD_GENERATE:
        return generate_class(f, object);
    case WORD_EXPORT:
        return export_class(f, base);
    case WORD_CONVERT:
        return convert_class(f, verb, object);
    case WORD_RESOLVE:
        return resolves_name(f) ? RISK_READ : RISK_WRITE;
    case WORD_SWAP:
        return f->money || f->ctx->till || trades_coins(f, object) ? RISK_FINANCIAL : RISK_WRITE;
    case WORD_SCALE:
        return scales_machines(f, object) ? RISK_EXECUTE : RISK_WRITE;
    case WORD_SNAPSHOT:
        return object & NOUN_MACHINE ? RISK_WRITE : RISK_READ;
    case WORD_OPEN:
        return open_class(f, object);
    case WORD_UI:
        return ui_class(f, verb);
    case WORD_GO:
        return go_class(f, verb, object);
    case WORD_APPLY:
        return object & NOUN_INFRA ? RISK_EXECUTE : RISK_WRITE;
    case WORD_MANAGE:
        return f->name_nouns & NOUN_JOB ? RISK_EXECUTE : RISK_WRITE;
    case WORD_PERFORM:
        return perform_class(f, object);
    case WORD_SUBMIT:
        return f->money ? RISK_FINANCIAL : object & NOUN_JOB ? RISK_EXECUTE : base;
    case WORD_CAPTURE:
        return capture_class(f);
    case WORD_TRACK:
        return track_class(f);
    case WORD_REPORT:
        return f->params & RISK_PARAM_MESSAGE ? RISK_WRITE : RISK_READ;
    case WORD_SOFT:
    case WORD_FIXED:
        return base;
    }
    return base;
}

/* interactive_feedback: what comes back is what a person says. */
static bool asks_person(const struct risk_facts *f, const struct risk_word *verb) {
    return (strcmp(verb->text, "request") == 0 || strcmp(verb->text, "feedback") == 0) &&
           (risk_contains(f->lower, "from the user") || risk_contains(f->lower, "interactive feedback"));
}

enum risk_class risk_verb_class(const struct risk_facts *f, const struct risk_word *verb, uint32_t object) {
    if (verb->cls == RISK_DESTRUCTIVE && cuts_text(f, verb))
        return RISK_READ;
    if (asks_person(f, verb))
        return RISK_READ;
    return class_by_rule(f, verb, object);
}
