#include "io/work.h"

#include "base/check.h"
#include "base/mem.h"

#include <signal.h>
#include <string.h>

struct io_worker {
    const char *name; /* of the thread */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;    /* wakes the thread: new work, or the end */
    pthread_cond_t changed; /* wakes the loop: a job has run */
    struct list queue;
    struct list ready; /* `done` must be called */
    size_t waiting;    /* queued or running */
    bool stop;
    uv_async_t notice;
};

static void *worker_thread(void *arg) {
    struct io_worker *w = arg;
    pthread_setname_np(pthread_self(), w->name);
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        struct list *n = list_pop(&w->queue);
        if (!n && w->stop)
            break;
        if (!n) {
            pthread_cond_wait(&w->wake, &w->mutex);
            continue;
        }
        struct io_work *work = container_of(n, struct io_work, node);
        pthread_mutex_unlock(&w->mutex);
        work->run(work);
        pthread_mutex_lock(&w->mutex);
        list_push(&w->ready, &work->node);
        w->waiting--;
        uv_async_send(&w->notice);
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Each callback may add more work. */
static bool call_done(struct io_worker *w) {
    for (bool some = false;; some = true) {
        pthread_mutex_lock(&w->mutex);
        struct list *n = list_pop(&w->ready);
        pthread_mutex_unlock(&w->mutex);
        if (!n)
            return some;
        struct io_work *work = container_of(n, struct io_work, node);
        work->done(work);
    }
}

static void on_notice(uv_async_t *notice) {
    struct io_worker *w = notice->data;
    call_done(w);
    pthread_mutex_lock(&w->mutex);
    if (w->waiting == 0)
        uv_unref((uv_handle_t *)notice);
    pthread_mutex_unlock(&w->mutex);
}

static void stop_work(struct io_loop *loop);

int io_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg, struct err *err) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* belongs to the thread that causes it */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int fault = pthread_create(ret_thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fault ? err_set(err, "start a thread: %s", strerror(fault)) : 0;
}

static struct io_worker *worker_of(struct io_loop *loop, enum io_thread thread) {
    static const char *const names[IO_THREADS] = {[IO_THREAD_CALLS] = "disk", [IO_THREAD_ADMIN] = "admin"};
    if (loop->workers[thread])
        return loop->workers[thread];
    struct io_worker *w = mem_zalloc(sizeof(*w));
    w->name = names[thread];
    list_init(&w->queue);
    list_init(&w->ready);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->changed, NULL);
    CHECK(uv_async_init(&loop->uv, &w->notice, on_notice) == 0);
    w->notice.data = w;
    uv_unref((uv_handle_t *)&w->notice);
    CHECK(io_thread_start(&w->thread, worker_thread, w, NULL) == 0);
    loop->workers[thread] = w;
    loop->stop_work = stop_work;
    return w;
}

void io_work_add(struct io_loop *loop, struct io_work *work) {
    struct io_worker *w = worker_of(loop, work->thread);
    pthread_mutex_lock(&w->mutex);
    while (w->waiting >= IO_WORK_MAX)
        pthread_cond_wait(&w->changed, &w->mutex);
    w->waiting++;
    uv_ref((uv_handle_t *)&w->notice); /* keeps the loop alive until it is done */
    list_push(&w->queue, &work->node);
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
}

static bool finish_thread(struct io_worker *w) {
    bool some = false;
    for (bool over = !w; !over;) {
        pthread_mutex_lock(&w->mutex);
        while (w->waiting > 0)
            pthread_cond_wait(&w->changed, &w->mutex);
        pthread_mutex_unlock(&w->mutex);
        some |= call_done(w);
        pthread_mutex_lock(&w->mutex);
        over = w->waiting == 0 && list_empty(&w->ready);
        pthread_mutex_unlock(&w->mutex);
    }
    return some;
}

/* What one thread has done may be more work for another. */
bool io_work_finish(struct io_loop *loop) {
    for (bool some = false;; some = true) {
        bool again = false;
        for (size_t i = 0; i < IO_THREADS; i++)
            again |= finish_thread(loop->workers[i]);
        if (!again)
            return some;
    }
}

static void on_closed(uv_handle_t *handle) {
    struct io_worker *w = handle->data;
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->changed);
    free(w);
}

static void stop_thread(struct io_worker *w) {
    pthread_mutex_lock(&w->mutex);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    uv_close((uv_handle_t *)&w->notice, on_closed);
}

/* Finishes, then ends the threads. */
static void stop_work(struct io_loop *loop) {
    io_work_finish(loop);
    for (size_t i = 0; i < IO_THREADS; i++)
        if (loop->workers[i])
            stop_thread(steal(loop->workers[i]));
}
