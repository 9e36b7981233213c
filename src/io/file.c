#include "io/file.h"

#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define READ_BYTES 65536

int io_file_read(const char *path, struct buf *out, bool *ret_missing, struct err *err) {
    bool input = strcmp(path, "-") == 0;
    cleanup_fd int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (ret_missing)
        *ret_missing = fd < 0 && errno == ENOENT;
    if (fd < 0)
        return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
    for (;;) {
        char *room = buf_reserve(out, READ_BYTES);
        if (!room)
            return err_set(err, "`%s` is larger than %zu bytes", path, out->max);
        ssize_t got = read(fd, room, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
        if (got == 0)
            return 0;
        out->len += (size_t)got;
    }
}

static int write_all(int fd, struct slice text) {
    while (text.len) {
        ssize_t put = write(fd, text.ptr, text.len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        text = slice_from(text, (size_t)put);
    }
    return 0;
}

int io_file_write(const char *path, struct slice text, struct err *err) {
    char token[9];
    rand_token(token, sizeof token - 1);
    cleanup_buf struct buf beside;
    buf_init(&beside, 8192);
    buf_printf(&beside, "%s.%s.tmp", path, token);
    buf_put_char(&beside, 0);
    if (beside.full)
        return err_set(err, "the path is too long");
    cleanup_fd int fd = open(beside.ptr, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(err, "cannot write beside `%s`: %s", path, strerror(errno));
    if (write_all(fd, text) || fsync(fd) || rename(beside.ptr, path)) {
        int fault = errno;
        unlink(beside.ptr);
        return err_set(err, "cannot write `%s`: %s", path, strerror(fault));
    }
    return 0;
}

int io_file_guard(const char *path) {
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int len = slash ? snprintf(dir, sizeof dir, "%.*s/", (int)(slash - path), path)
                    : snprintf(dir, sizeof dir, ".");
    int fd = len > 0 && (size_t)len < sizeof dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0 && flock(fd, LOCK_EX) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}
