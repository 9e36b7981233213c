#include "policy/window.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"

#define MS_PER_SECOND 1000ull
#define MS_PER_MINUTE (60 * MS_PER_SECOND)
#define MS_PER_HOUR (60 * MS_PER_MINUTE)
#define MS_PER_DAY (24 * MS_PER_HOUR)
#define DURATION_MS_MAX (366 * MS_PER_DAY)
#define AMOUNT_DIGITS_MAX 64

uint64_t policy_window_start(uint64_t now_ms, uint64_t window_ms) {
    return window_ms ? clock_window_start(now_ms, window_ms) : now_ms;
}

uint64_t policy_window_from(struct slice name) {
    static const struct {
        const char *name;
        uint64_t ms;
    } rows[] = {
        {"minute", MS_PER_MINUTE}, {"hour", MS_PER_HOUR}, {"day", MS_PER_DAY}, {"week", 7 * MS_PER_DAY}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (slice_is(name, rows[i].name))
            return rows[i].ms;
    return 0;
}

/* ---- meters ---- */

/* One slot more than the window's length: the oldest slot still counts while its newest call is inside. */
static uint64_t slot_ms(const struct policy_limit *limit) {
    uint64_t ms = (limit->window_ms + POLICY_METER_SLOTS - 2) / (POLICY_METER_SLOTS - 1);
    return ms ? ms : 1;
}

/* A slot counts until its newest possible call has left the window, so the sum can only be too high. */
static int64_t sliding_read(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms) {
    uint64_t slot = slot_ms(limit);
    uint64_t newest = m->start_ms / slot, now = now_ms / slot;
    int64_t sum = 0;
    for (uint64_t back = 0; back < POLICY_METER_SLOTS && back <= newest; back++) {
        uint64_t index = newest - back;
        if (index + POLICY_METER_SLOTS <= now)
            break;
        sum += m->slots[index % POLICY_METER_SLOTS];
    }
    return sum;
}

static void sliding_advance(struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms) {
    uint64_t slot = slot_ms(limit);
    uint64_t newest = m->start_ms / slot, now = now_ms / slot;
    if (now <= newest)
        return;
    uint64_t steps = now - newest < POLICY_METER_SLOTS ? now - newest : POLICY_METER_SLOTS;
    for (uint64_t i = 0; i < steps; i++)
        m->slots[(now - i) % POLICY_METER_SLOTS] = 0;
    m->start_ms = now * slot;
}

/* Subtracts what has been refilled by now. */
static int64_t bucket_read(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms) {
    if (now_ms <= m->start_ms || !limit->window_ms)
        return m->value;
    __int128 back = (__int128)(now_ms - m->start_ms) * limit->refill / (__int128)limit->window_ms;
    return back >= m->value ? 0 : m->value - (int64_t)back;
}

int64_t policy_meter_read(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms) {
    switch (limit->kind) {
    case POLICY_FIXED:
        /* If the clock steps back, a later window still counts: the budget is not handed out again. */
        return m->start_ms >= policy_window_start(now_ms, limit->window_ms) ? m->value : 0;
    case POLICY_SLIDING:
        return sliding_read(m, limit, now_ms);
    case POLICY_BUCKET:
        return bucket_read(m, limit, now_ms);
    case POLICY_CONCURRENT:
        return m->value;
    }
    return m->value;
}

static uint64_t sliding_retry(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms,
                              int64_t over) {
    uint64_t slot = slot_ms(limit);
    uint64_t newest = m->start_ms / slot;
    int64_t freed = 0;
    for (uint64_t back = POLICY_METER_SLOTS; back-- > 0;) {
        if (back > newest)
            continue;
        uint64_t index = newest - back;
        if (index + POLICY_METER_SLOTS <= now_ms / slot)
            continue;
        freed += m->slots[index % POLICY_METER_SLOTS];
        if (freed >= over)
            return (index + POLICY_METER_SLOTS) * slot - now_ms;
    }
    return 0;
}

static uint64_t retry_ms(const struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms,
                         int64_t value) {
    if (limit->amount > limit->max)
        return 0;
    int64_t over = value - limit->max + limit->amount;
    switch (limit->kind) {
    case POLICY_FIXED: {
        uint64_t start = policy_window_start(now_ms, limit->window_ms);
        if (m->start_ms > start)
            start = m->start_ms;
        return start + limit->window_ms - now_ms;
    }
    case POLICY_SLIDING:
        return sliding_retry(m, limit, now_ms, over);
    case POLICY_BUCKET: {
        if (limit->refill <= 0)
            return 0;
        __int128 wait = (__int128)over * (__int128)limit->window_ms + limit->refill - 1;
        return (uint64_t)(wait / limit->refill);
    }
    case POLICY_CONCURRENT:
        return 0;
    }
    return 0;
}

bool policy_meter_reserve(struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms,
                          uint64_t *ret_retry_ms) {
    CHECK(limit->amount >= 0);
    int64_t value = policy_meter_read(m, limit, now_ms);
    if (limit->max != POLICY_NO_MAX && (value > limit->max || limit->amount > limit->max - value)) {
        if (ret_retry_ms)
            *ret_retry_ms = retry_ms(m, limit, now_ms, value);
        return false;
    }
    if (limit->amount > INT64_MAX - value) {
        if (ret_retry_ms)
            *ret_retry_ms = 0;
        return false;
    }
    switch (limit->kind) {
    case POLICY_FIXED: {
        uint64_t start = policy_window_start(now_ms, limit->window_ms);
        m->value = value + limit->amount;
        if (start > m->start_ms)
            m->start_ms = start;
        break;
    }
    case POLICY_SLIDING:
        sliding_advance(m, limit, now_ms);
        m->slots[m->start_ms / slot_ms(limit) % POLICY_METER_SLOTS] += limit->amount;
        m->value = sliding_read(m, limit, now_ms);
        break;
    case POLICY_BUCKET:
        m->value = value + limit->amount;
        if (now_ms > m->start_ms)
            m->start_ms = now_ms;
        break;
    case POLICY_CONCURRENT:
        m->value = value + limit->amount;
        break;
    }
    return true;
}

static void take_back(int64_t *value, int64_t amount) { *value = *value > amount ? *value - amount : 0; }

void policy_meter_release(struct policy_meter *m, const struct policy_limit *limit, uint64_t now_ms) {
    switch (limit->kind) {
    case POLICY_FIXED:
        if (m->start_ms == limit->start_ms)
            take_back(&m->value, limit->amount);
        break;
    case POLICY_SLIDING: {
        uint64_t slot = slot_ms(limit);
        uint64_t index = limit->start_ms / slot, newest = m->start_ms / slot;
        if (index <= newest && index + POLICY_METER_SLOTS > newest)
            take_back(&m->slots[index % POLICY_METER_SLOTS], limit->amount);
        m->value = sliding_read(m, limit, now_ms);
        break;
    }
    case POLICY_BUCKET:
    case POLICY_CONCURRENT:
        take_back(&m->value, limit->amount);
        break;
    }
}

/* ---- amounts and durations ---- */

struct decimal { /* digits with the point behind the first `whole` of them */
    char digits[AMOUNT_DIGITS_MAX];
    size_t count;
    long whole;
};

static bool decimal_read(struct slice text, struct decimal *d) {
    size_t at = 0;
    bool seen_point = false, seen_digit = false;
    *d = (struct decimal){0};
    if (at < text.len && text.ptr[at] == '+')
        at++;
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '.' && !seen_point) {
            seen_point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        seen_digit = true;
        if (d->count == AMOUNT_DIGITS_MAX)
            return false;
        d->digits[d->count++] = c;
        if (!seen_point)
            d->whole++;
    }
    if (!seen_digit)
        return false;
    if (at == text.len)
        return true;
    if ((text.ptr[at] | 0x20) != 'e')
        return false;
    at++;
    bool minus = at < text.len && text.ptr[at] == '-';
    if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+'))
        at++;
    uint64_t exponent;
    if (!slice_to_u64(slice_from(text, at), &exponent) || exponent > 400)
        return false;
    d->whole += minus ? -(long)exponent : (long)exponent;
    return true;
}

