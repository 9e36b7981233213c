#include "audit/log_reader.h"

#include "audit/cursor.h"
#include "audit/pack.h"
#include "audit/rings.h"
#include "audit/segment.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define LOG_SETTLE_MS 2000 /* on a busy machine a writer may be late; it usually takes AUDIT_NAP_MS */
#define LOG_SETTLE_STEP_NS 3000000
#define LOG_AHEAD 20000 /* records behind a decision that are searched for its outcome */

struct audit_log {
    char *dir;
    uint64_t *numbers;
    size_t count;
    const struct audit_log_ops *ops; /* NULL: the segments of a home */
    void *owner;
};

/* ---- opening ---- */

/* Waits until a running writer has written everything that was in its ring at the start. */
static void log_settle_ring(void *ctx, const struct rings_one *ring) {
    const uint64_t *until_ms = ctx;
    if (ring->state != RINGS_RUNNING || !ring->head)
        return;
    uint64_t end = atomic_load(&ring->head->end);
    while (atomic_load(&ring->head->tail) < end && clock_mono_ms() < *until_ms)
        nanosleep(&(struct timespec){.tv_nsec = LOG_SETTLE_STEP_NS}, NULL);
}

int audit_log_open(const char *home, struct audit_log **ret_log, struct err *err) {
    struct audit_log *log = mem_zalloc(sizeof(*log));
    if (asprintf(&log->dir, "%s/audit", home) < 0) {
        free(log);
        return err_set(err, "out of memory");
    }
    uint64_t until_ms = clock_mono_ms() + LOG_SETTLE_MS;
    audit_rings_each(log->dir, log_settle_ring, &until_ms);
    if (audit_segment_list(log->dir, &log->numbers, &log->count, err) < 0) {
        audit_log_close(log);
        return err_wrap(err, "no audit log");
    }
    *ret_log = log;
    return 0;
}

struct audit_log *audit_log_over(const struct audit_log_ops *ops, void *take_owner) {
    struct audit_log *log = mem_zalloc(sizeof(*log));
    log->ops = ops;
    log->owner = take_owner;
    return log;
}

void audit_log_close(struct audit_log *log) {
    if (!log)
        return;
    if (log->ops)
        log->ops->close(log->owner);
    free(log->numbers);
    free(log->dir);
    free(log);
}

/* ---- the segments of a home ---- */

struct home_source {
    struct audit_source base;
    const struct audit_log *log;
    uint64_t from_seq, to_seq;
    bool back;
    size_t done; /* segments that were opened */
    struct segment segment;
    sqlite3_stmt *rows; /* NULL: the next segment is to be opened */
};

static int home_open_segment(struct home_source *s, struct err *err) {
    size_t at = s->back ? s->log->count - 1 - s->done : s->done;
    uint64_t number = s->log->numbers[at];
    s->done++;
    if (audit_segment_open(&s->segment, s->log->dir, number, SEGMENT_READ, err) < 0)
        return audit_segment_is_blank(s->log->dir, number, SEGMENT_READ) ? 0 : -1;
    s->rows = audit_segment_blocks(&s->segment, s->from_seq, s->to_seq, s->back);
    if (s->rows)
        return 0;
    audit_segment_fail(&s->segment, err);
    audit_segment_close(&s->segment);
    return -1;
}

static int home_end_segment(struct home_source *s, struct err *err) {
    int rc = sqlite3_finalize(s->rows) == SQLITE_OK ? 0 : audit_segment_fail(&s->segment, err);
    s->rows = NULL;
    audit_segment_close(&s->segment);
    return rc;
}

static int home_next(struct audit_source *base, struct audit_block *ret_block, struct err *err) {
    struct home_source *s = container_of(base, struct home_source, base);
    for (;;) {
        if (s->rows && sqlite3_step(s->rows) == SQLITE_ROW) {
            *ret_block = (struct audit_block){.first_seq = (uint64_t)sqlite3_column_int64(s->rows, 0),
                                              .count = (uint64_t)sqlite3_column_int64(s->rows, 1),
                                              .hash = audit_segment_column(s->rows, 2),
                                              .body = audit_segment_column(s->rows, 3)};
            return 1;
        }
        if (s->rows && home_end_segment(s, err) < 0)
            return -1;
        if (s->done == s->log->count)
            return 0;
        if (home_open_segment(s, err) < 0)
            return -1;
    }
}

