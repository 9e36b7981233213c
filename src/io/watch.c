#include "io/watch.h"

#include "base/mem.h"

#include <string.h>

static bool same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file that replaced the old one was whole before it came there. One that is written where it stands is
 * taken to be whole when it has held still for a while; one that never does is told of all the same. */
static void settle(struct io_watch *w, const struct stat *now) {
    const uint64_t now_ms = io_now_ms(w->loop);
    if (!same(now, &w->known)) {
        const bool replaced = now->st_dev != w->known.st_dev || now->st_ino != w->known.st_ino;
        w->quiet_until_ms = now_ms + (replaced ? IO_WATCH_MS : IO_WATCH_QUIET_MS);
        if (!w->settling)
            w->latest_ms = now_ms + IO_WATCH_LONGEST_MS;
        w->settling = true;
        w->known = *now;
    }
    if (!w->settling || (now_ms < w->quiet_until_ms && now_ms < w->latest_ms))
        return;
    w->settling = false;
    w->changed(w);
}

static void look(struct io_timer *timer) {
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
    io_timer_arm(w->loop, timer, IO_WATCH_MS, look);
}

void io_watch_start(struct io_watch *w, struct io_loop *loop, const char *path,
                    void (*changed)(struct io_watch *w)) {
    *w = (struct io_watch){.loop = loop, .path = path, .changed = changed};
    if (stat(path, &w->known) != 0)
        memset(&w->known, 0, sizeof(w->known));
    io_timer_arm(loop, &w->timer, IO_WATCH_MS, look);
}

void io_watch_seen(struct io_watch *w) {
    w->settling = false;
    if (stat(w->path, &w->known) != 0)
        memset(&w->known, 0, sizeof(w->known));
}

void io_watch_stop(struct io_watch *w) {
    if (w->loop)
        io_timer_stop(w->loop, &w->timer);
}
