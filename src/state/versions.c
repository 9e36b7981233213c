#include "state/versions.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/sqlite.h"

#include <stdio.h>
#include <string.h>

#define VERSIONS_FILE "versions.sqlite"

struct state_versions {
    sqlite3 *db;
};

static const char versions_schema[] =
    "CREATE TABLE IF NOT EXISTS versions("
    " path TEXT NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL, text BLOB NOT NULL, by TEXT NOT NULL,"
    " note TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY(path, number)) STRICT, WITHOUT ROWID;";

int state_versions_open(const char *home, struct state_versions **ret_versions, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/" VERSIONS_FILE, home) < 0)
        return err_set(err, "out of memory");
    struct state_versions *v = mem_zalloc(sizeof(*v));
    if (io_make_dir(home, err) < 0 || state_sqlite_open(path, false, versions_schema, &v->db, err) < 0) {
        state_versions_close(v);
        return err_wrap(err, "open `%s`", path);
    }
    *ret_versions = v;
    return 0;
}

void state_versions_close(struct state_versions *v) {
    if (!v)
        return;
    sqlite3_close(v->db);
    free(v);
}

static int prepare(struct state_versions *v, const char *sql, struct slice path, sqlite3_stmt **ret_row,
                   struct err *err) {
    if (sqlite3_prepare_v2(v->db, sql, -1, ret_row, NULL) != SQLITE_OK)
        return state_sqlite_fail(v->db, err);
    sqlite3_bind_text64(*ret_row, 1, path.ptr, path.len, SQLITE_STATIC, SQLITE_UTF8);
    return 0;
}

static int finish(struct state_versions *v, sqlite3_stmt *row, struct err *err) {
    return sqlite3_finalize(row) == SQLITE_OK ? 0 : state_sqlite_fail(v->db, err);
}

/* The newest one's number, 0 when there is none; *ret_same: it has this hash. */
static int newest(struct state_versions *v, struct slice path, const char hash[SHA_HEX], uint64_t *ret_number,
                  bool *ret_same, struct err *err) {
    static const char sql[] = "SELECT number, hash FROM versions WHERE path=?1 ORDER BY number DESC LIMIT 1";
    sqlite3_stmt *row;
    if (prepare(v, sql, path, &row, err) < 0)
        return -1;
    *ret_number = 0;
    *ret_same = false;
    if (sqlite3_step(row) == SQLITE_ROW) {
        *ret_number = (uint64_t)sqlite3_column_int64(row, 0);
        *ret_same = slice_eq(slice_of(hash, SHA_HEX), slice_str((const char *)sqlite3_column_text(row, 1)));
    }
    return finish(v, row, err);
}

static void bind(sqlite3_stmt *row, int i, struct slice text) {
    sqlite3_bind_text64(row, i, text.len ? text.ptr : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

int state_versions_add(struct state_versions *v, struct slice path, struct slice text, struct slice by,
                       struct slice note, uint64_t now_ms, struct err *err) {
    char hash[SHA_HEX];
    uint64_t number;
    bool same;
    sqlite3_stmt *row;
    sha_256_hex(text, hash);
    if (newest(v, path, hash, &number, &same, err) < 0)
        return -1;
    if (same)
        return 0;
    if (prepare(v, "INSERT INTO versions(path,number,hash,text,by,note,at_ms) VALUES(?1,?2,?3,?4,?5,?6,?7)",
                path, &row, err) < 0)
        return -1;
    sqlite3_bind_int64(row, 2, (sqlite3_int64)number + 1);
    bind(row, 3, slice_of(hash, SHA_HEX));
    sqlite3_bind_blob64(row, 4, text.len ? text.ptr : "", text.len, SQLITE_STATIC);
    bind(row, 5, by);
    bind(row, 6, note);
    sqlite3_bind_int64(row, 7, (sqlite3_int64)now_ms);
    sqlite3_step(row);
    if (finish(v, row, err) < 0 ||
        prepare(v, "DELETE FROM versions WHERE path=?1 AND number<=?2", path, &row, err) < 0)
        return -1;
    sqlite3_bind_int64(row, 2, (sqlite3_int64)number + 1 - STATE_VERSIONS_MAX);
    sqlite3_step(row);
    return finish(v, row, err);
}

static struct slice column(sqlite3_stmt *row, int i) {
    const char *bytes = sqlite3_column_blob(row, i);
    return slice_of(bytes ? bytes : "", (size_t)sqlite3_column_bytes(row, i));
}

int state_versions_list(struct state_versions *v, struct slice path,
                        void (*each)(void *ctx, const struct state_version *one), void *ctx,
                        struct err *err) {
    sqlite3_stmt *row;
    if (prepare(v, "SELECT number,hash,by,note,at_ms FROM versions WHERE path=?1 ORDER BY number DESC", path,
                &row, err) < 0)
        return -1;
    while (sqlite3_step(row) == SQLITE_ROW) {
        struct state_version one = {.number = (uint64_t)sqlite3_column_int64(row, 0),
                                    .by = column(row, 2),
                                    .note = column(row, 3),
                                    .at_ms = (uint64_t)sqlite3_column_int64(row, 4)};
        struct slice hash = column(row, 1);
        if (hash.len == SHA_HEX)
            memcpy(one.hash, hash.ptr, SHA_HEX);
        each(ctx, &one);
    }
    return finish(v, row, err);
}

int state_versions_get(struct state_versions *v, struct slice path, uint64_t number, struct arena *a,
                       struct slice *ret_text, struct err *err) {
    sqlite3_stmt *row;
    if (prepare(v, "SELECT text FROM versions WHERE path=?1 AND number=?2", path, &row, err) < 0)
        return -1;
    sqlite3_bind_int64(row, 2, (sqlite3_int64)number);
    bool found = sqlite3_step(row) == SQLITE_ROW;
    if (found)
        *ret_text = arena_dup(a, column(row, 0));
    return finish(v, row, err) < 0 ? -1 : found;
}
