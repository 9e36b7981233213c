/* From facts to a class: weighs the verbs of name and description against each other. */
#include "risk/classify.h"

#include "risk/facts.h"
#include "risk/foreign.h"

#include "base/mem.h"

#define HEAD_SKIP_MAX 14      /* words before the verb that opens a sentence */
#define VERBS_MAX 12          /* verbs next to it */
#define SENTENCES_MAX 3       /* searched for an opening verb */
#define OPENS_AT_MAX 2        /* words before a verb that still count as opening a description */
#define OBJECT_WORDS 6        /* words after a verb that may name its object */
#define CHAIN_GAP_MAX 4       /* words between two verbs of "create a tag or remove it" */
#define CHOICE_GAP_MAX 8      /* of "get the settings of a server, or update them" */
#define ACTIONS_BYTES_MAX 240 /* bytes of a description that may list actions */
#define DATA_WORDS_MAX 6      /* words of a sentence that only names data */
#define PREPOSITION_GAP_MAX 4 /* words between "for" and what it is about */
#define ROUTED_WORDS 60       /* words of a description of a tool that routes many commands */

/* The class that one source suggests. */
struct opinion {
    const struct risk_word *verb; /* NULL: none */
    enum risk_class cls;
    bool strong;
    bool leads; /* a name begins with it */
    bool opens; /* a description begins with it */
    bool stray; /* found somewhere in a description that no verb opens */
};

struct decision {
    enum risk_class cls;
    int confidence;
};

static void say(struct risk_report *r, const char *kind, struct slice text) {
    if (r->evidence_count < RISK_EVIDENCE_MAX)
        r->evidence[r->evidence_count++] = (struct risk_evidence){kind, text};
}

static bool is_verb(const struct risk_word *w) { return w && w->kind == WORD_VERB; }
static bool is_weak(const struct risk_word *w) {
    return w && (w->kind == WORD_WEAK || w->kind == WORD_BROAD);
}

/* The object of a one-word name is in the first sentence: "Run a tool with validation" runs a tool. */
static uint32_t described_object(const struct risk_facts *f) {
    uint32_t object = 0;
    for (size_t i = 0; i < f->sentence_end && !slice_is(f->prose[i].text, "with"); i++) {
        const struct risk_word *noun = risk_word_find(f->prose[i].text);
        object |= noun ? noun->nouns : 0;
    }
    return object;
}

static struct opinion opine_name(const struct risk_facts *f, size_t at, bool leads) {
    const struct risk_word *w = f->words[at];
    uint32_t object = 0; /* its own noun bits do not describe its object */
    for (size_t i = 0; i < f->count; i++)
        object |= i != at && f->words[i] ? f->words[i]->nouns : 0;
    if (f->count == 1)
        object = described_object(f);
    enum risk_class cls = risk_verb_class(f, w, object);
    bool gesture = w->rule == WORD_UI && cls == RISK_EXECUTE;
    bool engine = w->nouns & NOUN_ENGINE && at + 1 == f->count;
    return (struct opinion){w, cls, is_verb(w) || gesture || engine, leads, false, false};
}

/* "Load a sprite into a node" changes the node; loading into a conversation only reads. */
static bool loads_into(const struct risk_facts *f, size_t at) {
    static const char *const own[] = {"context", "memory", "conversation", "session", "view", "your", NULL};
    if (!slice_is(f->prose[at].text, "load"))
        return false;
    for (size_t i = at + 1; i + 1 < f->sentence_end && i <= at + OBJECT_WORDS; i++) {
        if (!slice_is(f->prose[i].text, "into"))
            continue;
        for (size_t k = i + 1; k < f->sentence_end && k <= i + OBJECT_WORDS; k++)
            for (const char *const *w = own; *w; w++)
                if (slice_is(f->prose[k].text, *w))
                    return false;
        return true;
    }
    return false;
}

/* "Post a question": a word that mostly is a noun, with an article behind it, is a verb. */
static bool takes_object(const struct risk_facts *f, size_t at) {
    static const char *const articles[] = {"a", "an", "the", NULL};
    static const char *const verbs[] = {"post",   "order", "book", "tag",  "label",  "comment",
                                        "record", "log",   "rate", "flag", "report", NULL};
    return at == 0 && slice_is_any(f->prose[0].text, verbs) && !f->prose_forms[0] && f->prose_count > 1 &&
           f->prose[1].brk == RISK_BREAK_SPACE && slice_is_any(f->prose[1].text, articles);
}

static struct opinion opine_prose(const struct risk_facts *f, size_t at) {
    uint32_t object = f->name_nouns;
    for (size_t i = at + 1; i < f->prose_count && i <= at + OBJECT_WORDS; i++) {
        if (f->prose[i].brk == RISK_BREAK_SENTENCE || slice_is(f->prose[i].text, "with"))
            break;
        const struct risk_word *noun = risk_word_find(f->prose[i].text);
        object |= noun ? noun->nouns : 0;
    }
    const struct risk_word *w = f->prose_words[at];
    enum risk_class cls = loads_into(f, at) ? RISK_WRITE : risk_verb_class(f, w, object);
    if (slice_is(f->prose[at].text, "responds") && at + 1 < f->prose_count &&
        slice_is(f->prose[at + 1].text, "with"))
        cls = RISK_READ;
    if (slice_same_str(w->text, "kick") && at + 1 < f->prose_count && slice_is(f->prose[at + 1].text, "off"))
        cls = RISK_EXECUTE;
    bool verb = is_verb(w) || takes_object(f, at);
    return (struct opinion){w, cls, verb, false, verb && at <= OPENS_AT_MAX, false};
}

/* "search_and_replace", "get_or_create": the worse of two coordinated verbs. */
static struct opinion with_second_verb(const struct risk_facts *f, size_t lead, struct opinion first) {
    for (size_t i = lead + 1; i + 1 < f->count; i++) {
        bool joins = slice_is(f->tokens[i], "and") || slice_is(f->tokens[i], "or");
        if (!joins || !is_verb(f->words[i + 1]))
            continue;
        struct opinion second = opine_name(f, i + 1, true);
        if (second.cls > first.cls)
            return second;
    }
    return first;
}

/* "build_status", "deploy_logs": the verb only names what is read. */
static bool names_a_state(const struct risk_facts *f, size_t lead) {
    const struct risk_word *last = f->words[f->count - 1];
    return f->count == lead + 2 && f->words[lead] && f->words[lead]->nouns & (NOUN_DEED | NOUN_ENGINE) &&
           last && last->nouns & NOUN_STATE;
}

/* "quarantine_stats: Get ...": what is known of the deed. */
static bool asks_state_of(const struct risk_facts *f, size_t lead) {
    const struct risk_word *last = f->words[f->count - 1];
    return f->count == lead + 2 && f->words[lead] && f->words[lead]->cls > RISK_READ &&
           f->words[lead]->cls < RISK_DESTRUCTIVE && last && last->nouns & NOUN_STATE;
}

/* "Reinforce an entry", fillet_edges: "Fillet (round) edges": an unknown word that stands where verbs stand.
 */
static bool opens_unknown(const struct risk_facts *f) {
    static const char *const articles[] = {"a", "an", "the", "all", "your", "out", "up", "off", NULL};
    static const char *const others[] = {"who",    "whether", "where",  "how", "what", "why",   "per",
                                         "from",   "after",   "in",     "at",  "on",   "given", "like",
                                         "not",    "when",    "which",  "as",  "is",   "over",  "across",
                                         "during", "between", "inside", NULL};
    if (f->prose_count < 2 || f->prose_words[0])
        return false;
    bool named = f->count > 1 && slice_eq(f->tokens[0], f->prose[0].text) &&
                 !slice_eq(f->tokens[1], f->prose[1].text) && !slice_ends(f->tokens[0], SLICE("s"));
    bool object = false;
    for (size_t i = 1; named && i < f->sentence_end; i++)
        object |= slice_eq(f->tokens[f->count - 1], f->prose[i].text);
    return object || (slice_is_any(f->prose[1].text, articles) && f->prose[1].brk == RISK_BREAK_SPACE &&
                      !slice_is_any(f->prose[0].text, others));
}

/* "list_create", "query_execute", "view_delete": a word that can be noun or verb, then the verb. */
static bool verb_follows(const struct risk_facts *f, size_t lead, const struct risk_word *opening) {
    const struct risk_word *last = f->words[f->count - 1];
    return f->count == lead + 2 && is_verb(last) && f->words[lead]->cls == RISK_READ &&
           (last->rule == WORD_CREATE || last->rule == WORD_RUN || last->cls == RISK_DESTRUCTIVE ||
            (opening && last == opening)) &&
           strlen(last->text) == f->tokens[f->count - 1].len;
}

/* "run_complete", "build_cancel", "test_create": a verb used as a noun, then the real verb. The description
 * must open with a verb of the same class. */
