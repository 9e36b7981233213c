#include "base/arena.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

#define ARENA_CHUNK_BYTES 4096
#define ARENA_ALIGN 16

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
};

void arena_init(struct arena *a) { *a = (struct arena){0}; }

void arena_free(struct arena *a) {
    for (struct arena_chunk *c = a->head, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    arena_init(a);
}

void arena_reset(struct arena *a) {
    struct arena_chunk *keep = a->head;
    if (!keep)
        return;
    for (struct arena_chunk *c = keep->next, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    if (keep->size > 4 * ARENA_CHUNK_BYTES) {
        free(keep);
        arena_init(a);
        return;
    }
    keep->next = NULL;
    a->at = (char *)(keep + 1);
    a->end = (char *)keep + keep->size;
    a->total = keep->size;
}

static void arena_grow(struct arena *a, size_t need) {
    size_t size = ARENA_CHUNK_BYTES;
    /* Doubling keeps the number of chunks logarithmic for large documents. */
    if (a->total > size)
        size = a->total < 1024 * 1024 ? a->total : 1024 * 1024;
    if (size < need + sizeof(struct arena_chunk))
        size = need + sizeof(struct arena_chunk);
    struct arena_chunk *c = mem_alloc(size);
    c->next = a->head;
    c->size = size;
    a->head = c;
    a->at = (char *)(c + 1);
    a->end = (char *)c + size;
    a->total += size;
}

void *arena_alloc(struct arena *a, size_t size) {
    size_t rounded = ((size ? size : 1) + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if ((size_t)(a->end - a->at) < rounded)
        arena_grow(a, rounded);
    void *ptr = a->at;
    a->at += rounded;
    return ptr;
}

void *arena_zalloc(struct arena *a, size_t size) {
    void *ptr = arena_alloc(a, size);
    memset(ptr, 0, size);
    return ptr;
}

const char *const *arena_dup_list(struct arena *a, const char *const *items, size_t count) {
    const char **copy = arena_array(a, const char *, count + 1);
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_dup(a, slice_str(items[i])).ptr;
    return copy;
}

struct slice arena_join(struct arena *a, struct slice one, struct slice two) {
    char *text = arena_alloc(a, one.len + two.len + 1);
    if (one.len)
        memcpy(text, one.ptr, one.len);
    if (two.len)
        memcpy(text + one.len, two.ptr, two.len);
    text[one.len + two.len] = '\0';
    return slice_of(text, one.len + two.len);
}

struct slice arena_dup(struct arena *a, struct slice s) {
    return arena_join(a, s, (struct slice){0});
}

struct slice arena_u64(struct arena *a, uint64_t value) {
    char *end = (char *)arena_alloc(a, 20) + 20, *at = end;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return slice_of(at, (size_t)(end - at));
}

/* Prints directly into the free part of the chunk, which is nearly always large enough: measuring first
 * would format twice. */
struct slice arena_printf(struct arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    size_t room = (size_t)(a->end - a->at);
    int need = vsnprintf(a->at, room, fmt, ap);
    va_end(ap);
    size_t len = need < 0 ? 0 : (size_t)need;
    const char *printed = a->at;
    char *text = arena_alloc(a, len + 1);
    if (text != printed || len >= room)
        vsnprintf(text, len + 1, fmt, again);
    va_end(again);
    return slice_of(text, len);
}
