/* Activity over a span of time, summed from the audit log (audit/tally.h), and limits in use. */
#include "admin/api.h"
#include "audit/format.h"
#include "audit/log_reader.h"
#include "audit/tally.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ship/fleet_log.h"
#include "state/state.h"

/* A sum is kept per span, so that the next request reads only new records. */
struct span_sum {
    struct list node;
    uint64_t span_s;
    bool fleet;
    struct audit_tally *tally;
};

static audit_log_opener *opener(bool fleet) { return fleet ? ship_fleet_open : audit_log_open; }

static struct audit_tally *tally_for(struct admin *a, uint64_t span_s, bool fleet) {
    LIST_FOR (n, &a->tallies) {
        struct span_sum *s = container_of(n, struct span_sum, node);
        if (s->span_s == span_s && s->fleet == fleet)
            return s->tally;
    }
    struct span_sum *s = mem_zalloc(sizeof(*s));
    *s = (struct span_sum){
        .span_s = span_s, .fleet = fleet, .tally = audit_tally_new(a->home, span_s, 0, opener(fleet))};
    list_push(&a->tallies, &s->node);
    return s->tally;
}

void api_overview_free(struct admin *a) {
    LIST_FOR_SAFE (n, next, &a->tallies) {
        struct span_sum *s = container_of(n, struct span_sum, node);
        list_remove(n);
        audit_tally_unref(s->tally);
        free(s);
    }
}

/* ---- the response ---- */

static void put_number(struct emit *e, const char *key, uint64_t value) {
    emit_key(e, key);
    emit_int(e, (int64_t)value);
}

static void put_time(struct emit *e, const char *key, uint64_t us) {
    char text[AUDIT_TIME_TEXT];
    audit_format_time(us, text);
    emit_key(e, key);
    emit_cstr(e, text);
}

static void put_share(struct emit *e, const char *key, const struct audit_counts *c, double share) {
    uint64_t us = audit_counts_share(c, share);
    if (us)
        put_number(e, key, us);
}

enum series {
    SERIES_ALLOW,
    SERIES_DENY,
    SERIES_APPROVE,
    SERIES_FAILED,
    SERIES_P50,
    SERIES_P90,
    SERIES_P99,
    SERIES
};

static void put_point(struct emit *e, enum series which, const struct audit_counts *c) {
    static const double shares[] = {[SERIES_P50] = 0.5, [SERIES_P90] = 0.9, [SERIES_P99] = 0.99};
    const uint64_t counts[] = {c->allow, c->deny, c->approve, c->failed};
    uint64_t value = which < SERIES_P50 ? counts[which] : audit_counts_share(c, shares[which]);
    if (which >= SERIES_P50 && !value)
        emit_null(e);
    else
        emit_int(e, (int64_t)value);
}

static void put_series(struct emit *e, const struct audit_tally_answer *t) {
    static const char *const names[] = {"allow", "deny", "approve", "failed", "p50_us", "p90_us", "p99_us"};
    emit_key(e, "times");
    emit_array(e);
    for (size_t i = 0; i < AUDIT_TALLY_CELLS; i++)
        emit_int(e, (int64_t)((t->since_us + i * t->step_us) / 1000000));
    emit_array_end(e);
    for (int which = 0; which < SERIES; which++) {
        emit_key(e, names[which]);
        emit_array(e);
        for (size_t i = 0; i < AUDIT_TALLY_CELLS; i++)
            put_point(e, (enum series)which, &t->cells[i]);
        emit_array_end(e);
    }
}

static void put_totals(struct emit *e, const struct audit_counts *c) {
    emit_key(e, "totals");
    emit_object(e);
    put_number(e, "calls", c->allow + c->deny + c->approve);
    put_number(e, "allow", c->allow);
    put_number(e, "deny", c->deny);
    put_number(e, "approve", c->approve);
    put_number(e, "failed", c->failed);
    put_share(e, "p50_us", c, 0.5);
    put_share(e, "p90_us", c, 0.9);
    put_share(e, "p99_us", c, 0.99);
    emit_object_end(e);
}

static void put_row(struct emit *e, enum audit_tally_kind kind, const struct audit_tally_row *r) {
    emit_object(e);
    emit_text(e, "server", r->server);
    emit_text(e, "tool", r->tool);
    emit_text(e, "identity", r->identity);
    if (kind == AUDIT_TALLY_DENIAL) {
        emit_text(e, "rule", r->rule);
        emit_key(e, "reason");
        emit_str(e, r->reason);
        put_number(e, "count", r->counts.deny);
        put_number(e, "last_seq", r->last_seq);
        if (r->last_chain)
            put_number(e, "last_chain", r->last_chain);
        put_time(e, "last_time", r->last_us);
    } else {
        put_number(e, "calls", r->counts.allow + r->counts.deny + r->counts.approve);
        put_number(e, "denied", r->counts.deny);
        put_share(e, "p90_us", &r->counts, 0.9);
    }
    emit_object_end(e);
}

