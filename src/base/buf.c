#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

void buf_init(struct buf *b, size_t max) { *b = (struct buf){.max = max}; }

void buf_free(struct buf *b) {
    free(b->ptr);
    *b = (struct buf){.max = b->max};
}

char *buf_reserve(struct buf *b, size_t more) {
    if (more > b->max || b->len > b->max - more) {
        b->full = true;
        return NULL;
    }
    size_t need = b->len + more;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 256;
        while (cap < need)
            cap *= 2;
        b->cap = cap < b->max ? cap : b->max;
        b->ptr = mem_realloc(b->ptr, b->cap);
    }
    return b->ptr + b->len;
}

bool buf_put_growing(struct buf *b, const void *ptr, size_t len) {
    if (len == 0)
        return !b->full;
    char *to = b->full ? NULL : buf_reserve(b, len);
    if (!to)
        return false;
    memcpy(to, ptr, len);
    b->len += len;
    return true;
}

bool buf_put_u64(struct buf *b, uint64_t value) {
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return buf_put(b, digits + at, sizeof(digits) - at);
}

bool buf_printf(struct buf *b, const char *fmt, ...) {
    va_list ap, again;
    if (b->full)
        return false;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    int need = vsnprintf(room ? b->ptr + b->len : NULL, room, fmt, ap);
    va_end(ap);
    char *to = need < 0 ? NULL : buf_reserve(b, (size_t)need + 1);
    if (to) {
        if ((size_t)need >= room) /* the first attempt did not fit */
            vsnprintf(to, (size_t)need + 1, fmt, again);
        b->len += (size_t)need;
    }
    va_end(again);
    return to != NULL;
}
