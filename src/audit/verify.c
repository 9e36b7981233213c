#include "audit/verify.h"

#include "audit/proof.h"
#include "audit/rings.h"
#include "audit/segment.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"
#include "wire/tape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define HEAD_GONE                                                                                            \
    "the signed head is missing: the log was deleted, or only its head; record %" PRIu64 " was signed"

struct verify {
    struct audit_report *report;
    char *dir;
    struct crypto_signer *key;
    uint64_t *numbers;
    size_t count;
    struct audit_proof proof;  /* its head is that of the head file */
    sqlite3_stmt *points;      /* the checkpoints of a segment, in order */
    struct segment_meta first; /* of the oldest segment that is there */
    bool retired;              /* a record says that the segments before `first` were retired */
    uint64_t retired_seq;      /* up to which records declare it */
    uint64_t begun_us;         /* wall clock */
    struct arena arena;
    struct map gates; /* by instance: started before the verification, and no record about their end */
    struct map rings; /* by instance: rings that were readable at the start */
    struct tape tape;
};

static bool verify_next_point(void *ctx, struct chain_point *ret_point);
static void verify_event(void *ctx, const struct audit_record *r);
static bool verify_run(struct verify *v);
static bool verify_rings(struct verify *v);
static void verify_see_ring(void *ctx, const struct rings_one *ring);
static bool verify_segment(struct verify *v, uint64_t number);

void audit_verify(const char *home, const char *key_path, struct audit_report *ret_report) {
    *ret_report = (struct audit_report){0};
    struct verify v = {.report = ret_report};
    v.proof.next_point = verify_next_point;
    v.proof.event = verify_event;
    v.proof.ctx = &v;
    struct err err = {0};
    cleanup_free char *public = NULL;
    tape_init(&v.tape);
    map_init(&v.gates);
    map_init(&v.rings);
    arena_init(&v.arena);
    v.begun_us = clock_wall_us();
    audit_rings_count(home, &ret_report->rings);
    int rc = asprintf(&v.dir, "%s/audit", home) < 0 || asprintf(&public, "%s/audit.pub", home) < 0 ? -1 : 0;
    /* Rings and the head first: records that are written during the verification can only be newer. */
    if (rc == 0)
        audit_rings_each(v.dir, verify_see_ring, &v);
    int head = rc < 0 ? CHAIN_HEAD_UNREAD : audit_chain_head_read(v.dir, &v.proof.head, &err);
    if (head == CHAIN_HEAD_NONE && audit_chain_promise_read(v.dir, &v.proof.head))
        audit_proof_bad(&v.proof, 0, HEAD_GONE, v.proof.head.seq);
    else if (head == CHAIN_HEAD_UNREAD ||
             crypto_signer_read_public(key_path ? key_path : public, &v.key, &err) < 0 ||
             audit_segment_list(v.dir, &v.numbers, &v.count, &err) < 0) {
        ret_report->unreadable = true;
        snprintf(ret_report->text, sizeof(ret_report->text), "%.500s", err.text);
    } else {
        ret_report->sound = head == CHAIN_HEAD_READ && verify_run(&v) && verify_rings(&v);
        if (head != CHAIN_HEAD_READ)
            audit_proof_bad(&v.proof, 0, "the signed head is %s",
                            head == CHAIN_HEAD_NONE ? "missing" : "damaged");
    }
    if (!ret_report->sound && !ret_report->unreadable) {
        ret_report->first_bad = v.proof.first_bad;
        memcpy(ret_report->text, v.proof.text, sizeof(ret_report->text));
    }
    ret_report->records = v.proof.records;
    ret_report->checkpoints = v.proof.checkpoints;
    ret_report->signed_seq = v.proof.signed_seq;
    ret_report->last_seq = v.proof.seq;
    hex_str(v.proof.hash, CHAIN_HASH, ret_report->last_hash);
    tape_free(&v.tape);
    map_free(&v.gates);
    map_free(&v.rings);
    arena_free(&v.arena);
    audit_proof_free(&v.proof);
    crypto_signer_free(v.key);
    free(v.numbers);
    free(v.dir);
}

