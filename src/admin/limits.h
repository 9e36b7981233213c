/* Ceilings of the admin room; docs/limits.md lists them. */
#pragma once

#define ADMIN_OUT_MAX (256u << 20)    /* bytes of one answer */
#define ADMIN_BODY_MAX (4u << 20)     /* bytes of a request's body */
#define ADMIN_LIST_MAX 1000           /* entries of one listing, unless fewer are asked for */
#define ADMIN_JOBS_MAX 16             /* concurrent queries of the audit log */
#define ADMIN_STORED_MAX 256          /* requests that wait for the stores of the home */
#define ADMIN_SETUP_TRIES_MAX 8       /* times that a change of the settings is made again */
#define ADMIN_EXPORT_MAX 1000000      /* records of one export */
#define ADMIN_OVERVIEW_MAX_S 31622400 /* seconds between the ends of an overview: 366 days */
#define ADMIN_OVERVIEW_MIN_S 96       /* and at least: a second for each point */
#define ADMIN_EDIT_DEPTH_MAX 16       /* steps on the way to a place in a policy */
#define ADMIN_DESKS_MAX 32            /* people who make calls from the console */
#define ADMIN_DESK_IDLE_MS 300000     /* after which their session ends */
#define ADMIN_SIGN_INS_MAX 16         /* concurrent sign-ins at identity providers */
#define ADMIN_SIGN_IN_MS 600000       /* how long a sign-in at the provider's page may take */
#define ADMIN_SESSION_MS 3600000      /* after which users must sign in there again, unless set */
#define ADMIN_STREAMS_MAX 64          /* live streams */
#define ADMIN_TAIL_MS 250             /* between two looks at the log for them */
#define ADMIN_TAIL_RECORDS_MAX 500    /* records that one look takes along */
#define ADMIN_GRACE_MAX_S 2592000     /* how long the token before goes on at most */
#define ADMIN_CALLBACK_SKEW_MS 300000 /* how old a signed callback may be */
