#include "crypto/keyfile.h"

#include "base/mem.h"
#include "base/rand.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int keyfile_check(const struct stat *st, const char *path, struct err *err) {
    if (!S_ISREG(st->st_mode))
        return err_set(err, "`%s` is not a regular file, as a key file must be", path);
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return err_set(err, "`%s` belongs to user %u; a key file must belong to user %u or to root", path,
                       (unsigned)st->st_uid, (unsigned)geteuid());
    if (st->st_mode & 077)
        return err_set(err, "`%s` has mode %04o, so others may read or write the key; run chmod 600 on it",
                       path, (unsigned)st->st_mode & 07777);
    return 0;
}

int crypto_keyfile_read(const char *path, struct buf *ret_bytes, struct stat *ret_stat, bool *ret_missing,
                        struct err *err) {
    struct stat st;
    buf_init(ret_bytes, CRYPTO_KEYFILE_BYTES_MAX + 1);
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *ret_missing = fd < 0 && errno == ENOENT;
    if (fd < 0 && errno == ELOOP)
        return err_set(err, "`%s` is a symbolic link, which a key file must not be", path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, "cannot read `%s`: %s", path, strerror(errno));
    if (keyfile_check(&st, path, err) < 0)
        return -1;
    char *room = buf_reserve(
        ret_bytes, CRYPTO_KEYFILE_BYTES_MAX +
                       1); /* reserved in one piece: growing would leave copies of the key in memory */
    ssize_t got = read(fd, room, CRYPTO_KEYFILE_BYTES_MAX + 1);
    if (got < 0 || got > CRYPTO_KEYFILE_BYTES_MAX)
        return err_set(err, "cannot read `%s`: %s", path, strerror(got < 0 ? errno : EFBIG));
    ret_bytes->len = (size_t)got;
    if (ret_stat)
        *ret_stat = st;
    return 0;
}

int crypto_keyfile_create(const char *path, struct slice bytes, struct err *err) {
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir = mem_dup(path, slash ? (size_t)(slash - path) : 0);
    if (*dir && io_make_dir(dir, err) < 0)
        return -1;
    return io_file_create(path, bytes, 0600, err);
}

int crypto_keyfile_load(const char *path, void *ret_key, size_t len, struct err *err) {
    bool missing;
    cleanup_wipe struct buf bytes;
    int rc = crypto_keyfile_read(path, &bytes, NULL, &missing, err);
    if (rc < 0 && missing) {
        rand_bytes(ret_key, len);
        rc = crypto_keyfile_create(path, slice_of(ret_key, len), err);
        if (rc == 0) /* reads the file again: another process may have created it first */
            rc = crypto_keyfile_read(path, &bytes, NULL, &missing, err);
    }
    if (rc < 0)
        return -1;
    if (bytes.len != len)
        return err_set(err, "`%s` is damaged: it has %zu bytes, but this key has %zu", path, bytes.len, len);
    memcpy(ret_key, bytes.ptr, len);
    return 0;
}

void crypto_wipe(struct buf *b) {
    if (b->ptr)
        explicit_bzero(b->ptr, b->cap);
    buf_free(b);
}
