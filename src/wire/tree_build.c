#include "wire/tree_build.h"

#include "base/map.h"

#define TREE_PAIRWISE_MAX 16 /* members up to which comparing all pairs beats hashing */

/* ---- places ---- */

void tree_cursor_init(struct tree_cursor *c, struct slice text) {
    *c = (struct tree_cursor){.text = text, .at = {1, 1}};
}

/* Length of the character with this first byte. */
size_t tree_char_len(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

void tree_cursor_step(struct tree_cursor *c) {
    char byte = c->text.ptr[c->offset];
    size_t step = tree_char_len((unsigned char)byte), left = c->text.len - c->offset;
    bool line_end = byte == '\n' || (byte == '\r' && (left < 2 || c->text.ptr[c->offset + 1] != '\n'));
    c->offset += step < left ? step : left;
    c->at.column++;
    if (line_end) {
        c->at.line++;
        c->at.column = 1;
    }
}

struct tree_mark tree_cursor_to(struct tree_cursor *c, size_t offset) {
    while (c->offset < offset && c->offset < c->text.len)
        tree_cursor_step(c);
    return c->at;
}

/* ---- nodes ---- */

bool tree_build_wants_key(const struct tree_build *b) {
    return b->depth && b->stack[b->depth - 1].container->type == TREE_MAP && !b->has_key;
}

int tree_build_key(struct tree_build *b, struct slice text, struct tree_mark at) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f)
            return tree_fault(b->err, at, "control character in a key");
    b->has_key = true;
    b->key = arena_dup(b->arena, text);
    b->key_at = at;
    return 0;
}

struct tree *tree_build_add(struct tree_build *b, enum tree_type type, struct tree_mark at) {
    if (b->nodes++ >= TREE_NODES_MAX) {
        tree_fault(b->err, at, "more than %u values", TREE_NODES_MAX);
        return NULL;
    }
    struct tree *node = arena_new(b->arena, struct tree);
    node->type = type;
    node->line = at.line;
    node->column = at.column;
    if (b->has_key) {
        node->key = b->key;
        node->key_line = b->key_at.line;
        node->key_column = b->key_at.column;
        b->has_key = false;
    }
    if (b->depth) {
        struct tree_level *level = &b->stack[b->depth - 1];
        if (level->last)
            level->last->next = node;
        else
            level->container->child = node;
        level->last = node;
        level->container->count++;
    } else {
        b->root = node;
    }
    return node;
}

int tree_build_open(struct tree_build *b, enum tree_type type, struct tree_mark at) {
    if (b->depth == TREE_DEPTH_MAX)
        return tree_fault(b->err, at, "nested deeper than %d levels", TREE_DEPTH_MAX);
    struct tree *node = tree_build_add(b, type, at);
    if (!node)
        return -1;
    b->stack[b->depth++] = (struct tree_level){.container = node};
    return 0;
}

/* An earlier member with the same key, or NULL. */
static const struct tree *tree_find_before(const struct tree *map, const struct tree *member) {
    for (const struct tree *earlier = map->child; earlier != member; earlier = earlier->next)
        if (slice_eq(earlier->key, member->key))
            return earlier;
    return NULL;
}

int tree_build_close(struct tree_build *b) {
    struct tree *map = b->stack[--b->depth].container;
    if (map->type != TREE_MAP)
        return 0;
    const struct tree *earlier = NULL, *again = NULL;
    struct map seen;
    map_init(&seen);
    for (struct tree *member = map->child; member && !earlier; member = member->next) {
        again = member;
        earlier = map->count > TREE_PAIRWISE_MAX ? map_put(&seen, member->key, member)
                                                 : tree_find_before(map, member);
    }
    map_free(&seen);
    if (!earlier)
        return 0;
    struct tree_mark at = {again->key_line, again->key_column};
    return tree_fault(b->err, at, "duplicate key `%.*s`, first at line %u, column %u",
                      SLICE_FMT(tree_show(again->key)), earlier->key_line, earlier->key_column);
}

int tree_build_string(struct tree_build *b, struct slice text, struct tree_mark at) {
    if (slice_find(text, '\0') >= 0)
        return tree_fault(b->err, at, "NUL in a string");
    struct tree *node = tree_build_add(b, TREE_STRING, at);
    if (!node)
        return -1;
    node->text = arena_dup(b->arena, text);
    return 0;
}
