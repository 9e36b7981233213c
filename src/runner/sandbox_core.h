/* The structs of this room: the engine, its sandboxes ("boxes") and its runs.
 *
 *   sandbox.c        the interface: requests, queue, pool, sessions
 *   sandbox_run.c    one run: frames, limits, clock, outcome
 *   sandbox_box.c    the helper and its children: start, exit, violations, streams
 *
 * Each uses those below it. A box reports upwards through struct sandbox_events. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "io/conn.h"
#include "io/spawn.h"
#include "runner/sandbox_output.h"
#include "runner/sandbox_types.h"
#include "sandbox/frame.h"
#include "wire/tape.h"

#define SANDBOX_MAGIC 0x5b0c5b0c
#define SANDBOX_RUN_MAGIC 0x5b0c0047

#define SANDBOX_KINDS (FRAME_RUNTIMES * FRAME_PROFILES)

/* Interpreters that an operator can configure. */
enum { SANDBOX_GIVEN_PYTHON, SANDBOX_GIVEN_NODE, SANDBOX_GIVEN_BUN, SANDBOX_GIVEN };

enum box_state { BOX_STARTING, BOX_WAKING, BOX_IDLE, BOX_BUSY, BOX_PARKED, BOX_DYING };

struct box_stream {
    uv_poll_t poll;
    int fd;
    bool polled; /* the handle is open */
    struct box *box;
    enum sandbox_stream which;
};

/* The running and waiting work of one grant. */
struct sandbox_share {
    struct list node; /* in the engine's list; the share that was served longest ago comes first */
    char *name;
    struct list waiting; /* waiting runs, without a box */
    uint32_t waiting_count, running, parked;
    uint32_t children; /* resources charged to it */
    uint32_t claimed;  /* during this pass over the queue: runs that need a new child */
    uint64_t memory_mb;
    uint64_t window;          /* the minute that these belong to */
    uint64_t cpu_us, wall_us; /* of runs that ended in that minute */
};

struct box {
    struct list node;
    struct sandbox *engine;
    uint64_t token;
    enum frame_runtime runtime;
    enum sandbox_profile profile;
    enum box_state state;
    int bridge_fd;
    int pidfd;
    int workspace;
    int network; /* listener on its loopback, or -1 */
    struct io_conn *bridge;
    struct box_stream streams[2];
    struct io_timer wake;   /* WAKING: time-out of its first message */
    struct io_timer listen; /* when the streams are watched again */
    uint32_t handles;       /* open uv handles; freed when all are closed */
    bool gone;              /* removed from the engine's list */
    struct sandbox_run *run;
    char *session; /* name, or NULL */
    uint32_t session_runs;
    struct sandbox_share *payer; /* the share that its processor time is charged to */
    bool parked;                 /* as charged to the payer's share */
    uint32_t memory_mb;          /* parked: its limits */
    uint64_t since_ms;           /* parked, or idle */
};

struct sandbox_runtime {
    bool known;
    bool usable;
    char name[FRAME_REASON_MAX]; /* the reason if it is not usable */
    char modules[FRAME_REASON_MAX];
};

struct sandbox_kind {
    uint64_t used_ms;
    uint32_t failures; /* consecutive children that failed to start */
    uint32_t missed;   /* consecutive children that did not become ready */
    char why[FRAME_REASON_MAX];
};

/* Filled in by sandbox.c. */
struct sandbox_events {
    /* about a run's box */
    void (*output)(struct sandbox_run *run, enum sandbox_stream which, struct slice bytes);
    void (*violation)(struct sandbox_run *run, const char *name, bool ended);
    void (*exited)(struct sandbox_run *run, const struct frame_report *report);
    size_t (*frames)(struct sandbox_run *run, struct slice bytes,
                     size_t *ret_want); /* returns the bytes consumed */
    void (*abandoned)(struct sandbox_run *run, const char *why);
    /* about the engine */
    void (*helper_known)(struct sandbox *s);   /* new facts about the capabilities of the machine */
    void (*helper_refused)(struct sandbox *s); /* the helper does not start: waiting runs must fail */
    void (*changed)(struct sandbox *s);        /* a box is idle, or there is room for another run */
};

