#include "state/live.h"

#include "base/check.h"
#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LIVE_MAGIC 0x53504c56u
#define LIVE_LAYOUT 1
#define LIVE_BUCKETS 65536 /* a power of two */
#define LIVE_HEAD_BYTES 4096
#define LIVE_GROW 512       /* counters whose disk blocks are allocated together */
#define LIVE_SWEEP_MS 1000  /* minimum interval of searches for idle counters in a full table */
#define LIVE_OPENING_BYTE 0 /* byte-range locks: one for opening and closing, one for each process */
#define LIVE_OWNER_BYTE 16

struct live_head {
    uint32_t magic;
    uint32_t layout;
    unsigned char boot_id[LIVE_ID_BYTES];
    unsigned char store_id[LIVE_ID_BYTES];
    uint64_t seed[2];
    uint32_t count;
    uint32_t high;  /* counters ever allocated */
    uint32_t ready; /* counters whose disk blocks are allocated */
    uint32_t free;  /* index + 1 of the first reusable counter */
    uint64_t swept_ms;
    pthread_mutex_t mutex; /* robust, shared */
};

_Static_assert(sizeof(struct live_head) <= LIVE_HEAD_BYTES, "the head fits its page");
_Static_assert(sizeof(struct live_counter) == 512, "counters do not straddle pages");

#define LIVE_COUNTERS_AT (LIVE_HEAD_BYTES + LIVE_BUCKETS * sizeof(uint32_t))
#define LIVE_BYTES (LIVE_COUNTERS_AT + STATE_COUNTERS_MAX * sizeof(struct live_counter))

static int live_prepare(struct live *l, const unsigned char store_id[LIVE_ID_BYTES], struct err *err);
static int live_take_place(struct live *l, struct err *err);
static void live_drop_owner(struct live *l, uint32_t owner);
static void live_repair(struct live *l);

/* ---- files and locks ---- */

/* Identifies this boot of the kernel: memory shared through a file is complete as long as the boot lasts. */
static void live_boot_id(unsigned char id[LIVE_ID_BYTES]) {
    char text[64] = {0};
    cleanup_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (got < 32) {
        rand_bytes(id, LIVE_ID_BYTES); /* unknown: never equal, so the marks decide */
        return;
    }
    size_t at = 0;
    memset(id, 0, LIVE_ID_BYTES);
    for (char *c = text; *c && at < 2 * LIVE_ID_BYTES; c++) {
        int digit = *c >= '0' && *c <= '9' ? *c - '0' : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10 : -1;
        if (digit < 0)
            continue;
        id[at / 2] = (unsigned char)(id[at / 2] << 4 | digit);
        at++;
    }
}

static int live_byte_lock(int fd, int cmd, short type, off_t at, off_t len, struct flock *ret_lock) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = len};
    int rc;
    do {
        rc = fcntl(fd, cmd, &lock);
    } while (rc < 0 && errno == EINTR);
    if (ret_lock)
        *ret_lock = lock;
    return rc;
}

static bool live_place_taken(const struct live *l, off_t first, off_t count) {
    struct flock lock;
    if (live_byte_lock(l->fd, F_OFD_GETLK, F_WRLCK, LIVE_OWNER_BYTE + first, count, &lock) < 0)
        return true;
    return lock.l_type != F_UNLCK;
}

static void live_map(struct live *l, void *memory) {
    l->head = memory;
    l->buckets = (uint32_t *)(void *)((char *)memory + LIVE_HEAD_BYTES);
    l->counters = (struct live_counter *)(void *)((char *)memory + LIVE_COUNTERS_AT);
}

static int live_map_file(struct live *l, struct err *err) {
    void *memory = mmap(NULL, LIVE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | (l->fd < 0 ? MAP_ANONYMOUS : 0), l->fd, 0);
    if (memory == MAP_FAILED)
        return err_set(err, "map the table of counters: %s", strerror(errno));
    madvise(memory, LIVE_BYTES, MADV_RANDOM); /* counters are scattered; read-ahead would touch all of them */
    live_map(l, memory);
    return 0;
}

static void live_release(struct live *l) {
    if (l->head)
        munmap(l->head, LIVE_BYTES);
    if (l->fd >= 0)
        close(l->fd);
    *l = (struct live){.fd = -1};
}

