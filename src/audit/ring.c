#include "audit/ring.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RING_MAGIC 0x53505247u
#define RING_LAYOUT 4
#define RING_LAYOUT_OLDEST 3 /* older size that can be read: its records have fewer texts */
#define RING_SKIP UINT32_MAX /* instead of a length: the next frame is at the beginning */
#define RING_FRAME_HEAD 8    /* the length and the sum */
#define RING_GROW (1u << 20)

_Static_assert((AUDIT_RING_BYTES & (AUDIT_RING_BYTES - 1)) == 0, "positions wrap by masking");
_Static_assert(AUDIT_RECORD_MAX * 8 <= AUDIT_RING_BYTES, "several records fit");

static uint64_t ring_mix(uint64_t sum, const char *bytes, size_t len) {
    uint64_t word = 0;
    memcpy(&word, bytes, len);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* A checksum of a frame's bytes and its position: leftovers of an earlier round of the ring are not
 * mistaken for a frame. Four sums in parallel, because each depends on its previous value. */
static uint32_t ring_sum(uint64_t position, const char *bytes, size_t len) {
    const size_t word = sizeof(uint64_t);
    uint64_t a = position + len, b = ~a, c = a << 32, d = ~c;
    for (; len >= 4 * word; bytes += 4 * word, len -= 4 * word) {
        a = ring_mix(a, bytes, word);
        b = ring_mix(b, bytes + word, word);
        c = ring_mix(c, bytes + 2 * word, word);
        d = ring_mix(d, bytes + 3 * word, word);
    }
    for (; len >= word; bytes += word, len -= word)
        a = ring_mix(a, bytes, word);
    if (len)
        a = ring_mix(a, bytes, len);
    const uint64_t all[] = {b, c, d};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        a = ring_mix(a, (const char *)&all[i], word);
    return (uint32_t)(a >> 32);
}

static void ring_put_head(struct ring *r, uint64_t position, uint32_t len) {
    char *frame = r->data + (position & (AUDIT_RING_BYTES - 1));
    uint32_t sum = ring_sum(position, frame + RING_FRAME_HEAD, len == RING_SKIP ? 0 : len);
    memcpy(frame, &len, sizeof(len));
    memcpy(frame + sizeof(len), &sum, sizeof(sum));
}

static size_t ring_frame_len(size_t len) { return (RING_FRAME_HEAD + len + 7) & ~(size_t)7; }

/* Allocates disk blocks first: writing to a mapped page without one would kill the process when the disk
 * is full. */
static int ring_grow(struct ring *r, size_t need) {
    size_t ready = (need + RING_GROW - 1) / RING_GROW * RING_GROW;
    int rc = posix_fallocate(r->fd, 0, (off_t)(RING_HEAD_BYTES + ready));
    if (rc == 0)
        r->ready = ready;
    return rc;
}

static int ring_map(struct ring *r, size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    /* New pages are zeros, so read-ahead is useless: a starting gate needs one of them. */
    madvise(memory, bytes, MADV_RANDOM);
    r->mapped = bytes;
    r->head = memory;
    r->data = (char *)memory + RING_HEAD_BYTES;
    return 0;
}

/* Without a name until it is locked and has its head: another process that searches for rings of dead
 * processes would take an empty, unlocked ring for a damaged one. If the file system has no unnamed files,
 * the name comes first. */
static int ring_make_file(struct ring *r, const char *dir, bool *ret_named) {
    *ret_named = false;
    r->fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (r->fd < 0) {
        *ret_named = true;
        r->fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    return r->fd < 0 || flock(r->fd, LOCK_EX) < 0 ? errno : 0;
}

static int ring_name_file(const struct ring *r) {
    char own[64];
    snprintf(own, sizeof(own), "/proc/self/fd/%d", r->fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, r->path, AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}

static void ring_set_head(struct ring *r, const char *instance) {
    memcpy(r->head->instance, instance, RING_INSTANCE_LEN);
    r->head->layout = RING_LAYOUT;
    r->head->magic = RING_MAGIC;
}

int audit_ring_create(struct ring *r, const char *dir, const char *instance, struct err *err) {
    bool named;
    *r = (struct ring){.fd = -1};
    if (asprintf(&r->path, "%s/ring-%s", dir, instance) < 0)
        return err_set(err, "out of memory");
    int rc = ring_make_file(r, dir, &named);
    if (rc == 0 && ftruncate(r->fd, (off_t)RING_FILE_BYTES) < 0)
        rc = errno;
    if (rc == 0)
        rc = ring_grow(r, 1);
    if (rc == 0 && ring_map(r, RING_FILE_BYTES) < 0)
        rc = errno;
    if (rc == 0)
        ring_set_head(r, instance);
    if (rc == 0 && !named)
        rc = ring_name_file(r);
    if (rc == 0)
        return 0;
    err_set(err, "make `%s`: %s", r->path, strerror(rc));
    if (r->fd >= 0 && named)
        unlink(r->path);
    audit_ring_close(r);
    return -1;
}

static bool head_is_ours(const struct ring_head *head) {
    return head->magic == RING_MAGIC && head->layout >= RING_LAYOUT_OLDEST && head->layout <= RING_LAYOUT;
}

uint64_t audit_ring_lost(const struct ring_head *head) {
    return head_is_ours(head) ? atomic_load(&head->lost) : 0;
}

bool audit_ring_readable(const struct ring_head *head, size_t bytes) {
    uint64_t tail = atomic_load(&head->tail), end = atomic_load(&head->end);
    return (bytes == RING_FILE_BYTES || bytes == RING_TWIN_BYTES) && head_is_ours(head) && tail <= end &&
           end - tail <= AUDIT_RING_BYTES && tail % 8 == 0 && end % 8 == 0;
}

enum ring_left audit_ring_adopt(struct ring *r, const char *path) {
    struct stat st;
    *r = (struct ring){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (r->fd < 0)
        return RING_ALIVE;
    r->path = mem_dup(path, strlen(path));
    enum ring_left left = RING_ALIVE;
    if (flock(r->fd, LOCK_EX | LOCK_NB) == 0 && fstat(r->fd, &st) == 0 && st.st_nlink > 0) {
        size_t bytes = (size_t)st.st_size;
        bool mapped = bytes >= RING_FILE_BYTES && ring_map(r, bytes) == 0;
        left = mapped && audit_ring_readable(r->head, bytes) ? RING_ADOPTED : RING_FOREIGN;
    }
    if (left != RING_ADOPTED)
        audit_ring_close(r);
    return left;
}

void audit_ring_close(struct ring *r) {
    if (r->head)
        munmap(r->head, r->mapped);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    *r = (struct ring){.fd = -1};
}

bool audit_ring_is_gone(const struct ring *r) {
    struct stat st;
    return fstat(r->fd, &st) < 0 || st.st_nlink == 0 || st.st_size < (off_t)RING_FILE_BYTES;
}

void audit_ring_remove(struct ring *r) {
    if (r->path)
        unlink(r->path);
    audit_ring_close(r);
}

size_t audit_ring_used(const struct ring *r) {
    return (size_t)(atomic_load_explicit(&r->head->end, memory_order_relaxed) -
                    atomic_load_explicit(&r->head->tail, memory_order_acquire));
}

char *audit_ring_reserve(struct ring *r, size_t len, size_t spare) {
    CHECK(len <= AUDIT_RECORD_MAX);
    uint64_t end = atomic_load_explicit(&r->head->end, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->head->tail, memory_order_acquire);
    size_t at = end & (AUDIT_RING_BYTES - 1), need = ring_frame_len(len), to_edge = AUDIT_RING_BYTES - at;
    /* Restarts at the beginning at the end of the data; also whenever it is empty, so that an idle gate
     * touches few pages. */
    if (at > 0 && (need > to_edge || end == tail)) {
        if (end != tail && AUDIT_RING_BYTES - (end - tail) < to_edge + need + spare)
            return NULL;
        ring_put_head(r, end, RING_SKIP);
        if (need > r->ready && ring_grow(r, need) != 0)
            return NULL;
        atomic_store_explicit(&r->head->end, end + to_edge, memory_order_release);
        if (end == tail) /* the writer moves the tail only when there is something to write */
            atomic_store_explicit(&r->head->tail, end + to_edge, memory_order_release);
        return r->data + RING_FRAME_HEAD;
    }
    /* Leaves room for a skip after it. */
    size_t upto = need < to_edge ? at + need + RING_FRAME_HEAD : AUDIT_RING_BYTES;
    if (AUDIT_RING_BYTES - (end - tail) < need + spare || (upto > r->ready && ring_grow(r, upto) != 0))
        return NULL;
    return r->data + at + RING_FRAME_HEAD;
}

uint64_t audit_ring_publish(struct ring *r, size_t len) {
    uint64_t end = atomic_load_explicit(&r->head->end, memory_order_relaxed);
    ring_put_head(r, end, (uint32_t)len);
    end += ring_frame_len(len);
    atomic_store_explicit(&r->head->end, end, memory_order_release);
    return end;
}

static enum ring_step ring_step(const struct ring *r, uint64_t end, uint64_t *at, struct slice *ret_bytes) {
    for (int turns = 0; turns < 2; turns++) {
        if (*at >= end)
            return *at == end ? RING_EMPTY : RING_BAD;
        size_t offset = *at & (AUDIT_RING_BYTES - 1), to_edge = AUDIT_RING_BYTES - offset;
        uint32_t len;
        memcpy(&len, r->data + offset, sizeof(len));
        if (len == RING_SKIP) {
            *at += to_edge;
            continue;
        }
        if (len > AUDIT_RECORD_MAX || ring_frame_len(len) > to_edge || ring_frame_len(len) > end - *at)
            return RING_BAD;
        *ret_bytes = slice_of(r->data + offset + RING_FRAME_HEAD, len);
        *at += ring_frame_len(len);
        return RING_FRAME;
    }
    return RING_BAD;
}

enum ring_step audit_ring_next(const struct ring *r, uint64_t *at, struct slice *ret_bytes) {
    return ring_step(r, atomic_load_explicit(&r->head->end, memory_order_acquire), at, ret_bytes);
}

/* The frame at this position, and a skip in front of it, have their sums. */
static bool ring_is_valid(const struct ring *r, uint64_t at, uint64_t behind, struct slice bytes) {
    uint32_t len, sum;
    for (int turns = 0; turns < 2; turns++) {
        size_t offset = at & (AUDIT_RING_BYTES - 1);
        memcpy(&len, r->data + offset, sizeof(len));
        memcpy(&sum, r->data + offset + sizeof(len), sizeof(sum));
        if (len != RING_SKIP)
            return at + ring_frame_len(bytes.len) == behind && sum == ring_sum(at, bytes.ptr, bytes.len);
        if (sum != ring_sum(at, NULL, 0))
            return false;
        at += AUDIT_RING_BYTES - offset;
    }
    return false;
}

/* The position after the last valid frame. */
static uint64_t ring_follow(const struct ring *r, uint64_t at) {
    uint64_t next = at, end = at + AUDIT_RING_BYTES;
    struct slice bytes;
    while (ring_step(r, end, &next, &bytes) == RING_FRAME && ring_is_valid(r, at, next, bytes))
        at = next;
    return at;
}

/* From *from, the first position that is not in the log. An empty ring restarts at the beginning of its
 * data, and the skip that marks this is never written to the copy on disk, because no call waits for it.
 * The frame at the beginning shows the same, because its sum covers its position; then *from moves there. */
static uint64_t ring_reach(const struct ring *r, uint64_t *from) {
    uint64_t at = ring_follow(r, *from), offset = *from & (AUDIT_RING_BYTES - 1);
    if (at > *from || offset == 0)
        return at;
    uint64_t start = *from + AUDIT_RING_BYTES - offset, reach = ring_follow(r, start);
    if (reach > start)
        *from = start;
    return reach > start ? reach : at;
}

bool audit_ring_resume(struct ring *r, uint64_t committed) {
    uint64_t tail = atomic_load(&r->head->tail), end = atomic_load(&r->head->end);
    uint64_t from = committed > tail && committed % 8 == 0 ? committed : tail, twin_from = from;
    uint64_t at = ring_reach(r, &from);
    if (r->mapped == RING_TWIN_BYTES) {
        struct ring twin = *r;
        twin.data += AUDIT_RING_BYTES;
        uint64_t reach = ring_reach(&twin, &twin_from);
        if (reach > at) {
            r->data = twin.data;
            at = reach;
            from = twin_from;
        }
    }
    bool complete = at >= end || at + AUDIT_RING_BYTES - (at & (AUDIT_RING_BYTES - 1)) == end;
    atomic_store(&r->head->tail, from);
    atomic_store(&r->head->end, at);
    return complete;
}

void audit_ring_release(struct ring *r, uint64_t at) {
    atomic_store_explicit(&r->head->tail, at, memory_order_release);
}
