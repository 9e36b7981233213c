#include "audit/log_reader.h"

#include "audit/pack.h"
#include "audit/rings.h"
#include "audit/segment.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define LOG_SETTLE_MS 300
#define LOG_SETTLE_STEP_NS 3000000
#define LOG_OUTCOMES_MAX 1000000 /* outcomes whose decision has not been met yet */
#define LOG_AHEAD 20000          /* records behind a decision that are searched for its outcome */
#define LOG_ORDER_US 60000000    /* records of several processes are out of order by less than that */
#define LOG_BLOCK_FRAMES_MAX (AUDIT_BLOCK_BYTES / SEGMENT_FRAME_HEAD)

struct audit_log {
    char *dir;
    uint64_t *numbers;
    size_t count;
};

/* ---- opening ---- */

/* Until a living writer has taken everything that lay in its ring when we looked. */
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

void audit_log_close(struct audit_log *log) {
    if (!log)
        return;
    free(log->numbers);
    free(log->dir);
    free(log);
}

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

/* `agent1` finds `grant:agent1`: people know the name, not what kind of principal it is. */
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

/* ---- walking ---- */

struct walk {
    const struct audit_filter *filter;
    audit_entry_fn *each;
    void *ctx;
    uint64_t shown;
    bool ended;
    char *room; /* for blocks */
    /* backwards only */
    struct map outcomes; /* call number → struct kept */
    struct slice *frames;
};

struct kept {
    uint64_t call;
    uint64_t seq;
    struct audit_record record;
    char *bytes;
};

static void walk_show(struct walk *w, const struct audit_entry *entry) {
    w->shown++;
    w->ended = !w->each(w->ctx, entry) || (w->filter->limit && w->shown >= w->filter->limit);
}

static int walk_damaged(uint64_t seq, struct err *err) {
    return err_set(err, "record %llu is damaged; `sallyport audit verify` tells more",
                   (unsigned long long)seq);
}

static int walk_block(struct walk *w, sqlite3_stmt *row, struct err *err) {
    uint64_t seq = (uint64_t)sqlite3_column_int64(row, 0);
    struct slice body = audit_unpack(audit_segment_column(row, 3), &w->room);
    struct segment_frame frame;
    for (; !w->ended && audit_segment_frame_next(&body, &frame); seq++) {
        struct audit_record r;
        if (!audit_record_read(frame.bytes, &r))
            return walk_damaged(seq, err);
        if (audit_filter_matches(w->filter, seq, &r))
            walk_show(w, &(struct audit_entry){.seq = seq, .record = &r});
    }
    return w->ended || body.len == 0 ? 0 : walk_damaged(seq, err);
}

static void kept_free(struct kept *k) {
    if (k)
        free(k->bytes);
    free(k);
}

static void walk_keep(struct walk *w, uint64_t seq, struct slice bytes) {
    if (w->outcomes.count >= LOG_OUTCOMES_MAX)
        return;
    struct kept *k = mem_zalloc(sizeof(*k));
    k->bytes = mem_dup(bytes.ptr, bytes.len);
    k->seq = seq;
    audit_record_read(slice_of(k->bytes, bytes.len), &k->record);
    k->call = k->record.number[AUDIT_CALL];
    kept_free(map_put(&w->outcomes, slice_of((const char *)&k->call, sizeof(k->call)), k));
}

static void walk_decision(struct walk *w, uint64_t seq, const struct audit_record *r) {
    uint64_t call = r->number[AUDIT_CALL];
    struct kept *k = map_remove(&w->outcomes, slice_of((const char *)&call, sizeof(call)));
    if (k && !slice_eq(k->record.text[AUDIT_INSTANCE], r->text[AUDIT_INSTANCE])) {
        kept_free(k);
        k = NULL;
    }
    struct slice status = k ? k->record.text[AUDIT_STATUS] : (struct slice){0};
    bool wanted = !w->filter->outcome.len || slice_eq(w->filter->outcome, status);
    if (wanted && audit_filter_matches(w->filter, seq, r))
        walk_show(
            w, &(struct audit_entry){
                   .seq = seq, .record = r, .outcome = k ? &k->record : NULL, .outcome_seq = k ? k->seq : 0});
    kept_free(k);
}

