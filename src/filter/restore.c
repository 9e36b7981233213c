/* Restoring: tokens in arguments are replaced by their values, if the rules allow it. */
#include "filter/chars.h"
#include "filter/detect.h"
#include "filter/disguise.h"
#include "filter/filter.h"
#include "filter/source.h"

#define DISGUISED_SCORE_MIN 90 /* formats with a prefix or a check */

struct back {
    struct filter_scope *s;
    const struct filter_rules *rules;
    struct filter_report *report;
    struct arena arena;
    struct edits edits;
    uint32_t truncated; /* number of lookups so far */
};

/* An origin is a server's name, or its name and a mark of what it is run with: NAME#1f3a… */
static bool origin_is(struct slice origin, struct slice name) {
    return slice_starts(origin, name) && (origin.len == name.len || origin.ptr[name.len] == '#');
}

static bool origin_allowed(const struct filter_rules *r, const struct filter_entry *e) {
    if (r->secrets_from_anywhere)
        return true;
    for (uint8_t i = 0; i < e->origin_count; i++) {
        if (slice_eq(e->origins[i], r->server))
            return true;
        for (size_t k = 0; k < r->secrets_from_count; k++)
            if (origin_is(e->origins[i], r->secrets_from[k]))
                return true;
    }
    return false;
}

static uint64_t bit_of(int kind) { return kind < PII_BUILTIN ? PII_BIT(kind) : PII_BIT_CUSTOM; }

static bool allowed(const struct back *b, int kind, const struct filter_entry *e) {
    if (kind == PII_LITERAL)
        return true;
    if (!(b->rules->kinds & bit_of(kind)))
        return false;
    return kind != PII_SECRET || origin_allowed(b->rules, e);
}

static bool look_up(struct back *b, const struct token_match *m, struct filter_entry *ret_entry) {
    const struct filter_vault *v = filter_scope_vault(b->s);
    const struct slice id = slice_of(m->id, m->id_len);
    if (!m->truncated)
        return v->ops->get(v->ctx, id, &b->arena, ret_entry);
    if (b->truncated++ >= FILTER_TRUNCATED_MAX)
        return false;
    return v->ops->prefix(v->ctx, id, &b->arena, ret_entry) == 1;
}

/* One token of a layer. `whole`: it is all of a JSON string, so a number can be restored as a number. */
static void token_back(struct back *b, const struct source_layer *l, const struct token_match *m,
                       const struct source_item *item) {
    struct filter_entry e;
    const int kind = pii_engine_kind_from(filter_scope_engine(b->s), slice_of(m->id, m->kind_len));
    if (m->invalid || !look_up(b, m, &e)) {
        b->report->unknown++;
        return;
    }
    if (kind == PII_LITERAL && b->rules->keep_literals)
        return;
    if (kind < 0 || !allowed(b, kind, &e)) {
        b->report->refused[kind < 0 ? 0 : kind]++;
        b->report->refused_total++;
        return;
    }
    b->report->restored++;
    b->report->restored_kinds |= bit_of(kind);
    if (e.number && item && !item->is_key && m->start == 0 && m->end == l->text.len) {
        uint32_t from, to;
        filter_source_place(item, &from, &to);
        filter_edits_add(&b->edits, from, to, e.value);
        return;
    }
    const struct slice text =
        e.raw.len && e.level == l->level ? e.raw : filter_source_escape(e.value, l->level, &b->arena);
    filter_edits_add(&b->edits, filter_source_offset(l, m->start), filter_source_offset(l, m->end), text);
}

static void layer_back(struct back *b, const struct source_layer *l, const struct source_item *item) {
    const struct pii_engine *e = filter_scope_engine(b->s);
    struct token_match m;
    uint32_t at = 0;
    while (at < l->text.len && filter_token_find(e, l->text, at, &m)) {
        token_back(b, l, &m, item);
        at = m.end > at ? m.end : at + 1;
    }
}

static bool each_item(void *ctx, const struct source_item *item) {
    if (!item->is_number)
        layer_back(ctx, &item->layer, item);
    return true;
}

static void back_free(struct back *b) {
    filter_edits_free(&b->edits);
    arena_free(&b->arena);
}

static enum filter_result finish(struct back *b, struct slice src, struct buf *out, bool fine) {
    enum filter_result result = fine ? FILTER_SAME : FILTER_FAILED;
    filter_edits_settle(&b->edits);
    if (fine && b->edits.count)
        result = filter_edits_apply(src, b->edits.at, b->edits.count, out) ? FILTER_CHANGED : FILTER_FAILED;
    back_free(b);
    return result;
}

