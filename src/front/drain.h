/* How a gate over HTTP shuts down.
 *
 *   SIGTERM ─▶ not ready, but accepting ─▶ refusing ─▶ calls are answered with an error ─▶ over
 *                  drain.not_ready         drain.timeout, or until the last call is over
 *
 *   hand-over ─▶ leaving: another process takes new connections ─▶ refusing ─▶ …
 *                  drain.timeout, or until the last connection and session are gone
 */
#pragma once

#include "io/loop.h"

struct core;
struct front;

struct front_drain {
    struct front *front;
    struct core *core;
    uint64_t not_ready_ms;
    uint64_t timeout_ms;
    void (*over)(void *owner);
    void *owner;
    struct io_timer timer;
    uint64_t until_ms;
    bool started;
    bool ending; /* every call has been answered */
};

void front_drain_stop(struct front_drain *d);
void front_drain_leave(struct front_drain *d);
void front_drain_free(struct front_drain *d);
