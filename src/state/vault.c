#include "state/vault.h"

#include "base/mem.h"
#include "io/file.h"
#include "state/db.h"

#include <stdlib.h>

#define VAULT_FILE "vault.sqlite"

struct state_vault {
    struct db *db;
};

/* Tokens lost in a power failure become unknown tokens: not worth an fsync for every result. */
static const char vault_schema[] = "PRAGMA synchronous=NORMAL;"
                                   "CREATE TABLE IF NOT EXISTS vault("
                                   " scope BLOB NOT NULL, id TEXT NOT NULL, sealed BLOB NOT NULL,"
                                   " expires_ms INTEGER NOT NULL, PRIMARY KEY(scope, id)"
                                   ") STRICT, WITHOUT ROWID;"
                                   "CREATE INDEX IF NOT EXISTS vault_expiry ON vault(expires_ms);";

int state_vault_open(const char *home, struct state_vault **ret_vault, struct err *err) {
    struct state_vault *v = mem_zalloc(sizeof(*v));
    if (io_make_dir(home, err) < 0 || db_open(home, VAULT_FILE, false, vault_schema, &v->db, err) < 0) {
        state_vault_close(v);
        return -1;
    }
    *ret_vault = v;
    return 0;
}

void state_vault_close(struct state_vault *v) {
    if (!v)
        return;
    db_close(v->db);
    free(v);
}

bool state_vault_is_remote(const struct state_vault *v) { return db_is_remote(v->db); }

int state_vault_begin(struct state_vault *v, struct err *err) { return db_begin(v->db, err); }

int state_vault_commit(struct state_vault *v, struct err *err) { return db_end(v->db, true, err); }

int state_vault_put(struct state_vault *v, struct slice scope, struct slice id, struct slice sealed,
                    uint64_t expires_ms, struct err *err) {
    struct db_stmt *st = db_prepare(
        v->db, "INSERT INTO vault(scope,id,sealed,expires_ms) VALUES(?1,?2,?3,?4)"
               " ON CONFLICT(scope,id) DO UPDATE SET sealed=excluded.sealed,expires_ms=excluded.expires_ms");
    db_bind_blob(st, 1, scope);
    db_bind_text(st, 2, id);
    db_bind_blob(st, 3, sealed);
    db_bind_int(st, 4, (int64_t)expires_ms);
    return db_run(st, err) < 0 ? -1 : 0;
}

/* The first row, and whether there is a second one. */
static int look(struct state_vault *v, const char *sql, struct slice scope, struct slice id, uint64_t now_ms,
                struct arena *a, struct slice *ret_id, struct slice *ret_sealed, struct err *err) {
    struct db_stmt *st = db_prepare(v->db, sql);
    int found = 0;
    db_bind_blob(st, 1, scope);
    db_bind_text(st, 2, id);
    db_bind_int(st, 3, (int64_t)now_ms);
    if (db_step(st)) {
        found = 1;
        *ret_id = arena_dup(a, db_text(st, 0));
        *ret_sealed = arena_dup(a, db_text(st, 1));
        if (db_step(st))
            found = 2;
    }
    return db_finish(st, err) < 0 ? -1 : found;
}

int state_vault_find(struct state_vault *v, struct slice scope, struct slice id, uint64_t now_ms,
                     struct arena *a, struct slice *ret_sealed, struct err *err) {
    struct slice same;
    return look(v, "SELECT id, sealed FROM vault WHERE scope=?1 AND id=?2 AND expires_ms>?3", scope, id,
                now_ms, a, &same, ret_sealed, err);
}

bool state_vault_get(struct state_vault *v, struct slice scope, struct slice id, uint64_t now_ms,
                     struct arena *a, struct slice *ret_sealed) {
    return state_vault_find(v, scope, id, now_ms, a, ret_sealed, NULL) == 1;
}

unsigned state_vault_prefix(struct state_vault *v, struct slice scope, struct slice prefix, uint64_t now_ms,
                            struct arena *a, struct slice *ret_id, struct slice *ret_sealed) {
    /* ids contain only A-Z, 0-9 and _, so everything with this prefix sorts below the prefix followed by a
     * tilde */
    int found = look(
        v, "SELECT id, sealed FROM vault WHERE scope=?1 AND id>=?2 AND id<?2||'~' AND expires_ms>?3 LIMIT 2",
        scope, prefix, now_ms, a, ret_id, ret_sealed, NULL);
    return found > 0 ? (unsigned)found : 0;
}

size_t state_vault_expire(struct state_vault *v, uint64_t now_ms) {
    struct db_stmt *st = db_prepare(v->db, "DELETE FROM vault WHERE expires_ms<=?1");
    db_bind_int(st, 1, (int64_t)now_ms);
    int64_t gone = db_run(st, NULL);
    return gone > 0 ? (size_t)gone : 0;
}
