/* Finding and replacing: spans of the detector become tokens or marks, or the text is refused. */
#include "filter/filter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "filter/chars.h"
#include "filter/source.h"

static const char *const mode_names[] = {"off", "tokenize", "redact", "block", "report"};

/* A value identified by its key or column, which is replaced everywhere in the document. */
struct twin {
    struct slice value;
    unsigned kind;
};

struct loose {
    struct source_layer layer;
    struct loose *next;
};

/* One text during processing. */
struct pass {
    struct filter_scope *s;
    const struct filter_options *opt;
    struct pii_options scan;
    struct filter_report *report;
    struct arena arena;
    struct edits edits;
    struct pii_spans spans;
    struct pii_keys *keys; /* of the scope */
    struct slice src;
    bool blocked;
    bool failed;
    struct twin *twins; /* values whose kind is known only from their context */
    size_t twin_count;
    struct loose *loose; /* short texts in which such a value may occur again without context */
    /* the text of the content part before, for values cut in two */
    struct source_layer part;
    uint32_t part_array;
};

void filter_options_set(struct filter_options *opt, enum filter_mode mode) {
    for (size_t i = 0; i <= FILTER_MODE_CUSTOM; i++)
        opt->modes[i] = i < PII_BUILTIN && PII_OPTIONAL & PII_BIT(i) ? FILTER_OFF : mode;
}

int filter_mode_from(struct slice name) {
    for (size_t i = 0; i < ARRAY_LEN(mode_names); i++)
        if (slice_is(name, mode_names[i]))
            return (int)i;
    return -1;
}

static enum filter_mode mode_of(const struct filter_options *opt, unsigned kind) {
    return opt->modes[kind < PII_BUILTIN ? kind : FILTER_MODE_CUSTOM];
}

bool filter_wanted(const struct filter_options *opt) {
    for (size_t i = 0; i <= FILTER_MODE_CUSTOM; i++)
        if (opt->modes[i] != FILTER_OFF && i != PII_LITERAL)
            return true;
    return false;
}

static void pass_init(struct pass *p, struct filter_scope *s, const struct filter_options *opt,
                      struct slice src, struct filter_report *report) {
    *p = (struct pass){.s = s, .opt = opt, .src = src, .report = report};
    arena_init(&p->arena);
    pii_spans_init(&p->spans);
    p->scan.score_min = opt->score_min;
    p->scan.depth = opt->depth;
    for (size_t i = 0; i <= FILTER_MODE_CUSTOM; i++) {
        const enum filter_mode mode = opt->modes[i];
        if (mode == FILTER_OFF || i == PII_LITERAL)
            continue;
        p->scan.kinds |= i == FILTER_MODE_CUSTOM ? PII_BIT_CUSTOM : PII_BIT(i);
        p->scan.literals |= mode == FILTER_TOKENIZE || mode == FILTER_REDACT;
    }
    p->keys = filter_scope_keys(s, &p->scan);
}

static void pass_free(struct pass *p) {
    arena_free(&p->arena);
    filter_edits_free(&p->edits);
    pii_spans_free(&p->spans);
}

/* A token without brackets must be the only element to be read back: after a line break it could be the rest
 * of another one. */
static bool stands_alone(struct slice text, uint32_t start, uint32_t end) {
    static const struct slice before = {" \"',;()<>|", 10}, after = {" \t\r\n\"',;()<>|", 14};
    if (start > 0 && !memchr(before.ptr, text.ptr[start - 1], before.len))
        return false;
    if (start > 1 && text.ptr[start - 1] == ' ' && ch_space(text.ptr[start - 2]))
        return false;
    return end == text.len || memchr(after.ptr, text.ptr[end], after.len);
}

static struct slice mint(struct pass *p, unsigned kind, struct slice value, struct slice raw, uint8_t level,
                         bool number, bool preserve) {
    struct token_text token;
    struct filter_entry e = {
        .kind = slice_str(pii_engine_kind_name(filter_scope_engine(p->s), kind)),
        .value = value,
        .raw = slice_eq(value, raw) ? (struct slice){0} : raw,
        .level = level,
        .number = number,
    };
    if (p->opt->origin.len) {
        e.origins[0] = p->opt->origin;
        e.origin_count = 1;
    }
    if (!filter_token_mint(p->s, &e, preserve, &token)) {
        p->failed = true;
        return (struct slice){0};
    }
    return arena_dup(&p->arena, slice_of(token.text, token.len));
}

