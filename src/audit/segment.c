#include "audit/segment.h"

#include "base/clock.h"
#include "base/mem.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#define SEGMENT_NAME "%06llu.sqlite"
#define SEGMENT_VERSION 1
#define SEGMENT_WAL_KEPT                                                                                     \
    67108864 /* journal_size_limit: SQLite cuts the write-ahead log of an open segment to it */
/* Gates that run or were killed: each has a ring. Segments of version 0.1.0 have no such table. */
#define SEGMENT_GATES "CREATE TABLE IF NOT EXISTS gates(instance TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;"

static const char segment_pragmas[] = "PRAGMA page_size=16384;"
                                      "PRAGMA journal_mode=WAL;"
                                      "PRAGMA synchronous=NORMAL;"
                                      "PRAGMA wal_autocheckpoint=4000;"
                                      "PRAGMA journal_size_limit=67108864;"
                                      "PRAGMA trusted_schema=OFF;"
                                      "PRAGMA cell_size_check=ON;";

static const char segment_schema[] =
    "CREATE TABLE IF NOT EXISTS blocks(first_seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, hash BLOB NOT "
    "NULL,"
    " body BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS meta(id INTEGER PRIMARY KEY CHECK(id=1), version INTEGER NOT NULL,"
    " log_id BLOB NOT NULL, number INTEGER NOT NULL, base_seq INTEGER NOT NULL, base_hash BLOB NOT NULL,"
    " sealed INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS head(id INTEGER PRIMARY KEY CHECK(id=1), seq INTEGER NOT NULL, hash BLOB NOT "
    "NULL)"
    " STRICT;"
    "CREATE TABLE IF NOT EXISTS checkpoints(seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, time_ms INTEGER NOT "
    "NULL,"
    " signature BLOB NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS rings(instance TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT "
    "ROWID;" SEGMENT_GATES;

/* ---- files ---- */

void audit_segment_path(const char *dir, uint64_t number, char *path, size_t cap) {
    snprintf(path, cap, "%s/" SEGMENT_NAME, dir, (unsigned long long)number);
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int audit_segment_list(const char *dir, uint64_t **ret_numbers, size_t *ret_count, struct err *err) {
    DIR *d = opendir(dir);
    if (!d)
        return err_set(err, "open `%s`: %s", dir, strerror(errno));
    uint64_t *numbers = mem_alloc(AUDIT_SEGMENTS_MAX * sizeof(*numbers));
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        struct slice name = slice_str(entry->d_name);
        uint64_t number;
        if (slice_ends(name, SLICE(".sqlite")) && slice_to_u64(slice_upto(name, name.len - 7), &number) &&
            number > 0 && count < AUDIT_SEGMENTS_MAX)
            numbers[count++] = number;
    }
    closedir(d);
    qsort(numbers, count, sizeof(*numbers), by_number);
    *ret_numbers = numbers;
    *ret_count = count;
    return 0;
}

