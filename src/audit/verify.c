#include "audit/verify.h"

#include "audit/log_reader.h"
#include "audit/pack.h"
#include "audit/rings.h"
#include "audit/segment.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"
#include "wire/tape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct points { /* the checkpoints of a segment, in order */
    sqlite3_stmt *rows;
    struct chain_point next;
    bool more;
};

struct verify {
    struct audit_report *report;
    char *dir;
    struct crypto_signer *key;
    uint64_t *numbers;
    size_t count;
    struct chain_point head; /* as the head file says */
    bool head_seen;
    uint64_t seq; /* where the walk stands */
    unsigned char hash[CHAIN_HASH];
    unsigned char log_id[CHAIN_ID];
    struct segment_meta first; /* of the oldest segment that is there */
    bool retired;              /* a record says so of the one before it, and of no other end of it */
    uint64_t retired_seq;      /* up to where records say so */
    uint64_t begun_us;         /* wall clock */
    struct arena arena;
    struct map gates; /* by instance: started before we began, and no record says how they ended */
    struct map rings; /* by instance: those that could be read when we began */
    struct tape tape;
    char *room; /* for blocks */
};

static bool verify_bad(struct verify *v, uint64_t seq, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool verify_run(struct verify *v);
static bool verify_rings(struct verify *v);
static void verify_see_ring(void *ctx, const struct rings_one *ring);
static bool verify_segment(struct verify *v, uint64_t number);

void audit_verify(const char *home, const char *key_path, struct audit_report *ret_report) {
    *ret_report = (struct audit_report){0};
    struct verify v = {.report = ret_report};
    struct err err = {0};
    cleanup_free char *public = NULL;
    tape_init(&v.tape);
    map_init(&v.gates);
    map_init(&v.rings);
    arena_init(&v.arena);
    v.begun_us = clock_wall_us();
    audit_rings_count(home, &ret_report->rings);
    int rc = asprintf(&v.dir, "%s/audit", home) < 0 || asprintf(&public, "%s/audit.pub", home) < 0 ? -1 : 0;
    /* Rings and the head first: what is written while we read can only be newer. */
    if (rc == 0)
        audit_rings_each(v.dir, verify_see_ring, &v);
    int head = rc < 0 ? CHAIN_HEAD_UNREAD : audit_chain_head_read(v.dir, &v.head, &err);
    if (head == CHAIN_HEAD_UNREAD ||
        crypto_signer_read_public(key_path ? key_path : public, &v.key, &err) < 0 ||
        audit_segment_list(v.dir, &v.numbers, &v.count, &err) < 0) {
        ret_report->unreadable = true;
        snprintf(ret_report->text, sizeof(ret_report->text), "%.500s", err.text);
    } else {
        ret_report->sound = head == CHAIN_HEAD_READ && verify_run(&v) && verify_rings(&v);
        if (head != CHAIN_HEAD_READ)
            verify_bad(&v, 0, "the signed head is %s", head == CHAIN_HEAD_NONE ? "missing" : "damaged");
    }
    ret_report->last_seq = v.seq;
    hex_str(v.hash, CHAIN_HASH, ret_report->last_hash);
    tape_free(&v.tape);
    map_free(&v.gates);
    map_free(&v.rings);
    arena_free(&v.arena);
    crypto_signer_free(v.key);
    free(v.numbers);
    free(v.room);
    free(v.dir);
}

static bool verify_bad(struct verify *v, uint64_t seq, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    v->report->first_bad = seq;
    vsnprintf(v->report->text, sizeof(v->report->text), fmt, args);
    va_end(args);
    return false;
}

static bool verify_start(struct verify *v) {
    struct segment s;
    struct err err = {0};
    if (v->count == 0)
        return verify_bad(v, v->head.seq, "the log has no segments, but record %" PRIu64 " was signed",
                          v->head.seq);
    if (audit_segment_open(&s, v->dir, v->numbers[0], SEGMENT_READ, &err) < 0)
        return verify_bad(v, v->numbers[0] == 1, "%.400s", err.text);
    v->first = s.meta;
    audit_segment_close(&s);
    v->seq = v->first.base_seq;
    memcpy(v->hash, v->first.base_hash, CHAIN_HASH);
    memcpy(v->log_id, v->first.log_id, CHAIN_ID);
    v->report->first_seq = v->seq + 1;
    static const unsigned char zero[CHAIN_HASH];
    if (v->numbers[0] == 1 && (v->seq != 0 || memcmp(v->hash, zero, CHAIN_HASH) != 0))
        return verify_bad(v, 1, "the first segment does not begin the chain");
    if (memcmp(v->log_id, v->head.log_id, CHAIN_ID) != 0)
        return verify_bad(v, v->seq + 1, "the signed head belongs to another log");
    if (!audit_chain_check(v->key, &v->head))
        return verify_bad(v, 0, "the signature of the head is not by this key");
    v->head_seen = v->head.seq == 0 && v->seq == 0; /* signed before the first record */
    return true;
}

static bool verify_end(struct verify *v) {
    if (!v->head_seen)
        return verify_bad(v, v->seq + 1,
                          "record %" PRIu64 " and all up to the signed %" PRIu64 " are missing", v->seq + 1,
                          v->head.seq);
    if (v->numbers[0] == 1)
        return true;
    if (!v->retired)
        return verify_bad(v, v->retired_seq + 1,
                          "records %" PRIu64 " to %" PRIu64
                          " are gone, and no record says that they were retired",
                          v->retired_seq + 1, v->first.base_seq);
    v->report->retired = v->numbers[0] - 1;
    return true;
}

static bool verify_run(struct verify *v) {
    if (!verify_start(v))
        return false;
    for (size_t i = 0; i < v->count; i++) {
        if (v->numbers[i] != v->numbers[0] + i)
            return verify_bad(v, v->seq + 1, "segment %" PRIu64 " is missing", v->numbers[0] + i);
        if (!verify_segment(v, v->numbers[i]))
            return false;
        v->report->segments++;
    }
    return verify_end(v);
}

/* ---- one segment ---- */

static sqlite3_stmt *verify_prepare(struct segment *s, const char *sql) {
    sqlite3_stmt *stmt = NULL;
    return sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) == SQLITE_OK ? stmt : NULL;
}

