/* Ceilings of the era room; docs/limits.md lists them. */
#pragma once

#define INPUT_ROUNDS_MAX 8         /* times that a server may answer a call with questions */
#define INPUT_QUESTIONS_MAX 16     /* in one such answer */
#define PARK_MAX 1024              /* calls whose clients are being asked by way of an answer */
#define PARK_MS 600000             /* how long they have time for it, unless the settings say */
#define REQUEST_STATE_KEYS_MAX 4   /* keys in one file */
#define TASK_MAX 256               /* tasks of servers of the other era, a session */
#define TASK_MS 3600000            /* one that no client asked about for so long is dropped */
#define TASK_BYTES_MAX (64u << 20) /* of results that are kept for a session's tasks */
#define TASK_POLL_MS 1000          /* between two polls of a task whose server names no interval */
#define TASK_POLL_MIN_MS 50
#define TASK_POLL_MAX_MS 30000
#define PARK_GATHER_MS 20              /* questions that come together are asked together */
#define REQUEST_STATE_MAX (256u << 10) /* bytes of what a client keeps for us meanwhile */
#define LISTEN_MS 1000                 /* before a subscription that ended is made again */
