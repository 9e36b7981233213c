#include "state/marks.h"

#include "base/mem.h"
#include "io/anchor.h"
#include "state/sqlite.h"

#include <stdio.h>

#define MARKS_SCHEMA_VERSION 1

struct marks {
    sqlite3 *db;
    struct io_anchor file, wal;
    sqlite3_stmt *put;
    unsigned char store_id[LIVE_ID_BYTES];
    int rc; /* first failure of the open transaction */
};

static const char marks_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;"
    "INSERT OR IGNORE INTO meta VALUES('schema', 1);"
    "INSERT OR IGNORE INTO meta VALUES('store_id', randomblob(16));"
    "CREATE TABLE IF NOT EXISTS counters("
    " key BLOB NOT NULL, kind INTEGER NOT NULL, window_ms INTEGER NOT NULL,"
    " start_ms INTEGER NOT NULL, value INTEGER NOT NULL,"
    " max INTEGER NOT NULL, refill INTEGER NOT NULL, used_ms INTEGER NOT NULL, exact BLOB,"
    " PRIMARY KEY(key, kind, window_ms)) STRICT, WITHOUT ROWID;"
    "COMMIT;";

/* A mark of the same window only rises. One of an older window is outdated and changes nothing. */
static const char marks_put_sql[] =
    "INSERT INTO counters(key,kind,window_ms,start_ms,value,max,refill,used_ms,exact)"
    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)"
    " ON CONFLICT(key,kind,window_ms) DO UPDATE SET"
    " value=CASE WHEN excluded.start_ms>start_ms OR excluded.exact IS NOT NULL THEN excluded.value"
    "  ELSE max(value,excluded.value) END,"
    " start_ms=excluded.start_ms, max=excluded.max, refill=excluded.refill, used_ms=excluded.used_ms,"
    " exact=excluded.exact WHERE excluded.start_ms>=start_ms OR excluded.exact IS NOT NULL";

static int marks_fail(const struct marks *m, struct err *err) { return state_sqlite_fail(m->db, err); }

static int marks_read_meta(struct marks *m, struct err *err) {
    sqlite3_stmt *stmt = NULL;
    int64_t version = 0;
    size_t id_len = 0;
    if (sqlite3_prepare_v2(m->db, "SELECT name, value FROM meta", -1, &stmt, NULL) != SQLITE_OK)
        return marks_fail(m, err);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        struct slice name = slice_str((const char *)sqlite3_column_text(stmt, 0));
        if (slice_is(name, "schema"))
            version = sqlite3_column_int64(stmt, 1);
        if (slice_is(name, "store_id") && sqlite3_column_bytes(stmt, 1) == LIVE_ID_BYTES) {
            memcpy(m->store_id, sqlite3_column_blob(stmt, 1), LIVE_ID_BYTES);
            id_len = LIVE_ID_BYTES;
        }
    }
    if (sqlite3_finalize(stmt) != SQLITE_OK)
        return marks_fail(m, err);
    if (version != MARKS_SCHEMA_VERSION || id_len != LIVE_ID_BYTES)
        return err_set(err, "not a counter database of this version");
    return 0;
}

static int marks_setup(struct marks *m, const char *path, bool read_only, struct err *err) {
    if (state_sqlite_open(path, read_only, marks_schema, &m->db, err) < 0)
        return -1;
    if (marks_read_meta(m, err) < 0)
        return -1;
    if (!read_only &&
        sqlite3_prepare_v3(m->db, marks_put_sql, -1, SQLITE_PREPARE_PERSISTENT, &m->put, NULL) != SQLITE_OK)
        return marks_fail(m, err);
    cleanup_free char *wal = NULL;
    if (asprintf(&wal, "%s-wal", path) < 0)
        return err_set(err, "out of memory");
    io_anchor_set(&m->file, path, IO_ANCHOR_GROWS);
    io_anchor_set(&m->wal, wal, 0);
    return 0;
}

int state_marks_check(struct marks *m, struct err *err) {
    return io_anchor_check(&m->file, err) < 0 ? -1 : io_anchor_check(&m->wal, err);
}

int state_marks_open(const char *path, bool read_only, struct marks **ret_marks, struct err *err) {
    struct marks *m = mem_zalloc(sizeof(*m));
    if (marks_setup(m, path, read_only, err) < 0) {
        state_marks_close(m);
        return err_wrap(err, "open `%s`", path);
    }
    *ret_marks = m;
    return 0;
}

void state_marks_close(struct marks *m) {
    if (!m)
        return;
    sqlite3_finalize(m->put);
    state_sqlite_close(m->db, &m->file);
    io_anchor_free(&m->file);
    io_anchor_free(&m->wal);
    free(m);
}

