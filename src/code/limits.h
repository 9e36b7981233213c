/* Ceilings of the code room; docs/limits.md lists them. */
#pragma once

/* sandbox.c: what runs in a sandbox */
#define SANDBOX_WARM 2              /* idle children per kind */
#define SANDBOX_RUNS_MAX 64         /* at once */
#define SANDBOX_WAITING_MAX 4096    /* runs that wait for a child */
#define SANDBOX_CODE_MAX (4u << 20) /* bytes of code, and of context */
#define SANDBOX_MEMORY_MB 500       /* of one run unless it says otherwise */
#define SANDBOX_MEMORY_MB_MAX 4096
#define SANDBOX_TIMEOUT_MS 30000
#define SANDBOX_TIMEOUT_MS_MAX 3600000
#define SANDBOX_OUTPUT_MAX (1u << 20) /* bytes kept of stdout and of stderr */
#define SANDBOX_RESULT_MAX (1u << 20)
#define SANDBOX_CALLS_MAX 10000            /* tool calls of one run */
#define SANDBOX_CALLS_OPEN_MAX 256         /* of them unanswered at once */
#define SANDBOX_CALL_BYTES_MAX (64u << 20) /* bytes of arguments of one run */
#define SANDBOX_WORKSPACE_MB 64
#define SANDBOX_INODES 4096
#define SANDBOX_FILES_MAX 4096 /* files copied into or out of a workspace */
#define SANDBOX_DEPTH_MAX 16   /* directories deep */
#define SANDBOX_PROCESSES 64
#define SANDBOX_SESSIONS_MAX 64
#define SANDBOX_SESSION_NAME_MAX 256
#define SANDBOX_SESSION_IDLE_MS 600000
#define SANDBOX_VIOLATIONS_MAX 64 /* kept of one run */
#define SANDBOX_PRELUDE_MAX (256u << 10)
#define SANDBOX_PRELUDES_MAX 16

/* index.c: which tools there are */
#define CODE_INDEX_TOOLS_MAX 20000
#define CODE_INDEX_TEXT_MAX (256u << 10) /* bytes of one tool's title and parameter names */
