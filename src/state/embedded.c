#include "state/embedded.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sha.h"
#include "io/work.h"
#include "state/live.h"
#include "state/marks.h"
#include "state/quota.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#define EMBEDDED_MAGIC 0x73746f72u
#define EMBEDDED_TRIES_MAX 16 /* other processes may use up a mark between its commit and our turn */
#define DIGEST_TEXT 65        /* '#' and SHA-256 in hex */

struct embedded {
    struct state_store store;
    uint32_t magic;
    struct live live;
    struct state_quota quota; /* under the table's lock */
    struct marks *marks;      /* NULL: memory only, or read-only */
    bool read_only;
    pthread_mutex_t commit_mutex; /* one transaction at a time; held while the disk is waited for */
    pthread_mutex_t health_mutex; /* protects the next one */
    struct state_health health;
    char *path;
    bool created; /* this process created the database */
    char *prefix;
    struct io_loop *loop; /* NULL: the caller that reserves waits for the disk */
    /* Reservations that wait for marks, in order of arrival. */
    struct list pending;
    uint32_t pending_bits[64]; /* how many of them have that bit; see bits_of() */
    uint64_t look_ms;          /* when the table's file is looked at again */
    bool gone;                 /* the file was deleted or replaced: others count in another table */
};

/* A mark that must be on disk before the reservation is valid. */
struct want {
    struct live_counter counter; /* a copy: the row is written from it without the table's lock */
    struct state_hold where;
};

struct wants {
    struct want few[2];
    struct want *items;
    size_t count;
    size_t cap;
};

/* A reservation whose marks are being written, or that waits behind such a one. */
struct mark_work {
    struct io_work work;
    struct list node;
    uint64_t bits;
    bool writing; /* its own marks */
    struct embedded *store;
    struct state_ticket *ticket; /* NULL: it was cancelled */
    struct state_limit *limits;  /* in the arena, with their keys */
    size_t count;
    uint64_t now_ms;
    state_done_fn *done;
    void *ctx;
    struct wants wants;
    struct arena arena;
    int tries;
    int rc;
};

static const struct state_ops embedded_ops;

/* ---- keys ---- */

struct key_buf {
    char bytes[STATE_KEY_GIVEN_MAX * 2];
};

/* Prefix and key. A key that is too long for the table is truncated and ends in a hash of the whole. */
static bool embedded_key(const struct embedded *e, struct slice key, struct key_buf *buf,
                         struct slice *ret_key) {
    size_t prefix = e->prefix ? strlen(e->prefix) : 0;
    if (prefix == 0 && key.len <= STATE_KEY_MAX) {
        *ret_key = key;
        return true;
    }
    if (prefix + key.len > sizeof(buf->bytes))
        return false;
    if (prefix)
        memcpy(buf->bytes, e->prefix, prefix);
    memcpy(buf->bytes + prefix, key.ptr, key.len);
    struct slice whole = slice_of(buf->bytes, prefix + key.len);
    if (whole.len > STATE_KEY_MAX) {
        char *to = buf->bytes + STATE_KEY_MAX - DIGEST_TEXT;
        *to++ = '#';
        sha_256_hex(whole, to);
        whole.len = STATE_KEY_MAX;
    }
    *ret_key = whole;
    return true;
}

/* ---- reserving ---- */

static void wants_free(struct wants *w) {
    if (w->items != w->few)
        free(w->items);
}

static void wants_add(struct wants *w, const struct live *l, const struct live_counter *c,
                      const struct state_limit *limit, uint64_t now_ms) {
    if (w->count == w->cap) {
        size_t cap = w->cap * 4;
        struct want *more = mem_alloc(cap * sizeof(*more));
        memcpy(more, w->items, w->count * sizeof(*more));
        wants_free(w);
        w->items = more;
        w->cap = cap;
    }
    struct want *want = &w->items[w->count++];
    want->counter = *c;
    want->counter.mark = state_meter_mark(&c->meter, limit, now_ms);
    want->where = (struct state_hold){.counter = state_live_index(l, c), .generation = c->generation};
}

static void embedded_undo(struct embedded *e, struct state_ticket *ticket, uint64_t give_back) {
    for (uint32_t i = ticket->count; i-- > 0;) {
        const struct state_hold *hold = &ticket->holds[i];
        struct live_counter *c = state_live_held(&e->live, hold);
        if (c && (state_gives_back(give_back, hold->index) || c->kind == STATE_CONCURRENT))
            state_meter_undo(&c->meter, (enum state_kind)c->kind, c->window_ms, e->live.owner, hold);
    }
}

