/* Starts zygotes: the process that the helper forks, up to the exec of the interpreter. */
#pragma once

#include "base/err.h"
#include "sandbox/confine.h"

#define LAUNCH_PYTHON_DIR "/opt/python" /* an interpreter that lies outside /usr */
#define LAUNCH_VENV "/opt/venv"         /* packages of a virtual environment */
#define LAUNCH_ROOT_ID 700000           /* what root becomes: a uid that owns nothing */

enum launch_engine { LAUNCH_PYTHON, LAUNCH_PYTHON_DATA, LAUNCH_NODE, LAUNCH_BUN, LAUNCH_ENGINES };

struct launch_runtime {
    enum launch_engine engine;
    char binary[FRAME_PATH_MAX]; /* real path; "" when there is none */
    char prefix[FRAME_PATH_MAX]; /* of one that lies outside /usr, else "" */
    bool library;                /* PREFIX/lib is its own, and is shown */
    char venv[FRAME_PATH_MAX];   /* packages of the virtual environment that was named, or "" */
    char why[FRAME_REASON_MAX];  /* when there is none */
};

struct launch_config {
    char helper_dir[FRAME_PATH_MAX];  /* modules and start scripts */
    char scratch_dir[FRAME_PATH_MAX]; /* tier 2: parent of the workspaces */
    char packages[FRAME_PATH_MAX];    /* layers that a run may ask for, or "" */
    const char *path;                 /* where programs are looked for */
    int bundle_fd;                    /* certificates that sandboxes with a network trust, or -1 */
    int prelude_fd;                   /* -1 for none */
    struct confine_setup setup;       /* tier, filters, fault to inject */
};

/* Finds the interpreter: `given`, else the name in the path. Scripts that stand in front of one are passed
 * over. */
void launch_find(const struct launch_config *config, enum launch_engine engine, const char *given,
                 struct launch_runtime *ret_runtime);
/* Can what runs without namespaces read this path? As root it has another uid, which cannot enter a home
 * directory with mode 0700. True in tier 1, where it is shown by a mount. */
bool launch_reaches(const struct launch_config *config, const char *path);
/* Does in a throw-away child what every sandbox does; 0 when that tier holds here, else -1 and which step did
 * not. */
/* *ret_bounded: the number of its processes can be limited. */
int launch_probe(const struct launch_config *config, uint32_t tier, bool *ret_bounded, struct err *err);
/* Forks; *ret_sock is where its notes come and orders go. */
int launch_zygote(const struct launch_config *config, const struct launch_runtime *runtime, pid_t *ret_pid,
                  int *ret_sock, struct err *err);
