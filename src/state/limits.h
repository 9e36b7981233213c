/* Ceilings of the state room; docs/limits.md lists them. */
#pragma once

#define STATE_KEY_MAX 168 /* bytes of a counter's key; longer keys are truncated and end in their hash */
#define STATE_KEY_GIVEN_MAX 4096 /* bytes of a key that a caller may hand in */
#define STATE_COUNTERS_MAX 65536 /* counters in one store */
#define STATE_CLIENT_COUNTERS_MAX                                                                            \
    16384 /* counters that one client may create in Redis (each part) or PostgreSQL */
#define STATE_QUOTA_CALL_MS 600000   /* how long a concurrency counter counts against its creator's share */
#define STATE_QUOTA_MS_MAX 604800000 /* and any other counter, at most: 7 days */
#define STATE_LIMITS_MAX 256         /* limits of one call */
#define STATE_FETCH_MAX 32           /* counters of conditions that one call reads over the network */
#define STATE_LIMITS_FEW 6           /* how many of them fit in a ticket without allocation */
#define STATE_PROCESSES_MAX 128      /* processes that share one state directory */
#define STATE_SLOTS 32               /* resolution of a sliding window */
#define STATE_RECENT 8               /* distinct calls that an identical-call breaker keeps */
#define STATE_BUSY_MS 5000           /* how long to wait for a locked database */
#define STATE_BUSY_STEP_MS 5         /* interval of attempts while another process opens the store */
#define STATE_DSN_MAX 4096           /* bytes of a data source name */
#define STATE_AMOUNT_MAX (INT64_MAX / 4) /* one amount; sums are checked for overflow */
#define STATE_GRANTS_MAX 10000           /* grants of one home, revoked ones included */
#define STATE_GRANT_NAME_MAX 64          /* bytes of a grant's name */
#define STATE_GRANT_LABEL_MAX 256        /* bytes of a grant's label */
#define STATE_GRANT_GLOBS_MAX 64         /* patterns for servers, and for tools */
#define STATE_GRANT_USED_MS 60000        /* precision of the last use of a grant */

#define STATE_FOLLOW_POLL_MS 200   /* how often a gate polls PostgreSQL for changes, besides notifications */
#define STATE_FOLLOW_FRESH_MS 1000 /* a copy that was not confirmed for this long is void */

#define STATE_LOGIN_MS 43200000ull  /* how long a user stays signed in to the console: 12 hours */
#define STATE_LINK_MS 900000ull     /* how long a sign-in link is valid */
#define STATE_FLEET_MARKS_MAX 65536 /* counters whose marks in PostgreSQL a gate remembers */
#define STATE_FLEET_LOGINS_MAX 4096 /* logins at servers that a fleet shares */
#define STATE_FLEET_LOGINS_LEAD_MS                                                                           \
    1000 /* interval of attempts to take over from another process of the home */
#define STATE_FLEET_LOGIN_LEASE_MS 60000 /* a gate that refreshes a login is waited for this long */
#define STATE_GENERATION_LOOK_MS 200     /* between two checks that a shared number is still in its file */
#define STATE_STOPS_MAX 256              /* concurrent stops */
#define STATE_STOP_TEXT_MAX 512          /* bytes of the name and the reason of a stop */
#define STATE_PINS_MAX 4096              /* servers with accepted definitions in one fleet */
#define STATE_PINS_BYTES_MAX (64u << 20) /* bytes of these definitions */
#define STATE_PIN_HOLDS_MAX 1000         /* tools and skills of one server that all gates hold */
#define STATE_ERAS_MAX 256               /* commands whose era is cached; the oldest is dropped */
#define STATE_ERA_MS 86400000ull         /* how long a child counts as legacy before it is probed again */
#define STATE_VERSIONS_MAX 200           /* versions kept of one file */