static void ticket_free(struct state_ticket *ticket) {
    if (ticket->holds != ticket->few)
        free(ticket->holds);
    ticket->holds = NULL;
    ticket->count = 0;
}

enum add_result { ADD_OK, ADD_REFUSED, ADD_FAULT };

/* A concurrency counter is idle when its calls have ended; how long that takes is not known. */
static bool may_make(struct embedded *e, const struct state_limit *limit, uint64_t now_ms) {
    const uint64_t lasts = limit->window_ms ? limit->window_ms : STATE_QUOTA_CALL_MS;
    const uint64_t until = now_ms + (lasts < STATE_QUOTA_MS_MAX ? lasts : STATE_QUOTA_MS_MAX);
    if (state_quota_take(&e->quota, limit->owner, until, now_ms,
                         STATE_COUNTERS_MAX - state_live_count(&e->live)))
        return true;
    state_live_sweep(&e->live, now_ms);
    return state_quota_take(&e->quota, limit->owner, until, now_ms,
                            STATE_COUNTERS_MAX - state_live_count(&e->live));
}

static enum add_result embedded_add(struct embedded *e, const struct state_limit *limit, uint64_t now_ms,
                                    struct state_ticket *ticket, struct live_counter **ret_counter) {
    struct key_buf buf;
    struct slice key;
    if (!embedded_key(e, limit->key, &buf, &key))
        return ADD_FAULT;
    if (!state_live_find(&e->live, key, limit->kind, limit->window_ms) && !may_make(e, limit, now_ms)) {
        ticket->answer.retry_after_ms = limit->window_ms;
        return ADD_REFUSED;
    }
    struct live_counter *c = state_live_make(&e->live, key, limit, now_ms);
    if (!c)
        return ADD_FAULT;
    c->max = limit->max;
    c->refill = limit->refill;
    struct state_hold *hold = &ticket->holds[ticket->count];
    uint64_t *retry = &ticket->answer.retry_after_ms;
    if (!state_meter_add(&c->meter, limit, now_ms, e->live.owner, hold, retry)) {
        /* A process that died may still hold a lock. */
        if (limit->kind != STATE_CONCURRENT || !state_live_reap(&e->live, c) ||
            !state_meter_add(&c->meter, limit, now_ms, e->live.owner, hold, retry))
            return ADD_REFUSED;
    }
    c->used_ms = now_ms;
    hold->counter = state_live_index(&e->live, c);
    hold->generation = c->generation;
    ticket->count++;
    *ret_counter = c;
    return ADD_OK;
}

static bool table_is_gone(struct embedded *e) {
    const uint64_t now_ms = clock_mono_ms();
    if (e->marks && now_ms >= e->look_ms) {
        e->look_ms = now_ms + STATE_GENERATION_LOOK_MS;
        e->gone = state_live_check(&e->live, NULL) < 0;
    }
    return e->gone;
}

/* One attempt under the lock: everything is counted, or nothing, with the reason in *answer or *wants. */
static void embedded_try(struct embedded *e, const struct state_limit *limits, size_t count, uint64_t now_ms,
                         struct state_ticket *ticket, bool unmarked, struct wants *wants) {
    struct state_answer *answer = &ticket->answer;
    *answer = (struct state_answer){.result = table_is_gone(e) ? STATE_FAULT : STATE_GRANTED};
    state_live_lock(&e->live);
    for (size_t i = 0; i < count && answer->result == STATE_GRANTED; i++) {
        struct live_counter *c;
        ticket->holds[ticket->count].index = (uint32_t)i;
        enum add_result result = embedded_add(e, &limits[i], now_ms, ticket, &c);
        if (result == ADD_FAULT) {
            answer->result = STATE_FAULT;
        } else if (result == ADD_REFUSED && limits[i].shadow) {
            answer->retry_after_ms = 0;
            answer->shadow_refused |= i < 64 ? (uint64_t)1 << i : 0;
        } else if (result == ADD_REFUSED) {
            answer->result = STATE_REFUSED;
            answer->refused_index = i;
        } else if (e->marks && !unmarked && !state_meter_covered(&c->mark, &c->meter, &limits[i], now_ms)) {
            wants_add(wants, &e->live, c, &limits[i], now_ms);
        }
    }
    if (answer->result != STATE_GRANTED)
        wants->count = 0;
    if (answer->result != STATE_GRANTED || wants->count > 0) {
        embedded_undo(e, ticket, UINT64_MAX);
        ticket->count = 0;
    }
    state_live_unlock(&e->live);
}