int audit_verify_quick(const char *home, struct err *err) {
    cleanup_free char *dir = NULL;
    cleanup_free uint64_t *numbers = NULL;
    struct chain_point head;
    struct segment s;
    size_t count = 0;
    if (asprintf(&dir, "%s/audit", home) < 0)
        return err_set(err, "out of memory");
    enum chain_head got = audit_chain_head_read(dir, &head, err);
    /* Once more: a gate may have written both meanwhile. */
    if (got == CHAIN_HEAD_NONE && audit_chain_promise_read(dir, &head) &&
        (got = audit_chain_head_read(dir, &head, err)) == CHAIN_HEAD_NONE)
        return err_set(err, HEAD_GONE, head.seq);
    if (got == CHAIN_HEAD_UNREAD)
        return -1;
    if (got == CHAIN_HEAD_BAD)
        return err_set(err, "the signed head is damaged");
    if (access(dir, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (audit_segment_list(dir, &numbers, &count, err) < 0)
        return -1;
    if (count == 0)
        return got == CHAIN_HEAD_READ
                   ? err_set(err, "the log has no segments, but record %" PRIu64 " was signed", head.seq)
                   : 0;
    /* The one before is looked at while a gate begins the last. */
    const bool begins =
        (count > 1 || got == CHAIN_HEAD_NONE) && audit_segment_is_empty(dir, numbers[count - 1]);
    count -= begins;
    if (count && audit_segment_open(&s, dir, numbers[count - 1], SEGMENT_READ, err) < 0)
        return -1;
    if (count)
        audit_segment_close(&s);
    return 0;
}

static bool verify_start(struct verify *v) {
    struct segment s;
    struct err err = {0};
    if (v->count == 0)
        return audit_proof_bad(&v->proof, v->proof.head.seq,
                               "the log has no segments, but record %" PRIu64 " was signed",
                               v->proof.head.seq);
    if (audit_segment_open(&s, v->dir, v->numbers[0], SEGMENT_READ, &err) < 0)
        return audit_proof_bad(&v->proof, v->numbers[0] == 1, "%.400s", err.text);
    v->first = s.meta;
    audit_segment_close(&s);
    v->proof.seq = v->first.base_seq;
    memcpy(v->proof.hash, v->first.base_hash, CHAIN_HASH);
    memcpy(v->proof.log_id, v->first.log_id, CHAIN_ID);
    v->report->first_seq = v->proof.seq + 1;
    static const unsigned char zero[CHAIN_HASH];
    if (v->numbers[0] == 1 && (v->proof.seq != 0 || memcmp(v->proof.hash, zero, CHAIN_HASH) != 0))
        return audit_proof_bad(&v->proof, 1, "the first segment does not begin the chain");
    if (memcmp(v->proof.log_id, v->proof.head.log_id, CHAIN_ID) != 0)
        return audit_proof_bad(&v->proof, v->proof.seq + 1, "the signed head belongs to another log");
    if (!audit_chain_check(v->key, &v->proof.head))
        return audit_proof_bad(&v->proof, 0, "the signature of the head is not by this key");
    v->proof.head_seen = v->proof.head.seq == 0 && v->proof.seq == 0; /* signed before the first record */
    return true;
}

static bool verify_end(struct verify *v) {
    if (!v->proof.head_seen)
        return audit_proof_bad(&v->proof, v->proof.seq + 1,
                               "record %" PRIu64 " and all up to the signed %" PRIu64 " are missing",
                               v->proof.seq + 1, v->proof.head.seq);
    if (v->numbers[0] == 1)
        return true;
    if (!v->retired)
        return audit_proof_bad(&v->proof, v->retired_seq + 1,
                               "records %" PRIu64 " to %" PRIu64
                               " are missing, and no record says that they were retired",
                               v->retired_seq + 1, v->first.base_seq);
    v->report->retired = v->numbers[0] - 1;
    return true;
}

static bool verify_run(struct verify *v) {
    v->proof.key = v->key;
    if (!verify_start(v))
        return false;
    for (size_t i = 0; i < v->count; i++) {
        if (v->numbers[i] != v->numbers[0] + i)
            return audit_proof_bad(&v->proof, v->proof.seq + 1, "segment %" PRIu64 " is missing",
                                   v->numbers[0] + i);
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
static bool verify_next_point(void *ctx, struct chain_point *ret_point) {
    const struct verify *v = ctx;
    sqlite3_stmt *points = v->points;
    if (sqlite3_step(points) != SQLITE_ROW)
        return false;
    *ret_point = (struct chain_point){.seq = (uint64_t)sqlite3_column_int64(points, 0),
                                      .time_ms = (uint64_t)sqlite3_column_int64(points, 2)};
    memcpy(ret_point->log_id, v->proof.log_id, CHAIN_ID);
    if (sqlite3_column_bytes(points, 1) == CHAIN_HASH)
        memcpy(ret_point->hash, sqlite3_column_blob(points, 1), CHAIN_HASH);
    if (sqlite3_column_bytes(points, 3) == CHAIN_SIGNATURE)
        memcpy(ret_point->signature, sqlite3_column_blob(points, 3), CHAIN_SIGNATURE);
    return true;
}

/* A gate may have ended between this record and the deletion of the file that it declares: then the file
 * still exists, and so do others that such records declare. */
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

/* The other instance that a record names; empty when there is none. */
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

static void verify_event(void *ctx, const struct audit_record *r) {
    struct verify *v = ctx;
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
        v->report->first_gap = v->proof.seq;
}

static void verify_see_ring(void *ctx, const struct rings_one *ring) {
    struct verify *v = ctx;
    if (ring->state != RINGS_DAMAGED)
        map_put(&v->rings, arena_dup(&v->arena, slice_str(ring->instance)), v);
}

/* A gate that started and neither stopped nor was recovered has a ring. If the ring is missing, it is
 * unknown how many of its last records are lost. */
static bool verify_rings(struct verify *v) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&v->gates, &at));)
        if (!map_get(&v->rings, e->key))
            return audit_proof_bad(
                &v->proof, 0,
                "the ring of instance %.*s, which did not stop by itself, is gone or damaged: its "
                "last records may be missing",
                SLICE_FMT(e->key));
    if (v->report->rings.damaged)
        return audit_proof_bad(&v->proof, 0, "a ring in `%.300s` is damaged: its records may be missing",
                               v->dir);
    return true;
}

