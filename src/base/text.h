/* Text that its holder owns; `struct slice` only borrows. All zero is no text. */
#pragma once

#include "base/mem.h"
#include "base/slice.h"

struct text {
    char *ptr; /* NUL-terminated; NULL: no text */
    size_t len;
};

static inline struct text text_dup(struct slice from) {
    return from.ptr ? (struct text){mem_dup(from.ptr, from.len), from.len} : (struct text){0};
}

static inline struct slice text_slice(struct text t) { return (struct slice){t.ptr, t.len}; }

static inline void text_free(struct text *t) {
    free(t->ptr);
    *t = (struct text){0};
}

/* `from` may be a part of the old text. */
static inline void text_set(struct text *t, struct slice from) {
    struct text fresh = text_dup(from);
    text_free(t);
    *t = fresh;
}

#define cleanup_text __attribute__((cleanup(text_free)))
