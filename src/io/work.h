/* Jobs that block on a disk or a database. They run on threads beside the loop, on each in the order in which
 * they were added. A database connection that is only used on one thread needs no lock.
 *
 *   loop ── io_work_add ──▶ queue ──▶ run (on the thread) ──▶ done (on the loop)
 */
#pragma once

#include "base/err.h"
#include "io/loop.h"

#include <pthread.h>

/* Work for calls never waits for work of operators. */
enum io_thread { IO_THREAD_CALLS, IO_THREAD_ADMIN };

struct io_work {
    struct list node;
    enum io_thread thread;
    void (*run)(struct io_work *work);  /* on the thread; may use only its own data */
    void (*done)(struct io_work *work); /* on the loop; frees the job */
};

/* Blocks while IO_WORK_MAX jobs are queued for this thread. */
void io_work_add(struct io_loop *loop, struct io_work *work);
/* Waits until all jobs have run on every thread, and calls each `done`. Call it before closing anything that
 * the jobs use. False: there was no job. */
bool io_work_finish(struct io_loop *loop);

/* Starts a thread that gets no signals: the loop handles those. */
int io_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg, struct err *err);
