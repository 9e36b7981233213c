#include "ship/fleet_log.h"

#include "audit/cursor.h"
#include "audit/pack.h"
#include "audit/segment.h"
#include "base/mem.h"
#include "ship/limits.h"
#include "state/chains.h"

#include <stdlib.h>

struct fleet_log {
    struct state_chains *chains;
    struct state_chain *list;
    size_t count;
};

struct chain_source {
    struct audit_source base;
    struct state_chains *chains;
    bool back, over;
    uint64_t from_seq, to_seq; /* bounds; 0: none */
    uint64_t at;               /* the record that comes next */
    struct db_stmt *rows;      /* a page of blocks */
    size_t new_in_page;
    char gate[STATE_GATE_NAME_MAX + 1];
};

/* ---- opening ---- */

static void fleet_close(void *owner) {
    struct fleet_log *f = owner;
    state_chains_close(f->chains);
    free(f->list);
    free(f);
}

static int fleet_sources(void *owner, const struct audit_filter *filter, bool back,
                         struct audit_source ***ret_sources, size_t *ret_count, struct err *err);

static const struct audit_log_ops fleet_ops = {fleet_sources, fleet_close};

int ship_fleet_open(const char *home, struct audit_log **ret_log, struct err *err) {
    cleanup_free char *dsn = NULL;
    struct state_chains *chains;
    if (state_chains_dsn(home, &dsn, err) < 0)
        return -1;
    if (!dsn)
        return err_set(
            err,
            "the home `%s` belongs to no fleet: set audit.ship.dsn in the settings and start a gate, "
            "or write the DSN to `%s/fleet`",
            home, home);
    if (state_chains_open(dsn, NULL, SHIP_TIMEOUT_MS, -1, &chains, err) < 0)
        return -1;
    struct fleet_log *f = mem_zalloc(sizeof(*f));
    f->chains = chains;
    *ret_log = audit_log_over(&fleet_ops, f);
    return 0;
}

static bool add_chain(void *ctx, const struct state_chain *chain) {
    struct fleet_log *f = ctx;
    if (f->count == SHIP_CHAINS_MAX)
        return false;
    if ((f->count & (f->count - 1)) == 0)
        f->list = mem_realloc(f->list, (f->count ? 2 * f->count : 1) * sizeof(*f->list));
    f->list[f->count++] = *chain;
    return true;
}

/* ---- blocks ---- */

static void end_page(struct chain_source *s) {
    if (s->rows)
        state_chains_rows_end(s->rows, NULL);
    s->rows = NULL;
}

static void source_close(struct audit_source *base) {
    struct chain_source *s = container_of(base, struct chain_source, base);
    end_page(s);
    free(s);
}

/* A row within the bounds that was not read before. */
static bool is_new(struct chain_source *s, const struct state_block *b) {
    uint64_t last = b->first_seq + b->count - 1;
    if (s->back ? last < s->from_seq : s->to_seq && b->first_seq > s->to_seq) {
        s->over = true;
        return false;
    }
    return s->back ? b->first_seq <= s->at : last >= s->at;
}

