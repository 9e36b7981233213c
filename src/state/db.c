#include "state/db.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/mem.h"
#include "io/anchor.h"
#include "io/file.h"
#include "state/advice.h"
#include "state/db_postgres.h"
#include "state/limits.h"
#include "state/sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATABASE_FILE "database"

struct db_stmt {
    struct db *db;
    char *text; /* of a cached statement */
    bool busy;
    sqlite3_stmt *lite; /* NULL: PostgreSQL, or it could not be prepared */
    struct db_query *query;
};

struct db {
    sqlite3 *lite; /* NULL: PostgreSQL */
    struct io_anchor file;
    const char *schema; /* of the file; static */
    bool read_only;
    struct db_postgres *postgres;
    struct db_stmt kept[STATE_SQL_KEPT_MAX];
    size_t kept_count;
};

/* ---- opening ---- */

int db_home_dsn(const char *home, char **ret_dsn, struct err *err) {
    cleanup_free char *path = NULL;
    cleanup_buf struct buf text;
    bool missing = false;
    buf_init(&text, STATE_DSN_MAX);
    if (asprintf(&path, "%s/" DATABASE_FILE, home) < 0)
        return err_set(err, "out of memory");
    *ret_dsn = NULL;
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (io_file_read(path, &text, &missing, err) < 0)
        return missing ? 0 : -1;
    struct slice dsn = slice_trim(buf_slice(&text));
    *ret_dsn = mem_dup(dsn.ptr, dsn.len);
    if (state_advice_is_postgres(*ret_dsn))
        return 0;
    free(steal(*ret_dsn));
    return err_set(err, "`%s` holds no DSN that starts with postgres://", path);
}

static int open_file(struct db *db, const char *path, bool read_only, const char *schema, struct err *err) {
    if (state_sqlite_open(path, read_only, schema, &db->lite, err) < 0)
        return err_wrap(err, "open `%s`", path);
    db->schema = schema;
    db->read_only = read_only;
    io_anchor_set(&db->file, path, IO_ANCHOR_GROWS);
    return 0;
}

static void close_file(struct db *db) {
    for (size_t i = 0; i < db->kept_count; i++) {
        sqlite3_finalize(db->kept[i].lite);
        free(db->kept[i].text);
    }
    db->kept_count = 0;
    memset(db->kept, 0, sizeof(db->kept));
    state_sqlite_close(steal(db->lite), &db->file);
    io_anchor_free(&db->file);
}

int db_renew(struct db *db, bool make, bool *ret_new, struct err *err) {
    const bool moved =
        db->lite && io_anchor_check(&db->file, NULL) < 0 && (make || access(db->file.path, F_OK) == 0);
    if (ret_new)
        *ret_new = moved;
    if (!moved)
        return 0;
    struct db fresh = {0};
    if (open_file(&fresh, db->file.path, db->read_only, db->schema, err) < 0)
        return -1;
    close_file(db);
    *db = fresh;
    return 0;
}

