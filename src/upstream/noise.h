/* What a server says besides its messages, on stderr or as lines that are none, is for the log. A server that
 * says it without end must not fill a disk: in each second only so many lines pass, and how many did not is
 * told when the second is over. */
#pragma once

#include "io/loop.h"

struct up_noise {
    struct io_timer timer;
    bool is_running; /* a second is under way */
    uint32_t lines;
    size_t bytes;
    uint64_t missed_lines, missed_bytes;
    void (*tell)(struct up_noise *n); /* of what was missed */
};

/* May a line of so many bytes be written? */
bool up_noise_take(struct up_noise *n, struct io_loop *loop, size_t bytes, void (*tell)(struct up_noise *n));
/* Tells what has not been told. */
void up_noise_end(struct up_noise *n, struct io_loop *loop);
