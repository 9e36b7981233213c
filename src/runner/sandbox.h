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
#include "base/slice.h"
#include "io/loop.h"
#include "io/spawn.h"
#include "runner/limits.h"

struct sandbox;
struct sandbox_run;

enum sandbox_language { SANDBOX_PYTHON, SANDBOX_JAVASCRIPT, SANDBOX_TYPESCRIPT, SANDBOX_LANGUAGES };
/* What the kernel lets the code do. PURE: compute, nothing is opened. FILES: also files beneath /workspace
 * and /tmp, and reading the runtime's own library. PROC: also processes and programs of /usr/bin. */
enum sandbox_profile { SANDBOX_PURE, SANDBOX_FILES, SANDBOX_PROC, SANDBOX_PROFILES };

/* ---- the engine ---- */

/* Code that stands before the agent's in the same globals, compiled once: names a profile of tools offers. */
struct sandbox_prelude {
    enum sandbox_language language; /* TYPESCRIPT means JAVASCRIPT here */
    struct slice source;
};

struct sandbox_config {
    const char
        *helper_dir; /* where sallyport-sandbox lies; NULL: beside this program, then ../libexec/sallyport */
    const char *packages; /* directory that Python finds further packages in, read-only; NULL or "": none */
    const char *python;   /* NULL: $SALLYPORT_PYTHON, then python3 in PATH */
    const char *node;     /* NULL: $SALLYPORT_NODE, then node in PATH */
    const char *bun;      /* NULL: $SALLYPORT_BUN, then bun in PATH; for where no Node can be used */
    int min_tier;         /* 0: 2. Below it nothing is offered */
    uint32_t
        warm; /* idle children kept per kind that was used lately; 0: SANDBOX_WARM, or SANDBOX_NONE_WARM */
    uint32_t wake_ms;             /* how long a fresh child may say nothing; 0: SANDBOX_WAKE_MS */
    uint32_t concurrent_max;      /* runs at once; more wait. 0: SANDBOX_RUNS_MAX */
    uint32_t memory_mb_max;       /* what a run may ask for at most; 0: SANDBOX_MEMORY_MB_MAX */
    uint32_t workspace_mb;        /* size of /workspace and of /tmp, each; 0: SANDBOX_WORKSPACE_MB */
    enum sandbox_profile profile; /* the one that is kept warm from the start */
    uint32_t languages;           /* bits 1 << enum sandbox_language that are wanted; 0: all */
    const struct sandbox_prelude *preludes; /* copied */
    size_t prelude_count;
};

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

#define SANDBOX_EXITS 8   /* enum sandbox_exit, below */
#define SANDBOX_BUCKETS 8 /* of the time from the code being handed over to the end */
extern const uint64_t sandbox_bucket_us[SANDBOX_BUCKETS];

struct sandbox_stats {
    uint64_t runs, warm_hits, cold_starts, failed, violations, calls;
    uint64_t exits[SANDBOX_EXITS];
    uint64_t wall[SANDBOX_BUCKETS + 1]; /* runs that took up to sandbox_bucket_us; the last: longer */
    uint64_t wall_us;                   /* of all of them */
    uint32_t running, waiting, idle, sessions;
};
void sandbox_stats(const struct sandbox *s, struct sandbox_stats *ret_stats);

/* ---- a run ---- */

enum sandbox_exit {
    SANDBOX_OK,
    SANDBOX_ERROR,   /* the code raised, or did not compile */
    SANDBOX_TIMEOUT, /* wall clock */
    SANDBOX_MEMORY,
    SANDBOX_CPU,
    SANDBOX_KILLED,  /* cancelled, or ended for a violation, or crashed */
    SANDBOX_OUTPUT,  /* more output than allowed: what fits is kept */
    SANDBOX_REFUSED, /* never ran: no runtime, tier too low, engine full or helper gone; `error` says why */
};
const char *sandbox_exit_name(enum sandbox_exit e); /* as in `code run --json`; REFUSED is "killed" there */

enum sandbox_stream { SANDBOX_STDOUT, SANDBOX_STDERR };

struct sandbox_image {
    struct slice mime;
    struct slice bytes;
};

struct sandbox_violation {
    char name[48]; /* of the system call */
    bool ended;    /* the sandbox was ended for it; else it got EPERM */
};