static void overview_run(struct api_job *j) {
    static const char *const lists[] = {"tools", "denials", "identities"};
    struct audit_tally *tally = j->what;
    const struct audit_tally_answer *t;
    struct emit *e = &j->e;
    audit_tally_lock(tally);
    j->failed = audit_tally_read(tally, clock_wall_us(), &t, &j->err) < 0;
    if (!j->failed) {
        emit_object(e);
        put_time(e, "since", t->since_us);
        put_time(e, "until", t->until_us);
        emit_key(e, "step_seconds");
        emit_double(e, (double)t->step_us / 1e6);
        put_series(e, t);
        put_totals(e, &t->total);
        for (size_t kind = 0; kind < AUDIT_TALLY_KINDS; kind++) {
            emit_key(e, lists[kind]);
            emit_array(e);
            for (size_t i = 0; i < t->row_count[kind]; i++)
                put_row(e, (enum audit_tally_kind)kind, &t->rows[kind][i]);
            emit_array_end(e);
        }
        emit_object_end(e);
    }
    audit_tally_unlock(tally);
}

static void drop_tally(void *what) { audit_tally_unref(what); }

/* Reads the span. Responds with an error and returns NULL if it is invalid. */
static struct audit_tally *tally_between(struct api_call *c, struct slice since, struct slice until) {
    uint64_t from_us, to_us, now_us = clock_wall_us();
    if (!api_read_time(c, "since", since, &from_us) || !api_read_time(c, "until", until, &to_us))
        return NULL;
    if (!to_us || to_us > now_us)
        to_us = now_us;
    if (!from_us || from_us >= to_us || (to_us - from_us) / 1000000 > ADMIN_OVERVIEW_MAX_S) {
        api_error(c, 400, "since must be before until and now, by 366 days at most");
        return NULL;
    }
    uint64_t span_s = (to_us - from_us) / 1000000;
    return audit_tally_new(c->admin->home, span_s > ADMIN_OVERVIEW_MIN_S ? span_s : ADMIN_OVERVIEW_MIN_S,
                           to_us, opener(api_query_text(c, "fleet").len > 0));
}

void api_overview(struct api_call *c) {
    static const uint64_t spans[] = {900, 3600, 21600, 86400, 604800, 2592000};
    struct slice since = api_query_text(c, "since"), until = api_query_text(c, "until");
    uint64_t span;
    struct audit_tally *tally;
    bool fleet;
    if (!api_query_number(c, "range", 2592000, 3600, &span) || !api_query_fleet(c, &fleet))
        return;
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(spans) && spans[i] < span)
        i++;
    tally = since.len || until.len ? tally_between(c, since, until)
                                   : audit_tally_ref(tally_for(c->admin, spans[i], fleet));
    struct api_job *j = tally ? api_job_for(c) : NULL;
    if (!j) {
        audit_tally_unref(tally);
        return;
    }
    j->what = tally;
    j->drop = drop_tally;
    api_job_start(j, overview_run);
}

/* ---- limits ---- */

struct counters {
    struct arena *arena;
    struct state_counter *items; /* owned; their keys lie in the arena */
    size_t count, room;
};

static void note_counter(void *ctx, const struct state_counter *one) {
    struct counters *all = ctx;
    if (all->count == all->room) {
        all->room = all->room ? all->room * 2 : 64;
        all->items = mem_realloc(all->items, all->room * sizeof(*all->items));
    }
    all->items[all->count] = *one;
    all->items[all->count++].key = arena_dup(all->arena, one->key);
}

static int by_key(const void *a, const void *b) {
    return slice_cmp(((const struct state_counter *)a)->key, ((const struct state_counter *)b)->key);
}

static void put_limit(struct emit *e, const struct state_counter *s) {
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, s->key);
    emit_key(e, "key");
    emit_str(e, s->key);
    emit_key(e, "used");
    emit_double(e, (double)s->value / 1e6);
    emit_key(e, "max");
    emit_double(e, (double)s->max / 1e6);
    if (s->window_ms) {
        put_number(e, "window_seconds", s->window_ms / 1000);
        emit_time(e, "resets_at", s->start_ms + s->window_ms);
    }
    emit_object_end(e);
}

void api_limits(struct api_call *c) {
    struct counters all = {.arena = &c->arena};
    struct api_page page;
    struct err err = {0};
    if (!api_page_open(c, ADMIN_LIST_MAX, &page))
        return;
    if (state_list(c->admin->core->state, clock_wall_ms(), note_counter, &all, &err) < 0) {
        api_error(c, 503, "%s", err.text);
        free(all.items);
        return;
    }
    /* The store has no order. Counters appear and disappear, so a page starts after the cursor's key,
     * whether or not that counter still exists. */
    if (all.count)
        qsort(all.items, all.count, sizeof(*all.items), by_key);
    page.skipping = false;
    for (size_t i = 0; i < all.count; i++)
        if ((!page.after.len || slice_cmp(all.items[i].key, page.after) > 0) &&
            api_page_takes(&page, all.items[i].key))
            put_limit(&c->e, &all.items[i]);
    free(all.items);
    api_page_answer(c, &page);
}
