#include "filter/spans.h"

#include <stdlib.h>

void pii_spans_init(struct pii_spans *s) { *s = (struct pii_spans){0}; }

void pii_spans_free(struct pii_spans *s) {
    free(s->at);
    *s = (struct pii_spans){0};
}

static int span_order(const void *a, const void *b) {
    const struct pii_span *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : (int)x->kind - (int)y->kind;
}

/* Of two overlapping spans the one that covers the other wins, otherwise the one with the higher score. */
static bool span_wins(const struct pii_span *a, const struct pii_span *b) {
    const uint32_t la = a->end - a->start, lb = b->end - b->start;
    if (a->start <= b->start && a->end >= b->end && la > lb)
        return a->score + 35 >= b->score;
    if (b->start <= a->start && b->end >= a->end && lb > la)
        return b->score + 35 < a->score;
    return a->score != b->score ? a->score > b->score : la >= lb;
}

void pii_spans_settle(struct pii_spans *s, uint32_t first) {
    bool sorted = true;
    for (uint32_t i = first + 1; i < s->count && sorted; i++)
        sorted = s->at[i].start >= s->at[i - 1].end;
    if (sorted)
        return;
    qsort(s->at + first, s->count - first, sizeof(*s->at), span_order);
    uint32_t n = first;
    for (uint32_t i = first; i < s->count; i++) {
        const struct pii_span span = s->at[i];
        if (n == first || span.start >= s->at[n - 1].end) {
            s->at[n++] = span;
            continue;
        }
        if ((s->at[n - 1].kind == PII_LITERAL) != (span.kind == PII_LITERAL)) {
            /* a value inside text that looks like a token: both are replaced, with the value's kind */
            if (s->at[n - 1].kind == PII_LITERAL) {
                s->at[n - 1].kind = span.kind;
                s->at[n - 1].sub = span.sub;
            }
            if (span.end > s->at[n - 1].end)
                s->at[n - 1].end = span.end;
            continue;
        }
        if (span_wins(&s->at[n - 1], &span))
            continue;
        n--;
        while (n > first &&
               s->at[n - 1].end > span.start) /* the winner may overlap more of the earlier ones */
            n--;
        s->at[n++] = span;
    }
    s->count = n;
}