int audit_segment_fail(const struct segment *s, struct err *err) {
    return err_set(err, "`%s`: %s", s->path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
}

int audit_segment_exec(struct segment *s, const char *sql, struct err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : audit_segment_fail(s, err);
}

static int segment_connect(struct segment *s, const char *dir, uint64_t number, enum segment_mode mode,
                           struct err *err) {
    *s = (struct segment){0};
    size_t cap = strlen(dir) + 32;
    s->path = mem_alloc(cap);
    audit_segment_path(dir, number, s->path, cap);
    int flags = mode == SEGMENT_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (sqlite3_open_v2(s->path, &s->db, flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return audit_segment_fail(s, err);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_busy_timeout(s->db, AUDIT_BUSY_MS);
    if (mode == SEGMENT_READ)
        return audit_segment_exec(s, "PRAGMA trusted_schema=OFF", err);
    /* While another process resets the journal, SQLite answers BUSY without calling its busy handler. By the
     * clock: one attempt may be a wait of the handler's. */
    for (const uint64_t until_ms = clock_mono_ms() + AUDIT_BUSY_MS;;) {
        int rc = sqlite3_exec(s->db, segment_pragmas, NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if ((rc & 0xff) != SQLITE_BUSY || clock_mono_ms() >= until_ms)
            return audit_segment_fail(s, err);
        poll(NULL, 0, AUDIT_BUSY_STEP_MS);
    }
}

static int segment_read_meta(struct segment *s, struct err *err) {
    sqlite3_stmt *row = NULL;
    static const char sql[] = "SELECT version, log_id, number, base_seq, base_hash, sealed FROM meta";
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK)
        return audit_segment_fail(s, err);
    bool there = sqlite3_step(row) == SQLITE_ROW,
         newer = there && sqlite3_column_int(row, 0) > SEGMENT_VERSION;
    bool fine = there && sqlite3_column_int(row, 0) == SEGMENT_VERSION &&
                sqlite3_column_bytes(row, 1) == CHAIN_ID && sqlite3_column_bytes(row, 4) == CHAIN_HASH;
    if (fine) {
        memcpy(s->meta.log_id, sqlite3_column_blob(row, 1), CHAIN_ID);
        s->meta.number = (uint64_t)sqlite3_column_int64(row, 2);
        s->meta.base_seq = (uint64_t)sqlite3_column_int64(row, 3);
        memcpy(s->meta.base_hash, sqlite3_column_blob(row, 4), CHAIN_HASH);
        s->meta.sealed = sqlite3_column_int(row, 5) != 0;
    }
    int rc = sqlite3_finalize(row);
    if (rc != SQLITE_OK)
        return audit_segment_fail(s, err);
    if (newer)
        return err_set(err, "`%s` was written by a newer version of sallyport: use that version", s->path);
    return fine ? 0 : err_set(err, "`%s` is not a segment of an audit log", s->path);
}

static int segment_prepare(struct segment *s, enum segment_mode mode, struct err *err) {
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } rows[] = {
        {&s->head, "SELECT seq, hash, (SELECT sealed FROM meta) FROM head"},
        {&s->add, "INSERT INTO blocks VALUES(?1,?2,?3,?4)"},
        {&s->set_head, "UPDATE head SET seq=?1, hash=?2"},
        {&s->set_ring,
         "INSERT INTO rings VALUES(?1,?2) ON CONFLICT(instance) DO UPDATE SET position=excluded.position"},
    };
    const size_t count = mode == SEGMENT_READ ? 1 : ARRAY_LEN(rows);
    for (size_t i = 0; i < count; i++)
        if (sqlite3_prepare_v3(s->db, rows[i].sql, -1, SQLITE_PREPARE_PERSISTENT, rows[i].stmt, NULL) !=
            SQLITE_OK)
            return audit_segment_fail(s, err);
    return 0;
}

static int segment_anchor(struct segment *s, struct err *err) {
    cleanup_free char *wal = NULL;
    if (asprintf(&wal, "%s-wal", s->path) < 0)
        return err_set(err, "out of memory");
    io_anchor_set(&s->file, s->path, IO_ANCHOR_GROWS);
    io_anchor_set(&s->wal, wal, SEGMENT_WAL_KEPT);
    return 0;
}

int audit_segment_open(struct segment *s, const char *dir, uint64_t number, enum segment_mode mode,
                       struct err *err) {
    if (segment_connect(s, dir, number, mode, err) < 0 || segment_read_meta(s, err) < 0 ||
        segment_prepare(s, mode, err) < 0 || (mode == SEGMENT_WRITE && segment_anchor(s, err) < 0)) {
        audit_segment_close(s);
        return -1;
    }
    return 0;
}

bool audit_segment_is_empty(const char *dir, uint64_t number) {
    struct segment s;
    sqlite3_stmt *any = NULL;
    const bool is_empty =
        segment_connect(&s, dir, number, SEGMENT_READ, NULL) == 0 &&
        sqlite3_prepare_v2(s.db, "SELECT 1 FROM sqlite_master", -1, &any, NULL) == SQLITE_OK &&
        sqlite3_step(any) == SQLITE_DONE;
    sqlite3_finalize(any);
    audit_segment_close(&s);
    return is_empty;
}

/* One commit makes the file a segment and tells it which gates there are: another process that finds it may
 * already write, and nobody looks at the segment before it again. */
static int segment_fill(struct segment *s, const struct segment_meta *base, const struct slice *gates,
                        size_t gate_count, struct err *err) {
    if (audit_segment_exec(s, "BEGIN IMMEDIATE", err) < 0 || audit_segment_exec(s, segment_schema, err) < 0)
        return -1;
    sqlite3_stmt *put = NULL;
    if (sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO meta VALUES(1,1,?1,?2,?3,?4,0)", -1, &put, NULL) !=
        SQLITE_OK)
        return audit_segment_fail(s, err);
    sqlite3_bind_blob(put, 1, base->log_id, CHAIN_ID, SQLITE_STATIC);
    sqlite3_bind_int64(put, 2, (sqlite3_int64)base->number);
    sqlite3_bind_int64(put, 3, (sqlite3_int64)base->base_seq);
    sqlite3_bind_blob(put, 4, base->base_hash, CHAIN_HASH, SQLITE_STATIC);
    sqlite3_step(put);
    if (sqlite3_finalize(put) != SQLITE_OK)
        return audit_segment_fail(s, err);
    /* Where another process was first, some of them may have ended since. */
    const bool is_new = sqlite3_changes(s->db) > 0;
    for (size_t i = 0; is_new && i < gate_count; i++)
        if (audit_segment_gate_add(s, gates[i], err) < 0)
            return -1;
    return audit_segment_exec(s, "INSERT OR IGNORE INTO head SELECT 1, base_seq, base_hash FROM meta; COMMIT",
                              err);
}

int audit_segment_create(struct segment *s, const char *dir, const struct segment_meta *base,
                         struct segment *before, struct err *err) {
    cleanup_arena struct arena a;
    struct slice *gates = NULL;
    size_t gate_count = 0;
    char path[4096];
    arena_init(&a);
    if (before && audit_segment_gates(before, &a, &gates, &gate_count, err) < 0)
        return -1;
    audit_segment_path(dir, base->number, path, sizeof(path));
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, "make `%s`: %s", path, strerror(errno));
    close(fd);
    /* On disk before a signed head refers to it. */
    if (segment_connect(s, dir, base->number, SEGMENT_WRITE, err) < 0 ||
        audit_segment_exec(s, "PRAGMA synchronous=FULL", err) < 0 ||
        segment_fill(s, base, gates, gate_count, err) < 0 ||
        audit_segment_exec(s, "PRAGMA synchronous=NORMAL", err) < 0 || segment_read_meta(s, err) < 0 ||
        segment_prepare(s, SEGMENT_WRITE, err) < 0 || segment_anchor(s, err) < 0) {
        audit_segment_close(s);
        return -1;
    }
    return 0;
}

void audit_segment_close(struct segment *s) {
    sqlite3_finalize(s->add);
    sqlite3_finalize(s->head);
    sqlite3_finalize(s->set_head);
    sqlite3_finalize(s->set_ring);
    sqlite3_close(s->db);
    free(s->path);
    io_anchor_free(&s->file);
    io_anchor_free(&s->wal);
    *s = (struct segment){0};
}

int audit_segment_check(struct segment *s, struct err *err) {
    return io_anchor_check(&s->file, err) < 0 ? -1 : io_anchor_check(&s->wal, err);
}

/* SQLite would write its pages back and delete the write-ahead log at the path. */
void audit_segment_abandon(struct segment *s) {
    int on = 1;
    if (s->db) {
        sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
    }
    audit_segment_close(s);
}

/* ---- writing ---- */

static int segment_run(struct segment *s, sqlite3_stmt *stmt, struct err *err) {
    sqlite3_step(stmt);
    return sqlite3_reset(stmt) == SQLITE_OK ? 0 : audit_segment_fail(s, err);
}

int audit_segment_read_head(struct segment *s, uint64_t *ret_seq, unsigned char hash[CHAIN_HASH],
                            struct err *err) {
    bool fine = sqlite3_step(s->head) == SQLITE_ROW && sqlite3_column_bytes(s->head, 1) == CHAIN_HASH;
    if (fine) {
        *ret_seq = (uint64_t)sqlite3_column_int64(s->head, 0);
        memcpy(hash, sqlite3_column_blob(s->head, 1), CHAIN_HASH);
        s->meta.sealed = sqlite3_column_int(s->head, 2) != 0;
    }
    int rc = sqlite3_reset(s->head);
    if (rc != SQLITE_OK)
        return audit_segment_fail(s, err);
    return fine ? 0 : err_set(err, "`%s`: the head is missing", s->path);
}

int audit_segment_write_head(struct segment *s, uint64_t seq, const unsigned char hash[CHAIN_HASH],
                             struct err *err) {
    sqlite3_bind_int64(s->set_head, 1, (sqlite3_int64)seq);
    sqlite3_bind_blob(s->set_head, 2, hash, CHAIN_HASH, SQLITE_STATIC);
    return segment_run(s, s->set_head, err);
}

int audit_segment_add_block(struct segment *s, uint64_t first_seq, uint64_t count,
                            const unsigned char hash[CHAIN_HASH], struct slice body, struct err *err) {
    sqlite3_bind_int64(s->add, 1, (sqlite3_int64)first_seq);
    sqlite3_bind_int64(s->add, 2, (sqlite3_int64)count);
    sqlite3_bind_blob(s->add, 3, hash, CHAIN_HASH, SQLITE_STATIC);
    sqlite3_bind_blob64(s->add, 4, body.ptr, body.len, SQLITE_STATIC);
    return segment_run(s, s->add, err);
}

int audit_segment_add_point(struct segment *s, const struct chain_point *point, struct err *err) {
    sqlite3_stmt *put = NULL;
    if (sqlite3_prepare_v2(s->db, "INSERT OR REPLACE INTO checkpoints VALUES(?1,?2,?3,?4)", -1, &put, NULL) !=
        SQLITE_OK)
        return audit_segment_fail(s, err);
    sqlite3_bind_int64(put, 1, (sqlite3_int64)point->seq);
    sqlite3_bind_blob(put, 2, point->hash, CHAIN_HASH, SQLITE_STATIC);
    sqlite3_bind_int64(put, 3, (sqlite3_int64)point->time_ms);
    sqlite3_bind_blob(put, 4, point->signature, CHAIN_SIGNATURE, SQLITE_STATIC);
    sqlite3_step(put);
    return sqlite3_finalize(put) == SQLITE_OK ? 0 : audit_segment_fail(s, err);
}

int audit_segment_set_ring(struct segment *s, struct slice instance, uint64_t position, struct err *err) {
    sqlite3_bind_text(s->set_ring, 1, instance.ptr, (int)instance.len, SQLITE_STATIC);
    sqlite3_bind_int64(s->set_ring, 2, (sqlite3_int64)position);
    return segment_run(s, s->set_ring, err);
}

static int segment_with_instance(struct segment *s, const char *sql, struct slice instance, struct err *err) {
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return audit_segment_fail(s, err);
    sqlite3_bind_text(stmt, 1, instance.ptr, (int)instance.len, SQLITE_STATIC);
    sqlite3_step(stmt);
    return sqlite3_finalize(stmt) == SQLITE_OK ? 0 : audit_segment_fail(s, err);
}

int audit_segment_gate_add(struct segment *s, struct slice instance, struct err *err) {
    return audit_segment_exec(s, SEGMENT_GATES, err) < 0
               ? -1
               : segment_with_instance(s, "INSERT OR IGNORE INTO gates VALUES(?1)", instance, err);
}

int audit_segment_gate_remove(struct segment *s, struct slice instance, struct err *err) {
    return audit_segment_exec(s, SEGMENT_GATES, err) < 0
               ? -1
               : segment_with_instance(s, "DELETE FROM gates WHERE instance=?1", instance, err);
}

int audit_segment_gates(struct segment *s, struct arena *a, struct slice **ret_list, size_t *ret_count,
                        struct err *err) {
    sqlite3_stmt *rows = NULL;
    *ret_list = arena_array(a, struct slice, SEGMENT_GATES_MAX);
    *ret_count = 0;
    if (audit_segment_exec(s, SEGMENT_GATES, err) < 0 ||
        sqlite3_prepare_v2(s->db, "SELECT instance FROM gates", -1, &rows, NULL) != SQLITE_OK)
        return audit_segment_fail(s, err);
    while (*ret_count < SEGMENT_GATES_MAX && sqlite3_step(rows) == SQLITE_ROW)
        (*ret_list)[(*ret_count)++] = arena_dup(a, audit_segment_column(rows, 0));
    sqlite3_finalize(rows);
    return 0;
}

uint64_t audit_segment_ring(struct segment *s, struct slice instance) {
    sqlite3_stmt *get = NULL;
    uint64_t position = 0;
    if (sqlite3_prepare_v2(s->db, "SELECT position FROM rings WHERE instance=?1", -1, &get, NULL) !=
        SQLITE_OK)
        return 0;
    sqlite3_bind_text(get, 1, instance.ptr, (int)instance.len, SQLITE_STATIC);
    if (sqlite3_step(get) == SQLITE_ROW)
        position = (uint64_t)sqlite3_column_int64(get, 0);
    sqlite3_finalize(get);
    return position;
}

static uint64_t segment_number(struct segment *s, const char *sql) {
    sqlite3_stmt *row = NULL;
    uint64_t number = 0;
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        number = (uint64_t)sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

uint64_t audit_segment_bytes(struct segment *s) {
    return segment_number(s, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
}

bool audit_segment_is_blank(const char *dir, uint64_t number, enum segment_mode mode) {
    struct segment s;
    bool blank = segment_connect(&s, dir, number, mode, NULL) == 0 &&
                 segment_number(&s, "SELECT count(*) + 1 FROM sqlite_schema") == 1;
    audit_segment_close(&s);
    return blank;
}

/* ---- frames ---- */

void audit_segment_frame_head(char to[SEGMENT_FRAME_HEAD], size_t len, const unsigned char hash[CHAIN_HASH]) {
    uint32_t length = htole32((uint32_t)len);
    memcpy(to, &length, sizeof(length));
    memcpy(to + sizeof(length), hash, SEGMENT_TAG);
}

bool audit_segment_frame_next(struct slice *body, struct segment_frame *ret_frame) {
    uint32_t length;
    if (body->len < SEGMENT_FRAME_HEAD)
        return false;
    memcpy(&length, body->ptr, sizeof(length));
    length = le32toh(length);
    if (length > AUDIT_RECORD_MAX || length > body->len - SEGMENT_FRAME_HEAD)
        return false;
    memcpy(ret_frame->tag, body->ptr + sizeof(length), SEGMENT_TAG);
    ret_frame->bytes = slice_of(body->ptr + SEGMENT_FRAME_HEAD, length);
    *body = slice_from(*body, SEGMENT_FRAME_HEAD + length);
    return true;
}

sqlite3_stmt *audit_segment_blocks(struct segment *s, uint64_t from_seq, uint64_t to_seq, bool newest_first) {
    sqlite3_stmt *rows = NULL;
    /* The block that holds from_seq may begin before it. */
#define BLOCKS                                                                                               \
    "SELECT first_seq,count,hash,body FROM blocks WHERE first_seq>=coalesce((SELECT"                         \
    " max(first_seq) FROM blocks WHERE first_seq<=?1),0) AND first_seq<=?2 ORDER BY first_seq"
    const char *sql = newest_first ? BLOCKS " DESC" : BLOCKS;
#undef BLOCKS
    if (sqlite3_prepare_v2(s->db, sql, -1, &rows, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_int64(rows, 1, (sqlite3_int64)from_seq);
    sqlite3_bind_int64(rows, 2, to_seq ? (sqlite3_int64)to_seq : INT64_MAX);
    return rows;
}

struct slice audit_segment_column(sqlite3_stmt *row, int column) {
    const char *bytes = sqlite3_column_blob(row, column);
    return slice_of(bytes ? bytes : "", (size_t)sqlite3_column_bytes(row, column));
}
