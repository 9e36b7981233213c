#include "base/block.h"

#include "base/check.h"
#include "base/mem.h"

#include <stdbool.h>

#define BLOCK_BIG_KEEP (4u << 20) /* larger blocks go straight back to the system */

void block_pool_init(struct block_pool *p) { *p = (struct block_pool){0}; }

static struct block *list_take(struct block_list *l) {
    struct block *b = l->first;
    if (b) {
        l->first = b->next_free;
        l->count--;
        b->refs = 1;
    }
    return b;
}

static void list_give(struct block_list *l, struct block *b) {
    b->next_free = l->first;
    l->first = b;
    l->count++;
}

void block_pool_free(struct block_pool *p) {
    struct block *b;
    while ((b = list_take(&p->small)) || (b = list_take(&p->usual)))
        free(b);
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
        bool small = size <= BLOCK_SMALL;
        struct block *b = list_take(small ? &p->small : &p->usual);
        return b ? b : block_make(p, small ? BLOCK_SMALL : BLOCK_BYTES);
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
    if (b->cap == BLOCK_SMALL && p->small.count < BLOCK_SMALL_MAX) {
        list_give(&p->small, b);
        return;
    }
    if (b->cap == BLOCK_BYTES && p->usual.count < BLOCK_POOL_MAX) {
        list_give(&p->usual, b);
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
