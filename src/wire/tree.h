/* A configuration document as a tree with the position of every node in the text. It lives in an arena; the
 * text may be freed. tree_parse.h parses one. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "wire/limits.h"

enum tree_type { TREE_NULL, TREE_BOOL, TREE_INT, TREE_FLOAT, TREE_STRING, TREE_LIST, TREE_MAP };

struct tree {
    enum tree_type type;
    uint32_t line;     /* 1-based, of the value */
    uint32_t column;   /* 1-based, in characters */
    struct slice text; /* scalars: the text as written (decoded for strings) */
    bool truth;        /* TREE_BOOL */
    int64_t integer;   /* TREE_INT; integers beyond int64 are TREE_FLOAT with their text kept */
    double number;     /* TREE_INT and TREE_FLOAT */
    struct slice key;  /* when it is a member of a map */
    uint32_t key_line;
    uint32_t key_column;
    struct tree *child; /* first element or member */
    struct tree *next;  /* sibling */
    uint32_t count;
};

const struct tree *tree_get(const struct tree *map, const char *key); /* NULL when absent or not a map */
/* A place for people: 1-based line, and column in characters. */
struct tree_mark {
    uint32_t line;
    uint32_t column;
};
/* err "line L, column C: …". */
int tree_fault(struct err *err, struct tree_mark at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A text shortened to fit into a message. */
struct slice tree_show(struct slice text);

/* err "line L, column C: unknown key `X`, did you mean `Y`?" for the first member not among `known`
 * (NULL-terminated). */
int tree_check_keys(const struct tree *map, const char *const *known, struct err *err);
const char *tree_type_name(enum tree_type type);
