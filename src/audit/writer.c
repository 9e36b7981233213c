#include "audit/writer.h"

#include "audit/shipped.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/rand.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

/* ---- where the chain goes on ---- */

static int writer_first(struct writer *w, struct err *err) {
    struct segment_meta base = {.number = 1};
    rand_bytes(base.log_id, CHAIN_ID);
    return audit_segment_create(&w->segment, w->dir, &base, NULL, err);
}

/* Opens the newest segment; completes it when its creator died before it had written anything. */
static int writer_resume(struct writer *w, const uint64_t *numbers, size_t count, struct err *err) {
    uint64_t newest = numbers[count - 1];
    if (!audit_segment_is_blank(w->dir, newest, SEGMENT_WRITE))
        return audit_segment_open(&w->segment, w->dir, newest, SEGMENT_WRITE, err);
    if (count == 1)
        return newest == 1 ? writer_first(w, err)
                           : err_set(err, "segment %llu is empty", (unsigned long long)newest);
    struct segment before;
    if (audit_segment_open(&before, w->dir, numbers[count - 2], SEGMENT_WRITE, err) < 0)
        return -1;
    struct segment_meta base = before.meta;
    base.number = newest;
    int rc = audit_segment_read_head(&before, &base.base_seq, base.base_hash, err);
    if (rc == 0 && !before.meta.sealed)
        rc = err_set(err, "segment %llu is empty, but the one before it is not complete",
                     (unsigned long long)newest);
    if (rc == 0)
        rc = audit_segment_create(&w->segment, w->dir, &base, &before, err);
    audit_segment_close(&before);
    return rc;
}

int audit_writer_open(struct writer *w, const char *home, const char *dir, struct err *err) {
    uint64_t *numbers = NULL;
    size_t count = 0;
    w->signed_seq = w->signed_ms = w->retire_ms = 0;
    w->finding[0] = '\0';
    w->dir = mem_dup(dir, strlen(dir));
    w->room = mem_alloc(AUDIT_BLOCK_BYTES + PACK_MARK);
    int rc = audit_chain_key_load(home, &w->key, err);
    if (rc == 0)
        rc = audit_segment_list(dir, &numbers, &count, err);
    if (rc == 0)
        rc = count == 0 ? writer_first(w, err) : writer_resume(w, numbers, count, err);
    free(numbers);
    if (rc == 0 && w->durable)
        rc = audit_segment_exec(&w->segment, "PRAGMA synchronous=FULL", err);
    if (rc < 0)
        audit_writer_close(w);
    return rc;
}

/* A sealed segment may have been retired by another instance, and its write-ahead log is cut short. */
bool audit_writer_lost(struct writer *w, struct err *err) {
    uint64_t seq;
    unsigned char hash[CHAIN_HASH];
    if (!w->segment.db || audit_segment_check(&w->segment, err) == 0)
        return false;
    return audit_segment_read_head(&w->segment, &seq, hash, NULL) < 0 || !w->segment.meta.sealed;
}

void audit_writer_close(struct writer *w) {
    if (audit_writer_lost(w, NULL))
        audit_segment_abandon(&w->segment);
    audit_segment_close(&w->segment);
    crypto_signer_free(w->key);
    free(w->room);
    free(w->dir);
    w->key = NULL;
    w->room = w->dir = NULL;
}