enum filter_result filter_restore_text(struct filter_scope *s, const struct filter_rules *rules,
                                       struct slice text, struct buf *out, struct filter_report *report) {
    struct back b = {.s = s, .rules = rules, .report = report};
    arena_init(&b.arena);
    const struct source_layer layer = {.text = text};
    layer_back(&b, &layer, NULL);
    return finish(&b, text, out, text.len <= PII_TEXT_MAX);
}

enum filter_result filter_restore_json(struct filter_scope *s, const struct filter_rules *rules,
                                       const struct tape *t, uint32_t node, struct buf *out,
                                       struct filter_report *report) {
    struct back b = {.s = s, .rules = rules, .report = report};
    arena_init(&b.arena);
    const bool fine = filter_source_walk(t, node, &b.arena, each_item, &b);
    return finish(&b, t->src, out, fine);
}

enum filter_result filter_restore_edits(struct filter_scope *s, const struct filter_rules *rules,
                                        const struct tape *t, uint32_t node, struct arena *a,
                                        struct filter_edits *ret_edits, struct filter_report *report) {
    struct back b = {.s = s, .rules = rules, .report = report};
    arena_init(&b.arena);
    enum filter_result result = FILTER_FAILED;
    if (filter_source_walk(t, node, &b.arena, each_item, &b)) {
        result = b.edits.count ? FILTER_CHANGED : FILTER_SAME;
        if (b.edits.count)
            *ret_edits = filter_edits_keep(&b.edits, a);
    }
    back_free(&b);
    return result;
}

/* --- secrets in plain text --- */

struct watch {
    struct back b;
    struct pii_spans spans;
    const struct source_item *item; /* the text that is read in other ways; NULL: a list, at `place` */
    struct filter_place place;
    struct arena scratch; /* of the readings of one text */
    uint64_t work;        /* bytes of readings that may still be looked at */
};

/* Did the destination itself send this value, or does a rule allow it? */
static bool may_have(const struct watch *w, int kind, const struct filter_entry *e) {
    if (kind == PII_SECRET)
        return origin_allowed(w->b.rules, e);
    for (uint8_t i = 0; i < e->origin_count; i++)
        if (slice_eq(e->origins[i], w->b.rules->server))
            return true;
    return false;
}

static void place_first(struct filter_place *first, const struct source_item *item,
                        const struct pii_span *span) {
    const uint32_t start = filter_source_offset(&item->layer, span->start);
    if (first->end && first->start <= start)
        return;
    *first =
        (struct filter_place){start, filter_source_offset(&item->layer, span->end), span->kind, item->is_key};
}

static void watch_span(struct watch *w, const struct source_item *item, const struct pii_span *span) {
    const struct filter_rules *rules = w->b.rules;
    struct filter_report *report = w->b.report;
    const struct slice value = slice_of(item->layer.text.ptr + span->start, span->end - span->start);
    const struct slice name = slice_str(pii_engine_kind_name(filter_scope_engine(w->b.s), span->kind));
    struct filter_entry e;
    const bool known = filter_token_known(w->b.s, name, value, &w->b.arena, &e);
    if (known && may_have(w, span->kind, &e))
        return;
    if (rules->plain_refused & bit_of(span->kind) || (known && span->kind == PII_SECRET)) {
        report->refused[span->kind]++;
        report->refused_total++;
        place_first(&report->kept_back, item, span);
    } else if (rules->plain_noted & bit_of(span->kind)) {
        report->counts[span->kind]++;
        report->found++;
        place_first(&report->noted, item, span);
    }
}

/* A finding that exists only after decoding counts if its score is high enough. */
static bool is_disguised(const struct watch *w, const struct pii_span *span, bool exact) {
    const bool is_secret = span->kind == PII_SECRET && span->score >= DISGUISED_SCORE_MIN;
    return w->b.rules->plain_refused & bit_of(span->kind) && (exact || is_secret);
}

