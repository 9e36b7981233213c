#include "state/fleet_pins.h"

#include "base/mem.h"
#include "state/db.h"
#include "state/tracker.h"
#include "wire/emit.h"

#include <stdlib.h>
#include <string.h>

#define PINS_FILE "pins.sqlite"

struct state_pins {
    char *home;
    struct db *db; /* NULL while a thread follows */
    struct tracker *tracker;
    uint64_t seen; /* copies of the tracker */
};

static const char pins_schema[] =
    "CREATE TABLE IF NOT EXISTS pins(server BLOB PRIMARY KEY, number INTEGER NOT NULL, entry BLOB NOT NULL)"
    " STRICT;"
    "CREATE TABLE IF NOT EXISTS pin_holds(server BLOB NOT NULL, name BLOB NOT NULL, reason BLOB NOT NULL,"
    " PRIMARY KEY(server, name)) STRICT;";

/* ---- reading ---- */

void state_pins_copy_free(struct state_pins_copy *copy) {
    if (!copy)
        return;
    arena_free(&copy->arena);
    free(copy);
}

int64_t state_pins_number(const struct state_pins_copy *copy, struct slice server) {
    for (size_t i = 0; i < copy->count; i++)
        if (slice_eq(copy->pins[i].server, server))
            return copy->pins[i].number;
    return 0;
}

static int load_entries(struct db *db, struct state_pins_copy *copy, struct err *err) {
    cleanup_buf struct buf text;
    struct emit e;
    buf_init(&text, STATE_PINS_BYTES_MAX);
    emit_init(&e, &text);
    copy->pins = arena_array(&copy->arena, struct state_pin, STATE_PINS_MAX);
    struct db_stmt *row = db_prepare(db, "SELECT server,number,entry FROM pins ORDER BY server LIMIT ?1");
    db_bind_int(row, 1, STATE_PINS_MAX);
    emit_object(&e);
    while (copy->count < STATE_PINS_MAX && db_step(row)) {
        struct state_pin *pin = &copy->pins[copy->count++];
        *pin = (struct state_pin){arena_dup(&copy->arena, db_text(row, 0)), db_int(row, 1)};
        emit_key_slice(&e, pin->server);
        emit_raw(&e, db_text(row, 2));
    }
    emit_object_end(&e);
    if (db_finish(row, err) < 0)
        return -1;
    if (text.full)
        return err_set(err, "the pins of this fleet are larger than %u bytes", STATE_PINS_BYTES_MAX);
    copy->entries = arena_dup(&copy->arena, buf_slice(&text));
    return 0;
}

static int load_holds(struct db *db, struct state_pins_copy *copy, struct err *err) {
    const size_t most = (size_t)STATE_PINS_MAX * 4;
    struct arena *a = &copy->arena;
    copy->holds = arena_array(a, struct state_pin_hold, most);
    struct db_stmt *row = db_prepare(db, "SELECT server,name,reason FROM pin_holds LIMIT ?1");
    db_bind_int(row, 1, (int64_t)most);
    while (copy->hold_count < most && db_step(row))
        copy->holds[copy->hold_count++] = (struct state_pin_hold){
            arena_dup(a, db_text(row, 0)), arena_dup(a, db_text(row, 1)), arena_dup(a, db_text(row, 2)), 0};
    return db_finish(row, err) < 0 ? -1 : 0;
}

static void *copy_load(struct db *db, struct err *err) {
    int64_t version = db_is_remote(db) ? db_version(db, err) : 0;
    if (version < 0)
        return NULL;
    struct state_pins_copy *copy = mem_zalloc(sizeof(*copy));
    arena_init(&copy->arena);
    copy->version = version;
    if (load_entries(db, copy, err) < 0 || load_holds(db, copy, err) < 0) {
        state_pins_copy_free(copy);
        return NULL;
    }
    return copy;
}

struct state_pins_copy *state_pins_load(struct state_pins *p, struct err *err) {
    return copy_load(p->db, err);
}

/* ---- opening ---- */

int state_pins_are_shared(const char *home, bool *ret_shared, struct err *err) {
    cleanup_free char *dsn = NULL;
    if (db_home_dsn(home, &dsn, err) < 0)
        return -1;
    *ret_shared = dsn != NULL;
    return 0;
}

