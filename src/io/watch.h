/* Tells when a file has another content: written in place, replaced by rename, or behind a symbolic link that
 * was swapped. By looking at it now and then, which no editor and no mount can fool. What is written in place
 * is told of when it has held still for IO_WATCH_QUIET_MS, so that no half of a file is read. A file that is
 * missing for a moment is being replaced; a file that stays missing is reported once, to watchers that ask
 * for it. */
#pragma once

#include "io/loop.h"

#include <sys/stat.h>

struct io_watch {
    struct io_loop *loop;
    const char *path;
    void *owner; /* the caller's own */
    void (*changed)(struct io_watch *w);
    void (*gone)(struct io_watch *w); /* may be set after the start */
    struct stat known;
    unsigned missing; /* looks in a row that found no file */
    bool settling;    /* it has changed; told as soon as it holds still */
    uint64_t quiet_until_ms, latest_ms;
    struct io_timer timer;
};

void io_watch_start(struct io_watch *w, struct io_loop *loop, const char *path,
                    void (*changed)(struct io_watch *w));
/* The file as it is now is known already: we have written it ourselves. */
void io_watch_seen(struct io_watch *w);
void io_watch_stop(struct io_watch *w);
