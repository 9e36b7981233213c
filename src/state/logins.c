#include "state/logins.h"

#include "base/mem.h"
#include "base/rand.h"
#include "base/sha.h"
#include "state/db.h"
#include "state/generation.h"

#include <stdlib.h>
#include <string.h>

#define LOGINS_FILE "logins.sqlite"
#define LOGINS_LIVE "logins.live"

struct state_logins {
    char *home;
    struct db *db; /* NULL before the first use: a gate's start does not pay for it */
    struct state_generation *live;
};

static const char logins_schema[] =
    "CREATE TABLE IF NOT EXISTS logins("
    " hash BLOB PRIMARY KEY, once INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " name TEXT NOT NULL, grant_version INTEGER NOT NULL, token TEXT NOT NULL,"
    " roles INTEGER NOT NULL, expires_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

int state_logins_open(const char *home, struct state_logins **ret_logins, struct err *err) {
    struct state_generation *live;
    if (state_generation_open(home, LOGINS_LIVE, &live, err) < 0)
        return err_wrap(err, "sign-ins");
    struct state_logins *l = mem_zalloc(sizeof(*l));
    l->home = mem_dup(home, strlen(home));
    l->live = live;
    *ret_logins = l;
    return 0;
}

static int connect(struct state_logins *l, struct err *err) {
    return l->db ? db_renew(l->db, true, NULL, err)
                 : db_open(l->home, LOGINS_FILE, false, logins_schema, &l->db, err);
}

void state_logins_close(struct state_logins *l) {
    if (!l)
        return;
    db_close(l->db);
    state_generation_close(l->live);
    free(l->home);
    free(l);
}

/* The statement with the hash of this secret. */
static struct db_stmt *begin(struct state_logins *l, const char *sql, struct slice secret) {
    struct db_stmt *s = db_prepare(l->db, sql);
    unsigned char sum[SHA_BYTES];
    sha_256(&secret, 1, sum);
    db_bind_blob(s, 1, slice_of((char *)sum, sizeof(sum)));
    return s;
}

static int add(struct state_logins *l, const struct state_login *login, bool once, uint64_t now_ms,
               char ret_secret[STATE_LOGIN_TEXT], struct err *err) {
    if (connect(l, err) < 0)
        return -1;
    struct db_stmt *sweep = db_prepare(l->db, "DELETE FROM logins WHERE expires_ms<=?1");
    db_bind_int(sweep, 1, (int64_t)now_ms);
    if (db_run(sweep, err) < 0)
        return -1;
    rand_token(ret_secret, STATE_LOGIN_CHARS);
    uint64_t until_ms = now_ms + (once ? STATE_LINK_MS : STATE_LOGIN_MS);
    if (login->expires_ms && login->expires_ms < until_ms)
        until_ms = login->expires_ms;
    struct db_stmt *s = begin(l,
                              "INSERT INTO logins(hash,once,kind,name,grant_version,token,roles,expires_ms)"
                              " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
                              slice_of(ret_secret, STATE_LOGIN_CHARS));
    db_bind_int(s, 2, once);
    db_bind_int(s, 3, (int64_t)login->kind);
    db_bind_text(s, 4, login->name);
    db_bind_int(s, 5, (int64_t)login->grant_version);
    db_bind_text(s, 6, login->token);
    db_bind_int(s, 7, login->roles);
    db_bind_int(s, 8, (int64_t)until_ms);
    return db_run(s, err) < 0 ? -1 : 0;
}

int state_logins_create(struct state_logins *l, const struct state_login *login, uint64_t now_ms,
                        char ret_cookie[STATE_LOGIN_TEXT], struct err *err) {
    return add(l, login, false, now_ms, ret_cookie, err);
}

int state_logins_find(struct state_logins *l, struct slice cookie, uint64_t now_ms, struct arena *a,
                      struct state_login *ret_login, struct err *err) {
    if (cookie.len != STATE_LOGIN_CHARS)
        return 0;
    if (connect(l, err) < 0)
        return -1;
    struct db_stmt *s = begin(l,
                              "SELECT kind,name,grant_version,token,roles,expires_ms FROM logins"
                              " WHERE hash=?1 AND once=0 AND expires_ms>?2",
                              cookie);
    db_bind_int(s, 2, (int64_t)now_ms);
    bool found = db_step(s);
    if (found)
        *ret_login = (struct state_login){.kind = (enum state_login_kind)db_int(s, 0),
                                          .name = arena_dup(a, db_text(s, 1)),
                                          .grant_version = (uint64_t)db_int(s, 2),
                                          .token = arena_dup(a, db_text(s, 3)),
                                          .roles = (uint32_t)db_int(s, 4),
                                          .expires_ms = (uint64_t)db_int(s, 5)};
    return db_finish(s, err) < 0 ? -1 : found;
}

int state_logins_end(struct state_logins *l, struct slice cookie, struct err *err) {
    if (connect(l, err) < 0)
        return -1;
    struct db_stmt *s = begin(l, "DELETE FROM logins WHERE hash=?1 AND once=0", cookie);
    int64_t ended = db_run(s, err);
    state_generation_raise(l->live);
    return ended < 0 ? -1 : 0;
}

uint64_t state_logins_generation(const struct state_logins *l) { return state_generation_get(l->live); }

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
    struct db_stmt *s =
        begin(l, "DELETE FROM logins WHERE hash=?1 AND once=1 AND expires_ms>?2 RETURNING name,roles", code);
    db_bind_int(s, 2, (int64_t)now_ms);
    bool taken = db_step(s);
    if (taken) {
        login.name = arena_dup(&a, db_text(s, 0));
        login.roles = (uint32_t)db_int(s, 1);
    }
    if (db_finish(s, err) < 0)
        return -1;
    if (!taken)
        return 0;
    return add(l, &login, false, now_ms, ret_cookie, err) < 0 ? -1 : 1;
}
