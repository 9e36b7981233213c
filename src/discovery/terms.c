#include "discovery/terms.h"

#include "base/mem.h"

#include <ctype.h>

#define TEXT_MAX (64u << 10)

static bool is_word_byte(unsigned char c) { return isalnum(c) || c >= 0x80; }

/* A new word starts at "aB" and at the last capital of "ABCd". */
static bool starts_word(struct slice s, size_t i) {
    unsigned char before = (unsigned char)s.ptr[i - 1], c = (unsigned char)s.ptr[i];
    return isupper(c) && (islower(before) || isdigit(before) ||
                          (isupper(before) && i + 1 < s.len && islower((unsigned char)s.ptr[i + 1])));
}

struct slice terms_split(struct slice text, struct arena *a) {
    text = slice_upto(text, TEXT_MAX);
    char *out = arena_alloc(a, text.len * 2 + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool in_word = is_word_byte(c);
        if (n && out[n - 1] != ' ' && (!in_word || starts_word(text, i)))
            out[n++] = ' ';
        if (in_word)
            out[n++] = (char)tolower(c);
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return slice_of(out, n);
}

static bool is_filler(struct slice word) {
    static const char *const fillers[] = {
        "a",    "an",    "the",  "to",   "of",   "in",     "on",    "for",  "from",  "with",
        "and",  "or",    "my",   "our",  "your", "me",     "i",     "we",   "it",    "its",
        "is",   "are",   "be",   "that", "this", "these",  "which", "what", "who",   "how",
        "can",  "could", "do",   "does", "want", "need",   "some",  "any",  "by",    "at",
        "as",   "into",  "out",  "up",   "tool", "please", "has",   "have", "there", "their",
        "them", "was",   "were", "will", "so",   "if",     "about", "v1",   "using", "would"};
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++)
        if (slice_is(word, fillers[i]))
            return true;
    return false;
}

size_t terms_keep(struct slice words, struct slice *ret_words) {
    size_t kept = 0;
    for (int fillers_too = 0; fillers_too < 2 && !kept; fillers_too++) {
        struct slice rest = words, word;
        while (rest.len && kept < TERMS_MAX) {
            slice_cut(&rest, ' ', &word);
            if (word.len && (fillers_too || !is_filler(word)))
                ret_words[kept++] = word;
        }
    }
    return kept;
}

static bool cut(struct slice *word, const char *ending, size_t keep) {
    struct slice tail = slice_str(ending);
    if (word->len < tail.len + keep || !slice_ends(*word, tail))
        return false;
    word->len -= tail.len;
    return true;
}

/* Lighter than Porter's: a stem need not be a word, only the same for all forms of a word. */
struct slice terms_stem(struct slice word) {
    if (word.len < 4)
        return word;
    if (slice_ends(word, SLICE("ies")) && word.len > 4)
        word.len -= 2; /* queries, query */
    else if (!slice_ends(word, SLICE("ss")) && !slice_ends(word, SLICE("us")) &&
             !slice_ends(word, SLICE("is")))
        cut(&word, "s", 3);
    bool verb = cut(&word, "ing", 3) || cut(&word, "ed", 3) || cut(&word, "ion", 4) ||
                cut(&word, "ment", 4) || cut(&word, "er", 4);
    if (verb && word.len > 3 && word.ptr[word.len - 1] == word.ptr[word.len - 2] &&
        word.ptr[word.len - 1] != 'l' && word.ptr[word.len - 1] != 's')
        word.len--; /* dropped, drop */
    if (!cut(&word, "e", 3) && word.len > 3 && word.ptr[word.len - 1] == 'y')
        word.len--;
    return word.len > 3 && word.ptr[word.len - 1] == 'i' ? slice_upto(word, word.len - 1) : word;
}

