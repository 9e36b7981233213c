/* Ceilings of what runs in a sandbox; docs/limits.md lists them. */
#pragma once

#define SANDBOX_WARM 2                 /* idle children per kind */
#define SANDBOX_NONE_WARM UINT32_MAX   /* value of `warm` for no idle children: every run starts its own */
#define SANDBOX_RUNS_MAX 64            /* concurrent runs */
#define SANDBOX_RUNS_SETTING_MAX 4096  /* maximum that an operator can set */
#define SANDBOX_SHARE_RUNS_MAX 32      /* concurrent runs of one grant, unless configured */
#define SANDBOX_WAITING_MAX 16384      /* runs that wait for a child */
#define SANDBOX_SHARE_WAITING_MAX 1024 /* waiting runs of one grant */
#define SANDBOX_SHARE_WINDOW_MS 60000  /* period over which CPU and wall time of a grant are counted */
#define SANDBOX_WAITED_MS 20           /* a run that waited longer for its turn reports it */
#define SANDBOX_CODE_MAX (4u << 20)    /* bytes of code, and of context */
#define SANDBOX_MEMORY_MB 500          /* defaults of one run */
#define SANDBOX_MEMORY_MB_MAX 4096
#define SANDBOX_TIMEOUT_MS 30000
#define SANDBOX_TIMEOUT_MS_MAX 3600000
#define SANDBOX_OUTPUT_MAX (1u << 20) /* bytes kept of stdout and of stderr */
#define SANDBOX_FLOOD_MAX (16u << 20) /* bytes on one stream after which the run is ended */
#define SANDBOX_RESULT_MAX (1u << 20)
#define SANDBOX_CALLS_MAX 10000            /* tool calls of one run */
#define SANDBOX_CALLS_OPEN_MAX 256         /* concurrent unanswered tool calls */
#define SANDBOX_CALL_BYTES_MAX (64u << 20) /* bytes of arguments of one run */
#define SANDBOX_AWAKE_US 100               /* how long the gate spins for the next call */
#define SANDBOX_AWAKE_SKIP_MAX                                                                               \
    64 /* maximum number of calls without spinning after spinning failed repeatedly */
#define SANDBOX_WORKSPACE_MB 64
#define SANDBOX_INODES 4096
#define SANDBOX_FILES_MAX 4096            /* files copied into or out of a workspace */
#define SANDBOX_DEPTH_MAX 16              /* depth of directories */
#define SANDBOX_SEEN_BYTES_MAX (1u << 20) /* bytes to remember the files that were copied in */
#define SANDBOX_PROCESSES 64
#define SANDBOX_SESSIONS_MAX 64
#define SANDBOX_SESSION_NAME_MAX 256
#define SANDBOX_SESSION_IDLE_MS 600000
#define SANDBOX_VIOLATIONS_MAX 64 /* violations kept per run */
#define SANDBOX_PRELUDE_MAX (256u << 10)
#define SANDBOX_PRELUDES_MAX 16
#define SANDBOX_QUEUE_MAX (64u << 20) /* bytes of answers that a sandbox may leave unread */
#define SANDBOX_PROGRESS_MAX 10000    /* images of one run */
#define SANDBOX_TICK_MS 1000          /* interval of checks for idle sessions and children */
#define SANDBOX_HOT_MS 300000         /* how long children of a used kind are kept warm */
#define SANDBOX_FAILURES_MAX 3        /* consecutive failed starts of children before runs are refused */
#define SANDBOX_REFILL_MS                                                                                    \
    10 /* delay after the start of a run before spare children are created, while one is left */
#define SANDBOX_WAKE_MS                                                                                      \
    10000 /* a child that is not ready by then is replaced; the next one gets twice the time */
#define SANDBOX_WAKE_DOUBLED_MAX 3 /* number of such replacements before runs are refused */
#define SANDBOX_MIN_TIER 1         /* below this tier nothing runs unless configured */
