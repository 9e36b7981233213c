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

/* Code that stands before the agent's in the same globals, compiled once: names a profile of tools offers. */
struct sandbox_prelude {
    enum sandbox_language language; /* TYPESCRIPT means JAVASCRIPT here */
    struct slice source;
};

struct sandbox_config {
    const char
        *helper_dir; /* where sallyport-sandbox lies; NULL: beside this program, then ../libexec/sallyport */
    const char *packages; /* directory of layers, which runs can read; NULL or "": none */
    const char *python;   /* NULL: $SALLYPORT_PYTHON, then python3 in PATH */
    const char *node;     /* NULL: $SALLYPORT_NODE, then node in PATH */
    const char *bun;      /* NULL: $SALLYPORT_BUN, then bun in PATH; for where no Node can be used */
    int min_tier;         /* 0: 1. Below it nothing is offered */
    uint32_t
        warm; /* idle children kept per kind that was used lately; 0: SANDBOX_WARM, or SANDBOX_NONE_WARM */
    uint32_t wake_ms;                     /* how long a fresh child may be silent; 0: SANDBOX_WAKE_MS */
    struct sandbox_ceiling ceiling;       /* of all runs together; `runs` 0: SANDBOX_RUNS_MAX */
    struct sandbox_ceiling share_ceiling; /* of those of one share; `runs` 0: SANDBOX_SHARE_RUNS_MAX */
    uint32_t memory_mb_max;               /* what a run may ask for at most; 0: SANDBOX_MEMORY_MB_MAX */
    uint32_t timeout_ms_max;              /* the same; 0: SANDBOX_TIMEOUT_MS_MAX */
    uint32_t workspace_mb;                /* size of /workspace and of /tmp, each; 0: SANDBOX_WORKSPACE_MB */
    enum sandbox_profile profile;         /* the one that is kept warm from the start */
    uint32_t languages;                   /* bits 1 << enum sandbox_language that are wanted; 0: all */
    /* Empty: code has no network. Else the certificates that it trusts (PEM); what it connects to arrives at
     * handlers->network(). Tier 1 only. */
    struct slice bundle;
    const struct sandbox_prelude *preludes; /* copied */
    size_t prelude_count;
};

/* Where sallyport-sandbox lies, for this program. Room for PATH_MAX bytes will do. */
int sandbox_helper_dir(char *ret_dir, struct err *err);
/* Finds the helper and asks the spawner for it; what the machine can do is known when ready() came. Runs
 * started before that wait. Fails only when the helper cannot be found. `ready` may be NULL. */
int sandbox_open(struct io_loop *loop, struct spawn *spawn, const struct sandbox_config *config,
                 void (*ready)(void *owner), void *owner, struct sandbox **ret_sandbox, struct err *err);
/* Ends every run (done() is called with SANDBOX_KILLED), session and child. */
void sandbox_close(struct sandbox *s);

/* 1: namespaces, Landlock, seccomp. 2: no user namespaces: Landlock, seccomp. 3: seccomp alone, profile PURE
 * only. 4: nothing may run. 0: not known yet. */
int sandbox_tier(const struct sandbox *s);
/* What kept the better tier away; "" for tier 1. */
const char *sandbox_tier_why(const struct sandbox *s);
/* Version of the control groups that bound all sandboxes together, and those of profile PROC each; 0: none,
 * *ret_why says what is missing. */
int sandbox_group(const struct sandbox *s, const char **ret_why);
/* NULL when the language can be run, else why not, in words for people ("node 18.19.0 is older than 20").
 * Before ready(): "still starting". */
const char *sandbox_why_not(const struct sandbox *s, enum sandbox_language language);
/* "CPython 3.11.2", "Node 22.12.0"; "" when there is none. */
const char *sandbox_runtime_name(const struct sandbox *s, enum sandbox_language language);

void sandbox_stats(const struct sandbox *s, struct sandbox_stats *ret_stats);

/* ---- a run ---- */

const char *sandbox_exit_name(enum sandbox_exit e); /* as in `code run --json`; REFUSED is "killed" there */

/* Copies what the request points at. NULL only when a field breaks its ceiling; everything else arrives as
 * done(). What the code does then is in sandbox_types.h: answer its calls, cancel it. */
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
/* Walk: start with *at = 0; false at the end. The slice lives until the next call into this room. */
bool sandbox_session_next(const struct sandbox *s, size_t *at, struct sandbox_session *ret_session);
/* True when there was one. A busy one ends its run with SANDBOX_KILLED. */
bool sandbox_session_clear(struct sandbox *s, struct slice name);
