/* One event loop with its block pool, coarse timers and the connections that have output. All mutable
 * state belongs to a loop, so a process can have several. */
#pragma once

#include "base/block.h"
#include "base/list.h"
#include "io/limits.h"

#include <uv.h>

struct io_timer {
    struct list node;
    uint64_t due_ms;  /* 0 when not armed */
    uint64_t slot_ms; /* time of its slot: never later than its due time */
    void (*fire)(struct io_timer *timer);
};

struct io_task {
    struct list node;
    void (*run)(struct io_task *task);
};

struct io_loop {
    uv_loop_t uv;
    struct block_pool blocks;
    struct list dirty;                 /* connections with unflushed output */
    void (*flush)(struct list *dirty); /* of a member of `dirty` */
    size_t unsent;                     /* bytes put on them since they were flushed last */
    size_t queued;                     /* bytes that all connections still have to send */
    struct list conns;                 /* all connections */
    void (*close)(struct list *all);   /* of a member of `conns` */
    bool (*sends)(const struct list *all);
    struct list gathering; /* tasks that wait for more of them */
    struct list soon;      /* timers for the next turn */
    uv_idle_t no_wait;     /* runs while one of the two lists is not empty */
    uint32_t looks;        /* since the first task was added */
    uint32_t arrivals;     /* reads that returned data */
    uint32_t seen;         /* the same at the last check */
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uv_timer_t tick;
    uv_idle_t awake;
    uint64_t awake_until_us;
    uv_timer_t rest;        /* runs while there are large blocks */
    uv_timer_t count_timer; /* runs while repeated log lines are counted */
    struct list slots[IO_TIMER_SLOTS];
    uint64_t wheel_ms; /* time up to which the wheel has been turned */
    uint32_t armed;
    uint64_t watch_quiet_ms; /* watch.h */
    uint64_t watch_longest_ms;
    struct io_worker *workers[IO_THREADS]; /* work.h; NULL until there is work */
    void (*stop_work)(struct io_loop *loop);
};

void io_loop_init(struct io_loop *loop);
void io_loop_free(struct io_loop *loop); /* closes all handles and runs the loop until they are closed */
void io_loop_run(struct io_loop *loop);
void io_loop_stop(struct io_loop *loop);
/* Is there a closing connection with unsent output? */
bool io_loop_sends(const struct io_loop *loop);
static inline uint64_t io_now_ms(const struct io_loop *loop) { return uv_now(&loop->uv); }

/* Runs the task once, when a poll has found no more events, or after IO_GATHER_POLLS polls. Work that many
 * requests share is then done once. */
void io_loop_gather(struct io_loop *loop, struct io_task *task, void (*run)(struct io_task *));
/* For a handler between two messages of one read: if at least so many bytes are queued, they are sent now,
 * so that the peer can start working. Handlers of other connections may be called. */
void io_loop_pace(struct io_loop *loop, size_t enough);
static inline void io_task_init(struct io_task *task) { list_init(&task->node); }

/* Polls without blocking for this long: a peer is expected to answer immediately, and waking up would take
 * longer. Other processes can use the processor meanwhile. */
void io_loop_stay_awake(struct io_loop *loop, uint64_t us);

/* Coarse: fires up to one tick late, never early. Arming an armed timer moves it. */
void io_timer_arm(struct io_loop *loop, struct io_timer *timer, uint64_t after_ms,
                  void (*fire)(struct io_timer *));
/* Runs the task in the loop's next turn, not in this call. */
void io_timer_soon(struct io_loop *loop, struct io_timer *timer, void (*fire)(struct io_timer *));
void io_timer_stop(struct io_loop *loop, struct io_timer *timer);