/* The next checkpoint of this segment; false at the end. */
static bool verify_next_point(struct verify *v, sqlite3_stmt *points, struct chain_point *ret_point) {
    if (sqlite3_step(points) != SQLITE_ROW)
        return false;
    *ret_point = (struct chain_point){.seq = (uint64_t)sqlite3_column_int64(points, 0),
                                      .time_ms = (uint64_t)sqlite3_column_int64(points, 2)};
    memcpy(ret_point->log_id, v->log_id, CHAIN_ID);
    if (sqlite3_column_bytes(points, 1) == CHAIN_HASH)
        memcpy(ret_point->hash, sqlite3_column_blob(points, 1), CHAIN_HASH);
    if (sqlite3_column_bytes(points, 3) == CHAIN_SIGNATURE)
        memcpy(ret_point->signature, sqlite3_column_blob(points, 3), CHAIN_SIGNATURE);
    return true;
}

/* Between this record and the end of the file that it speaks of, a gate may have ended: then the file is
 * still there, and so are others that such records speak of. */
static void verify_note_retired(struct verify *v, const struct audit_record *r) {
    unsigned char last_hash[CHAIN_HASH];
    int64_t segment = 0, last = 0;
    if (tape_parse(&v->tape, r->text[AUDIT_TEXT], NULL) != TAPE_OK || !tape_is(&v->tape, 0, TAPE_OBJECT))
        return;
    uint32_t hash = tape_get_str(&v->tape, 0, "last_hash");
    uint32_t number = tape_get_str(&v->tape, 0, "segment"), seq = tape_get_str(&v->tape, 0, "last_seq");
    if (!hash || !number || !seq || !tape_int(&v->tape, number, &segment) ||
        !tape_int(&v->tape, seq, &last) || !tape_is(&v->tape, hash, TAPE_STRING))
        return;
    struct slice raw = tape_raw(&v->tape, hash);
    if (!hex_get(slice_of(raw.ptr + 1, raw.len - 2), last_hash, CHAIN_HASH))
        return;
    uint64_t last_seq = (uint64_t)last;
    if (last_seq < v->first.base_seq && last_seq > v->retired_seq)
        v->retired_seq = last_seq;
    v->retired |= (uint64_t)segment + 1 == v->numbers[0] && last_seq == v->first.base_seq &&
                  memcmp(last_hash, v->first.base_hash, CHAIN_HASH) == 0;
}

