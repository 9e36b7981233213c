/* A growing byte buffer that owns its memory and knows its ceiling. Going over the ceiling sets `full`
 * and drops the write; the owner checks `full` before it uses the buffer. */
#pragma once

#include "base/slice.h"

struct buf {
    char *ptr;
    size_t len;
    size_t cap;
    size_t max;
    bool full;
};

void buf_init(struct buf *b, size_t max);
void buf_free(struct buf *b); /* leaves a valid empty buffer with the same ceiling */
static inline void buf_cleanup(struct buf *b) { buf_free(b); }
#define cleanup_buf __attribute__((cleanup(buf_cleanup)))

/* Room for `more` bytes behind len, or NULL (and full) when that would pass the ceiling. */
char *buf_reserve(struct buf *b, size_t more);
bool buf_put_growing(struct buf *b, const void *ptr, size_t len);
static inline bool buf_put(struct buf *b, const void *ptr, size_t len) {
    if (b->full || !len || len > b->cap - b->len)
        return buf_put_growing(b, ptr, len);
    memcpy(b->ptr + b->len, ptr, len);
    b->len += len;
    return true;
}
static inline bool buf_put_slice(struct buf *b, struct slice s) { return buf_put(b, s.ptr, s.len); }
static inline bool buf_put_str(struct buf *b, const char *str) { return buf_put(b, str, strlen(str)); }
static inline bool buf_put_char(struct buf *b, char c) { return buf_put(b, &c, 1); }
bool buf_put_u64(struct buf *b, uint64_t value);
bool buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void buf_reset(struct buf *b) {
    b->len = 0;
    b->full = false;
}
static inline struct slice buf_slice(const struct buf *b) { return (struct slice){b->ptr, b->len}; }
