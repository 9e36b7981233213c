/* Where the values behind tokens are kept. The interface is small so that a store can stand behind it; the
 * one here lives in memory, has ceilings, forgets by age and wipes what it drops. One vault per scope: what a
 * vault does not hold can not be handed out. */
#pragma once

#include "base/arena.h"
#include "base/slice.h"
#include "filter/limits.h"

struct filter_entry {
    struct slice kind;  /* "EMAIL" */
    struct slice value; /* decoded */
    struct slice raw;   /* as it stood in JSON when that is not its plain spelling; empty otherwise */
    uint8_t level;      /* string levels around `raw` */
    bool number;        /* stood there as a JSON number */
    uint64_t created_ms;
    struct slice origins[FILTER_ORIGINS_MAX]; /* servers it came from */
    uint8_t origin_count;
};

enum filter_put {
    FILTER_PUT_OK,    /* new, or the same value from another server: the origin is added */
    FILTER_PUT_SAME,  /* there already */
    FILTER_PUT_TAKEN, /* the id belongs to another value */
    FILTER_PUT_FULL,  /* over a ceiling: the caller fails closed */
};

struct filter_vault {
    const struct filter_vault_ops *ops;
    void *ctx;
};

struct filter_vault_ops {
    /* `id` is KIND_CHARACTERS. Only the first origin of `e` is looked at. */
    enum filter_put (*put)(void *ctx, struct slice id, const struct filter_entry *e);
    /* Copies into the arena. */
    bool (*get)(void *ctx, struct slice id, struct arena *a, struct filter_entry *ret_entry);
    /* Entries whose id starts so: 0, 1 (filled) or 2 for "several". */
    unsigned (*prefix)(void *ctx, struct slice prefix, struct arena *a, struct filter_entry *ret_entry);
};

struct filter_memory;
struct filter_memory *filter_memory_new(void);
void filter_memory_free(struct filter_memory *m);
struct filter_vault filter_memory_vault(struct filter_memory *m);
/* Drops what was created before `before_ms`; returns how many. */
size_t filter_memory_expire(struct filter_memory *m, uint64_t before_ms);
bool filter_memory_has(const struct filter_memory *m, struct slice id);
/* For tests: how many values it holds. */
size_t filter_memory_count(const struct filter_memory *m);
/* Each entry once, to persist the vault; stops when `each` returns false. */
bool filter_memory_each(const struct filter_memory *m,
                        bool (*each)(void *ctx, struct slice id, const struct filter_entry *e), void *ctx);
