/* Ceilings of what runs in a sandbox; docs/limits.md lists them. */
#pragma once

#define SANDBOX_WARM 2                 /* idle children per kind */
#define SANDBOX_NONE_WARM UINT32_MAX   /* as a number of idle children: none, every run starts its own */
#define SANDBOX_RUNS_MAX 64            /* concurrent runs */
#define SANDBOX_RUNS_SETTING_MAX 4096  /* the most that an operator can set it to */
#define SANDBOX_SHARE_RUNS_MAX 32      /* concurrent runs of one grant, unless the operator sets it */
#define SANDBOX_WAITING_MAX 16384      /* runs that wait for a child */
#define SANDBOX_SHARE_WAITING_MAX 1024 /* of one grant */
#define SANDBOX_SHARE_WINDOW_MS 60000  /* CPU and wall time of a grant are counted over a minute */
#define SANDBOX_WAITED_MS 20           /* a run that waited longer for its turn says so */
#define SANDBOX_CODE_MAX (4u << 20)    /* bytes of code, and of context */
#define SANDBOX_MEMORY_MB 500          /* of one run unless it says otherwise */
#define SANDBOX_MEMORY_MB_MAX 4096
#define SANDBOX_TIMEOUT_MS 30000
#define SANDBOX_TIMEOUT_MS_MAX 3600000
#define SANDBOX_OUTPUT_MAX (1u << 20) /* bytes kept of stdout and of stderr */
#define SANDBOX_FLOOD_MAX (16u << 20) /* bytes written on one stream before the run is ended */
#define SANDBOX_RESULT_MAX (1u << 20)
#define SANDBOX_CALLS_MAX 10000            /* tool calls of one run */
#define SANDBOX_CALLS_OPEN_MAX 256         /* of them unanswered at the same time */
#define SANDBOX_CALL_BYTES_MAX (64u << 20) /* bytes of arguments of one run */
#define SANDBOX_AWAKE_US 100               /* how long the next call is looked out for without sleep */
#define SANDBOX_AWAKE_SKIP_MAX 64          /* calls without, when that was in vain again and again */
#define SANDBOX_WORKSPACE_MB 64
#define SANDBOX_INODES 4096
#define SANDBOX_FILES_MAX 4096            /* files copied into or out of a workspace */
#define SANDBOX_DEPTH_MAX 16              /* directories deep */
#define SANDBOX_SEEN_BYTES_MAX (1u << 20) /* what is remembered of the files that were copied in */
#define SANDBOX_PROCESSES 64
#define SANDBOX_SESSIONS_MAX 64
#define SANDBOX_SESSION_NAME_MAX 256
#define SANDBOX_SESSION_IDLE_MS 600000
#define SANDBOX_VIOLATIONS_MAX 64 /* kept of one run */
#define SANDBOX_PRELUDE_MAX (256u << 10)
#define SANDBOX_PRELUDES_MAX 16
#define SANDBOX_QUEUE_MAX (64u << 20) /* bytes of answers a sandbox may leave unread */
#define SANDBOX_PROGRESS_MAX 10000    /* of one run */
#define SANDBOX_TICK_MS 1000          /* between two looks at idle sessions and children */
#define SANDBOX_HOT_MS 300000         /* how long a kind that was used is kept warm */
#define SANDBOX_FAILURES_MAX 3        /* children in a row that do not start before runs are refused */
#define SANDBOX_REFILL_MS 10 /* no children are made for later so soon after a run began, while one waits */
#define SANDBOX_WAKE_MS                                                                                      \
    10000 /* a child that has not come to life by then is replaced; the next has twice the time */
#define SANDBOX_WAKE_DOUBLED_MAX 3 /* and when that was done so often, runs are refused */
#define SANDBOX_MIN_TIER 1         /* below it nothing runs unless the configuration says so */
