#include "upstream/noise.h"

#include "base/mem.h"
#include "upstream/limits.h"

static void start_anew(struct up_noise *n) {
    if (n->missed_lines)
        n->report(n);
    n->lines = 0;
    n->bytes = n->missed_lines = n->missed_bytes = 0;
    n->is_running = false;
}

static void on_over(struct io_timer *timer) { start_anew(container_of(timer, struct up_noise, timer)); }

bool up_noise_take(struct up_noise *n, struct io_loop *loop, uint32_t most_lines, size_t bytes,
                   void (*report)(struct up_noise *n)) {
    n->report = report;
    if (!n->is_running)
        io_timer_arm(loop, &n->timer, UP_NOISE_MS, on_over);
    n->is_running = true;
    if (n->lines < most_lines && bytes <= UP_NOISE_BYTES - n->bytes) {
        n->lines++;
        n->bytes += bytes;
        return true;
    }
    n->missed_lines++;
    n->missed_bytes += bytes;
    return false;
}

void up_noise_end(struct up_noise *n, struct io_loop *loop) {
    io_timer_stop(loop, &n->timer);
    start_anew(n);
}