/* The value may be restored for its server. If the vault is full, the value is not stored and is refused like
 * any other. */
static void remember_value(struct pass *p, unsigned kind, struct slice value, uint8_t level, bool number) {
    const bool failed = p->failed;
    if (p->opt->remember)
        mint(p, kind, value, value, level, number, false);
    p->failed = failed;
}

/* Is this, complete and unchanged, a token that was issued here? */
static bool known_token(struct pass *p, struct slice text) {
    const struct filter_vault *v = filter_scope_vault(p->s);
    struct token_match m;
    struct filter_entry e;
    return p->opt->known && filter_token_find(filter_scope_engine(p->s), text, 0, &m) && m.start == 0 &&
           m.end == text.len && !m.truncated && !m.invalid &&
           v->ops->get(v->ctx, slice_of(m.id, m.id_len), &p->arena, &e);
}

/* Replaces text[start..end) of a layer according to the mode of the kind. */
static void replace(struct pass *p, const struct source_layer *l, uint32_t start, uint32_t end,
                    unsigned kind) {
    if (kind == PII_LITERAL && known_token(p, slice_of(l->text.ptr + start, end - start)))
        return;
    const uint32_t from = filter_source_offset(l, start), to = filter_source_offset(l, end);
    const struct slice value = slice_of(l->text.ptr + start, end - start);
    const enum filter_mode mode = kind == PII_LITERAL ? FILTER_TOKENIZE : mode_of(p->opt, kind);
    if (kind == PII_LITERAL) {
        p->report->literals++;
    } else {
        p->report->counts[kind]++;
        p->report->found++;
    }
    if (mode == FILTER_BLOCK)
        p->blocked = true;
    else if (mode == FILTER_REDACT)
        filter_edits_add(
            &p->edits, from, to,
            arena_printf(&p->arena, "[%s]", pii_engine_kind_name(filter_scope_engine(p->s), kind)));
    else if (mode == FILTER_TOKENIZE)
        filter_edits_add(&p->edits, from, to,
                         mint(p, kind, value, slice_of(p->src.ptr + from, to - from), l->level, false,
                              p->opt->preserve && stands_alone(l->text, start, end)));
    else if (mode == FILTER_REPORT)
        remember_value(p, kind, value, l->level, false);
}

static bool by_context(unsigned kind) {
    return kind == PII_DATE_OF_BIRTH || kind == PII_PHONE || kind == PII_CREDIT_CARD || kind == PII_SSN ||
           kind == PII_NATIONAL_ID || kind == PII_SECRET;
}

static void remember(struct pass *p, const struct source_item *item) {
    const struct slice text = item->layer.text;
    for (uint32_t i = 0; i < p->spans.count; i++) {
        const struct pii_span *span = &p->spans.at[i];
        if (!by_context(span->kind) || p->twin_count == FILTER_TWINS_MAX || span->end - span->start < 6)
            continue;
        if (!p->twins)
            p->twins = arena_alloc(&p->arena, FILTER_TWINS_MAX * sizeof(*p->twins));
        p->twins[p->twin_count++] =
            (struct twin){slice_of(text.ptr + span->start, span->end - span->start), span->kind};
    }
    if (text.len >= 6 && text.len <= FILTER_TWIN_TEXT_MAX && p->spans.count == 0) {
        struct loose *l = arena_new(&p->arena, struct loose);
        *l = (struct loose){item->layer, p->loose};
        p->loose = l;
    }
}

