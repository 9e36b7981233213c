/* Reference-counted byte blocks. Received bytes live in one; messages cut out of it, and writes that are
 * under way, hold references, so bytes travel through the gate without being copied. One pool belongs to
 * one loop and is not shared between threads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SMALL 16384       /* what one read of a socket takes; most messages are far smaller */
#define BLOCK_BYTES 65536       /* what one read of a pipe takes: many messages at once */
#define BLOCK_SMALL_MAX 512     /* free small blocks that a pool keeps */
#define BLOCK_POOL_MAX 32       /* free blocks of BLOCK_BYTES */
#define BLOCK_BIG_POOL_MAX 8    /* free larger blocks, so that a stream of large messages reuses them */
#define BLOCK_BURST (16u << 20) /* larger blocks of so many bytes in use at once are a burst */
#define BLOCK_BURST_OVER 16     /* which is over when less than this part is left: memory goes back then */

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
    struct block *big[BLOCK_BIG_POOL_MAX];
    size_t big_bytes; /* of the larger blocks in use */
    size_t big_peak;  /* and of the burst under way */
};

void block_pool_init(struct block_pool *p);
void block_pool_free(struct block_pool *p); /* the free blocks; those in use free themselves later */
struct block *block_new(struct block_pool *p, size_t size); /* refs 1, cap at least size */
static inline struct block *block_ref(struct block *b) {
    b->refs++;
    return b;
}
void block_unref(struct block *b); /* NULL is fine */
