/* Ceilings of the ship room; docs/limits.md lists them. */
#pragma once

#define SHIP_BATCH_BYTES (4u << 20) /* of blocks, after which a batch is sent */
#define SHIP_BATCH_BLOCKS 512       /* blocks of one batch */
#define SHIP_BATCH_POINTS 512       /* signatures of one batch */
#define SHIP_TIMEOUT_MS 15000       /* a statement without an answer failed then */
#define SHIP_LAST_MS 5000           /* how long a gate that ends waits until its last records are shipped */
#define SHIP_LOCK_MS 50             /* between two tries to ship in place of a process that ends */
#define SHIP_PAUSE_MS 200           /* between two batches while records arrive */
#define SHIP_IDLE_MS 500            /* between two looks at a quiet log */
#define SHIP_BACKOFF_MS 250         /* after a failure; doubles */
#define SHIP_BACKOFF_MAX_MS 10000   /* until it is so long */
#define SHIP_NOTE_MS 1000           /* how exactly the home knows how far the log was shipped */
#define SHIP_CHORES_MS 3600000      /* between two looks for old days, and at the ends of other chains */
#define SHIP_DAYS_MAX 32            /* days that one look drops */
#define SHIP_WITNESS_MAX 24         /* ends of other chains that one look puts on record */
#define SHIP_BACKLOG_BYTES (8ull << 30) /* not shipped, after which calls are refused, unless configured */
#define SHIP_FORK_LOOK 4096             /* blocks that are searched for where a chain was left */
#define SHIP_PAGE_BLOCKS 4              /* blocks that one statement of a reader fetches */
#define SHIP_PAGE_POINTS 1024           /* signatures that one does */
#define SHIP_SILENT_MS 600000    /* without a message from a gate that did not stop, then it is missed */
#define SHIP_CHAINS_MAX 100000   /* chains of one fleet */
#define SHIP_WITNESSED_MAX 65536 /* statements about other chains that one verification checks */
