#include "audit/entry.h"

#include "base/mem.h"

/* ---- matching ---- */

static bool text_matches(struct slice want, struct slice have) {
    if (want.len > 0 && want.ptr[want.len - 1] == '*')
        return slice_starts(have, slice_upto(want, want.len - 1));
    return slice_eq(want, have);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c; }

static bool contains(struct slice have, struct slice word) {
    for (size_t at = 0; word.len <= have.len && at <= have.len - word.len; at++) {
        size_t i = 0;
        while (i < word.len && lower(have.ptr[at + i]) == lower(word.ptr[i]))
            i++;
        if (i == word.len)
            return true;
    }
    return false;
}

static bool search_matches(struct slice search, const struct audit_record *r) {
    while (search.len > 0) {
        struct slice word;
        slice_cut(&search, ' ', &word);
        bool found = word.len == 0;
        for (size_t i = AUDIT_EVENT; i < AUDIT_TEXTS && !found; i++)
            found = r->text[i].len >= word.len && contains(r->text[i], word);
        if (!found)
            return false;
    }
    return true;
}

/* `agent1` finds `grant:agent1`: people know the name, not the kind of principal. */
static bool identity_matches(struct slice want, struct slice identity) {
    struct slice kind;
    return slice_find(want, ':') < 0 && slice_cut(&identity, ':', &kind) && text_matches(want, identity);
}

bool audit_filter_matches(const struct audit_filter *f, uint64_t seq, const struct audit_record *r) {
    uint64_t time_us = r->number[AUDIT_TIME_US];
    if ((f->kinds && !(f->kinds & 1u << r->kind)) || (f->from_seq && seq < f->from_seq) ||
        (f->to_seq && seq > f->to_seq) || (f->since_us && time_us < f->since_us) ||
        (f->until_us && time_us > f->until_us) || (f->shadowed && !r->text[AUDIT_SHADOW].len) ||
        (f->parent && r->number[AUDIT_PARENT] != f->parent && r->number[AUDIT_CALL] != f->parent))
        return false;
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        if (f->text[i].len > 0 && !text_matches(f->text[i], r->text[i]) &&
            !(i == AUDIT_IDENTITY && identity_matches(f->text[i], r->text[i])))
            return false;
    return search_matches(f->search, r);
}

/* ---- marks ---- */

void audit_marks_free(struct audit_marks *m) {
    free(m->items);
    *m = (struct audit_marks){0};
}

static struct audit_mark *mark_of(const struct audit_marks *m, uint64_t chain) {
    for (size_t i = 0; i < m->count; i++)
        if (m->items[i].chain == chain)
            return &m->items[i];
    return NULL;
}

static uint64_t marks_get(const struct audit_marks *m, uint64_t chain) {
    const struct audit_mark *mark = mark_of(m, chain);
    return mark ? mark->next_seq : 0;
}

void audit_marks_set(struct audit_marks *m, uint64_t chain, uint64_t next_seq) {
    struct audit_mark *mark = mark_of(m, chain);
    if (!mark) {
        m->items = mem_realloc(m->items, (m->count + 1) * sizeof(*m->items));
        mark = &m->items[m->count++];
    }
    *mark = (struct audit_mark){chain, next_seq};
}

uint64_t audit_filter_from(const struct audit_filter *f, uint64_t chain) {
    uint64_t mark = f->marks ? marks_get(f->marks, chain) : 0;
    return mark > f->from_seq ? mark : f->from_seq;
}
