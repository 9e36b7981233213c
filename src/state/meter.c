#include "state/meter.h"

#include "base/check.h"
#include "base/clock.h"

#define MARK_CALLS_MIN 16 /* smallest step of a mark, in calls */
#define MARK_SHARE 8      /* otherwise this part of the limit: what a machine crash can over-count */
#define MARK_HORIZON_MS_MAX 5000

bool state_limit_valid(const struct state_limit *limit) {
    if ((unsigned)limit->kind > STATE_IDENTICAL || limit->amount < 0 || limit->amount > STATE_AMOUNT_MAX ||
        limit->key.len == 0 || limit->key.len > STATE_KEY_GIVEN_MAX || limit->max < 0)
        return false;
    if (limit->kind == STATE_CONCURRENT)
        return limit->amount % STATE_MICRO == 0 && limit->amount / STATE_MICRO <= UINT16_MAX;
    if (limit->kind == STATE_BUCKET && limit->refill < 0)
        return false;
    return limit->window_ms > 0 && limit->window_ms < (uint64_t)1 << 40;
}

/* One slot more than the window needs: a slot counts until its latest possible call has left the window. */
static uint64_t slot_ms(uint64_t window_ms) { return (window_ms + STATE_SLOTS - 2) / (STATE_SLOTS - 1); }

