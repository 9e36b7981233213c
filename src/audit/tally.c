#include "audit/tally.h"

#include "audit/log_reader.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define TALLY_KEYS_MAX 256   /* tools, rules or identities that are counted separately */
#define TALLY_OPEN_MAX 65536 /* decisions whose outcome may still come */
#define TALLY_LATENCY_US 10.0
#define TALLY_GROWTH 1.4
#define TALLY_SLACK_US 600000000ull

/* A tool, a rule or an identity, over all cells. */
struct key {
    struct audit_tally_row row; /* its texts */
    struct audit_counts cells[AUDIT_TALLY_CELLS];
};

/* A decision that waits for its outcome, for the latency. */
struct open {
    uint64_t call;
    struct key *tool;
};

struct audit_tally {
    pthread_mutex_t mutex;
    _Atomic uint32_t refs;
    char *home;
    uint64_t step_us;
    uint64_t newest; /* number of the newest cell: time / step */
    audit_log_opener *open_log;
    struct audit_marks marks; /* position after the records that were read */
    uint64_t ends_us;         /* 0: the sum is up to now */
    struct arena arena;       /* keys */
    struct map keys[AUDIT_TALLY_KINDS];
    struct audit_counts cells[AUDIT_TALLY_CELLS];
    struct open *open; /* by the call's number, the last one wins */
    struct audit_tally_answer answer;
};

struct audit_tally *audit_tally_new(const char *home, uint64_t span_s, uint64_t ends_us,
                                    audit_log_opener *open) {
    struct audit_tally *t = mem_zalloc(sizeof(*t));
    pthread_mutex_init(&t->mutex, NULL);
    t->refs = 1;
    t->ends_us = ends_us;
    t->open_log = open;
    t->home = mem_dup(home, strlen(home));
    t->step_us = span_s * 1000000 / AUDIT_TALLY_CELLS;
    t->open = mem_zalloc(TALLY_OPEN_MAX * sizeof(*t->open));
    arena_init(&t->arena);
    for (size_t i = 0; i < AUDIT_TALLY_KINDS; i++)
        map_init(&t->keys[i]);
    return t;
}

struct audit_tally *audit_tally_ref(struct audit_tally *t) {
    atomic_fetch_add(&t->refs, 1);
    return t;
}

void audit_tally_unref(struct audit_tally *t) {
    if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
        return;
    for (size_t i = 0; i < AUDIT_TALLY_KINDS; i++)
        map_free(&t->keys[i]);
    arena_free(&t->arena);
    audit_marks_free(&t->marks);
    pthread_mutex_destroy(&t->mutex);
    free(t->open);
    free(t->home);
    free(t);
}

void audit_tally_lock(struct audit_tally *t) { pthread_mutex_lock(&t->mutex); }
void audit_tally_unlock(struct audit_tally *t) { pthread_mutex_unlock(&t->mutex); }

/* ---- latencies ---- */

static size_t share_of(uint64_t us) {
    if (us <= TALLY_LATENCY_US)
        return 0;
    double at = log((double)us / TALLY_LATENCY_US) / log(TALLY_GROWTH);
    return at >= AUDIT_TALLY_SHARES - 1 ? AUDIT_TALLY_SHARES - 1 : (size_t)at + 1;
}

uint64_t audit_counts_share(const struct audit_counts *c, double share) {
    uint64_t all = 0, below = 0;
    for (size_t i = 0; i < AUDIT_TALLY_SHARES; i++)
        all += c->latency[i];
    for (size_t i = 0; all && i < AUDIT_TALLY_SHARES; i++) {
        below += c->latency[i];
        if ((double)below >= share * (double)all)
            return (uint64_t)(TALLY_LATENCY_US * pow(TALLY_GROWTH, (double)i));
    }
    return 0;
}

static void counts_add(struct audit_counts *to, const struct audit_counts *from) {
    to->allow += from->allow;
    to->deny += from->deny;
    to->approve += from->approve;
    to->failed += from->failed;
    for (size_t i = 0; i < AUDIT_TALLY_SHARES; i++)
        to->latency[i] += from->latency[i];
}

/* ---- cells ---- */

static void drop_cell(struct audit_tally *t, size_t at) {
    t->cells[at] = (struct audit_counts){0};
    for (size_t kind = 0; kind < AUDIT_TALLY_KINDS; kind++) {
        size_t i = 0;
        for (struct map_entry *e; (e = map_next(&t->keys[kind], &i));)
            ((struct key *)e->value)->cells[at] = (struct audit_counts){0};
    }
}