int state_live_open(struct live *l, const char *path, const unsigned char store_id[LIVE_ID_BYTES],
                    struct err *err) {
    *l = (struct live){.fd = -1, .alone = true, .fresh = true};
    if (path) {
        l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (l->fd < 0)
            return err_set(err, "open `%s`: %s", path, strerror(errno));
        if (live_byte_lock(l->fd, F_OFD_SETLKW, F_WRLCK, LIVE_OPENING_BYTE, 1, NULL) < 0) {
            err_set(err, "lock `%s`: %s", path, strerror(errno));
            live_release(l);
            return -1;
        }
        l->alone = !live_place_taken(l, 0, STATE_PROCESSES_MAX);
    }
    if (live_prepare(l, store_id, err) < 0 || live_take_place(l, err) < 0) {
        if (path)
            err_wrap(err, "`%s`", path);
        live_release(l);
        return -1;
    }
    return 0;
}

void state_live_opened(struct live *l) {
    if (l->fd >= 0)
        live_byte_lock(l->fd, F_OFD_SETLK, F_UNLCK, LIVE_OPENING_BYTE, 1, NULL);
}

static bool live_valid(const struct live *l, const unsigned char store_id[LIVE_ID_BYTES]) {
    unsigned char boot_id[LIVE_ID_BYTES];
    live_boot_id(boot_id);
    const struct live_head *h = l->head;
    return h->magic == LIVE_MAGIC && h->layout == LIVE_LAYOUT && h->high <= h->ready &&
           h->ready <= STATE_COUNTERS_MAX && memcmp(h->boot_id, boot_id, LIVE_ID_BYTES) == 0 &&
           memcmp(h->store_id, store_id, LIVE_ID_BYTES) == 0;
}