/* The instance that a record of another one speaks of; empty for none. */
static struct slice verify_named(struct slice text) {
    static const char *const marks[] = {" of instance ", "ring-"};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *at = memmem(text.ptr, text.len, marks[i], strlen(marks[i]));
        struct slice name = at ? slice_from(text, (size_t)(at - text.ptr) + strlen(marks[i])) : SLICE("");
        if (name.len >= RING_INSTANCE_LEN)
            return slice_upto(name, RING_INSTANCE_LEN);
    }
    return SLICE("");
}

static void verify_event(struct verify *v, const struct audit_record *r) {
    struct slice event = r->text[AUDIT_EVENT], instance = r->text[AUDIT_INSTANCE];
    bool gap = slice_is(event, "gap");
    if (slice_is(event, "retired"))
        verify_note_retired(v, r);
    else if (slice_is(event, "start") && r->number[AUDIT_TIME_US] < v->begun_us)
        map_put(&v->gates, arena_dup(&v->arena, instance), v);
    else if (slice_is(event, "stop"))
        map_remove(&v->gates, instance);
    else if (gap || slice_is(event, "recovered") || slice_is(event, "unread"))
        map_remove(&v->gates, verify_named(r->text[AUDIT_TEXT]));
    if (gap && v->report->gaps++ == 0)
        v->report->first_gap = v->seq;
}

static void verify_see_ring(void *ctx, const struct rings_one *ring) {
    struct verify *v = ctx;
    if (ring->state != RINGS_DAMAGED)
        map_put(&v->rings, arena_dup(&v->arena, slice_str(ring->instance)), v);
}

/* A gate that started and neither stopped nor was recovered has a ring. Without it, it is unknown which of
 * its last records are missing. */
static bool verify_rings(struct verify *v) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&v->gates, &at));)
        if (!map_get(&v->rings, e->key))
            return verify_bad(
                v, 0,
                "the ring of instance %.*s, which did not stop by itself, is gone or damaged: its "
                "last records may be missing",
                SLICE_FMT(e->key));
    if (v->report->rings.damaged)
        return verify_bad(v, 0, "a ring in `%.300s` is damaged: its records may be missing", v->dir);
    return true;
}

static bool verify_record(struct verify *v, const struct segment_frame *frame) {
    struct audit_record r;
    uint64_t seq = v->seq + 1;
    audit_chain_extend(v->hash, seq, frame->bytes);
    if (memcmp(v->hash, frame->tag, SEGMENT_TAG) != 0)
        return verify_bad(v, seq, "record %" PRIu64 " was changed, or one before it was replaced", seq);
    if (!audit_record_read(frame->bytes, &r))
        return verify_bad(v, seq, "record %" PRIu64 " is not a record", seq);
    v->seq = seq;
    v->report->records++;
    if (r.kind == AUDIT_KIND_EVENT && slice_is(r.text[AUDIT_EVENT], "broken"))
        return verify_bad(v, seq, "records were missing when record %" PRIu64 " was written: %.*s", seq,
                          SLICE_FMT(slice_upto(r.text[AUDIT_TEXT], 200)));
    if (r.kind == AUDIT_KIND_EVENT)
        verify_event(v, &r);
    return true;
}

static bool verify_point(struct verify *v, const struct chain_point *point) {
    if (memcmp(point->hash, v->hash, CHAIN_HASH) != 0)
        return verify_bad(v, v->seq, "record %" PRIu64 " is not the one that was signed", v->seq);
    if (!audit_chain_check(v->key, point))
        return verify_bad(v, v->seq, "the signature at record %" PRIu64 " is not by this key", v->seq);
    return true;
}

/* Signatures that speak of the record just read. */
static bool verify_points(struct verify *v, struct points *points) {
    if (v->seq == v->head.seq) {
        if (!verify_point(v, &v->head))
            return false;
        v->head_seen = true;
    }
    /* One of a record before this segment was signed by an instance that came just after the seal. */
    for (; points->more && points->next.seq <= v->seq;
         points->more = verify_next_point(v, points->rows, &points->next)) {
        if (points->next.seq == v->seq && !verify_point(v, &points->next))
            return false;
        v->report->signed_seq = points->next.seq;
        v->report->checkpoints++;
    }
    return true;
}