int state_pins_open(const char *home, struct state_pins **ret_pins, struct err *err) {
    struct state_pins *p = mem_zalloc(sizeof(*p));
    p->home = mem_dup(home, strlen(home));
    if (db_open(home, PINS_FILE, false, pins_schema, &p->db, err) < 0) {
        state_pins_close(p);
        return err_wrap(err, "pins");
    }
    *ret_pins = p;
    return 0;
}

void state_pins_close(struct state_pins *p) {
    if (!p)
        return;
    tracker_end(p->tracker);
    db_close(p->db);
    free(p->home);
    free(p);
}

static void copy_drop(void *copy) { state_pins_copy_free(copy); }

int state_pins_follow(struct state_pins *p, struct err *err) {
    static const struct tracker_ops ops = {.load = copy_load, .drop = copy_drop};
    db_close(steal(p->db));
    return tracker_start(p->home, PINS_FILE, &ops, p, &p->tracker, err);
}

struct state_pins_copy *state_pins_take(struct state_pins *p) {
    uint64_t now = tracker_generation(p->tracker);
    if (now == p->seen)
        return NULL;
    p->seen = now;
    return tracker_take(p->tracker);
}

/* ---- changing ---- */

int state_pins_add(struct state_pins *p, struct slice server, struct slice entry, struct err *err) {
    struct db_stmt *row = db_prepare(p->db, "INSERT INTO pins(server,number,entry) VALUES(?1,1,?2)"
                                            " ON CONFLICT(server) DO NOTHING");
    db_bind_blob(row, 1, server);
    db_bind_blob(row, 2, entry);
    return (int)db_run(row, err);
}

static int end_holds(struct db *db, struct slice server, struct slice name, struct err *err) {
    struct db_stmt *row = db_prepare(db, name.len ? "DELETE FROM pin_holds WHERE server=?1 AND name=?2"
                                                  : "DELETE FROM pin_holds WHERE server=?1");
    db_bind_blob(row, 1, server);
    if (name.len)
        db_bind_blob(row, 2, name);
    return db_run(row, err) < 0 ? -1 : 0;
}

static int update_entry(struct db *db, const struct state_pin *pin, struct slice entry, struct err *err) {
    struct db_stmt *row =
        db_prepare(db, "UPDATE pins SET number=number+1,entry=?3 WHERE server=?1 AND number=?2");
    db_bind_blob(row, 1, pin->server);
    db_bind_int(row, 2, pin->number);
    db_bind_blob(row, 3, entry);
    return (int)db_run(row, err);
}

int state_pins_replace(struct state_pins *p, const struct state_pin *pin, struct slice entry,
                       struct slice name, struct err *err) {
    if (db_begin(p->db, err) < 0)
        return -1;
    int changed =
        pin->number ? update_entry(p->db, pin, entry, err) : state_pins_add(p, pin->server, entry, err);
    bool fine = changed == 0 || (changed > 0 && end_holds(p->db, pin->server, name, err) == 0);
    return db_end(p->db, fine, err) < 0 ? -1 : changed;
}

int state_pins_hold(struct state_pins *p, const struct state_pin_hold *hold, struct err *err) {
    if (db_begin(p->db, err) < 0) /* nothing is accepted in between */
        return -1;
    struct db_stmt *row = db_prepare(p->db, "INSERT INTO pin_holds(server,name,reason) SELECT ?1,?2,?3"
                                            " WHERE (SELECT count(*) FROM pin_holds WHERE server=?1) < ?4"
                                            " AND coalesce((SELECT number FROM pins WHERE server=?1), 0) = ?5"
                                            " ON CONFLICT(server,name) DO NOTHING");
    db_bind_blob(row, 1, hold->server);
    db_bind_blob(row, 2, hold->name);
    db_bind_blob(row, 3, hold->reason);
    db_bind_int(row, 4, STATE_PIN_HOLDS_MAX);
    db_bind_int(row, 5, hold->number);
    return db_end(p->db, db_run(row, err) >= 0, err);
}
