#include "audit/proof.h"

#include "audit/pack.h"
#include "audit/segment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void audit_proof_free(struct audit_proof *p) { free(p->room); }

bool audit_proof_bad(struct audit_proof *p, uint64_t seq, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    p->first_bad = seq;
    vsnprintf(p->text, sizeof(p->text), fmt, args);
    va_end(args);
    return false;
}

void audit_proof_begin_points(struct audit_proof *p) { p->more_points = p->next_point(p->ctx, &p->point); }

static bool proof_record(struct audit_proof *p, const struct segment_frame *frame) {
    struct audit_record r;
    uint64_t seq = p->seq + 1;
    audit_chain_extend(p->hash, seq, frame->bytes);
    if (memcmp(p->hash, frame->tag, SEGMENT_TAG) != 0)
        return audit_proof_bad(p, seq, "record %" PRIu64 " was changed, or one before it was replaced", seq);
    if (!audit_record_read(frame->bytes, &r))
        return audit_proof_bad(p, seq, "record %" PRIu64 " is not a record", seq);
    p->seq = seq;
    p->records++;
    if (r.kind == AUDIT_KIND_EVENT && slice_is(r.text[AUDIT_EVENT], "broken"))
        return audit_proof_bad(p, seq, "records were missing when record %" PRIu64 " was written: %.*s", seq,
                               SLICE_FMT(slice_upto(r.text[AUDIT_TEXT], 200)));
    if (r.kind == AUDIT_KIND_EVENT)
        p->event(p->ctx, &r);
    return true;
}

static bool proof_point(struct audit_proof *p, const struct chain_point *point) {
    if (memcmp(point->hash, p->hash, CHAIN_HASH) != 0)
        return audit_proof_bad(p, p->seq, "record %" PRIu64 " is not the one that was signed", p->seq);
    if (!audit_chain_check(p->key, point))
        return audit_proof_bad(p, p->seq, "the signature at record %" PRIu64 " is not by this key", p->seq);
    return true;
}

/* Checks the signatures of the record just read. */
static bool proof_points(struct audit_proof *p) {
    if (p->seq == p->head.seq) {
        if (!proof_point(p, &p->head))
            return false;
        p->head_seen = true;
    }
    /* A signature of a record before this segment was made by an instance that started just after the
     * seal. */
    for (; p->more_points && p->point.seq <= p->seq; p->more_points = p->next_point(p->ctx, &p->point)) {
        if (p->point.seq == p->seq && !proof_point(p, &p->point))
            return false;
        p->signed_seq = p->point.seq;
        p->checkpoints++;
    }
    return true;
}

bool audit_proof_block(struct audit_proof *p, const struct audit_block *block) {
    struct slice body = audit_unpack(block->body, &p->room);
    struct segment_frame frame;
    if (block->first_seq != p->seq + 1)
        return audit_proof_bad(p, p->seq + 1, "record %" PRIu64 " is missing", p->seq + 1);
    while (audit_segment_frame_next(&body, &frame))
        if (!proof_record(p, &frame) || !proof_points(p))
            return false;
    if (body.len != 0)
        return audit_proof_bad(p, p->seq + 1, "record %" PRIu64 " was changed: it has no sound length",
                               p->seq + 1);
    if (p->seq + 1 != block->first_seq + block->count)
        return audit_proof_bad(p, p->seq + 1, "record %" PRIu64 " is missing", p->seq + 1);
    if (block->hash.len != CHAIN_HASH || memcmp(block->hash.ptr, p->hash, CHAIN_HASH) != 0)
        return audit_proof_bad(p, p->seq, "the hash of record %" PRIu64 " was changed", p->seq);
    return true;
}

bool audit_proof_end_points(struct audit_proof *p) {
    if (p->more_points)
        return audit_proof_bad(p, p->seq + 1,
                               "record %" PRIu64 " and all up to the signed %" PRIu64 " are missing",
                               p->seq + 1, p->point.seq);
    return true;
}