/* Counters and marks in files that no other process can see limit nothing. */
static int embedded_check(const struct embedded *e, struct err *err) {
    return state_live_check(&e->live, err) < 0 ? -1 : state_marks_check(e->marks, err);
}

static int embedded_write_marks(struct embedded *e, const struct wants *wants) {
    struct err err = {0};
    pthread_mutex_lock(&e->commit_mutex);
    int rc = embedded_check(e, &err);
    if (rc == 0) {
        state_marks_begin(e->marks);
        for (size_t i = 0; i < wants->count; i++)
            state_marks_put(e->marks, &wants->items[i].counter, &wants->items[i].counter.mark, NULL);
        rc = state_marks_commit(e->marks, &err);
    }
    pthread_mutex_unlock(&e->commit_mutex);
    pthread_mutex_lock(&e->health_mutex);
    if (rc == 0)
        e->health.commits++;
    else
        snprintf(e->health.fault, sizeof(e->health.fault), "%.255s", err.text);
    pthread_mutex_unlock(&e->health_mutex);
    if (rc < 0)
        return -1;
    state_live_lock(&e->live);
    for (size_t i = 0; i < wants->count; i++) {
        struct live_counter *c = state_live_held(&e->live, &wants->items[i].where);
        const struct state_mark *mark = &wants->items[i].counter.mark;
        if (c && (mark->start_ms > c->mark.start_ms ||
                  (mark->start_ms == c->mark.start_ms && mark->value > c->mark.value)))
            c->mark = *mark;
    }
    state_live_unlock(&e->live);
    return 0;
}

static void embedded_note_fault(struct embedded *e, const char *text) {
    pthread_mutex_lock(&e->health_mutex);
    e->health.faults++;
    if (text)
        snprintf(e->health.fault, sizeof(e->health.fault), "%s", text);
    pthread_mutex_unlock(&e->health_mutex);
}

static void wants_init(struct wants *w) {
    w->items = w->few;
    w->count = 0;
    w->cap = ARRAY_LEN(w->few);
}

/* Ends a reservation that could not be marked or has no room: a fault, or granted by the fail mode. */
static void embedded_conclude(struct embedded *e, bool opens, struct state_ticket *ticket, bool unmarked) {
    if (unmarked)
        embedded_note_fault(e, NULL);
    else if (ticket->answer.result == STATE_FAULT)
        embedded_note_fault(e, "the table of counters is full");
    if (ticket->answer.result == STATE_FAULT && opens) {
        ticket->answer.result = STATE_GRANTED;
        unmarked = true;
    }
    ticket->answer.degraded = unmarked && ticket->answer.result == STATE_GRANTED;
    if (ticket->answer.result != STATE_GRANTED)
        ticket_free(ticket);
}

/* Called after the marks of one attempt were written or failed. True: there are new ones to write. */
static bool embedded_again(struct embedded *e, const struct state_limit *limits, size_t count,
                           uint64_t now_ms, struct state_ticket *ticket, int rc, int tries,
                           struct wants *wants) {
    const bool unmarked = rc < 0, opens = state_opens(&e->store, limits, count);
    wants->count = 0;
    if (unmarked && !opens)
        ticket->answer.result = STATE_FAULT;
    else
        embedded_try(e, limits, count, now_ms, ticket, unmarked, wants);
    if (wants->count > 0 && tries < EMBEDDED_TRIES_MAX)
        return true;
    if (wants->count > 0)
        ticket->answer.result = STATE_FAULT;
    embedded_conclude(e, opens, ticket, unmarked);
    return false;
}

/* ---- waiting for marks ----
 *
 * First come, first counted: a reservation waits behind an earlier one that waits for a mark of the same
 * counter, even if that mark has been written in the meantime. The mark usually covers both. */

/* Each key sets one bit. Two keys with the same bit only make one reservation wait for the other. */
static uint64_t bits_of(const struct state_limit *limits, size_t count) {
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)1 << (map_hash(limits[i].key) & 63);
    return bits;
}

static bool must_queue(const struct embedded *e, const struct state_limit *limits, size_t count) {
    if (list_empty(&e->pending))
        return false;
    for (uint64_t bits = bits_of(limits, count); bits; bits &= bits - 1)
        if (e->pending_bits[__builtin_ctzll(bits)])
            return true;
    return false;
}

