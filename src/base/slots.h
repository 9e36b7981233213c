/* Numbers for pointers. An id is not reused while anything may still refer to it, and is below 2^53 so
 * that every JSON reader takes it as an integer. A lookup is one array access. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLOTS_INDEX_BITS 16
#define SLOTS_MAX (1u << SLOTS_INDEX_BITS)

struct slots {
    struct slots_entry *entries;
    uint32_t cap;
    uint32_t used;
    uint32_t free; /* index + 1 of the first free entry, 0 for none */
};

void slots_init(struct slots *s);
void slots_free(struct slots *s);
uint64_t slots_add(struct slots *s, void *ptr);          /* 0 when full */
void *slots_get(const struct slots *s, uint64_t id);     /* NULL when gone */
void slots_set(struct slots *s, uint64_t id, void *ptr); /* replaces the pointer of an existing id */
void slots_remove(struct slots *s, uint64_t id);
/* Walk: start with *at = 0. Entries may be removed meanwhile. */
void *slots_next(const struct slots *s, uint32_t *at);
