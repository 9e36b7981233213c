#include "state/stops.h"

#include "base/arena.h"
#include "base/mem.h"
#include "io/file.h"
#include "state/generation.h"
#include "state/sqlite.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STOPS_FILE "stops.sqlite"
#define STOPS_LIVE "stops.live"

struct state_stops {
    sqlite3 *db; /* NULL until something has been stopped: a gate's start does not pay for it */
    char *path;
    _Atomic uint64_t *live;
    uint64_t seen;
    struct arena arena;
    struct state_stop *items;
    size_t count;
};

static const char stops_schema[] =
    "CREATE TABLE IF NOT EXISTS stops("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,"
    " by TEXT NOT NULL, at_ms INTEGER NOT NULL, cancel INTEGER NOT NULL, UNIQUE(scope, name)) STRICT;";

static const char *const scope_names[] = {"all", "server", "grant"};

const char *state_stop_scope_name(enum state_stop_scope scope) { return scope_names[scope]; }

int state_stop_scope_from(struct slice name, enum state_stop_scope *ret_scope) {
    for (int i = 0; i < STATE_STOP_SCOPES; i++)
        if (slice_is(name, scope_names[i]))
            return *ret_scope = (enum state_stop_scope)i, 0;
    return -1;
}

/* ---- reading ---- */

static struct slice column(struct state_stops *s, sqlite3_stmt *row, int i) {
    return arena_dup(
        &s->arena, slice_of((const char *)sqlite3_column_text(row, i), (size_t)sqlite3_column_bytes(row, i)));
}

static int stops_load(struct state_stops *s, struct err *err) {
    static const char sql[] = "SELECT id,scope,name,reason,by,at_ms,cancel FROM stops ORDER BY id LIMIT ?1";
    sqlite3_stmt *row = NULL;
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK)
        return state_sqlite_fail(s->db, err);
    sqlite3_bind_int(row, 1, STATE_STOPS_MAX);
    arena_reset(&s->arena);
    s->items = arena_array(&s->arena, struct state_stop, STATE_STOPS_MAX);
    s->count = 0;
    while (sqlite3_step(row) == SQLITE_ROW)
        s->items[s->count++] = (struct state_stop){.id = (uint64_t)sqlite3_column_int64(row, 0),
                                                   .scope = (enum state_stop_scope)sqlite3_column_int(row, 1),
                                                   .name = column(s, row, 2),
                                                   .reason = column(s, row, 3),
                                                   .by = column(s, row, 4),
                                                   .at_ms = (uint64_t)sqlite3_column_int64(row, 5),
                                                   .cancel = sqlite3_column_int(row, 6)};
    return sqlite3_finalize(row) == SQLITE_OK ? 0 : state_sqlite_fail(s->db, err);
}

static int connect(struct state_stops *s, struct err *err) {
    if (s->db || state_sqlite_open(s->path, false, stops_schema, &s->db, err) == 0)
        return 0;
    return err_wrap(err, "open `%s`", s->path);
}

int state_stops_open(const char *home, struct state_stops **ret_stops, struct err *err) {
    struct state_stops *s = mem_zalloc(sizeof(*s));
    arena_init(&s->arena);
    int rc = asprintf(&s->path, "%s/" STOPS_FILE, home) < 0 ? err_set(err, "out of memory") : 0;
    if (rc == 0)
        rc = io_make_dir(home, err);
    if (rc == 0)
        rc = state_generation_open(home, STOPS_LIVE, &s->live, err);
    if (rc == 0) {
        s->seen = state_generation_get(s->live);
        if (access(s->path, F_OK) == 0)
            rc = connect(s, err) < 0 ? -1 : stops_load(s, err);
    }
    if (rc < 0) {
        state_stops_close(s);
        return err_wrap(err, "kill switch");
    }
    *ret_stops = s;
    return 0;
}

void state_stops_close(struct state_stops *s) {
    if (!s)
        return;
    sqlite3_close(s->db);
    state_generation_close(s->live);
    arena_free(&s->arena);
    free(s->path);
    free(s);
}