static bool deed_is_thing(const struct risk_facts *f, size_t lead, const struct risk_word *opening) {
    const struct risk_word *last = f->words[f->count - 1];
    if (f->count == lead + 2 && is_verb(f->words[lead]) && is_verb(last) && last == opening &&
        last->cls == RISK_READ)
        return f->words[lead]->cls < RISK_DESTRUCTIVE; /* forward_list: "List ..." */
    return f->count == lead + 2 && f->words[lead] && f->words[lead]->nouns & NOUN_DEED && last &&
           (is_verb(last) || is_weak(last)) && is_verb(opening) && last->cls == opening->cls &&
           last->cls != f->words[lead]->cls;
}

/* "is_available", "can_edit": the name is a question. */
static bool asks(struct slice word) {
    static const char *const words[] = {"is",    "can",  "has", "does", "what",  "who",
                                        "where", "when", "why", "how",  "which", NULL};
    return slice_is_any(word, words);
}

/* "deploy_services_reader", "schema-validator": an agent noun for an action that only reads. */
static bool ends_as_looker(const struct risk_facts *f) {
    static const char *const words[] = {
        "reader",   "viewer", "finder", "checker", "validator", "inspector", "analyzer", "explorer",
        "searcher", "lister", "getter", "fetcher", "predictor", "detector",  "tracker",  NULL};
    for (const char *const *w = words; *w; w++)
        if (f->count > 1 && slice_is(f->tokens[f->count - 1], *w))
            return true;
    return false;
}

/* "invoice_issue_preview": a preview changes nothing. */
static bool ends_as_preview(const struct risk_facts *f, size_t lead) {
    const size_t last = f->count - 1;
    if (f->count > lead + 2 && slice_is(f->tokens[last], "run") && slice_is(f->tokens[last - 1], "dry"))
        return true; /* prune_dry_run */
    return f->count > lead + 1 && !is_verb(f->words[lead]) && slice_is(f->tokens[last], "preview");
}

/* "docx-to-markdown", "text_to_image" */
static bool turns_into(const struct risk_facts *f, size_t lead) {
    for (size_t i = lead + 1; i + 1 < f->count; i++)
        if (slice_is(f->tokens[i], "to"))
            return true;
    return false;
}

static struct opinion convert_opinion(const struct risk_facts *f) {
    static const char *const sources[] = {"text",   "prompt", "speech", "image", "images", "photo", "audio",
                                          "sketch", "script", "idea",   "story", "voice",  NULL};
    const struct risk_word *last = f->words[f->count - 1];
    bool media = false; /* pdf_to_images only shows its pages */
    for (size_t i = 0; i + 1 < f->count; i++)
        media |= slice_is_any(f->tokens[i], sources) && last && last->nouns & NOUN_MEDIA;
    const struct risk_word *verb = risk_word_find(media ? SLICE("generate") : SLICE("convert"));
    return (struct opinion){verb, risk_verb_class(f, verb, f->name_nouns), false, true, false, false};
}

/* "operation_get", "members_list": the verb follows its object. */
static bool ends_as_getter(const struct risk_facts *f, size_t at) {
    static const char *const words[] = {"get", "list", "read", "search", "view", "show", "fetch", NULL};
    if (at + 1 != f->count)
        return false;
    for (const char *const *w = words; *w; w++)
        if (slice_is(f->tokens[at], *w))
            return true;
    return false;
}

/* "billing_rules_get_all": nothing but names before the verb, and its object behind it. */
static bool leads_object(const struct risk_facts *f, size_t lead, size_t at,
                         const struct risk_word *opening) {
    if (opening && f->words[at]->cls != RISK_READ && opening->cls != f->words[at]->cls)
        return false; /* pod_create_failures: "Aggregate ..." */
    for (size_t i = lead; i < at; i++)
        if (f->words[i] && f->words[i]->cls != RISK_NONE)
            return false;
    for (size_t i = at + 1; i < f->count; i++)
        if (f->words[i] && f->words[i]->cls > f->words[at]->cls && is_verb(f->words[i]))
            return false;
    return at + 1 < f->count;
}

/* "export_resume: Render ...", "book_search: Reserve ...": a word that can be noun or verb leads, and the
 * description does not do what the later word says. */
static bool weak_leads(const struct risk_facts *f, size_t lead, size_t later,
                       const struct risk_word *opening) {
    const struct risk_word *first = f->words[lead], *verb = f->words[later];
    return is_weak(first) && first->nouns & NOUN_ACT && opening && opening->cls != verb->cls &&
           (later + 1 == f->count ? verb->cls < RISK_DESTRUCTIVE
                                  : verb->cls == RISK_FINANCIAL && opening->cls == RISK_READ);
}

/* `opening` is the verb of the description. If a name has several verbs, the one that the description
 * repeats counts. */
static struct opinion name_opinion(const struct risk_facts *f, const struct risk_word *opening, bool stray) {
    size_t lead = 0;
    while (lead + 1 < f->count && f->words[lead] && f->words[lead]->kind == WORD_FILL)
        lead++;
    if (lead >= f->count)
        return (struct opinion){0};
    if (asks(f->tokens[0]))
        return (struct opinion){risk_word_find(SLICE("check")), RISK_READ, true, true, false, false};
    if (ends_as_looker(f) || ends_as_preview(f, lead))
        return (struct opinion){risk_word_find(SLICE("read")), RISK_READ, true, true, false, false};
    bool reads = opening && is_verb(opening) && opening->cls == RISK_READ;
    if (names_a_state(f, lead) || (reads && asks_state_of(f, lead)))
        return (struct opinion){f->words[f->count - 1], RISK_READ, false, true, false, false};
    if (deed_is_thing(f, lead, opening))
        return opine_name(f, f->count - 1, false);
    if (lead + 2 < f->count && reads && !stray && is_verb(f->words[lead]) && f->words[lead + 1] == opening &&
        f->words[lead] != opening)
        return opine_name(f, lead + 1, true); /* trash_get_naming: "Get ...": the first word is a product */
    if (is_verb(f->words[lead]))              /* list_trash: "Displays ...": the second word is a thing */
        return verb_follows(f, lead, stray ? NULL : opening) && !reads
                   ? opine_name(f, f->count - 1, false)
                   : with_second_verb(f, lead, opine_name(f, lead, true));
    const struct risk_word *last = f->words[f->count - 1];
    if (is_verb(last) && last->cls == RISK_READ && opening && opening->cls == RISK_READ && is_verb(opening) &&
        f->count > lead + 1)
        return opine_name(f, f->count - 1, false); /* billing_topup_get: "Return ..." */
    for (size_t i = lead + 1; i < f->count; i++)
        if (is_verb(f->words[i]) && f->words[i] == opening)
            return opine_name(f, i, false);
    for (size_t i = lead + 1; i < f->count; i++) {
        if (!is_verb(f->words[i]))
            continue;
        if (weak_leads(f, lead, i, opening))
            break;
        bool coordinated = slice_is(f->tokens[i - 1], "and") || slice_is(f->tokens[i - 1], "then");
        if (coordinated && is_weak(f->words[lead]) && f->words[lead]->cls == RISK_EXECUTE &&
            f->words[i]->cls < RISK_EXECUTE)
            break; /* rebuild_project_and_reopen */
        return opine_name(f, i, ends_as_getter(f, i) || leads_object(f, lead, i, opening));
    }
    if (turns_into(f, lead) && !opens_unknown(f) &&
        (!is_weak(f->words[lead]) || slice_is(f->tokens[f->count - 1], "text")))
        return convert_opinion(f);
    if (is_weak(f->words[lead]))
        return opine_name(f, lead, true);
    for (size_t i = f->count; i-- > lead;)
        if (is_weak(f->words[i]))
            return opine_name(f, i, false);
    return (struct opinion){0};
}

static bool is_adverb(struct slice word) {
    static const char *const adjectives[] = {"daily",  "weekly", "monthly", "quarterly", "yearly",
                                             "hourly", "early",  "family",  "monopoly",  NULL};
    return word.len > 4 && slice_ends(word, SLICE("ly")) && !slice_is_any(word, adjectives);
}

static bool is_article(struct slice word) {
    static const char *const words[] = {"a",     "an",       "the",      "one", "each",
                                        "every", "this",     "any",      "all", "these",
                                        "your",  "multiple", "existing", "new", NULL};
    return slice_is_any(word, words);
}

static bool joins(struct slice word) {
    return slice_is(word, "and") || slice_is(word, "or") || slice_is(word, "to") || slice_is(word, "it");
}

static bool is_preposition(const struct risk_facts *f, size_t i) {
    static const char *const words[] = {"of", "for", "per", "until", NULL};
    for (const char *const *w = words; i < f->sentence_end && *w; w++)
        if (slice_is(f->prose[i].text, *w))
            return true;
    return false;
}

/* "The messages in a folder", "Replies for a message": a noun that could be a verb. Destructive and
 * financial verbs count in any position. */
