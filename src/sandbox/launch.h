/* Starts zygotes: the process that the helper forks, up to the exec of the interpreter. */
#pragma once

#include "base/err.h"
#include "sandbox/confine.h"

#define LAUNCH_PYTHON_DIR "/opt/python"         /* an interpreter outside of /usr */
#define LAUNCH_VENV "/opt/venv"                 /* packages of a virtual environment */
#define LAUNCH_MODULES "/opt/sallyport"         /* our files */
#define LAUNCH_PROGRAMS "sallyport-programs.so" /* for programs that bash starts */
#define LAUNCH_ROOT_ID 700000                   /* uid that root changes to; it owns nothing */

enum launch_engine { LAUNCH_PYTHON, LAUNCH_PYTHON_DATA, LAUNCH_NODE, LAUNCH_BUN, LAUNCH_ENGINES };

struct launch_runtime {
    enum launch_engine engine;
    char binary[FRAME_PATH_MAX]; /* real path; "" if there is none */
    char prefix[FRAME_PATH_MAX]; /* of one outside of /usr, otherwise "" */
    bool library;                /* PREFIX/lib belongs to it and is mounted */
    char venv[FRAME_PATH_MAX];   /* packages of the configured virtual environment, or "" */
    char why[FRAME_REASON_MAX];  /* if there is none */
};

struct launch_config {
    char helper_dir[FRAME_PATH_MAX];  /* modules and start scripts */
    char scratch_dir[FRAME_PATH_MAX]; /* tier 2: parent of the workspaces */
    char packages[FRAME_PATH_MAX];    /* layers that a run may request, or "" */
    const char *path;                 /* PATH for programs */
    int bundle_fd;                    /* certificates that sandboxes with a network trust, or -1 */
    int prelude_fd;                   /* -1 for none */
    struct confine_setup setup;       /* tier, filters, fault to inject */
};

/* Finds the interpreter: `given`, otherwise the name in PATH. Wrapper scripts are skipped. */
void launch_find(const struct launch_config *config, enum launch_engine engine, const char *given,
                 struct launch_runtime *ret_runtime);
/* Can a sandbox without namespaces read this path? Started by root, it has another uid, which cannot enter a
 * home directory of mode 0700. True in tier 1, where the path is mounted. */
bool launch_reaches(const struct launch_config *config, const char *path);
/* Does the lock-down in a throw-away child; 0 if this tier works here, otherwise -1 and the step that failed.
 */
/* *ret_bounded: the number of its processes can be limited. */
int launch_probe(const struct launch_config *config, uint32_t tier, bool *ret_bounded, struct err *err);
/* Forks; *ret_sock receives its notes and takes orders. */
int launch_zygote(const struct launch_config *config, const struct launch_runtime *runtime, pid_t *ret_pid,
                  int *ret_sock, struct err *err);
