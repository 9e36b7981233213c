/* Ceilings of the decision room; docs/limits.md lists them. */
#pragma once

#define JUDGE_REFUNDS_MAX                                                                                    \
    32                     /* limits of one call up to which refunds are counted; with more none is given    \
                            */
#define FILES_LINKS_MAX 40 /* symbolic links on the path of one file, the kernel's limit */
#define STOP_CHECK_MS 500  /* between two checks whether another process has stopped something */
#define TASK_HOLDS_MAX                                                                                       \
    65536 /* calls that became tasks and still count as concurrent; then the oldest ends                     \
           */
#define TASK_HOLD_MS_MIN 60000   /* for which such a call counts at least, if its task does not end */
#define TASK_HOLD_MS_MAX 3600000 /* and at most, whatever `ttl` says */