static bool is_thing(const struct risk_facts *f, size_t i) {
    const struct risk_word *w = f->prose_words[i];
    if (slice_is(f->prose[i].text, "step")) /* "Step 1 of 2" */
        return true;
    if (!w || w->cls <= RISK_READ || w->cls >= RISK_DESTRUCTIVE)
        return false;
    static const char *const prefixes[] = {"re",  "auto", "batch", "bulk", "force",
                                           "and", "or",   "un",    "de",   NULL};
    if (i && f->prose[i].brk == RISK_BREAK_HYPHEN && !slice_is_any(f->prose[i - 1].text, prefixes) &&
        !(i + 1 < f->prose_count && is_article(f->prose[i + 1].text)))
        return true; /* "One-call overview", "multi-turn" */
    bool compound = i + 1 < f->prose_count && f->prose[i + 1].brk == RISK_BREAK_HYPHEN;
    if (compound && !joins(f->prose[i + 1].text) && !slice_is(f->prose[i + 1].text, "paste"))
        return true; /* "design-based", "load-balanced", "control-plane" */
    if (w->kind == WORD_BROAD)
        return false;
    static const char *const before[] = {"the",   "a",     "an",      "every",  "each",   "its",
                                         "their", "your",  "current", "recent", "latest", "active",
                                         "saved", "first", "single",  "next",   "last",   NULL};
    if (i && f->prose[i].brk != RISK_BREAK_SENTENCE && slice_is_any(f->prose[i - 1].text, before))
        return true;
    if (w->kind == WORD_WEAK && i + 1 < f->prose_count && slice_is(f->prose[i + 1].text, "of"))
        return true; /* "Internal rate of return" */
    static const char *const places[] = {"in", "inside", "from", "with", "within", "by", NULL};
    if (i == 0 && w->kind == WORD_WEAK && f->prose_forms[0] == 's' && f->prose_count > 1 &&
        (slice_ends(f->prose[1].text, SLICE("ed")) || is_preposition(f, 1) ||
         slice_is_any(f->prose[1].text, places)))
        return true; /* "Events paired with a market" */
    if (i && w->kind == WORD_WEAK && slice_ends(f->prose[i].text, SLICE("s")) && !f->prose_words[i - 1] &&
        f->prose[i].brk == RISK_BREAK_SPACE && !joins(f->prose[i - 1].text) &&
        !is_adverb(f->prose[i - 1].text))
        return true; /* "Available diagnostic tests" */
    bool of = i + 1 < f->prose_count &&
              (slice_is(f->prose[i + 1].text, "of") || slice_is(f->prose[i + 1].text, "for"));
    return of && f->prose_forms[i] == 's';
}

/* "Lag for a consumer group", "Margin of an order": in a sentence that no verb opens, a word behind a
 * preposition says what the returned data is about. */
static bool is_behind_preposition(const struct risk_facts *f, size_t i) {
    if (f->prose_forms[i] == 'g' || f->prose_words[i]->cls >= RISK_DESTRUCTIVE ||
        f->prose_words[i]->kind == WORD_BROAD)
        return false;
    if (i && is_weak(f->prose_words[i]) && is_preposition(f, i + 1))
        return true; /* "funding rate for one market" */
    for (size_t k = i; k-- > 1 && i - k <= PREPOSITION_GAP_MAX;)
        if (is_preposition(f, k))
            return true;
    return false;
}

/* The index of the verb that opens the sentence at `from`, or SIZE_MAX. Filler words are skipped. Any other
 * word that is not a verb ends the search, unless "to" follows ("Tool to list ..."). */
static size_t opening_verb(const struct risk_facts *f, size_t from, size_t to) {
    size_t end = from + HEAD_SKIP_MAX < to ? from + HEAD_SKIP_MAX : to;
    bool lost = false; /* "Number of periods to pay off a loan" is data */
    bool counted = from + 1 < to && slice_is(f->prose[from + 1].text, "of");
    for (size_t i = from; i < end; i++) {
        const struct risk_word *w = f->prose_words[i];
        bool after_to = i > from && slice_is(f->prose[i - 1].text, "to") && !counted;
        if (lost && !after_to && !(w && w->kind == WORD_BROAD))
            continue;
        if (w && w->kind == WORD_FILL)
            continue;
        if (slice_is(f->prose[i].text, "re") && i + 1 < to && f->prose[i + 1].brk == RISK_BREAK_HYPHEN)
            continue; /* "Re-index" */
        if (is_thing(f, i)) {
            lost = true;
            continue;
        }
        bool heads_list =
            w && w->kind == WORD_BROAD && i + 1 < to && f->prose[i + 1].brk == RISK_BREAK_CLAUSE;
        if (!f->prose[i].joined && (is_verb(w) || (is_weak(w) && (!lost || after_to)) || heads_list))
            return i; /* the last: "Dataset ops: list/get/delete" */
        if (is_adverb(f->prose[i].text))
            continue;
        /* "Purpose: ..." and "[Beta] ..." are labels */
        if (i + 1 < to && f->prose[i + 1].brk == RISK_BREAK_CLAUSE && i < from + 3)
            continue;
        lost = true;
    }
    return SIZE_MAX;
}

static size_t sentence_from(const struct risk_facts *f, size_t at) {
    while (at < f->prose_count && f->prose[at].brk != RISK_BREAK_SENTENCE)
        at++;
    return at;
}

/* "Use this when ...", "If ...": sentences that instruct the reader and do not describe the tool. */
static bool addresses_reader(struct slice word) {
    static const char *const words[] = {"use", "you",     "if",    "when",      "note",    "call",
                                        "do",  "always",  "never", "important", "warning", "see",
                                        "for", "example", "pass",  NULL};
    for (const char *const *w = words; *w; w++)
        if (slice_is(word, *w))
            return true;
    return false;
}

/* "CALL FIRST before any task. Prepares ..." */
static bool calls_first(const struct risk_facts *f, size_t from, size_t to) {
    static const char *const heads[] = {"call",    "important", "always", "note",
                                        "warning", "mandatory", "when",   NULL};
    static const char *const nexts[] = {"first", "this",  "before", "when", "once",
                                        "for",   "after", "only",   NULL};
    return to < f->prose_count && from + 1 < to && slice_is_any(f->prose[from].text, heads) &&
           (!slice_is(f->prose[from].text, "call") || slice_is_any(f->prose[from + 1].text, nexts));
}

/* "FOR CREATE-UI WORKFLOW (/cui): Fetch ...": the words before the colon say when to use the tool. */
static size_t past_label(const struct risk_facts *f) {
    if (!f->prose_count || !slice_is(f->prose[0].text, "for"))
        return 0;
    for (size_t i = 1; i < f->prose_count && i <= HEAD_SKIP_MAX; i++)
        if (f->prose[i].brk == RISK_BREAK_CLAUSE && is_verb(f->prose_words[i]))
            return i;
    return 0;
}

/* "Headlines from our historical archive." */
static bool ends_as_thing(const struct risk_facts *f, size_t i) {
    return i && i + 1 == f->sentence_end && f->prose_words[i]->nouns & NOUN_DEED;
}

/* "symptoms and management": what the answer is about. "Order management: create, update" has a list. */
static bool is_subject(const struct risk_facts *f, size_t i) {
    return i && slice_is(f->prose[i].text, "management") && slice_is(f->prose[i - 1].text, "and");
}

/* "you can run", "used to delete", "and start": a word that is a verb wherever it stands in a sentence. */
static bool acts_here(const struct risk_facts *f, size_t i) {
    static const char *const before[] = {"to",    "can",   "will", "may",  "and", "or",
                                         "that",  "which", "then", "you",  "let", "lets",
                                         "helps", "must",  "not",  "also", NULL};
    static const char *const gerund[] = {"for", "by", "of", "and", "or", NULL};
    if (f->prose_words[i]->cls == RISK_DESTRUCTIVE && is_verb(f->prose_words[i]))
        return true;
    if (f->prose[i].brk == RISK_BREAK_CLAUSE && !f->prose_forms[i] &&
        f->prose_words[i]->cls < RISK_DESTRUCTIVE)
        return true; /* "Drive a screen: set fields" */
    return i == 0 || slice_is_any(f->prose[i - 1].text, f->prose_forms[i] == 'g' ? gerund : before);
}

/* *ret_stray: no sentence opens with the verb. */
static size_t find_opening(const struct risk_facts *f, bool *ret_stray) {
    *ret_stray = false;
    size_t from = past_label(f);
    for (int i = 0; i < SENTENCES_MAX && from < f->prose_count; i++) {
        size_t to = sentence_from(f, from + 1);
        bool skip = i > 0 ? addresses_reader(f->prose[from].text) : calls_first(f, from, to);
        size_t at = skip ? SIZE_MAX : opening_verb(f, from, to);
        if (at != SIZE_MAX)
            return at;
        from = to;
    }
    *ret_stray = true;
    for (size_t i = 0; i < f->sentence_end;
         i++) /* "Interactive browser automation"; not "impressions, clicks" */
        if (is_verb(f->prose_words[i]) && !f->prose[i].joined && !is_thing(f, i) && !ends_as_thing(f, i) &&
            !(i && (slice_is(f->prose[i - 1].text, "a") || slice_is(f->prose[i - 1].text, "an"))) &&
            !is_behind_preposition(f, i) &&
            !(f->prose_forms[i] == 's' && f->prose_words[i]->nouns & NOUN_GESTURE))
            return i;
    for (size_t i = 0; i < f->sentence_end; i++)
        if (is_weak(f->prose_words[i]) && !f->prose[i].joined && !is_thing(f, i) &&
            !is_behind_preposition(f, i) && !is_subject(f, i) && !slice_is(f->prose[i].text, "agents") &&
            f->prose[i].brk != RISK_BREAK_HYPHEN)
            return i;
    return SIZE_MAX;
}

