#include "state/keyfile.h"

#include "base/mem.h"
#include "base/rand.h"
#include "state/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int read_or_make(int fd, const char *path, void *key, size_t len, struct err *err) {
    struct stat st;
    if (flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if ((st.st_mode & 077) != 0)
        return err_set(err, "%s: others may read it; it must be 0600", path);
    if (st.st_size == 0) {
        rand_bytes(key, len);
        return pwrite(fd, key, len, 0) == (ssize_t)len && fsync(fd) == 0
                   ? 0
                   : err_set(err, "%s: %s", path, strerror(errno));
    }
    return pread(fd, key, len, 0) == (ssize_t)len ? 0 : err_set(err, "%s: damaged", path);
}

int state_key_file(const char *path, void *key, size_t len, int *ret_fd, struct err *err) {
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = mem_dup(path, slash ? (size_t)(slash - path) : 0);
    if (slash > path && state_make_dir(dir, err) < 0)
        return -1;
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, "%s: %s", path, strerror(errno));
    if (read_or_make(fd, path, key, len, err) < 0)
        return -1;
    if (ret_fd) {
        *ret_fd = fd;
        fd = -1;
    }
    return 0;
}
