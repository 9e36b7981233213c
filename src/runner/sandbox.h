/* Runs an agent's code in a real operating-system sandbox: the gate's side.
 *
 *   sandbox_start ─▶ waiting for a warm child ─▶ [copy workspace in] ─▶ running ─▶ [copy out] ─▶ done()
 *                                                  │  ▲
 *                                           call() ▼  │ sandbox_answer()
 *
 * The helper program (src/sandbox) makes the children; here they are pooled, fed, watched and killed. A child
 * runs one piece of code and dies, unless the run names a session: then it is parked with its variables until
 * the session's next run, its idle limit, or sandbox_session_clear(). All callbacks come from the loop, never
 * from inside sandbox_start(), sandbox_answer() or sandbox_cancel(). */
#pragma once

#include "base/err.h"
#include "io/loop.h"
#include "io/spawn.h"
#include "runner/sandbox_types.h"

/* ---- the engine ---- */

/* Code that runs before the agent's code in the same globals, compiled once: the names that a profile
 * offers. */
struct sandbox_prelude {
    enum sandbox_language language; /* here TYPESCRIPT means JAVASCRIPT */
    struct slice source;
};

struct sandbox_config {
    const char *
        helper_dir; /* directory of sallyport-sandbox; NULL: beside this program, then ../libexec/sallyport */
    const char *packages; /* directory of package layers that runs can read; NULL or "": none */
    const char *python;   /* NULL: $SALLYPORT_PYTHON, then python3 in PATH */
    const char *node;     /* NULL: $SALLYPORT_NODE, then node in PATH */
    const char *bun;      /* NULL: $SALLYPORT_BUN, then bun in PATH; used if there is no usable Node */
    const char *uids;     /* as root: FIRST-LAST, the uids of sandboxes; "none"; NULL or "": the default */
    int min_tier;         /* 0: 1. Below it no code runs */
    uint32_t warm;        /* idle children per recently used kind; 0: SANDBOX_WARM, or SANDBOX_NONE_WARM */
    uint32_t wake_ms;     /* time for a new child to report; 0: SANDBOX_WAKE_MS */
    struct sandbox_ceiling ceiling;       /* for all runs together; `runs` 0: SANDBOX_RUNS_MAX */
    struct sandbox_ceiling share_ceiling; /* for the runs of one share; `runs` 0: SANDBOX_SHARE_RUNS_MAX */
    uint32_t memory_mb_max;               /* maximum for one run; 0: SANDBOX_MEMORY_MB_MAX */
    uint32_t timeout_ms_max;              /* maximum for one run; 0: SANDBOX_TIMEOUT_MS_MAX */
    uint32_t workspace_mb;                /* size of /workspace and of /tmp, each; 0: SANDBOX_WORKSPACE_MB */
    enum sandbox_profile profile;         /* the language whose children are kept warm from the start */
    uint32_t languages; /* bits 1 << enum sandbox_language of the offered languages; 0: all */
    /* Empty: code has no network. Otherwise the certificates that it trusts (PEM); its connections arrive
     * at handlers->network(). Tier 1 only. */
    struct slice bundle;
    const struct sandbox_prelude *preludes; /* copied */
    size_t prelude_count;
};

/* The directory of sallyport-sandbox for this program. PATH_MAX bytes are enough. */
int sandbox_helper_dir(char *ret_dir, struct err *err);
/* Finds the helper and asks the spawner to start it. The capabilities of the machine are known once
 * ready() was called; runs started before that wait. Fails only if the helper cannot be found. `ready` may
 * be NULL. */
int sandbox_open(struct io_loop *loop, struct spawn *spawn, const struct sandbox_config *config,
                 void (*ready)(void *owner), void *owner, struct sandbox **ret_sandbox, struct err *err);
/* Ends every run (done() is called with SANDBOX_KILLED), session and child. */
void sandbox_close(struct sandbox *s);

/* 1: namespaces, Landlock, seccomp. 2: no user namespaces: Landlock, seccomp. 3: seccomp alone, profile
 * PURE only. 4: no code may run. 0: not known yet. */
int sandbox_tier(const struct sandbox *s);
/* Why a better tier is not available; "" for tier 1. */
const char *sandbox_tier_why(const struct sandbox *s);
/* Version of the control groups that bound all sandboxes together, and each of profile PROC. 0: none;
 * *ret_why says what is missing. */
int sandbox_group(const struct sandbox *s, const char **ret_why);
/* Has each sandbox its own uid outside of its namespace? *ret_text is the range, or why not. */
bool sandbox_own_uids(const struct sandbox *s, const char **ret_text);
/* NULL if the language can be run, else the reason for users ("node 18.19.0 is older than 20"). Before
 * ready(): "still starting". */
const char *sandbox_why_not(const struct sandbox *s, enum sandbox_language language);
/* "CPython 3.11.2", "Node 22.12.0"; "" if there is none. */
const char *sandbox_runtime_name(const struct sandbox *s, enum sandbox_language language);

void sandbox_stats(const struct sandbox *s, struct sandbox_stats *ret_stats);

/* ---- a run ---- */

const char *sandbox_exit_name(enum sandbox_exit e); /* as in `code run --json`; REFUSED is "killed" there */

/* Copies everything that the request points at. Returns NULL only if a field exceeds its ceiling; every
 * other failure arrives as done(). sandbox_types.h describes how to answer calls of the code and to cancel
 * it. */
struct sandbox_run *sandbox_start(struct sandbox *s, const struct sandbox_request *request,
                                  const struct sandbox_handlers *handlers, void *owner, struct err *err);

/* ---- sessions ---- */

struct sandbox_session {
    struct slice name;
    enum sandbox_language language;
    uint64_t idle_ms;
    uint32_t runs;
    bool busy;
};
/* Iterates: start with *at = 0; false at the end. The slice is valid until the next call into this room. */
bool sandbox_session_next(const struct sandbox *s, size_t *at, struct sandbox_session *ret_session);
/* True if there was one. A busy session ends its run with SANDBOX_KILLED. */
bool sandbox_session_clear(struct sandbox *s, struct slice name);