bool policy_amount_parse(struct slice text, int64_t *ret_micro) {
    if (text.len == 2 && text.ptr[0] == '-' && text.ptr[1] == '0')
        text = slice_from(text, 1);
    struct decimal d;
    if (!decimal_read(text, &d))
        return false;
    /* Keeps six digits after the point; rounds up if a dropped digit is not zero. */
    long keep = d.whole + 6;
    int64_t value = 0;
    bool more = false;
    for (long i = 0; i < (long)d.count || i < keep; i++) {
        int digit = i < (long)d.count ? d.digits[i] - '0' : 0;
        if (i >= keep) {
            more |= digit != 0;
            continue;
        }
        if (value > (INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (more && value == INT64_MAX)
        return false;
    *ret_micro = value + more;
    return true;
}

/* Reads digits and a unit. */
static bool take_duration(struct slice *text, uint64_t *ret_ms) {
    static const struct {
        struct slice name;
        uint64_t ms;
    } units[] = {{SLICE("ms"), 1},
                 {SLICE("s"), MS_PER_SECOND},
                 {SLICE("m"), MS_PER_MINUTE},
                 {SLICE("h"), MS_PER_HOUR},
                 {SLICE("d"), MS_PER_DAY}};
    size_t digits = 0;
    while (digits < text->len && text->ptr[digits] >= '0' && text->ptr[digits] <= '9')
        digits++;
    uint64_t value;
    if (!slice_to_u64(slice_upto(*text, digits), &value))
        return false;
    *text = slice_from(*text, digits);
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (!slice_starts(*text, units[i].name) || value > DURATION_MS_MAX / units[i].ms)
            continue;
        *text = slice_from(*text, units[i].name.len);
        *ret_ms = value * units[i].ms;
        return true;
    }
    return false;
}

bool policy_duration_parse(struct slice text, uint64_t *ret_ms) {
    uint64_t value, part = 0;
    if (slice_to_u64(text, &value)) {
        if (value == 0 || value > DURATION_MS_MAX / MS_PER_SECOND)
            return false;
        *ret_ms = value * MS_PER_SECOND;
        return true;
    }
    for (value = 0; text.len; value += part)
        if (!take_duration(&text, &part) || part > DURATION_MS_MAX - value)
            return false;
    if (value > 0)
        *ret_ms = value;
    return value > 0;
}
