#include "state/versions.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/db.h"

#include <stdlib.h>
#include <string.h>

#define VERSIONS_FILE "versions.sqlite"

struct state_versions {
    struct db *db;
};

static const char versions_schema[] =
    "CREATE TABLE IF NOT EXISTS versions("
    " path TEXT NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL, text BLOB NOT NULL, by TEXT NOT NULL,"
    " note TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY(path, number)) STRICT, WITHOUT ROWID;";

int state_versions_open(const char *home, struct state_versions **ret_versions, struct err *err) {
    struct state_versions *v = mem_zalloc(sizeof(*v));
    if (io_make_dir(home, err) < 0 || db_open(home, VERSIONS_FILE, false, versions_schema, &v->db, err) < 0) {
        state_versions_close(v);
        return -1;
    }
    *ret_versions = v;
    return 0;
}

void state_versions_close(struct state_versions *v) {
    if (!v)
        return;
    db_close(v->db);
    free(v);
}

static struct db_stmt *prepare(struct state_versions *v, const char *sql, struct slice path) {
    struct db_stmt *row = db_prepare(v->db, sql);
    db_bind_text(row, 1, path);
    return row;
}

/* The newest version's number, 0 if there is none; *ret_same: it has this hash. */
static int newest(struct state_versions *v, struct slice path, const char hash[SHA_HEX], uint64_t *ret_number,
                  bool *ret_same, struct err *err) {
    static const char sql[] = "SELECT number, hash FROM versions WHERE path=?1 ORDER BY number DESC LIMIT 1";
    struct db_stmt *row = prepare(v, sql, path);
    *ret_number = 0;
    *ret_same = false;
    if (db_step(row)) {
        *ret_number = (uint64_t)db_int(row, 0);
        *ret_same = slice_eq(slice_of(hash, SHA_HEX), db_text(row, 1));
    }
    return db_finish(row, err) < 0 ? -1 : 0;
}

static int add(struct state_versions *v, const struct state_version *one, struct slice path,
               struct slice text, struct err *err) {
    struct db_stmt *row = prepare(
        v, "INSERT INTO versions(path,number,hash,text,by,note,at_ms) VALUES(?1,?2,?3,?4,?5,?6,?7)", path);
    db_bind_int(row, 2, (int64_t)one->number);
    db_bind_text(row, 3, slice_of(one->hash, SHA_HEX));
    db_bind_blob(row, 4, text);
    db_bind_text(row, 5, one->by);
    db_bind_text(row, 6, one->note);
    db_bind_int(row, 7, (int64_t)one->at_ms);
    if (db_run(row, err) < 0)
        return -1;
    row = prepare(v, "DELETE FROM versions WHERE path=?1 AND number<=?2", path);
    db_bind_int(row, 2, (int64_t)one->number - STATE_VERSIONS_MAX);
    return db_run(row, err) < 0 ? -1 : 0;
}

int state_versions_add(struct state_versions *v, struct slice path, struct slice text, struct slice by,
                       struct slice note, uint64_t now_ms, struct err *err) {
    struct state_version one = {.by = by, .note = note, .at_ms = now_ms};
    bool same;
    sha_256_hex(text, one.hash);
    if (db_begin(v->db, err) < 0)
        return -1;
    bool fine = newest(v, path, one.hash, &one.number, &same, err) == 0;
    one.number++;
    if (fine && !same)
        fine = add(v, &one, path, text, err) == 0;
    return db_end(v->db, fine, err);
}

int state_versions_list(struct state_versions *v, struct slice path,
                        void (*each)(void *ctx, const struct state_version *one), void *ctx,
                        struct err *err) {
    struct db_stmt *row =
        prepare(v, "SELECT number,hash,by,note,at_ms FROM versions WHERE path=?1 ORDER BY number DESC", path);
    while (db_step(row)) {
        struct state_version one = {.number = (uint64_t)db_int(row, 0),
                                    .by = db_text(row, 2),
                                    .note = db_text(row, 3),
                                    .at_ms = (uint64_t)db_int(row, 4)};
        struct slice hash = db_text(row, 1);
        if (hash.len == SHA_HEX)
            memcpy(one.hash, hash.ptr, SHA_HEX);
        each(ctx, &one);
    }
    return db_finish(row, err) < 0 ? -1 : 0;
}

int state_versions_get(struct state_versions *v, struct slice path, uint64_t number, struct arena *a,
                       struct slice *ret_text, struct err *err) {
    struct db_stmt *row = prepare(v, "SELECT text FROM versions WHERE path=?1 AND number=?2", path);
    db_bind_int(row, 2, (int64_t)number);
    bool found = db_step(row);
    if (found)
        *ret_text = arena_dup(a, db_text(row, 0));
    return db_finish(row, err) < 0 ? -1 : found;
}