static void forget(struct audit_tally *t) {
    for (size_t i = 0; i < AUDIT_TALLY_KINDS; i++) {
        map_free(&t->keys[i]);
        map_init(&t->keys[i]);
    }
    arena_reset(&t->arena);
    memset(t->cells, 0, sizeof(t->cells));
    memset(t->open, 0, TALLY_OPEN_MAX * sizeof(*t->open));
    audit_marks_free(&t->marks);
}

static void advance(struct audit_tally *t, uint64_t now_us) {
    uint64_t newest = now_us / t->step_us;
    if (newest >= t->newest + AUDIT_TALLY_CELLS)
        forget(t);
    else
        while (t->newest < newest)
            drop_cell(t, ++t->newest % AUDIT_TALLY_CELLS);
    t->newest = newest;
}

/* AUDIT_TALLY_CELLS when it is too old. Clocks of other machines may be slightly ahead. */
static size_t cell_of(const struct audit_tally *t, uint64_t time_us) {
    uint64_t number = time_us / t->step_us;
    if (number > t->newest)
        number = t->newest;
    return t->newest - number < AUDIT_TALLY_CELLS ? number % AUDIT_TALLY_CELLS : AUDIT_TALLY_CELLS;
}

/* ---- records ---- */

static struct key *key_for(struct audit_tally *t, enum audit_tally_kind kind,
                           const struct audit_tally_row *row) {
    const struct slice parts[] = {row->server, row->tool, row->rule, row->reason, row->identity};
    char text[1024];
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t n = parts[i].len < sizeof(text) / 5 - 1 ? parts[i].len : sizeof(text) / 5 - 1;
        memcpy(text + len, parts[i].ptr ? parts[i].ptr : "", n);
        len += n;
        text[len++] = '\0';
    }
    struct key *k = map_get(&t->keys[kind], slice_of(text, len));
    if (k || t->keys[kind].count >= TALLY_KEYS_MAX)
        return k;
    k = arena_new(&t->arena, struct key);
    *k = (struct key){0};
    k->row = (struct audit_tally_row){.server = arena_dup(&t->arena, row->server),
                                      .tool = arena_dup(&t->arena, row->tool),
                                      .rule = arena_dup(&t->arena, row->rule),
                                      .reason = arena_dup(&t->arena, row->reason),
                                      .identity = arena_dup(&t->arena, row->identity)};
    map_put(&t->keys[kind], arena_dup(&t->arena, slice_of(text, len)), k);
    return k;
}

static void count_verdict(struct audit_counts *c, struct slice verdict) {
    if (slice_is(verdict, "deny"))
        c->deny++;
    else if (slice_is(verdict, "approve"))
        c->approve++;
    else
        c->allow++;
}

static void take_decision(struct audit_tally *t, const struct audit_entry *e, size_t cell) {
    const struct slice *text = e->record->text;
    bool denied = slice_is(text[AUDIT_VERDICT], "deny");
    if (!audit_counts_as_call(e->record))
        return;
    struct slice tool = text[AUDIT_TOOL].len ? text[AUDIT_TOOL] : text[AUDIT_METHOD];
    struct audit_tally_row rows[AUDIT_TALLY_KINDS] = {
        [AUDIT_TALLY_TOOL] = {.server = text[AUDIT_SERVER], .tool = tool},
        [AUDIT_TALLY_DENIAL] = {.server = text[AUDIT_SERVER],
                                .tool = tool,
                                .rule = text[AUDIT_RULE],
                                .reason = text[AUDIT_REASON]},
        [AUDIT_TALLY_IDENTITY] = {.identity = text[AUDIT_IDENTITY]},
    };
    count_verdict(&t->cells[cell], text[AUDIT_VERDICT]);
    for (size_t kind = 0; kind < AUDIT_TALLY_KINDS; kind++) {
        if (kind == AUDIT_TALLY_DENIAL && !denied)
            continue;
        struct key *k = key_for(t, (enum audit_tally_kind)kind, &rows[kind]);
        if (!k)
            continue;
        count_verdict(&k->cells[cell], text[AUDIT_VERDICT]);
        k->row.last_seq = e->seq;
        k->row.last_chain = e->chain;
        k->row.last_us = e->record->number[AUDIT_TIME_US];
        if (kind == AUDIT_TALLY_TOOL)
            t->open[e->record->number[AUDIT_CALL] % TALLY_OPEN_MAX] =
                (struct open){e->record->number[AUDIT_CALL], k};
    }
}

