/* Ceilings of the state room; docs/limits.md lists them. */
#pragma once

#define STATE_KEY_MAX 168 /* bytes of a counter's key kept as they are; longer ones end in their hash */
#define STATE_KEY_GIVEN_MAX 4096         /* bytes of a key that a caller may hand in */
#define STATE_COUNTERS_MAX 65536         /* counters alive in one store */
#define STATE_CLIENT_COUNTERS_MAX 16384  /* that one client may make in Redis (each part) or PostgreSQL */
#define STATE_QUOTA_CALL_MS 600000       /* a concurrency counter counts so long against its maker's share */
#define STATE_QUOTA_MS_MAX 604800000     /* and any other at most so long: 7 days */
#define STATE_LIMITS_MAX 256             /* limits of one call */
#define STATE_FETCH_MAX 32               /* counters of conditions that one call reads over the network */
#define STATE_LIMITS_FEW 6               /* of which a ticket holds so many without taking memory */
#define STATE_PROCESSES_MAX 128          /* processes that share one state directory */
#define STATE_SLOTS 32                   /* resolution of a sliding window */
#define STATE_RECENT 8                   /* distinct calls that an identical-call breaker remembers */
#define STATE_BUSY_MS 5000               /* how long a locked database is waited for */
#define STATE_BUSY_STEP_MS 5             /* between two tries while another process opens the store */
#define STATE_DSN_MAX 4096               /* bytes of a data source name */
#define STATE_AMOUNT_MAX (INT64_MAX / 4) /* one amount; sums are checked as they grow */
#define STATE_GRANTS_MAX 10000           /* grants of one home, revoked ones included */
#define STATE_GRANT_NAME_MAX 64          /* bytes of a grant's name */
#define STATE_GRANT_LABEL_MAX 256        /* bytes of what it says about itself */
#define STATE_GRANT_GLOBS_MAX 64         /* patterns for servers, and for tools */
#define STATE_GRANT_USED_MS 60000        /* how exactly the last use of a grant is known */

#define STATE_FOLLOW_LOOK_MS 200   /* how often a gate asks PostgreSQL for changes, told of them or not */
#define STATE_FOLLOW_FRESH_MS 1000 /* a copy that was not confirmed for so long is void */

#define STATE_LOGIN_MS 43200000ull /* how long a user stays signed in to the console: 12 hours */
#define STATE_LINK_MS 900000ull    /* how long a sign-in link is valid */
#define STATE_STOPS_MAX 256        /* concurrent stops */
#define STATE_STOP_TEXT_MAX 512    /* bytes of what is stopped, and of why */
#define STATE_ERAS_MAX 256         /* commands whose era is remembered; the oldest is forgotten */
#define STATE_ERA_MS 86400000ull   /* how long a child is taken for legacy before it is probed again */
#define STATE_VERSIONS_MAX 200     /* versions that are kept of one file */

#define STATE_APPROVALS_PENDING_MAX 1000         /* approvals that wait for a person */
#define STATE_APPROVALS_IDENTITY_MAX 100         /* of which one identity may have so many */
#define STATE_APPROVAL_ARGS_MAX (64u << 10)      /* bytes of the arguments that an approver is shown */
#define STATE_APPROVAL_TEXT_MAX 4096             /* every other text of an approval */
#define STATE_APPROVALS_LIST_MAX 1000            /* approvals in one listing */
#define STATE_APPROVALS_KEEP_MS 2592000000ull    /* how long one that is over is kept: 30 days */
#define STATE_APPROVAL_TIMEOUT_MS 1800000        /* unless the policy or the configuration says otherwise */
#define STATE_REPEAT_MS_MAX (8ull * 3600 * 1000) /* an approval that holds for a while */
#define STATE_APPROVAL_TIMEOUT_MAX_MS 2592000000ull
#define STATE_SEALED_MAX (256u << 10) /* one small secret at rest */
#define STATE_SEALED_PATH_MAX 4096

#define STATE_BACKUP_FILES_MAX 1000000         /* files of one home */
#define STATE_BACKUP_MANIFEST_MAX (256u << 20) /* bytes of the list of files in a backup */

#define STATE_REMOTE_TIMEOUT_MS 1000        /* a reservation without an answer is a fault then */
#define STATE_REMOTE_BACKOFF_MS 100         /* before the first try to connect again; doubles */
#define STATE_REMOTE_BACKOFF_MAX_MS 5000    /* until it is so long */
#define STATE_REMOTE_MISSES_MAX 5           /* time-outs in a row that end a connection */
#define STATE_REMOTE_WANTS_MAX 65536        /* requests without an answer; more are refused */
#define STATE_REDIS_EARLY_MAX (4u << 20)    /* bytes of requests that wait for the connection */
#define STATE_REDIS_COMMAND_MAX (64u << 10) /* bytes that a new connection starts with */
#define STATE_REMOTE_LEASE_MS 60000         /* a call in flight counts so long after its gate died */
#define STATE_REMOTE_RENEW_MS 20000         /* how often a gate renews those that it has */
#define STATE_REDIS_DATABASE_MAX 65535      /* highest number of a database */
#define STATE_REDIS_NODES_MAX 64            /* hosts of a DSN, and servers of a Cluster that count */
#define STATE_REDIS_SHARDS 16               /* parts that the counters have in a Cluster */
#define STATE_REDIS_REDIRECTS_MAX 5         /* redirections that one request follows */
#define STATE_REDIS_JOIN_MS 300             /* between two attempts to report counts to a server */
#define STATE_REDIS_SETTLE_MS 1000          /* a server that took over waits at least so long for all gates */
#define STATE_REDIS_SETTLE_MAX_MS 30000     /* and at most: then it may have lost writes */
#define STATE_SENTINEL_ASK_MS 1000          /* how often a Sentinel is asked who the master is */
#define STATE_SENTINEL_NEXT_MS 100          /* before the next one is, when one does not know */
#define STATE_LEASES_MAX 4096               /* counters of which a gate has slices */
#define STATE_LEASE_CALLS_MAX 1000000       /* calls of one slice */
#define STATE_LEASE_SHARE 10                /* a limit is leased if it is so many slices */
#define STATE_LEASE_MS 5000                 /* what is left of a slice is given back then */
#define STATE_LEASE_EXACT_MS 1000           /* no slice is asked for so long after one did not fit */
#define STATE_LEASE_LOOK_MS 1000            /* how often slices that are over are looked for */
#define STATE_SQL_TIMEOUT_MS 2000           /* a statement, or a connection, without an answer failed then */
#define STATE_SQL_RETRY_MS 250              /* between two tries to connect */
#define STATE_SQL_KEPT_MAX 24               /* statements that a connection keeps compiled */
#define STATE_BATCH_MAX (16u << 20)         /* bytes of audit blocks in one transaction */
#define STATE_GATE_NAME_MAX 255             /* bytes of a gate's name in the audit log of a fleet */
#define STATE_FINDING_MAX 511               /* bytes of why a chain of that log begins anew */
#define STATE_POSTGRES_REQUEST_MAX (4u << 20) /* bytes of one request */
