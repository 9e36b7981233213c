#include "state/tracker.h"

#include "base/clock.h"
#include "base/mem.h"
#include "io/work.h"
#include "state/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

struct tracker {
    const struct tracker_ops *ops;
    void *ctx;
    pthread_t thread;
    bool started;
    struct db *db; /* the thread's */
    int wake[2];
    atomic_bool stop;
    _Atomic uint64_t generation;
    _Atomic uint64_t fresh_ms; /* when the newest copy was last confirmed, by the steady clock */
    pthread_mutex_t mutex;
    void *next;       /* under the mutex, as is the next */
    struct err fault; /* of the last look; no text: none */
};

static void publish(struct tracker *f, void *take_copy) {
    pthread_mutex_lock(&f->mutex);
    f->ops->drop(f->next);
    f->next = take_copy;
    pthread_mutex_unlock(&f->mutex);
    atomic_fetch_add(&f->generation, 1);
}

static void note_fault(struct tracker *f, const struct err *err) {
    pthread_mutex_lock(&f->mutex);
    f->fault = *err;
    pthread_mutex_unlock(&f->mutex);
}

static void *tracker_thread(void *arg) {
    struct tracker *f = arg;
    int64_t known = -1;
    pthread_setname_np(pthread_self(), "follow");
    while (!atomic_load(&f->stop)) {
        uint64_t asked_ms = clock_mono_ms();
        struct err err = {0};
        int64_t version = db_version(f->db, &err);
        void *copy = version >= 0 && version != known ? f->ops->load(f->db, &err) : NULL;
        note_fault(f, &err);
        if (copy) {
            known = version;
            publish(f, copy);
        }
        if (version >= 0 && version == known)
            atomic_store(&f->fresh_ms, asked_ms);
        if (f->ops->idle)
            f->ops->idle(f->ctx, f->db);
        db_wait(f->db, f->wake[0], STATE_FOLLOW_POLL_MS);
    }
    return NULL;
}

int tracker_start(const char *home, const char *file, const struct tracker_ops *ops, void *ctx,
                  struct tracker **ret_tracker, struct err *err) {
    struct tracker *f = mem_zalloc(sizeof(*f));
    f->ops = ops;
    f->ctx = ctx;
    pthread_mutex_init(&f->mutex, NULL);
    f->wake[0] = f->wake[1] = -1;
    atomic_store(&f->fresh_ms, clock_mono_ms());
    int rc = db_open(home, file, false, "", &f->db, err);
    if (rc == 0)
        rc = db_listen(f->db, err);
    if (rc == 0 && pipe2(f->wake, O_CLOEXEC | O_NONBLOCK) < 0)
        rc = err_set(err, "pipe: %s", strerror(errno));
    if (rc == 0)
        rc = io_thread_start(&f->thread, tracker_thread, f, err);
    f->started = rc == 0;
    if (rc < 0) {
        tracker_end(f);
        return -1;
    }
    *ret_tracker = f;
    return 0;
}

void tracker_end(struct tracker *f) {
    if (!f)
        return;
    if (f->started) {
        atomic_store(&f->stop, true);
        (void)!write(f->wake[1], "", 1);
        pthread_join(f->thread, NULL);
        if (f->ops->idle)
            f->ops->idle(f->ctx, f->db);
    }
    for (size_t i = 0; i < 2; i++)
        if (f->wake[i] >= 0)
            close(f->wake[i]);
    db_close(f->db);
    f->ops->drop(f->next);
    pthread_mutex_destroy(&f->mutex);
    free(f);
}

uint64_t tracker_generation(const struct tracker *f) { return atomic_load(&f->generation); }

void *tracker_take(struct tracker *f) {
    pthread_mutex_lock(&f->mutex);
    void *next = f->next;
    f->next = NULL;
    pthread_mutex_unlock(&f->mutex);
    return next;
}

bool tracker_is_fresh(struct tracker *f, struct err *err) {
    if (clock_mono_ms() - atomic_load(&f->fresh_ms) <= STATE_FOLLOW_FRESH_MS)
        return true;
    pthread_mutex_lock(&f->mutex);
    err_set(err, "%s", f->fault.text[0] ? f->fault.text : "PostgreSQL: no answer in time");
    pthread_mutex_unlock(&f->mutex);
    return false;
}