bool state_stops_refresh(struct state_stops *s) {
    uint64_t now = state_generation_get(s->live);
    if (now == s->seen)
        return false;
    struct err err;
    if (connect(s, &err) == 0 && stops_load(s, &err) == 0)
        s->seen = now;
    return true;
}

size_t state_stops_count(const struct state_stops *s) { return s->count; }
const struct state_stop *state_stops_at(const struct state_stops *s, size_t i) { return &s->items[i]; }

const struct state_stop *state_stops_match(struct state_stops *s, struct slice server, struct slice grant) {
    state_stops_refresh(s);
    for (size_t i = 0; i < s->count; i++) {
        const struct state_stop *stop = &s->items[i];
        if (stop->scope == STATE_STOP_ALL ||
            (stop->scope == STATE_STOP_SERVER && server.len && slice_eq(stop->name, server)) ||
            (stop->scope == STATE_STOP_GRANT && grant.len && slice_eq(stop->name, grant)))
            return stop;
    }
    return NULL;
}

/* ---- changing ---- */

/* Gates are told before, so that one which dies here cannot leave them asleep, and after, because only then
 * there is something to see. */
static int change(struct state_stops *s, sqlite3_stmt *row, struct err *err) {
    state_generation_raise(s->live);
    sqlite3_step(row);
    int changed = sqlite3_changes(s->db);
    int rc = sqlite3_finalize(row);
    state_generation_raise(s->live);
    state_stops_refresh(s);
    return rc == SQLITE_OK ? changed : state_sqlite_fail(s->db, err);
}

static void bind(sqlite3_stmt *row, int i, struct slice text) {
    sqlite3_bind_text64(row, i, text.len ? text.ptr : "", text.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int state_stops_put(struct state_stops *s, const struct state_stop *stop, uint64_t *ret_id, struct err *err) {
    static const char sql[] = "INSERT OR REPLACE INTO stops(scope,name,reason,by,at_ms,cancel)"
                              " VALUES(?1,?2,?3,?4,?5,?6)";
    sqlite3_stmt *row = NULL;
    if (connect(s, err) < 0)
        return -1;
    state_stops_refresh(s);
    if (s->count >= STATE_STOPS_MAX)
        return err_set(err, "%d things are stopped already; stop everything instead", STATE_STOPS_MAX);
    if (stop->name.len > STATE_STOP_TEXT_MAX || stop->reason.len > STATE_STOP_TEXT_MAX)
        return err_set(err, "a name or reason has at most %d bytes", STATE_STOP_TEXT_MAX);
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK)
        return state_sqlite_fail(s->db, err);
    sqlite3_bind_int(row, 1, (int)stop->scope);
    bind(row, 2, stop->name);
    bind(row, 3, stop->reason);
    bind(row, 4, stop->by);
    sqlite3_bind_int64(row, 5, (sqlite3_int64)stop->at_ms);
    sqlite3_bind_int(row, 6, stop->cancel);
    if (change(s, row, err) < 0)
        return -1;
    if (ret_id)
        *ret_id = (uint64_t)sqlite3_last_insert_rowid(s->db);
    return 0;
}

int state_stops_remove(struct state_stops *s, uint64_t id, struct err *err) {
    sqlite3_stmt *row = NULL;
    if (connect(s, err) < 0)
        return -1;
    if (sqlite3_prepare_v2(s->db, "DELETE FROM stops WHERE ?1=0 OR id=?1", -1, &row, NULL) != SQLITE_OK)
        return state_sqlite_fail(s->db, err);
    sqlite3_bind_int64(row, 1, (sqlite3_int64)id);
    return change(s, row, err);
}

void state_stop_json(struct emit *e, const struct state_stop *stop) {
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)stop->id);
    emit_object(e);
    emit_key(e, "id");
    emit_cstr(e, id);
    emit_key(e, "scope");
    emit_cstr(e, state_stop_scope_name(stop->scope));
    if (stop->name.len) {
        emit_key(e, "name");
        emit_str(e, stop->name);
    }
    if (stop->reason.len) {
        emit_key(e, "reason");
        emit_str(e, stop->reason);
    }
    emit_key(e, "by");
    emit_str(e, stop->by);
    emit_time(e, "at", stop->at_ms);
    emit_object_end(e);
}
