#include "state/generation.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GENERATION_BYTES 4096

int state_generation_open(const char *home, const char *name, _Atomic uint64_t **ret_at, struct err *err) {
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/%s", home, name) < 0)
        return err_set(err, "out of memory");
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || ftruncate(fd, GENERATION_BYTES) < 0)
        return err_set(err, "`%s`: %s", path, strerror(errno));
    void *at = mmap(NULL, GENERATION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return err_set(err, "map `%s`: %s", path, strerror(errno));
    *ret_at = at;
    return 0;
}

void state_generation_close(_Atomic uint64_t *at) {
    if (at)
        munmap((void *)at, GENERATION_BYTES);
}
