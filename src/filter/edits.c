#include "filter/edits.h"

#include "base/mem.h"

#include <stdlib.h>

void filter_edits_free(struct edits *e) {
    free(e->at);
    *e = (struct edits){0};
}

void filter_edits_add(struct edits *e, uint32_t start, uint32_t end, struct slice text) {
    if (e->count == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 16;
        e->at = mem_realloc(e->at, e->cap * sizeof(*e->at));
    }
    e->at[e->count++] = (struct splice_edit){start, end, text};
}

static int edit_order(const void *a, const void *b) {
    const struct splice_edit *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : 0;
}

void filter_edits_settle(struct edits *e) {
    bool sorted = true;
    for (size_t i = 1; i < e->count && sorted; i++)
        sorted = e->at[i - 1].end <= e->at[i].start;
    if (sorted)
        return;
    qsort(e->at, e->count, sizeof(*e->at), edit_order);
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < e->count; i++) {
        if (e->at[i].start < at)
            continue;
        at = e->at[i].end;
        e->at[kept++] = e->at[i];
    }
    e->count = kept;
}

struct filter_edits filter_edits_keep(struct edits *e, struct arena *a) {
    filter_edits_settle(e);
    struct splice_edit *kept = arena_alloc(a, e->count * sizeof(*kept));
    for (size_t i = 0; i < e->count; i++)
        kept[i] = (struct splice_edit){e->at[i].start, e->at[i].end, arena_dup(a, e->at[i].text)};
    return (struct filter_edits){kept, e->count};
}

bool filter_edits_apply(struct slice src, const struct splice_edit *edits, size_t count, struct buf *out) {
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        buf_put(out, src.ptr + at, edits[i].start - at);
        buf_put_slice(out, edits[i].text);
        at = edits[i].end;
    }
    buf_put(out, src.ptr + at, src.len - at);
    return !out->full;
}
