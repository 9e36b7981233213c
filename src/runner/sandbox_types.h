/* A run as its caller sees it: input, output, and how its calls are answered. */
#pragma once

#include "base/slice.h"
#include "runner/limits.h"

#define SANDBOX_OWN_PREFIX ".sallyport-" /* names in workspaces that are reserved for the gate */

struct sandbox;
struct sandbox_run;

/* What is not copied into the sandbox if the workspace is a project: large directories that tools
 * generate, and the repository itself, because its hooks would run outside. */
bool sandbox_is_left_out(const char *name);

enum sandbox_language {
    SANDBOX_PYTHON,
    SANDBOX_JAVASCRIPT,
    SANDBOX_TYPESCRIPT,
    SANDBOX_SQL,  /* by Python's own library, over files of the workspace */
    SANDBOX_BASH, /* started by Python; profile PROC */
    SANDBOX_LANGUAGES
};
const char *sandbox_language_name(enum sandbox_language language); /* "python" */
/* The others are run by Python. */
static inline bool sandbox_is_javascript(enum sandbox_language language) {
    return language == SANDBOX_JAVASCRIPT || language == SANDBOX_TYPESCRIPT;
}
/* What the kernel allows the code. PURE: computing; no file can be opened. FILES: also files beneath
 * /workspace and /tmp, and reading the runtime's own library. PROC: also processes and programs of
 * /usr/bin. */
enum sandbox_profile { SANDBOX_PURE, SANDBOX_FILES, SANDBOX_PROC, SANDBOX_PROFILES };

enum sandbox_exit {
    SANDBOX_OK,
    SANDBOX_ERROR,   /* the code raised an exception, or did not compile */
    SANDBOX_TIMEOUT, /* wall clock */
    SANDBOX_MEMORY,
    SANDBOX_CPU,
    SANDBOX_KILLED,  /* cancelled, killed for a violation, or crashed */
    SANDBOX_OUTPUT,  /* more than SANDBOX_FLOOD_MAX bytes on one stream */
    SANDBOX_REFUSED, /* never ran: no runtime, tier too low, engine full or helper missing; `error` says why
                      */
};

#define SANDBOX_EXITS 8   /* enum sandbox_exit */
#define SANDBOX_BUCKETS 8 /* buckets of the time from the start of the code to the end */

extern const uint64_t sandbox_bucket_us[SANDBOX_BUCKETS];

/* Ceilings for concurrent runs: those of one grant, or all. 0: no ceiling. */
struct sandbox_ceiling {
    uint32_t runs;      /* concurrent runs */
    uint32_t memory_mb; /* sum of the limits of running code and parked sessions */
    uint32_t cpu_s;     /* per minute */
    uint32_t wall_s;    /* per minute, over all of them */
};

struct sandbox_stats {
    uint64_t runs, warm_hits, cold_starts, failed, violations, calls;
    uint64_t exits[SANDBOX_EXITS];
    uint64_t wall[SANDBOX_BUCKETS + 1]; /* runs that took up to sandbox_bucket_us; the last bucket: longer */
    uint64_t wall_us;                   /* sum over all runs */
    uint32_t running, waiting, idle, sessions;
};

enum sandbox_stream { SANDBOX_STDOUT, SANDBOX_STDERR };

struct sandbox_image {
    struct slice mime; /* also text/html and text/plain: what code displays */
    struct slice bytes;
};

struct sandbox_violation {
    char name[48]; /* name of the system call */
    bool ended;    /* the sandbox was killed for it; otherwise it got EPERM */
};

struct sandbox_outcome {
    enum sandbox_exit exit;
    struct slice result;    /* JSON, `null` if there is none; valid and within result_max */
    bool result_cut;        /* it was shortened to fit */
    struct slice error;     /* text; "" when exit is OK */
    struct slice kind;      /* the exception's class: "ZeroDivisionError"; may be "" */
    struct slice traceback; /* the agent's own lines, no host paths */
    struct slice out, err;  /* the output, within its ceiling */
    bool out_cut,
        err_cut; /* output was omitted: the beginning and the end are kept, with a line in between */
    const struct sandbox_image *images;
    size_t image_count;
    const struct sandbox_violation *violations;
    size_t violation_count;
    uint32_t tool_calls;
    uint64_t waited_us; /* before the run: for its turn, and for a child */
    uint64_t wall_us;   /* from the start of the code to the end */
    uint64_t cpu_us;    /* 0 if the child lives on in a session */
    uint64_t rss_kb;
    const char *copy_error; /* NULL, or why some files of the workspace were not copied back: names them */
    bool session_lost;      /* the run named a session, and its variables are lost */
};