static void pending_add(struct embedded *e, struct mark_work *w) {
    list_push(&e->pending, &w->node);
    for (uint64_t bits = w->bits; bits; bits &= bits - 1)
        e->pending_bits[__builtin_ctzll(bits)]++;
}

static void pending_remove(struct embedded *e, struct mark_work *w) {
    list_remove(&w->node);
    for (uint64_t bits = w->bits; bits; bits &= bits - 1)
        e->pending_bits[__builtin_ctzll(bits)]--;
}

static void mark_free(struct mark_work *w) {
    wants_free(&w->wants);
    arena_free(&w->arena);
    free(w);
}

static void mark_write(struct mark_work *w) {
    w->writing = true;
    w->tries++;
    io_work_add(w->store->loop, &w->work);
}

/* Its turn. False: there are (new) marks to write. */
static bool mark_counted(struct mark_work *w) {
    return !w->ticket ||
           !embedded_again(w->store, w->limits, w->count, w->now_ms, w->ticket, w->rc, w->tries, &w->wants);
}

static void mark_notify(struct mark_work *w) {
    struct state_ticket *ticket = w->ticket;
    state_done_fn *done = w->done;
    void *ctx = w->ctx;
    mark_free(w);
    if (!ticket)
        return;
    ticket->wait = NULL;
    done(ctx, ticket->answer.result, ticket->answer.refused_index, ticket->answer.retry_after_ms);
}

static void run_marks(struct io_work *work) {
    struct mark_work *w = container_of(work, struct mark_work, work);
    w->rc = embedded_write_marks(w->store, &w->wants);
}

/* Counts all that can continue before the first one is notified: what that one does next comes after them. */
static void on_marks(struct io_work *work) {
    struct mark_work *written = container_of(work, struct mark_work, work);
    struct embedded *e = written->store;
    struct list over, *n;
    uint64_t earlier = 0; /* bits of those that still wait */
    written->writing = false;
    list_init(&over);
    LIST_FOR_SAFE (at, next, &e->pending) {
        struct mark_work *w = container_of(at, struct mark_work, node);
        if (!w->writing && !(w->bits & earlier) && mark_counted(w)) {
            pending_remove(e, w);
            list_push(&over, &w->node);
            continue;
        }
        if (!w->writing && !(w->bits & earlier))
            mark_write(w);
        earlier |= w->bits;
    }
    while ((n = list_pop(&over)))
        mark_notify(container_of(n, struct mark_work, node));
}

/* On another thread, so that unrelated calls do not wait for the disk. */
static struct mark_work *embedded_mark_later(struct embedded *e, const struct state_limit *limits,
                                             size_t count, uint64_t now_ms, struct state_ticket *ticket,
                                             const struct wants *take_wants) {
    struct mark_work *w = mem_zalloc(sizeof(*w));
    arena_init(&w->arena);
    w->work = (struct io_work){.run = run_marks, .done = on_marks};
    w->store = e;
    w->ticket = ticket;
    w->now_ms = now_ms;
    w->count = count;
    w->bits = bits_of(limits, count);
    w->limits = arena_array(&w->arena, struct state_limit, count);
    for (size_t i = 0; i < count; i++) {
        w->limits[i] = limits[i];
        w->limits[i].key = arena_dup(&w->arena, limits[i].key);
        w->limits[i].owner = arena_dup(&w->arena, limits[i].owner);
    }
    w->wants = *take_wants;
    if (take_wants->items == take_wants->few)
        w->wants.items = w->wants.few;
    ticket->wait = w;
    pending_add(e, w);
    return w;
}

static enum state_step embedded_reserve(struct state_store *store, const struct state_limit *limits,
                                        size_t count, uint64_t now_ms, struct state_ticket *ticket,
                                        state_done_fn *done, void *ctx) {
    struct embedded *e = (struct embedded *)store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    CHECK(!e->read_only);
    ticket->holds = count > STATE_LIMITS_FEW ? mem_alloc(count * sizeof(*ticket->holds)) : ticket->few;
    struct wants wants;
    wants_init(&wants);
    const bool may_wait = e->loop && done, queue = may_wait && must_queue(e, limits, count);
    if (!queue)
        embedded_try(e, limits, count, now_ms, ticket, false, &wants);
    if (queue || (may_wait && wants.count > 0)) {
        struct mark_work *w = embedded_mark_later(e, limits, count, now_ms, ticket, &wants);
        w->done = done;
        w->ctx = ctx;
        if (!queue)
            mark_write(w);
        return STATE_WAIT;
    }
    bool more = wants.count > 0;
    if (!more)
        embedded_conclude(e, state_opens(&e->store, limits, count), ticket, false);
    for (int tries = 1; more; tries++)
        more =
            embedded_again(e, limits, count, now_ms, ticket, embedded_write_marks(e, &wants), tries, &wants);
    wants_free(&wants);
    return STATE_DONE;
}

