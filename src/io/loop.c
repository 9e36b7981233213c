#include "io/loop.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

static void tick_start(struct io_loop *loop);
static void fire_soon(struct io_loop *loop);

/* Output is gathered: everything that the callbacks queued is sent in one write per connection, after
 * their log lines. */
static void flush_conns(struct io_loop *loop) {
    struct list *n;
    loop->unsent = 0;
    for (log_flush(); (n = list_pop(&loop->dirty)); log_flush())
        loop->flush(n);
}

static void on_rest(uv_timer_t *handle) {
    struct io_loop *loop = handle->data;
    if (!block_pool_rest(&loop->blocks))
        uv_timer_stop(handle);
}

static void on_count_due(uv_timer_t *handle) {
    (void)handle;
    log_write_count();
}

static void turn_end(struct io_loop *loop) {
    if (log_counts() && !uv_is_active((uv_handle_t *)&loop->count_timer))
        uv_timer_start(&loop->count_timer, on_count_due, LOG_COUNT_MS, 0);
    if (loop->blocks.big_used && !uv_is_active((uv_handle_t *)&loop->rest))
        uv_timer_start(&loop->rest, on_rest, IO_REST_MS, IO_REST_MS);
    flush_conns(loop);
}

void io_loop_pace(struct io_loop *loop, size_t enough) {
    if (loop->unsent >= enough)
        flush_conns(loop);
}

/* While this handle is active, polls do not block. */
static void on_no_wait(uv_idle_t *handle) {
    const struct io_loop *loop = handle->data;
    if (list_empty(&loop->gathering) && list_empty(&loop->soon))
        uv_idle_stop(handle);
}

/* While it is active the loop polls without blocking. The process that it waits for may need this
 * processor: the kernel's worker that completes a disk write does, and would otherwise not run before the
 * end of our time slice. */
static void on_awake(uv_idle_t *handle) {
    const struct io_loop *loop = handle->data;
    if (clock_mono_us() >= loop->awake_until_us)
        uv_idle_stop(handle);
    else
        sched_yield();
}

void io_loop_stay_awake(struct io_loop *loop, uint64_t us) {
    uint64_t until = clock_mono_us() + us;
    loop->awake_until_us = loop->awake_until_us < until ? until : loop->awake_until_us;
    uv_idle_start(&loop->awake, on_awake);
}

void io_loop_gather(struct io_loop *loop, struct io_task *task, void (*run)(struct io_task *)) {
    task->run = run;
    if (list_linked(&task->node))
        return;
    if (list_empty(&loop->gathering))
        loop->looks = 0;
    list_push(&loop->gathering, &task->node);
    uv_idle_start(&loop->no_wait, on_no_wait);
}

static void gathered(struct io_loop *loop) {
    if (list_empty(&loop->gathering))
        return;
    bool more = loop->looks == 0 || loop->arrivals != loop->seen;
    loop->seen = loop->arrivals;
    if (more && loop->looks++ < IO_GATHER_POLLS)
        return;
    struct list *n;
    while ((n = list_pop(&loop->gathering))) {
        struct io_task *task = container_of(n, struct io_task, node);
        task->run(task);
    }
}

static void on_before_poll(uv_prepare_t *handle) { turn_end(handle->data); }
static void on_after_poll(uv_check_t *handle) {
    turn_end(handle->data);
    gathered(handle->data);
    fire_soon(handle->data);
}

void io_loop_init(struct io_loop *loop) {
    memset(loop->workers, 0, sizeof(loop->workers));
    loop->stop_work = NULL;
    CHECK(uv_loop_init(&loop->uv) == 0);
    block_pool_init(&loop->blocks);
    list_init(&loop->dirty);
    list_init(&loop->conns);
    list_init(&loop->gathering);
    list_init(&loop->soon);
    loop->watch_quiet_ms = IO_WATCH_QUIET_MS;
    loop->watch_longest_ms = IO_WATCH_LONGEST_MS;
    signal(SIGPIPE, SIG_IGN); /* writing to a closed peer fails that write, not the process */
    for (int i = 0; i < IO_TIMER_SLOTS; i++)
        list_init(&loop->slots[i]);
    loop->unsent = 0;
    loop->arrivals = 0;
    loop->armed = 0;
    loop->wheel_ms = uv_now(&loop->uv);
    uv_prepare_init(&loop->uv, &loop->before_poll);
    uv_check_init(&loop->uv, &loop->after_poll);
    uv_idle_init(&loop->uv, &loop->no_wait);
    uv_timer_init(&loop->uv, &loop->tick);
    uv_idle_init(&loop->uv, &loop->awake);
    loop->awake_until_us = 0;
    uv_timer_init(&loop->uv, &loop->rest);
    uv_timer_init(&loop->uv, &loop->count_timer);
    loop->before_poll.data = loop->after_poll.data = loop->tick.data = loop;
    loop->awake.data = loop->rest.data = loop->no_wait.data = loop;
    uv_prepare_start(&loop->before_poll, on_before_poll);
    uv_check_start(&loop->after_poll, on_after_poll);
    uv_unref((uv_handle_t *)&loop->before_poll);
    uv_unref((uv_handle_t *)&loop->after_poll);
    uv_unref((uv_handle_t *)&loop->rest);
    uv_unref((uv_handle_t *)&loop->count_timer);
    uv_unref((uv_handle_t *)&loop->no_wait);
}