static int source_next(struct audit_source *base, struct audit_block *ret_block, struct err *err) {
    struct chain_source *s = container_of(base, struct chain_source, base);
    struct state_block b;
    while (!s->over) {
        if (!s->rows) {
            s->rows = state_chains_blocks(s->chains, base->chain, s->at, s->back, true, SHIP_PAGE_BLOCKS);
            s->new_in_page = 0;
        }
        while (state_chains_block(s->rows, &b)) {
            if (!is_new(s, &b))
                continue;
            s->new_in_page++;
            s->at = s->back ? b.first_seq - 1 : b.first_seq + b.count;
            *ret_block = (struct audit_block){b.first_seq, b.count, b.hash, b.body};
            return 1;
        }
        struct db_stmt *rows = s->rows;
        s->rows = NULL;
        s->over |= s->new_in_page == 0 || s->at == 0;
        if (state_chains_rows_end(rows, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- where to begin ---- */

/* The block that has that record, or the last one before it: where it is, and the time of its first record.
 */
static int look_at(struct state_chains *chains, uint64_t chain, uint64_t seq, struct state_block *ret_block,
                   uint64_t *ret_us, struct err *err) {
    cleanup_free char *room = NULL;
    struct db_stmt *rows = state_chains_blocks(chains, chain, seq, true, true, 1);
    struct segment_frame frame;
    struct audit_record r;
    bool found = state_chains_block(rows, ret_block);
    if (found) {
        struct slice body = audit_unpack(ret_block->body, &room);
        found = audit_segment_frame_next(&body, &frame) && audit_record_read(frame.bytes, &r);
        *ret_us = found ? r.number[AUDIT_TIME_US] : 0;
    }
    return state_chains_rows_end(rows, err) < 0 ? -1 : found;
}

/* The last block whose first record is older than that; its count is 0 when there is none. */
static int seek(struct state_chains *chains, const struct state_chain *chain, uint64_t time_us,
                struct state_block *ret_block, struct err *err) {
    uint64_t low = chain->base_seq + 1, high = chain->seq, us;
    struct state_block b;
    *ret_block = (struct state_block){0};
    while (low <= high) {
        uint64_t middle = low + (high - low) / 2;
        int found = look_at(chains, chain->id, middle, &b, &us, err);
        if (found < 0)
            return -1;
        if (!found) { /* dropped with its day */
            low = middle + 1;
        } else if (us < time_us) {
            *ret_block = b;
            low = b.first_seq + b.count;
        } else if (b.first_seq <= low) {
            break;
        } else {
            high = b.first_seq - 1;
        }
    }
    return 0;
}

static int source_begin(struct chain_source *s, const struct state_chain *chain,
                        const struct audit_filter *filter, struct err *err) {
    struct state_block b = {0};
    s->from_seq = s->back ? filter->from_seq : audit_filter_from(filter, chain->id);
    s->to_seq = filter->to_seq;
    s->at = s->back ? chain->seq : s->from_seq;
    s->over = s->from_seq > chain->seq; /* nothing new since the last walk */
    if (s->back && filter->until_us) {
        if (seek(s->chains, chain, filter->until_us + AUDIT_ORDER_US, &b, err) < 0)
            return -1;
        s->over = b.count == 0;
        s->at = b.first_seq + b.count;
    } else if (!s->back && !s->at && filter->since_us > AUDIT_ORDER_US) {
        if (seek(s->chains, chain, filter->since_us - AUDIT_ORDER_US, &b, err) < 0)
            return -1;
        s->at = b.first_seq;
    }
    return 0;
}

static bool gate_wanted(const struct audit_filter *filter, const struct state_chain *chain) {
    struct slice want = filter->gate, have = slice_str(chain->gate);
    if (filter->chain && filter->chain != chain->id)
        return false;
    if (want.len && want.ptr[want.len - 1] == '*')
        return slice_starts(have, slice_upto(want, want.len - 1));
    return !want.len || slice_eq(want, have);
}

static int fleet_sources(void *owner, const struct audit_filter *filter, bool back,
                         struct audit_source ***ret_sources, size_t *ret_count, struct err *err) {
    struct fleet_log *f = owner;
    f->count = 0;
    if (state_chains_each(f->chains, (struct slice){0}, add_chain, f, err) < 0)
        return -1;
    struct audit_source **sources = mem_zalloc((f->count + 1) * sizeof(struct audit_source *));
    size_t count = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->count; i++) {
        const struct state_chain *chain = &f->list[i];
        if (!gate_wanted(filter, chain))
            continue;
        struct chain_source *s = mem_zalloc(sizeof(*s));
        s->chains = f->chains;
        s->back = back;
        memcpy(s->gate, chain->gate, sizeof(s->gate));
        s->base = (struct audit_source){
            .next = source_next, .close = source_close, .chain = chain->id, .gate = slice_str(s->gate)};
        sources[count++] = &s->base;
        rc = source_begin(s, chain, filter, err);
    }
    if (rc == 0) {
        *ret_sources = sources;
        *ret_count = count;
        return 0;
    }
    while (count > 0)
        source_close(sources[--count]);
    free(sources);
    return -1;
}
