/* Memory with one lifetime: allocated piece by piece, freed together. */
#pragma once

#include "base/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *head;
    char *at;
    char *end;
    size_t total;
};

void arena_init(struct arena *a);
void arena_free(struct arena *a);  /* frees everything; the arena can be used again */
void arena_reset(struct arena *a); /* frees everything but one chunk, which the next use gets */
static inline void arena_cleanup(struct arena *a) { arena_free(a); }
#define cleanup_arena __attribute__((cleanup(arena_cleanup)))

void *arena_alloc(struct arena *a, size_t size);  /* 16-byte aligned, uninitialised */
void *arena_zalloc(struct arena *a, size_t size); /* zeroed */
#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (n)))
struct slice arena_dup(struct arena *a, struct slice s); /* with a NUL behind the slice */
/* A copy of a list of C strings, with a NULL behind the last. */
const char *const *arena_dup_list(struct arena *a, const char *const *items, size_t count);
struct slice arena_join(struct arena *a, struct slice one,
                        struct slice two);               /* one behind the other, with a NUL */
struct slice arena_u64(struct arena *a, uint64_t value); /* the number in decimal */
struct slice arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
