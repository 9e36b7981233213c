#include "call/trail.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha.h"
#include "call/limits.h"

#include <stdatomic.h>
#include <stdlib.h>

static bool trail_over(const struct core *core, const struct trail *t, uint64_t now_ms) {
    return !trail_labels(core, t, now_ms) && (!t->pii_most || t->pii_ms + core->flow_window_ms < now_ms);
}

static void trail_drop(struct core *core, struct trail *t) {
    map_remove(&core->trails, slice_str(t->identity));
    free(t->identity);
    free(t->pii_most);
    free(t);
}

static void trail_sweep(struct core *core) {
    const uint64_t now_ms = clock_wall_ms();
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&core->trails, &at));)
        if (trail_over(core, e->value, now_ms)) {
            trail_drop(core, e->value);
            at = 0;
        }
}

/* ---- memory that several processes share ---- */

#define SLOT_PROBES 32

/* Every member only grows: no lock is needed, and a process that dies leaves nothing inconsistent. */
struct trail_slot {
    _Atomic uint64_t key; /* of the identity; 0: free */
    _Atomic uint64_t seen_ms[32];
    _Atomic uint64_t pii_ms;
    _Atomic uint32_t pii_most[PII_BUILTIN + 1]; /* all kinds together come last */
};

size_t trail_shared_bytes(void) { return TRAIL_SLOTS * sizeof(struct trail_slot); }

/* If the table is full, identities share the first slot: they may get labels of others, but lose none. */
static struct trail_slot *slot_of(struct trail_slot *slots, const char *identity) {
    char hex[SHA_HEX + 1];
    sha_256_hex(slice_str(identity), hex);
    hex[16] = '\0';
    const uint64_t key = strtoull(hex, NULL, 16) | 1;
    for (uint64_t i = 0; i < SLOT_PROBES; i++) {
        struct trail_slot *slot = &slots[1 + (key / 2 + i) % (TRAIL_SLOTS - 1)];
        uint64_t found = 0;
        if (atomic_compare_exchange_strong(&slot->key, &found, key) || found == key)
            return slot;
    }
    return slots;
}

static void raise_64(_Atomic uint64_t *to, uint64_t value) {
    uint64_t old = atomic_load(to);
    while (old < value && !atomic_compare_exchange_weak(to, &old, value))
        ;
}

static void raise_32(_Atomic uint32_t *to, uint32_t value) {
    uint32_t old = atomic_load(to);
    while (old < value && !atomic_compare_exchange_weak(to, &old, value))
        ;
}

static void raise_own(uint32_t *to, uint32_t value) { *to = *to < value ? value : *to; }

void trail_publish(struct trail *t) {
    struct trail_slot *slot = t->slot;
    if (!slot || !t->pii_most)
        return;
    for (size_t i = 0; i < PII_BUILTIN; i++)
        raise_32(&slot->pii_most[i], t->pii_most[i]);
    raise_32(&slot->pii_most[PII_BUILTIN], t->pii_most[PII_KINDS_MAX]);
    raise_64(&slot->pii_ms, t->pii_ms);
}

/* Adds what other processes have recorded. */
static void trail_pull(struct trail *t) {
    struct trail_slot *slot = t->slot;
    for (size_t i = 0; i < ARRAY_LEN(t->seen_ms); i++) {
        const uint64_t seen_ms = atomic_load(&slot->seen_ms[i]);
        if (seen_ms <= t->seen_ms[i])
            continue;
        t->seen_ms[i] = seen_ms;
        t->labels |= 1u << i;
    }
    const uint64_t pii_ms = atomic_load(&slot->pii_ms);
    if (!pii_ms)
        return;
    if (!t->pii_most)
        t->pii_most = mem_zalloc((PII_KINDS_MAX + 1) * sizeof(*t->pii_most));
    t->pii_ms = t->pii_ms < pii_ms ? pii_ms : t->pii_ms;
    for (size_t i = 0; i < PII_BUILTIN; i++)
        raise_own(&t->pii_most[i], atomic_load(&slot->pii_most[i]));
    raise_own(&t->pii_most[PII_KINDS_MAX], atomic_load(&slot->pii_most[PII_BUILTIN]));
}

/* ---- one identity ---- */

/* Identities beyond the maximum share one trail: they may get labels of others, but lose none. */
struct trail *trail_of(struct core *core, const char *identity) {
    struct trail *t = map_get(&core->trails, slice_str(identity));
    if (t && t->slot)
        trail_pull(t);
    if (t)
        return t;
    if (core->trails.count >= TRAILS_MAX)
        trail_sweep(core);
    if (core->trails.count >= TRAILS_MAX && identity[0])
        return trail_of(core, "");
    t = mem_zalloc(sizeof(*t));
    t->identity = mem_dup(identity, strlen(identity));
    map_put(&core->trails, slice_str(t->identity), t);
    if (core->trail_slots) {
        t->slot = slot_of(core->trail_slots, identity);
        trail_pull(t);
    }
    return t;
}

uint32_t trail_labels(const struct core *core, const struct trail *t, uint64_t now_ms) {
    uint32_t labels = 0;
    for (uint32_t left = t->labels; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        if (t->seen_ms[i] + core->flow_window_ms >= now_ms)
            labels |= 1u << i;
    }
    return labels;
}

void trail_add(struct trail *t, uint32_t labels, uint64_t now_ms) {
    t->labels |= labels;
    for (uint32_t left = labels; left; left &= left - 1)
        t->seen_ms[__builtin_ctz(left)] = now_ms;
    for (uint32_t left = t->slot ? labels : 0; left; left &= left - 1)
        raise_64(&t->slot->seen_ms[__builtin_ctz(left)], now_ms);
}

void trail_free_all(struct core *core) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&core->trails, &at)); at = 0)
        trail_drop(core, e->value);
    map_free(&core->trails);
}