int db_open(const char *home, const char *file, bool read_only, const char *schema, struct db **ret_db,
            struct err *err) {
    cleanup_free char *path = NULL, *dsn = NULL;
    *ret_db = NULL;
    if (asprintf(&path, "%s/%s", home, file) < 0)
        return err_set(err, "out of memory");
    if (db_home_dsn(home, &dsn, err) < 0)
        return -1;
    if (!dsn && read_only && access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    struct db *db = mem_zalloc(sizeof(*db));
    char store[32];
    snprintf(store, sizeof(store), "%.*s", (int)strcspn(file, "."), file);
    int rc = dsn ? db_postgres_open(dsn, store, true, &db->postgres, err)
                 : open_file(db, path, read_only, schema, err);
    if (rc < 0) {
        db_close(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

int db_open_dsn(const char *dsn, const char *store, bool writes, struct db **ret_db, struct err *err) {
    struct db *db = mem_zalloc(sizeof(*db));
    if (db_postgres_open(dsn, store, writes, &db->postgres, err) < 0) {
        free(db);
        return -1;
    }
    *ret_db = db;
    return 0;
}

void db_close(struct db *db) {
    if (!db)
        return;
    close_file(db);
    db_postgres_close(db->postgres);
    free(db);
}

bool db_is_remote(const struct db *db) { return db->postgres != NULL; }

/* ---- statements ---- */

/* A cached statement is not compiled again. */
static struct db_stmt *kept_stmt(struct db *db, const char *text) {
    for (size_t i = 0; i < db->kept_count; i++)
        if (!db->kept[i].busy && strcmp(db->kept[i].text, text) == 0)
            return &db->kept[i];
    if (db->kept_count == STATE_SQL_KEPT_MAX)
        return NULL;
    struct db_stmt *st = &db->kept[db->kept_count];
    if (sqlite3_prepare_v3(db->lite, text, -1, SQLITE_PREPARE_PERSISTENT, &st->lite, NULL) != SQLITE_OK)
        return NULL;
    db->kept_count++;
    st->text = mem_dup(text, strlen(text));
    return st;
}

struct db_stmt *db_prepare(struct db *db, const char *text) {
    struct db_stmt *st = db->lite ? kept_stmt(db, text) : NULL;
    if (!st) {
        st = mem_zalloc(sizeof(*st));
        if (db->lite)
            sqlite3_prepare_v2(db->lite, text, -1, &st->lite, NULL);
        else
            st->query = db_postgres_prepare(db->postgres, text);
    }
    st->db = db;
    st->busy = true;
    return st;
}

void db_bind_text(struct db_stmt *st, int at, struct slice text) {
    if (st->query)
        db_postgres_bind(st->query, at, DB_TEXT, text);
    else
        sqlite3_bind_text64(st->lite, at, text.len ? text.ptr : "", text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

void db_bind_blob(struct db_stmt *st, int at, struct slice bytes) {
    if (st->query)
        db_postgres_bind(st->query, at, DB_BLOB, bytes);
    else
        sqlite3_bind_blob64(st->lite, at, bytes.len ? bytes.ptr : "", bytes.len, SQLITE_TRANSIENT);
}

void db_bind_int(struct db_stmt *st, int at, int64_t value) {
    char text[24];
    if (!st->query) {
        sqlite3_bind_int64(st->lite, at, value);
        return;
    }
    int len = snprintf(text, sizeof(text), "%lld", (long long)value);
    db_postgres_bind(st->query, at, DB_INT, slice_of(text, (size_t)len));
}

bool db_step(struct db_stmt *st) {
    return st->query ? db_postgres_step(st->query) : sqlite3_step(st->lite) == SQLITE_ROW;
}

struct slice db_text(struct db_stmt *st, int column) {
    if (st->query)
        return db_postgres_text(st->query, column);
    const char *bytes = sqlite3_column_blob(st->lite, column);
    return slice_of(bytes ? bytes : "", (size_t)sqlite3_column_bytes(st->lite, column));
}

int64_t db_int(struct db_stmt *st, int column) {
    if (!st->query)
        return sqlite3_column_int64(st->lite, column);
    char text[24];
    struct slice digits = db_postgres_text(st->query, column);
    snprintf(text, sizeof(text), "%.*s", SLICE_FMT(digits));
    return strtoll(text, NULL, 10);
}

int64_t db_finish(struct db_stmt *st, struct err *err) {
    struct db *db = st->db;
    if (st->query) {
        int64_t changed = db_postgres_finish(st->query, err);
        free(st);
        return changed;
    }
    bool fine = st->lite && sqlite3_reset(st->lite) == SQLITE_OK;
    int64_t changed = fine ? sqlite3_changes64(db->lite) : state_sqlite_fail(db->lite, err);
    st->busy = false;
    if (st->text) {
        sqlite3_clear_bindings(st->lite);
    } else {
        sqlite3_finalize(st->lite);
        free(st);
    }
    return changed;
}

int64_t db_run(struct db_stmt *st, struct err *err) {
    db_step(st);
    return db_finish(st, err);
}

/* ---- transactions ---- */

static int exec(struct db *db, const char *text, struct err *err) {
    return sqlite3_exec(db->lite, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : state_sqlite_fail(db->lite, err);
}

int db_begin(struct db *db, struct err *err) {
    return db->lite ? exec(db, "BEGIN IMMEDIATE", err) : db_postgres_begin(db->postgres, err);
}

/* Commits are synchronous: nothing counts before it is on disk. */
int db_end(struct db *db, bool fine, struct err *err) {
    if (!db->lite)
        return db_postgres_end(db->postgres, fine, err);
    if (fine && exec(db, "COMMIT", err) == 0)
        return 0;
    if (!sqlite3_get_autocommit(db->lite))
        exec(db, "ROLLBACK", NULL);
    return -1;
}

void db_relax(struct db *db, bool relaxed) {
    if (db->lite)
        exec(db, relaxed ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL", NULL);
}

int64_t db_version(struct db *db, struct err *err) {
    if (!db->lite)
        return db_postgres_version(db->postgres, err);
    struct db_stmt *st = db_prepare(db, "PRAGMA data_version");
    int64_t version = db_step(st) ? db_int(st, 0) : -1;
    return db_finish(st, err) < 0 ? -1 : version;
}

int db_listen(struct db *db, struct err *err) { return db_postgres_listen(db->postgres, err); }

void db_wait(struct db *db, int wake, int timeout_ms) { db_postgres_wait(db->postgres, wake, timeout_ms); }

void db_set_timeout(struct db *db, uint64_t timeout_ms, int stop_fd) {
    db_postgres_set_timeout(db->postgres, timeout_ms, stop_fd);
}

int db_copy(struct db *db, const char *statement, struct slice data, struct err *err) {
    return db_postgres_copy(db->postgres, statement, data, err);
}
