/* Reference-counted byte blocks. Received bytes live in one; messages cut out of it, and writes that are
 * under way, hold references, so bytes travel through the gate without being copied. One pool belongs to
 * one loop and is not shared between threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_SMALL 16384   /* one read of a socket; most messages are far smaller */
#define BLOCK_BYTES 65536   /* one read of a pipe, which may bring many messages */
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
    size_t big_peak;   /* bytes that the pool may hold: the recent peak of use */
    bool big_used;     /* since the last block_pool_rest() */
};

void block_pool_init(struct block_pool *p);
void block_pool_free(struct block_pool *p); /* frees the unused blocks; blocks in use free themselves later */
/* Call this periodically: returns larger blocks that were not used since the last call to the system.
 * False when there are none. */
bool block_pool_rest(struct block_pool *p);
struct block *block_new(struct block_pool *p, size_t size); /* refs 1, cap at least size */
struct block *block_copy(struct block_pool *p, const char *ptr, size_t len);
static inline struct block *block_ref(struct block *b) {
    b->refs++;
    return b;
}
void block_unref(struct block *b); /* NULL is fine */
