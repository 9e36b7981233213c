#include "filter/vault.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"

struct memory_entry {
    struct filter_entry e;
    struct text origins[FILTER_ORIGINS_MAX]; /* e.origins points at them */
    struct slice id;
    char *bytes; /* id, kind, value and raw in one piece */
    size_t len;
};

struct filter_memory {
    struct map by_id;
    size_t bytes;
};

static void entry_free(struct memory_entry *m) {
    explicit_bzero(m->bytes, m->len);
    free(m->bytes);
    for (uint8_t i = 0; i < m->e.origin_count; i++)
        text_free(&m->origins[i]);
    free(m);
}

struct filter_memory *filter_memory_new(void) {
    struct filter_memory *m = mem_zalloc(sizeof(*m));
    map_init(&m->by_id);
    return m;
}

void filter_memory_free(struct filter_memory *m) {
    if (!m)
        return;
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&m->by_id, &at));)
        entry_free(e->value);
    map_free(&m->by_id);
    free(m);
}

bool filter_memory_has(const struct filter_memory *m, struct slice id) {
    return map_get(&m->by_id, id) != NULL;
}

size_t filter_memory_count(const struct filter_memory *m) { return m->by_id.count; }

static bool add_origin(struct memory_entry *m, struct slice origin) {
    struct filter_entry *e = &m->e;
    if (origin.len == 0 || origin.len > FILTER_ORIGIN_TEXT_MAX || e->origin_count == FILTER_ORIGINS_MAX)
        return false;
    for (uint8_t i = 0; i < e->origin_count; i++)
        if (slice_eq(e->origins[i], origin))
            return false;
    m->origins[e->origin_count] = text_dup(origin);
    e->origins[e->origin_count] = text_slice(m->origins[e->origin_count]);
    e->origin_count++;
    return true;
}

static struct slice place(char **at, struct slice s) {
    const struct slice out = {*at, s.len};
    if (s.len)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return out;
}

static enum filter_put memory_put(void *ctx, struct slice id, const struct filter_entry *e) {
    struct filter_memory *m = ctx;
    struct memory_entry *old = map_get(&m->by_id, id);
    if (old) {
        if (!slice_eq(old->e.value, e->value) || !slice_eq(old->e.raw, e->raw) ||
            old->e.number != e->number || !slice_eq(old->e.kind, e->kind))
            return FILTER_PUT_TAKEN;
        old->e.created_ms = e->created_ms;
        return e->origin_count && add_origin(old, e->origins[0]) ? FILTER_PUT_OK : FILTER_PUT_SAME;
    }
    const size_t len = id.len + e->kind.len + e->value.len + e->raw.len;
    if (e->value.len > FILTER_VALUE_MAX || m->by_id.count >= FILTER_VAULT_ENTRIES_MAX ||
        m->bytes + len > FILTER_VAULT_BYTES_MAX)
        return FILTER_PUT_FULL;
    struct memory_entry *fresh = mem_zalloc(sizeof(*fresh));
    fresh->bytes = mem_alloc(len + 1);
    fresh->len = len;
    char *at = fresh->bytes;
    fresh->id = place(&at, id);
    fresh->e = *e;
    fresh->e.kind = place(&at, e->kind);
    fresh->e.value = place(&at, e->value);
    fresh->e.raw = place(&at, e->raw);
    fresh->e.origin_count = 0;
    for (uint8_t i = 0; i < e->origin_count; i++)
        add_origin(fresh, e->origins[i]);
    map_put(&m->by_id, fresh->id, fresh);
    m->bytes += len;
    return FILTER_PUT_OK;
}

static void copy_out(const struct filter_entry *e, struct arena *a, struct filter_entry *out) {
    *out = *e;
    out->kind = arena_dup(a, e->kind);
    out->value = arena_dup(a, e->value);
    out->raw = arena_dup(a, e->raw);
    for (uint8_t i = 0; i < e->origin_count; i++)
        out->origins[i] = arena_dup(a, e->origins[i]);
}

static bool memory_get(void *ctx, struct slice id, struct arena *a, struct filter_entry *ret_entry) {
    const struct filter_memory *m = ctx;
    const struct memory_entry *found = map_get(&m->by_id, id);
    if (!found)
        return false;
    copy_out(&found->e, a, ret_entry);
    return true;
}

static unsigned memory_prefix(void *ctx, struct slice prefix, struct arena *a,
                              struct filter_entry *ret_entry) {
    const struct filter_memory *m = ctx;
    const struct memory_entry *found = NULL;
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&m->by_id, &at));) {
        if (!slice_starts(e->key, prefix))
            continue;
        if (found)
            return 2;
        found = e->value;
    }
    if (!found)
        return 0;
    copy_out(&found->e, a, ret_entry);
    return 1;
}

struct filter_vault filter_memory_vault(struct filter_memory *m) {
    static const struct filter_vault_ops ops = {memory_put, memory_get, memory_prefix};
    return (struct filter_vault){&ops, m};
}

size_t filter_memory_expire(struct filter_memory *m, uint64_t before_ms) {
    size_t at = 0, count = 0;
    struct memory_entry **old = mem_alloc((m->by_id.count + 1) * sizeof(struct memory_entry *));
    for (struct map_entry *e; (e = map_next(&m->by_id, &at));)
        if (((struct memory_entry *)e->value)->e.created_ms < before_ms)
            old[count++] = e->value;
    for (size_t i = 0; i < count; i++) { /* not during the walk, which a removal would upset */
        map_remove(&m->by_id, old[i]->id);
        m->bytes -= old[i]->len;
        entry_free(old[i]);
    }
    free(old);
    return count;
}

bool filter_memory_each(const struct filter_memory *m,
                        bool (*each)(void *ctx, struct slice id, const struct filter_entry *e), void *ctx) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&m->by_id, &at));) {
        const struct memory_entry *entry = e->value;
        if (!each(ctx, entry->id, &entry->e))
            return false;
    }
    return true;
}