static void close_handle(uv_handle_t *handle, void *arg) {
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void io_loop_free(struct io_loop *loop) {
    if (loop->stop_work)
        loop->stop_work(loop);
    while (!list_empty(&loop->conns))
        loop->close(loop->conns.next);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT) != 0) /* once more after a stop that no run has seen yet */
        continue;
    CHECK(uv_loop_close(&loop->uv) == 0);
    block_pool_free(&loop->blocks);
}

void io_loop_run(struct io_loop *loop) {
    log_hold(true);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    log_hold(false);
}
void io_loop_stop(struct io_loop *loop) { uv_stop(&loop->uv); }

/* ---- timers: a wheel of slots, each a list. A timer further away than one turn stays in its slot. A
 * postponed timer is moved only when its slot comes, because most timers are postponed long before they
 * fire. ---- */

static struct list *slot_of(struct io_loop *loop, uint64_t ms) {
    return &loop->slots[ms / IO_TIMER_TICK_MS % IO_TIMER_SLOTS];
}

static void slot_take(struct io_loop *loop, struct io_timer *timer) {
    timer->slot_ms = timer->due_ms;
    list_push(slot_of(loop, timer->due_ms), &timer->node);
}

static void fire_all(struct io_loop *loop, struct list *due) {
    struct list *n;
    while ((n = list_pop(due))) {
        struct io_timer *timer = container_of(n, struct io_timer, node);
        timer->due_ms = 0;
        loop->armed--;
        timer->fire(timer);
    }
}

static void slot_fire(struct io_loop *loop, struct list *slot, uint64_t now) {
    struct list due;
    list_init(&due);
    LIST_FOR_SAFE (n, next, slot) {
        struct io_timer *timer = container_of(n, struct io_timer, node);
        if (timer->due_ms <= now) {
            timer->slot_ms = UINT64_MAX; /* in no slot: a callback that fires before it may postpone it */
            list_remove(n);
            list_push(&due, n);
        } else if (slot_of(loop, timer->due_ms) != slot) {
            list_remove(n);
            slot_take(loop, timer);
        }
    }
    fire_all(loop, &due);
}

static void fire_soon(struct io_loop *loop) {
    struct list due, *n;
    list_init(&due);
    while ((n = list_pop(&loop->soon)))
        list_push(&due, n);
    fire_all(loop, &due);
}

static void on_tick(uv_timer_t *handle) {
    struct io_loop *loop = handle->data;
    uint64_t now = uv_now(&loop->uv);
    uint64_t behind = (now - loop->wheel_ms) / IO_TIMER_TICK_MS;
    if (behind > IO_TIMER_SLOTS)
        loop->wheel_ms = now - (uint64_t)IO_TIMER_SLOTS * IO_TIMER_TICK_MS;
    while (loop->wheel_ms + IO_TIMER_TICK_MS <= now) {
        slot_fire(loop, slot_of(loop, loop->wheel_ms), now);
        loop->wheel_ms += IO_TIMER_TICK_MS;
    }
    if (loop->armed)
        tick_start(loop);
}

static void tick_start(struct io_loop *loop) {
    if (!uv_is_active((uv_handle_t *)&loop->tick))
        uv_timer_start(&loop->tick, on_tick, IO_TIMER_TICK_MS, 0);
}

void io_timer_arm(struct io_loop *loop, struct io_timer *timer, uint64_t after_ms,
                  void (*fire)(struct io_timer *)) {
    uint64_t now = uv_now(&loop->uv);
    bool armed = timer->due_ms != 0;
    if (!armed && loop->armed++ == 0)
        loop->wheel_ms = now;
    timer->due_ms = now + after_ms;
    if (timer->due_ms < loop->wheel_ms + IO_TIMER_TICK_MS)
        timer->due_ms = loop->wheel_ms + IO_TIMER_TICK_MS;
    timer->fire = fire;
    if (armed && timer->due_ms >= timer->slot_ms)
        return;
    if (armed)
        list_remove(&timer->node);
    slot_take(loop, timer);
    tick_start(loop);
}

void io_timer_soon(struct io_loop *loop, struct io_timer *timer, void (*fire)(struct io_timer *)) {
    io_timer_arm(loop, timer, 0, fire);
    list_remove(&timer->node);
    timer->slot_ms = UINT64_MAX;
    list_push(&loop->soon, &timer->node);
    uv_idle_start(&loop->no_wait, on_no_wait);
}

void io_timer_stop(struct io_loop *loop, struct io_timer *timer) {
    if (!timer->due_ms)
        return;
    list_remove(&timer->node);
    timer->due_ms = 0;
    if (--loop->armed == 0)
        uv_timer_stop(&loop->tick);
}

bool io_loop_sends(const struct io_loop *loop) {
    LIST_FOR (n, &loop->conns)
        if (loop->sends(n))
            return true;
    return false;
}