/* "lists" has its own entry and is still a third person. */
static char form_of(const struct risk_facts *f, size_t i) {
    bool plural = !f->prose_forms[i] && slice_ends(f->prose[i].text, SLICE("s"));
    return plural && strlen(f->prose_words[i]->text) == f->prose[i].text.len ? 's' : f->prose_forms[i];
}

/* Is the verb at i part of a list of verbs, in the same form as the one before it? */
static bool joins_chain(const struct risk_facts *f, size_t at, size_t last, size_t i, bool broad) {
    const struct risk_word *w = f->prose_words[i];
    bool ends = i + 1 >= f->prose_count;
    if (!w || (w->kind != WORD_VERB && w->kind != WORD_BROAD) || w->cls == RISK_NONE || (ends && !broad))
        return false;
    const struct risk_word *next = ends ? NULL : risk_word_find(f->prose[i + 1].text);
    if (next && next->kind != WORD_VERB && next->nouns & (NOUN_STATE | NOUN_GUIDE) &&
        w->cls < RISK_DESTRUCTIVE)
        return false; /* "usage tips and upgrade info" */
    if (slice_is(f->prose[i].text, "drop") &&
        (slice_is(f->prose[at].text, "drag") || (i >= 2 && slice_is(f->prose[i - 2].text, "drag"))))
        return false; /* "drag and drop" is one gesture */
    bool listed = f->prose[i].brk == RISK_BREAK_LIST || slice_is(f->prose[i - 1].text, "and") ||
                  slice_is(f->prose[i - 1].text, "or");
    if (broad)
        return listed || f->prose[i].brk == RISK_BREAK_CLAUSE || slice_is(f->prose[i - 1].text, "to");
    bool has_object = f->prose[i + 1].brk != RISK_BREAK_SENTENCE && f->prose[i + 1].brk != RISK_BREAK_CLAUSE;
    if (form_of(f, i) == 's' && f->prose[i + 1].brk == RISK_BREAK_LIST &&
        !(f->prose_words[i + 1] && f->prose_words[i + 1]->cls != RISK_NONE) && !joins(f->prose[i + 1].text))
        return false; /* "Returns zones, overlays, heritage" */
    const size_t gap = slice_is(f->prose[i - 1].text, "or") ? CHOICE_GAP_MAX : CHAIN_GAP_MAX;
    return listed && has_object && i - last <= gap && form_of(f, i) == form_of(f, at);
}

/* Verbs that are coordinated with the opening one: "Create, update or delete", "Manage tags: list, add,
 * remove". */
static size_t beside(const struct risk_facts *f, size_t at, size_t *ret_at) {
    size_t count = 0, last = at;
    bool broad = f->prose_words[at]->kind == WORD_BROAD;
    size_t end = sentence_from(f, at + 1);
    if (broad && end < f->prose_count)
        end = sentence_from(f, end + 1);
    for (size_t i = at + 1; i < end && count < VERBS_MAX; i++)
        if (joins_chain(f, at, last, i, broad))
            ret_at[count++] = last = i;
    return count;
}

/* A minor removal among several edits counts as an edit. */
static bool minor_removal(const struct risk_facts *f, const struct opinion *name, const struct risk_word *w) {
    return w->rule == WORD_SOFT && (f->name_nouns & NOUN_MINOR || name->strong);
}

static struct opinion prose_opinion(const struct risk_facts *f, size_t at, const struct opinion *name) {
    if (at == SIZE_MAX)
        return (struct opinion){0};
    struct opinion best = opine_prose(f, at);
    best.strong &= at < f->sentence_end;
    if (name->strong && name->cls == RISK_READ)
        return best;
    size_t others[VERBS_MAX];
    size_t count = beside(f, at, others);
    for (size_t i = 0; i < count; i++) {
        struct opinion other = opine_prose(f, others[i]);
        if (best.verb->rule == WORD_RUN && risk_verb_states(f))
            break; /* "Execute an INSERT, UPDATE or DELETE query": raw statements, of any kind */
        if (other.cls == RISK_DESTRUCTIVE && minor_removal(f, name, other.verb))
            other.cls = RISK_WRITE;
        if (other.cls < RISK_DESTRUCTIVE && name->strong && name->leads && name->cls == RISK_WRITE &&
            best.cls == RISK_WRITE)
            continue; /* update_schedule: "Set or clear publish/stop schedules" */
        if (other.cls > best.cls || best.cls == RISK_NONE)
            best = other;
    }
    return best;
}

/* A reset that loses no data according to the description: "Unstages all staged changes". */
static bool mild_reset(const struct opinion *n, const struct opinion *p) {
    return (strcmp(n->verb->text, "reset") == 0 && p->opens && strcmp(p->verb->text, "unstage") == 0) ||
           (strcmp(n->verb->text, "unset") == 0 && p->opens && strcmp(p->verb->text, "uncheck") == 0);
}

/* "unwatch: Remove watchers": reverses its opposite. */
static bool takes_back(const struct risk_facts *f, const struct opinion *n, const struct opinion *p) {
    if (!n->strong || n->cls != RISK_WRITE || p->cls != RISK_DESTRUCTIVE || p->verb->rule != WORD_SOFT)
        return false;
    for (size_t i = 0; i < f->count; i++)
        if (f->words[i] == n->verb)
            return slice_starts(f->tokens[i], SLICE("un"));
    return false;
}

static bool repeats(const struct risk_facts *f, const struct risk_word *verb) {
    for (size_t i = 1; i < f->sentence_end; i++)
        if (risk_word_find(f->prose[i].text) == verb)
            return true;
    return false;
}

/* casino_status: "State of one job: running / finished": the words after the colon are states. */
static bool asks_status(const struct risk_facts *f, const struct opinion *n, const struct opinion *p) {
    return n->cls == RISK_READ && !p->opens && p->cls < RISK_DESTRUCTIVE &&
           slice_is(f->tokens[f->count - 1], "status");
}

/* Does the first sentence use the name's verb as a verb? */
static bool does(const struct risk_facts *f, const struct risk_word *verb) {
    for (size_t i = 0; i < f->sentence_end; i++)
        if (f->prose_words[i] == verb && !is_thing(f, i))
            return true;
    return false;
}

static bool ends_as_things(const struct risk_facts *f) {
    struct slice last = f->tokens[f->count - 1];
    return f->count > 2 && last.len > 3 && slice_ends(last, SLICE("s")) && !slice_ends(last, SLICE("ss"));
}

static bool ends_as_state(const struct risk_facts *f) {
    const struct risk_word *last = f->count ? f->words[f->count - 1] : NULL;
    return last && last->nouns & NOUN_STATE;
}

/* Does the sentence go on with another deed? "Fetch the answer and store it", "Preview and safely push" */
static bool goes_on(const struct risk_facts *f, size_t at) {
    for (size_t i = at + 1; i < f->sentence_end; i++) {
        const struct risk_word *w = f->prose_words[i];
        const size_t before = i - (i > 1 && is_adverb(f->prose[i - 1].text) ? 2 : 1);
        const bool deed =
            is_verb(w) || (is_weak(w) && i + 1 < f->sentence_end && is_article(f->prose[i + 1].text));
        if (deed && w->cls > RISK_READ && !f->prose[i].joined &&
            (slice_is(f->prose[before].text, "and") || slice_is(f->prose[before].text, "or") ||
             slice_is(f->prose[before].text, "then")))
            return true;
    }
    return false;
}

/* team_schedule: "Get the upcoming schedule", ban_list, crop_data: the verb of the name is a noun there.
 * Verbs that are never nouns stay verbs. */
static bool looks_at_noun(const struct risk_facts *f, const struct opinion *n, const struct opinion *p) {
    static const char *const looks[] = {"get",       "return",  "list",    "fetch",    "compute",  "show",
                                        "find",      "read",    "search",  "retrieve", "describe", "estimate",
                                        "calculate", "preview", "suggest", "discover", "audit",    "analyze",
                                        "summarize", "display", "resolve", "report",   "rank",     NULL};
    static const char *const deeds[] = {"create",  "add",    "set",      "update", "send", "write",
                                        "insert",  "edit",   "modify",   "append", "save", "enable",
                                        "disable", "upload", "publish",  "assign", "run",  "call",
                                        "execute", "invoke", "install",  "start",  "stop", "restart",
                                        "make",    "put",    "generate", "toggle", NULL};
    if (n->cls == RISK_FINANCIAL || (n->cls == RISK_DESTRUCTIVE && (n->strong || n->leads)))
        return false;
    for (size_t i = 0; i < f->sentence_end; i++)
        if (slice_is(f->prose[i].text, "into"))
            return false; /* sync_videos: "Fetch the uploads into the mirror" */
    return p->opens && p->strong && p->cls == RISK_READ && p->verb->cls == RISK_READ &&
           !(f->params & (RISK_PARAM_CONTENT | RISK_PARAM_MESSAGE)) &&
           slice_is_any(slice_str(p->verb->text), looks) && !slice_is_any(slice_str(n->verb->text), deeds) &&
           (f->count > 1 || slice_same_str(p->verb->text, "get") ||
            slice_same_str(p->verb->text, "return")) &&
           !goes_on(f, 0);
}

