/* The zygote of an interpreter that cannot be forked: a fork server of our own whose children execute the
 * interpreter. */
#pragma once

#include "sandbox/confine.h"

#include <stdnoreturn.h>

#define EXEC_TRIAL "SALLYPORT_TRIAL" /* in the environment of the trial run */
#define EXEC_ARGS 24

struct exec_plan {
    const char *binary;
    const char *module;      /* loaded with LD_PRELOAD */
    const char *script;      /* passed as an argument, because a sandbox may not open it */
    const char *const *argv; /* between the binary and the script */
    const char *const *envp;
};

/* Does one trial, then handles orders until the process ends. */
noreturn void exec_serve(const struct confine_setup *setup, const struct exec_plan *plan);