static bool watch_reading(void *ctx, struct slice reading, bool exact) {
    struct watch *w = ctx;
    struct filter_report *report = w->b.report;
    const struct pii_engine *engine = filter_scope_engine(w->b.s);
    const struct pii_options opt = {.kinds = w->b.rules->plain_refused, .depth = PII_DEPTH_MAX};
    const struct pii_context where = {0};
    cleanup_pii_spans struct pii_spans spans;
    pii_spans_init(&spans);
    pii_engine_scan(engine, &opt, reading, &where, &spans);
    for (uint32_t i = 0; i < spans.count; i++) {
        const struct pii_span *span = &spans.at[i];
        const struct slice value = slice_of(reading.ptr + span->start, span->end - span->start);
        struct filter_entry e;
        if (!is_disguised(w, span, exact) ||
            (filter_token_known(w->b.s, slice_str(pii_engine_kind_name(engine, span->kind)), value,
                                &w->b.arena, &e) &&
             may_have(w, span->kind, &e)))
            continue;
        report->refused[span->kind]++;
        report->refused_total++;
        if (w->item)
            w->place = (struct filter_place){
                filter_source_offset(&w->item->layer, 0),
                filter_source_offset(&w->item->layer, (uint32_t)w->item->layer.text.len), 0, w->item->is_key};
        if (!report->kept_back.end || w->place.start < report->kept_back.start) {
            report->kept_back = w->place;
            report->kept_back.kind = span->kind;
        }
        return true;
    }
    if (spans.full)
        w->work = 0;
    return false;
}

/* The undecoded text has no finding. */
static bool watch_disguises(struct watch *w, const struct source_item *item) {
    if (item->is_number)
        return true;
    w->item = item;
    const bool fine = filter_disguise_each(item->layer.text, &w->scratch, &w->work, watch_reading, w);
    arena_reset(&w->scratch);
    return fine;
}

static bool watch_lists(struct watch *w, const struct tape *t, uint32_t node) {
    w->item = NULL;
    for (uint32_t i = node; i < tape_node(t, node)->next && !w->b.report->refused_total; i++) {
        if ((!tape_is(t, i, TAPE_ARRAY) && !tape_is(t, i, TAPE_OBJECT)) || !tape_node(t, i)->count)
            continue;
        const uint32_t first = tape_node(t, i + 1 + tape_is(t, i, TAPE_OBJECT))->start;
        w->place = (struct filter_place){first, first + 1, 0, false};
        if (!filter_disguise_list(t, i, &w->scratch, &w->work, watch_reading, w))
            return false;
        arena_reset(&w->scratch);
    }
    return true;
}

static bool watch_item(void *ctx, const struct source_item *item) {
    struct watch *w = ctx;
    const uint32_t before = w->b.report->refused_total;
    const struct slice text = item->layer.text;
    const struct pii_options opt = {.kinds = PII_BIT(PII_SECRET) | w->b.rules->plain_refused |
                                             w->b.rules->plain_noted,
                                    .depth = PII_DEPTH_MAX,
                                    .tokens = w->b.rules->looks_for_tokens};
    const struct pii_context where = {.key = item->key};
    if (item->is_number && !filter_source_number_fits(text))
        return true;
    w->spans.count = 0;
    pii_engine_scan(filter_scope_engine(w->b.s), &opt, text, &where, &w->spans);
    for (uint32_t i = 0; i < w->spans.count; i++)
        if (!item->is_number || (w->spans.at[i].start == 0 && w->spans.at[i].end == text.len))
            watch_span(w, item, &w->spans.at[i]);
    bool fine = !w->spans.full;
    if (w->b.rules->plain_refused && w->b.report->refused_total == before)
        fine &= watch_disguises(w, item);
    return fine;
}

enum filter_result filter_restore_check(struct filter_scope *s, const struct filter_rules *rules,
                                        const struct tape *t, uint32_t node, struct filter_report *report) {
    struct watch w = {.b = {.s = s, .rules = rules, .report = report}};
    const uint32_t before = report->refused_total;
    const uint64_t work = PII_READINGS_MIN + PII_READINGS_FACTOR * tape_raw(t, node).len;
    arena_init(&w.b.arena);
    arena_init(&w.scratch);
    pii_spans_init(&w.spans);
    w.work = work;
    bool fine = filter_source_walk(t, node, &w.b.arena, watch_item, &w);
    if (fine && rules->plain_refused && report->refused_total == before)
        fine = watch_lists(&w, t, node);
    report->work += work - w.work;
    report->may_restore |= w.spans.has_token;
    pii_spans_free(&w.spans);
    arena_free(&w.scratch);
    back_free(&w.b);
    return !fine ? FILTER_FAILED : report->refused_total > before ? FILTER_BLOCKED : FILTER_SAME;
}