static void home_close(struct audit_source *base) {
    struct home_source *s = container_of(base, struct home_source, base);
    if (s->rows)
        home_end_segment(s, NULL);
    free(s);
}

static struct audit_source *home_source(const struct audit_log *log, const struct audit_filter *filter,
                                        bool back) {
    struct home_source *s = mem_zalloc(sizeof(*s));
    s->base = (struct audit_source){.next = home_next, .close = home_close};
    s->log = log;
    s->back = back;
    s->from_seq = back ? filter->from_seq : audit_filter_from(filter, 0);
    /* An outcome comes after its decision: walking backwards, outcomes of the last decisions are needed
     * too. */
    s->to_seq = filter->to_seq && back ? filter->to_seq + LOG_AHEAD : filter->to_seq;
    return &s->base;
}

/* ---- walking ---- */

struct walk {
    struct audit_cursor *cursors;
    size_t count;
};

static int walk_open(struct walk *w, struct audit_log *log, const struct audit_filter *filter, bool back,
                     struct err *err) {
    struct audit_source *own = NULL, **sources = &own;
    if (log->ops) {
        if (log->ops->open(log->owner, filter, back, &sources, &w->count, err) < 0)
            return -1;
    } else {
        own = home_source(log, filter, back);
        w->count = 1;
    }
    w->cursors = mem_zalloc((w->count + 1) * sizeof(*w->cursors));
    for (size_t i = 0; i < w->count; i++)
        audit_cursor_init(&w->cursors[i], sources[i], filter, back);
    if (log->ops)
        free(sources);
    for (size_t i = 0; i < w->count; i++)
        if (audit_cursor_next(&w->cursors[i], err) < 0)
            return -1;
    return 0;
}

static void walk_close(struct walk *w, bool back, struct audit_marks *marks) {
    for (size_t i = 0; i < w->count; i++) {
        struct audit_cursor *c = &w->cursors[i];
        if (marks && c->passed) /* an entry that is ready was not returned yet */
            audit_marks_set(marks, c->source->chain, c->ready && !back ? c->entry.seq : c->passed + 1);
        audit_cursor_free(c);
    }
    free(w->cursors);
}

/* The chain with the next entry, by the time of the records. */
static struct audit_cursor *walk_pick(const struct walk *w, bool back) {
    struct audit_cursor *best = NULL;
    for (size_t i = 0; i < w->count; i++) {
        struct audit_cursor *c = &w->cursors[i];
        if (!c->ready)
            continue;
        uint64_t own = c->record.number[AUDIT_TIME_US], other = best ? best->record.number[AUDIT_TIME_US] : 0;
        if (!best || (back ? own > other : own < other))
            best = c;
    }
    return best;
}

static int walk_run(struct audit_log *log, const struct audit_filter *filter, bool back, audit_entry_fn *each,
                    void *ctx, struct err *err) {
    struct walk w = {0};
    uint64_t shown = 0;
    int rc = walk_open(&w, log, filter, back, err);
    for (struct audit_cursor *c; rc == 0 && (c = walk_pick(&w, back));) {
        c->ready = false;
        if (!each(ctx, &c->entry) || (filter->limit && ++shown >= filter->limit))
            break;
        rc = audit_cursor_next(c, err) < 0 ? -1 : 0;
    }
    walk_close(&w, back, filter->marks);
    return rc;
}

int audit_log_walk(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each, void *ctx,
                   struct err *err) {
    return walk_run(log, filter, false, each, ctx, err);
}

int audit_log_walk_back(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each,
                        void *ctx, struct err *err) {
    return walk_run(log, filter, true, each, ctx, err);
}

/* ---- seeking ---- */

/* The last block that begins at or before `seq`: its first number, and the time of its first record. */
static bool seek_block(struct segment *s, uint64_t seq, uint64_t *ret_first, uint64_t *ret_us) {
    cleanup_free char *room = NULL;
    struct segment_frame frame;
    struct audit_record r;
    bool found = false;
    sqlite3_stmt *rows = audit_segment_blocks(s, seq, seq, true);
    if (rows && sqlite3_step(rows) == SQLITE_ROW) {
        struct slice body = audit_unpack(audit_segment_column(rows, 3), &room);
        found = audit_segment_frame_next(&body, &frame) && audit_record_read(frame.bytes, &r);
        *ret_first = (uint64_t)sqlite3_column_int64(rows, 0);
        *ret_us = found ? r.number[AUDIT_TIME_US] : 0;
    }
    sqlite3_finalize(rows);
    return found;
}