struct sandbox {
    uint32_t magic;
    const struct sandbox_events *events;
    struct io_loop *loop;
    struct spawn *spawn;
    void (*ready)(void *owner);
    void *owner;
    char helper_dir[FRAME_PATH_MAX];
    char *given[SANDBOX_GIVEN];
    char *packages; /* directory, or NULL */
    char *uids;     /* as configured, or NULL */
    int min_tier;
    uint32_t wake_ms, warm, memory_mb_max, timeout_ms_max, workspace_mb, languages;
    struct sandbox_ceiling ceiling, share_ceiling; /* for all runs together, and for each share */
    struct sandbox_share total;
    struct list shares;
    enum sandbox_profile profile;
    int preludes; /* memfd, or -1 */
    int bundle;   /* memfd of certificates; -1: no network */
    /* the helper */
    uint64_t spawn_token;
    int control;
    uv_poll_t *control_poll;
    bool starting, said_hello, told_ready;
    int tier;
    char tier_why[FRAME_REASON_MAX];
    char tier_refusal[FRAME_REASON_MAX + 96]; /* the error for runs if that tier is too low */
    int group;                                /* version of the control groups */
    char group_why[FRAME_REASON_MAX];
    bool own_uids;                    /* each child has its own uid */
    char uids_text[FRAME_REASON_MAX]; /* the range, or why there is none */
    char trouble[FRAME_REASON_MAX];   /* last lines of the helper's stderr */
    struct io_conn *errors;
    struct sandbox_runtime runtimes[FRAME_RUNTIMES];
    struct sandbox_kind kinds[SANDBOX_KINDS];
    struct list boxes;
    struct list running;
    struct list finishing; /* ended runs whose files are being fetched */
    uint64_t begun_ms;     /* the last run that got a child */
    uint64_t last_token;
    struct io_timer tick;
    struct io_timer refill; /* spare children are started when the current ones have had time to start */
    struct tape tape;
    struct sandbox_stats stats;
    bool closing, pumping, pump_again;
};

struct sandbox_run {
    uint32_t magic;
    struct list node;
    struct sandbox *engine;
    const struct sandbox_handlers *handlers;
    void *owner;
    struct arena arena;
    struct sandbox_request request; /* slices refer to the arena */
    struct sandbox_share *share;
    enum frame_runtime runtime;
    struct box *box;
    struct io_timer timer;
    bool cold;  /* no warm child was available */
    bool begun; /* it has or had a child */
    bool over;  /* it no longer counts as running */
    bool sent;  /* the code was sent to the sandbox */
    bool timed_out, cancelled, ended_for_violation, too_much_output, bad_frame, done_seen, fresh_session;
    struct copy_job *copy; /* files are being copied */
    uint64_t asked_us, start_us, deadline_ms;
    struct buf seen;                 /* its files as they were copied in; see sandbox_files.h */
    struct sandbox_output output[2]; /* by enum sandbox_stream */
    uint32_t calls, open_count, last_id, progresses;
    uint64_t call_bytes;
    uint64_t answered_us;     /* time of the last call */
    bool spinning;            /* the gate spins for the next call */
    uint32_t spin_skips;      /* calls to let pass without spinning */
    uint32_t spin_skips_last; /* the previous value of spin_skips */
    uint32_t open[SANDBOX_CALLS_OPEN_MAX];
    struct sandbox_image images[FRAME_IMAGES_MAX];
    size_t image_count, image_bytes;
    struct sandbox_violation violations[SANDBOX_VIOLATIONS_MAX];
    size_t violation_count;
    struct sandbox_outcome outcome; /* filled in step by step at the end */
    char error_text[FRAME_REASON_MAX];
};

static inline size_t sandbox_kind_of(enum frame_runtime runtime, enum sandbox_profile profile) {
    return (size_t)runtime * FRAME_PROFILES + (size_t)profile;
}