/* Each row is one meaning. A word is in one row only. */
static const char *const meanings[][13] = {
    {"delete", "remove", "erase", "destroy", "drop", "discard", "purge", "trash", "rid", "forget"},
    {"create", "add", "new", "make", "insert", "generate", "build", "start", "open"},
    {"get", "fetch", "read", "retrieve", "show", "view", "describe", "details", "info", "look", "see",
     "inspect"},
    {"list", "enumerate", "all", "available", "every", "inside", "contents", "content"},
    {"search", "find", "query", "lookup", "locate", "discover"},
    {"update", "edit", "modify", "change", "patch", "alter", "adjust", "set", "rewrite"},
    {"send", "post", "deliver", "submit", "publish", "write"},
    {"email", "mail", "mailbox", "inbox"},
    {"message", "chat", "dm", "conversation", "sms"},
    {"file", "document", "doc"},
    {"directory", "folder", "path", "dir"},
    {"run", "execute", "invoke", "launch", "trigger", "perform"},
    {"stop", "halt", "end", "terminate", "kill", "shutdown", "shut", "cancel", "abort", "hang"},
    {"issue", "ticket", "bug"},
    {"repository", "repo", "codebase"},
    {"pull", "merge", "pr", "mr"},
    {"customer", "client", "buyer"},
    {"payment", "charge", "pay", "billing", "bill", "invoice"},
    {"refund", "reimburse", "money"},
    {"web", "internet", "online", "website", "site", "page", "webpage"},
    {"picture", "image", "photo", "screenshot", "capture"},
    {"calendar", "event", "meeting", "appointment", "schedule"},
    {"database", "sql", "table", "db"},
    {"weather", "forecast", "temperature"},
    {"todo", "task", "reminder"},
    {"user", "member", "person", "people", "account"},
    {"comment", "note", "reply", "remark"},
    {"rename", "move", "relocate", "name"},
    {"copy", "duplicate", "clone", "fork"},
    {"upload", "attach", "attachment", "import"},
    {"download", "export", "save"},
    {"restart", "reboot"},
    {"server", "vm", "machine", "instance", "droplet", "vps", "host"},
    {"container", "docker"},
    {"map", "route", "directions", "geocode", "location", "address", "place", "places"},
    {"translate", "translation", "language"},
    {"video", "clip", "movie"},
    {"scrape", "crawl", "extract"},
    {"price", "cost", "quote", "rate"},
    {"stock", "ticker", "share", "shares"},
    {"phone", "call", "dial", "telephone"},
    {"multiple", "several", "many", "bulk", "batch"},
    {"size", "large", "big"},
    {"navigate", "go", "visit", "goto"},
    {"undo", "revert", "rollback", "restore", "reset"},
    {"elevation", "altitude", "height"},
    {"receivable", "owe", "debt", "outstanding", "unpaid"},
    {"permission", "access", "iam", "acl", "allowed"},
    {"record", "row", "entry", "item"},
    {"column", "field", "property"},
    {"airbnb", "rent", "booking", "accommodation", "apartment"},
    {"link", "url"},
    {"click", "press", "tap"},
    {"type", "fill", "enter", "input"},
    {"branch", "ref"},
    {"commit", "history", "log", "logs"},
    {"difference", "diff", "compare", "changes"},
    {"think", "reasoning", "reason", "thinking", "thought"},
    {"remember", "memory", "memorize", "knowledge", "know"},
    {"observation", "fact", "facts"},
    {"relation", "relationship", "related", "connection"},
    {"store", "keep", "persist"},
    {"domain", "dns"},
    {"backup", "snapshot"},
    {"analytics", "statistics", "stats", "metrics", "report", "insights"},
    {"current", "now", "latest", "recent"},
    {"tree", "structure", "hierarchy"},
    {"contact", "lead"},
    {"order", "purchase", "buy"},
    {"balance", "wallet", "funds"},
    {"javascript", "js", "script", "code"},
    {"component", "element", "widget"},
    {"spreadsheet", "sheet", "excel", "workbook"},
};

const char *const *terms_meaning(size_t i) { return i < ARRAY_LEN(meanings) ? meanings[i] : NULL; }