#define STATE_APPROVALS_PENDING_MAX 1000      /* pending approvals */
#define STATE_APPROVALS_IDENTITY_MAX 100      /* pending approvals of one identity */
#define STATE_APPROVAL_ARGS_MAX (64u << 10)   /* bytes of arguments that an approver is shown */
#define STATE_APPROVAL_TEXT_MAX 4096          /* every other text of an approval */
#define STATE_APPROVALS_LIST_MAX 1000         /* approvals in one listing */
#define STATE_APPROVALS_KEEP_MS 2592000000ull /* how long an ended approval is kept: 30 days */
#define STATE_APPROVAL_TIMEOUT_MS                                                                            \
    1800000 /* default time-out, unless the policy or the configuration sets one */
#define STATE_REPEAT_MS_MAX (8ull * 3600 * 1000) /* longest repeatable approval */
#define STATE_APPROVAL_TIMEOUT_MAX_MS 2592000000ull
#define STATE_SEALED_MAX (256u << 10) /* one small secret at rest */
#define STATE_SEALED_PATH_MAX 4096

#define STATE_BACKUP_FILES_MAX 1000000         /* files of one home */
#define STATE_BACKUP_MANIFEST_MAX (256u << 20) /* bytes of the manifest of a backup */

#define STATE_REMOTE_TIMEOUT_MS 1000        /* time-out of a reservation, unless `state.timeout` sets one */
#define STATE_REMOTE_TIMEOUT_MAX_MS 60000   /* maximum of that setting */
#define STATE_REMOTE_BACKOFF_MS 100         /* back-off before the first attempt to reconnect; doubles */
#define STATE_REMOTE_BACKOFF_MAX_MS 5000    /* maximum of that back-off */
#define STATE_REMOTE_MISSES_MAX 5           /* consecutive time-outs that close a connection */
#define STATE_REMOTE_WANTS_MAX 65536        /* unanswered requests; more are refused */
#define STATE_REDIS_EARLY_MAX (4u << 20)    /* bytes of requests that wait for the connection */
#define STATE_REDIS_COMMAND_MAX (64u << 10) /* initial bytes of a new connection */
#define STATE_REMOTE_LEASE_MS 60000         /* how long a call in flight counts after its gate died */
#define STATE_REMOTE_RENEW_MS 20000         /* how often a gate renews its calls in flight */
#define STATE_REDIS_DATABASE_MAX 65535      /* highest number of a database */
#define STATE_REDIS_NODES_MAX 64            /* hosts of a DSN, and servers of a Cluster */
#define STATE_REDIS_SHARDS 16               /* shards of the counters in a Cluster */
#define STATE_REDIS_REDIRECTS_MAX 5         /* redirections that one request follows */
#define STATE_REDIS_JOIN_MS 300             /* between two attempts to report counts to a server */
#define STATE_REDIS_SETTLE_MS 1000      /* a server that took over waits at least this long for all gates */
#define STATE_REDIS_SETTLE_MAX_MS 30000 /* and at most this long: after that it may have lost writes */
#define STATE_SENTINEL_ASK_MS 1000      /* how often a Sentinel is asked for the master */
#define STATE_SENTINEL_NEXT_MS 100      /* delay before the next Sentinel is asked */
#define STATE_LEASES_MAX 4096           /* counters for which a gate has slices */
#define STATE_LEASE_CALLS_MAX 1000000   /* calls of one slice */
#define STATE_LEASE_SHARE 10            /* a limit is leased if it is at least this many slices */
#define STATE_LEASE_MS 5000             /* the rest of a slice is returned after this */
#define STATE_LEASE_EXACT_MS 1000       /* how long no slice is requested after one did not fit */
#define STATE_LEASE_CHECK_MS 1000       /* interval of checks for expired slices */
#define STATE_SQL_TIMEOUT_MS 2000       /* time-out of a statement or a connection attempt */
#define STATE_SQL_RETRY_MS 250          /* interval of attempts to connect */
#define STATE_SQL_KEPT_MAX 24           /* cached statements of a connection */
#define STATE_BATCH_MAX (16u << 20)     /* bytes of audit blocks in one transaction */
#define STATE_GATE_NAME_MAX 255         /* bytes of a gate's name in the audit log of a fleet */
#define STATE_FINDING_MAX 511           /* bytes of the reason for a new chain in that log */
#define STATE_POSTGRES_REQUEST_MAX (4u << 20) /* bytes of one request */
