#include "state/fleet_marks.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "state/db.h"
#include "state/postgres.h"
#include "wire/emit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct bound { /* a mark that is stored */
    struct state_mark mark;
    int64_t lost_ms;
    size_t key_len;
    char key[];
};

struct fleet_marks {
    struct state_store *database;
    struct map bounds;
    int64_t unmarked_ms; /* when a gate without marks joined last, as far as this one knows */
};

/* ---- what is known ---- */

static void forget(struct fleet_marks *m) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&m->bounds, &at));)
        free(e->value);
    map_free(&m->bounds);
    map_init(&m->bounds);
}

static bool has_mark(const struct remote_held *h) {
    return h->kind == STATE_FIXED || h->kind == STATE_SLIDING;
}

/* A slice was covered when it was counted. */
static bool needs_mark(const struct remote_held *h) { return h->counted && !h->local && has_mark(h); }

static bool covers(const struct fleet_marks *m, const struct remote_held *h) {
    const struct bound *b = map_get(&m->bounds, h->key);
    return b && b->lost_ms == h->lost_ms && b->mark.start_ms == h->start && h->value <= b->mark.value;
}

bool state_fleet_marks_cover(const struct fleet_marks *m, const struct remote_call *call) {
    for (size_t i = 0; i < call->count; i++)
        if (needs_mark(&call->held[i]) && !covers(m, &call->held[i]))
            return false;
    return true;
}

static void learn(struct fleet_marks *m, const struct remote_held *h, int64_t used) {
    struct bound *b = map_get(&m->bounds, h->key);
    if (!b) {
        if (m->bounds.count >= STATE_FLEET_MARKS_MAX)
            forget(m);
        b = mem_zalloc(sizeof(*b) + h->key.len);
        b->key_len = h->key.len;
        memcpy(b->key, h->key.ptr, h->key.len);
        map_put(&m->bounds, slice_of(b->key, b->key_len), b);
    }
    b->mark = (struct state_mark){.start_ms = h->start, .value = used};
    b->lost_ms = h->lost_ms;
}

/* ---- requests ---- */

static void put_number(struct emit *e, const char *key, int64_t value) {
    emit_key(e, key);
    emit_int(e, value);
}

static void put_common(struct emit *e, const struct remote_held *h, size_t at) {
    put_number(e, "at", (int64_t)at);
    emit_key(e, "key");
    emit_str(e, h->key);
    put_number(e, "lost", h->lost_ms);
    put_number(e, "win", (int64_t)h->window_ms);
}

/* With room for the next calls, so that few of them wait. */
static void put_mark(struct emit *e, const struct remote_held *h, size_t at,
                     const struct fleet_epoch *epoch) {
    const struct state_meter meter = {.start_ms = h->start, .value = h->value};
    const struct state_limit limit = {.kind = h->kind, .max = h->max, .window_ms = h->window_ms};
    const uint64_t span = h->kind == STATE_SLIDING ? STATE_SLOTS - 1 : 0;
    emit_object(e);
    put_common(e, h, at);
    put_number(e, "start", (int64_t)h->start);
    put_number(e, "over", h->start > span ? (int64_t)(h->start - span) : 0);
    put_number(e, "used", state_meter_mark(&meter, &limit, 0).value);
    emit_text(e, "epoch", epoch->key);
    emit_text(e, "name", slice_str(epoch->name));
    emit_object_end(e);
}

static bool send_json(struct fleet_marks *m, const char *sql, struct slice epoch, struct buf *json,
                      struct remote_want *want) {
    cleanup_free char *name = mem_dup(epoch.ptr, epoch.len);
    const char *values[] = {json->ptr, name};
    buf_put_char(json, '\0');
    return !json->full && state_postgres_send(m->database, sql, epoch.len ? 2 : 1, values, want);
}

bool state_fleet_marks_store(struct fleet_marks *m, struct remote_call *call,
                             const struct fleet_epoch *epochs) {
    cleanup_buf struct buf json;
    struct emit e;
    buf_init(&json, STATE_POSTGRES_REQUEST_MAX);
    emit_init(&e, &json);
    emit_array(&e);
    for (size_t i = 0; i < call->count; i++)
        if (needs_mark(&call->held[i]) && !covers(m, &call->held[i]))
            put_mark(&e, &call->held[i], i, &epochs[call->held[i].shard]);
    emit_array_end(&e);
    return send_json(m, "SELECT sallyport_mark_put($1)", (struct slice){0}, &json, &call->mark_want);
}