/* The same where neither outweighs the other by itself. */
static struct decision weigh_closely(const struct risk_facts *f, const struct opinion *n,
                                     const struct opinion *p) {
    /* "map: create a map of the site": what is created is only the answer */
    if (!n->strong && n->cls == RISK_READ && p->verb->rule == WORD_CREATE &&
        n->verb->nouns & (NOUN_REPORT | NOUN_CHART) && repeats(f, n->verb))
        return (struct decision){RISK_READ, 60};
    enum risk_class worse = n->cls > p->cls ? n->cls : p->cls;
    if (n->strong && n->leads && n->cls == RISK_WRITE && p->verb->rule == WORD_RUN &&
        (slice_same_str(p->verb->text, "start") || slice_same_str(p->verb->text, "begin")) &&
        !((f->first_nouns | f->name_nouns) & (NOUN_JOB | NOUN_PROC)))
        return (struct decision){RISK_WRITE, 60}; /* create_session: "Start a log" */
    if (p->verb->kind == WORD_BROAD && !p->stray &&
        (!n->strong || f->count == 1)) /* search: "Manage search indexes" */
        return (struct decision){p->cls, 60};
    if (n->verb->rule == WORD_GENERATE &&
        (p->verb->rule == WORD_GENERATE ||
         (n->cls == RISK_READ && p->opens && p->verb->nouns & NOUN_DEED && p->cls == RISK_EXECUTE)))
        return (struct decision){n->verb == p->verb || worse < RISK_EXECUTE ? worse : RISK_WRITE, 60};
    if (!n->strong && n->leads && n->cls == RISK_EXECUTE && p->verb->rule == WORD_CREATE)
        return (struct decision){RISK_EXECUTE, 60}; /* build: "Create an image" */
    if (n->leads && strcmp(n->verb->text, "new") == 0 && p->verb->rule == WORD_GENERATE)
        return (struct decision){worse, 60}; /* new_deposit_address: "Generate ..." */
    if (n->verb->kind == WORD_BROAD && n->leads && p->cls == RISK_READ && f->op_class != RISK_READ)
        return (struct decision){n->cls, 60}; /* manage_file: "Determines ..." */
    if (n->cls == RISK_READ && p->cls == RISK_WRITE && strcmp(p->verb->text, "send") == 0 &&
        (f->params & RISK_PARAM_PROMPT || risk_contains(f->lower, "prompt") ||
         (risk_contains(f->lower, " model") && risk_contains(f->lower, "response"))))
        return (struct decision){RISK_READ, 60}; /* query: "Send a prompt to a model" */
    if (!n->leads && p->opens && p->cls == RISK_READ && n->cls < RISK_DESTRUCTIVE && ends_as_things(f) &&
        n->verb != f->words[f->count - 1])
        return (struct decision){RISK_READ, 60}; /* pod_create_failures: "Aggregate ..." */
    if (n->strong != p->strong)
        return (struct decision){n->strong ? n->cls : p->cls, 75};
    /* weather_archive: "Get ...": the verb at the end names what is read */
    if (p->opens && p->cls == RISK_READ && !n->leads && n->cls < RISK_DESTRUCTIVE &&
        n->verb->nouns & NOUN_DEED && n->verb == f->words[f->count - 1])
        return (struct decision){RISK_READ, 65};
    if (p->opens && p->verb->rule == WORD_RUN && p->cls == RISK_EXECUTE && f->params & RISK_PARAM_CODE)
        return (struct decision){RISK_EXECUTE, 75}; /* inspect: "Executes JavaScript code" */
    if (p->opens && p->verb->rule == WORD_EXPORT && p->cls == RISK_WRITE &&
        (risk_contains(f->lower, "saved to") || risk_contains(f->lower, "save to")))
        return (struct decision){RISK_WRITE, 60}; /* get_attachment: "Download into a folder" */
    if (n->strong && n->leads && slice_same_str(n->verb->text, "get") && p->verb->rule == WORD_CREATE &&
        p->cls == RISK_WRITE && f->first_nouns & NOUN_REPORT && !goes_on(f, 0))
        return (struct decision){RISK_READ, 60}; /* get_custom_report: "Create a report" */
    if (n->strong && n->leads && n->cls == RISK_READ &&
        !(p->opens && p->cls == RISK_WRITE && p->verb->rule != WORD_EXPORT &&
          p->verb->rule != WORD_GENERATE && p->verb->rule != WORD_RESTORE) &&
        !(p->opens && slice_same_str(p->verb->text, "delegate")) &&
        !(p->opens && n->verb->rule == WORD_RUN && p->cls == RISK_EXECUTE && p->verb->rule == WORD_FIXED))
        return (struct decision){RISK_READ, 70};
    if (p->strong && p->cls == RISK_READ && !(n->strong && n->leads) && f->count > 1 &&
        f->words[f->count - 1] && f->words[f->count - 1]->nouns & NOUN_STATE && n->verb->kind != WORD_BROAD)
        return (struct decision){RISK_READ, 65}; /* indexing_status: "Get ..." */
    if (n->cls < RISK_DESTRUCTIVE && p->cls == RISK_READ && p->verb->cls == RISK_READ &&
        f->first_nouns & NOUN_GUIDE)
        return (struct decision){RISK_READ, 60}; /* write_rule: "Provide guidance for ..." */
    if (looks_at_noun(f, n, p))
        return (struct decision){RISK_READ, 60};
    return (struct decision){worse, 60};
}

/* Decides when name and description disagree. */
static struct decision weigh(const struct risk_facts *f, const struct opinion *n, const struct opinion *p) {
    if (p->strong && p->cls == RISK_DESTRUCTIVE && f->ui && n->verb->rule == WORD_UI &&
        p->verb->rule == WORD_SOFT)
        return (struct decision){n->cls, 60}; /* fill: "Clear and fill a field" */
    if (strcmp(n->verb->text, "trash") == 0 && p->opens && p->cls == RISK_READ &&
        risk_contains(f->lower, "in the trash"))
        return (struct decision){RISK_READ, 65}; /* trash_items */
    if (n->strong && n->cls >= RISK_DESTRUCTIVE)
        return mild_reset(n, p) ? (struct decision){RISK_WRITE, 60} : (struct decision){n->cls, 90};
    if (n->cls == RISK_DESTRUCTIVE && p->cls > RISK_READ) /* compose_down: "Stop ..." */
        return (struct decision){n->cls, 60};
    if (asks_status(f, n, p))
        return (struct decision){RISK_READ, 65};
    if (!p->opens && n->cls == RISK_READ && p->cls < RISK_DESTRUCTIVE && n->verb == f->words[f->count - 1] &&
        n->verb->nouns & (NOUN_STATE | NOUN_REPORT | NOUN_GUIDE | NOUN_CHART))
        return (struct decision){RISK_READ, 65}; /* census_summary */
    if (!n->strong && n->leads && n->cls == RISK_EXECUTE && n->verb->nouns & NOUN_DEED &&
        p->cls == RISK_READ && f->count > 1 && !ends_as_state(f) && does(f, n->verb))
        return (struct decision){n->cls, 65}; /* build_target: "Infer the path and build the target" */
    if (p->stray && n->strong && n->leads && (n->cls == RISK_READ || p->cls < RISK_DESTRUCTIVE))
        return (struct decision){n->cls, 75}; /* list_items: "Saved items that you can switch between" */
    if (takes_back(f, n, p))
        return (struct decision){RISK_WRITE, 60};
    if (n->strong && n->leads && n->cls == RISK_READ && p->cls == RISK_DESTRUCTIVE && !p->opens)
        return (struct decision){RISK_READ, 60}; /* get_turns: "Recent turns for context pruning" */
    if (p->strong && p->cls >= RISK_DESTRUCTIVE)
        return (struct decision){p->cls, 75};
    return weigh_closely(f, n, p);
}

static struct decision weigh_all(const struct risk_facts *f, const struct opinion *n,
                                 const struct opinion *p) {
    bool name = n->verb && n->cls != RISK_NONE, prose = p->verb && p->cls != RISK_NONE;
    if (name && prose)
        return n->cls == p->cls ? (struct decision){n->cls, n->strong ? 95 : 85} : weigh(f, n, p);
    if (name)
        return (struct decision){n->cls, n->strong ? 80 : 55};
    if (prose)
        return (struct decision){p->cls, p->strong ? 70 : 50};
    return (struct decision){RISK_NONE, 0};
}

/* One tool for many commands: every action in its description counts. */
static enum risk_class routed_class(const struct risk_facts *f) {
    enum risk_class worst = RISK_READ;
    size_t end = sentence_from(f, sentence_from(f, 1) + 1);
    for (size_t i = 0; i < end && i < ROUTED_WORDS; i++) {
        const struct risk_word *w = f->prose_words[i];
        if (f->prose[i].brk == RISK_BREAK_SENTENCE && slice_is(f->prose[i].text, "sub"))
            break;
        const struct risk_word *noun = risk_word_find(f->prose[i].text);
        enum risk_class cls = is_verb(w) || (w && w->kind == WORD_BROAD) ? opine_prose(f, i).cls : RISK_NONE;
        if (noun && noun->nouns & NOUN_PROC)
            cls = RISK_EXECUTE;
        worst = cls > worst ? cls : worst;
    }
    return worst;
}