static void take_outcome(struct audit_tally *t, const struct audit_record *r, size_t cell) {
    struct slice status = r->text[AUDIT_STATUS];
    uint64_t call = r->number[AUDIT_CALL];
    struct open *o = &t->open[call % TALLY_OPEN_MAX];
    if (o->call != call || slice_is(status, "denied") || slice_is(status, "approval"))
        return; /* calls that never reached a server have no latency */
    size_t share = share_of(r->number[AUDIT_LATENCY_US]);
    bool failed = audit_outcome_failed(status);
    t->cells[cell].latency[share]++;
    t->cells[cell].failed += failed;
    o->tool->cells[cell].latency[share]++;
    o->tool->cells[cell].failed += failed;
    *o = (struct open){0};
}

static bool take(void *ctx, const struct audit_entry *e) {
    struct audit_tally *t = ctx;
    size_t cell = cell_of(t, e->record->number[AUDIT_TIME_US]);
    uint64_t time_us = e->record->number[AUDIT_TIME_US];
    if (t->ends_us && time_us > t->ends_us)
        return time_us < t->ends_us + TALLY_SLACK_US; /* a record may be a little older than the one before */
    if (cell == AUDIT_TALLY_CELLS)
        return true;
    if (e->record->kind == AUDIT_KIND_DECISION)
        take_decision(t, e, cell);
    else if (e->record->kind == AUDIT_KIND_OUTCOME)
        take_outcome(t, e->record, cell);
    return true;
}

/* ---- the answer ---- */

static uint64_t weight(const struct audit_tally_row *r) {
    return r->counts.allow + r->counts.deny + r->counts.approve;
}

/* Inserts it into the list of the largest. */
static void rank(struct audit_tally_answer *to, enum audit_tally_kind kind,
                 const struct audit_tally_row *row) {
    struct audit_tally_row *rows = to->rows[kind];
    size_t at = to->row_count[kind];
    while (at > 0 && weight(&rows[at - 1]) < weight(row))
        at--;
    if (at == AUDIT_TALLY_ROWS)
        return;
    if (to->row_count[kind] < AUDIT_TALLY_ROWS)
        to->row_count[kind]++;
    memmove(&rows[at + 1], &rows[at], (to->row_count[kind] - 1 - at) * sizeof(*rows));
    rows[at] = *row;
}

static void sum_up(struct audit_tally *t) {
    struct audit_tally_answer *to = &t->answer;
    *to = (struct audit_tally_answer){.since_us = (t->newest + 1 - AUDIT_TALLY_CELLS) * t->step_us,
                                      .until_us = (t->newest + 1) * t->step_us,
                                      .step_us = t->step_us};
    for (size_t i = 0; i < AUDIT_TALLY_CELLS; i++) {
        to->cells[i] = t->cells[(t->newest + 1 + i) % AUDIT_TALLY_CELLS];
        counts_add(&to->total, &to->cells[i]);
    }
    for (size_t kind = 0; kind < AUDIT_TALLY_KINDS; kind++) {
        size_t at = 0;
        for (struct map_entry *e; (e = map_next(&t->keys[kind], &at));) {
            const struct key *k = e->value;
            struct audit_tally_row row = k->row;
            for (size_t i = 0; i < AUDIT_TALLY_CELLS; i++)
                counts_add(&row.counts, &k->cells[i]);
            if (weight(&row))
                rank(to, (enum audit_tally_kind)kind, &row);
        }
    }
}

int audit_tally_read(struct audit_tally *t, uint64_t now_us, const struct audit_tally_answer **ret_answer,
                     struct err *err) {
    cleanup_audit_log struct audit_log *log = NULL;
    uint64_t from_seq;
    if (t->open_log(t->home, &log, err) < 0)
        return -1;
    advance(t, t->ends_us ? t->ends_us : now_us);
    uint64_t since_us = (t->newest + 1 - AUDIT_TALLY_CELLS) * t->step_us;
    if (!t->marks.count) {
        if (audit_log_seek(log, since_us, &from_seq, err) < 0)
            return -1;
        if (from_seq)
            audit_marks_set(&t->marks, 0, from_seq);
    }
    const struct audit_filter filter = {.since_us = since_us, .marks = &t->marks};
    if (audit_log_walk(log, &filter, take, t, err) < 0)
        return -1;
    sum_up(t);
    *ret_answer = &t->answer;
    return 0;
}
