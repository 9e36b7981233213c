/* Hash map from bytes to a pointer. Keys are borrowed: they must live as long as the entry. The hash is
 * keyed per process, so a client cannot choose colliding keys. */
#pragma once

#include "base/slice.h"

struct map_entry {
    struct slice key;
    void *value;
    uint64_t hash;
};

struct map {
    struct map_entry *entries;
    size_t cap; /* power of two, or 0 */
    size_t count;
};

void map_init(struct map *m);
void map_free(struct map *m);
void *map_get(const struct map *m, struct slice key); /* NULL when absent */
/* Replaces an entry with the same key (and its key pointer); returns the old value or NULL. */
void *map_put(struct map *m, struct slice key, void *value);
bool map_add(struct map *m, struct slice key,
             void *value); /* false, and no change, when the key is present */
void *map_remove(struct map *m, struct slice key);
/* Walk: start with *at = 0; returns NULL at the end. The map must not change meanwhile. */
struct map_entry *map_next(const struct map *m, size_t *at);

uint64_t map_hash(struct slice key);
