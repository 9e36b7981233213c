#include "state/grants.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "io/file.h"
#include "io/work.h"
#include "state/db.h"
#include "state/generation.h"
#include "state/tracker.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GRANTS_FILE "grants.sqlite"
#define GRANTS_LIVE "grants.live"
#define GRANT_HINT_CHARS 8

struct row { /* a grant, with what stays inside this file */
    struct state_grant grant;
    unsigned char hash[STATE_HASH_BYTES];
    unsigned char old_hash[STATE_HASH_BYTES];
    bool has_old;
    bool used; /* used_ms must be written */
};

struct grants_copy { /* a copy of the database at one time */
    struct arena arena;
    struct row *rows;
    size_t count;
    struct map by_hash;
    struct map by_name;
};

struct grants_use {
    const char *name;
    uint64_t used_ms;
};

struct state_grants {
    struct db *db; /* NULL: not found at the last check */
    bool read_only;
    struct state_generation
        *live;     /* shared by every process of the home; NULL when read-only, or in PostgreSQL */
    uint64_t seen; /* the generation up to which changes were read */
    int64_t data_version;
    struct grants_copy *copy;
    struct tracker *tracker; /* NULL: the database is read on demand */
    struct io_loop *loop;    /* NULL: uses are written synchronously; otherwise on its thread */
    struct io_work writing;  /* used by that thread, with its own connection */
    bool is_writing;
    char *home;
    struct db *use_db;
    pthread_mutex_t mutex; /* for the next three, which the thread of `tracker` or `loop` reads */
    struct arena arena;    /* of the uses */
    struct grants_use *uses;
    size_t use_count;
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

static struct grants_copy *copy_new(void) {
    struct grants_copy *copy = mem_zalloc(sizeof(*copy));
    arena_init(&copy->arena);
    map_init(&copy->by_hash);
    map_init(&copy->by_name);
    return copy;
}

static void copy_free(struct grants_copy *copy) {
    if (!copy)
        return;
    map_free(&copy->by_hash);
    map_free(&copy->by_name);
    arena_free(&copy->arena);
    free(copy);
}

static int grants_setup(struct state_grants *g, const char *home, struct err *err) {
    if (!g->read_only && io_make_dir(home, err) < 0)
        return -1;
    if (db_open(home, GRANTS_FILE, g->read_only, grants_schema, &g->db, err) < 0)
        return -1;
    if (!g->db)
        return 0;
    if (!g->read_only && !db_is_remote(g->db) && state_generation_open(home, GRANTS_LIVE, &g->live, err) < 0)
        return -1;
    g->seen = UINT64_MAX; /* nothing yet */
    return state_grants_refresh(g, err);
}

int state_grants_open(const char *home, bool read_only, struct state_grants **ret_grants, struct err *err) {
    struct state_grants *g = mem_zalloc(sizeof(*g));
    g->read_only = read_only;
    g->copy = copy_new();
    arena_init(&g->arena);
    pthread_mutex_init(&g->mutex, NULL);
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
    if (g->loop)
        io_work_finish(g->loop);
    tracker_end(g->tracker);
    db_close(g->use_db);
    free(g->home);
    arena_free(&g->arena);
    pthread_mutex_destroy(&g->mutex);
    db_close(g->db);
    state_generation_close(g->live);
    copy_free(g->copy);
    free(g);
}

/* ---- reading ---- */

uint64_t state_grants_generation(const struct state_grants *g) {
    return g->tracker ? tracker_generation(g->tracker) : state_generation_get(g->live);
}

uint64_t state_grants_seen(const struct state_grants *g) { return g->seen; }

static const char *column_text(struct grants_copy *to, struct db_stmt *s, int i) {
    return arena_dup(&to->arena, db_text(s, i)).ptr;
}

/* One a line. */
static const char *const *column_list(struct grants_copy *to, struct db_stmt *s, int i, size_t *ret_count) {
    struct slice rest = arena_dup(&to->arena, db_text(s, i)), item;
    size_t count = 0, lines = rest.len > 0;
    for (size_t k = 0; k < rest.len; k++)
        lines += rest.ptr[k] == '\n';
    const char **items = arena_array(&to->arena, const char *, lines);
    while (rest.len) {
        slice_cut(&rest, '\n', &item);
        items[count++] = arena_dup(&to->arena, item).ptr;
    }
    *ret_count = count;
    return items;
}

static void row_read(struct grants_copy *copy, struct db_stmt *s, struct row *r) {
    struct state_grant *to = &r->grant;
    *to = (struct state_grant){
        .name = column_text(copy, s, 0),
        .label = column_text(copy, s, 1),
        .hint = column_text(copy, s, 3),
        .policy = column_text(copy, s, 4),
        .limits = column_text(copy, s, 5),
        .roles = (uint32_t)db_int(s, 8),
        .version = (uint64_t)db_int(s, 9),
        .created_ms = (uint64_t)db_int(s, 10),
        .expires_ms = (uint64_t)db_int(s, 11),
        .revoked_ms = (uint64_t)db_int(s, 12),
        .used_ms = (uint64_t)db_int(s, 13),
        .rotated_ms = (uint64_t)db_int(s, 14),
        .grace_ms = (uint64_t)db_int(s, 16),
    };
    to->servers = column_list(copy, s, 6, &to->server_count);
    to->tools = column_list(copy, s, 7, &to->tool_count);
    struct slice hash = db_text(s, 2), old = db_text(s, 15);
    if (hash.len == STATE_HASH_BYTES) {
        memcpy(r->hash, hash.ptr, hash.len);
        map_put(&copy->by_hash, slice_of((char *)r->hash, STATE_HASH_BYTES), r);
    }
    r->has_old = old.len == STATE_HASH_BYTES;
    if (r->has_old) {
        memcpy(r->old_hash, old.ptr, old.len);
        map_put(&copy->by_hash, slice_of((char *)r->old_hash, STATE_HASH_BYTES), r);
    }
    map_put(&copy->by_name, slice_str(to->name), r);
}

bool state_grants_stale(struct state_grants *g) {
    if (!g->db)
        return false;
    if (g->tracker || state_grants_generation(g) != g->seen)
        return state_grants_generation(g) != g->seen;
    return db_version(g->db, NULL) != g->data_version;
}

static int64_t count_rows(struct db *db, struct err *err) {
    struct db_stmt *s = db_prepare(db, "SELECT count(*) FROM grants");
    int64_t count = db_step(s) ? db_int(s, 0) : -1;
    return db_finish(s, err) < 0 ? -1 : count;
}

/* NULL with err. */
static struct grants_copy *copy_load(struct db *db, struct err *err) {
    static const char sql[] =
        "SELECT name,label,hash,hint,policy,limits,servers,tools,roles,version,created_ms,expires_ms,"
        "revoked_ms,used_ms,rotated_ms,old_hash,grace_ms FROM grants ORDER BY number LIMIT ?1";
    int64_t room = count_rows(db, err);
    if (room < 0 || room > STATE_GRANTS_MAX)
        return room < 0 ? NULL : (err_set(err, "more than %d grants", STATE_GRANTS_MAX), NULL);
    struct grants_copy *copy = copy_new();
    copy->rows = arena_array(&copy->arena, struct row, (size_t)room + 1);
    struct db_stmt *s = db_prepare(db, sql);
    db_bind_int(s, 1, room);
    while (copy->count < (size_t)room && db_step(s))
        row_read(copy, s, &copy->rows[copy->count++]);
    if (db_finish(s, err) < 0) {
        copy_free(copy);
        return NULL;
    }
    return copy;
}

static void copy_take(struct state_grants *g, struct grants_copy *take_copy) {
    state_grants_write_used(g); /* carries over what the old copy knows */
    copy_free(g->copy);
    g->copy = take_copy;
}

int state_grants_refresh(struct state_grants *g, struct err *err) {
    if (!g->db)
        return 0;
    /* Read before the rows: a change in between is read by the next refresh. */
    uint64_t seen = state_grants_generation(g);
    if (g->tracker) {
        struct grants_copy *next = tracker_take(g->tracker);
        if (next)
            copy_take(g, next);
        g->seen = seen;
        return 0;
    }
    if (seen != g->seen && db_renew(g->db, false, NULL, err) < 0)
        return -1;
    int64_t version = db_version(g->db, err);
    if (version < 0)
        return -1;
    if (seen == g->seen && version == g->data_version)
        return 0;
    struct grants_copy *next = copy_load(g->db, err);
    if (!next)
        return -1;
    copy_take(g, next);
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
    const struct row *r = map_get(&g->copy->by_hash, slice_of((char *)hash, sizeof(hash)));
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
    const struct row *r = map_get(&g->copy->by_name, name);
    return r ? &r->grant : NULL;
}

size_t state_grants_count(const struct state_grants *g) { return g->copy->count; }
const struct state_grant *state_grants_at(const struct state_grants *g, size_t i) {
    return &g->copy->rows[i].grant;
}

/* ---- use ---- */

bool state_grants_used(struct state_grants *g, const struct state_grant *grant, uint64_t now_ms) {
    (void)g;
    struct row *r = container_of((struct state_grant *)(uintptr_t)grant, struct row, grant);
    if (now_ms < r->grant.used_ms + STATE_GRANT_USED_MS)
        return false;
    bool first = !r->grant.used_ms;
    r->grant.used_ms = now_ms;
    r->used = true;
    return first;
}

static void write_used(struct db *db, const char *name, uint64_t used_ms) {
    struct db_stmt *s = db_prepare(
        db, "UPDATE grants SET used_ms=CASE WHEN used_ms<?1 THEN ?1 ELSE used_ms END WHERE name=?2");
    db_bind_int(s, 1, (int64_t)used_ms);
    db_bind_text(s, 2, slice_str(name));
    db_run(s, NULL);
}

/* To the thread. */
static void hand_use(struct state_grants *g, const char *name, uint64_t used_ms) {
    pthread_mutex_lock(&g->mutex);
    if (!g->uses)
        g->uses = arena_array(&g->arena, struct grants_use, STATE_GRANTS_MAX);
    if (g->use_count < STATE_GRANTS_MAX)
        g->uses[g->use_count++] = (struct grants_use){arena_dup(&g->arena, slice_str(name)).ptr, used_ms};
    pthread_mutex_unlock(&g->mutex);
}

static void write_handed(void *ctx, struct db *db) {
    struct state_grants *g = ctx;
    pthread_mutex_lock(&g->mutex);
    struct arena arena = g->arena;
    struct grants_use *uses = g->uses;
    size_t count = g->use_count;
    arena_init(&g->arena);
    g->uses = NULL;
    g->use_count = 0;
    pthread_mutex_unlock(&g->mutex);
    for (size_t i = 0; i < count; i++)
        write_used(db, uses[i].name, uses[i].used_ms);
    arena_free(&arena);
}

static void run_writing(struct io_work *work) {
    struct state_grants *g = container_of(work, struct state_grants, writing);
    if (!g->use_db && db_open(g->home, GRANTS_FILE, false, "", &g->use_db, NULL) < 0)
        return;
    db_relax(g->use_db, true); /* not worth an fsync */
    if (db_begin(g->use_db, NULL) < 0)
        return;
    write_handed(g, g->use_db);
    db_end(g->use_db, true, NULL);
}

static void on_written(struct io_work *work) {
    container_of(work, struct state_grants, writing)->is_writing = false;
}

/* Nothing depends on this: a failed write is lost, and the next use is written again. */
void state_grants_write_used(struct state_grants *g) {
    bool any = false;
    for (size_t i = 0; i < g->copy->count; i++) {
        struct row *r = &g->copy->rows[i];
        if (!r->used || g->read_only)
            continue;
        if (g->tracker || g->loop)
            hand_use(g, r->grant.name, r->grant.used_ms);
        else
            write_used(g->db, r->grant.name, r->grant.used_ms);
        r->used = false;
        any = true;
    }
    if (!any || !g->loop || g->is_writing)
        return;
    g->is_writing = true;
    g->writing = (struct io_work){.thread = IO_THREAD_ADMIN, .run = run_writing, .done = on_written};
    io_work_add(g->loop, &g->writing);
}

/* ---- following PostgreSQL ---- */

static void *follow_load(struct db *db, struct err *err) { return copy_load(db, err); }
static void follow_drop(void *copy) { copy_free(copy); }

int state_grants_follow(struct state_grants *g, const char *home, struct io_loop *loop, struct err *err) {
    static const struct tracker_ops ops = {.load = follow_load, .drop = follow_drop, .idle = write_handed};
    if (!g->db)
        return 0;
    if (!db_is_remote(g->db)) {
        g->loop = loop;
        g->home = mem_dup(home, strlen(home));
        return 0;
    }
    g->seen = 0;
    return tracker_start(home, GRANTS_FILE, &ops, g, &g->tracker, err);
}

bool state_grants_reachable(const struct state_grants *g, struct err *err) {
    return !g->tracker || tracker_is_fresh(g->tracker, err);
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
            return err_set(err, "`%s` is not a valid pattern for %s", items[i], what);
        text = arena_printf(a, "%.*s%s%s", SLICE_FMT(text), i ? "\n" : "", items[i]);
    }
    *ret_text = text;
    return 0;
}