static bool verify_records(struct verify *v, sqlite3_stmt *rows, sqlite3_stmt *points) {
    v->points = points;
    audit_proof_begin_points(&v->proof);
    while (sqlite3_step(rows) == SQLITE_ROW) {
        const struct audit_block block = {.first_seq = (uint64_t)sqlite3_column_int64(rows, 0),
                                          .count = (uint64_t)sqlite3_column_int64(rows, 1),
                                          .hash = audit_segment_column(rows, 2),
                                          .body = audit_segment_column(rows, 3)};
        if (!audit_proof_block(&v->proof, &block))
            return false;
    }
    return audit_proof_end_points(&v->proof);
}

static bool verify_close(struct verify *v, struct segment *s, sqlite3_stmt *head, bool last) {
    if (sqlite3_step(head) != SQLITE_ROW || sqlite3_column_bytes(head, 1) != CHAIN_HASH)
        return audit_proof_bad(&v->proof, v->proof.seq + 1, "segment %" PRIu64 ": its head is missing",
                               s->meta.number);
    uint64_t seq = (uint64_t)sqlite3_column_int64(head, 0);
    if (seq > v->proof.seq)
        return audit_proof_bad(&v->proof, v->proof.seq + 1,
                               "record %" PRIu64 " and all up to %" PRIu64 " are missing", v->proof.seq + 1,
                               seq);
    if (seq < v->proof.seq || memcmp(sqlite3_column_blob(head, 1), v->proof.hash, CHAIN_HASH) != 0)
        return audit_proof_bad(&v->proof, seq + 1, "record %" PRIu64 " was added behind the head", seq + 1);
    if (!last && !s->meta.sealed)
        return audit_proof_bad(&v->proof, v->proof.seq + 1,
                               "segment %" PRIu64 " is not complete, but a later one is there",
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
        audit_proof_bad(&v->proof, v->proof.seq + 1, "%.400s", sqlite3_errmsg(s->db));
    good = good && verify_records(v, rows, points);
    good = good && verify_close(v, s, head, last);
    sqlite3_finalize(head);
    sqlite3_finalize(points);
    if (sqlite3_finalize(rows) != SQLITE_OK && good)
        good = audit_proof_bad(&v->proof, v->proof.seq + 1, "record %" PRIu64 " cannot be read: %.300s",
                               v->proof.seq + 1, sqlite3_errmsg(s->db));
    return good;
}

static bool verify_segment(struct verify *v, uint64_t number) {
    struct segment s;
    struct err err = {0};
    bool last = number == v->numbers[v->count - 1];
    if (last && audit_segment_is_blank(v->dir, number, SEGMENT_READ))
        return true; /* just being created */
    if (audit_segment_open(&s, v->dir, number, SEGMENT_READ, &err) < 0)
        return audit_proof_bad(&v->proof, v->proof.seq + 1, "%.400s", err.text);
    bool good = audit_segment_exec(&s, "BEGIN", NULL) == 0;
    if (good && (s.meta.number != number || memcmp(s.meta.log_id, v->proof.log_id, CHAIN_ID) != 0 ||
                 s.meta.base_seq != v->proof.seq || memcmp(s.meta.base_hash, v->proof.hash, CHAIN_HASH) != 0))
        good = audit_proof_bad(&v->proof, v->proof.seq + 1,
                               "segment %" PRIu64 " does not follow the one before it", number);
    good = good && verify_walk(v, &s, last);
    audit_segment_close(&s);
    return good;
}
