#include "ship/homelog.h"

#include "base/mem.h"
#include "ship/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

void homelog_init(struct homelog *l, const char *home) {
    *l = (struct homelog){0};
    if (asprintf(&l->dir, "%s/audit", home) < 0)
        l->dir = NULL;
}

void homelog_close(struct homelog *l) {
    if (l->open)
        audit_segment_close(&l->segment);
    l->open = false;
}

void homelog_free(struct homelog *l) {
    homelog_close(l);
    free(l->dir);
}

/* The readable segments: the newest one may still be under construction. */
static int list(const struct homelog *l, uint64_t **ret_numbers, size_t *ret_count, struct err *err) {
    if (access(l->dir, F_OK) < 0 && errno == ENOENT) {
        *ret_numbers = NULL;
        *ret_count = 0;
        return 0;
    }
    if (audit_segment_list(l->dir, ret_numbers, ret_count, err) < 0)
        return -1;
    if (*ret_count && audit_segment_is_blank(l->dir, (*ret_numbers)[*ret_count - 1], SEGMENT_READ))
        (*ret_count)--;
    return 0;
}

int homelog_look(struct homelog *l, struct segment_meta *ret_first, uint64_t *ret_newest, struct err *err) {
    cleanup_free uint64_t *numbers = NULL;
    size_t count;
    struct segment s;
    unsigned char hash[CHAIN_HASH];
    if (list(l, &numbers, &count, err) < 0)
        return -1;
    if (count == 0)
        return 0;
    if (audit_segment_open(&s, l->dir, numbers[0], SEGMENT_READ, err) < 0)
        return -1;
    *ret_first = s.meta;
    audit_segment_close(&s);
    if (audit_segment_open(&s, l->dir, numbers[count - 1], SEGMENT_READ, err) < 0)
        return -1;
    int rc = audit_segment_read_head(&s, ret_newest, hash, err);
    audit_segment_close(&s);
    return rc < 0 ? -1 : 1;
}

/* ---- is it the same chain? ---- */

static bool segment_has(struct segment *s, uint64_t seq, const unsigned char hash[CHAIN_HASH]) {
    if (seq == s->meta.base_seq)
        return memcmp(hash, s->meta.base_hash, CHAIN_HASH) == 0;
    sqlite3_stmt *rows = audit_segment_blocks(s, seq, seq, true);
    bool same = false;
    if (rows && sqlite3_step(rows) == SQLITE_ROW) {
        uint64_t last = (uint64_t)(sqlite3_column_int64(rows, 0) + sqlite3_column_int64(rows, 1) - 1);
        struct slice own = audit_segment_column(rows, 2);
        same = last == seq && own.len == CHAIN_HASH && memcmp(own.ptr, hash, CHAIN_HASH) == 0;
    }
    sqlite3_finalize(rows);
    return same;
}

/* The newest segment that begins before that record; false: there is none. */
static int open_for(struct homelog *l, uint64_t seq, struct segment *ret_segment, bool *ret_found,
                    struct err *err) {
    cleanup_free uint64_t *numbers = NULL;
    size_t count;
    *ret_found = false;
    if (list(l, &numbers, &count, err) < 0)
        return -1;
    for (size_t i = count; i-- > 0;) {
        if (audit_segment_open(ret_segment, l->dir, numbers[i], SEGMENT_READ, err) < 0)
            return -1;
        if (ret_segment->meta.base_seq < seq || (i == 0 && ret_segment->meta.base_seq == seq)) {
            *ret_found = true;
            return 0;
        }
        audit_segment_close(ret_segment);
    }
    return 0;
}

int homelog_has(struct homelog *l, uint64_t seq, const unsigned char hash[CHAIN_HASH], struct err *err) {
    struct segment s;
    bool found;
    if (open_for(l, seq, &s, &found, err) < 0)
        return -1;
    if (!found)
        return 0;
    bool same = segment_has(&s, seq, hash);
    audit_segment_close(&s);
    return same;
}

/* ---- what comes next ---- */

static int read_blocks(struct homelog *l, struct state_batch *batch, struct state_chain *end,
                       struct err *err) {
    sqlite3_stmt *rows = audit_segment_blocks(&l->segment, end->seq + 1, 0, false);
    size_t count = 0;
    int rc = rows ? 0 : audit_segment_fail(&l->segment, err);
    while (rc == 0 && batch->blocks.len < SHIP_BATCH_BYTES && count++ < SHIP_BATCH_BLOCKS &&
           sqlite3_step(rows) == SQLITE_ROW) {
        uint64_t first = (uint64_t)sqlite3_column_int64(rows, 0),
                 records = (uint64_t)sqlite3_column_int64(rows, 1);
        struct slice hash = audit_segment_column(rows, 2);
        if (first + records - 1 <= end->seq)
            continue;
        if (first != end->seq + 1 || records == 0 || hash.len != CHAIN_HASH) {
            rc = err_set(
                err, "record %llu is missing in the home, or damaged; `sallyport audit verify` has details",
                (unsigned long long)end->seq + 1);
            break;
        }
        state_batch_block(batch, first, records, hash, audit_segment_column(rows, 3));
        end->seq += records;
        memcpy(end->hash, hash.ptr, CHAIN_HASH);
    }
    sqlite3_finalize(rows);
    return rc;
}