static void raise_class(struct decision *d, struct risk_report *r, enum risk_class to, const char *kind,
                        struct slice text) {
    if (d->cls >= to)
        return;
    *d = (struct decision){to, 70};
    say(r, kind, text);
}

/* "Useful for creating, updating, or deleting data" */
static bool lists_deletion(const struct risk_facts *f) {
    static const char *const phrases[] = {"or delet", "and delet", NULL};
    struct slice head = slice_upto(f->lower, ACTIONS_BYTES_MAX);
    for (const char *const *p = phrases; head.len && *p; p++) {
        const char *at = memmem(head.ptr, head.len, *p, strlen(*p));
        if (at && !slice_starts(slice_from(head, (size_t)(at - head.ptr) + strlen(*p)), SLICE("ed")))
            return true; /* not "every record created, changed or deleted" */
    }
    return false;
}

/* reinstall_server: "WARNING: this destroys all data" */
static bool warns_of_loss(const struct risk_facts *f) {
    static const char *const phrases[] = {
        "destroys all",       "destroys data", "all data will be lost", "erases all",   "permanently delete",
        "permanently remove", "wipes all",     "irreversibly delete",   "void (delete", NULL};
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(f->lower, *p))
            return true;
    return false;
}

/* "Preview what would be saved, without writing anything." Not for a switch that decides it (dry_run). */
static bool changes_nothing(const struct risk_facts *f) {
    static const char *const phrases[] = {"without writing anything",
                                          "without saving",
                                          "creates nothing",
                                          "changes nothing",
                                          "writes nothing",
                                          "sends nothing",
                                          "nothing is written",
                                          "nothing is saved",
                                          "nothing is changed",
                                          "nothing is created",
                                          "nothing is sent",
                                          "never sends anything",
                                          "never writes",
                                          "never mutates",
                                          "never modifies",
                                          "no side effects",
                                          "makes no changes",
                                          "no changes are made",
                                          "without placing",
                                          "does not place",
                                          "without making changes",
                                          "without making any changes",
                                          NULL};
    static const char *const switches[] = {"dry", "unless", "by default", "preview=", "when ", NULL};
    struct slice head = slice_upto(f->lower, ACTIONS_BYTES_MAX);
    for (const char *const *w = switches; *w; w++)
        if (risk_contains(head, *w))
            return false;
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(head, *p))
            return true;
    return false;
}

/* "and return a local path to the resulting audio file" */
static bool returns_new_file(const struct risk_facts *f) {
    static const char *const phrases[] = {"local path to the resulting",
                                          "path to the resulting file",
                                          "path to the generated",
                                          "path of the generated",
                                          "path to the saved",
                                          "path of the saved",
                                          "path to the created",
                                          "path to the downloaded",
                                          "path to the output",
                                          "result is stored",
                                          "answer is stored",
                                          "result is saved",
                                          "is written to disk",
                                          "\xe4\xbf\x9d\xe5\xad\x98\xe5\x88\xb0", /* saves to, in Chinese */
                                          "\xe4\xbf\x9d\xe5\xad\x98\xe4\xb8\xba", /* saves as */
                                          NULL};
    for (const char *const *p = phrases; *p; p++)
        if (risk_contains(f->lower, *p))
            return true;
    return false;
}

static bool is_broad(const struct opinion *n, const struct opinion *p) {
    return (n->verb && n->verb->kind == WORD_BROAD) || (p->verb && p->verb->kind == WORD_BROAD);
}

/* get_openapi_reference with `operation`: the tool reads about the operation. */
static bool reads_about(const struct risk_facts *f) {
    static const char *const nouns[] = {"reference", "docs",          "doc",    "documentation",
                                        "spec",      "specification", "schema", "schemas",
                                        "examples",  "guide",         "help",   NULL};
    for (const char *const *noun = nouns; f->count && *noun; noun++)
        if (slice_is(f->tokens[f->count - 1], *noun))
            return true;
    return false;
}

/* "Crawls a site. Stores its pages in a local database." A later sentence says that data is stored. */
static bool keeps_something(const struct risk_facts *f, const struct opinion *n, const struct opinion *p) {
    static const char *const looks[] = {"list", "get", "search", "count", "show", NULL};
    const bool sure = n->strong;
    if (sure && n->leads && n->verb == p->verb && slice_is_any(slice_str(n->verb->text), looks))
        return false; /* "List jobs. Stores only their ids." */
    static const char *const words[] = {"stores", "saves", "persists", "writes", NULL};
    static const char *const more[] = {"sets", "updates", "creates", "adds", "modifies", NULL};
    size_t from = f->sentence_end;
    for (int i = 1; i < SENTENCES_MAX && from < f->prose_count; i++) {
        for (const char *const *w = words; *w; w++)
            if (slice_is(f->prose[from].text, *w))
                return true;
        for (const char *const *w = more; !sure && *w; w++)
            if (slice_is(f->prose[from].text, *w))
                return true;
        size_t next = sentence_from(f, from + 1);
        if (slice_is(f->prose[from].text, "creates")) /* "Creates a numbered markdown file in ..." */
            for (size_t k = from + 1; k < next && k <= from + OBJECT_WORDS; k++)
                if (slice_is(f->prose[k].text, "file") || slice_is(f->prose[k].text, "files"))
                    return true;
        from = next;
    }
    return false;
}

/* "A tool for calling any endpoint" */
static bool calls_any(const struct risk_facts *f) {
    static const char *const words[] = {"call",    "calls",   "calling",  "invoke",
                                        "invokes", "execute", "executes", NULL};
    for (size_t i = 0; i + 1 < f->sentence_end; i++)
        if (slice_is_any(f->prose[i].text, words) && slice_is(f->prose[i + 1].text, "any"))
            return !f->described_read_only;
    return false;
}

/* "Finds matching text and applies a style to it." */
static bool also_changes(const struct risk_facts *f, bool sure) {
    static const char *const words[] = {
        "applies", "apply",    "creates",  "adds",      "saves",    "save",      "stores",
        "writes",  "inserts",  "deletes",  "removes",   "replaces", "replace",   "modifies",
        "sends",   "installs", "executes", "publishes", "pushes",   "registers", "store",
        "persist", "persists", "upsert",   "upserts",   NULL};
    static const char *const things[] = {"it", "them", "its", "in", "to", "results", NULL};
    static const char *const apart[] = {"creates", "deletes",  "removes",  "sends",
                                        "writes",  "installs", "executes", NULL};
    for (size_t i = 1; i + 1 < f->sentence_end; i++) {
        if (slice_is(f->prose[i].text, "store") && sure && !is_article(f->prose[i + 1].text) &&
            !slice_is_any(f->prose[i + 1].text, things))
            continue; /* "Get stock levels and store locations" */
        if (slice_is_any(f->prose[i].text, words) && !f->prose[i].joined &&
            f->prose[i + 1].brk == RISK_BREAK_SPACE &&
            (slice_is(f->prose[i - 1].text, "and") || slice_is(f->prose[i - 1].text, "then") ||
             (f->prose[i].brk == RISK_BREAK_CLAUSE && slice_is_any(f->prose[i].text, apart))))
            return true;
    }
    return false;
}

