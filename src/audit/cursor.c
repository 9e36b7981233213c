#include "audit/cursor.h"

#include "audit/pack.h"
#include "audit/segment.h"
#include "base/mem.h"

#define CURSOR_OUTCOMES_MAX 1000000 /* outcomes whose decision has not been found yet */
#define CURSOR_FRAMES_MAX (AUDIT_BLOCK_BYTES / SEGMENT_FRAME_HEAD)

struct audit_kept {
    uint64_t call;
    uint64_t seq;
    struct audit_record record;
    char *bytes;
};

static void kept_free(struct audit_kept *k) {
    if (k)
        free(k->bytes);
    free(k);
}

void audit_cursor_init(struct audit_cursor *c, struct audit_source *take_source,
                       const struct audit_filter *filter, bool back) {
    *c = (struct audit_cursor){.source = take_source, .filter = filter, .back = back};
    if (!back)
        c->from_seq = audit_filter_from(filter, take_source->chain);
    map_init(&c->outcomes);
}

void audit_cursor_free(struct audit_cursor *c) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&c->outcomes, &at));)
        kept_free(e->value);
    map_free(&c->outcomes);
    kept_free(c->held);
    c->source->close(c->source);
    free(c->frames);
    free(c->room);
}

static int damaged(uint64_t seq, struct err *err) {
    return err_set(err, "record %llu is damaged; `sallyport audit verify` has details",
                   (unsigned long long)seq);
}

static void add_frame(struct audit_cursor *c, struct slice bytes) {
    if (c->frame_count == c->frame_room) {
        c->frame_room = c->frame_room ? 2 * c->frame_room : 64;
        c->frames = mem_realloc(c->frames, c->frame_room * sizeof(*c->frames));
    }
    c->frames[c->frame_count++] = bytes;
}

/* The frames of the next block: 1, 0 at the end, or -1. */
static int next_block(struct audit_cursor *c, struct err *err) {
    struct audit_block block;
    struct segment_frame frame;
    int got = c->source->next(c->source, &block, err);
    if (got <= 0)
        return got;
    struct slice body = audit_unpack(block.body, &c->room);
    c->frame_count = 0;
    while (c->frame_count < CURSOR_FRAMES_MAX && audit_segment_frame_next(&body, &frame))
        add_frame(c, frame.bytes);
    c->first_seq = block.first_seq;
    c->at = c->back ? c->frame_count : 0;
    c->bad_seq = body.len ? block.first_seq + c->frame_count : 0;
    return c->bad_seq && c->back ? damaged(c->bad_seq, err) : 1;
}

static void show(struct audit_cursor *c, uint64_t seq) {
    c->entry = (struct audit_entry){
        .seq = seq, .record = &c->record, .chain = c->source->chain, .gate = c->source->gate};
    c->ready = true;
}

static void keep_outcome(struct audit_cursor *c, uint64_t seq, struct slice bytes) {
    if (c->outcomes.count >= CURSOR_OUTCOMES_MAX)
        return;
    struct audit_kept *k = mem_zalloc(sizeof(*k));
    k->bytes = mem_dup(bytes.ptr, bytes.len);
    k->seq = seq;
    audit_record_read(slice_of(k->bytes, bytes.len), &k->record);
    k->call = k->record.number[AUDIT_CALL];
    kept_free(map_put(&c->outcomes, slice_of((const char *)&k->call, sizeof(k->call)), k));
}

static void see_decision(struct audit_cursor *c, uint64_t seq) {
    const struct audit_record *r = &c->record;
    uint64_t call = r->number[AUDIT_CALL];
    struct audit_kept *k = map_remove(&c->outcomes, slice_of((const char *)&call, sizeof(call)));
    if (k && !slice_eq(k->record.text[AUDIT_INSTANCE], r->text[AUDIT_INSTANCE])) {
        kept_free(k);
        k = NULL;
    }
    struct slice status = k ? k->record.text[AUDIT_STATUS] : (struct slice){0};
    bool wanted = !c->filter->outcome.len || slice_eq(c->filter->outcome, status);
    kept_free(c->held); /* of a decision that was not shown */
    c->held = k;
    if (!wanted || !audit_filter_matches(c->filter, seq, r))
        return;
    show(c, seq);
    c->entry.outcome = k ? &k->record : NULL;
    c->entry.outcome_seq = k ? k->seq : 0;
}

/* Newest first; a decision comes with its outcome, and outcomes do not come by themselves. */
static void see_back(struct audit_cursor *c, uint64_t seq, struct slice bytes) {
    if (c->record.number[AUDIT_TIME_US] + AUDIT_ORDER_US < c->filter->since_us)
        c->ended = true; /* all earlier records are too */
    else if (c->record.kind == AUDIT_KIND_OUTCOME)
        keep_outcome(c, seq, bytes);
    else if (c->record.kind == AUDIT_KIND_DECISION)
        see_decision(c, seq);
    else if (audit_filter_matches(c->filter, seq, &c->record))
        show(c, seq);
}

int audit_cursor_next(struct audit_cursor *c, struct err *err) {
    kept_free(c->held);
    c->held = NULL;
    c->ready = false;
    while (!c->ready && !c->ended) {
        if (c->at == (c->back ? 0 : c->frame_count)) {
            if (c->bad_seq)
                return damaged(c->bad_seq, err);
            int got = next_block(c, err);
            if (got <= 0)
                return c->ended = true, got;
            continue;
        }
        size_t at = c->back ? --c->at : c->at++;
        uint64_t seq = c->first_seq + at;
        if (!audit_record_read(c->frames[at], &c->record))
            return damaged(seq, err);
        if (seq > c->passed)
            c->passed = seq;
        if (c->back)
            see_back(c, seq, c->frames[at]);
        else if (seq >= c->from_seq && audit_filter_matches(c->filter, seq, &c->record))
            show(c, seq);
    }
    return c->ready;
}
