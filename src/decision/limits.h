/* Ceilings of the decision room; docs/limits.md lists them. */
#pragma once

#define JUDGE_REFUNDS_MAX                                                                                    \
    32                     /* limits of one call up to which refunds are counted; with more none is given    \
                            */
#define FILES_LINKS_MAX 40 /* symbolic links on the path of one file, the kernel's limit */
#define STOP_LOOK_MS 500   /* between two checks whether another process has stopped something */
