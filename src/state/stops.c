#include "state/stops.h"

#include "base/arena.h"
#include "base/mem.h"
#include "io/file.h"
#include "state/db.h"
#include "state/generation.h"
#include "state/tracker.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STOPS_FILE "stops.sqlite"
#define STOPS_LIVE "stops.live"

struct stops_copy {
    struct arena arena;
    struct state_stop *items;
    size_t count;
    int64_t version; /* of the store in PostgreSQL: the copy is as new as that, or newer */
};

struct state_stops {
    struct db *db; /* NULL until something has been stopped, so that the start of a gate need not open it */
    char *home;
    bool remote;
    struct state_generation *live; /* NULL in PostgreSQL */
    struct tracker *tracker;       /* NULL: read on demand */
    uint64_t seen;
    int64_t tracked; /* the version of the last copy of the tracker */
    struct stops_copy *copy;
    bool follows;    /* the copy is kept current, so a new database may be filled from it */
    bool incomplete; /* the database was made again and lacks some of what is stopped */
};

static const char stops_schema[] =
    "CREATE TABLE IF NOT EXISTS stops("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,"
    " by TEXT NOT NULL, at_ms INTEGER NOT NULL, cancel INTEGER NOT NULL, UNIQUE(scope, name)) STRICT;";

/* Bits of the column `cancel`. */
enum { STOP_CANCEL = 1, STOP_UNTRUSTED = 2 };

static const char *const scope_names[] = {"all", "server", "grant"};

const char *state_stop_scope_name(enum state_stop_scope scope) { return scope_names[scope]; }

int state_stop_scope_from(struct slice name, enum state_stop_scope *ret_scope) {
    for (int i = 0; i < STATE_STOP_SCOPES; i++)
        if (slice_is(name, scope_names[i]))
            return *ret_scope = (enum state_stop_scope)i, 0;
    return -1;
}

/* ---- reading ---- */

static struct stops_copy *copy_new(void) {
    struct stops_copy *copy = mem_zalloc(sizeof(*copy));
    arena_init(&copy->arena);
    copy->items = arena_array(&copy->arena, struct state_stop, STATE_STOPS_MAX);
    return copy;
}

static void copy_free(void *what) {
    struct stops_copy *copy = what;
    if (!copy)
        return;
    arena_free(&copy->arena);
    free(copy);
}

static void *copy_load(struct db *db, struct err *err) {
    int64_t version = db_is_remote(db) ? db_version(db, err) : 0;
    if (version < 0)
        return NULL;
    struct stops_copy *copy = copy_new();
    struct arena *a = &copy->arena;
    copy->version = version;
    struct db_stmt *row =
        db_prepare(db, "SELECT id,scope,name,reason,by,at_ms,cancel FROM stops ORDER BY id LIMIT ?1");
    db_bind_int(row, 1, STATE_STOPS_MAX);
    while (copy->count < STATE_STOPS_MAX && db_step(row))
        copy->items[copy->count++] = (struct state_stop){.id = (uint64_t)db_int(row, 0),
                                                         .scope = (enum state_stop_scope)db_int(row, 1),
                                                         .name = arena_dup(a, db_text(row, 2)),
                                                         .reason = arena_dup(a, db_text(row, 3)),
                                                         .by = arena_dup(a, db_text(row, 4)),
                                                         .at_ms = (uint64_t)db_int(row, 5),
                                                         .cancel = db_int(row, 6) & STOP_CANCEL,
                                                         .untrusted = db_int(row, 6) & STOP_UNTRUSTED};
    if (db_finish(row, err) == -1) {
        copy_free(copy);
        return NULL;
    }
    return copy;
}

static int connect(struct state_stops *s, struct err *err) {
    return s->db ? 0 : db_open(s->home, STOPS_FILE, false, stops_schema, &s->db, err);
}

static void bind_stop(struct db_stmt *row, const struct state_stop *stop) {
    db_bind_int(row, 1, (int64_t)stop->scope);
    db_bind_text(row, 2, stop->name);
    db_bind_text(row, 3, stop->reason);
    db_bind_text(row, 4, stop->by);
    db_bind_int(row, 5, (int64_t)stop->at_ms);
    db_bind_int(row, 6, (stop->cancel ? STOP_CANCEL : 0) | (stop->untrusted ? STOP_UNTRUSTED : 0));
}

