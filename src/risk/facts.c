/* From a definition on the tape to struct risk_facts. */
#include "risk/facts.h"

#include "base/mem.h"

#define BRACKET_BYTES_MAX 40 /* a label in brackets before a description */

/* Counts the leading words that all names of the server share, as long as a word is left. */
static size_t shared_words(const struct risk_toolset *ctx, const struct slice *tokens, size_t count) {
    size_t n = 0;
    while (n < ctx->prefix_count && n + 1 < count && slice_eq(tokens[n], ctx->prefix[n]))
        n++;
    if (n || count < 2 || risk_word_find(tokens[0]))
        return n;
    for (size_t i = 0; i < ctx->server_word_count; i++) /* a server that lists few tools still has its name */
        if (slice_eq(tokens[0], ctx->server_words[i]))
            return 1;
    return 0;
}

/* "unapprove" has the class of "approve". */
static const struct risk_word *opposite_of(struct slice token) {
    const struct risk_word *w = risk_word_find(slice_from(token, 2));
    return w && w->cls == RISK_WRITE && w->kind == WORD_VERB ? w : NULL;
}

static bool ends_as_plural(struct slice word) {
    return word.len > 3 && slice_ends(word, SLICE("s")) && !slice_ends(word, SLICE("ss"));
}

static void gather_name(struct risk_facts *f, struct arena *a) {
    struct slice all[RISK_NAME_TOKENS_MAX];
    size_t count = risk_split_name(f->name, all, ARRAY_LEN(all), a);
    size_t skip = shared_words(f->ctx, all, count);
    for (size_t i = skip; i < count; i++) {
        const struct risk_word *w = risk_word_find(all[i]);
        char form = 0;
        if (!w)
            w = risk_word_find_form(all[i], &form);
        if (!w && slice_starts(all[i], SLICE("un")))
            w = opposite_of(all[i]);
        f->name_nouns |= w ? w->nouns : 0;
        if (w && form && i > skip && w->cls == RISK_WRITE && w->rule == WORD_FIXED)
            w = NULL; /* mr_changes, event_updates, members_voting: things, not deeds */
        if (w && i > skip && i + 1 == count && w->cls == RISK_EXECUTE && ends_as_plural(all[i]))
            w = NULL; /* lock_waits, recent_tests, nightly_builds */
        if (w && i > skip && i + 1 < count && w->nouns & NOUN_ENGINE && w->kind == WORD_WEAK)
            w = NULL; /* paid_agent_results */
        if (i > skip && slice_is(all[i], "turn"))
            w = NULL; /* multi_turn_chat */
        if (i > skip && (slice_is(all[i], "step") || slice_is(all[i], "steps")))
            w = NULL; /* record_step, tutorial_steps: not a debugger's */
        f->tokens[f->count] = all[i];
        f->words[f->count++] = w;
    }
}

/* quarantine_stats_tool: the last word says nothing. */
static void drop_tool(struct risk_facts *f) {
    if (f->count > 1 && slice_is(f->tokens[f->count - 1], "tool"))
        f->count--;
}

/* "[Beta][Editor-only] Delete ..." */
static struct slice past_brackets(struct slice text) {
    while (text.len && text.ptr[0] == '[') {
        ptrdiff_t end = slice_find(slice_upto(text, BRACKET_BYTES_MAX), ']');
        if (end < 0 || !slice_trim(slice_from(text, (size_t)end + 1)).len)
            break;
        text = slice_trim(slice_from(text, (size_t)end + 1));
    }
    return text;
}

/* "<important>Call the guide first.</important> Get ...": what the model is told is no description of the
 * tool. */
static struct slice past_notice(struct slice text) {
    static const char *const tags[] = {"important",    "note",  "warning", "critical",
                                       "instructions", "rules", NULL};
    for (const char *const *tag = tags; *tag; tag++) {
        struct slice name = slice_str(*tag), lead = slice_upto(slice_from(text, 1), name.len);
        if (text.len < 2 * name.len + 5 || text.ptr[0] != '<' || text.ptr[name.len + 1] != '>' ||
            strncasecmp(lead.ptr, name.ptr, name.len) != 0)
            continue;
        const char *at = memmem(text.ptr, text.len, "</", 2);
        ptrdiff_t end = at ? slice_find(slice_from(text, (size_t)(at - text.ptr)), '>') : -1;
        struct slice rest =
            end < 0 ? (struct slice){0} : slice_trim(slice_from(text, (size_t)(at - text.ptr + end + 1)));
        return rest.len ? rest : text;
    }
    return text;
}