static bool verify_block(struct verify *v, sqlite3_stmt *row, struct points *points) {
    uint64_t first = (uint64_t)sqlite3_column_int64(row, 0), count = (uint64_t)sqlite3_column_int64(row, 1);
    struct slice hash = audit_segment_column(row, 2);
    struct slice body = audit_unpack(audit_segment_column(row, 3), &v->room);
    struct segment_frame frame;
    if (first != v->seq + 1)
        return verify_bad(v, v->seq + 1, "record %" PRIu64 " is missing", v->seq + 1);
    while (audit_segment_frame_next(&body, &frame))
        if (!verify_record(v, &frame) || !verify_points(v, points))
            return false;
    if (body.len != 0)
        return verify_bad(v, v->seq + 1, "record %" PRIu64 " was changed: it has no sound length",
                          v->seq + 1);
    if (v->seq + 1 != first + count)
        return verify_bad(v, v->seq + 1, "record %" PRIu64 " is missing", v->seq + 1);
    if (hash.len != CHAIN_HASH || memcmp(hash.ptr, v->hash, CHAIN_HASH) != 0)
        return verify_bad(v, v->seq, "the hash of record %" PRIu64 " was changed", v->seq);
    return true;
}

static bool verify_records(struct verify *v, sqlite3_stmt *rows, sqlite3_stmt *point_rows) {
    struct points points = {.rows = point_rows};
    points.more = verify_next_point(v, point_rows, &points.next);
    while (sqlite3_step(rows) == SQLITE_ROW)
        if (!verify_block(v, rows, &points))
            return false;
    if (points.more)
        return verify_bad(v, v->seq + 1,
                          "record %" PRIu64 " and all up to the signed %" PRIu64 " are missing", v->seq + 1,
                          points.next.seq);
    return true;
}

static bool verify_close(struct verify *v, struct segment *s, sqlite3_stmt *head, bool last) {
    if (sqlite3_step(head) != SQLITE_ROW || sqlite3_column_bytes(head, 1) != CHAIN_HASH)
        return verify_bad(v, v->seq + 1, "segment %" PRIu64 ": its head is gone", s->meta.number);
    uint64_t seq = (uint64_t)sqlite3_column_int64(head, 0);
    if (seq > v->seq)
        return verify_bad(v, v->seq + 1, "record %" PRIu64 " and all up to %" PRIu64 " are missing",
                          v->seq + 1, seq);
    if (seq < v->seq || memcmp(sqlite3_column_blob(head, 1), v->hash, CHAIN_HASH) != 0)
        return verify_bad(v, seq + 1, "record %" PRIu64 " was added behind the head", seq + 1);
    if (!last && !s->meta.sealed)
        return verify_bad(v, v->seq + 1, "segment %" PRIu64 " is not complete, but a later one is there",
                          s->meta.number);
    return true;
}

static bool verify_walk(struct verify *v, struct segment *s, bool last) {
    sqlite3_stmt *rows = audit_segment_blocks(s, 0, 0, false);
    sqlite3_stmt *points =
        verify_prepare(s, "SELECT seq,hash,time_ms,signature FROM checkpoints ORDER BY seq");
    sqlite3_stmt *head = verify_prepare(s, "SELECT seq,hash FROM head");
    bool good = rows && points && head;
    if (!good)
        verify_bad(v, v->seq + 1, "%.400s", sqlite3_errmsg(s->db));
    good = good && verify_records(v, rows, points);
    good = good && verify_close(v, s, head, last);
    sqlite3_finalize(head);
    sqlite3_finalize(points);
    if (sqlite3_finalize(rows) != SQLITE_OK && good)
        good = verify_bad(v, v->seq + 1, "record %" PRIu64 " cannot be read: %.300s", v->seq + 1,
                          sqlite3_errmsg(s->db));
    return good;
}

static bool verify_segment(struct verify *v, uint64_t number) {
    struct segment s;
    struct err err = {0};
    bool last = number == v->numbers[v->count - 1];
    if (last && audit_segment_is_blank(v->dir, number))
        return true; /* just being made */
    if (audit_segment_open(&s, v->dir, number, SEGMENT_READ, &err) < 0)
        return verify_bad(v, v->seq + 1, "%.400s", err.text);
    bool good = audit_segment_exec(&s, "BEGIN", NULL) == 0;
    if (good && (s.meta.number != number || memcmp(s.meta.log_id, v->log_id, CHAIN_ID) != 0 ||
                 s.meta.base_seq != v->seq || memcmp(s.meta.base_hash, v->hash, CHAIN_HASH) != 0))
        good = verify_bad(v, v->seq + 1, "segment %" PRIu64 " does not follow the one before it", number);
    good = good && verify_walk(v, &s, last);
    audit_segment_close(&s);
    return good;
}
