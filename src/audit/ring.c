#include "audit/ring.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RING_MAGIC 0x53505247u
#define RING_LAYOUT 1
#define RING_HEAD_BYTES 4096
#define RING_SKIP UINT32_MAX /* instead of a length: the next frame is at the beginning */
#define RING_FRAME_HEAD 8
#define RING_GROW (1u << 20)
#define RING_FILE_BYTES (RING_HEAD_BYTES + (size_t)AUDIT_RING_BYTES)

_Static_assert((AUDIT_RING_BYTES & (AUDIT_RING_BYTES - 1)) == 0, "positions wrap by masking");
_Static_assert(AUDIT_RECORD_MAX * 8 <= AUDIT_RING_BYTES, "several records fit");

static size_t ring_frame_len(size_t len) { return (RING_FRAME_HEAD + len + 7) & ~(size_t)7; }

/* Disk blocks first: writing to a mapped page that has none would end the process when the disk is full. */
static int ring_grow(struct ring *r, size_t need) {
    size_t ready = (need + RING_GROW - 1) / RING_GROW * RING_GROW;
    int rc = posix_fallocate(r->fd, 0, (off_t)(RING_HEAD_BYTES + ready));
    if (rc == 0)
        r->ready = ready;
    return rc;
}

static int ring_map(struct ring *r) {
    void *memory = mmap(NULL, RING_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (memory == MAP_FAILED)
        return -1;
    r->head = memory;
    r->data = (char *)memory + RING_HEAD_BYTES;
    return 0;
}

int audit_ring_create(struct ring *r, const char *dir, const char *instance, struct err *err) {
    *r = (struct ring){.fd = -1};
    if (asprintf(&r->path, "%s/ring-%s", dir, instance) < 0)
        return err_set(err, "out of memory");
    r->fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int rc = r->fd < 0 ? errno : 0;
    if (rc == 0 && flock(r->fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno;
    if (rc == 0 && ftruncate(r->fd, (off_t)RING_FILE_BYTES) < 0)
        rc = errno;
    if (rc == 0)
        rc = ring_grow(r, 1);
    if (rc == 0 && ring_map(r) < 0)
        rc = errno;
    if (rc != 0) {
        err_set(err, "make `%s`: %s", r->path, strerror(rc));
        if (r->fd >= 0)
            unlink(r->path);
        audit_ring_close(r);
        return -1;
    }
    memcpy(r->head->instance, instance, RING_INSTANCE_LEN);
    r->head->layout = RING_LAYOUT;
    r->head->magic = RING_MAGIC;
    return 0;
}

int audit_ring_adopt(struct ring *r, const char *path) {
    struct stat st;
    *r = (struct ring){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (r->fd < 0)
        return 0;
    r->path = mem_dup(path, strlen(path));
    if (flock(r->fd, LOCK_EX | LOCK_NB) < 0 || fstat(r->fd, &st) < 0 || st.st_nlink == 0 ||
        st.st_size != (off_t)RING_FILE_BYTES || ring_map(r) < 0) {
        audit_ring_close(r);
        return 0;
    }
    uint64_t tail = atomic_load(&r->head->tail), end = atomic_load(&r->head->end);
    if (r->head->magic != RING_MAGIC || r->head->layout != RING_LAYOUT || tail > end ||
        end - tail > AUDIT_RING_BYTES || tail % 8 || end % 8) {
        audit_ring_close(r);
        return 0;
    }
    return 1;
}

void audit_ring_close(struct ring *r) {
    if (r->head)
        munmap(r->head, RING_FILE_BYTES);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    *r = (struct ring){.fd = -1};
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
    /* Back to the beginning at the edge; also whenever nothing waits, so that a quiet gate touches few pages.
     */
    if (at > 0 && (need > to_edge || end == tail)) {
        if (end != tail && AUDIT_RING_BYTES - (end - tail) < to_edge + need + spare)
            return NULL;
        uint32_t skip = RING_SKIP;
        memcpy(r->data + at, &skip, sizeof(skip));
        if (need > r->ready && ring_grow(r, need) != 0)
            return NULL;
        atomic_store_explicit(&r->head->end, end + to_edge, memory_order_release);
        if (end == tail) /* the writer moves the tail only when there is something to write */
            atomic_store_explicit(&r->head->tail, end + to_edge, memory_order_release);
        return r->data + RING_FRAME_HEAD;
    }
    /* With room for a skip behind it. */
    size_t upto = need < to_edge ? at + need + RING_FRAME_HEAD : AUDIT_RING_BYTES;
    if (AUDIT_RING_BYTES - (end - tail) < need + spare || (upto > r->ready && ring_grow(r, upto) != 0))
        return NULL;
    return r->data + at + RING_FRAME_HEAD;
}

uint64_t audit_ring_publish(struct ring *r, size_t len) {
    uint64_t end = atomic_load_explicit(&r->head->end, memory_order_relaxed);
    uint32_t frame = (uint32_t)len;
    memcpy(r->data + (end & (AUDIT_RING_BYTES - 1)), &frame, sizeof(frame));
    end += ring_frame_len(len);
    atomic_store_explicit(&r->head->end, end, memory_order_release);
    return end;
}

enum ring_step audit_ring_next(const struct ring *r, uint64_t *at, struct slice *ret_bytes) {
    uint64_t end = atomic_load_explicit(&r->head->end, memory_order_acquire);
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

void audit_ring_release(struct ring *r, uint64_t at) {
    atomic_store_explicit(&r->head->tail, at, memory_order_release);
}