/* What a docstring says of parameters is no description of the tool. */
static struct slice before_arguments(struct slice text) {
    static const char *const heads[] = {"\nArgs:", "\n    Args:", "\nParameters:", "\n    Parameters:", NULL};
    for (const char *const *head = heads; *head; head++) {
        if (risk_contains(text, "action:") || risk_contains(text, "operation:") ||
            risk_contains(text, "action ("))
            break; /* the operations may stand there */
        const char *at = text.len ? memmem(text.ptr, text.len, *head, strlen(*head)) : NULL;
        if (at && at > text.ptr)
            text.len = (size_t)(at - text.ptr);
    }
    return text;
}

static void gather_prose(struct risk_facts *f, struct slice text, struct arena *a) {
    f->lower = risk_lower(text, RISK_PROSE_BYTES_MAX, a);
    f->prose_count = risk_split_prose(before_arguments(text), f->prose, RISK_PROSE_WORDS_MAX, a);
    f->sentence_end = f->prose_count;
    for (size_t i = 0; i < f->prose_count; i++) {
        f->prose_words[i] = risk_word_find_form(f->prose[i].text, &f->prose_forms[i]);
        if (i && slice_is(f->prose[i].text, "del"))
            f->prose_words[i] = NULL; /* Spanish, not a command */
        if (i > 2 && f->prose[i].brk == RISK_BREAK_SENTENCE && f->sentence_end == f->prose_count)
            f->sentence_end = i;
        const struct risk_word *noun = risk_word_find(f->prose[i].text);
        if (i < f->sentence_end && noun)
            f->first_nouns |= noun->nouns;
    }
}

static bool describes_read_only(struct slice lower) {
    static const char *const phrases[] = {"read-only",
                                          "readonly",
                                          "read only",
                                          "does not modify",
                                          "select only",
                                          "only select",
                                          "select queries",
                                          "select query",
                                          "select sql",
                                          "a select ",
                                          "doesn't modify",
                                          "without modifying",
                                          "solo lectura",
                                          "somente leitura",
                                          "lecture seule",
                                          "sola lettura",
                                          "\xe5\x8f\xaa\xe8\xaf\xbb",
                                          NULL};
    if (!risk_contains(lower, " queries") && !risk_contains(lower, "sql") &&
        !risk_contains(lower, "database"))
        lower = slice_upto(lower, 160); /* later text is about something else */
    if (risk_contains(lower, "data-modifying") || risk_contains(lower, "insert/update/delete"))
        return false; /* "Run a data-modifying statement. Disabled: the server is read-only" */
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(lower, *p))
            return true;
    return false;
}

