#include "policy/fragment.h"

#include "policy/limits.h"
#include "wire/tree_parse.h"

const char *const policy_block_keys[] = {"require", "deny_if", "approve_if", "limits",
                                         "action",  "reason",  "rate_limit", NULL};
const char *const policy_document_keys[] = {"version",   "description", "default", "hide",      "tools",
                                            "all_tools", "flows",       "methods", "mode",      "match",
                                            "prune",     "deny_prefix", "presets", "arguments", NULL};

bool policy_has_any(const struct tree *map, const char *const *keys) {
    for (; *keys; keys++)
        if (tree_get(map, *keys))
            return true;
    return false;
}

bool policy_fragment_is(const struct tree *root) {
    if (!root->count || policy_has_any(root, policy_document_keys))
        return false;
    for (const struct tree *t = root->child; t; t = t->next)
        if (t->type != TREE_MAP || !policy_has_any(t, policy_block_keys))
            return false;
    return true;
}

/* The position behind the brace that closes the object at `start`; 0 when there is none. */
static size_t object_end(struct slice text, size_t start) {
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = start; i < text.len; i++) {
        const char c = text.ptr[i];
        if (c == '\\' && quoted)
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (c == '{' && !quoted)
            depth++;
        else if (c == '}' && !quoted && --depth == 0)
            return i + 1;
    }
    return 0;
}

static size_t skip_gap(struct slice text, size_t at) {
    while (at < text.len && memchr(" \t\r\n,", text.ptr[at], 5))
        at++;
    return at;
}

/* The rest of the text is blanked, so that positions stay those of the complete text. */
static int parse_one(struct slice text, size_t start, size_t end, struct arena *a,
                     const struct tree **ret_root, struct err *err) {
    char *only = arena_alloc(a, end + 1);
    for (size_t i = 0; i < end; i++)
        only[i] = i >= start || text.ptr[i] == '\n' ? text.ptr[i] : ' ';
    return tree_parse_json(slice_of(only, end), a, ret_root, err);
}

/* Moves the members of one fragment to the end of the list. */
static int join(struct tree *all, struct tree **last, const struct tree *part, struct err *err) {
    const struct tree_mark at = {part->line, part->column};
    if (part->type != TREE_MAP || !policy_fragment_is(part))
        return tree_fault(err, at, "only fragments (objects with tools) can follow one another");
    for (struct tree *t = part->child, *next; t; t = next) {
        next = t->next;
        for (const struct tree *other = all->child; other; other = other->next)
            if (slice_eq(other->key, t->key))
                return tree_fault(err, (struct tree_mark){t->key_line, t->key_column},
                                  "\"%.*s\" stands in an earlier fragment too", SLICE_FMT(tree_show(t->key)));
        t->next = NULL;
        *(*last ? &(*last)->next : &all->child) = t;
        *last = t;
        all->count++;
    }
    return 0;
}

bool policy_fragments_are(struct slice text) {
    const size_t start = skip_gap(text, 0);
    const size_t end = start < text.len && text.ptr[start] == '{' ? object_end(text, start) : 0;
    const size_t next = end ? skip_gap(text, end) : text.len;
    return next < text.len && text.ptr[next] == '{';
}

int policy_fragments_parse(struct slice text, struct arena *a, const struct tree **ret_root,
                           struct err *err) {
    struct tree *all = arena_new(a, struct tree), *last = NULL;
    *all = (struct tree){.type = TREE_MAP, .line = 1, .column = 1};
    size_t count = 0;
    for (size_t at = skip_gap(text, 0), end; at < text.len; at = skip_gap(text, end)) {
        const struct tree *part;
        end = text.ptr[at] == '{' ? object_end(text, at) : 0;
        if (!end)
            return err_set(err, "only `{` … `}` can follow a fragment");
        if (++count > POLICY_FRAGMENTS_MAX)
            return err_set(err, "at most %d fragments", POLICY_FRAGMENTS_MAX);
        if (parse_one(text, at, end, a, &part, err) < 0 || join(all, &last, part, err) < 0)
            return -1;
    }
    *ret_root = all;
    return 0;
}