int state_live_attach(struct live *l, const char *path, const unsigned char store_id[LIVE_ID_BYTES]) {
    struct stat st;
    *l = (struct live){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (l->fd < 0)
        return -1;
    if (live_byte_lock(l->fd, F_OFD_SETLKW, F_WRLCK, LIVE_OPENING_BYTE, 1, NULL) < 0 ||
        fstat(l->fd, &st) < 0 || st.st_size != (off_t)LIVE_BYTES || live_map_file(l, NULL) < 0 ||
        !live_valid(l, store_id)) {
        live_release(l);
        return -1;
    }
    return 0;
}

bool state_live_closing(struct live *l) {
    if (l->fd < 0)
        return true;
    live_byte_lock(l->fd, F_OFD_SETLKW, F_WRLCK, LIVE_OPENING_BYTE, 1, NULL);
    return !live_place_taken(l, 0, STATE_PROCESSES_MAX);
}

void state_live_close(struct live *l) { live_release(l); }

static void live_init_mutex(struct live_head *h) {
    pthread_mutexattr_t attr;
    CHECK(pthread_mutexattr_init(&attr) == 0);
    CHECK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
    CHECK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
    CHECK(pthread_mutex_init(&h->mutex, &attr) == 0);
    pthread_mutexattr_destroy(&attr);
}

/* Bytes that are already zero are only read: writing a page of a shared file costs a page fault and a
 * write-back, and most of a table is empty at most starts. */
static void live_clear(void *at, size_t len) {
    uint64_t *words = at;
    for (size_t i = 0; i < len / sizeof(*words); i++)
        if (words[i])
            words[i] = 0;
}

/* Allocates disk blocks first: a write to a mapped page without a block would kill the process when the
 * disk is full. */
static int live_take_blocks(const struct live *l, size_t at, size_t len) {
    return l->fd < 0 ? 0 : posix_fallocate(l->fd, (off_t)at, (off_t)len);
}

static int live_prepare(struct live *l, const unsigned char store_id[LIVE_ID_BYTES], struct err *err) {
    struct stat st = {0};
    if (l->fd >= 0) {
        if (fstat(l->fd, &st) < 0)
            return err_set(err, "%s", strerror(errno));
        bool whole = st.st_size == (off_t)LIVE_BYTES;
        if (!whole && !l->alone)
            return err_set(err, "another version of the gate is using this state directory");
        if (!whole && (ftruncate(l->fd, 0) < 0 || ftruncate(l->fd, LIVE_BYTES) < 0))
            return err_set(err, "%s", strerror(errno));
        int rc = live_take_blocks(l, 0, LIVE_COUNTERS_AT);
        if (rc != 0)
            return err_set(err, "%s", strerror(rc));
    }
    if (live_map_file(l, err) < 0)
        return -1;
    bool valid = live_valid(l, store_id);
    if (!valid && !l->alone)
        return err_set(err, "another version of the gate is using this state directory");
    l->fresh = !valid;
    if (!l->alone)
        return 0;
    if (!valid) {
        uint32_t ready =
            l->head->magic == LIVE_MAGIC && l->head->ready <= STATE_COUNTERS_MAX ? l->head->ready : 0;
        live_clear(l->head, LIVE_COUNTERS_AT);
        for (uint32_t i = 0; i < ready; i++)
            l->counters[i].in_use = 0;
        l->head->layout = LIVE_LAYOUT;
        live_boot_id(l->head->boot_id);
        memcpy(l->head->store_id, store_id, LIVE_ID_BYTES);
        rand_bytes(l->head->seed, sizeof(l->head->seed));
    }
    live_init_mutex(l->head);
    live_repair(l);
    for (uint32_t i = 0; i < STATE_PROCESSES_MAX; i++)
        live_drop_owner(l, i);
    l->head->magic = LIVE_MAGIC;
    return 0;
}

static int live_take_place(struct live *l, struct err *err) {
    if (l->fd < 0)
        return 0;
    for (uint32_t i = 0; i < STATE_PROCESSES_MAX; i++) {
        if (live_byte_lock(l->fd, F_OFD_SETLK, F_WRLCK, LIVE_OWNER_BYTE + (off_t)i, 1, NULL) < 0)
            continue;
        l->owner = i;
        state_live_lock(l);
        live_drop_owner(l, i);
        state_live_unlock(l);
        return 0;
    }
    return err_set(err, "more than %d processes share this state directory", STATE_PROCESSES_MAX);
}

/* ---- the lock ---- */

void state_live_lock(struct live *l) {
    int rc = pthread_mutex_lock(&l->head->mutex);
    if (rc == EOWNERDEAD) {
        /* The owner of the lock died. Every step of a change leaves a counter correct or too high; only
         * the chains can be broken. */
        live_repair(l);
        rc = pthread_mutex_consistent(&l->head->mutex);
    }
    CHECK(rc == 0);
}

void state_live_unlock(struct live *l) { CHECK(pthread_mutex_unlock(&l->head->mutex) == 0); }

/* ---- the table ---- */

static uint64_t live_fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A keyed hash, so that no client can choose keys that collide. Equal keys are compared byte by byte
 * anyway. */
static uint64_t live_hash(const struct live *l, struct slice key, uint64_t kind, uint64_t window_ms) {
    uint64_t seed = l->head->seed[1] | 1;
    uint64_t h = live_fold(l->head->seed[0] ^ kind ^ (uint64_t)key.len << 8, seed) ^ window_ms;
    while (key.len >= 8) {
        uint64_t word;
        memcpy(&word, key.ptr, 8);
        h = live_fold(h ^ word, seed);
        key = slice_from(key, 8);
    }
    uint64_t last = 0;
    if (key.len)
        memcpy(&last, key.ptr, key.len);
    return live_fold(live_fold(h ^ last, seed), 0x9e3779b97f4a7c15u);
}

static uint32_t *live_bucket(const struct live *l, uint64_t hash) {
    return &l->buckets[hash & (LIVE_BUCKETS - 1)];
}

/* Rebuilds chains and the free list from the counters themselves. */
static void live_repair(struct live *l) {
    struct live_head *h = l->head;
    live_clear(l->buckets, LIVE_BUCKETS * sizeof(uint32_t));
    h->free = 0;
    h->count = 0;
    for (uint32_t i = h->high; i-- > 0;) {
        struct live_counter *c = &l->counters[i];
        uint32_t *into = &h->free;
        if (c->in_use && c->kind <= STATE_IDENTICAL && c->key_len <= STATE_KEY_MAX) {
            into = live_bucket(l, c->hash);
            h->count++;
        }
        c->next = *into;
        *into = i + 1;
    }
}

struct live_counter *state_live_find(struct live *l, struct slice key, enum state_kind kind,
                                     uint64_t window_ms) {
    uint64_t hash = live_hash(l, key, (uint64_t)kind, window_ms);
    for (uint32_t i = *live_bucket(l, hash); i; i = l->counters[i - 1].next) {
        struct live_counter *c = &l->counters[i - 1];
        if (c->hash == hash && c->kind == kind && c->window_ms == window_ms &&
            slice_eq(slice_of(c->key, c->key_len), key))
            return c;
    }
    return NULL;
}

void state_live_sweep(struct live *l, uint64_t now_ms) {
    struct live_head *h = l->head;
    if (now_ms >= h->swept_ms && now_ms - h->swept_ms < LIVE_SWEEP_MS)
        return;
    h->swept_ms = now_ms;
    for (uint32_t i = 0; i < h->high; i++) {
        struct live_counter *c = &l->counters[i];
        if (c->in_use &&
            state_meter_idle(&c->meter, (enum state_kind)c->kind, c->window_ms, c->refill, now_ms)) {
            c->in_use = 0;
            c->generation++;
        }
    }
    live_repair(l);
}

/* Index of an unused counter, or -1. */
static int64_t live_spare(struct live *l, uint64_t now_ms) {
    struct live_head *h = l->head;
    if (!h->free && h->high == STATE_COUNTERS_MAX)
        state_live_sweep(l, now_ms);
    if (h->free) {
        uint32_t i = h->free - 1;
        h->free = l->counters[i].next;
        return i;
    }
    if (h->high == STATE_COUNTERS_MAX)
        return -1;
    if (h->high == h->ready) {
        if (live_take_blocks(l, LIVE_COUNTERS_AT + h->ready * sizeof(struct live_counter),
                             LIVE_GROW * sizeof(struct live_counter)) != 0)
            return -1;
        h->ready += LIVE_GROW;
    }
    return h->high++;
}

struct live_counter *state_live_make(struct live *l, struct slice key, const struct state_limit *limit,
                                     uint64_t now_ms) {
    CHECK(key.len <= STATE_KEY_MAX);
    struct live_counter *c = state_live_find(l, key, limit->kind, limit->window_ms);
    if (c)
        return c;
    int64_t at = live_spare(l, now_ms);
    if (at < 0)
        return NULL;
    c = &l->counters[at];
    *c = (struct live_counter){
        .generation = c->generation + 1,
        .hash = live_hash(l, key, (uint64_t)limit->kind, limit->window_ms),
        .window_ms = limit->window_ms,
        .max = limit->max,
        .refill = limit->refill,
        .used_ms = now_ms,
        .kind = (uint8_t)limit->kind,
        .key_len = (uint16_t)key.len,
    };
    memcpy(c->key, key.ptr, key.len);
    c->in_use = 1;
    uint32_t *bucket = live_bucket(l, c->hash);
    c->next = *bucket;
    *bucket = (uint32_t)at + 1;
    l->head->count++;
    return c;
}

struct live_counter *state_live_held(struct live *l, const struct state_hold *hold) {
    if (hold->counter >= l->head->high)
        return NULL;
    struct live_counter *c = &l->counters[hold->counter];
    return c->in_use && c->generation == hold->generation ? c : NULL;
}

uint32_t state_live_index(const struct live *l, const struct live_counter *c) {
    return (uint32_t)(c - l->counters);
}

struct live_counter *state_live_next(struct live *l, uint32_t *at) {
    while (*at < l->head->high) {
        struct live_counter *c = &l->counters[(*at)++];
        if (c->in_use)
            return c;
    }
    return NULL;
}

/* ---- processes ---- */

static bool live_drop_share(struct live_counter *c, uint32_t owner) {
    uint16_t calls = c->meter.owners[owner];
    if (!calls)
        return false;
    int64_t amount = (int64_t)calls * STATE_MICRO;
    c->meter.owners[owner] = 0;
    c->meter.value = c->meter.value > amount ? c->meter.value - amount : 0;
    return true;
}

static void live_drop_owner(struct live *l, uint32_t owner) {
    uint32_t at = 0;
    for (struct live_counter *c; (c = state_live_next(l, &at));)
        if (c->kind == STATE_CONCURRENT)
            live_drop_share(c, owner);
}

bool state_live_reap(struct live *l, struct live_counter *c) {
    bool any = false;
    if (l->fd < 0)
        return false;
    for (uint32_t i = 0; i < STATE_PROCESSES_MAX; i++)
        if (c->meter.owners[i] && i != l->owner && !live_place_taken(l, i, 1))
            any |= live_drop_share(c, i);
    return any;
}

size_t state_live_count(const struct live *l) { return l->head->count; }

size_t state_live_processes(const struct live *l) {
    size_t count = 0;
    for (uint32_t i = 0; l->fd >= 0 && i < STATE_PROCESSES_MAX; i++)
        count += live_place_taken(l, i, 1);
    return count;
}

int state_live_check(const struct live *l, struct err *err) {
    struct stat st;
    if (l->fd < 0)
        return 0;
    if (fstat(l->fd, &st) < 0 || st.st_nlink == 0)
        return err_set(err, "the table of counters was removed from the state directory: restart the gate");
    if (st.st_size != (off_t)LIVE_BYTES || l->head->magic != LIVE_MAGIC)
        return err_set(err, "the table of counters was overwritten: restart the gate");
    return 0;
}
