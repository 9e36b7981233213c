#include "state/grants.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "io/file.h"
#include "state/generation.h"
#include "state/sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GRANTS_FILE "grants.sqlite"
#define GRANTS_LIVE "grants.live"
#define GRANT_HINT_CHARS 8

struct row { /* a grant, with what stays inside this file */
    struct state_grant grant;
    unsigned char hash[STATE_HASH_BYTES];
    unsigned char old_hash[STATE_HASH_BYTES];
    bool has_old;
    bool used; /* used_ms is to be written */
};

struct state_grants {
    sqlite3 *db; /* NULL: looked for, and nothing there */
    bool look_only;
    _Atomic uint64_t *live; /* shared by every process; NULL when only looked at */
    uint64_t seen;          /* the number up to which changes are taken in */
    int64_t data_version;
    struct arena arena;
    struct row *rows;
    size_t count;
    struct map by_hash;
    struct map by_name;
};

static const char grants_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS grants("
    " number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, label TEXT NOT NULL,"
    " hash BLOB NOT NULL UNIQUE, hint TEXT NOT NULL, policy TEXT NOT NULL, limits TEXT NOT NULL,"
    " servers TEXT NOT NULL, tools TEXT NOT NULL, roles INTEGER NOT NULL, version INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, revoked_ms INTEGER NOT NULL,"
    " used_ms INTEGER NOT NULL, rotated_ms INTEGER NOT NULL, old_hash BLOB, grace_ms INTEGER NOT NULL"
    ") STRICT;"
    "COMMIT;";

static const char *const role_names[] = {"admin", "policy-manager", "approver", "viewer", "person"};

uint32_t state_role_from(struct slice name) {
    for (size_t i = 0; i < ARRAY_LEN(role_names); i++)
        if (slice_is(name, role_names[i]))
            return 1u << i;
    return 0;
}

const char *state_role_name(size_t i) { return i < ARRAY_LEN(role_names) ? role_names[i] : NULL; }

void state_token_hash(struct slice token, unsigned char ret_hash[STATE_HASH_BYTES]) {
    sha_256(&token, 1, ret_hash);
}

/* ---- opening ---- */

static int grants_setup(struct state_grants *g, const char *home, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/" GRANTS_FILE, home) < 0)
        return err_set(err, "out of memory");
    if (g->look_only && access(path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (!g->look_only &&
        (io_make_dir(home, err) < 0 || state_generation_open(home, GRANTS_LIVE, &g->live, err) < 0))
        return -1;
    if (state_sqlite_open(path, g->look_only, grants_schema, &g->db, err) < 0)
        return err_wrap(err, "open `%s`", path);
    g->seen = UINT64_MAX; /* nothing yet */
    return state_grants_refresh(g, err);
}

int state_grants_open(const char *home, bool look_only, struct state_grants **ret_grants, struct err *err) {
    struct state_grants *g = mem_zalloc(sizeof(*g));
    g->look_only = look_only;
    arena_init(&g->arena);
    map_init(&g->by_hash);
    map_init(&g->by_name);
    if (grants_setup(g, home, err) < 0) {
        state_grants_close(g);
        return err_wrap(err, "grants");
    }
    *ret_grants = g;
    return 0;
}

void state_grants_close(struct state_grants *g) {
    if (!g)
        return;
    state_grants_write_used(g);
    sqlite3_close(g->db);
    state_generation_close(g->live);
    map_free(&g->by_hash);
    map_free(&g->by_name);
    arena_free(&g->arena);
    free(g);
}

/* ---- reading ---- */

uint64_t state_grants_generation(const struct state_grants *g) { return state_generation_get(g->live); }

uint64_t state_grants_seen(const struct state_grants *g) { return g->seen; }

static struct slice column(sqlite3_stmt *s, int i) {
    return slice_of((const char *)sqlite3_column_blob(s, i), (size_t)sqlite3_column_bytes(s, i));
}

static const char *column_text(struct state_grants *g, sqlite3_stmt *s, int i) {
    return arena_dup(&g->arena, column(s, i)).ptr;
}

/* One a line. */
static const char *const *column_list(struct state_grants *g, sqlite3_stmt *s, int i, size_t *ret_count) {
    struct slice rest = arena_dup(&g->arena, column(s, i)), item;
    size_t count = 0, lines = rest.len > 0;
    for (size_t k = 0; k < rest.len; k++)
        lines += rest.ptr[k] == '\n';
    const char **items = arena_array(&g->arena, const char *, lines);
    while (rest.len) {
        slice_cut(&rest, '\n', &item);
        items[count++] = arena_dup(&g->arena, item).ptr;
    }
    *ret_count = count;
    return items;
}

static void row_read(struct state_grants *g, sqlite3_stmt *s, struct row *r) {
    struct state_grant *to = &r->grant;
    *to = (struct state_grant){
        .name = column_text(g, s, 0),
        .label = column_text(g, s, 1),
        .hint = column_text(g, s, 3),
        .policy = column_text(g, s, 4),
        .limits = column_text(g, s, 5),
        .roles = (uint32_t)sqlite3_column_int64(s, 8),
        .version = (uint64_t)sqlite3_column_int64(s, 9),
        .created_ms = (uint64_t)sqlite3_column_int64(s, 10),
        .expires_ms = (uint64_t)sqlite3_column_int64(s, 11),
        .revoked_ms = (uint64_t)sqlite3_column_int64(s, 12),
        .used_ms = (uint64_t)sqlite3_column_int64(s, 13),
        .rotated_ms = (uint64_t)sqlite3_column_int64(s, 14),
        .grace_ms = (uint64_t)sqlite3_column_int64(s, 16),
    };
    to->servers = column_list(g, s, 6, &to->server_count);
    to->tools = column_list(g, s, 7, &to->tool_count);
    struct slice hash = column(s, 2), old = column(s, 15);
    if (hash.len == STATE_HASH_BYTES) {
        memcpy(r->hash, hash.ptr, hash.len);
        map_put(&g->by_hash, slice_of((char *)r->hash, STATE_HASH_BYTES), r);
    }
    r->has_old = old.len == STATE_HASH_BYTES;
    if (r->has_old) {
        memcpy(r->old_hash, old.ptr, old.len);
        map_put(&g->by_hash, slice_of((char *)r->old_hash, STATE_HASH_BYTES), r);
    }
    map_put(&g->by_name, slice_str(to->name), r);
}

static void grants_clear(struct state_grants *g) {
    map_free(&g->by_hash);
    map_free(&g->by_name);
    map_init(&g->by_hash);
    map_init(&g->by_name);
    arena_reset(&g->arena);
    g->rows = NULL;
    g->count = 0;
}

static int64_t pragma_data_version(struct state_grants *g) {
    sqlite3_stmt *s = NULL;
    int64_t version = -1;
    if (sqlite3_prepare_v2(g->db, "PRAGMA data_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        version = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return version;
}

bool state_grants_stale(struct state_grants *g) {
    if (!g->db)
        return false;
    return state_grants_generation(g) != g->seen || pragma_data_version(g) != g->data_version;
}

static int64_t count_rows(struct state_grants *g) {
    sqlite3_stmt *s = NULL;
    int64_t count = -1;
    if (sqlite3_prepare_v2(g->db, "SELECT count(*) FROM grants", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        count = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return count;
}

static int grants_load(struct state_grants *g, struct err *err) {
    static const char sql[] =
        "SELECT name,label,hash,hint,policy,limits,servers,tools,roles,version,created_ms,expires_ms,"
        "revoked_ms,used_ms,rotated_ms,old_hash,grace_ms FROM grants ORDER BY number";
    sqlite3_stmt *s = NULL;
    int64_t room = count_rows(g);
    if (room < 0 || room > STATE_GRANTS_MAX)
        return room < 0 ? state_sqlite_fail(g->db, err)
                        : err_set(err, "more than %d grants", STATE_GRANTS_MAX);
    if (sqlite3_prepare_v2(g->db, sql, -1, &s, NULL) != SQLITE_OK)
        return state_sqlite_fail(g->db, err);
    state_grants_write_used(g); /* what the old copy still knows */
    grants_clear(g);
    g->rows = arena_array(&g->arena, struct row, (size_t)room + 1);
    while (g->count < (size_t)room && sqlite3_step(s) == SQLITE_ROW)
        row_read(g, s, &g->rows[g->count++]);
    return sqlite3_finalize(s) == SQLITE_OK ? 0 : state_sqlite_fail(g->db, err);
}

int state_grants_refresh(struct state_grants *g, struct err *err) {
    if (!g->db)
        return 0;
    /* Before the rows: a change in between is taken in by the next refresh. */
    uint64_t seen = state_grants_generation(g);
    int64_t version = pragma_data_version(g);
    if (seen == g->seen && version == g->data_version)
        return 0;
    if (grants_load(g, err) < 0)
        return -1;
    g->seen = seen;
    g->data_version = version;
    return 0;
}

const struct state_grant *state_grants_by_token(const struct state_grants *g, struct slice token,
                                                uint64_t now_ms) {
    if (token.len != STATE_TOKEN_TEXT - 1 || !slice_starts(token, SLICE(STATE_GRANT_PREFIX)))
        return NULL;
    unsigned char hash[STATE_HASH_BYTES];
    state_token_hash(token, hash);
    const struct row *r = map_get(&g->by_hash, slice_of((char *)hash, sizeof(hash)));
    if (!r || r->grant.revoked_ms || (r->grant.expires_ms && r->grant.expires_ms <= now_ms))
        return NULL;
    if (memcmp(r->hash, hash, sizeof(hash)) != 0 && r->grant.grace_ms <= now_ms)
        return NULL;
    return &r->grant;
}

bool state_grants_is_old(const struct state_grant *grant, struct slice token) {
    unsigned char hash[STATE_HASH_BYTES];
    state_token_hash(token, hash);
    return memcmp(container_of(grant, const struct row, grant)->hash, hash, sizeof(hash)) != 0;
}

const struct state_grant *state_grants_by_name(const struct state_grants *g, struct slice name) {
    const struct row *r = map_get(&g->by_name, name);
    return r ? &r->grant : NULL;
}

size_t state_grants_count(const struct state_grants *g) { return g->count; }
const struct state_grant *state_grants_at(const struct state_grants *g, size_t i) {
    return &g->rows[i].grant;
}

/* ---- use ---- */

void state_grants_used(struct state_grants *g, const struct state_grant *grant, uint64_t now_ms) {
    (void)g;
    struct row *r = container_of((struct state_grant *)(uintptr_t)grant, struct row, grant);
    if (now_ms < r->grant.used_ms + STATE_GRANT_USED_MS)
        return;
    r->grant.used_ms = now_ms;
    r->used = true;
}

/* Nothing depends on this: after a failure the next call tries again. */
void state_grants_write_used(struct state_grants *g) {
    sqlite3_stmt *s = NULL;
    bool any = false;
    for (size_t i = 0; i < g->count; i++)
        any |= g->rows[i].used;
    if (!any || g->look_only ||
        sqlite3_prepare_v2(g->db, "UPDATE grants SET used_ms=max(used_ms,?1) WHERE name=?2", -1, &s, NULL) !=
            SQLITE_OK)
        return;
    /* Not worth an fsync in the middle of the gate's work. */
    sqlite3_exec(g->db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    bool begun = sqlite3_exec(g->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    for (size_t i = 0; begun && i < g->count; i++) {
        if (!g->rows[i].used)
            continue;
        sqlite3_bind_int64(s, 1, (sqlite3_int64)g->rows[i].grant.used_ms);
        sqlite3_bind_text(s, 2, g->rows[i].grant.name, -1, SQLITE_STATIC);
        sqlite3_step(s);
        sqlite3_reset(s);
        g->rows[i].used = false;
    }
    if (begun)
        sqlite3_exec(g->db, "COMMIT", NULL, NULL, NULL);
    sqlite3_finalize(s);
    sqlite3_exec(g->db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
}

/* ---- changing ---- */

static bool name_ok(const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        char c = name[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (i == 0 || !strchr("._-@", c)))
            return false;
    }
    return len > 0 && len <= STATE_GRANT_NAME_MAX;
}

static int join(const char *what, const char *const *items, size_t count, struct arena *a,
                struct slice *ret_text, struct err *err) {
    struct slice text = {0};
    if (count > STATE_GRANT_GLOBS_MAX)
        return err_set(err, "more than %d %s", STATE_GRANT_GLOBS_MAX, what);
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(items[i]);
        if (len == 0 || len > STATE_GRANT_NAME_MAX * 4 || strchr(items[i], '\n'))
            return err_set(err, "`%s` is no pattern for %s", items[i], what);
        text = arena_printf(a, "%.*s%s%s", SLICE_FMT(text), i ? "\n" : "", items[i]);
    }
    *ret_text = text;
    return 0;
}

static void bind(sqlite3_stmt *s, int i, struct slice text) {
    sqlite3_bind_text(s, i, text.len ? text.ptr : "", (int)text.len, SQLITE_TRANSIENT);
}

static void mint(char token[STATE_TOKEN_TEXT], unsigned char hash[STATE_HASH_BYTES]) {
    memcpy(token, STATE_GRANT_PREFIX, strlen(STATE_GRANT_PREFIX));
    rand_token(token + strlen(STATE_GRANT_PREFIX), STATE_TOKEN_CHARS);
    state_token_hash(slice_of(token, STATE_TOKEN_TEXT - 1), hash);
}

/* Runs one change and tells every gate: before, so that one which dies here cannot leave them asleep, and
 * after, because only then there is something to see. */
static int change(struct state_grants *g, sqlite3_stmt *s, struct err *err) {
    state_generation_raise(g->live);
    sqlite3_step(s);
    int changed = sqlite3_changes(g->db);
    int rc = sqlite3_finalize(s);
    state_generation_raise(g->live);
    if (rc != SQLITE_OK)
        return state_sqlite_fail(g->db, err);
    if (state_grants_refresh(g, err) < 0)
        return -1;
    return changed;
}

static int prepare(struct state_grants *g, const char *sql, sqlite3_stmt **ret_stmt, struct err *err) {
    if (g->look_only || !g->db)
        return err_set(err, "the grants were opened to look at");
    return sqlite3_prepare_v2(g->db, sql, -1, ret_stmt, NULL) == SQLITE_OK ? 0
                                                                           : state_sqlite_fail(g->db, err);
}

static int create_check(struct state_grants *g, const struct state_grant *grant, struct err *err) {
    if (!name_ok(grant->name))
        return err_set(err,
                       "`%s` is no name for a grant: letters, digits and . _ - @, %d at most, a letter or "
                       "digit first",
                       grant->name, STATE_GRANT_NAME_MAX);
    if (strlen(grant->label) > STATE_GRANT_LABEL_MAX)
        return err_set(err, "the label is longer than %d bytes", STATE_GRANT_LABEL_MAX);
    if (grant->limits[0] && !name_ok(grant->limits))
        return err_set(err, "`%s` is no name for limits", grant->limits);
    if (state_grants_refresh(g, err) < 0)
        return -1;
    const struct state_grant *there = state_grants_by_name(g, slice_str(grant->name));
    if (there) /* the audit log would not tell them apart */
        return err_set(err, "there is a grant `%s` already%s", grant->name,
                       there->revoked_ms ? ", revoked; names are not used twice" : "");
    if (g->count >= STATE_GRANTS_MAX)
        return err_set(err, "there are %d grants already", STATE_GRANTS_MAX);
    return 0;
}

int state_grants_create(struct state_grants *g, const struct state_grant *grant, uint64_t now_ms,
                        char ret_token[STATE_TOKEN_TEXT], struct err *err) {
    static const char sql[] =
        "INSERT INTO grants(name,label,hash,hint,policy,limits,servers,tools,roles,version,created_ms,"
        "expires_ms,revoked_ms,used_ms,rotated_ms,grace_ms)"
        " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,1,?10,?11,0,0,0,0)";
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice servers, tools;
    sqlite3_stmt *s = NULL;
    if (prepare(g, sql, &s, err) < 0)
        return -1;
    if (create_check(g, grant, err) < 0 ||
        join("servers", grant->servers, grant->server_count, &a, &servers, err) < 0 ||
        join("tools", grant->tools, grant->tool_count, &a, &tools, err) < 0) {
        sqlite3_finalize(s);
        return -1;
    }
    unsigned char hash[STATE_HASH_BYTES];
    mint(ret_token, hash);
    bind(s, 1, slice_str(grant->name));
    bind(s, 2, slice_str(grant->label));
    sqlite3_bind_blob(s, 3, hash, sizeof(hash), SQLITE_TRANSIENT);
    bind(s, 4, slice_of(ret_token, GRANT_HINT_CHARS));
    bind(s, 5, slice_str(grant->policy));
    bind(s, 6, slice_str(grant->limits));
    bind(s, 7, servers);
    bind(s, 8, tools);
    sqlite3_bind_int64(s, 9, grant->roles);
    sqlite3_bind_int64(s, 10, (sqlite3_int64)now_ms);
    sqlite3_bind_int64(s, 11, (sqlite3_int64)grant->expires_ms);
    return change(g, s, err) < 0 ? -1 : 0;
}

int state_grants_rotate(struct state_grants *g, struct slice name, uint64_t now_ms, uint64_t grace_ms,
                        char ret_token[STATE_TOKEN_TEXT], struct err *err) {
    static const char sql[] = "UPDATE grants SET old_hash=CASE WHEN ?4>0 THEN hash END, hash=?2, hint=?3,"
                              " grace_ms=?4, rotated_ms=?5, version=version+1"
                              " WHERE name=?1 AND revoked_ms=0";
    sqlite3_stmt *s = NULL;
    if (prepare(g, sql, &s, err) < 0)
        return -1;
    unsigned char hash[STATE_HASH_BYTES];
    mint(ret_token, hash);
    bind(s, 1, name);
    sqlite3_bind_blob(s, 2, hash, sizeof(hash), SQLITE_TRANSIENT);
    bind(s, 3, slice_of(ret_token, GRANT_HINT_CHARS));
    sqlite3_bind_int64(s, 4, grace_ms ? (sqlite3_int64)(now_ms + grace_ms) : 0);
    sqlite3_bind_int64(s, 5, (sqlite3_int64)now_ms);
    int changed = change(g, s, err);
    if (changed == 0)
        return err_set(err, "there is no grant `%.*s` to rotate", SLICE_FMT(name));
    return changed < 0 ? -1 : 0;
}

int state_grants_revoke(struct state_grants *g, struct slice name, uint64_t now_ms, struct err *err) {
    static const char sql[] =
        "UPDATE grants SET revoked_ms=CASE WHEN revoked_ms>0 THEN revoked_ms ELSE ?2 END,"
        " version=version+1 WHERE name=?1";
    sqlite3_stmt *s = NULL;
    if (prepare(g, sql, &s, err) < 0)
        return -1;
    bind(s, 1, name);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)now_ms);
    int changed = change(g, s, err);
    if (changed == 0)
        return err_set(err, "there is no grant `%.*s`", SLICE_FMT(name));
    return changed < 0 ? -1 : 0;
}