static uint32_t param_of_name(struct slice first, struct slice last, size_t tokens) {
    static const char *const languages[] = {"js",     "javascript", "python", "py",   "ts",
                                            "source", "lua",        "script", "luau", NULL};
    static const struct {
        const char *word;
        uint32_t bit;
    } table[] = {
        {"code", RISK_PARAM_CODE},       {"script", RISK_PARAM_CODE},      {"scripts", RISK_PARAM_CODE},
        {"javascript", RISK_PARAM_CODE}, {"python", RISK_PARAM_CODE},      {"snippet", RISK_PARAM_CODE},
        {"command", RISK_PARAM_COMMAND}, {"cmd", RISK_PARAM_COMMAND},      {"shell", RISK_PARAM_COMMAND},
        {"bash", RISK_PARAM_COMMAND},    {"commands", RISK_PARAM_COMMAND}, {"sql", RISK_PARAM_SQL},
        {"cypher", RISK_PARAM_SQL},      {"statement", RISK_PARAM_SQL},    {"statements", RISK_PARAM_SQL},
        {"path", RISK_PARAM_PATH},       {"paths", RISK_PARAM_PATH},       {"file", RISK_PARAM_PATH},
        {"filename", RISK_PARAM_PATH},   {"filepath", RISK_PARAM_PATH},    {"dir", RISK_PARAM_PATH},
        {"directory", RISK_PARAM_PATH},  {"cwd", RISK_PARAM_PATH},         {"workdir", RISK_PARAM_PATH},
        {"files", RISK_PARAM_PATH},      {"folder", RISK_PARAM_PATH},      {"filepaths", RISK_PARAM_PATH},
        {"url", RISK_PARAM_URL},         {"uri", RISK_PARAM_URL},          {"urls", RISK_PARAM_URL},
        {"subdir", RISK_PARAM_PATH},     {"outdir", RISK_PARAM_PATH},      {"outfile", RISK_PARAM_PATH},
        {"href", RISK_PARAM_URL},        {"webhook", RISK_PARAM_URL},      {"endpoint", RISK_PARAM_URL},
        {"hostname", RISK_PARAM_URL},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (slice_is(last, table[i].word)) /* zip_code and country_code are no programs */
            return table[i].bit == RISK_PARAM_CODE && tokens > 1 && slice_is(last, "code") &&
                           !slice_is_any(first, languages)
                       ? 0
                       : table[i].bit;
    return 0;
}

/* "preview" or "execute": the value says whether to act, not which action. */
static bool only_asks_whether(const struct tape *t, uint32_t values, struct arena *a) {
    static const char *const tries[] = {"preview", "plan", "dry_run", "dry-run", "dryRun", "simulate", NULL};
    bool tried = false;
    uint32_t seen = 0;
    TAPE_FOR_ELEM(t, values, i) {
        if (++seen > 2 || !tape_is(t, i, TAPE_STRING))
            return false;
        tried |= slice_is_any(tape_text(t, i, a), tries);
    }
    return tried;
}

/* The values of an enum as actions: the worst one counts, when at least half of them are verbs. */
static void gather_enum(struct risk_facts *f, const struct tape *t, uint32_t values, bool operation,
                        struct arena *a) {
    enum risk_class worst = RISK_NONE;
    struct slice worst_text = {0};
    uint32_t seen = 0, verbs = 0, http = 0, small = 0;
    bool soft = false, sent = false, sums = false;
    TAPE_FOR_ELEM(t, values, i) {
        if (++seen > RISK_ENUM_MAX || !tape_is(t, i, TAPE_STRING))
            break;
        struct slice text = tape_text(t, i, a), tokens[2];
        size_t words = risk_split_name(text, tokens, 2, a);
        if (!words)
            continue;
        static const char *const methods[] = {"GET",    "POST", "PUT",     "PATCH",
                                              "DELETE", "HEAD", "OPTIONS", NULL};
        static const char *const lower[] = {"get", "post", "put", "patch", "delete", "head", "options", NULL};
        http += slice_is_any(text, methods);
        sent |= slice_is(text, "post") || slice_is(text, "put") || slice_is(text, "patch");
        small += slice_is_any(text, lower);
        sums |= slice_is(text, "subtract") || slice_is(text, "multiply");
        const struct risk_word *w = risk_word_find(tokens[0]);
        if (words > 1 && w && w->kind == WORD_FILL)
            w = risk_word_find(tokens[1]); /* auto_fix */
        bool weak = operation && w && w->kind == WORD_WEAK && w->cls != RISK_NONE;
        if (!w || (w->kind != WORD_VERB && w->kind != WORD_BROAD && !weak))
            continue;
        verbs++;
        if (w->rule == WORD_RUN && f->described_read_only)
            continue; /* "runQuery", of a tool that only reads */
        f->op_ui |= w->rule == WORD_UI;
        soft &= w->cls < worst || w->rule == WORD_SOFT;
        if (w->cls > worst) {
            worst = w->cls;
            worst_text = tokens[0];
            soft = w->rule == WORD_SOFT;
        }
    }
    if (sums)
        worst = RISK_READ; /* add, subtract, multiply */
    if (!operation && worst == RISK_FINANCIAL)
        return; /* PAY_PER_REQUEST: a setting */
    http += sent ? small : 0;
    if (!verbs || verbs * 10 < seen * (operation ? 5 : 7) || http * 2 >= seen || worst <= f->op_class)
        return;
    f->op_class = worst;
    f->op_text = worst_text;
    f->op_named = operation;
    f->op_whole = verbs == seen;
    f->op_soft = soft;
}

static bool names_files(const struct risk_facts *f) {
    static const char *const words[] = {"file", "files", "directory", "folder", "dir", "path", NULL};
    for (size_t i = 0; i < f->count; i++)
        if (slice_is_any(f->tokens[i], words))
            return true;
    return false;
}

/* "output_path": a file for the result. */
static bool names_target(const struct slice *tokens, size_t count) {
    static const char *const written[] = {"output", "out", "dest", "destination", "save", NULL};
    return count > 1 && slice_is_any(tokens[0], written) &&
           param_of_name(tokens[0], tokens[count - 1], count) == RISK_PARAM_PATH;
}

/* "output", which is a path by its description. */
static bool is_target(const struct tape *t, uint32_t key, const struct slice *tokens, size_t count,
                      struct arena *a) {
    static const char *const written[] = {"output", "out", "dest", "destination", "dst", NULL};
    struct slice said = risk_lower(tape_text_of(t, key + 1, "description", a), 160, a);
    return count == 1 && slice_is_any(tokens[0], written) &&
           (risk_contains(said, "path") || risk_contains(said, " file") || risk_contains(said, "uri"));
}

/* tool_name with arguments: a call of another tool. input with output: a conversion of files. */
static uint32_t param_of_call(const struct slice *tokens, size_t count) {
    static const char *const given[] = {"args", "arguments", "params", "parameters", "input", "inputs", NULL};
    static const char *const sources[] = {"input", "source", "src", NULL};
    static const char *const results[] = {"output", "out", "destination", "dest", "dst", NULL};
    struct slice last = tokens[count - 1];
    uint32_t bits = slice_is_any(last, given) ? RISK_PARAM_ARGUMENTS : 0;
    if (slice_is(last, "tool") ||
        (count > 1 && slice_is(tokens[count - 2], "tool") && slice_is(last, "name")))
        bits |= RISK_PARAM_TOOL;
    if (count == 1)
        bits |= slice_is_any(last, sources)   ? RISK_PARAM_INPUT
                : slice_is_any(last, results) ? RISK_PARAM_RESULT
                                              : 0;
    return bits;
}

static void gather_property(struct risk_facts *f, const struct tape *t, uint32_t key, struct arena *a) {
    static const char *const operations[] = {"action",     "operation", "mode",   "command", "op",
                                             "subcommand", "verb",      "method", NULL};
    static const char *const ends[] = {"source", "destination", "src", "dst", "dest", NULL};
    struct slice tokens[RISK_NAME_TOKENS_MAX];
    size_t count = risk_split_name(tape_text(t, key, a), tokens, ARRAY_LEN(tokens), a);
    if (!count)
        return;
    struct slice last = tokens[count - 1];
    uint32_t bit = param_of_name(tokens[0], last, count);
    if (names_files(f) && slice_is_any(last, ends))
        bit = RISK_PARAM_PATH; /* move_file: from where to where */
    bool remote = count > 1 && slice_is(tokens[0], "remote");
    if (bit == RISK_PARAM_PATH && remote && !(f->params & RISK_PARAM_PATH))
        f->params |= RISK_PARAM_REMOTE;
    else if (bit == RISK_PARAM_PATH && !remote)
        f->params &= ~(uint32_t)RISK_PARAM_REMOTE;
    f->params |= bit;
    f->path_count += bit == RISK_PARAM_PATH;
    if (bit & (RISK_PARAM_CODE | RISK_PARAM_COMMAND | RISK_PARAM_SQL) && !f->freeform.len)
        f->freeform = tape_text(t, key, a);
    static const char *const message_words[] = {"message", "body", "comment", "feedback", NULL};
    if (slice_is_any(last, message_words))
        f->params |= RISK_PARAM_MESSAGE;
    static const char *const sizes[] = {"quantity", "qty", "amount", "price", "size", "volume", NULL};
    f->side |= slice_is(last, "side");
    f->sized |= slice_is_any(last, sizes);
    if (slice_is(last, "payment") || slice_is(last, "payments"))
        f->params |= RISK_PARAM_PAYMENT;
    if (slice_is(last, "prompt"))
        f->params |= RISK_PARAM_PROMPT;
    static const char *const kept[] = {"content", "body", "message", "value", "text", "data", "title", NULL};
    if (slice_is_any(last, kept))
        f->params |= RISK_PARAM_CONTENT;
    static const char *const made[] = {"new", "result", "output", NULL};
    static const char *const questions[] = {"query", "statement", "expression", "command", "q", NULL};
    if (count == 2 && slice_is(last, "name") && slice_is_any(tokens[0], made))
        f->params |= RISK_PARAM_NEW;
    if (slice_is_any(last, questions))
        f->params |= RISK_PARAM_QUESTION;
    if ((slice_is(last, "id") || slice_is(last, "iid")) && !(count > 1 && slice_is(tokens[0], "model")))
        f->params |= RISK_PARAM_ID;
    f->params |= param_of_call(tokens, count);
    if (names_target(tokens, count))
        f->params |= RISK_PARAM_TARGET;
    f->made_as |= is_target(t, key, tokens, count, a);
    if (count > 1 && slice_is(tokens[0], "sql"))
        f->params |= RISK_PARAM_SQL;
    uint32_t value = key + 1;
    if (!tape_is(t, value, TAPE_OBJECT))
        return;
    struct slice type = tape_text_of(t, value, "type", a);
    f->operand_count +=
        count == 1 && last.len == 1 && (slice_is(type, "number") || slice_is(type, "integer"));
    struct slice lower = risk_lower(tape_text_of(t, value, "description", a), 160, a);
    if (slice_is(last, "query") && (risk_contains(lower, "sql ") || risk_contains(lower, "cypher")))
        f->params |= RISK_PARAM_SQL;
    uint32_t values = tape_get_str(t, value, "enum");
    static const char *const rights[] = {"permission", "permissions", "access", "role",
                                         "scope",      "scopes",      NULL};
    if (values && tape_is(t, values, TAPE_ARRAY)) {
        if (slice_is_any(last, rights))
            return; /* read or write: what is allowed, not what is done */
        if (only_asks_whether(t, values, a))
            return;
        gather_enum(f, t, values, slice_is_any(last, operations), a);
    } else if (slice_is_any(last, operations)) {
        f->op_free = true;
        f->op_free_text = risk_lower(tape_text_of(t, value, "description", a), RISK_PROSE_BYTES_MAX, a);
    }
}

/* A required argument that names the destination of the result. */
static void gather_required(struct risk_facts *f, const struct tape *t, uint32_t tool, struct arena *a) {
    static const char *const written[] = {"output", "out", "dest", "destination", "dst", NULL};
    uint32_t required = tape_path(t, tool, "inputSchema", "required", NULL);
    if (!required || !tape_is(t, required, TAPE_ARRAY))
        return;
    TAPE_FOR_ELEM(t, required, i) {
        struct slice tokens[RISK_NAME_TOKENS_MAX];
        size_t count = tape_is(t, i, TAPE_STRING)
                           ? risk_split_name(tape_text(t, i, a), tokens, ARRAY_LEN(tokens), a)
                           : 0;
        if (names_target(tokens, count) || (f->made_as && count == 1 && slice_is_any(tokens[0], written)))
            f->params |= RISK_PARAM_OUTPUT;
    }
}

static void gather_params(struct risk_facts *f, const struct tape *t, uint32_t tool, struct arena *a) {
    uint32_t props = tape_path(t, tool, "inputSchema", "properties", NULL);
    if (!props || !tape_is(t, props, TAPE_OBJECT))
        return;
    /* A single object that wraps the real parameters is looked through. */
    if (tape_node(t, props)->count == 1) {
        uint32_t inner = tape_path(t, props + 2, "properties", NULL);
        if (inner && tape_is(t, inner, TAPE_OBJECT))
            props = inner;
    }
    bool routed_command = false, routed_parameters = false;
    TAPE_FOR_MEMBER(t, props, key) {
        if (++f->prop_count > RISK_PROPS_MAX)
            break;
        routed_command |= tape_eq(t, key, SLICE("command"));
        routed_parameters |= tape_eq(t, key, SLICE("parameters"));
        gather_property(f, t, key, a);
    }
    if (routed_command && routed_parameters)
        f->params |= RISK_PARAM_ROUTED;
}

static void gather_hints(struct risk_facts *f, const struct tape *t, uint32_t tool) {
    uint32_t notes = tape_get_str(t, tool, "annotations");
    if (!notes || !tape_is(t, notes, TAPE_OBJECT))
        return;
    uint32_t read_only = tape_get_str(t, notes, "readOnlyHint");
    f->hint_read_only = read_only && tape_is(t, read_only, TAPE_TRUE);
    f->hint_mutates = read_only && tape_is(t, read_only, TAPE_FALSE);
    uint32_t destructive = tape_get_str(t, notes, "destructiveHint");
    f->hint_destructive = destructive && tape_is(t, destructive, TAPE_TRUE);
    uint32_t open = tape_get_str(t, notes, "openWorldHint");
    f->hint_open_world = open && tape_is(t, open, TAPE_TRUE);
}

/* "Send a purchase event": every use of the word in the first sentence only modifies another noun. */
static bool only_about_money(const struct risk_facts *f, struct slice word) {
    bool about = false;
    for (size_t i = 0; i < f->sentence_end; i++) {
        if (!slice_eq(f->prose[i].text, word))
            continue;
        const struct risk_word *next = i + 1 < f->sentence_end ? risk_word_find(f->prose[i + 1].text) : NULL;
        if (!next || !(next->nouns & NOUN_NOTMONEY))
            return false;
        about = true;
    }
    return about;
}

static bool speaks_of_trade(struct slice lower) {
    static const char *const phrases[] = {"trading",
                                          "broker",
                                          "buy or sell",
                                          "buy/sell",
                                          "limit order",
                                          "market order",
                                          "on-chain",
                                          "blockchain",
                                          "signed xdr",
                                          "signed transaction",
                                          "financial impact",
                                          "transaction to the",
                                          NULL};
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(lower, *p))
            return true;
    return false;
}

