/* Ceilings of the channel room; docs/limits.md lists them. */
#pragma once

#define CHANNEL_BACKOFF_MS 250 /* before a server that ended is restarted; doubles */
#define CHANNEL_BACKOFF_MAX_MS 30000
#define CHANNEL_OTHERS_MAX                                                                                   \
    8 /* links beside the first to one server of the legacy era, for modern clients                          \
       */
#define CHANNEL_PROCESSES_MAX                                                                                \
    4000 /* processes of servers, of all clients, unless sessions.processes says otherwise */
#define CHANNEL_IDLE_MS 300000  /* an unused link is closed after this time */
#define CHANNEL_STEADY_MS 10000 /* a server that ran this long restarts with the first delay */
#define HEALTH_START_MS 300000  /* for a child to answer initialize: npx may first download it */
#define HEALTH_INIT_MS 60000    /* the same for an HTTP server that no client uses yet */
#define HEALTH_RETRY_MS 300000  /* before a server that was given up is retried */
#define HEALTH_NOTIFY_MAX 6  /* doublings of the interval between two notifications that a server is back */
#define SWEEP_MS 1000        /* how often idle and silent servers are checked */
#define CHANNEL_URIS_MAX 256 /* resources that one client subscribes to */
