/* Output of a server besides its messages, on stderr or as lines that are not messages, is logged. A server
 * with endless output must not fill a disk: only so many lines per second are logged, and the number of
 * dropped lines is logged when the second is over. */
#pragma once

#include "io/loop.h"

struct up_noise {
    struct io_timer timer;
    bool is_running; /* a second is under way */
    uint32_t lines;
    size_t bytes;
    uint64_t missed_lines, missed_bytes;
    void (*report)(struct up_noise *n); /* for the dropped lines */
};

/* May a line of this length be logged? */
bool up_noise_take(struct up_noise *n, struct io_loop *loop, uint32_t most_lines, size_t bytes,
                   void (*report)(struct up_noise *n));
/* Logs the number of lines dropped so far. */
void up_noise_end(struct up_noise *n, struct io_loop *loop);
