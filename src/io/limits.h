/* Ceilings of the io room; docs/limits.md lists them. */
#pragma once

#define IO_WRITE_PIECES_MAX 64   /* pieces handed to one gathered write */
#define IO_QUEUE_HIGH (1u << 20) /* queued bytes at which a writer asks its source to pause */
#define IO_QUEUE_LOW (1u << 18)  /* and at which it may go on */
#define IO_PIPE_BYTES (1u << 20) /* what a pipe may hold once large messages pass through it */
#define IO_BURST_BYTES 2048      /* queued bytes that leave before the next of many messages is read */
#define IO_LARGE_BYTES 65536 /* queued bytes that leave before more is read: they are in the cache still */
#define IO_GATHER_LOOKS 16   /* turns of the loop for which a task waits for company */
#define IO_COPY_MAX 16384    /* pieces up to this size are copied together, larger ones are referenced */
#define IO_LINGER_MS 1000    /* how long a finished connection waits for its peer to close */
#define IO_REST_MS 1000      /* how long memory of large messages is kept for the next ones */
#define IO_TIMER_TICK_MS 50
#define IO_TIMER_SLOTS 1024
#define IO_BACKLOG 1024
#define IO_ADDRESSES_MAX 16             /* of one name that are looked at */
#define IO_ACCEPT_BURST 64              /* connections taken in one turn */
#define IO_ACCEPT_YIELD_MS 1            /* for which a connection is left to a worker that has fewer */
#define IO_ACCEPT_FULL_MS 100           /* without a descriptor to spare, before the next try */
#define IO_WATCH_MS 200                 /* between two looks at a watched file */
#define IO_WATCH_QUIET_MS 2000          /* a file that is written in place has to hold still */
#define IO_WATCH_LONGEST_MS 30000       /* and how long that is waited for */
#define IO_WATCH_GONE 5                 /* looks in vain after which a watched file is gone */
#define IO_WORK_MAX 1024                /* pieces of work that wait for the disk; then the loop waits */
#define SPAWN_REQUEST_MAX (128u * 1024) /* command line, environment and directory of one child */
#define SPAWN_TEXT_MAX 1024             /* strings in one command line or environment */
#define SPAWN_CHILDREN_MAX 4096
#define SPAWN_SUCCESSOR_MS 2000 /* for another process to take the place of a spawner that was killed */
#define SPAWN_ORPHAN_LOOKS 50   /* a millisecond apart, for what a killed spawner had started to end */
