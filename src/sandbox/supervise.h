/* The event loop of the helper: orders of the gate, notes of the zygotes, exits and violations of the
 * sandboxes. */
#pragma once

#include "sandbox/frame.h"
#include "sandbox/launch.h"

#define SUPERVISE_FD_CONTROL 3

struct supervise_options {
    const char *given[LAUNCH_ENGINES]; /* interpreters configured by the operator */
    const char *helper_dir;            /* NULL: the directory of this program */
    const char *packages;              /* directory of layers that runs may request, or NULL */
    const char *uids;                  /* FIRST-LAST, none, or NULL: the range of ids.h */
    const char *fail_step;             /* for tests: a lock-down step that fails */
    const char *best_tier;             /* for tests: the best tier to try */
    const char *forks;                 /* children of one zygote before it is replaced; NULL: ZYGOTE_FORKS */
    const char *runtime_bits;          /* which of enum frame_runtime may be started; NULL: all */
    uint32_t runtimes;
};

int supervise_serve(const struct supervise_options *options);
int supervise_probe(const struct supervise_options *options);
