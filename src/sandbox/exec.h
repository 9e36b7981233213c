/* The zygote of an interpreter that cannot be copied: a fork server of our own whose children execute it. */
#pragma once

#include "sandbox/confine.h"

#include <stdnoreturn.h>

#define EXEC_TRIAL "SALLYPORT_TRIAL" /* in the environment of the trial run, which reports what it found */
#define EXEC_ARGS 24

struct exec_plan {
    const char *binary;
    const char *module;      /* loaded in front of it */
    const char *script;      /* handed over as an argument: a sandbox may not open it */
    const char *const *argv; /* between the binary and the script */
    const char *const *envp;
};

/* Takes orders until the process ends, after one trial. */
noreturn void exec_serve(const struct confine_setup *setup, const struct exec_plan *plan);
