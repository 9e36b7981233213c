#include "base/block.h"

#include "base/check.h"
#include "base/mem.h"

#include <malloc.h>
#include <stdbool.h>

#define BLOCK_BIG_KEEP (4u << 20) /* larger blocks are not kept for reuse */

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

static void big_free_kept(struct block_pool *p) {
    for (int i = 0; i < BLOCK_BIG_POOL_MAX; i++) {
        free(p->big[i]);
        p->big[i] = NULL;
    }
}

void block_pool_free(struct block_pool *p) {
    struct block *b;
    while ((b = list_take(&p->small)) || (b = list_take(&p->usual)))
        free(b);
    big_free_kept(p);
    block_pool_init(p);
}

static struct block *block_make(struct block_pool *p, size_t size) {
    struct block *b = mem_alloc(sizeof(*b) + size);
    b->pool = p;
    b->refs = 1;
    b->cap = (uint32_t)size;
    return b;
}

static struct block *big_new(struct block_pool *p, size_t size) {
    struct block *b = NULL;
    for (int i = 0; i < BLOCK_BIG_POOL_MAX && !b; i++) {
        if (p->big[i] && p->big[i]->cap >= size && p->big[i]->cap / 4 <= size) {
            b = p->big[i];
            p->big[i] = NULL;
            b->refs = 1;
        }
    }
    CHECK(size <= UINT32_MAX);
    b = b ? b : block_make(p, size);
    p->big_bytes += b->cap;
    p->big_peak = p->big_bytes > p->big_peak ? p->big_bytes : p->big_peak;
    return b;
}

static bool big_keep(struct block_pool *p, struct block *b) {
    for (int i = 0; b->cap <= BLOCK_BIG_KEEP && i < BLOCK_BIG_POOL_MAX; i++) {
        if (!p->big[i]) {
            p->big[i] = b;
            return true;
        }
    }
    return false;
}

/* free() leaves most of it with the process, between small pieces that live on: that is fast as long as
 * messages of such sizes come, and a waste once they do not. */
static void big_done(struct block_pool *p, struct block *b) {
    p->big_bytes -= b->cap;
    if (!big_keep(p, b))
        free(b);
    if (p->big_peak < BLOCK_BURST || p->big_bytes > p->big_peak / BLOCK_BURST_OVER)
        return;
    big_free_kept(p);
    malloc_trim(0);
    p->big_peak = p->big_bytes;
}

struct block *block_new(struct block_pool *p, size_t size) {
    if (size > BLOCK_BYTES)
        return big_new(p, size);
    bool small = size <= BLOCK_SMALL;
    struct block *b = list_take(small ? &p->small : &p->usual);
    return b ? b : block_make(p, small ? BLOCK_SMALL : BLOCK_BYTES);
}

void block_unref(struct block *b) {
    if (!b)
        return;
    CHECK(b->refs > 0);
    if (--b->refs)
        return;
    struct block_pool *p = b->pool;
    if (b->cap > BLOCK_BYTES)
        big_done(p, b);
    else if (b->cap == BLOCK_SMALL && p->small.count < BLOCK_SMALL_MAX)
        list_give(&p->small, b);
    else if (b->cap == BLOCK_BYTES && p->usual.count < BLOCK_POOL_MAX)
        list_give(&p->usual, b);
    else
        free(b);
}