static int walk_block_back(struct walk *w, sqlite3_stmt *row, struct err *err) {
    uint64_t first = (uint64_t)sqlite3_column_int64(row, 0);
    struct slice body = audit_unpack(audit_segment_column(row, 3), &w->room);
    struct segment_frame frame;
    size_t count = 0;
    while (count < LOG_BLOCK_FRAMES_MAX && audit_segment_frame_next(&body, &frame))
        w->frames[count++] = frame.bytes;
    if (body.len != 0)
        return walk_damaged(first + count, err);
    while (!w->ended && count-- > 0) {
        struct audit_record r;
        if (!audit_record_read(w->frames[count], &r))
            return walk_damaged(first + count, err);
        if (r.number[AUDIT_TIME_US] + LOG_ORDER_US < w->filter->since_us) {
            w->ended = true; /* so is everything before it */
            break;
        }
        if (r.kind == AUDIT_KIND_OUTCOME)
            walk_keep(w, first + count, w->frames[count]);
        else if (r.kind == AUDIT_KIND_DECISION)
            walk_decision(w, first + count, &r);
        else if (audit_filter_matches(w->filter, first + count, &r))
            walk_show(w, &(struct audit_entry){.seq = first + count, .record = &r});
    }
    return 0;
}

static int walk_segment(struct walk *w, const char *dir, uint64_t number, bool back, struct err *err) {
    struct segment s;
    if (audit_segment_open(&s, dir, number, SEGMENT_READ, err) < 0)
        return audit_segment_is_blank(dir, number) ? 0 : -1;
    /* An outcome comes after its decision: walking back, those of the last decisions are wanted, too. */
    uint64_t to = w->filter->to_seq;
    if (to && back)
        to += LOG_AHEAD;
    sqlite3_stmt *rows = audit_segment_blocks(&s, w->filter->from_seq, to, back);
    int rc = rows ? 0 : audit_segment_fail(&s, err);
    while (rc == 0 && !w->ended && sqlite3_step(rows) == SQLITE_ROW)
        rc = back ? walk_block_back(w, rows, err) : walk_block(w, rows, err);
    if (sqlite3_finalize(rows) != SQLITE_OK && rc == 0)
        rc = audit_segment_fail(&s, err);
    audit_segment_close(&s);
    return rc;
}

int audit_log_walk(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each, void *ctx,
                   struct err *err) {
    struct walk w = {.filter = filter, .each = each, .ctx = ctx};
    int rc = 0;
    for (size_t i = 0; i < log->count && !w.ended && rc == 0; i++)
        rc = walk_segment(&w, log->dir, log->numbers[i], false, err);
    free(w.room);
    return rc;
}

int audit_log_walk_back(struct audit_log *log, const struct audit_filter *filter, audit_entry_fn *each,
                        void *ctx, struct err *err) {
    struct walk w = {.filter = filter, .each = each, .ctx = ctx};
    w.frames = mem_alloc(LOG_BLOCK_FRAMES_MAX * sizeof(*w.frames));
    map_init(&w.outcomes);
    int rc = 0;
    for (size_t i = log->count; i-- > 0 && !w.ended && rc == 0;)
        rc = walk_segment(&w, log->dir, log->numbers[i], true, err);
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&w.outcomes, &at));)
        kept_free(e->value);
    map_free(&w.outcomes);
    free(w.frames);
    free(w.room);
    return rc;
}

/* ---- seeking ---- */

/* The first block that begins at or before `seq`: where it begins, and the time of its first record. */
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
    since_us = since_us > LOG_ORDER_US ? since_us - LOG_ORDER_US : 0;
    *ret_seq = 1;
    for (size_t i = log->count; i-- > 0;) {
        struct segment s;
        if (audit_segment_open(&s, log->dir, log->numbers[i], SEGMENT_READ, err) < 0) {
            if (audit_segment_is_blank(log->dir, log->numbers[i]))
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

/* From the hash before this block through its records up to `seq`. */
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
            if (audit_segment_is_blank(log->dir, log->numbers[i]))
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