struct sandbox_handlers {
    /* The code calls a tool. args is a JSON object, checked by the strict parser. server "" means the
     * built-in tools (search_tools, save_skill, ...). Answer once with sandbox_answer(), now or later. If
     * the run ends first, `gone` is called. */
    void (*call)(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                 struct slice args);
    /* The run ended (or gave up) before this call was answered. sandbox_answer() must not follow. May be
     * NULL. */
    void (*gone)(struct sandbox_run *run, void *owner, uint32_t id);
    /* fraction is NaN if only a text was given. May be NULL. */
    void (*progress)(struct sandbox_run *run, void *owner, double fraction, struct slice text);
    /* Output as it arrives, already within the caps; also in the outcome. May be NULL. */
    void (*output)(struct sandbox_run *run, void *owner, enum sandbox_stream stream, struct slice bytes);
    /* The code is about to run in a sandbox with a network. Takes ownership of the listening socket of its
     * loopback. May be NULL if the config has no network. */
    void (*network)(struct sandbox_run *run, void *owner, int take_listener);
    /* The end, called exactly once. The slices and `run` are valid until it returns. */
    void (*done)(struct sandbox_run *run, void *owner, const struct sandbox_outcome *outcome);
};

struct sandbox_request {
    enum sandbox_language language;
    enum sandbox_profile profile;
    bool programs; /* PROC instead of FILES, where there are control groups to limit it */
    struct slice code;
    struct slice context; /* JSON object of variables, or empty */
    /* The prelude of the config that runs before the code: index + 1; 0 for none. */
    uint32_t prelude;
    /* Package layers that the code can import, as JSON: for Python a list of paths, for JavaScript an
     * object of paths by name. Empty: none. */
    struct slice packages;
    bool echo;       /* Python: prints the value of a last line that is an expression, as a prompt does */
    bool last_value; /* Python: that value is the result of a run that does not set `result`, as in a notebook
                      */
    uint32_t memory_mb;  /* 0: SANDBOX_MEMORY_MB */
    uint32_t timeout_ms; /* 0: SANDBOX_TIMEOUT_MS; wall clock from the start of the code */
    uint32_t cpu_s;      /* 0: as much as the wall clock allows */
    uint32_t output_max; /* bytes kept of stdout, and of stderr; 0: SANDBOX_OUTPUT_MAX */
    uint32_t
        result_max; /* bytes of result JSON; a larger one is shortened by structure. 0: SANDBOX_RESULT_MAX */
    uint32_t calls_max; /* 0: SANDBOX_CALLS_MAX */
    /* Path of the directory that the code finds as /workspace and that files are copied back to; NULL for
     * an empty temporary one. Regular files only, within the quotas. Nothing that the code leaves there
     * (links, devices, names, races) has an effect outside it. Not with profile PURE. */
    const char *workspace;
    bool project;                 /* that directory is a user's own project: see sandbox_is_left_out() */
    uint64_t workspace_bytes_max; /* bytes of the directory after the run; 0: the size of /workspace */
    struct slice share;           /* the share of the run: shares are served in turn */
    /* Names the session to continue in; "" for a fresh child. The caller must include its grant in the
     * name. */
    struct slice session;
};

/* The result of call `id`: any JSON value, or an error text that the code can catch. Bytes are copied. */
void sandbox_answer(struct sandbox_run *run, uint32_t id, struct slice json);
void sandbox_answer_error(struct sandbox_run *run, uint32_t id, struct slice text);
/* An error with more fields: a JSON object with a `message`. Its other members become attributes of the
 * error. */
void sandbox_answer_fault(struct sandbox_run *run, uint32_t id, struct slice json);
/* Cancels it: done() is called with SANDBOX_KILLED. */
void sandbox_cancel(struct sandbox_run *run);
bool sandbox_running(const struct sandbox_run *run); /* false while it waits for a child */