/* The last block of the segment whose first record is older than that; 0 when there is none. */
static uint64_t seek_segment(struct segment *s, uint64_t since_us) {
    unsigned char hash[CHAIN_HASH];
    uint64_t low = s->meta.base_seq + 1, high, found = 0, first, time_us;
    if (audit_segment_read_head(s, &high, hash, NULL) < 0)
        return 0;
    while (low <= high) {
        uint64_t middle = low + (high - low) / 2;
        if (!seek_block(s, middle, &first, &time_us))
            break;
        if (time_us < since_us) {
            found = first;
            low = middle + 1;
        } else if (first <= low) {
            break;
        } else {
            high = first - 1;
        }
    }
    return found;
}

int audit_log_seek(struct audit_log *log, uint64_t since_us, uint64_t *ret_seq, struct err *err) {
    since_us = since_us > AUDIT_ORDER_US ? since_us - AUDIT_ORDER_US : 0;
    *ret_seq = log->ops ? 0 : 1;
    for (size_t i = log->count; i-- > 0;) {
        struct segment s;
        if (audit_segment_open(&s, log->dir, log->numbers[i], SEGMENT_READ, err) < 0) {
            if (audit_segment_is_blank(log->dir, log->numbers[i], SEGMENT_READ))
                continue;
            return -1;
        }
        uint64_t found = seek_segment(&s, since_us);
        *ret_seq = found ? found : s.meta.base_seq + 1;
        audit_segment_close(&s);
        if (found)
            break;
    }
    return 0;
}

/* ---- hashes ---- */

/* Computes the hash from the one before this block through its records up to `seq`. */
static bool hash_block(sqlite3_stmt *row, uint64_t seq, unsigned char hash[CHAIN_HASH]) {
    cleanup_free char *room = NULL;
    struct slice body = audit_unpack(audit_segment_column(row, 3), &room);
    struct segment_frame frame;
    uint64_t at = (uint64_t)sqlite3_column_int64(row, 0);
    for (; at <= seq && audit_segment_frame_next(&body, &frame); at++)
        audit_chain_extend(hash, at, frame.bytes);
    return at > seq;
}

static bool hash_in_segment(struct segment *s, uint64_t seq, unsigned char hash[CHAIN_HASH]) {
    memcpy(hash, s->meta.base_hash, CHAIN_HASH);
    sqlite3_stmt *rows = audit_segment_blocks(s, seq, seq, true);
    bool found = rows && sqlite3_step(rows) == SQLITE_ROW;
    uint64_t first = found ? (uint64_t)sqlite3_column_int64(rows, 0) : 0;
    if (found && first > s->meta.base_seq + 1) {
        sqlite3_stmt *before = audit_segment_blocks(s, first - 1, first - 1, true);
        found =
            before && sqlite3_step(before) == SQLITE_ROW && audit_segment_column(before, 2).len == CHAIN_HASH;
        if (found)
            memcpy(hash, audit_segment_column(before, 2).ptr, CHAIN_HASH);
        sqlite3_finalize(before);
    }
    found = found && hash_block(rows, seq, hash);
    sqlite3_finalize(rows);
    return found;
}

int audit_log_hash(struct audit_log *log, uint64_t seq, char ret_hex[AUDIT_HASH_TEXT], struct err *err) {
    for (size_t i = log->count; i-- > 0;) {
        struct segment s;
        unsigned char hash[CHAIN_HASH];
        if (audit_segment_open(&s, log->dir, log->numbers[i], SEGMENT_READ, err) < 0) {
            if (audit_segment_is_blank(log->dir, log->numbers[i], SEGMENT_READ))
                continue;
            return -1;
        }
        bool here = seq > s.meta.base_seq, found = here && hash_in_segment(&s, seq, hash);
        audit_segment_close(&s);
        if (found)
            hex_str(hash, CHAIN_HASH, ret_hex);
        if (here)
            return found;
    }
    return 0;
}
