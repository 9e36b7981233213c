#include "base/block.h"

#include "base/check.h"
#include "base/mem.h"

#define BLOCK_BIG_KEEP (4u << 20) /* larger blocks go straight back to the system */

void block_pool_init(struct block_pool *p) { *p = (struct block_pool){0}; }

void block_pool_free(struct block_pool *p) {
    while (p->free) {
        struct block *b = p->free;
        p->free = b->next_free;
        free(b);
    }
    for (int i = 0; i < BLOCK_BIG_POOL_MAX; i++)
        free(p->big[i]);
    block_pool_init(p);
}

static struct block *block_make(struct block_pool *p, size_t size) {
    struct block *b = mem_alloc(sizeof(*b) + size);
    b->pool = p;
    b->refs = 1;
    b->cap = (uint32_t)size;
    return b;
}

struct block *block_new(struct block_pool *p, size_t size) {
    if (size <= BLOCK_BYTES) {
        struct block *b = p->free;
        if (!b)
            return block_make(p, BLOCK_BYTES);
        p->free = b->next_free;
        p->free_count--;
        b->refs = 1;
        return b;
    }
    for (int i = 0; i < BLOCK_BIG_POOL_MAX; i++) {
        struct block *b = p->big[i];
        if (b && b->cap >= size && b->cap / 4 <= size) {
            p->big[i] = NULL;
            b->refs = 1;
            return b;
        }
    }
    CHECK(size <= UINT32_MAX);
    return block_make(p, size);
}

void block_unref(struct block *b) {
    if (!b)
        return;
    CHECK(b->refs > 0);
    if (--b->refs)
        return;
    struct block_pool *p = b->pool;
    if (b->cap == BLOCK_BYTES && p->free_count < BLOCK_POOL_MAX) {
        b->next_free = p->free;
        p->free = b;
        p->free_count++;
        return;
    }
    for (int i = 0; b->cap > BLOCK_BYTES && b->cap <= BLOCK_BIG_KEEP && i < BLOCK_BIG_POOL_MAX; i++) {
        if (!p->big[i]) {
            p->big[i] = b;
            return;
        }
    }
    free(b);
}
