#include "call/trail.h"

#include "base/clock.h"
#include "base/mem.h"
#include "call/limits.h"

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

/* Identities beyond the ceiling share one trail: labels can only be too many. */
struct trail *trail_of(struct core *core, const char *identity) {
    struct trail *t = map_get(&core->trails, slice_str(identity));
    if (t)
        return t;
    if (core->trails.count >= TRAILS_MAX)
        trail_sweep(core);
    if (core->trails.count >= TRAILS_MAX && identity[0])
        return trail_of(core, "");
    t = mem_zalloc(sizeof(*t));
    t->identity = mem_dup(identity, strlen(identity));
    map_put(&core->trails, slice_str(t->identity), t);
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
}

void trail_free_all(struct core *core) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&core->trails, &at)); at = 0)
        trail_drop(core, e->value);
    map_free(&core->trails);
}