static int writer_rollback(struct writer *w) {
    if (w->segment.db && !sqlite3_get_autocommit(w->segment.db))
        sqlite3_exec(w->segment.db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static void writer_block_begin(struct writer *w) {
    w->block_len = w->own_len = 0;
    w->block_count = 0;
    audit_pack_begin(&w->pack, w->room);
}

static int writer_follow(struct writer *w, struct err *err) {
    struct segment_meta base = w->segment.meta;
    struct segment next;
    base.number++;
    base.base_seq = w->seq;
    memcpy(base.base_hash, w->hash, CHAIN_HASH);
    if (audit_segment_create(&next, w->dir, &base, &w->segment, err) < 0)
        return -1;
    audit_segment_close(&w->segment);
    w->segment = next;
    return 0;
}

/* Where the chain continues after a sealed segment: in the next one. Other instances may have gone further,
 * and retired what is between. */
static int writer_next(struct writer *w, struct err *err) {
    cleanup_free uint64_t *numbers = NULL;
    size_t count = 0;
    if (audit_segment_list(w->dir, &numbers, &count, err) < 0)
        return -1;
    int rc;
    if (count > 0 && numbers[count - 1] > w->segment.meta.number + 1) {
        struct segment sealed = w->segment;
        rc = writer_resume(w, numbers, count, err);
        if (rc < 0)
            w->segment = sealed;
        else
            audit_segment_close(&sealed);
    } else {
        rc = writer_follow(w, err);
    }
    return rc == 0 && w->durable ? audit_segment_exec(&w->segment, "PRAGMA synchronous=FULL", err) : rc;
}

/* The write lock, and the head as of now: other instances write to the same chain. A sealed segment may have
 * been retired by one of them; a segment that is not sealed must be there. */
static int writer_begin(struct writer *w, struct err *err) {
    for (int tries = 0; tries < AUDIT_SEGMENTS_MAX; tries++) {
        if (audit_segment_exec(&w->segment, "BEGIN IMMEDIATE", err) < 0)
            return -1;
        if (audit_segment_read_head(&w->segment, &w->seq, w->hash, err) < 0)
            return writer_rollback(w);
        if (!w->segment.meta.sealed) {
            if (audit_writer_lost(w, err))
                return writer_rollback(w);
            writer_block_begin(w);
            return 0;
        }
        writer_rollback(w);
        if (writer_next(w, err) < 0)
            return -1;
    }
    return err_set(err, "too many segments");
}

static int writer_block_end(struct writer *w, struct err *err) {
    if (w->block_count == 0)
        return 0;
    return audit_segment_add_block(&w->segment, w->seq - w->block_count + 1, w->block_count, w->hash,
                                   audit_pack_body(&w->pack), err);
}

/* Records that were committed to a deleted file stay in the ring. */
static int writer_commit(struct writer *w, struct err *err) {
    if (writer_block_end(w, err) < 0 || audit_segment_write_head(&w->segment, w->seq, w->hash, err) < 0 ||
        audit_segment_exec(&w->segment, "COMMIT", err) < 0 || audit_writer_lost(w, err))
        return writer_rollback(w);
    w->commits++;
    return 0;
}

static bool writer_has_room(const struct writer *w) {
    return AUDIT_BLOCK_BYTES - w->block_len >= SEGMENT_FRAME_HEAD + AUDIT_RECORD_MAX;
}

/* Puts canonical bytes, which stay where they are until the block is complete, on the chain. */
static void writer_add(struct writer *w, struct slice record) {
    audit_chain_extend(w->hash, ++w->seq, record);
    audit_pack_add(&w->pack, w->hash, record);
    w->block_len += SEGMENT_FRAME_HEAD + record.len;
    w->block_count++;
}

static bool is_loss(const char *event) {
    return strcmp(event, "gap") == 0 || strcmp(event, "unread") == 0 || strcmp(event, "broken") == 0;
}

static void writer_add_event(struct writer *w, const char *event, const char *text) {
    if (is_loss(event))
        snprintf(w->finding, sizeof(w->finding), "%.250s", text);
    struct audit_record r = {.kind = AUDIT_KIND_EVENT};
    r.number[AUDIT_TIME_US] = clock_wall_us();
    r.text[AUDIT_INSTANCE] = slice_str(w->instance);
    r.text[AUDIT_EVENT] = slice_str(event);
    r.text[AUDIT_TEXT] = slice_str(text);
    CHECK(audit_record_fit(&r) <= sizeof(w->own) - w->own_len && writer_has_room(w));
    struct slice record = slice_of(w->own + w->own_len, audit_record_write(&r, w->own + w->own_len));
    w->own_len += record.len;
    writer_add(w, record);
}

/* ---- batches ---- */

static void writer_add_gap(struct writer *w, uint64_t gaps) {
    char text[96];
    snprintf(text, sizeof(text), "%llu records could not be kept", (unsigned long long)gaps);
    writer_add_event(w, "gap", text);
}

/* Adds frames from *at on, as many as fit; keeps room for two records of the writer itself. */
static enum ring_step writer_take(struct writer *w, const struct ring *ring, bool suspect, uint64_t *at) {
    struct slice bytes;
    enum ring_step step = RING_FRAME;
    while (writer_has_room(w) && (step = audit_ring_next(ring, at, &bytes)) == RING_FRAME) {
        struct audit_record r;
        if (suspect && !audit_record_read(bytes, &r)) {
            step = RING_BAD;
            break;
        }
        writer_add(w, bytes);
    }
    if (step == RING_BAD && writer_has_room(w)) { /* only after a crash: the rest is unreadable */
        *at = atomic_load(&ring->head->end);
        writer_add_event(w, "gap", "a ring was damaged; its last records are lost");
    }
    return step;
}

static int writer_write_from(struct writer *w, struct ring *ring, uint64_t gaps, bool suspect,
                             uint64_t *ret_at, struct err *err) {
    uint64_t at = atomic_load(&ring->head->tail);
    if (writer_begin(w, err) < 0)
        return -1;
    uint64_t before = w->seq;
    if (gaps > 0)
        writer_add_gap(w, gaps);
    for (int blocks = 1; writer_take(w, ring, suspect, &at) == RING_FRAME && blocks < AUDIT_COMMIT_BLOCKS;
         blocks++) {
        if (writer_block_end(w, err) < 0)
            return writer_rollback(w);
        writer_block_begin(w);
    }
    if (audit_segment_set_ring(&w->segment, slice_of(ring->head->instance, RING_INSTANCE_LEN), at, err) < 0)
        return writer_rollback(w);
    if (writer_commit(w, err) < 0)
        return -1;
    w->written += w->seq - before;
    *ret_at = at;
    return 0;
}

int audit_writer_write(struct writer *w, struct ring *ring, uint64_t gaps, uint64_t *ret_at,
                       struct err *err) {
    return writer_write_from(w, ring, gaps, false, ret_at, err);
}

int audit_writer_note(struct writer *w, const char *event, const char *text, struct err *err) {
    if (writer_begin(w, err) < 0)
        return -1;
    writer_add_event(w, event, text);
    return writer_commit(w, err);
}

int audit_writer_start(struct writer *w, struct err *err) {
    if (writer_begin(w, err) < 0)
        return -1;
    writer_add_event(w, "start", "");
    if (audit_segment_gate_add(&w->segment, slice_str(w->instance), err) < 0)
        return writer_rollback(w);
    return writer_commit(w, err);
}

/* The last record about a gate, by itself or by another one: it has no ring any more. */
static int writer_end_gate(struct writer *w, struct slice instance, const char *event, const char *text,
                           struct err *err) {
    if (writer_begin(w, err) < 0)
        return -1;
    writer_add_event(w, event, text);
    if (audit_segment_gate_remove(&w->segment, instance, err) < 0)
        return writer_rollback(w);
    return writer_commit(w, err);
}

int audit_writer_stop(struct writer *w, struct err *err) {
    return writer_end_gate(w, slice_str(w->instance), "stop", "", err);
}

/* ---- is the log complete? ---- */

/* The log's first signature covers its beginning, before there is any record: from then on a log without a
 * head file has lost it. */
static int writer_sign_birth(struct writer *w, struct err *err) {
    struct chain_point point = {.time_ms = clock_wall_ms()};
    memcpy(point.log_id, w->segment.meta.log_id, CHAIN_ID);
    audit_chain_sign(w->key, &point);
    return audit_chain_head_write(w->dir, w->key, &point, err);
}

int audit_writer_check(struct writer *w, struct err *err) {
    struct chain_point head = {0}, promise;
    char text[128] = "";
    int rc = 0;
    if (writer_begin(w, err) < 0)
        return -1;
    /* Under the lock: a head is written after its commit, so it cannot be ahead. */
    enum chain_head got = audit_chain_head_read(w->dir, &head, NULL);
    bool has = got == CHAIN_HEAD_READ, none = got == CHAIN_HEAD_NONE;
    const bool was_deleted = none && w->seq == 0 && audit_chain_promise_read(w->dir, &promise);
    if (was_deleted)
        snprintf(text, sizeof(text), "the log before this one was deleted: %llu of its records were signed",
                 (unsigned long long)promise.seq);
    else if (has ? memcmp(head.log_id, w->segment.meta.log_id, CHAIN_ID) != 0 : !none)
        snprintf(text, sizeof(text), "the signed head was not that of this log");
    else if (none && w->seq > 0)
        snprintf(text, sizeof(text), "the signed head was missing");
    else if (has && head.seq > w->seq)
        snprintf(text, sizeof(text), "the log ended at record %llu, but %llu was signed",
                 (unsigned long long)w->seq, (unsigned long long)head.seq);
    else if (none)
        rc = writer_sign_birth(w, err);
    if (!text[0]) {
        writer_rollback(w);
        return rc;
    }
    writer_add_event(w, "broken", text);
    if (writer_commit(w, err) < 0)
        return -1;
    if (was_deleted)
        return writer_sign_birth(w, err);
    /* Kept as evidence under another name, so that the next signature does not overwrite it. */
    cleanup_free char *from = NULL, *to = NULL;
    if (asprintf(&from, "%s/head", w->dir) > 0 && asprintf(&to, "%s/head.broken", w->dir) > 0)
        rename(from, to);
    return 0;
}

/* ---- rings of dead processes ---- */

/* The last position that was committed for an instance, wherever that was. */
static uint64_t writer_ring_position(struct writer *w, struct slice instance) {
    uint64_t position = audit_segment_ring(&w->segment, instance);
    for (uint64_t number = w->segment.meta.number; position == 0 && --number > 0;) {
        struct segment s;
        if (audit_segment_open(&s, w->dir, number, SEGMENT_READ, NULL) < 0)
            break;
        position = audit_segment_ring(&s, instance);
        audit_segment_close(&s);
    }
    return position;
}

static int writer_recover_ring(struct writer *w, struct ring *ring, struct err *err) {
    struct slice instance = slice_of(ring->head->instance, RING_INSTANCE_LEN);
    bool complete = audit_ring_resume(ring, writer_ring_position(w, instance));
    uint64_t before = w->written;
    while (audit_ring_used(ring) > 0) {
        uint64_t at;
        if (writer_write_from(w, ring, 0, true, &at, err) < 0)
            return -1;
        audit_ring_release(ring, at);
    }
    if (!complete && audit_writer_note(w, "gap", "a ring was damaged; its last records are lost", err) < 0)
        return -1;
    char text[96];
    uint64_t lost = audit_ring_lost(ring->head);
    if (lost > 0) {
        snprintf(text, sizeof(text), "%llu records of instance %.8s could not be kept",
                 (unsigned long long)lost, ring->head->instance);
        if (audit_writer_note(w, "gap", text, err) < 0)
            return -1;
        atomic_store(&ring->head->lost, 0);
    }
    snprintf(text, sizeof(text), "%llu records of instance %.8s, which did not end by itself",
             (unsigned long long)(w->written - before), ring->head->instance);
    return writer_end_gate(w, instance, "recovered", text, err);
}

/* A killed gate has left a ring, unless the ring was deleted. */
static int writer_miss_rings(struct writer *w, struct err *err) {
    cleanup_arena struct arena a;
    struct slice *gates;
    size_t count;
    arena_init(&a);
    int rc = audit_segment_gates(&w->segment, &a, &gates, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct slice path = arena_printf(&a, "%s/ring-%.*s", w->dir, SLICE_FMT(gates[i]));
        if (access(path.ptr, F_OK) == 0 || errno != ENOENT || slice_is(gates[i], w->instance))
            continue;
        struct slice text = arena_printf(
            &a, "the ring of instance %.*s is gone: its last records may be missing", SLICE_FMT(gates[i]));
        rc = writer_end_gate(w, gates[i], "gap", text.ptr, err);
    }
    return rc;
}

/* Recorded once: the file stays, under a name that recovery does not read. */
static int writer_set_aside(struct writer *w, const char *name, const char *path, struct err *err) {
    char text[192];
    cleanup_free char *aside = NULL;
    snprintf(text, sizeof(text),
             "%.32s is of another version of sallyport, or damaged: its records are not in this log; it was "
             "set aside as unread-%.32s",
             name, name);
    if (asprintf(&aside, "%s/unread-%s", w->dir, name) < 0)
        return err_set(err, "out of memory");
    if (writer_end_gate(w, slice_from(slice_str(name), strlen("ring-")), "unread", text, err) < 0)
        return -1;
    return rename(path, aside) == 0 ? 0 : err_set(err, "rename `%s`: %s", path, strerror(errno));
}

int audit_writer_recover(struct writer *w, struct err *err) {
    DIR *d = opendir(w->dir);
    if (!d)
        return err_set(err, "open `%s`: %s", w->dir, strerror(errno));
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(d));) {
        struct ring ring;
        cleanup_free char *path = NULL;
        if (!slice_starts(slice_str(entry->d_name), SLICE("ring-")))
            continue;
        if (asprintf(&path, "%s/%s", w->dir, entry->d_name) < 0)
            break;
        enum ring_left left = audit_ring_adopt(&ring, path);
        if (left == RING_FOREIGN)
            rc = writer_set_aside(w, entry->d_name, path, err);
        if (left != RING_ADOPTED)
            continue;
        rc = writer_recover_ring(w, &ring, err);
        if (rc == 0)
            audit_ring_remove(&ring);
        else
            audit_ring_close(&ring);
    }
    closedir(d);
    return rc < 0 ? -1 : writer_miss_rings(w, err);
}