static void embedded_settle(struct state_ticket *ticket, uint64_t give_back) {
    struct embedded *e = (struct embedded *)ticket->store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    if (ticket->wait) { /* nothing is reserved yet */
        ((struct mark_work *)ticket->wait)->ticket = NULL;
        ticket->wait = NULL;
    }
    if (!ticket->holds)
        return;
    if (ticket->count > 0) {
        state_live_lock(&e->live);
        embedded_undo(e, ticket, give_back);
        state_live_unlock(&e->live);
    }
    ticket_free(ticket);
}

static enum state_result embedded_read(struct state_store *store, const struct state_limit *limit,
                                       uint64_t now_ms, int64_t *ret_micro) {
    struct embedded *e = (struct embedded *)store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    struct key_buf buf;
    struct slice key;
    if (!e->live.head || !embedded_key(e, limit->key, &buf, &key))
        return STATE_FAULT;
    state_live_lock(&e->live);
    const struct live_counter *c = state_live_find(&e->live, key, limit->kind, limit->window_ms);
    *ret_micro = c ? state_meter_read(&c->meter, limit, now_ms) : 0;
    state_live_unlock(&e->live);
    return STATE_GRANTED;
}

/* ---- looking ---- */

struct list_walk {
    uint64_t now_ms;
    void (*each)(void *ctx, const struct state_counter *c);
    void *ctx;
};

static void embedded_show(void *ctx, const struct live_counter *c) {
    const struct list_walk *walk = ctx;
    const struct state_limit limit = {
        .kind = (enum state_kind)c->kind, .window_ms = c->window_ms, .refill = c->refill};
    struct state_counter counter = {
        .kind = limit.kind,
        .key = slice_of(c->key, c->key_len),
        .window_ms = c->window_ms,
        .start_ms = c->meter.start_ms,
        .value = state_meter_read(&c->meter, &limit, walk->now_ms),
        .max = c->max,
        .used_ms = c->used_ms,
    };
    for (size_t i = 0; limit.kind == STATE_IDENTICAL && i < STATE_RECENT; i++)
        if (c->meter.recent[i].first_ms + c->window_ms > walk->now_ms &&
            c->meter.recent[i].count > counter.value)
            counter.value = c->meter.recent[i].count;
    if (counter.value > 0)
        walk->each(walk->ctx, &counter);
}

static int embedded_list(struct state_store *store, uint64_t now_ms,
                         void (*each)(void *ctx, const struct state_counter *c), void *ctx, struct err *err) {
    struct embedded *e = (struct embedded *)store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    struct list_walk walk = {now_ms, each, ctx};
    if (!e->live.head)
        return e->marks ? state_marks_load(e->marks, embedded_show, &walk, err) : 0;
    state_live_lock(&e->live);
    uint32_t at = 0;
    for (struct live_counter *c; (c = state_live_next(&e->live, &at));)
        embedded_show(&walk, c);
    state_live_unlock(&e->live);
    return 0;
}

static void embedded_health(struct state_store *store, struct state_health *ret_health) {
    struct embedded *e = (struct embedded *)store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    pthread_mutex_lock(&e->health_mutex);
    *ret_health = e->health;
    pthread_mutex_unlock(&e->health_mutex);
    struct err err = {0};
    ret_health->down = e->marks && e->live.head && embedded_check(e, &err) < 0;
    if (ret_health->down)
        snprintf(ret_health->fault, sizeof(ret_health->fault), "%.255s", err.text);
    ret_health->backend = e->path ? "sqlite" : "memory";
    ret_health->path = e->path ? e->path : "";
    ret_health->created = e->created;
    if (e->live.head) {
        ret_health->counters = state_live_count(&e->live);
        ret_health->processes = state_live_processes(&e->live) + !e->read_only;
    }
}

/* ---- opening and closing ---- */

