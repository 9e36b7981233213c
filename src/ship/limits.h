/* Ceilings of the ship room; docs/limits.md lists them. */
#pragma once

#define SHIP_BATCH_BYTES (4u << 20) /* bytes of blocks in one batch */
#define SHIP_BATCH_BLOCKS 512       /* blocks of one batch */
#define SHIP_BATCH_POINTS 512       /* signatures of one batch */
#define SHIP_TIMEOUT_MS 15000       /* time-out of a statement */
#define SHIP_LAST_MS 5000           /* how long a stopping gate waits until its last records are shipped */
#define SHIP_LOCK_MS 50             /* interval of attempts to take over from a process that ends */
#define SHIP_PAUSE_MS 200           /* between two batches while records arrive */
#define SHIP_IDLE_MS 500            /* interval of checks while no records arrive */
#define SHIP_BACKOFF_MS 250         /* back-off after a failure; doubles */
#define SHIP_BACKOFF_MAX_MS 10000   /* maximum of that back-off */
#define SHIP_NOTE_MS 1000           /* how often the home notes how far the log was shipped */
#define SHIP_CHORES_MS 3600000      /* interval of checks for old days, and of other chains' ends */
#define SHIP_DAYS_MAX 32            /* days that one check drops */
#define SHIP_WITNESS_MAX 24         /* ends of other chains that one check records */
#define SHIP_BACKLOG_BYTES                                                                                   \
    (8ull << 30)            /* bytes that may wait for shipping before calls are refused, unless configured */
#define SHIP_FORK_LOOK 4096 /* blocks that are searched for the last one that a chain has */
#define SHIP_PAGE_BLOCKS 4  /* blocks that one statement of a reader fetches */
#define SHIP_PAGE_POINTS 1024 /* signatures that one statement fetches */
#define SHIP_SILENT_MS                                                                                       \
    600000 /* after this time without a message, a gate that did not stop is reported as missing */
#define SHIP_CHAINS_MAX 100000   /* chains of one fleet */
#define SHIP_WITNESSED_MAX 65536 /* statements about other chains that one verification checks */