static void consider_parameters(const struct risk_facts *f, const struct opinion *n, const struct opinion *p,
                                struct decision *d, struct risk_report *r) {
    if (f->op_class != RISK_NONE) {
        enum risk_class op = f->op_class;
        if (f->ui && f->op_ui && f->op_named && op == RISK_WRITE)
            op = RISK_EXECUTE; /* tabs: list, switch, close */
        if (f->op_named && f->op_whole && (is_broad(n, p) || risk_contains(f->lower, "manage")) &&
            d->cls == RISK_DESTRUCTIVE && op < d->cls && !n->strong) {
            *d = (struct decision){op > RISK_READ ? op : RISK_WRITE,
                                   60}; /* rules of "who can view, create and delete" */
            say(r, "enum", f->op_text);
        }
        if (op == RISK_DESTRUCTIVE && f->op_soft &&
            (f->name_nouns & NOUN_MINOR || (n->strong && n->cls == RISK_WRITE && !is_broad(n, p))))
            op = RISK_WRITE;
        /* search_abilities with `kind`: what is looked for, not what is done */
        if (f->op_named && op == RISK_READ && d->cls == RISK_WRITE && !n->strong && is_broad(n, p)) {
            *d = (struct decision){RISK_READ, 60}; /* "Manage teams: list/get" */
            say(r, "enum", f->op_text);
        }
        bool filters = (!f->op_named || reads_about(f)) && n->strong && n->leads && n->cls == RISK_READ &&
                       p->cls == RISK_READ;
        if (!filters)
            raise_class(d, r, op, "enum", f->op_text);
    }
    if (!n->strong && d->cls > RISK_READ && !(f->op_named && f->op_whole) && lists_deletion(f))
        raise_class(d, r, RISK_DESTRUCTIVE, "description", SLICE("delete"));
    if (d->cls > RISK_READ && d->cls != RISK_FINANCIAL && warns_of_loss(f))
        raise_class(d, r, RISK_DESTRUCTIVE, "description", SLICE("data is lost"));
    /* "Manage crawlers", and the operations stand only in the text */
    if (f->op_free && d->cls != RISK_READ && is_broad(n, p) &&
        (risk_contains(f->lower, "delete") || risk_contains(f->op_free_text, "delete")))
        raise_class(d, r, RISK_DESTRUCTIVE, "description", SLICE("delete"));
    if (d->cls == RISK_READ && (keeps_something(f, n, p) || returns_new_file(f)))
        raise_class(d, r, RISK_WRITE, "description", SLICE("store"));
    if (f->params & RISK_PARAM_OUTPUT && d->cls == RISK_READ)
        raise_class(d, r, RISK_WRITE, "parameter", SLICE("output file"));
    if (f->params & (RISK_PARAM_NEW | RISK_PARAM_TARGET) && d->cls == RISK_READ && !(n->strong && n->leads))
        raise_class(d, r, RISK_WRITE, "parameter", SLICE("name of the result"));
    if (d->cls < RISK_EXECUTE && calls_any(f))
        raise_class(d, r, RISK_EXECUTE, "description", SLICE("any"));
    if (d->cls == RISK_READ && also_changes(f, n->verb && n->verb == p->verb))
        raise_class(d, r, RISK_WRITE, "description", SLICE("and then"));
    bool agree =
        n->verb && n->verb == p->verb && n->verb->nouns & NOUN_ACT; /* propose_fix, with `commands` */
    bool weak = d->cls == RISK_NONE || (!n->strong && !p->strong && !agree && !(f->name_nouns & NOUN_MINOR));
    /* a noun with a `command` is a shell */
    uint32_t speaks =
        d->cls == RISK_NONE ? RISK_PARAM_CODE | RISK_PARAM_COMMAND | RISK_PARAM_SQL : RISK_PARAM_COMMAND;
    if (!weak || !(f->params & speaks) || f->params & RISK_PARAM_ROUTED)
        return;
    raise_class(d, r, RISK_EXECUTE, "parameter",
                f->params & RISK_PARAM_COMMAND ? SLICE("command")
                : f->params & RISK_PARAM_SQL   ? SLICE("sql")
                                               : SLICE("code"));
}

static void consider_hints(const struct risk_facts *f, struct decision *d, struct risk_report *r) {
    if (f->hint_mutates && d->cls == RISK_READ) {
        *d = (struct decision){RISK_WRITE, 60};
        say(r, "hint", SLICE("readOnlyHint false raises"));
    }
    r->hint_mismatch = f->hint_read_only && d->cls > RISK_READ;
    r->hint_destructive = f->hint_destructive;
}

/* English words in a description of another language are weak evidence; the name may still raise the class.
 */
static void consider_foreign(const struct risk_facts *f, const struct opinion *n, struct decision *d,
                             struct risk_report *r) {
    struct slice word;
    bool opens;
    enum risk_class cls = risk_foreign_class(f->lower, &word, &opens);
    if (cls == RISK_NONE || (n->strong && !(opens && cls >= RISK_DESTRUCTIVE)))
        return;
    if (cls == RISK_EXECUTE && f->described_read_only)
        cls = RISK_READ;
    if (cls == RISK_EXECUTE && n->verb && n->verb->kind != WORD_BROAD && n->cls != RISK_NONE)
        return;                                   /* book_session: "performs a booking" */
    if (n->verb && n->cls == RISK_READ && !opens) /* overview: "... el total a pagar": only mentioned */
        cls = RISK_READ;
    bool named = n->verb && n->verb->kind != WORD_BROAD && n->cls > cls;
    *d = (struct decision){named ? n->cls : cls, 60};
    say(r, "description", word);
}

/* Records which property of the object changed the class of the verb. */
static void say_object(struct risk_report *r, const struct opinion *o) {
    static const char *const objects[] = {
        [WORD_FIXED] = NULL,
        [WORD_QUERY] = "raw statement",
        [WORD_RUN] = "report",
        [WORD_TEST] = "connection",
        [WORD_STOP] = "machine",
        [WORD_CANCEL] = "money or job",
        [WORD_CREATE] = "process or money",
        [WORD_MONEY] = "money",
        [WORD_BOOK] = "costs money",
        [WORD_RESTORE] = "whole system",
        [WORD_GENERATE] = "kind of output",
        [WORD_EXPORT] = "file",
        [WORD_CONVERT] = "file",
        [WORD_RESOLVE] = "name",
        [WORD_UI] = "screen",
        [WORD_GO] = "no screen",
        [WORD_APPLY] = "infrastructure",
        [WORD_MAKE] = "request",
        [WORD_PICK] = "screen",
        [WORD_SNAPSHOT] = "machine",
        [WORD_OPEN] = "document or screen",
        [WORD_MANAGE] = "job",
        [WORD_PERFORM] = "report",
        [WORD_TRACK] = "progress",
        [WORD_REPORT] = "message",
        [WORD_SOFT] = "small edit",
    };
    if (o->verb && o->cls != (enum risk_class)o->verb->cls && objects[o->verb->rule])
        say(r, "object", slice_str(objects[o->verb->rule]));
}

/* "Order flow data." A short first sentence that only names the returned data. */
static bool names_data(const struct risk_facts *f) {
    static const char *const words[] = {"data",    "history", "info",    "information", "statistics", "stats",
                                        "metrics", "news",    "tickers", "articles",    "overview",   NULL};
    if (f->sentence_end < 2 || f->sentence_end > DATA_WORDS_MAX || is_verb(f->prose_words[0]))
        return false;
    for (const char *const *w = words; *w; w++)
        if (slice_is(f->prose[f->sentence_end - 1].text, *w))
            return true;
    return false;
}

/* "movie_credits", "company_orders", without any verb: the name of the returned data. Not when the tool
 * takes content to store. */
static bool names_things(const struct risk_facts *f) {
    static const char *const words[] = {"config",   "configuration", "info",     "status",  "summary",
                                        "overview", "schema",        "health",   "version", "history",
                                        "forecast", "weather",       "metadata", "usage",   "detail",
                                        "catalog",  "guide",         "balance",  "data",    NULL};
    struct slice last = f->count ? f->tokens[f->count - 1] : (struct slice){0};
    bool thing = last.len > 3 && slice_ends(last, SLICE("s")) && !slice_ends(last, SLICE("ss"));
    for (const char *const *w = words; *w; w++)
        thing |= slice_is(last, *w);
    return thing && !opens_unknown(f) &&
           !(f->params & (RISK_PARAM_CONTENT | RISK_PARAM_OUTPUT | RISK_PARAM_CODE | RISK_PARAM_COMMAND));
}

/* "Per-partition lag for a consumer group": a first sentence without any verb that names what is returned. */
static bool names_result(const struct risk_facts *f) {
    if (f->params & (RISK_PARAM_CONTENT | RISK_PARAM_OUTPUT | RISK_PARAM_CODE | RISK_PARAM_COMMAND) ||
        opens_unknown(f))
        return false;
    for (size_t i = 1; i + 1 < f->sentence_end; i++)
        if (is_preposition(f, i))
            return true;
    return false;
}

/* "A product's rating and its reviews", "Which series have files": a description that begins as a thing or a
 * question says what is returned. */
static bool begins_as_thing(const struct risk_facts *f) {
    static const char *const words[] = {
        "a",    "an",  "the",   "one",     "every", "current", "latest",  "recent",   "live", "which",
        "what", "who", "where", "whether", "how",   "why",     "today's", "upcoming", "most", NULL};
    return f->prose_count > 2 && slice_is_any(f->prose[0].text, words) &&
           !(f->params & (RISK_PARAM_CONTENT | RISK_PARAM_OUTPUT | RISK_PARAM_CODE | RISK_PARAM_COMMAND));
}

/* "Income vs expense dynamics grouped by month": nothing in the description could be a deed. */
static bool names_only_things(const struct risk_facts *f) {
    if (f->prose_count < 3 || opens_unknown(f) || is_article(f->prose[1].text) ||
        (f->count && slice_eq(f->tokens[0], f->prose[0].text)) || slice_ends(f->prose[0].text, SLICE("s")) ||
        (f->name_nouns | f->first_nouns) & (NOUN_JOB | NOUN_PROC | NOUN_UI) ||
        f->params & (RISK_PARAM_CONTENT | RISK_PARAM_OUTPUT | RISK_PARAM_TARGET | RISK_PARAM_PATH |
                     RISK_PARAM_CODE | RISK_PARAM_COMMAND | RISK_PARAM_SQL | RISK_PARAM_PROMPT))
        return false;
    for (size_t i = 0; i < f->sentence_end; i++)
        if (f->prose_words[i] && f->prose_words[i]->cls > RISK_READ)
            return false;
    return true;
}

/* invoice_mark_paid */
static bool settles_debt(const struct risk_facts *f) {
    bool paid = false;
    for (size_t i = 0; i < f->count; i++)
        paid |= slice_is(f->tokens[i], "paid");
    return paid && f->name_nouns & NOUN_MONEY;
}

