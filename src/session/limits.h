/* Ceilings of the session room; docs/limits.md lists them. */
#pragma once

#define SESSION_MAX 10000
#define SESSION_CALLS_MAX 4096        /* under way at once in one session */
#define SESSION_ASKS_MAX 1024         /* requests of servers that wait for the client's answer */
#define SESSION_INIT_MAX (256u << 10) /* bytes of the initialize params kept for a restart */
#define SESSION_VERSION_MAX 16
#define SESSION_NAME_MAX 40
#define SESSION_BACKOFF_MS 250 /* before a server that ended is started again; doubles */
#define SESSION_BACKOFF_MAX_MS 30000
#define SESSION_LEVEL_MAX 12 /* the name of a log level */
#define SESSION_LANES_MAX                                                                                    \
    8 /* links beside the first to one server of the older era, for clients of the newer */
#define SESSION_LANE_IDLE_MS 300000         /* an unused one is closed */
#define SESSION_ROUNDS_MAX 8                /* times that a server may answer a call with questions */
#define SESSION_BATCH_MAX 64                /* messages in one array of a client */
#define SESSION_BATCH_BYTES_MAX (64u << 20) /* of their answers together */
#define SESSION_BATCH_ERROR_MAX 2048        /* room beyond that for each one that has to be told so */
#define SESSION_QUESTIONS_MAX 16            /* in one such answer */
#define SESSION_PARKS_MAX 1024              /* calls whose clients are being asked by way of an answer */
#define SESSION_PARK_MS 600000              /* how long they have time for it, unless the settings say */
#define KEEP_KEYS_MAX 4                     /* keys in one file */
#define SESSION_TASKS_MAX 256               /* tasks of servers of the other era, a session */
#define SESSION_TASK_MS 3600000             /* one that nobody asked about for so long is forgotten */
#define SESSION_TASK_BYTES_MAX (64u << 20)  /* of results that are kept for a session's tasks */
#define SESSION_TASK_POLL_MS 1000 /* between two looks at a task whose server does not say how often */
#define SESSION_TASK_POLL_MIN_MS 50
#define SESSION_TASK_POLL_MAX_MS 30000
#define SESSION_GATHER_MS 20           /* questions that come together are asked together */
#define SESSION_STATE_MAX (256u << 10) /* bytes of what a client keeps for us meanwhile */
#define SESSION_URIS_MAX 256           /* resources that one client subscribes to */
#define SESSION_LISTEN_MS 1000         /* before a subscription that ended is made again */
#define SESSION_STEADY_MS 10000        /* a server that ran this long starts from the first delay again */
#define SESSION_FILE_LINKS_MAX 40      /* symbolic links on the way to one file, as the kernel has it */

#define CALL_IDLE_MS 600000 /* without a word from the server about this call */
#define CALL_TOTAL_MS 3600000
#define CALL_POOL_MAX 256
#define CALL_LOG_MS 5000 /* how long a call waits for room in the audit log */
#define CALL_TRIES_MAX 2
#define CALL_KEEP_BYTES (128u << 10) /* larger calls are not kept for a second try once they are sent */
#define CALL_REASON_MAX 512          /* bytes of a reason for cancelling that are passed on */
#define CALL_NAME_MAX 1024           /* bytes of a tool or prompt name */

#define APPROVE_LOOK_MS 100               /* between two looks at the store while a call waits for a person */
#define APPROVE_PROGRESS_MS 5000          /* between two progress notifications meanwhile */
#define APPROVE_SWEEP_MS 10000            /* between two looks for approvals whose time is over */
#define APPROVE_TEXT_MAX 2048             /* bytes of one text in the question that a client is asked */
#define APPROVE_QUESTION_MAX (64u << 10)  /* bytes of the whole question */
#define SESSION_PII_RULES_MAX 256         /* rules of each list in a PII rules file */
#define SESSION_PII_FILE_MAX (1u << 20)   /* bytes of that file */
#define SESSION_PII_KEEP_MS 2592000000ull /* how long a value behind a token is kept: 30 days */
#define SESSION_PII_SWEEP_MS 3600000      /* between two looks for values whose time is over */
#define SESSION_PII_WORDS_MAX 2048        /* bytes of the sentence that counts the finds of a call */
#define SESSION_ORIGIN_MAX (256u << 10)   /* bytes of a command line that stand for its server */
#define SESSION_VAULTS_MAX 10000          /* scopes alive at once */
#define SESSION_VAULT_PENDING_MAX (4u << 20) /* bytes of token names that wait for the store */

#define METRICS_CELLS_MAX 2000 /* combinations of server, method and tool that are counted by themselves */
#define METRICS_NAME_MAX 128   /* bytes of a name in one */

#define WEBHOOK_RETRY_MS 250 /* before a webhook is tried again; doubles */
#define WEBHOOK_RETRY_MAX_MS 60000
#define WEBHOOK_MS 10000      /* for the receiver's answer */
#define WEBHOOK_AT_ONCE_MAX 8 /* deliveries under way */
#define WEBHOOK_SECRET_MIN 16 /* characters of the secret that signs webhooks and callbacks */

#define GATHER_LIST_MS 15000          /* how long a list waits for the slowest server */
#define GATHER_PAGE_ITEMS 1000        /* elements of one page of a list; the rest follows by cursor */
#define GATHER_PAGE_BYTES (8u << 20)  /* the same in bytes */
#define GATHER_PART_BYTES (32u << 20) /* of what one server lists */
#define GATHER_PART_PAGES 200         /* pages of one server that are followed */
#define GATHER_INSTRUCTIONS_MAX 4096  /* bytes of one server's instructions that are passed on */
#define MANY_CLAIMS_MAX 100000        /* names without a prefix that are remembered */
#define MANY_TASKS_MAX 10000          /* tasks whose owner is remembered, the oldest go first */
#define MANY_TRIES_MAX 8              /* restarts of a server that nobody waits for */
#define MANY_SWEEP_MS 1000            /* how often idle and silent servers are looked for */
#define HEALTH_START_MS 300000        /* for a child to answer its greeting: it may first be downloaded */
#define HEALTH_HELLO_MS 60000         /* the same for a server over HTTP that nobody misses yet */
#define HEALTH_RETRY_MS 300000        /* before a server that was given up is tried again */
#define HEALTH_TELLS_MAX 6            /* doublings of the time before clients hear again that one is back */
#define TRACE_SPANS_MAX 4096          /* spans that wait for the collector; more are dropped */
#define TRACE_GROUP 512               /* sent together */
#define TRACE_SEND_MS 1000            /* and at the latest after so long */
#define TRACE_ANSWER_MS 10000         /* for the collector's answer */
#define TRACE_TEXT_MAX 128            /* bytes of one text of a span */
#define TRACE_BODY_MAX (4u << 20)     /* bytes of one group */