bool state_fleet_marks_recall(struct fleet_marks *m, struct remote_call *call, struct slice epoch) {
    cleanup_buf struct buf json;
    struct emit e;
    buf_init(&json, STATE_POSTGRES_REQUEST_MAX);
    emit_init(&e, &json);
    emit_array(&e);
    for (size_t i = 0; i < call->count; i++) {
        const struct remote_held *h = &call->held[i];
        if (h->shard != call->part || h->local || !has_mark(h))
            continue;
        emit_object(&e);
        put_common(&e, h, i);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    return send_json(m, "SELECT * FROM sallyport_recall($2, $1)", epoch, &json, &call->mark_want);
}

/* ---- answers ---- */

static bool next_number(struct slice *text, char end, uint64_t *ret_number) {
    struct slice part;
    return slice_cut(text, end, &part) && slice_to_u64(part, ret_number) && *ret_number <= INT64_MAX;
}

bool state_fleet_marks_stored(struct fleet_marks *m, struct remote_call *call, const void *reply) {
    struct slice bounds = state_postgres_cell(m->database, reply, 0);
    uint64_t at, used;
    if (!bounds.len)
        return false;
    while (bounds.len) {
        if (!next_number(&bounds, ':', &at) || !next_number(&bounds, ',', &used) || at >= call->count)
            return false;
        learn(m, &call->held[at], (int64_t)used);
    }
    return state_fleet_marks_cover(m, call);
}

/* Everything that the window has counted must be from a time when all gates kept marks. */
static bool is_complete(const struct remote_held *h, uint64_t now_ms, uint64_t since_ms) {
    const uint64_t from = h->kind == STATE_FIXED ? clock_window_start(now_ms, h->window_ms)
                                                 : now_ms - h->window_ms - h->window_ms / (STATE_SLOTS - 2);
    return since_ms > 0 && since_ms <= from;
}

bool state_fleet_marks_recalled(struct fleet_marks *m, struct remote_call *call, const void *reply) {
    struct slice bounds = state_postgres_cell(m->database, reply, 1);
    uint64_t since = 0, at, start, used;
    slice_to_u64(state_postgres_cell(m->database, reply, 0), &since);
    if (!bounds.len)
        return false;
    while (bounds.len) {
        if (!next_number(&bounds, ':', &at) || !next_number(&bounds, ':', &start) ||
            !next_number(&bounds, ',', &used) || at >= call->count)
            return false;
        struct remote_held *h = &call->held[at];
        h->known = (struct state_mark){.start_ms = start, .value = (int64_t)used};
        h->mark = is_complete(h, call->server_ms, since) ? REMOTE_MARK_KNOWN : REMOTE_MARK_VOID;
    }
    return true;
}

/* ---- epochs ---- */

static void on_noted(struct remote_want *want, const void *reply) {
    (void)reply;
    free(want);
}

void state_fleet_marks_join(struct fleet_marks *m, const struct fleet_epoch *epoch, int64_t since_ms,
                            int64_t unmarked_ms) {
    struct remote_want *want = mem_zalloc(sizeof(*want));
    cleanup_free char *key = mem_dup(epoch->key.ptr, epoch->key.len);
    char since[24], unmarked[24], lost[24];
    if (unmarked_ms > m->unmarked_ms)
        log_warn("a gate without `state.after_loss: database` counts at the same server: windows that are "
                 "open now are not counted from PostgreSQL after a loss");
    m->unmarked_ms = unmarked_ms > m->unmarked_ms ? unmarked_ms : m->unmarked_ms;
    snprintf(since, sizeof(since), "%" PRId64, since_ms);
    /* That gate may count until its next join is due. */
    snprintf(unmarked, sizeof(unmarked), "%" PRId64, unmarked_ms ? unmarked_ms + STATE_REMOTE_LEASE_MS : 0);
    snprintf(lost, sizeof(lost), "%" PRId64, epoch->lost_ms);
    const char *values[] = {key, epoch->name, since, unmarked, lost};
    want->answered = on_noted;
    if (!state_postgres_send(m->database, "SELECT sallyport_mark_join($1, $2, $3, $4, $5)", 5, values, want))
        free(want);
}

int state_fleet_marks_name(const char *dsn, struct slice epoch, struct arena *a, struct slice *ret_name,
                           struct err *err) {
    struct db *db = NULL;
    if (db_open_dsn(dsn, "marks", true, &db, err) < 0)
        return -1;
    struct db_stmt *st = db_prepare(db, "SELECT name FROM public.sallyport_mark WHERE key=?1");
    db_bind_text(st, 1, epoch);
    *ret_name = db_step(st) ? arena_dup(a, db_text(st, 0)) : (struct slice){0};
    const int rc = db_finish(st, err) < 0 ? -1 : 0;
    db_close(db);
    return rc;
}

/* ---- life ---- */

int state_fleet_marks_open(const struct state_config *config, struct fleet_marks **ret_marks,
                           struct err *err) {
    const struct state_config database = {
        .prefix = config->prefix, .timeout_ms = config->timeout_ms, .loop = config->loop};
    struct fleet_marks *m = mem_zalloc(sizeof(*m));
    map_init(&m->bounds);
    if (state_postgres_open(&database, config->marks_dsn, &m->database, err) < 0) {
        free(m);
        return err_wrap(err, "state.database");
    }
    *ret_marks = m;
    return 0;
}

void state_fleet_marks_close(struct fleet_marks *m) {
    if (!m)
        return;
    m->database->ops->close(m->database);
    forget(m);
    map_free(&m->bounds);
    free(m);
}

bool state_fleet_marks_up(const struct fleet_marks *m, char ret_fault[256]) {
    struct state_health health = {0};
    m->database->ops->health(m->database, &health);
    if (health.down)
        snprintf(ret_fault, 256, "%s: %.180s", health.path, health.fault);
    return !health.down;
}
