#include "state/quota.h"

#include "base/mem.h"
#include "state/limits.h"

#define QUOTA_ENDS 8         /* expiry times kept per owner; further ones are merged */
#define QUOTA_STEP_MS 60000  /* and their precision */
#define QUOTA_SWEEP_MS 60000 /* interval of checks for owners without counters */

struct owner {
    size_t key_len;
    struct {
        uint64_t until_ms;
        uint32_t count;
    } ends[QUOTA_ENDS];
    char key[];
};

void state_quota_init(struct state_quota *s) {
    *s = (struct state_quota){0};
    map_init(&s->owners);
}

void state_quota_free(struct state_quota *s) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&s->owners, &at));)
        free(e->value);
    map_free(&s->owners);
}

static size_t owner_count(const struct owner *o, uint64_t now_ms) {
    size_t count = 0;
    for (size_t i = 0; i < QUOTA_ENDS; i++)
        count += o->ends[i].until_ms > now_ms ? o->ends[i].count : 0;
    return count;
}

/* The slot for that expiry: its own, an expired one, or the last one, which then expires later. */
static void owner_add(struct owner *o, uint64_t until_ms, uint64_t now_ms) {
    size_t at = 0;
    for (size_t i = 0; i < QUOTA_ENDS; i++) {
        if (o->ends[i].until_ms == until_ms) {
            o->ends[i].count++;
            return;
        }
        at = o->ends[i].until_ms > o->ends[at].until_ms ? i : at;
    }
    for (size_t i = 0; i < QUOTA_ENDS; i++)
        if (o->ends[i].until_ms <= now_ms) {
            o->ends[i].until_ms = until_ms;
            o->ends[i].count = 1;
            return;
        }
    o->ends[at].count++;
    if (until_ms > o->ends[at].until_ms)
        o->ends[at].until_ms = until_ms;
}

/* Removing one changes the map, so the iteration restarts; at most once per minute. */
static void sweep(struct state_quota *s, uint64_t now_ms) {
    size_t at = 0;
    if (now_ms >= s->swept_ms && now_ms - s->swept_ms < QUOTA_SWEEP_MS)
        return;
    s->swept_ms = now_ms;
    for (struct map_entry *e; (e = map_next(&s->owners, &at));) {
        struct owner *o = e->value;
        if (owner_count(o, now_ms))
            continue;
        map_remove(&s->owners, slice_of(o->key, o->key_len));
        free(o);
        at = 0;
    }
}

bool state_quota_take(struct state_quota *s, struct slice owner, uint64_t until_ms, uint64_t now_ms,
                      size_t left) {
    if (!owner.len)
        return true;
    sweep(s, now_ms);
    struct owner *o = map_get(&s->owners, owner);
    if (o && owner_count(o, now_ms) >= left)
        return false;
    if (!o) {
        o = mem_zalloc(sizeof(*o) + owner.len);
        o->key_len = owner.len;
        memcpy(o->key, owner.ptr, owner.len);
        map_put(&s->owners, slice_of(o->key, o->key_len), o);
    }
    owner_add(o, (until_ms / QUOTA_STEP_MS + 1) * QUOTA_STEP_MS, now_ms);
    return true;
}
