/* Ceilings of the io room; docs/limits.md lists them. */
#pragma once

#define IO_WRITE_PIECES_MAX 64   /* pieces handed to one gathered write */
#define IO_QUEUE_HIGH (1u << 20) /* queued bytes at which a source is paused */
#define IO_QUEUE_LOW (1u << 18)  /* queued bytes at which it is resumed */
#define IO_PIPE_BYTES (1u << 20) /* capacity of a pipe once large messages pass through it */
#define IO_BURST_BYTES 2048      /* queued bytes that are sent before the next of many messages is read */
#define IO_LARGE_BYTES 65536     /* queued bytes that are sent before the next read: they are still cached */
#define IO_GATHER_POLLS 16       /* polls for which a gathered task is delayed */
#define IO_AWAIT_BYTES 65536     /* when as much of a message came at once, as much is awaited */
#define IO_COPY_MAX 16384        /* smaller pieces are copied together, larger ones are referenced */
#define IO_LINGER_MS 1000        /* how long a finished connection waits for its peer to close */
#define IO_REST_MS 1000          /* how long memory of large messages is kept for the next ones */
#define IO_TIMER_TICK_MS 50
#define IO_TIMER_SLOTS 1024
#define IO_BACKLOG 1024
#define IO_ADDRESSES_MAX 16             /* addresses of one host name that are tried */
#define IO_ACCEPT_BURST 64              /* connections accepted in one turn */
#define IO_ACCEPT_YIELD_MS 1            /* for which a connection is left to a less busy worker */
#define IO_ACCEPT_FULL_MS 100           /* before the next accept after running out of descriptors */
#define IO_WATCH_MS 200                 /* between two checks of a watched file */
#define IO_WATCH_QUIET_MS 2000          /* a file that is written in place must not change for this long */
#define IO_WATCH_LONGEST_MS 30000       /* the longest wait for that */
#define IO_WATCH_GONE 5                 /* failed checks after which a watched file counts as deleted */
#define IO_THREADS 2                    /* for work that blocks: that of calls, that of operators */
#define IO_WORK_MAX 1024                /* jobs that wait for a thread; beyond that the loop blocks */
#define SPAWN_REQUEST_MAX (128u * 1024) /* command line, environment and directory of one child */
#define SPAWN_TEXT_MAX 1024             /* strings in one command line or environment */
#define SPAWN_CHILDREN_MAX 4096
#define SPAWN_SUCCESSOR_MS 2000 /* how long a gate waits for the successor of a killed spawner */
#define SPAWN_WATCH_MS 1000     /* between two checks that the spawner answers */
#define SPAWN_UNANSWERED_MAX 5  /* checks in a row without an answer after which it is killed and replaced */
#define SPAWN_EXEC_MS 3000    /* for a child to reach its program: the spawner must answer checks meanwhile */
#define SPAWN_STOP_MS 4000    /* at shutdown: for the spawner to end its children, before it is killed */
#define SPAWN_ORPHAN_TRIES 50 /* attempts, a millisecond apart, to end what a killed spawner had started */