/* A database that was deleted and made again lacks what is stopped: it stays stopped. */
static int put_back(struct state_stops *s, struct err *err) {
    for (size_t i = 0; i < s->copy->count; i++) {
        struct db_stmt *row =
            db_prepare(s->db, "INSERT INTO stops(scope,name,reason,by,at_ms,cancel) VALUES(?1,?2,?3,?4,?5,?6)"
                              " ON CONFLICT(scope,name) DO NOTHING");
        bind_stop(row, &s->copy->items[i]);
        if (db_run(row, err) < 0)
            return -1;
    }
    return 0;
}

static int reconnect(struct state_stops *s, struct err *err) {
    bool is_new = false;
    if (connect(s, err) < 0 || db_renew(s->db, true, &is_new, err) < 0)
        return -1;
    s->incomplete |= is_new && s->follows;
    if (!s->incomplete)
        return 0;
    if (put_back(s, err) < 0)
        return -1;
    s->incomplete = false;
    if (s->copy->count) /* others may have read the new database already */
        state_generation_raise(s->live);
    return 0;
}

static int load(struct state_stops *s, struct err *err) {
    struct stops_copy *next = reconnect(s, err) == 0 ? copy_load(s->db, err) : NULL;
    if (!next)
        return -1;
    copy_free(s->copy);
    s->copy = next;
    return 0;
}

static int stops_setup(struct state_stops *s, struct err *err) {
    cleanup_free char *path = NULL, *dsn = NULL;
    if (io_make_dir(s->home, err) < 0 || db_home_dsn(s->home, &dsn, err) < 0)
        return -1;
    if (asprintf(&path, "%s/" STOPS_FILE, s->home) < 0)
        return err_set(err, "out of memory");
    s->remote = dsn != NULL;
    if (s->remote)
        return load(s, err);
    if (state_generation_open(s->home, STOPS_LIVE, &s->live, err) < 0)
        return -1;
    s->seen = state_generation_get(s->live);
    return access(path, F_OK) == 0 ? load(s, err) : 0;
}

int state_stops_open(const char *home, struct state_stops **ret_stops, struct err *err) {
    struct state_stops *s = mem_zalloc(sizeof(*s));
    s->copy = copy_new();
    s->home = mem_dup(home, strlen(home));
    if (stops_setup(s, err) < 0) {
        state_stops_close(s);
        return err_wrap(err, "kill switch");
    }
    *ret_stops = s;
    return 0;
}

int state_stops_follow(struct state_stops *s, struct err *err) {
    static const struct tracker_ops ops = {.load = copy_load, .drop = copy_free};
    s->follows = true;
    if (!s->remote)
        return 0;
    db_close(steal(s->db)); /* made again when something is to be stopped here */
    return tracker_start(s->home, STOPS_FILE, &ops, s, &s->tracker, err);
}

bool state_stops_reachable(const struct state_stops *s, struct err *err) {
    return !s->tracker || tracker_is_fresh(s->tracker, err);
}

void state_stops_close(struct state_stops *s) {
    if (!s)
        return;
    tracker_end(s->tracker);
    db_close(s->db);
    state_generation_close(s->live);
    copy_free(s->copy);
    free(s->home);
    free(s);
}

/* The tracker may have begun to read before a stop that this process made itself, and end after it: the newer
 * copy stays, and the tracker sees the other version at its next look. A tracker that goes back follows a
 * database that was put back. */
static void take_tracked(struct state_stops *s, struct stops_copy *take_copy) {
    bool old = take_copy->version < s->copy->version && take_copy->version >= s->tracked;
    s->tracked = take_copy->version;
    copy_free(old ? take_copy : s->copy);
    if (!old)
        s->copy = take_copy;
}

bool state_stops_refresh(struct state_stops *s) {
    uint64_t now = s->tracker ? tracker_generation(s->tracker) : state_generation_get(s->live);
    if (now == s->seen)
        return false;
    struct stops_copy *next = s->tracker ? tracker_take(s->tracker) : NULL;
    if (next)
        take_tracked(s, next);
    if (s->tracker || load(s, NULL) == 0)
        s->seen = now;
    return true;
}

