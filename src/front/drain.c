#include "front/drain.h"

#include "base/log.h"
#include "decision/stop.h"
#include "era/listen.h"
#include "front/front.h"

static struct front_drain *drain_of(struct io_timer *timer) {
    return container_of(timer, struct front_drain, timer);
}

static void arm(struct front_drain *d, uint64_t ms, void (*fire)(struct io_timer *)) {
    io_timer_arm(d->front->loop, &d->timer, ms, fire);
}

/* ---- last answers ---- */

/* Gives answers that are being sent some time to leave. */
static void on_flush(struct io_timer *timer) {
    struct front_drain *d = drain_of(timer);
    if ((io_loop_sends(d->front->loop) || d->front->relay_count) && io_now_ms(d->front->loop) < d->until_ms)
        arm(d, IO_TIMER_TICK_MS, on_flush);
    else
        d->over(d->owner);
}

static void end_calls(struct front_drain *d) {
    if (d->ending)
        return;
    d->ending = true;
    if (d->core->calls_under_way)
        log_warn("drain.timeout has passed: %u call(s) are aborted", d->core->calls_under_way);
    stop_every_call(d->core, "the gate is shutting down; try again");
    front_http_end(d->front);
    d->until_ms = io_now_ms(d->front->loop) + FRONT_FLUSH_MS;
    arm(d, 0, on_flush);
}

/* Also waits for requests that other processes answer, which have their own time-outs, and for requests of
 * operators, because their changes may already be on disk. */
static bool is_busy(const struct front_drain *d) {
    return d->core->calls_under_way || d->front->relay_count || d->front->web_count;
}

static void on_check(struct io_timer *timer) {
    struct front_drain *d = drain_of(timer);
    if (is_busy(d) && io_now_ms(d->front->loop) < d->until_ms)
        arm(d, IO_TIMER_TICK_MS, on_check);
    else
        end_calls(d);
}

static void refuse(struct front_drain *d) {
    if (d->ending)
        return; /* the timer is used for the last answers now */
    log_info("stopping: %u call(s) in flight", d->core->calls_under_way);
    d->core->draining = true;
    front_http_drain(d->front);
    listen_finish_all(d->core);
    d->until_ms = io_now_ms(d->front->loop) + d->timeout_ms;
    arm(d, 0, on_check);
}

static void on_refuse(struct io_timer *timer) { refuse(drain_of(timer)); }

void front_drain_stop(struct front_drain *d) {
    d->started = true;
    d->front->not_ready = true;
    if (!d->not_ready_ms) {
        refuse(d);
        return;
    }
    log_info("reporting not ready; new connections are refused in %llu ms",
             (unsigned long long)d->not_ready_ms);
    arm(d, d->not_ready_ms, on_refuse);
}

/* ---- hand-over ---- */

static void on_leave(struct io_timer *timer) {
    struct front_drain *d = drain_of(timer);
    const struct front *f = d->front;
    if (!f->conn_count && !f->sessions.count && !d->core->calls_under_way)
        refuse(d);
    else if (io_now_ms(f->loop) >= d->until_ms)
        refuse(d);
    else
        arm(d, IO_TIMER_TICK_MS, on_leave);
}

void front_drain_leave(struct front_drain *d) {
    if (d->started)
        return;
    log_info(
        "another process takes over; %u connection(s), %zu session(s) and %u call(s) stay here for %llu ms",
        d->front->conn_count, d->front->sessions.count, d->core->calls_under_way,
        (unsigned long long)d->timeout_ms);
    d->started = true;
    d->front->not_ready = d->front->leaving = true;
    front_http_hush(d->front);
    d->until_ms = io_now_ms(d->front->loop) + d->timeout_ms;
    arm(d, 0, on_leave);
}

void front_drain_free(struct front_drain *d) {
    if (d->front)
        io_timer_stop(d->front->loop, &d->timer);
}