static void mint(char token[STATE_TOKEN_TEXT], unsigned char hash[STATE_HASH_BYTES]) {
    memcpy(token, STATE_GRANT_PREFIX, strlen(STATE_GRANT_PREFIX));
    rand_token(token + strlen(STATE_GRANT_PREFIX), STATE_TOKEN_CHARS);
    state_token_hash(slice_of(token, STATE_TOKEN_TEXT - 1), hash);
}

/* Runs one change and notifies every gate: before it, so that a crash here cannot leave them without
 * notice, and after it, because only then the change is visible. */
static int change(struct state_grants *g, struct db_stmt *s, struct err *err) {
    state_generation_raise(g->live);
    int64_t changed = db_run(s, err);
    state_generation_raise(g->live);
    if (changed < 0 || state_grants_refresh(g, err) < 0)
        return -1;
    return changed > 0;
}

static struct db_stmt *prepare(struct state_grants *g, const char *sql, struct err *err) {
    if (!g->read_only && g->db)
        return db_prepare(g->db, sql);
    err_set(err, "the grants were opened read-only");
    return NULL;
}

static int create_check(struct state_grants *g, const struct state_grant *grant, struct err *err) {
    if (!name_ok(grant->name))
        return err_set(err,
                       "`%s` is not a valid grant name: letters, digits and . _ - @, %d at most, a letter or "
                       "digit first",
                       grant->name, STATE_GRANT_NAME_MAX);
    if (strlen(grant->label) > STATE_GRANT_LABEL_MAX)
        return err_set(err, "the label is longer than %d bytes", STATE_GRANT_LABEL_MAX);
    if (grant->limits[0] && !name_ok(grant->limits))
        return err_set(err, "`%s` is not a valid name for limits", grant->limits);
    if (state_grants_refresh(g, err) < 0)
        return -1;
    const struct state_grant *there = state_grants_by_name(g, slice_str(grant->name));
    if (there) /* the audit log could not distinguish them */
        return err_set(err, "there is already a%s grant `%s`: %s", there->revoked_ms ? " revoked" : "",
                       grant->name,
                       there->revoked_ms ? "names are not reused, choose another one"
                                         : "`sallyport grants rotate` gives it a new token");
    if (g->copy->count >= STATE_GRANTS_MAX)
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
    struct db_stmt *s = prepare(g, sql, err);
    if (!s)
        return -1;
    if (create_check(g, grant, err) < 0 ||
        join("servers", grant->servers, grant->server_count, &a, &servers, err) < 0 ||
        join("tools", grant->tools, grant->tool_count, &a, &tools, err) < 0) {
        db_finish(s, NULL);
        return -1;
    }
    unsigned char hash[STATE_HASH_BYTES];
    mint(ret_token, hash);
    db_bind_text(s, 1, slice_str(grant->name));
    db_bind_text(s, 2, slice_str(grant->label));
    db_bind_blob(s, 3, slice_of((char *)hash, sizeof(hash)));
    db_bind_text(s, 4, slice_of(ret_token, GRANT_HINT_CHARS));
    db_bind_text(s, 5, slice_str(grant->policy));
    db_bind_text(s, 6, slice_str(grant->limits));
    db_bind_text(s, 7, servers);
    db_bind_text(s, 8, tools);
    db_bind_int(s, 9, grant->roles);
    db_bind_int(s, 10, (int64_t)now_ms);
    db_bind_int(s, 11, (int64_t)grant->expires_ms);
    return change(g, s, err) < 0 ? -1 : 0;
}

