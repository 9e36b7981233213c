#include "io/anchor.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static off_t at_least(const struct io_anchor *a, const struct stat *st) {
    return st->st_size < a->kept ? st->st_size : a->kept;
}

void io_anchor_set(struct io_anchor *a, const char *path, off_t kept) {
    struct stat st;
    io_anchor_free(a);
    if (stat(path, &st) < 0)
        return;
    *a = (struct io_anchor){
        .path = mem_dup(path, strlen(path)), .dev = st.st_dev, .ino = st.st_ino, .kept = kept};
    a->least = at_least(a, &st);
}

int io_anchor_check(struct io_anchor *a, struct err *err) {
    struct stat st;
    if (!a->path)
        return 0;
    const off_t least = a->least; /* before stat(): another thread may see the file grow */
    if (stat(a->path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? err_set(err, "`%s` was deleted while it was in use", a->path)
                   : err_set(err, "`%s`: %s", a->path, strerror(errno));
    if (st.st_dev != a->dev || st.st_ino != a->ino)
        return err_set(err, "`%s` was replaced while it was in use", a->path);
    if (st.st_size < least)
        return err_set(err, "`%s` was cut short while it was in use", a->path);
    a->least = at_least(a, &st);
    return 0;
}

void io_anchor_free(struct io_anchor *a) {
    free(a->path);
    *a = (struct io_anchor){0};
}