/* ---- checkpoints, segments, retention ---- */

bool audit_writer_sign_due(const struct writer *w, uint64_t mono_ms) {
    return w->seq > w->signed_seq && (w->seq - w->signed_seq >= AUDIT_CHECKPOINT_RECORDS ||
                                      mono_ms - w->signed_ms >= AUDIT_CHECKPOINT_MS);
}

static int writer_add_point(struct writer *w, struct chain_point *ret_point, struct err *err) {
    *ret_point = (struct chain_point){.seq = w->seq, .time_ms = clock_wall_ms()};
    memcpy(ret_point->log_id, w->segment.meta.log_id, CHAIN_ID);
    memcpy(ret_point->hash, w->hash, CHAIN_HASH);
    audit_chain_sign(w->key, ret_point);
    return audit_segment_add_point(&w->segment, ret_point, err);
}

/* One transaction: perhaps the seal, then the signature. */
static int writer_point(struct writer *w, bool seal, struct chain_point *ret_point, struct err *err) {
    if (writer_begin(w, err) < 0)
        return -1;
    if (seal)
        writer_add_event(w, "seal", "the segment is complete; the chain continues in the next");
    if (writer_add_point(w, ret_point, err) < 0 ||
        (seal && audit_segment_exec(&w->segment, "UPDATE meta SET sealed=1", err) < 0))
        return writer_rollback(w);
    return writer_commit(w, err);
}