/* The same value again without context that shows its kind: structuredContent beside its text. */
static void replace_twins(struct pass *p) {
    size_t budget = FILTER_TWIN_CHECKS_MAX;
    for (const struct loose *l = p->loose; l && p->twin_count; l = l->next) {
        for (size_t i = 0; i < p->twin_count && budget; i++, budget--) {
            const struct slice v = p->twins[i].value, text = l->layer.text;
            const char *hit = text.len < v.len ? NULL : memmem(text.ptr, text.len, v.ptr, v.len);
            if (!hit)
                continue;
            const uint32_t at = (uint32_t)(hit - text.ptr), end = at + (uint32_t)v.len;
            if ((at > 0 && ch_alnum(text.ptr[at - 1])) || (end < text.len && ch_alnum(text.ptr[end])))
                continue;
            replace(p, &l->layer, at, end, p->twins[i].kind);
            break;
        }
    }
}

static bool worth(struct pass *p) { return !p->failed && !p->spans.full; }

static bool scan_layer(struct pass *p, const struct source_layer *l, struct slice key) {
    const struct pii_context ctx = {.key = key, .keys = p->keys};
    p->spans.count = 0;
    pii_engine_scan(filter_scope_engine(p->s), &p->scan, l->text, &ctx, &p->spans);
    return !p->spans.full;
}

/* A JSON number becomes a string with a token; its quotes are escaped according to its nesting. */
static void number_item(struct pass *p, const struct source_item *item) {
    const struct slice text = item->layer.text;
    if (!filter_source_number_fits(text) || !scan_layer(p, &item->layer, item->key))
        return;
    if (p->spans.count != 1 || p->spans.at[0].start != 0 || p->spans.at[0].end != text.len)
        return;
    const unsigned kind = p->spans.at[0].kind;
    const enum filter_mode mode = mode_of(p->opt, kind);
    p->report->counts[kind]++;
    p->report->found++;
    if (mode == FILTER_BLOCK)
        p->blocked = true;
    if (mode == FILTER_REPORT)
        remember_value(p, kind, text, item->layer.level, true);
    if (mode != FILTER_TOKENIZE && mode != FILTER_REDACT)
        return;
    const struct slice mark =
        mode == FILTER_TOKENIZE
            ? mint(p, kind, text, text, item->layer.level, true, false)
            : arena_printf(&p->arena, "[%s]", pii_engine_kind_name(filter_scope_engine(p->s), kind));
    const struct slice quoted = arena_printf(&p->arena, "\"%.*s\"", SLICE_FMT(mark));
    uint32_t from, to;
    filter_source_place(item, &from, &to);
    filter_edits_add(&p->edits, from, to, filter_source_escape(quoted, item->layer.level, &p->arena));
}

/* Kinds with a checksum or prefix, so that two adjacent texts do not form one by accident. */
static bool joins(unsigned kind) {
    return kind == PII_EMAIL || kind == PII_CREDIT_CARD || kind == PII_IBAN || kind == PII_SECRET ||
           kind == PII_SSN;
}

/* A value that starts at the end of the previous content part and continues in this one: returns how much of
 * this text belongs to it. Its first half is replaced here. */
static uint32_t join_parts(struct pass *p, const struct source_layer *now, unsigned *ret_kind) {
    const struct source_layer *old = &p->part;
    const uint32_t tail = old->text.len < FILTER_JOIN_MAX ? (uint32_t)old->text.len : FILTER_JOIN_MAX;
    const uint32_t head = now->text.len < FILTER_JOIN_MAX ? (uint32_t)now->text.len : FILTER_JOIN_MAX;
    if (!tail || !head)
        return 0;
    char *both = arena_alloc(&p->arena, tail + head);
    memcpy(both, old->text.ptr + old->text.len - tail, tail);
    memcpy(both + tail, now->text.ptr, head);
    const struct source_layer joined = {.text = slice_of(both, tail + head)};
    if (!scan_layer(p, &joined, (struct slice){0}))
        return 0;
    for (uint32_t i = 0; i < p->spans.count; i++) {
        const struct pii_span span = p->spans.at[i];
        if (span.start >= tail || span.end <= tail || !joins(span.kind))
            continue;
        const uint32_t first = (uint32_t)old->text.len - tail + span.start;
        const uint32_t from = filter_source_offset(old, first),
                       to = filter_source_offset(old, (uint32_t)old->text.len);
        while (p->edits.count && p->edits.at[p->edits.count - 1].end > from &&
               p->edits.at[p->edits.count - 1].start < to)
            p->edits.count--;
        replace(p, old, first, (uint32_t)old->text.len, span.kind);
        *ret_kind = span.kind;
        return span.end - tail;
    }
    return 0;
}

