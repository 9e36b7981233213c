#include "policy/memory.h"

#include <stdio.h>

void policy_memory_init(struct policy_memory *m) {
    *m = (struct policy_memory){0};
    arena_init(&m->arena);
}

void policy_memory_free(struct policy_memory *m) {
    map_free(&m->meters);
    map_free(&m->seeds);
    arena_free(&m->arena);
}

void policy_memory_seed(struct policy_memory *m, struct slice label, int64_t micro, uint64_t at_ms) {
    struct policy_memory_seed *seed = arena_new(&m->arena, struct policy_memory_seed);
    seed->micro = micro;
    m->seed_ms = at_ms;
    map_put(&m->seeds, arena_dup(&m->arena, label), seed);
}

/* A seed fills the first meter that asks for its label, as if the amount had been reserved at seed time. */
static void plant_seed(struct policy_memory *m, struct policy_memory_meter *meter) {
    struct policy_memory_seed *seed = map_get(&m->seeds, meter->label);
    if (!seed || seed->used)
        return;
    struct policy_limit unlimited = meter->limit;
    unlimited.max = POLICY_NO_MAX;
    unlimited.amount = seed->micro;
    policy_meter_reserve(&meter->meter, &unlimited, m->seed_ms, NULL);
    seed->used = true;
    meter->touched = true;
}

static struct policy_memory_meter *meter_for(struct policy_memory *m, const struct policy_limit *limit) {
    char head[48];
    int len =
        snprintf(head, sizeof(head), "%d/%llu/", (int)limit->kind, (unsigned long long)limit->window_ms);
    char stack[256], *key = stack;
    size_t total = (size_t)len + limit->key.len;
    if (total > sizeof(stack))
        key = arena_alloc(&m->arena, total);
    memcpy(key, head, (size_t)len);
    memcpy(key + len, limit->key.ptr, limit->key.len);
    struct policy_memory_meter *meter = map_get(&m->meters, slice_of(key, total));
    if (meter)
        return meter;
    meter = arena_new(&m->arena, struct policy_memory_meter);
    meter->label = arena_dup(&m->arena, limit->label);
    meter->limit = *limit;
    meter->limit.key = meter->limit.label = meter->label;
    map_put(&m->meters, arena_dup(&m->arena, slice_of(key, total)), meter);
    plant_seed(m, meter);
    return meter;
}

static bool memory_read(void *ctx, const struct policy_limit *limit, int64_t *ret_micro) {
    struct policy_memory *m = ctx;
    *ret_micro = policy_meter_read(&meter_for(m, limit)->meter, limit, m->now_ms);
    return true;
}

struct policy_counters policy_memory_counters(struct policy_memory *m) {
    return (struct policy_counters){.read = memory_read, .ctx = m};
}

const struct policy_limit *policy_memory_reserve(struct policy_memory *m, struct policy_verdict *v,
                                                 struct arena *a, uint64_t *ret_retry_ms) {
    struct policy_limit *kept = arena_array(a, struct policy_limit, v->limit_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < v->limit_count; i++) {
        const struct policy_limit *limit = &v->limits[i];
        struct policy_memory_meter *meter = meter_for(m, limit);
        if (policy_meter_reserve(&meter->meter, limit, m->now_ms, ret_retry_ms)) {
            meter->touched = true;
            kept[count++] = *limit;
            continue;
        }
        if (limit->shadow) {
            policy_shadow(limit, a, v);
            continue;
        }
        while (count-- > 0)
            policy_meter_release(&meter_for(m, &kept[count])->meter, &kept[count], m->now_ms);
        return limit;
    }
    v->limits = kept;
    v->limit_count = count;
    return NULL;
}

/* Answers refund at most the maximum per window: refunds have a counter of their own. */
static bool refund_fits(struct policy_memory *m, const struct policy_limit *limit) {
    struct policy_limit refunds = *limit;
    if (limit->max == POLICY_NO_MAX)
        return true;
    refunds.key = arena_printf(&m->arena, "%.*s/refunds", SLICE_FMT(limit->key));
    refunds.kind = limit->kind == POLICY_FIXED ? POLICY_FIXED : POLICY_SLIDING;
    return policy_meter_reserve(&meter_for(m, &refunds)->meter, &refunds, m->now_ms, NULL);
}

static bool gives_back(struct policy_memory *m, const struct policy_limit *limit, enum policy_ending ending) {
    if (ending == POLICY_NEVER_SENT || limit->kind == POLICY_CONCURRENT)
        return true;
    if (ending == POLICY_ENDED || limit->refund == POLICY_REFUND_NEVER ||
        (limit->refund == POLICY_REFUND_PROVEN && ending != POLICY_FAILED_PROVEN))
        return false;
    return limit->refund == POLICY_REFUND_PROVEN || refund_fits(m, limit);
}

void policy_memory_settle(struct policy_memory *m, const struct policy_verdict *v,
                          enum policy_ending ending) {
    for (size_t i = 0; i < v->limit_count; i++)
        if (gives_back(m, &v->limits[i], ending))
            policy_meter_release(&meter_for(m, &v->limits[i])->meter, &v->limits[i], m->now_ms);
}
