#include "state/vault.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/limits.h"
#include "state/sqlite.h"

#include <stdio.h>

#define VAULT_FILE "vault.sqlite"

enum statement { STATEMENT_PUT, STATEMENT_GET, STATEMENT_PREFIX, STATEMENT_EXPIRE, STATEMENTS };

struct state_vault {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
};

/* Tokens lost with the machine's power are unknown tokens: no reason to wait for the disk at every result. */
static const char vault_schema[] = "PRAGMA synchronous=NORMAL;"
                                   "CREATE TABLE IF NOT EXISTS vault("
                                   " scope BLOB NOT NULL, id TEXT NOT NULL, sealed BLOB NOT NULL,"
                                   " expires_ms INTEGER NOT NULL, PRIMARY KEY(scope, id)"
                                   ") STRICT, WITHOUT ROWID;"
                                   "CREATE INDEX IF NOT EXISTS vault_expiry ON vault(expires_ms);";

static const char *const vault_sql[STATEMENTS] = {
    [STATEMENT_PUT] = "INSERT OR REPLACE INTO vault(scope,id,sealed,expires_ms) VALUES(?1,?2,?3,?4)",
    [STATEMENT_GET] = "SELECT id, sealed FROM vault WHERE scope=?1 AND id=?2 AND expires_ms>?3",
    /* ids hold A-Z, 0-9 and _ only: whatever starts so lies below the same text with a tilde behind */
    [STATEMENT_PREFIX] =
        "SELECT id, sealed FROM vault WHERE scope=?1 AND id>=?2 AND id<?2||'~' AND expires_ms>?3 LIMIT 2",
    [STATEMENT_EXPIRE] = "DELETE FROM vault WHERE expires_ms<=?1",
};

int state_vault_open(const char *home, struct state_vault **ret_vault, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/" VAULT_FILE, home) < 0)
        return err_set(err, "out of memory");
    struct state_vault *v = mem_zalloc(sizeof(*v));
    int rc = io_make_dir(home, err);
    if (rc == 0)
        rc = state_sqlite_open(path, false, vault_schema, &v->db, err);
    for (size_t i = 0; rc == 0 && i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(v->db, vault_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &v->statements[i], NULL) !=
            SQLITE_OK)
            rc = state_sqlite_fail(v->db, err);
    if (rc < 0) {
        state_vault_close(v);
        return err_wrap(err, "open `%s`", path);
    }
    *ret_vault = v;
    return 0;
}

void state_vault_close(struct state_vault *v) {
    if (!v)
        return;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(v->statements[i]);
    sqlite3_close(v->db);
    free(v);
}

static int run(struct state_vault *v, const char *sql, struct err *err) {
    return sqlite3_exec(v->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : state_sqlite_fail(v->db, err);
}

int state_vault_begin(struct state_vault *v, struct err *err) { return run(v, "BEGIN IMMEDIATE", err); }

int state_vault_commit(struct state_vault *v, struct err *err) {
    if (run(v, "COMMIT", err) == 0)
        return 0;
    sqlite3_exec(v->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

static void bind(sqlite3_stmt *st, struct slice scope, struct slice id) {
    sqlite3_bind_blob64(st, 1, scope.ptr, scope.len, SQLITE_STATIC);
    sqlite3_bind_text64(st, 2, id.ptr, id.len, SQLITE_STATIC, SQLITE_UTF8);
}

int state_vault_put(struct state_vault *v, struct slice scope, struct slice id, struct slice sealed,
                    uint64_t expires_ms, struct err *err) {
    sqlite3_stmt *st = v->statements[STATEMENT_PUT];
    bind(st, scope, id);
    sqlite3_bind_blob64(st, 3, sealed.ptr, sealed.len, SQLITE_STATIC);
    sqlite3_bind_int64(st, 4, (sqlite3_int64)expires_ms);
    const int rc = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return rc == SQLITE_DONE ? 0 : state_sqlite_fail(v->db, err);
}

static struct slice column(sqlite3_stmt *st, int i, struct arena *a) {
    const void *bytes = sqlite3_column_blob(st, i);
    return arena_dup(a, slice_of(bytes, (size_t)sqlite3_column_bytes(st, i)));
}

/* The first row, and whether there is a second one. */
static unsigned look(sqlite3_stmt *st, struct slice scope, struct slice id, uint64_t now_ms, struct arena *a,
                     struct slice *ret_id, struct slice *ret_sealed) {
    unsigned found = 0;
    bind(st, scope, id);
    sqlite3_bind_int64(st, 3, (sqlite3_int64)now_ms);
    if (sqlite3_step(st) == SQLITE_ROW) {
        found = 1;
        *ret_id = column(st, 0, a);
        *ret_sealed = column(st, 1, a);
        if (sqlite3_step(st) == SQLITE_ROW)
            found = 2;
    }
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return found;
}

bool state_vault_get(struct state_vault *v, struct slice scope, struct slice id, uint64_t now_ms,
                     struct arena *a, struct slice *ret_sealed) {
    struct slice same;
    return look(v->statements[STATEMENT_GET], scope, id, now_ms, a, &same, ret_sealed) == 1;
}

unsigned state_vault_prefix(struct state_vault *v, struct slice scope, struct slice prefix, uint64_t now_ms,
                            struct arena *a, struct slice *ret_id, struct slice *ret_sealed) {
    return look(v->statements[STATEMENT_PREFIX], scope, prefix, now_ms, a, ret_id, ret_sealed);
}

size_t state_vault_expire(struct state_vault *v, uint64_t now_ms) {
    sqlite3_stmt *st = v->statements[STATEMENT_EXPIRE];
    sqlite3_bind_int64(st, 1, (sqlite3_int64)now_ms);
    const bool done = sqlite3_step(st) == SQLITE_DONE;
    sqlite3_reset(st);
    return done ? (size_t)sqlite3_changes64(v->db) : 0;
}
