#include "wire/tree.h"

#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>

#define TREE_SHOW_MAX 64

const struct tree *tree_get(const struct tree *map, const char *key) {
    if (!map || map->type != TREE_MAP)
        return NULL;
    for (const struct tree *member = map->child; member; member = member->next)
        if (slice_is(member->key, key))
            return member;
    return NULL;
}

int tree_check_keys(const struct tree *map, const char *const *known, struct err *err) {
    if (map->type != TREE_MAP)
        return 0;
    for (const struct tree *member = map->child; member; member = member->next) {
        const char *const *word = known;
        while (*word && !slice_is(member->key, *word))
            word++;
        if (*word)
            continue;
        const char *near = nearest_word(member->key, known);
        struct tree_mark at = {member->key_line, member->key_column};
        return tree_fault(err, at, "unknown key `%.*s`%s%s%s", SLICE_FMT(tree_show(member->key)),
                          near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
    }
    return 0;
}

const char *tree_type_name(enum tree_type type) {
    static const char *const names[] = {
        [TREE_NULL] = "null",     [TREE_BOOL] = "boolean", [TREE_INT] = "integer", [TREE_FLOAT] = "number",
        [TREE_STRING] = "string", [TREE_LIST] = "list",    [TREE_MAP] = "map",
    };
    return names[type];
}

int tree_fault(struct err *err, struct tree_mark at, const char *fmt, ...) {
    char what[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    err_set(err, "%s", what);
    return err_wrap(err, "line %u, column %u", at.line, at.column);
}

struct slice tree_show(struct slice text) {
    if (text.len <= TREE_SHOW_MAX)
        return text;
    text.len = TREE_SHOW_MAX;
    while (text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80)
        text.len--;
    return text;
}
