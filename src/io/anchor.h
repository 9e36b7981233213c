/* Is the file at a path still the one that this process has open? A file that was deleted, replaced or cut
 * short can still be written to, but nobody finds what is written. */
#pragma once

#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct io_anchor {
    char *path; /* NULL: not set */
    dev_t dev;
    ino_t ino;
    _Atomic off_t least; /* the file must not be smaller: the largest size that was seen, up to `kept` */
    off_t kept;
};

#define IO_ANCHOR_GROWS INT64_MAX /* as `kept`: the file is never cut short */

/* Remembers the file that is at the path now. `kept`: it is cut short to this size at most; 0: to any. A
 * missing file is not checked. */
void io_anchor_set(struct io_anchor *a, const char *path, off_t kept);
/* 0, or -1 with what has happened to the file. */
int io_anchor_check(struct io_anchor *a, struct err *err);
void io_anchor_free(struct io_anchor *a);