struct sandbox_outcome {
    enum sandbox_exit exit;
    struct slice result;    /* JSON, `null` when there is none; valid and within result_max */
    bool result_cut;        /* it was made shorter to fit */
    struct slice error;     /* text; "" when exit is OK */
    struct slice kind;      /* the exception's class: "ZeroDivisionError"; may be "" */
    struct slice traceback; /* the agent's own lines, no host paths */
    struct slice out, err;  /* what was written, capped */
    bool out_cut, err_cut;  /* more was written than kept */
    const struct sandbox_image *images;
    size_t image_count;
    const struct sandbox_violation *violations;
    size_t violation_count;
    uint32_t tool_calls;
    uint64_t wall_us; /* from the code being handed over to the end */
    uint64_t cpu_us;  /* 0 when the child lives on in a session */
    uint64_t rss_kb;
    const char *copy_error; /* NULL, or why not everything of the workspace came back: names files */
    bool session_lost;      /* the run named a session and its variables are gone now */
};

struct sandbox_handlers {
    /* The code calls a tool. args is a JSON object, checked by the strict reader. server "" means the
     * built-in tools (search_tools, save_skill, ...). Answer once with sandbox_answer(), now or later; the
     * run's deadline is sandbox_left_ms(). A run that ends first forgets the call: `gone` says so. */
    void (*call)(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                 struct slice args);
    /* The run ended (or gave up) with this call unanswered. sandbox_answer() must not follow. May be NULL. */
    void (*gone)(struct sandbox_run *run, void *owner, uint32_t id);
    /* fraction is NaN when only a text was given. May be NULL. */
    void (*progress)(struct sandbox_run *run, void *owner, double fraction, struct slice text);
    /* Output as it arrives, already within the caps; also in the outcome. May be NULL. */
    void (*output)(struct sandbox_run *run, void *owner, enum sandbox_stream stream, struct slice bytes);
    /* The end, exactly once; the slices live until it returns, and so does `run`. */
    void (*done)(struct sandbox_run *run, void *owner, const struct sandbox_outcome *outcome);
};

struct sandbox_request {
    enum sandbox_language language;
    enum sandbox_profile profile;
    struct slice code;
    struct slice context; /* JSON object of variables, or empty */
    /* Which of the config's preludes stands before the code: index + 1; 0 for none. */
    uint32_t prelude;
    bool echo; /* Python: the value of a last line that is an expression is printed, as a prompt does */
    uint32_t memory_mb;  /* 0: SANDBOX_MEMORY_MB */
    uint32_t timeout_ms; /* 0: SANDBOX_TIMEOUT_MS; wall clock from the code being handed over */
    uint32_t cpu_s;      /* 0: as much as the wall clock allows */
    uint32_t output_max; /* bytes of stdout, and of stderr; 0: SANDBOX_OUTPUT_MAX */
    uint32_t result_max; /* bytes of result JSON; larger is cut by structure. 0: SANDBOX_RESULT_MAX */
    uint32_t calls_max;  /* 0: SANDBOX_CALLS_MAX */
    /* Path of the directory whose files the code finds beneath /workspace and into which they are copied
     * back, or NULL for an empty one that is thrown away. Regular files only, within the quotas; nothing the
     * code leaves there (links, devices, names, races) reaches beyond it. Not with profile PURE. */
    const char *workspace;
    uint64_t workspace_bytes_max; /* of the directory after the run; 0: the size of /workspace */
    /* Names the child to go on in; "" for a fresh one. The caller puts its grant into it. */
    struct slice session;
};

/* Copies what the request points at. NULL only when a field breaks its ceiling; everything else arrives as
 * done(). */
struct sandbox_run *sandbox_start(struct sandbox *s, const struct sandbox_request *request,
                                  const struct sandbox_handlers *handlers, void *owner, struct err *err);
/* The result of call `id`: any JSON value, or the text of an error that the code can catch. Bytes are copied.
 */
void sandbox_answer(struct sandbox_run *run, uint32_t id, struct slice json);
void sandbox_answer_error(struct sandbox_run *run, uint32_t id, struct slice text);
/* An error that says more: a JSON object with a `message`; its other members become the error's own. */
void sandbox_answer_fault(struct sandbox_run *run, uint32_t id, struct slice json);
/* Ends it: done() comes with SANDBOX_KILLED. */
void sandbox_cancel(struct sandbox_run *run);
/* Until the wall clock ends it; the whole timeout while it waits. */
uint64_t sandbox_left_ms(const struct sandbox_run *run);
bool sandbox_running(const struct sandbox_run *run); /* false while it waits for a child */

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
