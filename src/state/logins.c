#include "state/logins.h"

#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "state/sqlite.h"

#include <stdio.h>
#include <string.h>

#define LOGINS_FILE "logins.sqlite"

enum statement { STATEMENT_ADD, STATEMENT_FIND, STATEMENT_END, STATEMENT_TAKE, STATEMENT_SWEEP, STATEMENTS };

struct state_logins {
    char *path;
    sqlite3 *db; /* NULL before the first use: a gate's start does not pay for it */
    sqlite3_stmt *statements[STATEMENTS];
};

static const char logins_schema[] =
    "CREATE TABLE IF NOT EXISTS logins("
    " hash BLOB PRIMARY KEY, once INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " name TEXT NOT NULL, grant_version INTEGER NOT NULL, token TEXT NOT NULL,"
    " roles INTEGER NOT NULL, expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

static const char *const logins_sql[STATEMENTS] = {
    [STATEMENT_ADD] = "INSERT INTO logins(hash,once,kind,name,grant_version,token,roles,expires_ms)"
                      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [STATEMENT_FIND] = "SELECT kind,name,grant_version,token,roles,expires_ms FROM logins"
                       " WHERE hash=?1 AND once=0 AND expires_ms>?2",
    [STATEMENT_END] = "DELETE FROM logins WHERE hash=?1 AND once=0",
    [STATEMENT_TAKE] = "DELETE FROM logins WHERE hash=?1 AND once=1 AND expires_ms>?2 RETURNING name,roles",
    [STATEMENT_SWEEP] = "DELETE FROM logins WHERE expires_ms<=?2",
};

int state_logins_open(const char *home, struct state_logins **ret_logins, struct err *err) {
    struct state_logins *l = mem_zalloc(sizeof(*l));
    if (asprintf(&l->path, "%s/" LOGINS_FILE, home) < 0) {
        free(l);
        return err_set(err, "out of memory");
    }
    *ret_logins = l;
    return 0;
}

static int connect(struct state_logins *l, struct err *err) {
    if (l->db)
        return 0;
    int rc = state_sqlite_open(l->path, false, logins_schema, &l->db, err);
    for (size_t i = 0; rc == 0 && i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(l->db, logins_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &l->statements[i],
                               NULL) != SQLITE_OK)
            rc = state_sqlite_fail(l->db, err);
    return rc < 0 ? err_wrap(err, "open `%s`", l->path) : 0;
}

void state_logins_close(struct state_logins *l) {
    if (!l)
        return;
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(l->statements[i]);
    sqlite3_close(l->db);
    free(l->path);
    free(l);
}

/* The statement with the hash of this secret, and a time. */
static sqlite3_stmt *begin(struct state_logins *l, enum statement which, struct slice secret, uint64_t ms) {
    sqlite3_stmt *s = l->statements[which];
    unsigned char sum[SHA_BYTES];
    sha_256(&secret, 1, sum);
    sqlite3_bind_blob(s, 1, sum, sizeof(sum), SQLITE_TRANSIENT);
    if (which != STATEMENT_ADD && which != STATEMENT_END)
        sqlite3_bind_int64(s, 2, (sqlite3_int64)ms);
    return s;
}

static int end(struct state_logins *l, sqlite3_stmt *s, int rc, struct err *err) {
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : state_sqlite_fail(l->db, err);
}

static int add(struct state_logins *l, const struct state_login *login, bool once, uint64_t now_ms,
               char ret_secret[STATE_LOGIN_TEXT], struct err *err) {
    if (connect(l, err) < 0)
        return -1;
    sqlite3_stmt *sweep = begin(l, STATEMENT_SWEEP, SLICE(""), now_ms);
    if (end(l, sweep, sqlite3_step(sweep), err) < 0)
        return -1;
    rand_token(ret_secret, STATE_LOGIN_CHARS);
    uint64_t until_ms = now_ms + (once ? STATE_LINK_MS : STATE_LOGIN_MS);
    if (login->expires_ms && login->expires_ms < until_ms)
        until_ms = login->expires_ms;
    sqlite3_stmt *s = begin(l, STATEMENT_ADD, slice_of(ret_secret, STATE_LOGIN_CHARS), 0);
    sqlite3_bind_int(s, 2, once);
    sqlite3_bind_int(s, 3, (int)login->kind);
    sqlite3_bind_text64(s, 4, login->name.len ? login->name.ptr : "", login->name.len, SQLITE_STATIC,
                        SQLITE_UTF8);
    sqlite3_bind_int64(s, 5, (sqlite3_int64)login->grant_version);
    sqlite3_bind_text64(s, 6, login->token.len ? login->token.ptr : "", login->token.len, SQLITE_STATIC,
                        SQLITE_UTF8);
    sqlite3_bind_int64(s, 7, login->roles);
    sqlite3_bind_int64(s, 8, (sqlite3_int64)until_ms);
    return end(l, s, sqlite3_step(s), err);
}

int state_logins_create(struct state_logins *l, const struct state_login *login, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err) {
    return add(l, login, false, now_ms, ret_cookie, err);
}

static struct slice column(sqlite3_stmt *s, int i, struct arena *a) {
    return arena_dup(a,
                     slice_of((const char *)sqlite3_column_text(s, i), (size_t)sqlite3_column_bytes(s, i)));
}

int state_logins_find(struct state_logins *l, struct slice cookie, uint64_t now_ms, struct arena *a,
                      struct state_login *ret_login, struct err *err) {
    if (cookie.len != STATE_LOGIN_CHARS)
        return 0;
    if (connect(l, err) < 0)
        return -1;
    sqlite3_stmt *s = begin(l, STATEMENT_FIND, cookie, now_ms);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        *ret_login = (struct state_login){.kind = (enum state_login_kind)sqlite3_column_int(s, 0),
                                          .name = column(s, 1, a),
                                          .grant_version = (uint64_t)sqlite3_column_int64(s, 2),
                                          .token = column(s, 3, a),
                                          .roles = (uint32_t)sqlite3_column_int64(s, 4),
                                          .expires_ms = (uint64_t)sqlite3_column_int64(s, 5)};
    return end(l, s, rc, err) < 0 ? -1 : rc == SQLITE_ROW;
}

int state_logins_end(struct state_logins *l, struct slice cookie, struct err *err) {
    if (connect(l, err) < 0)
        return -1;
    sqlite3_stmt *s = begin(l, STATEMENT_END, cookie, 0);
    return end(l, s, sqlite3_step(s), err);
}

int state_logins_link(struct state_logins *l, struct slice user, uint32_t roles, uint64_t now_ms,
                      char ret_code[STATE_LOGIN_TEXT], struct err *err) {
    const struct state_login login = {.kind = STATE_LOGIN_USER, .name = user, .roles = roles};
    return add(l, &login, true, now_ms, ret_code, err);
}

int state_logins_redeem(struct state_logins *l, struct slice code, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err) {
    if (code.len != STATE_LOGIN_CHARS)
        return 0;
    if (connect(l, err) < 0)
        return -1;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct state_login login = {.kind = STATE_LOGIN_USER};
    sqlite3_stmt *s = begin(l, STATEMENT_TAKE, code, now_ms);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) {
        login.name = column(s, 0, &a);
        login.roles = (uint32_t)sqlite3_column_int64(s, 1);
    }
    if (end(l, s, rc, err) < 0)
        return -1;
    if (rc != SQLITE_ROW)
        return 0;
    return add(l, &login, false, now_ms, ret_cookie, err) < 0 ? -1 : 1;
}