/* visualize_data, with `output_dir`: the picture is stored. */
static bool draws_into_file(const struct risk_facts *f, const struct opinion *n) {
    static const char *const verbs[] = {"visualize", "visualise", "render", "plot", "draw", NULL};
    if (!(f->params & RISK_PARAM_TARGET) || !n->verb)
        return false;
    for (const char *const *verb = verbs; *verb; verb++)
        if (strcmp(n->verb->text, *verb) == 0)
            return true;
    return n->verb->rule == WORD_GENERATE;
}

/* A description that begins with a word of the name, which then is its object and no verb. */
static bool names_object(const struct risk_facts *f, size_t at) {
    if (at || form_of(f, at) != 's')
        return false;
    for (size_t i = 1; i < f->count; i++)
        if (slice_eq(f->tokens[i], f->prose[at].text))
            return true;
    return false;
}

static bool sets(const struct risk_word *verb) {
    return verb && (strcmp(verb->text, "update") == 0 || strcmp(verb->text, "set") == 0 ||
                    strcmp(verb->text, "configure") == 0);
}

/* What the description says, where its first verb is not the tool's own: "Number of periods to pay off". */
static void doubt_stray(const struct risk_facts *f, size_t at, const struct opinion *n, struct opinion *p) {
    if (f->prose_count > 1 && slice_is(f->prose[1].text, "of") && p->cls != RISK_DESTRUCTIVE)
        *p = (struct opinion){0};
    if (p->verb && !acts_here(f, at)) {
        if (f->prose_forms[at] == 'g')
            *p = (struct opinion){0};
        if (p->verb && p->verb->kind == WORD_WEAK && !n->verb &&
            (names_result(f) || names_things(f) || begins_as_thing(f)))
            *p = (struct opinion){0};
        p->strong = false; /* "What county governments run": a noun, or nothing that the tool does */
        if (p->cls == RISK_FINANCIAL || (n->verb && p->cls > RISK_READ && p->cls < RISK_DESTRUCTIVE))
            *p = (struct opinion){0};
    }
    if (p->cls == RISK_READ && !(n->verb && n->cls == RISK_READ) && opens_unknown(f))
        *p = (struct opinion){0}; /* "Reinforce an entry, increasing its score" */
}

static void say_opinions(struct risk_report *r, const struct opinion *n, const struct opinion *p) {
    if (n->verb)
        say(r, "name", slice_str(n->verb->text));
    say_object(r, n);
    if (p->verb)
        say(r, "description", slice_str(p->verb->text));
    if (!n->verb || n->verb != p->verb)
        say_object(r, p);
}

/* Names and descriptions that say what is returned. */
static void consider_results(const struct risk_facts *f, const struct opinion *n, const struct opinion *p,
                             bool foreign, struct decision *d, struct risk_report *r) {
    if (d->cls != RISK_NONE && !n->strong && !p->opens && names_data(f)) {
        *d = (struct decision){RISK_READ, 60};
        say(r, "description", f->prose[f->sentence_end - 1].text);
    }
    if (n->verb && !n->strong && !p->verb && !foreign && d->cls != RISK_READ && d->cls < RISK_DESTRUCTIVE &&
        (names_result(f) || names_things(f)) && !does(f, n->verb)) {
        *d = (struct decision){RISK_READ, 55};
        say(r, "description", f->prose[0].text);
    }
    if (f->params & RISK_PARAM_ROUTED && !(n->strong && n->leads && f->count > 1)) {
        *d = (struct decision){routed_class(f), 50};
        say(r, "parameter", SLICE("command"));
    }
}

/* pdf_merge(files_b64): "Returns Base64-encoded ...": what goes in and out is in the call. */
static bool transforms_content(const struct risk_facts *f, const struct opinion *n) {
    static const char *const verbs[] = {"merge",  "split",   "compress", "decompress", "crop",   "resize",
                                        "rotate", "flip",    "trim",     "convert",    "concat", "combine",
                                        "blur",   "encrypt", "zip",      "unzip",      NULL};
    return n->verb && slice_is_any(slice_str(n->verb->text), verbs) && risk_contains(f->lower, "base64") &&
           !(f->params & (RISK_PARAM_PATH | RISK_PARAM_ID | RISK_PARAM_OUTPUT | RISK_PARAM_TARGET));
}

static void consider_objects(const struct risk_facts *f, const struct opinion *n, const struct opinion *p,
                             struct decision *d, struct risk_report *r) {
    if (!n->verb && p->verb && p->verb->rule == WORD_CREATE && f->name_nouns & NOUN_MEDIA)
        raise_class(d, r, RISK_EXECUTE, "object", SLICE("media"));
    if (d->cls == RISK_WRITE && f->params & RISK_PARAM_PROMPT &&
        (f->name_nouns & NOUN_MEDIA || (f->first_nouns & NOUN_MEDIA && !sets(n->verb))))
        raise_class(d, r, RISK_EXECUTE, "object", SLICE("media")); /* made by a model */
    if (d->cls < RISK_EXECUTE && !(n->strong && n->cls == RISK_READ) && f->params & RISK_PARAM_TOOL &&
        f->params & RISK_PARAM_ARGUMENTS)
        raise_class(d, r, RISK_EXECUTE, "object", SLICE("another tool"));
    if (d->cls == RISK_WRITE && transforms_content(f, n)) {
        *d = (struct decision){RISK_READ, 65};
        say(r, "object", SLICE("content of the call"));
    }
    if (d->cls == RISK_WRITE && settles_debt(f))
        raise_class(d, r, RISK_FINANCIAL, "object", SLICE("money"));
    if (d->cls == RISK_READ && draws_into_file(f, n))
        raise_class(d, r, RISK_WRITE, "parameter", SLICE("output file"));
}

/* Without an opinion: what the name and the description name, or else a Write that a person reviews. */
static void decide_rest(const struct risk_facts *f, bool foreign, struct decision *d, struct risk_report *r) {
    if (d->cls != RISK_NONE)
        return;
    if (!foreign && (names_result(f) || begins_as_thing(f))) {
        *d = (struct decision){RISK_READ, 50};
        say(r, "description", f->prose[0].text);
    } else if (names_things(f)) {
        *d = (struct decision){RISK_READ, 50};
        say(r, "name", f->tokens[f->count - 1]);
    } else if (!foreign && names_only_things(f)) {
        *d = (struct decision){RISK_READ, 40};
        say(r, "description", f->prose[0].text);
    } else {
        *d = (struct decision){RISK_WRITE, 20};
        say(r, "unknown", SLICE("no evidence, needs review"));
    }
}

/* "Nothing is saved" does not make a reader of a tool that runs or writes by its name or its parameters. */
static void consider_promise(const struct risk_facts *f, const struct opinion *n, struct decision *d,
                             struct risk_report *r) {
    const bool does_it = (n->strong && n->leads && n->cls > RISK_READ) ||
                         f->params & (RISK_PARAM_CODE | RISK_PARAM_COMMAND | RISK_PARAM_SQL);
    if ((d->cls != RISK_WRITE && d->cls != RISK_EXECUTE) || does_it || !changes_nothing(f))
        return;
    *d = (struct decision){RISK_READ, 65};
    say(r, "description", SLICE("changes nothing"));
}

static void decide(const struct risk_facts *f, struct risk_report *r) {
    const bool foreign = risk_foreign_text(f->lower);
    bool stray = false;
    const size_t at = foreign ? SIZE_MAX : find_opening(f, &stray);
    const struct opinion n = name_opinion(f, at == SIZE_MAX ? NULL : f->prose_words[at], stray);
    struct opinion p = prose_opinion(f, at, &n);
    p.stray = stray;
    p.opens &= !stray;
    if (stray)
        doubt_stray(f, at, &n, &p);
    if (n.verb && p.strong && p.cls > RISK_READ && p.cls < RISK_DESTRUCTIVE && names_object(f, at))
        p = (struct opinion){0}; /* list_checkpoints: "Checkpoints of the open model" */
    say_opinions(r, &n, &p);
    struct decision d = weigh_all(f, &n, &p);
    consider_results(f, &n, &p, foreign, &d, r);
    if (foreign || d.cls == RISK_NONE || (!n.strong && !p.strong))
        consider_foreign(f, &n, &d, r);
    consider_objects(f, &n, &p, &d, r);
    consider_parameters(f, &n, &p, &d, r);
    decide_rest(f, foreign, &d, r);
    consider_promise(f, &n, &d, r);
    consider_hints(f, &d, r);
    r->cls = d.cls;
    r->confidence = (uint8_t)d.confidence;
    r->review = d.confidence < 60;
}

void risk_classify(const struct risk_toolset *ctx, const struct tape *t, uint32_t tool, struct arena *a,
                   struct risk_report *ret_report) {
    struct risk_facts *f = arena_new(a, struct risk_facts);
    *ret_report = (struct risk_report){0};
    risk_facts_gather(f, ctx, t, tool, a);
    decide(f, ret_report);
    ret_report->severity = risk_class_severity(ret_report->cls);
    ret_report->tags = risk_tags_of(f, ret_report->cls);
    ret_report->properties = f->prop_count;
    ret_report->freeform = f->freeform;
}
