/* Ceilings of the era room; docs/limits.md lists them. */
#pragma once

#define INPUT_ROUNDS_MAX 8         /* how often a server may answer one call with questions */
#define INPUT_QUESTIONS_MAX 16     /* in one such answer */
#define PARK_MAX 1024              /* parked requests */
#define PARK_MS 600000             /* how long their clients may take to answer, unless set */
#define PARK_YIELD_MS 15000        /* then they give up their link to a call that waits for one */
#define PARK_YIELDED_MAX 1024      /* requests that did so and can still be repeated */
#define REQUEST_STATE_KEYS_MAX 4   /* keys in one file */
#define TASK_MAX 256               /* tasks of servers of the other era, a session */
#define TASK_MS 3600000            /* a task is dropped when no client asked about it for this long */
#define TASK_BYTES_MAX (64u << 20) /* bytes of results that are kept for a session's tasks */
#define TASK_POLL_MS 1000          /* between two polls of a task whose server names no interval */
#define TASK_POLL_MIN_MS 50
#define TASK_POLL_MAX_MS 30000
#define PARK_GATHER_MS 20              /* delay in which questions are collected */
#define REQUEST_STATE_MAX (256u << 10) /* bytes of state that a client keeps for the gate meanwhile */
#define LISTEN_MS 1000                 /* before a subscription that ended is renewed */