static void embedded_restore(void *ctx, const struct live_counter *from) {
    struct embedded *e = ctx;
    struct state_limit limit = {.kind = (enum state_kind)from->kind,
                                .window_ms = from->window_ms,
                                .max = from->max,
                                .refill = from->refill};
    struct live_counter *c =
        state_live_make(&e->live, slice_of(from->key, from->key_len), &limit, from->used_ms);
    if (!c)
        return;
    c->meter = from->meter;
    c->mark = from->mark;
}

static int embedded_start(struct embedded *e, const char *path, struct err *err) {
    if (!path)
        return state_live_open(&e->live, NULL, (const unsigned char[LIVE_ID_BYTES]){0}, err);
    cleanup_free char *live_path = NULL;
    if (asprintf(&live_path, "%.*s.live",
                 (int)(strlen(path) - (slice_ends(slice_str(path), SLICE(".sqlite")) ? 7 : 0)), path) < 0)
        return err_set(err, "out of memory");
    struct stat st;
    e->path = mem_dup(path, strlen(path));
    e->created = stat(path, &st) < 0 || st.st_size == 0;
    if (state_marks_open(path, e->read_only, &e->marks, err) < 0)
        return -1;
    if (e->read_only) {
        state_live_attach(&e->live, live_path, state_marks_store_id(e->marks));
        return 0;
    }
    if (state_live_open(&e->live, live_path, state_marks_store_id(e->marks), err) < 0)
        return -1;
    if (e->live.alone && state_marks_prune(e->marks, clock_wall_ms(), err) < 0)
        return -1;
    if (e->live.alone && e->live.fresh && state_marks_load(e->marks, embedded_restore, e, err) < 0)
        return -1;
    state_live_opened(&e->live);
    return 0;
}

int state_embedded_open(const struct state_config *config, const char *path, struct state_store **ret_store,
                        struct err *err) {
    struct embedded *e = mem_zalloc(sizeof(*e));
    e->store.ops = &embedded_ops;
    e->magic = EMBEDDED_MAGIC;
    e->read_only = config->read_only;
    e->loop = config->read_only ? NULL : config->loop;
    e->live.fd = -1;
    list_init(&e->pending);
    pthread_mutex_init(&e->commit_mutex, NULL);
    pthread_mutex_init(&e->health_mutex, NULL);
    state_quota_init(&e->quota);
    if (config->prefix && *config->prefix)
        e->prefix = mem_dup(config->prefix, strlen(config->prefix));
    if (embedded_start(e, path, err) < 0) {
        e->store.ops->close(&e->store);
        return -1;
    }
    *ret_store = &e->store;
    return 0;
}

/* The last process to close writes the exact value of every counter for a restart of the machine. */
static void embedded_write_exact(struct embedded *e) {
    uint32_t at = 0;
    state_marks_begin(e->marks);
    state_live_lock(&e->live);
    for (struct live_counter *c; (c = state_live_next(&e->live, &at));) {
        if (!state_kind_durable((enum state_kind)c->kind))
            continue;
        struct state_mark mark = {c->meter.start_ms, c->meter.value};
        if (mark.start_ms == c->mark.start_ms && mark.value == c->mark.value)
            continue;
        state_marks_put(e->marks, c, &mark, &c->meter);
    }
    state_live_unlock(&e->live);
    if (state_marks_commit(e->marks, NULL) < 0)
        return; /* the marks allow more than was used */
    state_live_lock(&e->live);
    for (at = 0;;) {
        struct live_counter *c = state_live_next(&e->live, &at);
        if (!c)
            break;
        c->mark = (struct state_mark){c->meter.start_ms, c->meter.value};
    }
    state_live_unlock(&e->live);
}

static void embedded_close(struct state_store *store) {
    struct embedded *e = (struct embedded *)store;
    CHECK_MAGIC(e, EMBEDDED_MAGIC);
    if (e->loop)
        io_work_finish(e->loop);
    if (e->live.head && e->marks && !e->read_only && state_live_closing(&e->live) &&
        embedded_check(e, NULL) == 0)
        embedded_write_exact(e);
    if (e->live.head || e->live.fd >= 0)
        state_live_close(&e->live);
    state_marks_close(e->marks);
    pthread_mutex_destroy(&e->commit_mutex);
    pthread_mutex_destroy(&e->health_mutex);
    state_quota_free(&e->quota);
    free(e->path);
    free(e->prefix);
    free(e);
}

static const struct state_ops embedded_ops = {
    .reserve = embedded_reserve,
    .settle = embedded_settle,
    .read = embedded_read,
    .list = embedded_list,
    .health = embedded_health,
    .close = embedded_close,
};