size_t state_stops_count(const struct state_stops *s) { return s->copy->count; }
const struct state_stop *state_stops_at(const struct state_stops *s, size_t i) { return &s->copy->items[i]; }

const struct state_stop *state_stops_match(struct state_stops *s, struct slice server, struct slice grant) {
    state_stops_refresh(s);
    for (size_t i = 0; i < s->copy->count; i++) {
        const struct state_stop *stop = &s->copy->items[i];
        if (stop->scope == STATE_STOP_ALL ||
            (stop->scope == STATE_STOP_SERVER && server.len && slice_eq(stop->name, server)) ||
            (stop->scope == STATE_STOP_GRANT && grant.len && slice_eq(stop->name, grant)))
            return stop;
    }
    return NULL;
}

bool state_stops_distrusts(struct state_stops *s, struct slice server) {
    state_stops_refresh(s);
    for (size_t i = 0; i < s->copy->count; i++) {
        const struct state_stop *stop = &s->copy->items[i];
        if (stop->untrusted && stop->scope == STATE_STOP_SERVER && slice_eq(stop->name, server))
            return true;
    }
    return false;
}

/* ---- changing ---- */

/* Gates are notified before, so that a crash here cannot leave them without notice, and after, because
 * only then the change is visible. */
static int change(struct state_stops *s, struct db_stmt *row, uint64_t *ret_id, struct err *err) {
    state_generation_raise(s->live);
    if (db_step(row) && ret_id)
        *ret_id = (uint64_t)db_int(row, 0);
    int64_t changed = db_finish(row, err);
    state_generation_raise(s->live);
    if (changed < 0 || (s->remote && load(s, err) < 0))
        return -1;
    state_stops_refresh(s);
    return (int)changed;
}

int state_stops_put(struct state_stops *s, const struct state_stop *stop, uint64_t *ret_id, struct err *err) {
    static const char sql[] =
        "INSERT INTO stops(scope,name,reason,by,at_ms,cancel) VALUES(?1,?2,?3,?4,?5,?6) ON "
        "CONFLICT(scope,name)"
        " DO UPDATE SET reason=excluded.reason,by=excluded.by,at_ms=excluded.at_ms,cancel=excluded.cancel"
        " RETURNING id";
    if (reconnect(s, err) < 0)
        return -1;
    state_stops_refresh(s);
    if (s->copy->count >= STATE_STOPS_MAX)
        return err_set(err, "%d things are stopped already; stop everything instead", STATE_STOPS_MAX);
    if (stop->name.len > STATE_STOP_TEXT_MAX || stop->reason.len > STATE_STOP_TEXT_MAX)
        return err_set(err, "a name or reason has at most %d bytes", STATE_STOP_TEXT_MAX);
    struct db_stmt *row = db_prepare(s->db, sql);
    bind_stop(row, stop);
    return change(s, row, ret_id, err) < 0 ? -1 : 0;
}

int state_stops_remove(struct state_stops *s, uint64_t id, struct err *err) {
    if (reconnect(s, err) < 0)
        return -1;
    struct db_stmt *row = db_prepare(s->db, "DELETE FROM stops WHERE ?1=0 OR id=?1");
    db_bind_int(row, 1, (int64_t)id);
    return change(s, row, NULL, err);
}

struct stops_copy *state_stops_snapshot(const struct state_stops *s) {
    struct stops_copy *copy = copy_new();
    copy->count = s->copy->count;
    copy->version = s->copy->version;
    for (size_t i = 0; i < copy->count; i++) {
        struct state_stop *to = &copy->items[i];
        *to = s->copy->items[i];
        to->name = arena_dup(&copy->arena, to->name);
        to->reason = arena_dup(&copy->arena, to->reason);
        to->by = arena_dup(&copy->arena, to->by);
    }
    return copy;
}

void state_stops_take(struct state_stops *s, struct stops_copy *take_copy) {
    state_stops_refresh(s);
    bool newer = s->tracker && take_copy->version > s->copy->version;
    copy_free(newer ? s->copy : take_copy);
    if (newer)
        s->copy = take_copy;
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
