/* Reports when a file's content changes: written in place, replaced by rename, or behind a symbolic link that
 * was swapped. It polls, which works with every editor and every kind of mount. What is written in place is
 * reported when it has not changed for IO_WATCH_QUIET_MS, or after IO_WATCH_LONGEST_MS, so that no half of a
 * file is read. A file that is missing for a moment is being replaced; a file that stays missing is reported
 * once, to watchers that ask for it. */
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
    unsigned missing; /* consecutive checks that found no file */
    bool settling;    /* it has changed; reported once it stops changing */
    uint64_t quiet_until_ms, latest_ms;
    struct io_timer timer;
};

/* Overrides the default times for all watches of a loop; 0 keeps the current value. */
void io_watch_times(struct io_loop *loop, uint64_t quiet_ms, uint64_t longest_ms);
void io_watch_start(struct io_watch *w, struct io_loop *loop, const char *path,
                    void (*changed)(struct io_watch *w));
/* Ignores the current content: this process wrote it. */
void io_watch_seen(struct io_watch *w);
/* The same for content that was written elsewhere, and looked like that then. */
void io_watch_seen_as(struct io_watch *w, const struct stat *content);
void io_watch_stop(struct io_watch *w);
