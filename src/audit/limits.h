/* Ceilings of the audit room; docs/limits.md lists them. */
#pragma once

#define AUDIT_RING_BYTES                                                                                     \
    (8u << 20) /* bytes of records that wait for the writer; when full, calls are refused */
#define AUDIT_RECORD_MAX (256u << 10)      /* one serialised record */
#define AUDIT_FIELD_MAX 4096               /* every field but the arguments; longer ones are cut */
#define AUDIT_ARGS_MAX (128u << 10)        /* recorded arguments; the hash is of all of them */
#define AUDIT_BLOCK_BYTES (1u << 20)       /* records that are stored as one row */
#define AUDIT_COMMIT_BLOCKS 4              /* rows that one commit adds at most */
#define AUDIT_SYNC_BYTES (128u << 10)      /* of a durable log, in one write to disk */
#define AUDIT_AWAKE_US 400                 /* how long a write to disk is awaited without sleeping */
#define AUDIT_NAP_MS 40                    /* how long a busy writer gathers records */
#define AUDIT_CHECKPOINT_RECORDS 10000     /* a checkpoint is signed after at most this many records */
#define AUDIT_CHECKPOINT_MS 1000           /* and after at most this time */
#define AUDIT_SEGMENT_BYTES (512ull << 20) /* when a new segment is begun, unless configured */
#define AUDIT_SEGMENTS_MAX 9999            /* segments in one log */
#define AUDIT_RETIRE_MS 3600000            /* between two checks for old segments */
#define AUDIT_RETRY_MS 500                 /* pause after a failed write */
#define AUDIT_LOOK_MS 1000    /* between two checks that the files of an idle log are still there */
#define AUDIT_BUSY_MS 5000    /* how long a locked database is retried */
#define AUDIT_BUSY_STEP_MS 5  /* between two attempts while another process opens the log */
#define AUDIT_REPORT_TEXT 512 /* bytes of the description of a failed verification */
