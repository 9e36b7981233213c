#include "base/map.h"

#include "base/mem.h"
#include "base/rand.h"

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>

#define MAP_CAP_MIN 4

static uint64_t map_seed[2];
static pthread_once_t map_seed_once = PTHREAD_ONCE_INIT;
static atomic_bool map_seeded;

static void map_seed_init(void) {
    rand_bytes(map_seed, sizeof(map_seed));
    atomic_store_explicit(&map_seeded, true, memory_order_release);
}

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))
#define SIP_ROUND                                                                                            \
    do {                                                                                                     \
        v0 += v1, v1 = ROTL(v1, 13), v1 ^= v0, v0 = ROTL(v0, 32);                                            \
        v2 += v3, v3 = ROTL(v3, 16), v3 ^= v2;                                                               \
        v0 += v3, v3 = ROTL(v3, 21), v3 ^= v0;                                                               \
        v2 += v1, v1 = ROTL(v1, 17), v1 ^= v2, v2 = ROTL(v2, 32);                                            \
    } while (0)

/* Up to seven bytes, the first one lowest. */
static uint64_t map_tail(const char *ptr, size_t len) {
    uint64_t value = 0;
    uint32_t four;
    uint16_t two;
    size_t at = 0;
    if (len & 4) {
        memcpy(&four, ptr, 4);
        value = le32toh(four);
        at = 4;
    }
    if (len & 2) {
        memcpy(&two, ptr + at, 2);
        value |= (uint64_t)le16toh(two) << (8 * at);
        at += 2;
    }
    if (len & 1)
        value |= (uint64_t)(unsigned char)ptr[at] << (8 * at);
    return value;
}

/* SipHash-1-3. */
uint64_t map_hash(struct slice key) {
    if (!atomic_load_explicit(&map_seeded, memory_order_acquire))
        pthread_once(&map_seed_once, map_seed_init);
    uint64_t v0 = map_seed[0] ^ 0x736f6d6570736575u, v1 = map_seed[1] ^ 0x646f72616e646f6du;
    uint64_t v2 = map_seed[0] ^ 0x6c7967656e657261u, v3 = map_seed[1] ^ 0x7465646279746573u;
    size_t words_len = key.len & ~(size_t)7;
    for (size_t i = 0; i < words_len; i += 8) {
        uint64_t word;
        memcpy(&word, key.ptr + i, 8);
        v3 ^= word;
        SIP_ROUND;
        v0 ^= word;
    }
    uint64_t last = (uint64_t)key.len << 56 |
                    (key.len > words_len ? map_tail(key.ptr + words_len, key.len - words_len) : 0);
    v3 ^= last;
    SIP_ROUND;
    v0 ^= last;
    v2 ^= 0xff;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

void map_init(struct map *m) { *m = (struct map){0}; }

void map_free(struct map *m) {
    free(m->entries);
    map_init(m);
}

/* The slot that holds the key, or the empty slot where it would go. Linear probing, load at most 3/4. */
static struct map_entry *map_slot(const struct map *m, struct slice key, uint64_t hash) {
    for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        struct map_entry *e = &m->entries[i];
        if (!e->value || (e->hash == hash && slice_eq(e->key, key)))
            return e;
    }
}

void *map_get(const struct map *m, struct slice key) {
    return m->count ? map_slot(m, key, map_hash(key))->value : NULL;
}

static void map_resize(struct map *m, size_t cap) {
    struct map old = *m;
    m->entries = mem_zalloc(cap * sizeof(*m->entries));
    m->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.entries[i].value)
            *map_slot(m, old.entries[i].key, old.entries[i].hash) = old.entries[i];
    free(old.entries);
}

/* The slot of the key, or the free slot for it; grows the table first if needed. */
static struct map_entry *map_place(struct map *m, struct slice key, uint64_t hash) {
    if ((m->count + 1) * 4 > m->cap * 3)
        map_resize(m, m->cap ? m->cap * 2 : MAP_CAP_MIN);
    return map_slot(m, key, hash);
}

void *map_put(struct map *m, struct slice key, void *value) {
    uint64_t hash = map_hash(key);
    struct map_entry *e = map_place(m, key, hash);
    void *old = e->value;
    if (!old)
        m->count++;
    *e = (struct map_entry){key, value, hash};
    return old;
}

bool map_add(struct map *m, struct slice key, void *value) {
    uint64_t hash = map_hash(key);
    struct map_entry *e = map_place(m, key, hash);
    if (e->value)
        return false;
    m->count++;
    *e = (struct map_entry){key, value, hash};
    return true;
}

void *map_remove(struct map *m, struct slice key) {
    if (!m->count)
        return NULL;
    struct map_entry *e = map_slot(m, key, map_hash(key));
    void *old = e->value;
    if (!old)
        return NULL;
    m->count--;
    /* Close the gap: move back every later entry of the run whose home is at or before the gap. */
    size_t gap = (size_t)(e - m->entries);
    for (size_t i = (gap + 1) & (m->cap - 1); m->entries[i].value; i = (i + 1) & (m->cap - 1)) {
        size_t home = m->entries[i].hash & (m->cap - 1);
        if (((i - home) & (m->cap - 1)) >= ((i - gap) & (m->cap - 1))) {
            m->entries[gap] = m->entries[i];
            gap = i;
        }
    }
    m->entries[gap] = (struct map_entry){0};
    return old;
}

struct map_entry *map_next(const struct map *m, size_t *at) {
    while (*at < m->cap) {
        struct map_entry *e = &m->entries[(*at)++];
        if (e->value)
            return e;
    }
    return NULL;
}