int state_grants_rotate(struct state_grants *g, struct slice name, uint64_t now_ms, uint64_t grace_ms,
                        char ret_token[STATE_TOKEN_TEXT], struct err *err) {
    static const char sql[] = "UPDATE grants SET old_hash=CASE WHEN ?4>0 THEN hash END, hash=?2, hint=?3,"
                              " grace_ms=?4, rotated_ms=?5, version=version+1"
                              " WHERE name=?1 AND revoked_ms=0";
    struct db_stmt *s = prepare(g, sql, err);
    if (!s)
        return -1;
    unsigned char hash[STATE_HASH_BYTES];
    mint(ret_token, hash);
    db_bind_text(s, 1, name);
    db_bind_blob(s, 2, slice_of((char *)hash, sizeof(hash)));
    db_bind_text(s, 3, slice_of(ret_token, GRANT_HINT_CHARS));
    db_bind_int(s, 4, grace_ms ? (int64_t)(now_ms + grace_ms) : 0);
    db_bind_int(s, 5, (int64_t)now_ms);
    int changed = change(g, s, err);
    if (changed == 0)
        return err_set(err, "there is no grant `%.*s` to rotate", SLICE_FMT(name));
    return changed < 0 ? -1 : 0;
}

int state_grants_revoke(struct state_grants *g, struct slice name, uint64_t now_ms, struct err *err) {
    static const char sql[] =
        "UPDATE grants SET revoked_ms=CASE WHEN revoked_ms>0 THEN revoked_ms ELSE ?2 END,"
        " version=version+1 WHERE name=?1";
    struct db_stmt *s = prepare(g, sql, err);
    if (!s)
        return -1;
    db_bind_text(s, 1, name);
    db_bind_int(s, 2, (int64_t)now_ms);
    int changed = change(g, s, err);
    if (changed == 0)
        return err_set(err, "there is no grant `%.*s`", SLICE_FMT(name));
    return changed < 0 ? -1 : 0;
}