const unsigned char *state_marks_store_id(const struct marks *m) { return m->store_id; }

void state_marks_begin(struct marks *m) { m->rc = sqlite3_exec(m->db, "BEGIN IMMEDIATE", NULL, NULL, NULL); }

void state_marks_put(struct marks *m, const struct live_counter *c, const struct state_mark *mark,
                     const struct state_meter *exact) {
    if (m->rc != SQLITE_OK)
        return;
    sqlite3_stmt *s = m->put;
    sqlite3_bind_blob(s, 1, c->key, c->key_len, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, c->kind);
    sqlite3_bind_int64(s, 3, (sqlite3_int64)c->window_ms);
    sqlite3_bind_int64(s, 4, (sqlite3_int64)mark->start_ms);
    sqlite3_bind_int64(s, 5, mark->value);
    sqlite3_bind_int64(s, 6, c->max);
    sqlite3_bind_int64(s, 7, c->refill);
    sqlite3_bind_int64(s, 8, (sqlite3_int64)c->used_ms);
    if (exact)
        sqlite3_bind_blob(s, 9, exact, sizeof(*exact), SQLITE_STATIC);
    else
        sqlite3_bind_null(s, 9);
    sqlite3_step(s);
    m->rc = sqlite3_reset(s);
}

int state_marks_commit(struct marks *m, struct err *err) {
    if (m->rc == SQLITE_OK)
        m->rc = sqlite3_exec(m->db, "COMMIT", NULL, NULL, NULL);
    if (m->rc == SQLITE_OK)
        return 0;
    marks_fail(m, err);
    if (!sqlite3_get_autocommit(m->db))
        sqlite3_exec(m->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

/* False for a row that this program did not write. */
static bool marks_row(sqlite3_stmt *s, struct live_counter *c) {
    int len = sqlite3_column_bytes(s, 0);
    int64_t kind = sqlite3_column_int64(s, 1);
    *c = (struct live_counter){
        .window_ms = (uint64_t)sqlite3_column_int64(s, 2),
        .mark = {(uint64_t)sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4)},
        .max = sqlite3_column_int64(s, 5),
        .refill = sqlite3_column_int64(s, 6),
        .used_ms = (uint64_t)sqlite3_column_int64(s, 7),
        .key_len = (uint16_t)len,
        .kind = (uint8_t)kind,
    };
    if (len < 1 || len > STATE_KEY_MAX || kind < 0 || kind > STATE_IDENTICAL ||
        !state_kind_durable((enum state_kind)kind) || c->window_ms == 0 || c->mark.value < 0 || c->max < 0 ||
        c->refill < 0)
        return false;
    memcpy(c->key, sqlite3_column_blob(s, 0), (size_t)len);
    if (sqlite3_column_bytes(s, 8) == sizeof(c->meter))
        memcpy(&c->meter, sqlite3_column_blob(s, 8), sizeof(c->meter));
    else
        state_meter_restore(&c->mark, (enum state_kind)kind, c->window_ms, &c->meter);
    return c->meter.value >= 0;
}

int state_marks_load(struct marks *m, void (*each)(void *ctx, const struct live_counter *c), void *ctx,
                     struct err *err) {
    sqlite3_stmt *s = NULL;
    static const char sql[] =
        "SELECT key,kind,window_ms,start_ms,value,max,refill,used_ms,exact FROM counters";
    if (sqlite3_prepare_v2(m->db, sql, -1, &s, NULL) != SQLITE_OK)
        return marks_fail(m, err);
    bool sound = true;
    while (sound && sqlite3_step(s) == SQLITE_ROW) {
        struct live_counter c;
        sound = marks_row(s, &c);
        if (sound)
            each(ctx, &c);
    }
    int rc = sqlite3_finalize(s);
    if (!sound)
        return err_set(err, "a counter in the database is damaged");
    return rc == SQLITE_OK ? 0 : marks_fail(m, err);
}

int state_marks_prune(struct marks *m, uint64_t now_ms, struct err *err) {
    sqlite3_stmt *s = NULL;
    /* Twice the window, because a sliding one reaches back; a bucket when its refill has filled it. */
    static const char sql[] =
        "DELETE FROM counters WHERE start_ms + 2 * window_ms < ?1 AND"
        " (kind <> 2 OR (refill > 0 AND start_ms + (value / refill + 1) * window_ms < ?1))";
    if (sqlite3_prepare_v2(m->db, sql, -1, &s, NULL) != SQLITE_OK)
        return marks_fail(m, err);
    sqlite3_bind_int64(s, 1, (sqlite3_int64)now_ms);
    sqlite3_step(s);
    return sqlite3_finalize(s) == SQLITE_OK ? 0 : marks_fail(m, err);
}
