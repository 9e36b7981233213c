/* Reference-counted byte blocks. Received bytes live in one; messages cut out of it, and writes that are
 * under way, hold references, so bytes travel through the gate without being copied. One pool belongs to
 * one loop and is not shared between threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SMALL 16384   /* what one read of a socket takes; most messages are far smaller */
#define BLOCK_BYTES 65536   /* what one read of a pipe takes: many messages at once */
#define BLOCK_SMALL_MAX 512 /* free small blocks that a pool keeps */
#define BLOCK_POOL_MAX 32   /* free blocks of BLOCK_BYTES */

struct block_pool;

struct block {
    struct block_pool *pool;
    struct block *next_free;
    uint32_t refs;
    uint32_t cap;
    char data[];
};

struct block_list {
    struct block *first;
    uint32_t count;
};

struct block_pool {
    struct block_list small;
    struct block_list usual;
    struct block *big; /* free larger blocks, so that a stream of large messages reuses them */
    size_t big_kept;   /* their bytes */
    size_t big_bytes;  /* of the larger blocks in use */
    size_t big_peak;   /* the most that were in use at once, of late */
    bool big_used;     /* since block_pool_rest was called last */
};

void block_pool_init(struct block_pool *p);
void block_pool_free(struct block_pool *p); /* the free blocks; those in use free themselves later */
/* Every now and then: memory of larger blocks that have not been wanted since the last time goes back to the
 * system. False when there is none. */
bool block_pool_rest(struct block_pool *p);
struct block *block_new(struct block_pool *p, size_t size); /* refs 1, cap at least size */
static inline struct block *block_ref(struct block *b) {
    b->refs++;
    return b;
}
void block_unref(struct block *b); /* NULL is fine */
