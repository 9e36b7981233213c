#include "wire/splice.h"

#include "wire/emit.h"

void splice_init(struct splice *s, struct slice src, struct arena *a) {
    *s = (struct splice){.src = src, .arena = a};
}

static bool splice_grow(struct splice *s) {
    if (s->count < s->cap)
        return true;
    if (s->cap >= SPLICE_EDITS_MAX)
        return false;
    uint32_t cap = s->cap ? s->cap * 2 : 8;
    struct splice_edit *edits = arena_alloc(s->arena, cap * sizeof(*edits));
    if (s->count)
        memcpy(edits, s->edits, s->count * sizeof(*edits));
    s->edits = edits;
    s->cap = cap;
    return true;
}

bool splice_replace(struct splice *s, uint32_t start, uint32_t end, struct slice text) {
    if (start > end || end > s->src.len || !splice_grow(s))
        return false;
    uint32_t at = s->count;
    /* Insertions at one offset keep their order and precede a replacement there. */
    while (at > 0 && (s->edits[at - 1].start > start ||
                      (start == end && s->edits[at - 1].start == start && s->edits[at - 1].end > start)))
        at--;
    if (at > 0 && s->edits[at - 1].end > start)
        return false;
    if (at < s->count && s->edits[at].start < end)
        return false;
    memmove(s->edits + at + 1, s->edits + at, (s->count - at) * sizeof(*s->edits));
    s->edits[at] = (struct splice_edit){start, end, text};
    s->count++;
    return true;
}

bool splice_merge(struct splice *s, const struct splice_edit *edits, size_t count) {
    const size_t total = s->count + count;
    if (!count || total > UINT32_MAX / 2)
        return !count;
    struct splice_edit *all = arena_alloc(s->arena, total * sizeof(*all));
    size_t mine = 0, theirs = 0;
    for (size_t i = 0; i < total; i++) {
        const bool take = mine == s->count || (theirs < count && edits[theirs].start < s->edits[mine].start);
        all[i] = take ? edits[theirs++] : s->edits[mine++];
        if (all[i].end > s->src.len || (i > 0 && all[i].start < all[i - 1].end))
            return false;
    }
    s->edits = all;
    s->count = s->cap = (uint32_t)total;
    return true;
}

static uint32_t raw_start(const struct tape *t, uint32_t node) {
    return (uint32_t)(tape_raw(t, node).ptr - t->src.ptr);
}

static uint32_t raw_end(const struct tape *t, uint32_t node) {
    struct slice raw = tape_raw(t, node);
    return (uint32_t)(raw.ptr - t->src.ptr + raw.len);
}

bool splice_value(struct splice *s, const struct tape *t, uint32_t node, struct slice json) {
    return splice_replace(s, raw_start(t, node), raw_end(t, node), json);
}

bool splice_add_member(struct splice *s, const struct tape *t, uint32_t obj, struct slice key,
                       struct slice json) {
    struct buf text;
    buf_init(&text, key.len * 6 + json.len + 8);
    emit_quote(&text, key);
    buf_put_char(&text, ':');
    buf_put_slice(&text, json);
    if (tape_node(t, obj)->count)
        buf_put_char(&text, ',');
    struct slice kept = arena_dup(s->arena, buf_slice(&text));
    bool fits = !text.full;
    buf_free(&text);
    uint32_t at = tape_node(t, obj)->start + 1;
    return fits && splice_replace(s, at, at, kept);
}

/* Adjacent elements become one edit, so a list of any length can be filtered. */
bool splice_drop_elems(struct splice *s, const struct tape *t, uint32_t arr,
                       bool (*drop)(void *ctx, const struct tape *t, uint32_t elem), void *ctx) {
    uint32_t start = 0, end = 0, last_end = 0;
    bool kept_one = false, open = false;
    TAPE_FOR_ELEM(t, arr, i) {
        bool out = drop(ctx, t, i);
        if (out && !open) {
            start = kept_one ? last_end : raw_start(t, i); /* with the comma in front, where one was kept */
            open = true;
        } else if (!out && open) {
            if (!splice_replace(s, start, kept_one ? end : raw_start(t, i), (struct slice){0}))
                return false;
            open = false;
        }
        kept_one = kept_one || !out;
        end = last_end = raw_end(t, i);
    }
    return !open || splice_replace(s, start, end, (struct slice){0});
}

/* Each run of adjacent dropped members becomes one edit; added members precede those that stay. */
bool splice_edit_members(struct splice *s, const struct tape *t, uint32_t obj, const char *const *drop,
                         struct slice add) {
    uint32_t inside = tape_node(t, obj)->start + 1, end = inside + tape_node(t, obj)->len - 2;
    uint32_t first = 0, last_end = 0, run_end = 0;
    TAPE_FOR_MEMBER(t, obj, key) {
        if (tape_eq_any(t, key, drop)) {
            run_end = raw_end(t, key + 1);
            continue;
        }
        if (first && run_end > last_end && !splice_replace(s, last_end, run_end, (struct slice){0}))
            return false;
        if (!first)
            first = key;
        last_end = raw_end(t, key + 1);
    }
    if (!first)
        return splice_replace(s, inside, end, add);
    if (run_end > last_end && !splice_replace(s, last_end, run_end, (struct slice){0}))
        return false;
    uint32_t until = first > obj + 1 ? raw_start(t, first) : inside;
    if (add.len)
        return splice_replace(s, inside, until, add) && splice_replace(s, until, until, SLICE(","));
    return until == inside || splice_replace(s, inside, until, add);
}

bool splice_drop_members(struct splice *s, const struct tape *t, uint32_t obj, const char *const *keys) {
    return splice_edit_members(s, t, obj, keys, (struct slice){0});
}

size_t splice_len(const struct splice *s) {
    size_t len = s->src.len;
    for (uint32_t i = 0; i < s->count; i++)
        len += s->edits[i].text.len - (s->edits[i].end - s->edits[i].start);
    return len;
}

bool splice_pieces(const struct splice *s, bool (*piece)(void *ctx, struct slice bytes, bool borrowed_src),
                   void *ctx) {
    size_t at = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct splice_edit *e = &s->edits[i];
        if (e->start > at && !piece(ctx, slice_of(s->src.ptr + at, e->start - at), true))
            return false;
        if (e->text.len && !piece(ctx, e->text, false))
            return false;
        at = e->end;
    }
    return at == s->src.len || piece(ctx, slice_from(s->src, at), true);
}

static bool piece_to_buf(void *ctx, struct slice bytes, bool borrowed_src) {
    (void)borrowed_src;
    return buf_put_slice(ctx, bytes);
}

bool splice_write(const struct splice *s, struct buf *out) { return splice_pieces(s, piece_to_buf, out); }
