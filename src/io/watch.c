#include "io/watch.h"

#include "base/mem.h"

#include <string.h>

static bool same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void look(struct io_timer *timer) {
    struct io_watch *w = container_of(timer, struct io_watch, timer);
    struct stat now;
    if (stat(w->path, &now) == 0) {
        w->missing = 0;
        if (!same(&now, &w->known)) {
            w->known = now;
            w->settling = true;
        } else if (w->settling) {
            w->settling = false;
            w->changed(w);
        }
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
