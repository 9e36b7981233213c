#include "audit/disk.h"

#include "base/check.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define DISK_PAGE 4096
#define DISK_PARTS (AUDIT_RING_BYTES / AUDIT_SYNC_BYTES)

_Static_assert(AUDIT_SYNC_BYTES % DISK_PAGE == 0 && RING_FILE_BYTES % DISK_PAGE == 0, "whole pages");
_Static_assert(AUDIT_RING_BYTES % AUDIT_SYNC_BYTES == 0 && DISK_PARTS <= IOV_MAX, "one write for all of it");

/* If a file system does not support direct writes, the write works but blocks the loop. */
static int disk_open_file(const char *path) {
    const int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    int fd = open(path, flags | O_DIRECT);
    return fd < 0 && errno == EINVAL ? open(path, flags) : fd;
}

/* The file is written once in advance: the first write to a block takes half as long again. */
static int disk_prepare(struct disk *d, const struct ring *r, const char *dir) {
    struct iovec parts[DISK_PARTS];
    for (size_t i = 0; i < DISK_PARTS; i++)
        parts[i] = (struct iovec){.iov_base = d->room, .iov_len = AUDIT_SYNC_BYTES};
    if (ftruncate(r->fd, (off_t)RING_TWIN_BYTES) < 0)
        return -1;
    ssize_t n = pwritev(d->fd, parts, DISK_PARTS, (off_t)RING_FILE_BYTES);
    if (n != (ssize_t)AUDIT_RING_BYTES) {
        errno = n < 0 ? errno : ENOSPC;
        return -1;
    }
    if (fsync(r->fd) < 0)
        return -1;
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = at < 0 ? -1 : fsync(at);
    if (at >= 0)
        close(at);
    return rc;
}

int audit_disk_open(struct disk *d, const struct ring *r, const char *dir, int event, struct err *err) {
    *d = (struct disk){.fd = -1, .event = event, .room = aligned_alloc(DISK_PAGE, AUDIT_SYNC_BYTES)};
    CHECK(d->room);
    memset(d->room, 0, AUDIT_SYNC_BYTES);
    d->fd = disk_open_file(r->path);
    if (d->fd < 0 || disk_prepare(d, r, dir) < 0)
        return err_set(err, "write `%s` to disk: %s", r->path, strerror(errno));
    if (syscall(SYS_io_setup, 1, &d->aio) < 0)
        return err_set(err,
                       "a durable log needs asynchronous writes, which the system refuses: io_setup: %s%s",
                       strerror(errno), errno == EAGAIN ? " (fs.aio-max-nr is used up)" : "");
    return 0;
}

void audit_disk_close(struct disk *d) {
    if (d->aio)
        syscall(SYS_io_destroy, d->aio);
    if (d->fd >= 0)
        close(d->fd);
    free(d->room);
    *d = (struct disk){.fd = -1};
}

int audit_disk_begin(struct disk *d, const struct ring *r, uint64_t from, uint64_t upto, struct err *err) {
    CHECK(!d->busy && from < upto);
    size_t at = from & (AUDIT_RING_BYTES - 1), start = at & ~(size_t)(DISK_PAGE - 1);
    size_t most = start + AUDIT_SYNC_BYTES < AUDIT_RING_BYTES ? start + AUDIT_SYNC_BYTES : AUDIT_RING_BYTES;
    size_t end = upto - from < most - at ? at + (size_t)(upto - from) : most;
    d->len = (end - start + DISK_PAGE - 1) & ~(size_t)(DISK_PAGE - 1);
    d->upto = from + (end - at);
    memcpy(d->room, r->data + start, end - start);
    memset(d->room + (end - start), 0, d->len - (end - start));
    struct iocb order = {
        .aio_lio_opcode = IOCB_CMD_PWRITE,
        .aio_rw_flags = RWF_DSYNC,
        .aio_fildes = (uint32_t)d->fd,
        .aio_buf = (uintptr_t)d->room,
        .aio_nbytes = d->len,
        .aio_offset = (int64_t)(RING_FILE_BYTES + start),
        .aio_flags = IOCB_FLAG_RESFD,
        .aio_resfd = (uint32_t)d->event,
    };
    struct iocb *orders[] = {&order};
    if (syscall(SYS_io_submit, d->aio, 1L, orders) != 1)
        return err_set(err, "write `%s` to disk: %s", r->path, strerror(errno));
    d->busy = true;
    return 0;
}

enum disk_end audit_disk_end(struct disk *d, struct err *err) {
    struct io_event event;
    struct timespec now = {0};
    if (!d->busy || syscall(SYS_io_getevents, d->aio, 0L, 1L, &event, &now) != 1)
        return DISK_NONE;
    d->busy = false;
    if (event.res == (int64_t)d->len)
        return DISK_DONE;
    err_set(err, "write the audit ring to disk: %s", event.res < 0 ? strerror((int)-event.res) : "cut short");
    return DISK_FAILED;
}
