#include "base/slots.h"

#include "base/mem.h"

#include <string.h>

struct slots_entry {
    void *ptr;
    uint64_t turn; /* counts the uses of this place, from 1 */
    uint32_t next_free;
};

void slots_init(struct slots *s) { *s = (struct slots){0}; }

void slots_free(struct slots *s) {
    free(s->entries);
    slots_init(s);
}

static int slots_grow(struct slots *s) {
    if (s->cap == SLOTS_MAX)
        return -1;
    uint32_t cap = s->cap ? s->cap * 2 : 2;
    s->entries = mem_realloc(s->entries, cap * sizeof(*s->entries));
    memset(s->entries + s->cap, 0, (cap - s->cap) * sizeof(*s->entries));
    for (uint32_t i = cap; i-- > s->cap;) {
        s->entries[i].next_free = s->free;
        s->free = i + 1;
    }
    s->cap = cap;
    return 0;
}

uint64_t slots_add(struct slots *s, void *ptr) {
    if (!s->free && slots_grow(s) < 0)
        return 0;
    uint32_t index = s->free - 1;
    struct slots_entry *e = &s->entries[index];
    s->free = e->next_free;
    e->ptr = ptr;
    e->turn++;
    s->used++;
    return e->turn << SLOTS_INDEX_BITS | index;
}

static struct slots_entry *slots_find(const struct slots *s, uint64_t id) {
    uint32_t index = (uint32_t)id & (SLOTS_MAX - 1);
    if (index >= s->cap)
        return NULL;
    struct slots_entry *e = &s->entries[index];
    return e->ptr && e->turn == id >> SLOTS_INDEX_BITS ? e : NULL;
}

void *slots_get(const struct slots *s, uint64_t id) {
    struct slots_entry *e = slots_find(s, id);
    return e ? e->ptr : NULL;
}

void slots_set(struct slots *s, uint64_t id, void *ptr) {
    struct slots_entry *e = slots_find(s, id);
    if (e)
        e->ptr = ptr;
}

void slots_remove(struct slots *s, uint64_t id) {
    struct slots_entry *e = slots_find(s, id);
    if (!e)
        return;
    e->ptr = NULL;
    e->next_free = s->free;
    s->free = (uint32_t)(e - s->entries) + 1;
    s->used--;
}

void *slots_next(const struct slots *s, uint32_t *at) {
    while (*at < s->cap) {
        void *ptr = s->entries[(*at)++].ptr;
        if (ptr)
            return ptr;
    }
    return NULL;
}
