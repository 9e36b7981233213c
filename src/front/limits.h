/* Ceilings of the front room; docs/limits.md lists them. */
#pragma once

#define FRONT_CONNS_MAX 4096
#define FRONT_IDLE_MS 75000      /* a connection without a request */
#define FRONT_REQUEST_MS 60000   /* from the first byte of a request to its last */
#define FRONT_KEEPALIVE_MS 15000 /* an open stream or a waiting answer sends a keep-alive this often */
#define FRONT_PIPELINE_MAX 65536 /* bytes of further requests read while one is being answered */
#define FRONT_SESSION_IDLE_MS 1800000
#define FRONT_REFRESH_MS                                                                                     \
    600000 /* a session waits so long for the next token of its subject when one has expired */
#define FRONT_STREAM_EVENTS_MAX 256 /* kept for resumption, a stream */
#define FRONT_STREAM_BYTES_MAX (1u << 20)
#define FRONT_STREAMS_MAX 256       /* streams a session remembers */
#define FRONT_STREAM_KEEP_MS 300000 /* how long a finished stream can be resumed */
#define FRONT_QUEUE_MAX (72u << 20) /* unsent bytes at which a slow reader is dropped */
#define FRONT_UNSENT_MAX                                                                                     \
    (256u << 20)     /* of all slow readers together, unless sessions.unsent_mb says otherwise */
#define FRONT_TAG 16 /* hex digits that name a process */
#define FRONT_SESSION_ID (FRONT_TAG + 22) /* its tag, and 132 random bits */
#define FRONT_PEER_YOUNG_S 60             /* a socket without a listener that is younger is left alone */
#define FRONT_NODE_ID 3                   /* bytes of a tag that name the gate in a fleet */
#define FRONT_NODES_MAX 1024              /* gates of a fleet */
#define FRONT_NODE_IDLE_MAX 32            /* connections to one of them that wait for their next request */
#define FRONT_NODE_IDLE_MS 30000   /* and for how long; less than FRONT_IDLE_MS, which ends them there */
#define FRONT_NODE_CONNECT_MS 5000 /* to connect and to authenticate, on both sides */
#define FRONT_NODE_LOST_MS 9000    /* a gate that vanished without a word counts as gone after this */
#define FRONT_NODE_LOG_MS 10000    /* between two log lines about refused connections */
#define FRONT_FANOUT_MS 2000       /* for the other processes of the gate to answer for themselves */
#define FRONT_FANOUT_BYTES_MAX (64u << 20)
#define FRONT_CERT_MAX 8192       /* of a client's certificate that goes with a forwarded request */
#define FRONT_PROXY_HEAD_MAX 4096 /* of the PROXY protocol, its extensions included */
#define FRONT_TOKEN_MAX 512
#define FRONT_TOKEN_MIN 16
#define FRONT_AUTH_LOOK_MS 500       /* between two looks for grants that were revoked or have expired */
#define FRONT_BODY_SMALL (64u << 10) /* larger bodies count against the next ceiling while they arrive */
#define FRONT_BODY_BYTES_MAX (512u << 20)
#define FRONT_STRANGER_CONNS_MAX 128         /* of one network, before a request of theirs is authenticated */
#define FRONT_STRANGER_BODY_MAX (1u << 20)   /* a body whose sender is not authenticated yet */
#define FRONT_STRANGER_SHARE_MAX (8u << 20)  /* bytes of such bodies, from one network */
#define FRONT_STRANGER_BYTES_MAX (64u << 20) /* and from all */
#define FRONT_DRAIN_MS 10000   /* for calls under way at the end, unless drain.timeout says otherwise */
#define FRONT_FLUSH_MS 1000    /* and for their last answers to leave */
#define FRONT_CHILDREN_MS 5000 /* at the end: for children to heed end of input, TERM and KILL */
#define FRONT_EOF_LOOK_MS 100
#define FRONT_EOF_MS 30000 /* after end of input on stdio: time for answers under way */

#define GATE_WORKERS_MAX 64
#define GATE_OLD_MAX 256            /* workers of programs before this one that have not left yet */
#define GATE_TICK_MS 20             /* between two looks of the supervisor */
#define GATE_RESTART_MS 100         /* before a worker that died young is started again; doubles */
#define GATE_RESTART_MAX_MS 5000    /* at most */
#define GATE_RESTART_FORGET_MS 5000 /* a worker that lasted so long is restarted immediately */
#define GATE_TRIAL_S 30             /* for a new program to read the settings, before a hand-over */
#define GATE_WORDS_MAX 256          /* of the command line, handed on at a hand-over */
#define GATE_WORDS_BYTES_MAX (128u << 10)

#define SETTINGS_FILE_MAX (4u << 20)
#define SETTINGS_SERVERS_MAX 256
#define SETTINGS_WORDS_MAX 256   /* arguments, variables or headers of one server */
#define SETTINGS_VALUE_MAX 65536 /* bytes of one of them */
#define SETTINGS_NAME_MAX 64     /* of a server's name, in characters */
#define SETTINGS_PREFIX_MAX 32   /* of what stands in front of its tools */
#define SETTINGS_IDLE_MS 900000  /* a server without calls is ended after this, unless told otherwise */
#define SETTINGS_HEALTH_MS 30000 /* of silence, before a health check */
#define SETTINGS_HEALTH_TIMEOUT_MS 15000
#define SETTINGS_APPROVAL_MS 1800000
#define SETTINGS_MB_MAX 1048576    /* a size in megabytes */
#define SETTINGS_DISCOVERY_KEEP 10 /* of the most used tools, in a hybrid list */
#define SETTINGS_DISCOVERY_KEEP_MAX 100
#define FRONT_EOF_MS 30000          /* after end of input on stdio: time for answers under way */
#define FRONT_JWT_SKEW_MS 60000     /* by which clocks may differ, unless told otherwise */
#define FRONT_KEYS_FRESH_MS 600000  /* after which an issuer's keys are fetched again */
#define FRONT_KEYS_STALE_MS 3600000 /* keys that could not be fetched again for so long are given up */
#define FRONT_KEYS_RETRY_MS 15000   /* after a fetch that failed */
#define FRONT_KEYS_ASKS 4           /* fetches that tokens of unknown keys can cause at once */
#define FRONT_KEYS_ASK_MS 15000     /* and how long one of them takes to be possible again */
#define FRONT_FACTS_MAX 1024        /* facts made of one token's claims; more deny */
#define FRONT_ID_MAX 240            /* bytes of an identity's name; longer ones go by their hash */
#define FRONT_FACT_MAX 4096         /* bytes of one; a longer one denies */