static bool serves_trade(const struct risk_facts *f) {
    static const char *const words[] = {"trading", "trader", "broker", "forex", "exchange", "futures", NULL};
    for (size_t i = 0; i < f->ctx->server_word_count; i++)
        if (slice_is_any(f->ctx->server_words[i], words))
            return true;
    return false;
}

/* Money is the object when a money word is in the name and no word follows that makes it a setting ("payment
 * method", "invoice template"). */
static bool names_money(const struct risk_facts *f) {
    bool trades = f->ctx->till || f->params & RISK_PARAM_PAYMENT || f->trades;
    static const char *const traded[] = {"order",       "orders", "position", "positions", "trade",
                                         "transaction", "tx",     "xdr",      NULL};
    for (size_t i = 0; !trades && i < f->count; i++)
        trades = slice_is_any(f->tokens[i], traded) && speaks_of_trade(f->lower);
    uint32_t wanted = NOUN_MONEY | (trades ? NOUN_TRADE : 0);
    const struct risk_word *last = f->count ? f->words[f->count - 1] : NULL;
    if (last && last->nouns & (NOUN_MINOR | NOUN_STATE) && !(last->nouns & wanted))
        return false; /* order_comment, payment_link_tags */
    for (size_t i = 0; i < f->count; i++) {
        if (!f->words[i] || !(f->words[i]->nouns & wanted))
            continue;
        if (i + 1 < f->count && f->words[i + 1] && f->words[i + 1]->nouns & NOUN_NOTMONEY)
            continue;
        if (!only_about_money(f, f->tokens[i]))
            return true;
    }
    return false;
}

