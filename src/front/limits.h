/* Ceilings of the front room; docs/limits.md lists them. */
#pragma once

#define FRONT_CONNS_MAX 4096
#define FRONT_IDLE_MS 75000    /* a connection without a request */
#define FRONT_REQUEST_MS 60000 /* from the first byte of a request to its last */
#define FRONT_KEEPALIVE_MS                                                                                   \
    15000                        /* interval of keep-alive messages on an open stream or a waiting response  \
                                  */
#define FRONT_PIPELINE_MAX 65536 /* bytes of further requests that are read while one is answered */
#define FRONT_SESSION_IDLE_MS 1800000
#define FRONT_REFRESH_MS                                                                                     \
    600000 /* how long a session waits for the next token of its subject after one has expired */
#define FRONT_STREAM_EVENTS_MAX 256 /* events kept for resumption, per stream */
#define FRONT_STREAM_BYTES_MAX (1u << 20)
#define FRONT_STREAMS_MAX 256       /* finished streams that a session keeps */
#define FRONT_STREAM_KEEP_MS 300000 /* how long a finished stream can be resumed */
#define FRONT_QUEUE_MAX (72u << 20) /* unsent bytes at which a slow reader is disconnected */
#define FRONT_UNSENT_MAX                                                                                     \
    (256u << 20)     /* unsent bytes of all slow readers together, unless sessions.unsent_mb is set */
#define FRONT_TAG 16 /* hex digits of a process' tag */
#define FRONT_SESSION_ID (FRONT_TAG + 22) /* the process' tag, and 132 random bits */
#define FRONT_PEER_YOUNG_S 60             /* a socket without a listener is removed only when it is older */
#define FRONT_NODE_ID 3                   /* bytes of a tag that identify the gate in a fleet */
#define FRONT_NODES_MAX 1024              /* gates of a fleet */
#define FRONT_NODE_IDLE_MAX 32            /* idle connections to one of them */
#define FRONT_NODE_IDLE_MS                                                                                   \
    30000 /* how long they stay idle; less than FRONT_IDLE_MS, after which the other side closes them */
#define FRONT_NODE_CONNECT_MS 5000 /* to connect and to authenticate, on both sides */
#define FRONT_NODE_LOST_MS 9000    /* without any data, after which a gate counts as unreachable */
#define FRONT_NODE_LOG_MS 10000    /* between two log lines about refused connections */
#define FRONT_FANOUT_MS 2000       /* for the other processes of the gate to respond */
#define FRONT_FANOUT_BYTES_MAX (64u << 20)
#define FRONT_CERT_MAX 8192       /* bytes of a client's certificate in a forwarded request */
#define FRONT_PROXY_HEAD_MAX 4096 /* bytes of a PROXY protocol header with its extensions */
#define FRONT_ENV_NAMES_MAX 1024  /* bytes of the log line with the variables that a server does not get */
#define FRONT_TOKEN_MAX 512
#define FRONT_TOKEN_MIN 16
#define FRONT_AUTH_CHECK_MS 500    /* interval of checks for revoked and expired grants */
#define FRONT_COOKIE_FRESH_MS 1000 /* how old the store's answer for a console session may be */
#define FRONT_COOKIE_TRIES_MAX 4   /* further queries when a user signs out meanwhile; then 503 */
#define FRONT_COOKIES_MAX 256      /* console sessions whose answer is cached */
#define FRONT_COOKIES_ASKED_MAX 64 /* concurrent queries for unknown ones */
#define FRONT_BODY_SMALL                                                                                     \
    (64u << 10) /* larger bodies count against the next ceiling while they are received */
#define FRONT_BODY_BYTES_MAX (512u << 20)
#define FRONT_STRANGER_CONNS_MAX 128         /* unauthenticated connections from one network */
#define FRONT_STRANGER_BODY_MAX (1u << 20)   /* a body from an unauthenticated client */
#define FRONT_STRANGER_SHARE_MAX (8u << 20)  /* bytes of such bodies from one network */
#define FRONT_STRANGER_BYTES_MAX (64u << 20) /* bytes of such bodies from all networks */
#define FRONT_DRAIN_MS 10000   /* for calls in flight at shutdown, unless drain.timeout is set */
#define FRONT_FLUSH_MS 1000    /* for their last responses to be sent */
#define FRONT_CHILDREN_MS 5000 /* at shutdown: for children to react to end of input, TERM and KILL */
#define FRONT_EOF_CHECK_MS 100
#define FRONT_EOF_MS 30000 /* after end of input on stdio: for answers in flight */

#define GATE_WORKERS_MAX 64
#define GATE_OLD_MAX 256            /* workers of earlier programs that have not exited yet */
#define GATE_TICK_MS 20             /* interval of the supervisor's checks */
#define GATE_RESTART_MS 100         /* delay before a worker that crashed early is restarted; doubles */
#define GATE_RESTART_MAX_MS 5000    /* maximum of that delay */
#define GATE_RESTART_FORGET_MS 5000 /* a worker that ran this long is restarted immediately */
#define GATE_KILL_MS 15000 /* at shutdown: after drain, before a worker that has not ended is killed */
#define GATE_TRIAL_S 30    /* for a new program to read the settings, before a hand-over */
#define GATE_WORDS_MAX 256 /* bytes of the command line that a hand-over passes on */
#define GATE_WORDS_BYTES_MAX (128u << 10)

#define SETTINGS_FILE_MAX (4u << 20)
#define SETTINGS_SERVERS_MAX 256
#define SETTINGS_WORDS_MAX 256   /* arguments, variables or headers of one server */
#define SETTINGS_VALUE_MAX 65536 /* bytes of one of them */
#define SETTINGS_NAME_MAX 64     /* of a server's name, in characters */
#define SETTINGS_PREFIX_MAX 32   /* characters of the prefix of its tools */
#define SETTINGS_IDLE_MS 900000  /* idle time after which a server is stopped, unless configured */
#define SETTINGS_HEALTH_MS 30000 /* silence before a health check */
#define SETTINGS_HEALTH_TIMEOUT_MS 15000
#define SETTINGS_APPROVAL_MS 1800000
#define SETTINGS_MB_MAX 1048576    /* a size in megabytes */
#define SETTINGS_DISCOVERY_KEEP 10 /* most used tools in a hybrid list */
#define SETTINGS_DISCOVERY_KEEP_MAX 100
#define FRONT_EOF_MS 30000          /* after end of input on stdio: for answers in flight */
#define FRONT_JWT_SKEW_MS 60000     /* maximum clock difference, unless configured */
#define FRONT_KEYS_FRESH_MS 600000  /* interval at which an issuer's keys are refreshed */
#define FRONT_KEYS_STALE_MS 3600000 /* keys that could not be refreshed for this long are dropped */
#define FRONT_KEYS_RETRY_MS 15000   /* delay after a failed fetch */
#define FRONT_KEYS_ASKS 4           /* burst of fetches caused by tokens with unknown keys */
#define FRONT_KEYS_ASK_MS 15000     /* how long it takes until one more is allowed */
#define FRONT_FACTS_MAX 1024        /* facts from the claims of one token; with more, calls are denied */
#define FRONT_ID_MAX 240            /* bytes of an identity's name; longer names are replaced by a hash */
#define FRONT_FACT_MAX 4096         /* bytes of one fact; with a longer one, calls are denied */
