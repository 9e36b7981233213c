#include "front/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define READ_BYTES 16384

int front_read_file(const char *path, size_t max, struct buf *out, struct err *err) {
    buf_init(out, max);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, "read `%s`: %s", path, strerror(errno));
    for (;;) {
        char bytes[READ_BYTES];
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, "read `%s`: %s", path, strerror(errno));
        if (got == 0)
            return 0;
        if (!buf_put(out, bytes, (size_t)got))
            return err_set(err, "read `%s`: larger than %zu bytes", path, max);
    }
}
