/* Anchors of YAML: an alias becomes a copy of its anchor's node, and a merge key (<<) adds the members that
 * a map does not have itself. */
#include "base/map.h"
#include "wire/tree_build.h"

static struct tree_mark tree_mark_of(const struct tree *node) {
    return (struct tree_mark){node->line, node->column};
}

static int tree_copy_scalar(struct tree_build *b, const struct tree *from) {
    struct tree *node = tree_build_add(b, from->type, tree_mark_of(from));
    if (!node)
        return -1;
    node->text = from->text;
    node->truth = from->truth;
    node->integer = from->integer;
    node->number = from->number;
    return 0;
}

/* One node of the copy; a container is left open. */
static int tree_copy_node(struct tree_build *b, const struct tree *from) {
    if (++b->copied > TREE_COPIES_MAX)
        return tree_fault(b->err, tree_mark_of(from), "aliases expand to more than %u values",
                          TREE_COPIES_MAX);
    if (tree_build_wants_key(b) &&
        tree_build_key(b, from->key, (struct tree_mark){from->key_line, from->key_column}) < 0)
        return -1;
    return from->type == TREE_LIST || from->type == TREE_MAP
               ? tree_build_open(b, from->type, tree_mark_of(from))
               : tree_copy_scalar(b, from);
}

int tree_build_copy(struct tree_build *b, const struct tree *from, struct tree_mark at) {
    const struct tree *up[TREE_DEPTH_MAX], *node = from;
    uint32_t depth = 0;
    for (uint32_t i = 0; i < b->depth; i++)
        if (b->stack[i].container == from)
            return tree_fault(b->err, at, "this alias is inside its own anchor");
    for (;;) {
        if (tree_copy_node(b, node) < 0)
            return -1;
        if (node->child) {
            up[depth++] = node;
            node = node->child;
            continue;
        }
        if ((node->type == TREE_LIST || node->type == TREE_MAP) && tree_build_close(b) < 0)
            return -1;
        for (; node != from && !node->next; node = up[--depth])
            if (tree_build_close(b) < 0)
                return -1;
        if (node == from)
            return 0;
        node = node->next;
    }
}

/* Removes the member from the map that is being built. */
static void tree_unlink(struct tree_level *level, struct tree *member) {
    struct tree **link = &level->container->child;
    while (*link != member)
        link = &(*link)->next;
    *link = member->next;
    level->container->count--;
    level->last = level->container->child;
    while (level->last && level->last->next)
        level->last = level->last->next;
}

/* Moves the members that the map does not have; the nodes are already a copy. */
static void tree_take_members(struct tree_level *level, struct tree *from, struct map *have) {
    for (struct tree *member = from->child, *next; member; member = next) {
        next = member->next;
        if (map_get(have, member->key))
            continue;
        map_put(have, member->key, member);
        member->next = NULL;
        *(level->last ? &level->last->next : &level->container->child) = member;
        level->last = member;
        level->container->count++;
    }
}

int tree_build_merge(struct tree_build *b) {
    struct tree_level *level = &b->stack[b->depth - 1];
    struct tree *merge = level->container->child;
    while (!slice_is(merge->key, "<<"))
        merge = merge->next;
    bool is_list = merge->type == TREE_LIST;
    for (struct tree *from = is_list ? merge->child : merge; from; from = is_list ? from->next : NULL)
        if (from->type != TREE_MAP)
            return tree_fault(b->err, (struct tree_mark){merge->key_line, merge->key_column},
                              "`<<` needs a map or a list of maps, got %s", tree_type_name(from->type));
    tree_unlink(level, merge);
    struct map have;
    map_init(&have);
    for (struct tree *member = level->container->child; member; member = member->next)
        map_put(&have, member->key, member);
    for (struct tree *from = is_list ? merge->child : merge; from; from = is_list ? from->next : NULL)
        tree_take_members(level, from, &have);
    map_free(&have);
    return 0;
}