/* When the newest record of a segment was written; 0 when that is unknown. */
static uint64_t writer_last_us(struct segment *s) {
    sqlite3_stmt *rows = audit_segment_blocks(s, 0, 0, true);
    uint64_t time_us = 0;
    cleanup_free char *room = NULL;
    if (rows && sqlite3_step(rows) == SQLITE_ROW) {
        struct slice body = audit_unpack(audit_segment_column(rows, 3), &room);
        struct segment_frame frame;
        struct audit_record r;
        while (audit_segment_frame_next(&body, &frame))
            if (audit_record_read(frame.bytes, &r) && r.number[AUDIT_TIME_US] > time_us)
                time_us = r.number[AUDIT_TIME_US];
    }
    sqlite3_finalize(rows);
    return time_us;
}

/* Without a shipper, every segment may be removed. */
static bool writer_may_go(const struct writer *w, uint64_t last_seq) {
    struct audit_shipped shipped;
    return !w->ships || (audit_shipped_read(w->dir, &shipped) && last_seq <= shipped.seq &&
                         memcmp(shipped.log_id, w->segment.meta.log_id, CHAIN_ID) == 0);
}

static bool writer_is_old(struct writer *w, uint64_t number, struct chain_point *ret_last) {
    struct segment s;
    if (audit_segment_open(&s, w->dir, number, SEGMENT_WRITE, NULL) < 0)
        return false;
    uint64_t last_us = writer_last_us(&s);
    bool old = audit_segment_read_head(&s, &ret_last->seq, ret_last->hash, NULL) == 0 && s.meta.sealed &&
               last_us > 0 && last_us / 1000 + w->retain_ms < clock_wall_ms() &&
               writer_may_go(w, ret_last->seq);
    audit_segment_close(&s);
    return old;
}

