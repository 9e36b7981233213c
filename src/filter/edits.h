/* Changes to a text, by offset. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "wire/splice.h"

/* While they are collected, in any order. */
struct edits {
    struct splice_edit *at;
    size_t count;
    size_t cap;
};

/* Sorted and disjoint, texts in the arena. */
struct filter_edits {
    const struct splice_edit *at;
    size_t count;
};
void filter_edits_free(struct edits *e);
void filter_edits_add(struct edits *e, uint32_t start, uint32_t end, struct slice text);
/* Sorts, and drops edits inside others. */
void filter_edits_settle(struct edits *e);
/* A settled copy in the arena, including texts. */
struct filter_edits filter_edits_keep(struct edits *e, struct arena *a);
/* Applies settled edits. False if the result exceeds the buffer's ceiling. */
bool filter_edits_apply(struct slice src, const struct splice_edit *edits, size_t count, struct buf *out);