void risk_facts_gather(struct risk_facts *f, const struct risk_toolset *ctx, const struct tape *t,
                       uint32_t tool, struct arena *a) {
    *f = (struct risk_facts){.ctx = ctx};
    if (!tape_is(t, tool, TAPE_OBJECT))
        return;
    f->name = tape_text_of(t, tool, "name", a);
    gather_name(f, a);
    drop_tool(f);
    struct slice prose = slice_trim(tape_text_of(t, tool, "description", a));
    if (!prose.len)
        prose = tape_text_of(t, tool, "title", a);
    gather_prose(f, past_notice(past_brackets(prose)), a);
    f->described_read_only = describes_read_only(f->lower);
    bool exchanged = risk_contains(f->lower, "oauth") || risk_contains(f->lower, "authorization code");
    for (size_t i = 0; i < f->count; i++) /* run_select_query */
        f->described_read_only |= slice_is(f->tokens[i], "select") || slice_is(f->tokens[i], "readonly");
    gather_params(f, t, tool, a);
    if (exchanged && slice_is(f->freeform, "code")) { /* a code that a browser was given */
        f->params &= ~(uint32_t)RISK_PARAM_CODE;
        f->freeform = (struct slice){0};
    }
    gather_required(f, t, tool, a);
    gather_hints(f, t, tool);
    f->ui = ctx->browser || (f->name_nouns | f->first_nouns) & NOUN_UI ||
            risk_contains(f->lower, "the current page") || risk_contains(f->lower, "file input") ||
            risk_contains(f->lower, "radio button");
    f->trades = serves_trade(f) || (f->side && f->sized); /* create_order(side, quantity) */
    f->money = names_money(f);
}
