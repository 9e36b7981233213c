#include "io/file.h"

#include "base/mem.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 16384

int io_file_read(const char *path, struct buf *out, bool *ret_missing, struct err *err) {
    bool input = strcmp(path, "-") == 0;
    cleanup_fd int fd = input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (ret_missing)
        *ret_missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (fd < 0)
        return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
    for (;;) {
        char bytes[READ_BYTES];
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
        if (got == 0)
            return 0;
        if (!buf_put(out, bytes, (size_t)got))
            return err_set(err, "`%s` is larger than %zu bytes", path, out->max);
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

/* After a power failure the file is only found if its directory was synced too. */
static int sync_dir_of(const char *path) {
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = slash ? mem_dup(path, (size_t)(slash - path) + 1) : mem_dup(".", 1);
    cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || (fsync(fd) < 0 && errno != EINVAL) ? -1 : 0;
}

enum placing {
    PLACE_POST,    /* replaces, without waiting for the disk */
    PLACE_REPLACE, /* replaces */
    PLACE_CREATE,  /* fails if the file exists */
};

static int put_in_place(int dir, const char *from, const char *path, enum placing how) {
    if (how == PLACE_CREATE) {
        int rc = linkat(dir, from, dir, path, 0) == 0 || errno == EEXIST ? 0 : -1, why = errno;
        unlinkat(dir, from, 0);
        errno = why;
        return rc < 0 ? -1 : sync_dir_of(path);
    }
    return renameat(dir, from, dir, path) < 0 ? -1 : how == PLACE_POST ? 0 : sync_dir_of(path);
}

/* Writes `beside` with this mode and, when another user owns the old file, that owner; then renames it to
 * `path`. -1 with errno; no temporary file is left. */
static int write_place(int dir, const char *beside, const char *path, struct slice text, unsigned mode,
                       const struct stat *old, enum placing how) {
    cleanup_fd int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -1;
    const bool foreign = old && (old->st_uid != geteuid() || old->st_gid != getegid());
    if ((foreign && fchown(fd, old->st_uid, old->st_gid)) || (old && fchmod(fd, old->st_mode & 07777)) ||
        write_all(fd, text) || (how != PLACE_POST && fsync(fd)) || put_in_place(dir, beside, path, how)) {
        int fault = errno;
        unlinkat(dir, beside, 0);
        errno = fault;
        return -1;
    }
    return 0;
}

static int write_beside(const char *path, struct slice text, unsigned mode, const struct stat *old,
                        enum placing how, struct err *err) {
    char token[9];
    rand_token(token, sizeof token - 1);
    cleanup_buf struct buf beside;
    buf_init(&beside, 8192);
    buf_printf(&beside, "%s.%s.tmp", path, token);
    buf_put_char(&beside, 0);
    if (beside.full)
        return err_set(err, "the path is too long");
    if (write_place(AT_FDCWD, beside.ptr, path, text, mode, old, how) < 0)
        return err_set(err, "cannot write `%s`: %s", path, strerror(errno));
    return 0;
}

/* A terminal or a pipe must not be replaced by a regular file. */
static int write_into(const char *path, struct slice text, struct err *err) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write_all(fd, text))
        return err_set(err, "cannot write `%s`: %s", path, strerror(errno));
    return 0;
}

int io_file_write(const char *path, struct slice text, struct err *err) {
    struct stat at;
    if (stat(path, &at) == 0 && !S_ISREG(at.st_mode))
        return write_into(path, text, err);
    return write_beside(path, text, 0644, NULL, PLACE_REPLACE, err);
}

int io_file_replace(const char *path, struct slice text, unsigned mode, struct err *err) {
    struct stat old;
    return write_beside(path, text, mode, stat(path, &old) == 0 ? &old : NULL, PLACE_REPLACE, err);
}

int io_file_post(const char *path, struct slice text, unsigned mode, struct err *err) {
    return write_beside(path, text, mode, NULL, PLACE_POST, err);
}

int io_file_post_at(int dir, const char *name, const char *temp_prefix, struct slice text, unsigned mode) {
    char token[17], beside[NAME_MAX + 1];
    rand_token(token, sizeof token - 1);
    if ((size_t)snprintf(beside, sizeof beside, "%s%s", temp_prefix, token) >= sizeof beside) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return write_place(dir, beside, name, text, mode, NULL, PLACE_POST);
}

int io_file_create(const char *path, struct slice text, unsigned mode, struct err *err) {
    return write_beside(path, text, mode, NULL, PLACE_CREATE, err);
}

bool io_file_is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int io_make_dir(const char *dir, struct err *err) {
    cleanup_free char *path = mem_dup(dir, strlen(dir));
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return err_set(err, "make `%s`: %s", path, strerror(errno));
        *at = end;
        struct stat st;
        if (end == '\0')
            return stat(path, &st) == 0 && !S_ISDIR(st.st_mode)
                       ? err_set(err, "`%s` is a file, where a directory is needed", path)
                       : 0;
    }
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
