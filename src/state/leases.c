#include "state/leases.h"

#include "base/mem.h"

#include <string.h>

void state_leases_init(struct leases *l, int64_t calls) {
    map_init(&l->by_key);
    l->slice = calls * STATE_MICRO;
}

void state_leases_free(struct leases *l) {
    for (struct lease *one; (one = state_leases_over(l, 0, true));)
        free(one);
    map_free(&l->by_key);
}

bool state_leases_take(struct leases *l, struct slice key, int64_t amount, uint64_t now_ms,
                       uint64_t *ret_start) {
    struct lease *one = map_get(&l->by_key, key);
    if (!one || one->left < amount || now_ms >= one->until_ms)
        return false;
    one->left -= amount;
    *ret_start = one->start;
    return true;
}

bool state_leases_ask(struct leases *l, struct slice key, uint64_t window_ms, uint64_t now_ms) {
    struct lease *one = map_get(&l->by_key, key);
    if (!one && l->by_key.count < STATE_LEASES_MAX) {
        one = mem_zalloc(sizeof(*one) + key.len);
        one->key_len = key.len;
        one->window_ms = window_ms;
        memcpy(one->key, key.ptr, key.len);
        map_put(&l->by_key, slice_of(one->key, one->key_len), one);
    }
    if (!one || one->asking || now_ms < one->exact_until_ms)
        return false;
    one->asking = true;
    return true;
}

void state_leases_report(struct leases *l, struct slice key, uint64_t start, int64_t left, uint64_t now_ms,
                         uint64_t until_ms) {
    struct lease *one = map_get(&l->by_key, key);
    if (!one)
        return;
    one->asking = false;
    if (left < 0) {
        one->exact_until_ms = now_ms + STATE_LEASE_EXACT_MS;
        return;
    }
    /* The rest of an older slice is counted too, and carried over if it is of the same window. */
    one->left = (one->start == start ? one->left : 0) + left;
    one->until_ms = until_ms;
    one->start = start;
}

bool state_leases_return(struct leases *l, struct slice key, uint64_t start, int64_t amount,
                         uint64_t now_ms) {
    struct lease *one = map_get(&l->by_key, key);
    if (!one || one->start != start || now_ms >= one->until_ms)
        return false;
    one->left += amount;
    return true;
}

struct lease *state_leases_over(struct leases *l, uint64_t now_ms, bool all) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&l->by_key, &at));) {
        struct lease *one = e->value;
        if (!all && (one->asking || now_ms < one->until_ms || now_ms < one->exact_until_ms))
            continue;
        map_remove(&l->by_key, e->key);
        return one;
    }
    return NULL;
}
