#include "base/block.h"

#include "base/check.h"
#include "base/mem.h"

#include <malloc.h>
#include <string.h>

#define BLOCK_BIG_TRIES 16 /* free larger blocks that are checked for one that fits */

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

static void big_drop(struct block_pool *p, struct block **at) {
    struct block *b = *at;
    *at = b->next_free;
    p->big_kept -= b->cap;
    free(b);
}

static void big_drop_all(struct block_pool *p) {
    while (p->big)
        big_drop(p, &p->big);
}

void block_pool_free(struct block_pool *p) {
    struct block *b;
    while ((b = list_take(&p->small)) || (b = list_take(&p->usual)))
        free(b);
    big_drop_all(p);
    block_pool_init(p);
}

static struct block *block_make(struct block_pool *p, size_t size) {
    struct block *b = mem_alloc(sizeof(*b) + size);
    b->pool = p;
    b->refs = 1;
    b->cap = (uint32_t)size;
    return b;
}

static struct block *big_take(struct block_pool *p, size_t size) {
    struct block **at = &p->big;
    for (int i = 0; *at && i < BLOCK_BIG_TRIES; i++, at = &(*at)->next_free) {
        struct block *b = *at;
        if (b->cap < size || b->cap / 4 > size)
            continue;
        *at = b->next_free;
        p->big_kept -= b->cap;
        b->refs = 1;
        return b;
    }
    return NULL;
}

/* The pool never keeps more memory than was in use at the same time. */
static struct block *big_new(struct block_pool *p, size_t size) {
    CHECK(size <= UINT32_MAX - BLOCK_BYTES);
    size = (size + BLOCK_BYTES - 1) / BLOCK_BYTES *
           BLOCK_BYTES; /* rounded up, so that blocks can be reused for each other */
    struct block *b = big_take(p, size);
    if (!b) {
        while (p->big && p->big_bytes + p->big_kept + size > p->big_peak)
            big_drop(p, &p->big);
        b = block_make(p, size);
    }
    p->big_bytes += b->cap;
    p->big_peak = p->big_bytes > p->big_peak ? p->big_bytes : p->big_peak;
    p->big_used = true;
    return b;
}

static void big_keep(struct block_pool *p, struct block *b) {
    p->big_bytes -= b->cap;
    p->big_kept += b->cap;
    b->next_free = p->big;
    p->big = b;
}

/* free() keeps most of this memory in the process, because small live pieces lie between. */
bool block_pool_rest(struct block_pool *p) {
    if (!p->big_used && p->big) {
        big_drop_all(p);
#ifdef __GLIBC__ /* musl returns large pieces to the system itself */
        malloc_trim(0);
#endif
    }
    p->big_peak = p->big_bytes + p->big_kept;
    p->big_used = false;
    return p->big_peak > 0;
}

struct block *block_new(struct block_pool *p, size_t size) {
    if (size > BLOCK_BYTES)
        return big_new(p, size);
    bool small = size <= BLOCK_SMALL;
    struct block *b = list_take(small ? &p->small : &p->usual);
    return b ? b : block_make(p, small ? BLOCK_SMALL : BLOCK_BYTES);
}

struct block *block_copy(struct block_pool *p, const char *ptr, size_t len) {
    struct block *b = block_new(p, len);
    if (len)
        memcpy(b->data, ptr, len);
    return b;
}

void block_unref(struct block *b) {
    if (!b)
        return;
    CHECK(b->refs > 0);
    if (--b->refs)
        return;
    struct block_pool *p = b->pool;
    if (b->cap > BLOCK_BYTES)
        big_keep(p, b);
    else if (b->cap == BLOCK_SMALL && p->small.count < BLOCK_SMALL_MAX)
        list_give(&p->small, b);
    else if (b->cap == BLOCK_BYTES && p->usual.count < BLOCK_POOL_MAX)
        list_give(&p->usual, b);
    else
        free(b);
}
