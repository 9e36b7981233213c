#include "wire/clash.h"

#include "base/fold.h"
#include "base/map.h"

#define CLASH_PAIRS_MAX 24 /* objects with at most this many members are compared pairwise */

/* The bytes of a key, decoded if it has escapes. */
static struct slice key_bytes(const struct tape *t, uint32_t key) {
    const struct tape_node *n = tape_node(t, key);
    return slice_of(t->src.ptr + n->start, n->len);
}

static bool is_escaped(const struct tape *t, uint32_t key) { return tape_node(t, key)->flags & TAPE_ESCAPED; }

/* Like fold_is_plain, but reads the last eight bytes as one word: bytes before the key are shifted out. */
static inline bool key_is_plain(const struct tape *t, uint32_t key) {
    const struct tape_node *n = tape_node(t, key);
    uint64_t part;
    if (n->flags & TAPE_ESCAPED)
        return false;
    if (n->start + n->len < sizeof(part))
        return fold_is_plain(key_bytes(t, key));
    const char *at = t->src.ptr + n->start, *end = at + n->len;
    for (; at + sizeof(part) < end; at += sizeof(part)) {
        memcpy(&part, at, sizeof(part));
        if (fold_odd_bytes(part))
            return false;
    }
    memcpy(&part, end - sizeof(part), sizeof(part));
    return at == end || !fold_odd_bytes(fold_last_bytes(part, (unsigned)(end - at)));
}

enum spelling { SPELT_PLAIN, SPELT_ASCII, SPELT_ODD };

/* The most unusual spelling among the keys of an object. Two keys can only clash when one of them is not
 * plain. */
static enum spelling spelling_of(const struct tape *t, uint32_t obj) {
    enum spelling most = SPELT_PLAIN;
    TAPE_FOR_MEMBER(t, obj, key) {
        if (key_is_plain(t, key))
            continue;
        if (is_escaped(t, key) || !fold_is_ascii(key_bytes(t, key)))
            return SPELT_ODD;
        most = SPELT_ASCII;
    }
    return most;
}

/* For keys such as camelCase; allocates no memory. */
static uint32_t clash_pairs(const struct tape *t, uint32_t obj) {
    TAPE_FOR_MEMBER(t, obj, key) {
        for (uint32_t other = obj + 1; other < key; other = tape_node(t, other + 1)->next)
            if (slice_eq_nocase(key_bytes(t, other), key_bytes(t, key)))
                return key;
    }
    return 0;
}

static uint32_t clash_folded(const struct tape *t, uint32_t obj) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct map seen;
    map_init(&seen);
    uint32_t found = 0;
    TAPE_FOR_MEMBER(t, obj, key) {
        if (map_put(&seen, fold_text(tape_text(t, key, &a), &a), &a)) {
            found = key;
            break;
        }
    }
    map_free(&seen);
    return found;
}

static uint32_t clash_in(const struct tape *t, uint32_t obj) {
    enum spelling spelling = spelling_of(t, obj);
    if (spelling == SPELT_PLAIN)
        return 0;
    bool pairs = spelling == SPELT_ASCII && tape_node(t, obj)->count <= CLASH_PAIRS_MAX;
    return pairs ? clash_pairs(t, obj) : clash_folded(t, obj);
}

uint32_t clash_admit(struct tape *t, uint32_t except) {
    uint32_t found = clash_find(t, 0, 0);
    t->is_distinct = !found;
    return found && except ? clash_find(t, 0, except) : found;
}

uint32_t clash_find(const struct tape *t, uint32_t root, uint32_t except) {
    if (t->is_distinct)
        return 0;
    for (uint32_t i = root, end = tape_node(t, root)->next; i < end; i++) {
        if (except && i == except) {
            i = tape_node(t, i)->next - 1;
            continue;
        }
        if (!tape_is(t, i, TAPE_OBJECT) || tape_node(t, i)->count < 2)
            continue;
        uint32_t found = clash_in(t, i);
        if (found)
            return found;
    }
    return 0;
}

bool clash_key(const struct tape *t, uint32_t key, struct slice name) {
    if (!is_escaped(t, key)) {
        struct slice bytes = key_bytes(t, key);
        if (bytes.len == name.len && slice_eq_nocase(bytes, name))
            return !slice_eq(bytes, name);
        if (fold_is_ascii(bytes) && fold_is_ascii(name))
            return false;
    }
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice text = tape_text(t, key, &a);
    return !slice_eq(text, name) && fold_alike(text, name, &a);
}

uint32_t clash_alike(const struct tape *t, uint32_t obj, struct slice name) {
    if (!obj || !tape_is(t, obj, TAPE_OBJECT))
        return 0;
    TAPE_FOR_MEMBER(t, obj, key) {
        if (clash_key(t, key, name))
            return key;
    }
    return 0;
}
