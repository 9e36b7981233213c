/* Shared by the YAML and JSON readers: positions in the text, and building the tree. Not for other rooms. */
#pragma once

#include "wire/tree.h"

/* Moves forward through the text and counts lines. LF, CRLF and CR each end a line. */
struct tree_cursor {
    struct slice text;
    size_t offset;
    struct tree_mark at;
};

struct tree_build {
    struct arena *arena;
    struct err *err;
    struct tree *root;
    uint32_t nodes, copied;
    uint32_t depth;
    struct tree_level {
        struct tree *container;
        struct tree *last;
    } stack[TREE_DEPTH_MAX];
    bool has_key; /* a key has been read and waits for its value */
    struct slice key;
    struct tree_mark key_at;
};

void tree_cursor_init(struct tree_cursor *c, struct slice text);
/* Length of the character that begins with `first`. */
size_t tree_char_len(unsigned char first);
void tree_cursor_step(struct tree_cursor *c);                          /* one character */
struct tree_mark tree_cursor_to(struct tree_cursor *c, size_t offset); /* never backwards */
/* Is the next thing a key? */
bool tree_build_wants_key(const struct tree_build *b);
int tree_build_key(struct tree_build *b, struct slice text, struct tree_mark at);
/* Adds a node at the current position; NULL and err on failure. */
struct tree *tree_build_add(struct tree_build *b, enum tree_type type, struct tree_mark at);
int tree_build_open(struct tree_build *b, enum tree_type type, struct tree_mark at);
int tree_build_close(struct tree_build *b);
/* A string with its decoded text; refuses NUL. */
int tree_build_string(struct tree_build *b, struct slice text, struct tree_mark at);

/* Adds a copy of a complete node as the next value. `at`: the alias. */
int tree_build_copy(struct tree_build *b, const struct tree *from, struct tree_mark at);
/* For the innermost map, before it is closed: replaces its member `<<` by the members that it merges. */
int tree_build_merge(struct tree_build *b);

/* Reads a text whose characters have been checked. */
int tree_read_yaml(struct slice text, struct arena *a, const struct tree **ret_root, struct err *err);