static void writer_unlink(const struct writer *w, uint64_t number) {
    char path[4096], side[4128];
    audit_segment_path(w->dir, number, path, sizeof(path));
    unlink(path);
    snprintf(side, sizeof(side), "%s-wal", path);
    unlink(side);
    snprintf(side, sizeof(side), "%s-shm", path);
    unlink(side);
}

static int writer_note_retired(struct writer *w, uint64_t number, const struct chain_point *last,
                               struct err *err) {
    char hash[2 * CHAIN_HASH + 1], text[256];
    hex_str(last->hash, CHAIN_HASH, hash);
    snprintf(text, sizeof(text), "{\"segment\":%llu,\"last_seq\":%llu,\"last_hash\":\"%s\"}",
             (unsigned long long)number, (unsigned long long)last->seq, hash);
    return audit_writer_note(w, "retired", text, err);
}

/* A signature is on disk before the head file refers to it. */
static int writer_publish(struct writer *w, bool seal, struct err *err) {
    struct chain_point point;
    if (!w->durable && audit_segment_exec(&w->segment, "PRAGMA synchronous=FULL", err) < 0)
        return -1;
    int rc = writer_point(w, seal, &point, err);
    if (!w->durable)
        audit_segment_exec(&w->segment, "PRAGMA synchronous=NORMAL", NULL);
    if (rc < 0)
        return -1;
    w->signed_seq = point.seq;
    w->signed_ms = clock_mono_ms();
    return audit_chain_head_write(w->dir, w->key, &point, err);
}

