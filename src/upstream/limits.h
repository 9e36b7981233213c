/* Ceilings of the upstream room; docs/limits.md lists them. */
#pragma once

#define MSG_BYTES_MAX (64u << 20) /* one message, from either side */
#define MSG_POOL_MAX 256          /* free messages kept for reuse */
#define UP_BATCH_MAX 64           /* messages in one array of a server */

#define CHILD_CLOSE_MS 2000 /* after end of input, before TERM */
#define CHILD_TERM_MS 2000  /* after TERM, before KILL */
#define CHILD_HELD_MS 1000  /* after its exit, until the end of its output and errors */
#define CHILD_STDERR_LINE_MAX 4096
#define UP_NOISE_MS 1000 /* interval in which */
#define UP_NOISE_LINES                                                                                       \
    200 /* at most so many lines of a server's stderr, or of invalid messages, are logged */
#define UP_NOISE_BYTES (64u << 10) /* and so many bytes of them; the rest is counted */

#define UP_CONNS_MAX 1024 /* connections to one server */
#define UP_IDLE_MS 4000   /* an unused connection is closed before common servers (5 s) close it */
#define UP_CONNECT_MS 10000
#define UP_HEAD_MS 3600000 /* from request to response head: a tool may work this long */
#define UP_URL_MAX 4096
#define UP_HEADERS_MAX 64
#define UP_SESSION_ID_MAX 512
#define UP_EVENT_ID_MAX 512
#define UP_RETRY_MS 1000 /* before a lost stream is resumed, unless the server sets it */
#define UP_RETRY_MAX_MS 30000
#define UP_RESUME_MAX 8               /* consecutive attempts without a new event */
#define UP_ERROR_TEXT_MAX 200         /* bytes of a server's error text that are passed on */
#define UP_ERROR_BODY_MAX (1u << 20)  /* of a response that is an error */
#define UP_WAITERS_MAX 4096           /* requests that wait for a connection to one server */
#define UP_FIXED_HEAD_MAX (64u << 10) /* request line and header lines that are the same in every request */
#define UP_OWN_HEAD_MAX (16u << 10)   /* header lines of one request */
#define UP_HEADER_LINE_MAX 8192       /* one configured header line */
#define UP_PEEK_MS 100                /* a connection unused for longer is probed before it is used again */
#define UP_DRAIN_MS 1000              /* how long the unneeded rest of a response may take to end */
#define UP_DRAIN_BYTES_MAX (256u << 10)
#define UP_GOODBYE_MS 1000           /* for ending a session that is no longer used */
#define UP_LOST_MS 1000              /* for the other requests of a session that the server has lost */
#define UP_PROBE_MS 10000            /* for probing whether an endpoint supports the older transport */
#define UP_RETRY_ASKED_MAX_MS 600000 /* longest pause before resuming that a server can request */
#define UP_NAME_MAX 4096             /* bytes of a tool, prompt or URI that is mirrored in a header */
#define UP_ENDPOINT_MS 30000         /* from opening an HTTP+SSE stream to its first event */
#define UP_LISTEN_MS 2000 /* how long requests wait for the server's response to a standing stream */
#define UP_KEEPALIVE_S 60 /* of silence before TCP keep-alive probes the peer */
#define UP_FETCH_MS 10000 /* time-out of a request of the gate itself */
#define UP_FETCH_BYTES_MAX (1u << 20) /* bytes of its answer */
#define UP_SECRET_MAX 8192            /* bytes of a header's value from a file, a program or a login */
#define UP_COMMAND_MS 30000           /* for a program that makes one */
#define UP_RENEW_MS 10000             /* between two fetches of a credential that a server rejects */
#define UP_SCOPE_MAX 512              /* bytes of the scopes of a token, or of those that a server asks for */
#define UP_COMMAND_MAX 512            /* bytes of a command that an error tells a person to run */
#define UP_LOGIN_EARLY_MS 60000       /* at most this long before its expiry, a token is refreshed */
#define UP_LOGIN_MARGIN_MS 5000       /* a token that expires within this time is not used any more */
#define UP_LOGIN_LOCK_MS 100          /* between two checks whether another gate has refreshed it */
#define UP_LOGIN_CLAIM_MS 500         /* the same, where a fleet shares the login */
#define UP_OAUTH_PORT 8641            /* named in the redirect when no listener is open */
#define UP_ERA_MODERN_MS 1800000      /* how long a server is assumed to support the modern era */
#define UP_ERA_LEGACY_MS 300000       /* how long it is assumed not to */
#define UP_ERA_ASK_MS 10000           /* time-out of a probe */
#define UP_DISCOVER_MAX (256u << 10)  /* bytes of a server's description that are kept */
