/* Ceilings of the call room; docs/limits.md lists them. */
#pragma once

#define SESSION_MAX 10000
#define SESSION_CALLS_MAX 4096        /* concurrent calls of one session */
#define SESSION_ASKS_MAX 1024         /* requests of servers that wait for the client's answer */
#define SESSION_INIT_MAX (256u << 10) /* bytes of the initialize params kept for a restart */
#define SESSION_VERSION_MAX 16
#define SESSION_NAME_MAX 40
#define SESSION_LEVEL_MAX 12 /* the name of a log level */
#define CALL_IDLE_MS 600000  /* without a message from the server about this call */
#define CALL_TOTAL_MS 3600000
#define CALL_POOL_MAX 256
#define CALL_LOG_MS 5000 /* how long a call waits for room in the audit log */
#define CALL_TRIES_MAX 2
#define CALL_KEEP_BYTES (128u << 10) /* larger calls are not kept for a retry once they are sent */
#define CALL_REASON_MAX 512          /* bytes of a cancellation's reason that are forwarded */
#define TRAILS_MAX 10000             /* identities whose flow labels are stored separately */
#define TRAIL_SLOTS 8192             /* of them, those that the workers of a gate share */
#define TRAIL_WINDOW_MS 28800000     /* how long a flow label lasts unless the settings say otherwise: 8 h */
#define CALL_NAME_MAX 1024           /* bytes of a tool or prompt name */
