/* Warnings about conditions that compare the text of a path, a URL, SQL or a command: what a server makes of
 * such a text has many spellings. */
#include "base/mem.h"
#include "policy/load.h"

#define WORD_MAX 24 /* letters of the last word of an argument's name */

enum subject { SUBJECT_NONE, SUBJECT_PATH, SUBJECT_URL, SUBJECT_SQL, SUBJECT_COMMAND };

static const struct {
    const char *word;
    enum subject subject;
} words[] = {
    {"path", SUBJECT_PATH},       {"file", SUBJECT_PATH},     {"filename", SUBJECT_PATH},
    {"filepath", SUBJECT_PATH},   {"pathname", SUBJECT_PATH}, {"dir", SUBJECT_PATH},
    {"directory", SUBJECT_PATH},  {"folder", SUBJECT_PATH},   {"destination", SUBJECT_PATH},
    {"directorie", SUBJECT_PATH}, {"url", SUBJECT_URL},       {"uri", SUBJECT_URL},
    {"link", SUBJECT_URL},        {"href", SUBJECT_URL},      {"endpoint", SUBJECT_URL},
    {"webhook", SUBJECT_URL},     {"website", SUBJECT_URL},   {"sql", SUBJECT_SQL},
    {"command", SUBJECT_COMMAND}, {"cmd", SUBJECT_COMMAND},   {"script", SUBJECT_COMMAND},
};

/* The last word of the last key, in lower case and without a plural s: args.sourceFiles[*] is "file". */
static struct slice last_word(const struct path *path, char word[WORD_MAX]) {
    struct slice key = {0};
    for (uint32_t i = 0; i < path->step_count; i++)
        if (path->steps[i].kind == STEP_KEY && !path->steps[i].on_array)
            key = path->steps[i].key;
    size_t start = key.len, n = 0;
    for (; start > 0; start--) {
        const char c = key.ptr[start - 1];
        const bool upper = c >= 'A' && c <= 'Z';
        if (!upper && !(c >= 'a' && c <= 'z'))
            break;
        if (upper && start < key.len && key.ptr[start] >= 'a') {
            start--;
            break;
        }
    }
    for (; start < key.len && n < WORD_MAX; start++)
        word[n++] = (char)(key.ptr[start] | 0x20);
    return slice_of(word, n > 1 && word[n - 1] == 's' ? n - 1 : n);
}

static struct slice first_text(const struct cond *leaf) {
    return leaf->value.text.len || !leaf->list_count ? leaf->value.text : leaf->list[0].text;
}

static enum subject subject_of(const struct cond *leaf, struct slice want) {
    char letters[WORD_MAX];
    const struct slice word = last_word(&leaf->path, letters);
    if (slice_starts(want, SLICE("^")))
        want = slice_from(want, 1);
    if (slice_starts(want, SLICE("http")))
        return SUBJECT_URL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (slice_is(word, words[i].word))
            return words[i].subject;
    return slice_starts(want, SLICE("/")) ? SUBJECT_PATH : SUBJECT_NONE;
}

/* In a rule that denies, `a/../` bypasses only checks of how a path begins, not a check for `..` itself. */
static bool is_avoidable(const struct cond *leaf, struct slice want) {
    if (leaf->lenient)
        return true;
    bool from_start = leaf->op == OP_STARTS_WITH ||
                      (leaf->op == OP_REGEX && slice_starts(want, SLICE("^"))) ||
                      (leaf->op == OP_GLOB && !slice_starts(want, SLICE("*")));
    return from_start && !(want.len && memmem(want.ptr, want.len, "..", 2));
}

/* Is it a list of what is denied? Another spelling is not on it. */
static bool lists_denied(const struct cond *leaf) {
    return leaf->lenient ? leaf->op == OP_NEQ || leaf->op == OP_NOT_IN
                         : leaf->op == OP_EQ || leaf->op == OP_IN;
}

/* A pattern for the whole value, of letters that it lists: no folder, and nothing but what it says. */
static bool lists_values(const struct cond *leaf, struct slice want) {
    return leaf->op == OP_REGEX && leaf->lenient && slice_starts(want, SLICE("^")) &&
           slice_ends(want, SLICE("$")) && slice_find(want, '/') < 0 &&
           !memmem(want.ptr, want.len, ".*", 2) && !memmem(want.ptr, want.len, ".+", 2);
}

static bool requires_op(const struct cond *c, struct slice path, enum op op) {
    if (c->kind == COND_LEAF)
        return c->op == op && slice_eq(c->path.text, path);
    for (uint32_t i = 0; c->kind == COND_ALL && i < c->count; i++)
        if (requires_op(&c->children[i], path, op))
            return true;
    return false;
}

/* Does another rule of the tool require the operator that knows the spellings? */
static bool is_backed(const struct entry *entry, const struct cond *leaf, enum op op) {
    for (uint32_t i = 0; i < entry->check_count; i++)
        if (entry->checks[i].mode == CHECK_REQUIRE && !entry->checks[i].shadow &&
            requires_op(&entry->checks[i].conds, leaf->path.text, op))
            return true;
    return false;
}

void policy_lint_text(const struct entry *entry, const struct check *c, const struct cond *leaf,
                      struct policy_problems *problems) {
    static const struct {
        enum op op;
        const char *what, *require, *deny;
    } advice[] = {
        [SUBJECT_PATH] = {OP_UNDER, "a path", "use the operator under",
                          "list the directories that are allowed: operator under"},
        [SUBJECT_URL] = {OP_HOST, "a URL", "use the operator host",
                         "list the hosts that are allowed: operator host"},
        [SUBJECT_SQL] = {OP_SQL, "SQL", "use the operator sql",
                         "require statements that only read: operator sql"},
        [SUBJECT_COMMAND] = {OP_NO_SHELL_META, "a command", "add the operator no_shell_meta",
                             "list the commands that are allowed"},
    };
    const bool searches =
        leaf->op == OP_STARTS_WITH || leaf->op == OP_CONTAINS || leaf->op == OP_GLOB || leaf->op == OP_REGEX;
    const struct slice want = first_text(leaf);
    const enum subject subject = leaf->path.root == ROOT_ARGS ? subject_of(leaf, want) : SUBJECT_NONE;
    const bool of_path = subject == SUBJECT_PATH;
    bool weak = searches && (!of_path || is_avoidable(leaf, want));
    weak |= subject == SUBJECT_URL && leaf->op == OP_ENDS_WITH;
    weak |= lists_denied(leaf) && want.len && (of_path || subject == SUBJECT_URL);
    if (!weak || subject == SUBJECT_NONE || lists_values(leaf, want) ||
        is_backed(entry, leaf, advice[subject].op))
        return;
    const char *op = policy_ops[leaf->op].name;
    struct arena *a = &problems->arena;
    policy_warn(problems, c->at, c->pointer,
                slice_str(leaf->lenient ? advice[subject].require : advice[subject].deny),
                of_path
                    ? arena_printf(a, "rule \"%.*s\": %s does not see through \"..\" and look-alike prefixes",
                                   SLICE_FMT(c->name), op)
                    : arena_printf(a, "rule \"%.*s\": %s is a weak check of %s", SLICE_FMT(c->name), op,
                                   advice[subject].what));
}
