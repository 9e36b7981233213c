#include "io/watch.h"

#include "base/mem.h"
#include "io/file.h"

#include <string.h>

/* A file that replaced the old one was complete before the rename. One that is written in place counts as
 * complete when it has not changed for a while; one that keeps changing is reported after a maximum time. */
static void settle(struct io_watch *w, const struct stat *now) {
    const uint64_t now_ms = io_now_ms(w->loop);
    if (!io_file_is_same(now, &w->known)) {
        const bool replaced = now->st_dev != w->known.st_dev || now->st_ino != w->known.st_ino;
        w->quiet_until_ms = now_ms + (replaced ? IO_WATCH_MS : w->loop->watch_quiet_ms);
        if (!w->settling)
            w->latest_ms = now_ms + w->loop->watch_longest_ms;
        w->settling = true;
        w->known = *now;
    }
    if (!w->settling || (now_ms < w->quiet_until_ms && now_ms < w->latest_ms))
        return;
    w->settling = false;
    w->changed(w);
}

static void check_file(struct io_timer *timer) {
    struct io_watch *w = container_of(timer, struct io_watch, timer);
    struct stat now;
    if (stat(w->path, &now) == 0) {
        w->missing = 0;
        settle(w, &now);
    } else if (w->missing < IO_WATCH_GONE && ++w->missing == IO_WATCH_GONE) {
        memset(&w->known, 0, sizeof(w->known));
        if (w->gone)
            w->gone(w);
    }
    io_timer_arm(w->loop, timer, IO_WATCH_MS, check_file);
}

void io_watch_times(struct io_loop *loop, uint64_t quiet_ms, uint64_t longest_ms) {
    if (quiet_ms)
        loop->watch_quiet_ms = quiet_ms;
    if (longest_ms)
        loop->watch_longest_ms = longest_ms;
}

void io_watch_start(struct io_watch *w, struct io_loop *loop, const char *path,
                    void (*changed)(struct io_watch *w)) {
    *w = (struct io_watch){.loop = loop, .path = path, .changed = changed};
    if (stat(path, &w->known) != 0)
        memset(&w->known, 0, sizeof(w->known));
    io_timer_arm(loop, &w->timer, IO_WATCH_MS, check_file);
}

void io_watch_seen(struct io_watch *w) {
    w->settling = false;
    if (stat(w->path, &w->known) != 0)
        memset(&w->known, 0, sizeof(w->known));
}

void io_watch_seen_as(struct io_watch *w, const struct stat *content) {
    w->settling = false;
    w->known = *content;
}

void io_watch_stop(struct io_watch *w) {
    if (w->loop)
        io_timer_stop(w->loop, &w->timer);
}
