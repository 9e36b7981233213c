/* A run, as its caller sees it: input, output, and how its calls are answered. */
#pragma once

#include "base/slice.h"
#include "runner/limits.h"

#define SANDBOX_OWN_PREFIX ".sallyport-" /* names in workspaces that are the gate's own */

struct sandbox;
struct sandbox_run;

/* What stays out of the sandbox when the workspace is a project: what is large and made by tools, and the
 * repository itself, whose hooks would run outside. */
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
/* What the kernel lets the code do. PURE: compute, nothing is opened. FILES: also files beneath /workspace
 * and /tmp, and reading the runtime's own library. PROC: also processes and programs of /usr/bin. */
enum sandbox_profile { SANDBOX_PURE, SANDBOX_FILES, SANDBOX_PROC, SANDBOX_PROFILES };

enum sandbox_exit {
    SANDBOX_OK,
    SANDBOX_ERROR,   /* the code raised, or did not compile */
    SANDBOX_TIMEOUT, /* wall clock */
    SANDBOX_MEMORY,
    SANDBOX_CPU,
    SANDBOX_KILLED,  /* cancelled, or ended for a violation, or crashed */
    SANDBOX_OUTPUT,  /* a flood: more than SANDBOX_FLOOD_MAX bytes on one stream */
    SANDBOX_REFUSED, /* never ran: no runtime, tier too low, engine full or helper gone; `error` says why */
};

#define SANDBOX_EXITS 8   /* enum sandbox_exit */
#define SANDBOX_BUCKETS 8 /* of the time from the code being handed over to the end */

extern const uint64_t sandbox_bucket_us[SANDBOX_BUCKETS];

/* What runs may take together: those of one grant, or all. 0: no ceiling. */
struct sandbox_ceiling {
    uint32_t runs;      /* concurrent runs */
    uint32_t memory_mb; /* of those that run, and of parked sessions: the sum of what they may take */
    uint32_t cpu_s;     /* in a minute */
    uint32_t wall_s;    /* in a minute, over all of them */
};

struct sandbox_stats {
    uint64_t runs, warm_hits, cold_starts, failed, violations, calls;
    uint64_t exits[SANDBOX_EXITS];
    uint64_t wall[SANDBOX_BUCKETS + 1]; /* runs that took up to sandbox_bucket_us; the last: longer */
    uint64_t wall_us;                   /* of all of them */
    uint32_t running, waiting, idle, sessions;
};

enum sandbox_stream { SANDBOX_STDOUT, SANDBOX_STDERR };

struct sandbox_image {
    struct slice mime; /* also text/html and text/plain: what code shows */
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
    bool out_cut, err_cut; /* more was written: the beginning and the end are kept, and a line that says so */
    const struct sandbox_image *images;
    size_t image_count;
    const struct sandbox_violation *violations;
    size_t violation_count;
    uint32_t tool_calls;
    uint64_t waited_us; /* before that: for its turn, and for a child */
    uint64_t wall_us;   /* from the code being handed over to the end */
    uint64_t cpu_us;    /* 0 when the child lives on in a session */
    uint64_t rss_kb;
    const char *copy_error; /* NULL, or why not everything of the workspace came back: names files */
    bool session_lost;      /* the run named a session and its variables are gone now */
};

struct sandbox_handlers {
    /* The code calls a tool. args is a JSON object, checked by the strict reader. server "" means the
     * built-in tools (search_tools, save_skill, ...). Answer once with sandbox_answer(), now or later. A
     * run that ends first forgets the call: `gone` says so. */
    void (*call)(struct sandbox_run *run, void *owner, uint32_t id, struct slice server, struct slice tool,
                 struct slice args);
    /* The run ended (or gave up) with this call unanswered. sandbox_answer() must not follow. May be NULL. */
    void (*gone)(struct sandbox_run *run, void *owner, uint32_t id);
    /* fraction is NaN when only a text was given. May be NULL. */
    void (*progress)(struct sandbox_run *run, void *owner, double fraction, struct slice text);
    /* Output as it arrives, already within the caps; also in the outcome. May be NULL. */
    void (*output)(struct sandbox_run *run, void *owner, enum sandbox_stream stream, struct slice bytes);
    /* The code is about to run, in a sandbox with a network: the listening socket of its loop-back. Owns it.
     * May be NULL where the config has no network. */
    void (*network)(struct sandbox_run *run, void *owner, int take_listener);
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
    /* Layers of the config's packages that the code finds: JSON, of Python a list of their paths, of
     * JavaScript an object with one for each name. Empty: none. */
    struct slice packages;
    bool echo;       /* Python: the value of a last line that is an expression is printed, as a prompt does */
    bool last_value; /* Python: that value is the result of a run that sets no `result`, as in a notebook */
    uint32_t memory_mb;  /* 0: SANDBOX_MEMORY_MB */
    uint32_t timeout_ms; /* 0: SANDBOX_TIMEOUT_MS; wall clock from the code being handed over */
    uint32_t cpu_s;      /* 0: as much as the wall clock allows */
    uint32_t output_max; /* bytes kept of stdout, and of stderr; 0: SANDBOX_OUTPUT_MAX */
    uint32_t result_max; /* bytes of result JSON; larger is cut by structure. 0: SANDBOX_RESULT_MAX */
    uint32_t calls_max;  /* 0: SANDBOX_CALLS_MAX */
    /* Path of the directory whose files the code finds beneath /workspace and into which they are copied
     * back, or NULL for an empty one that is thrown away. Regular files only, within the quotas; nothing the
     * code leaves there (links, devices, names, races) reaches beyond it. Not with profile PURE. */
    const char *workspace;
    bool project;                 /* that directory is a user's own: see sandbox_is_left_out() */
    uint64_t workspace_bytes_max; /* of the directory after the run; 0: the size of /workspace */
    struct slice share;           /* whose run it is: each gets its turn, and its share of what there is */
    /* Names the child to go on in; "" for a fresh one. The caller puts its grant into it. */
    struct slice session;
};

/* The result of call `id`: any JSON value, or the text of an error that the code can catch. Bytes are copied.
 */
void sandbox_answer(struct sandbox_run *run, uint32_t id, struct slice json);
void sandbox_answer_error(struct sandbox_run *run, uint32_t id, struct slice text);
/* An error with more fields: a JSON object with a `message`; its other members become the error's own. */
void sandbox_answer_fault(struct sandbox_run *run, uint32_t id, struct slice json);
/* Ends it: done() comes with SANDBOX_KILLED. */
void sandbox_cancel(struct sandbox_run *run);
bool sandbox_running(const struct sandbox_run *run); /* false while it waits for a child */
