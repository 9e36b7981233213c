/* One event loop with what hangs off it: the block pool, coarse timers and the connections that have
 * something to write. Everything mutable belongs to a loop, so several loops can stand side by side. */
#pragma once

#include "base/block.h"
#include "base/list.h"
#include "io/limits.h"

#include <uv.h>

struct io_timer {
    struct list node;
    uint64_t due_ms;  /* 0 when not armed */
    uint64_t slot_ms; /* what its slot was chosen for: never later than when it is due */
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
    struct list gathering; /* tasks that wait for company */
    struct list soon;      /* timers for the next turn */
    uv_idle_t no_wait;     /* runs while there are any of both */
    uint32_t looks;        /* for more, since the first of them came */
    uint32_t arrivals;     /* reads that brought something */
    uint32_t seen;         /* of them at the last look */
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uv_timer_t tick;
    uv_idle_t awake;
    uint64_t awake_until_us;
    uv_timer_t rest; /* while there are large blocks */
    uv_timer_t told; /* while the log counts */
    struct list slots[IO_TIMER_SLOTS];
    uint64_t wheel_ms; /* time up to which the wheel has been turned */
    uint32_t armed;
    uint64_t watch_quiet_ms; /* watch.h */
    uint64_t watch_longest_ms;
    struct io_worker *worker; /* work.h; NULL until there is work */
    void (*stop_work)(struct io_loop *loop);
};

void io_loop_init(struct io_loop *loop);
void io_loop_free(struct io_loop *loop); /* closes what is left and runs the loop dry */
void io_loop_run(struct io_loop *loop);
void io_loop_stop(struct io_loop *loop);
/* Is there a connection that ends and has not sent everything? */
bool io_loop_sends(const struct io_loop *loop);
static inline uint64_t io_now_ms(const struct io_loop *loop) { return uv_now(&loop->uv); }

/* Runs once, when a poll has found no more events, or after IO_GATHER_LOOKS: work that many requests share is
 * then done for all of them. */
void io_loop_gather(struct io_loop *loop, struct io_task *task, void (*run)(struct io_task *));
/* For a handler between two messages of one read: queued output of at least so many bytes is sent now, so
 * that the peer works while the gate does. Handlers of other connections may be called. */
void io_loop_pace(struct io_loop *loop, size_t enough);
static inline void io_task_init(struct io_task *task) { list_init(&task->node); }

/* For so long the loop polls instead of sleeping: a peer is expected to continue immediately, and waking up
 * would take longer. Other processes can use the processor meanwhile. */
void io_loop_stay_awake(struct io_loop *loop, uint64_t us);

/* Coarse: fires up to one tick late, never early. Arming an armed timer moves it. */
void io_timer_arm(struct io_loop *loop, struct io_timer *timer, uint64_t after_ms,
                  void (*fire)(struct io_timer *));
/* Not from here, but in the loop's next turn. */
void io_timer_soon(struct io_loop *loop, struct io_timer *timer, void (*fire)(struct io_timer *));
void io_timer_stop(struct io_loop *loop, struct io_timer *timer);
