/* The helper's own loop: orders of the gate, notes of the zygotes, exits and violations of the sandboxes. */
#pragma once

#include "sandbox/frame.h"
#include "sandbox/launch.h"

#define SUPERVISE_FD_CONTROL 3

struct supervise_options {
    const char *given[LAUNCH_ENGINES]; /* interpreters named by the operator */
    const char *helper_dir;            /* NULL: where this program lies */
    const char *packages;              /* directory of layers that runs may ask for, or NULL */
    const char *fail_step;             /* for tests: a lock-down step that fails */
    const char *best_tier;             /* for tests: as if the machine could do no better */
    const char *forks;                 /* children of one zygote before it is replaced; NULL: ZYGOTE_FORKS */
    const char *runtime_bits;          /* which of enum frame_runtime may be started; NULL: all */
    uint32_t runtimes;
};

int supervise_serve(const struct supervise_options *options);
int supervise_probe(const struct supervise_options *options);