/* *ret_count: their number, valid or not. */
static int read_points(struct homelog *l, struct state_batch *batch, struct state_chain *end,
                       size_t *ret_count, struct err *err) {
    sqlite3_stmt *rows = NULL;
    *ret_count = 0;
    if (sqlite3_prepare_v2(
            l->segment.db,
            "SELECT seq,hash,time_ms,signature FROM checkpoints WHERE seq>?1 AND seq<=?2 ORDER "
            "BY seq LIMIT ?3",
            -1, &rows, NULL) != SQLITE_OK)
        return audit_segment_fail(&l->segment, err);
    sqlite3_bind_int64(rows, 1, (sqlite3_int64)end->head.seq);
    sqlite3_bind_int64(rows, 2, (sqlite3_int64)end->seq);
    sqlite3_bind_int64(rows, 3, SHIP_BATCH_POINTS);
    for (; sqlite3_step(rows) == SQLITE_ROW; ++*ret_count) {
        struct slice hash = audit_segment_column(rows, 1), signature = audit_segment_column(rows, 3);
        if (hash.len != CHAIN_HASH || signature.len != CHAIN_SIGNATURE)
            continue; /* `audit verify` finds it; the fleet lacks a signature */
        end->head = (struct state_point){.seq = (uint64_t)sqlite3_column_int64(rows, 0),
                                         .time_ms = (uint64_t)sqlite3_column_int64(rows, 2)};
        memcpy(end->head.hash, hash.ptr, CHAIN_HASH);
        memcpy(end->head.signature, signature.ptr, CHAIN_SIGNATURE);
        state_batch_point(batch, &end->head);
    }
    return sqlite3_finalize(rows) == SQLITE_OK ? 0 : audit_segment_fail(&l->segment, err);
}

/* Reads one segment in one transaction. A sealed one that was read completely is left for the next one. */
static int read_segment(struct homelog *l, struct state_batch *batch, struct state_chain *end, bool *ret_next,
                        struct err *err) {
    uint64_t newest;
    size_t points = 0;
    unsigned char hash[CHAIN_HASH];
    if (audit_segment_exec(&l->segment, "BEGIN", err) < 0)
        return -1;
    int rc = audit_segment_read_head(&l->segment, &newest, hash, err);
    if (rc == 0 && newest > end->seq)
        rc = read_blocks(l, batch, end, err);
    if (rc == 0)
        rc = read_points(l, batch, end, &points, err);
    *ret_next = rc == 0 && l->segment.meta.sealed && end->seq == newest && points < SHIP_BATCH_POINTS;
    audit_segment_exec(&l->segment, "COMMIT", NULL);
    return rc;
}

int homelog_read(struct homelog *l, const struct state_chain *chain, struct state_batch *batch,
                 struct state_chain *end, struct err *err) {
    bool next = false, found;
    *end = *chain;
    state_batch_begin(batch, chain->id);
    if (!l->open) {
        if (open_for(l, chain->seq ? chain->seq : 1, &l->segment, &found, err) < 0)
            return -1;
        if (!found)
            return 0;
        l->open = true;
    }
    if (read_segment(l, batch, end, &next, err) < 0) {
        homelog_close(l);
        return -1;
    }
    if (!next)
        return 0;
    struct segment following;
    uint64_t number = l->segment.meta.number + 1;
    char path[4096];
    audit_segment_path(l->dir, number, path, sizeof(path));
    if (access(path, F_OK) < 0 || audit_segment_is_blank(l->dir, number, SEGMENT_READ))
        return 0;
    if (audit_segment_open(&following, l->dir, number, SEGMENT_READ, err) < 0)
        return -1;
    audit_segment_close(&l->segment);
    l->segment = following;
    return 0;
}

/* For a segment that was shipped in part. */
static uint64_t blocks_behind(struct segment *s, uint64_t seq) {
    sqlite3_stmt *sum = NULL;
    uint64_t bytes = 0;
    if (sqlite3_prepare_v2(s->db, "SELECT sum(length(body)) FROM blocks WHERE first_seq>?1", -1, &sum,
                           NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_int64(sum, 1, (sqlite3_int64)seq);
    if (sqlite3_step(sum) == SQLITE_ROW)
        bytes = (uint64_t)sqlite3_column_int64(sum, 0);
    sqlite3_finalize(sum);
    return bytes;
}

int homelog_backlog(struct homelog *l, uint64_t seq, uint64_t *ret_bytes, struct err *err) {
    cleanup_free uint64_t *numbers = NULL;
    size_t count;
    *ret_bytes = 0;
    if (list(l, &numbers, &count, err) < 0)
        return -1;
    for (size_t i = count; i-- > 0;) {
        struct segment s;
        if (audit_segment_open(&s, l->dir, numbers[i], SEGMENT_READ, err) < 0)
            return -1;
        bool last = s.meta.base_seq <= seq;
        *ret_bytes += last ? blocks_behind(&s, seq) : audit_segment_bytes(&s);
        audit_segment_close(&s);
        if (last)
            break;
    }
    return 0;
}
