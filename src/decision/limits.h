/* Ceilings of the decision room; docs/limits.md lists them. */
#pragma once

#define JUDGE_REFUNDS_MAX                                                                                    \
    32                     /* limits of one call up to which refunds are counted; with more none is given    \
                            */
#define FILES_LINKS_MAX 40 /* symbolic links on the way to one file, as the kernel has it */
#define STOP_LOOK_MS 500   /* between two looks for what another process has stopped */
