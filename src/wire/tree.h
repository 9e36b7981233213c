/* Configuration documents: YAML or JSON read into one strict tree that remembers where everything stood.
 * YAML by libyaml events, with aliases and merge keys resolved: no tags, duplicate keys, several documents or
 * non-string keys. JSON by the tape, with its strictness. Scalars are typed by the YAML 1.2 core schema
 * (yes/no/on/off are strings), with the 1_000 and 0b11 of YAML 1.1; a leading zero, which is octal to one and
 * decimal to the other, is refused; quoted scalars are always strings. Refused in either: control characters,
 * Unicode line separators and bidirectional overrides written raw, NUL however written, numbers that are not
 * finite. The tree lives in the arena alone: the text may go. */
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

/* JSON when the first byte that is not white space is '{' or '[', unless its syntax is not that of JSON;
 * otherwise YAML. One byte-order mark in front is skipped. Errors read "line L, column C: what". */
int tree_parse(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
int tree_parse_yaml(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
int tree_parse_json(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
const struct tree *tree_get(const struct tree *map, const char *key); /* NULL when absent or not a map */
/* err "line L, column C: unknown key `X`, did you mean `Y`?" for the first member not among `known`
 * (NULL-terminated). */
int tree_check_keys(const struct tree *map, const char *const *known, struct err *err);
const char *tree_type_name(enum tree_type type);
