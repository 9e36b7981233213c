/* Ceilings of the admin room; docs/limits.md lists them. */
#pragma once

#define PAGE_PLAIN_MAX (16u << 20)    /* bytes of a console file for programs that do not take gzip */
#define ADMIN_OUT_MAX (256u << 20)    /* bytes of one response */
#define ADMIN_BODY_MAX (4u << 20)     /* bytes of a request's body */
#define ADMIN_LIST_MAX 1000           /* entries of one listing, unless fewer are requested */
#define ADMIN_JOBS_MAX 16             /* concurrent queries of the audit log */
#define ADMIN_STORED_MAX 256          /* requests that wait for the stores of the home */
#define ADMIN_SETUP_TRIES_MAX 8       /* attempts to apply a change of the settings */
#define ADMIN_EXPORT_MAX 1000000      /* records of one export */
#define ADMIN_OVERVIEW_MAX_S 31622400 /* longest span of an overview in seconds: 366 days */
#define ADMIN_OVERVIEW_MIN_S 96       /* shortest span: a second per point */
#define ADMIN_EDIT_DEPTH_MAX 16       /* depth of a path in a policy */
#define ADMIN_DESKS_MAX 32            /* users with sessions from the console */
#define ADMIN_DESK_IDLE_MS 300000     /* idle time after which their session ends */
#define ADMIN_SIGN_INS_MAX 16         /* concurrent sign-ins at identity providers */
#define ADMIN_SIGN_IN_MS 600000       /* how long a sign-in at the provider's page may take */
#define ADMIN_SESSION_MS 3600000      /* after which users must sign in again, unless configured */
#define ADMIN_REPLAY_SERVERS_MAX 256  /* servers whose calls one replay judges */
#define ADMIN_STREAMS_MAX 64          /* live streams */
#define ADMIN_TAIL_MS 250             /* interval of checks for new records */
#define ADMIN_TAIL_RECORDS_MAX 500    /* records sent per check */
#define ADMIN_GRACE_MAX_S 2592000     /* longest grace period of an old token */
#define ADMIN_CALLBACK_SKEW_MS 300000 /* maximum age of a signed callback */