/* First writes and signs the records about the removal, then removes the files: verify can distinguish a
 * retired segment from a deleted one, and never looks for a signed record in a removed file. */
static int writer_retire(struct writer *w, struct err *err) {
    uint64_t *numbers = NULL;
    size_t count = 0, old = 0;
    if (w->retain_ms == 0)
        return 0;
    if (audit_segment_list(w->dir, &numbers, &count, err) < 0)
        return -1;
    int rc = 0;
    struct chain_point last;
    for (; rc == 0 && old < count && numbers[old] <= w->segment.meta.number; old++) {
        if (!writer_is_old(w, numbers[old], &last))
            break;
        rc = writer_note_retired(w, numbers[old], &last, err);
    }
    if (rc == 0 && old > 0)
        rc = writer_publish(w, false, err);
    for (size_t i = 0; rc == 0 && i < old; i++)
        writer_unlink(w, numbers[i]);
    free(numbers);
    return rc;
}

int audit_writer_sign(struct writer *w, struct err *err) {
    bool seal = audit_segment_bytes(&w->segment) >= w->segment_bytes;
    if (writer_publish(w, seal, err) < 0)
        return -1;
    if (seal)
        sqlite3_wal_checkpoint_v2(w->segment.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    else if (w->signed_ms < w->retire_ms)
        return 0;
    w->retire_ms = w->signed_ms + AUDIT_RETIRE_MS;
    return writer_retire(w, err);
}
