/* Work that blocks on a disk, on one thread beside the loop, in the order in which it was added. A database
 * connection that is only used there needs no lock.
 *
 *   loop ── io_work_add ──▶ queue ──▶ run (on the thread) ──▶ done (on the loop)
 */
#pragma once

#include "base/err.h"
#include "io/loop.h"

#include <pthread.h>

struct io_work {
    struct list node;
    void (*run)(struct io_work *work);  /* on the thread; touches only what is the work's own */
    void (*done)(struct io_work *work); /* on the loop; frees it */
};

/* When IO_WORK_MAX wait already, it waits for one of them. */
void io_work_add(struct io_loop *loop, struct io_work *work);
/* Waits until everything has run, and calls each `done`. Before what the work needs is closed. False: there
 * was nothing to do. */
bool io_work_finish(struct io_loop *loop);

/* A thread that gets no signals: those are the loop's business. */
int io_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg, struct err *err);
