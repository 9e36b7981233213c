#include "packages/unpack.h"

#include "base/mem.h"
#include "wire/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

void pack_unpack_begin(struct pack_unpack *u, int root) {
    *u = (struct pack_unpack){.root = root, .fd = -1, .parent_fd = -1};
}

int pack_unpack_check(struct slice path, struct err *err) {
    struct slice rest = path, part;
    size_t depth = 0;
    if (!path.len || path.len >= PACK_PATH_MAX || !tape_utf8_valid(path))
        return err_set(err, "a file's path is empty, too long or not UTF-8");
    for (size_t i = 0; i < path.len; i++)
        if ((unsigned char)path.ptr[i] < 0x20 || path.ptr[i] == 0x7f || path.ptr[i] == '\\')
            return err_set(err, "a file's path has a control character or a backslash");
    for (bool more = true; more; depth++) {
        more = slice_cut(&rest, '/', &part);
        if (!part.len || slice_is(part, ".") || slice_is(part, "..") || part.len > NAME_MAX)
            return err_set(err, "the path `%.*s` leads elsewhere", SLICE_FMT(slice_upto(path, 200)));
    }
    return depth > PACK_DEPTH_MAX ? err_set(err, "a file lies more than %d directories deep", PACK_DEPTH_MAX)
                                  : 0;
}

int pack_unpack_claim(struct pack_unpack *u, uint64_t size, struct err *err) {
    if (size > PACK_UNPACKED_BYTES_MAX || u->claimed > PACK_UNPACKED_BYTES_MAX - size)
        return err_set(err, "unpacked it has more than %llu MB", PACK_UNPACKED_BYTES_MAX >> 20);
    u->claimed += size;
    return 0;
}

/* Creates the directory of the file where it is missing. */
static int enter(struct pack_unpack *u, struct slice dir, struct err *err) {
    if (u->parent_fd >= 0 && slice_is(dir, u->parent))
        return 0;
    if (u->parent_fd >= 0)
        close(u->parent_fd);
    u->parent_fd = dup(u->root);
    for (struct slice rest = dir, part; rest.len && u->parent_fd >= 0;) {
        char name[NAME_MAX + 1];
        slice_cut(&rest, '/', &part);
        snprintf(name, sizeof(name), "%.*s", SLICE_FMT(part));
        if (mkdirat(u->parent_fd, name, 0755) < 0 && errno != EEXIST)
            return err_set(err, "make the directory `%s`: %s", name, strerror(errno));
        const int next = openat(u->parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(u->parent_fd);
        u->parent_fd = next;
    }
    if (u->parent_fd < 0)
        return err_set(err, "open the directory `%.*s`: %s", SLICE_FMT(dir), strerror(errno));
    snprintf(u->parent, sizeof(u->parent), "%.*s", SLICE_FMT(dir));
    return 0;
}

int pack_unpack_open(struct pack_unpack *u, struct slice path, struct err *err) {
    if (pack_unpack_check(path, err) < 0)
        return -1;
    if (u->files == PACK_FILES_MAX)
        return err_set(err, "it has more than %d files", PACK_FILES_MAX);
    const char *slash = memrchr(path.ptr, '/', path.len);
    const struct slice dir = slice_upto(path, slash ? (size_t)(slash - path.ptr) : 0);
    char name[NAME_MAX + 1];
    snprintf(name, sizeof(name), "%.*s", SLICE_FMT(slice_from(path, slash ? dir.len + 1 : 0)));
    if (enter(u, dir, err) < 0)
        return -1;
    u->fd = openat(u->parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    if (u->fd < 0)
        return err_set(err, errno == EEXIST ? "the file `%.*s` is there twice" : "write `%.*s`: %s",
                       SLICE_FMT(path), strerror(errno));
    u->files++;
    return 0;
}

int pack_unpack_put(struct pack_unpack *u, struct slice bytes, struct err *err) {
    if (bytes.len > u->claimed - u->bytes)
        return err_set(err, "a file is larger than the archive says");
    while (bytes.len) {
        const ssize_t n = write(u->fd, bytes.ptr, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, "write: %s", strerror(errno));
        u->bytes += (size_t)n;
        bytes = slice_from(bytes, (size_t)n);
    }
    return 0;
}

/* The umask has reduced its mode, and a sandbox of another user must be able to read it. */
int pack_unpack_close(struct pack_unpack *u, struct err *err) {
    const int fd = steal_fd(u->fd);
    const int done = fchmod(fd, 0444);
    if (close(fd) < 0 || done < 0)
        return err_set(err, "write: %s", strerror(errno));
    return 0;
}

void pack_unpack_end(struct pack_unpack *u) {
    if (u->fd >= 0)
        close(u->fd);
    if (u->parent_fd >= 0)
        close(u->parent_fd);
    u->fd = u->parent_fd = -1;
}