static bool scan_item(struct pass *p, const struct source_item *item) {
    const struct slice text = item->layer.text;
    const struct pii_key *known = item->is_key ? pii_keys_at(p->keys, text) : NULL;
    if (known && known->clean) {
        p->spans.count = 0;
        return true;
    }
    if (!scan_layer(p, &item->layer, item->key))
        return false;
    struct pii_key *key = item->is_key && !p->spans.count ? pii_keys_at(p->keys, text) : NULL;
    if (key)
        key->clean = true;
    return true;
}

static bool each_item(void *ctx, const struct source_item *item) {
    struct pass *p = ctx;
    if (item->is_number) {
        number_item(p, item);
        return worth(p);
    }
    uint32_t joined = 0;
    unsigned kind = 0;
    const bool part = !item->is_key && item->array && slice_is(item->key, "text");
    if (part && p->part_array == item->array && p->part.level == item->layer.level)
        joined = join_parts(p, &item->layer, &kind);
    if (joined)
        replace(p, &item->layer, 0, joined, kind);
    if (!scan_item(p, item))
        return false;
    for (uint32_t i = 0; i < p->spans.count && worth(p); i++)
        if (p->spans.at[i].start >= joined)
            replace(p, &item->layer, p->spans.at[i].start, p->spans.at[i].end, p->spans.at[i].kind);
    remember(p, item);
    if (part) {
        p->part = item->layer;
        p->part_array = item->array;
    }
    return worth(p);
}

static enum filter_result pass_result(const struct pass *p) {
    enum filter_result result = FILTER_SAME;
    if (p->failed || p->spans.full)
        result = FILTER_FAILED;
    else if (p->blocked)
        result = FILTER_BLOCKED;
    else if (p->edits.count)
        result = FILTER_CHANGED;
    return result;
}

static enum filter_result pass_finish(struct pass *p, struct buf *out) {
    enum filter_result result = pass_result(p);
    filter_edits_settle(&p->edits);
    if (result == FILTER_CHANGED && !filter_edits_apply(p->src, p->edits.at, p->edits.count, out))
        result = FILTER_FAILED;
    pass_free(p);
    return result;
}

enum filter_result filter_text(struct filter_scope *s, const struct filter_options *opt, struct slice text,
                               struct slice key, struct buf *out, struct filter_report *report) {
    struct pass p;
    pass_init(&p, s, opt, text, report);
    const struct source_layer layer = {.text = text};
    if (!scan_layer(&p, &layer, key))
        p.failed = true;
    for (uint32_t i = 0; i < p.spans.count && worth(&p); i++)
        replace(&p, &layer, p.spans.at[i].start, p.spans.at[i].end, p.spans.at[i].kind);
    return pass_finish(&p, out);
}

static void pass_json(struct pass *p, const struct tape *t, uint32_t node) {
    if (!filter_source_walk(t, node, &p->arena, each_item, p))
        p->failed = true;
    else
        replace_twins(p);
}

enum filter_result filter_json(struct filter_scope *s, const struct filter_options *opt, const struct tape *t,
                               uint32_t node, struct buf *out, struct filter_report *report) {
    struct pass p;
    pass_init(&p, s, opt, t->src, report);
    pass_json(&p, t, node);
    return pass_finish(&p, out);
}

enum filter_result filter_json_edits(struct filter_scope *s, const struct filter_options *opt,
                                     const struct tape *t, uint32_t node, struct arena *a,
                                     struct filter_edits *ret_edits, struct filter_report *report) {
    struct pass p;
    pass_init(&p, s, opt, t->src, report);
    pass_json(&p, t, node);
    const enum filter_result result = pass_result(&p);
    if (result == FILTER_CHANGED)
        *ret_edits = filter_edits_keep(&p.edits, a);
    pass_free(&p);
    return result;
}