static int64_t add_capped(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void take_back(int64_t *value, int64_t amount) { *value = *value > amount ? *value - amount : 0; }

/* ---- reading ---- */

static int64_t sliding_read(const struct state_meter *m, uint64_t window_ms, uint64_t now_ms) {
    uint64_t slot = slot_ms(window_ms), newest = m->start_ms / slot, now = now_ms / slot;
    if (now <= newest)
        return m->value;
    if (now - newest >= STATE_SLOTS)
        return 0;
    int64_t gone = 0;
    for (uint64_t i = newest + 1; i <= now; i++)
        gone = add_capped(gone, m->slots[i % STATE_SLOTS]);
    return m->value > gone ? m->value - gone : 0;
}

static int64_t bucket_read(const struct state_meter *m, uint64_t window_ms, int64_t refill, uint64_t now_ms,
                           uint64_t *ret_rest) {
    *ret_rest = m->rest;
    if (now_ms <= m->start_ms || refill <= 0)
        return m->value;
    unsigned __int128 flowed = (unsigned __int128)(now_ms - m->start_ms) * (uint64_t)refill + m->rest;
    unsigned __int128 back = flowed / window_ms;
    if (back >= (unsigned __int128)m->value) {
        *ret_rest = 0;
        return 0;
    }
    *ret_rest = (uint64_t)(flowed % window_ms);
    return m->value - (int64_t)back;
}

static struct state_recent *recent_find(const struct state_meter *m, uint64_t fingerprint) {
    for (size_t i = 0; i < STATE_RECENT; i++)
        if (m->recent[i].first_ms && m->recent[i].fingerprint == fingerprint)
            return (struct state_recent *)&m->recent[i];
    return NULL;
}

static bool recent_over(const struct state_recent *r, uint64_t window_ms, uint64_t now_ms) {
    return now_ms >= r->first_ms && now_ms - r->first_ms >= window_ms;
}

int64_t state_meter_read(const struct state_meter *m, const struct state_limit *limit, uint64_t now_ms) {
    switch (limit->kind) {
    case STATE_FIXED:
        /* A clock that was set back must not release the budget again: a later window still counts. */
        return m->start_ms >= clock_window_start(now_ms, limit->window_ms) ? m->value : 0;
    case STATE_SLIDING:
        return sliding_read(m, limit->window_ms, now_ms);
    case STATE_BUCKET: {
        uint64_t rest;
        return bucket_read(m, limit->window_ms, limit->refill, now_ms, &rest);
    }
    case STATE_CONCURRENT:
        return m->value;
    case STATE_IDENTICAL: {
        const struct state_recent *r = recent_find(m, limit->fingerprint);
        return r && !recent_over(r, limit->window_ms, now_ms) ? r->count : 0;
    }
    }
    return m->value;
}

/* ---- refusing ---- */

static uint64_t sliding_retry(const struct state_meter *m, uint64_t window_ms, uint64_t now_ms,
                              int64_t over) {
    uint64_t slot = slot_ms(window_ms), newest = m->start_ms / slot;
    int64_t freed = 0;
    for (uint64_t back = STATE_SLOTS; back-- > 0;) {
        if (back > newest || newest - back + STATE_SLOTS <= now_ms / slot)
            continue;
        freed = add_capped(freed, m->slots[(newest - back) % STATE_SLOTS]);
        if (freed >= over)
            return (newest - back + STATE_SLOTS) * slot - now_ms;
    }
    return 0;
}

static uint64_t bucket_retry(const struct state_limit *limit, int64_t over) {
    if (limit->refill <= 0)
        return 0;
    unsigned __int128 wait = (unsigned __int128)over * limit->window_ms + (uint64_t)limit->refill - 1;
    wait /= (uint64_t)limit->refill;
    return wait > UINT64_MAX ? 0 : (uint64_t)wait;
}

static uint64_t meter_retry(const struct state_meter *m, const struct state_limit *limit, uint64_t now_ms,
                            int64_t value) {
    if (limit->amount > limit->max)
        return 0;
    int64_t over = value - (limit->max - limit->amount);
    switch (limit->kind) {
    case STATE_FIXED: {
        uint64_t start = clock_window_start(now_ms, limit->window_ms);
        return (m->start_ms > start ? m->start_ms : start) + limit->window_ms - now_ms;
    }
    case STATE_SLIDING:
        return sliding_retry(m, limit->window_ms, now_ms, over);
    case STATE_BUCKET:
        return bucket_retry(limit, over);
    case STATE_IDENTICAL: {
        const struct state_recent *r = recent_find(m, limit->fingerprint);
        return r ? r->first_ms + limit->window_ms - now_ms : 0;
    }
    case STATE_CONCURRENT:
        return 0;
    }
    return 0;
}

/* ---- counting ---- */

static void sliding_advance(struct state_meter *m, uint64_t window_ms, uint64_t now_ms) {
    uint64_t slot = slot_ms(window_ms), newest = m->start_ms / slot, now = now_ms / slot;
    if (now <= newest)
        return;
    m->value = sliding_read(m, window_ms, now_ms);
    uint64_t steps = now - newest < STATE_SLOTS ? now - newest : STATE_SLOTS;
    for (uint64_t i = 0; i < steps; i++)
        m->slots[(now - i) % STATE_SLOTS] = 0;
    m->start_ms = now * slot;
}

static struct state_recent *recent_take(struct state_meter *m, const struct state_limit *limit,
                                        uint64_t now_ms) {
    struct state_recent *r = recent_find(m, limit->fingerprint);
    if (!r) {
        r = &m->recent[0];
        for (size_t i = 1; i < STATE_RECENT; i++)
            if (m->recent[i].first_ms < r->first_ms)
                r = &m->recent[i];
        r->first_ms = 0;
    }
    if (!r->first_ms || recent_over(r, limit->window_ms, now_ms))
        *r = (struct state_recent){limit->fingerprint, now_ms ? now_ms : 1, 0};
    return r;
}

bool state_meter_add(struct state_meter *m, const struct state_limit *limit, uint64_t now_ms, uint32_t owner,
                     struct state_hold *hold, uint64_t *ret_retry_ms) {
    int64_t value = state_meter_read(m, limit, now_ms);
    bool fits = limit->max == STATE_NO_MAX ? limit->amount <= INT64_MAX - value
                                           : value <= limit->max && limit->amount <= limit->max - value;
    if (limit->kind == STATE_CONCURRENT && fits)
        fits = limit->amount / STATE_MICRO <= UINT16_MAX - m->owners[owner];
    if (!fits) {
        *ret_retry_ms = meter_retry(m, limit, now_ms, value);
        return false;
    }
    switch (limit->kind) {
    case STATE_FIXED: {
        uint64_t start = clock_window_start(now_ms, limit->window_ms);
        m->value = value + limit->amount;
        if (start > m->start_ms)
            m->start_ms = start;
        break;
    }
    case STATE_SLIDING:
        sliding_advance(m, limit->window_ms, now_ms);
        m->slots[m->start_ms / slot_ms(limit->window_ms) % STATE_SLOTS] += limit->amount;
        m->value += limit->amount;
        break;
    case STATE_BUCKET: {
        uint64_t rest;
        m->value = bucket_read(m, limit->window_ms, limit->refill, now_ms, &rest) + limit->amount;
        m->rest = rest;
        if (now_ms > m->start_ms)
            m->start_ms = now_ms;
        break;
    }
    case STATE_CONCURRENT:
        m->value = value + limit->amount;
        m->owners[owner] = (uint16_t)(m->owners[owner] + limit->amount / STATE_MICRO);
        break;
    case STATE_IDENTICAL:
        recent_take(m, limit, now_ms)->count += limit->amount;
        m->start_ms = now_ms;
        break;
    }
    hold->start_ms = m->start_ms;
    hold->amount = limit->amount;
    hold->fingerprint = limit->fingerprint;
    return true;
}

void state_meter_undo(struct state_meter *m, enum state_kind kind, uint64_t window_ms, uint32_t owner,
                      const struct state_hold *hold) {
    switch (kind) {
    case STATE_FIXED:
        if (m->start_ms == hold->start_ms)
            take_back(&m->value, hold->amount);
        break;
    case STATE_SLIDING: {
        uint64_t slot = slot_ms(window_ms), index = hold->start_ms / slot, newest = m->start_ms / slot;
        if (index > newest || index + STATE_SLOTS <= newest)
            break;
        int64_t *there = &m->slots[index % STATE_SLOTS];
        int64_t amount = *there < hold->amount ? *there : hold->amount;
        *there -= amount;
        take_back(&m->value, amount);
        break;
    }
    case STATE_BUCKET:
        take_back(&m->value, hold->amount);
        break;
    case STATE_CONCURRENT: {
        int64_t calls = hold->amount / STATE_MICRO;
        if (m->owners[owner] < calls)
            break;
        m->owners[owner] = (uint16_t)(m->owners[owner] - calls);
        take_back(&m->value, hold->amount);
        break;
    }
    case STATE_IDENTICAL: {
        struct state_recent *r = recent_find(m, hold->fingerprint);
        if (r && r->first_ms <= hold->start_ms)
            take_back(&r->count, hold->amount);
        break;
    }
    }
}

bool state_meter_idle(const struct state_meter *m, enum state_kind kind, uint64_t window_ms, int64_t refill,
                      uint64_t now_ms) {
    switch (kind) {
    case STATE_FIXED:
    case STATE_IDENTICAL:
        return m->start_ms + window_ms <= now_ms;
    case STATE_SLIDING:
        return sliding_read(m, window_ms, now_ms) == 0;
    case STATE_BUCKET: {
        uint64_t rest;
        return bucket_read(m, window_ms, refill, now_ms, &rest) == 0;
    }
    case STATE_CONCURRENT:
        return m->value == 0;
    }
    return false;
}

/* ---- marks ---- */

bool state_kind_durable(enum state_kind kind) { return kind <= STATE_BUCKET; }

bool state_meter_covered(const struct state_mark *mark, const struct state_meter *m,
                         const struct state_limit *limit, uint64_t now_ms) {
    switch (limit->kind) {
    case STATE_FIXED:
    case STATE_SLIDING:
        return mark->start_ms == m->start_ms && m->value <= mark->value;
    case STATE_BUCKET:
        return now_ms <= mark->start_ms && m->value <= mark->value;
    case STATE_CONCURRENT:
    case STATE_IDENTICAL:
        return true;
    }
    return false;
}

struct state_mark state_meter_mark(const struct state_meter *m, const struct state_limit *limit,
                                   uint64_t now_ms) {
    int64_t step = (int64_t)MARK_CALLS_MIN * STATE_MICRO;
    int64_t share = (limit->max == STATE_NO_MAX ? m->value : limit->max) / MARK_SHARE;
    int64_t value = add_capped(m->value, share > step ? share : step);
    struct state_mark mark = {m->start_ms, value < limit->max ? value : limit->max};
    if (mark.value < m->value)
        mark.value = m->value;
    if (limit->kind == STATE_BUCKET) {
        uint64_t horizon = limit->window_ms / STATE_SLOTS;
        mark.start_ms = now_ms + (horizon < MARK_HORIZON_MS_MAX ? horizon : MARK_HORIZON_MS_MAX);
    }
    return mark;
}

void state_meter_restore(const struct state_mark *mark, enum state_kind kind, uint64_t window_ms,
                         struct state_meter *ret_meter) {
    *ret_meter = (struct state_meter){.start_ms = mark->start_ms, .value = mark->value};
    if (kind == STATE_SLIDING)
        ret_meter->slots[mark->start_ms / slot_ms(window_ms) % STATE_SLOTS] = mark->value;
}
